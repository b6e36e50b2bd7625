"""`workbench rehearse` goes from Spec to file, is repeated by its Spec, and is drawn."""

import json

import holoviews as hv
import pytest
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench.checks import InputError
from workbench.cli import app
from workbench.evaluation import Interrupted
from workbench.plots import rehearsal_picture

pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.ExtrapolationWarning",
    "ignore::workbench.checks.FitWarning")
ROLL = ["rehearse", "--dataset", "swiss-roll", "--n-bags", 12, "--mean-size", 8, "--size-std", 3,
        "--model", "aggregated-gp", "--kernel", "rbf", "--max-steps", 3, "--truths", 3,
        "--samples", 39, "--at", "rbf.lengthscale=2", "--quiet"]


def workbench(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rehearsal")
    done = workbench(*ROLL, "--out", folder / "r.nc")
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_a_rehearsal_is_written_with_its_spec_and_repeated(stored):
    folder, told = stored
    result = xr.load_dataset(folder / "r.nc", engine="h5netcdf")
    assert result.sizes["truth"] == 3 and result.attrs["sentence"] in told
    spec = wb.RehearseSpec.from_json(result.attrs["spec"])
    assert spec.at["rbf.lengthscale"] == 2 and spec.options["kernel"] == "rbf"
    assert not (folder / "r.nc.resume").exists()
    again = workbench("run", folder / "r.nc", "--out", folder / "again.json", "--quiet")
    assert again.exit_code == 0, again.output
    table = json.loads((folder / "again.json").read_text())
    assert table["sentence"] == result.attrs["sentence"] and table["spec"]["command"] == "rehearse"
    assert set(table["coverage"]) == {"50 %", "80 %", "90 %", "95 %"}


def test_a_spec_alone_is_written_and_maps_flags_are_refused(stored):
    folder, _ = stored
    assert workbench(*ROLL, "--spec-only", "--out", folder / "s.json").exit_code == 0
    assert wb.RehearseSpec.read(folder / "s.json").truths == 3
    assert workbench(*ROLL, "--spec-only", "--out", folder / "s.json").exit_code == 0
    tables = (folder / "again.json").read_text()
    refused = workbench(*ROLL, "--spec-only", "--out", folder / "again.json")
    assert refused.exit_code == 2 and "is no Spec: it may be a result" in refused.output
    assert (folder / "again.json").read_text() == tables
    refused = workbench(*ROLL, "--spec-only", "--out", folder / "tables.txt")
    assert refused.exit_code == 2 and "tables.json" in refused.output
    with pytest.raises(InputError, match="makes no map"):
        wb.RehearseSpec("swiss-roll", threshold=1.0)
    refused = workbench(*ROLL, "--out", folder / "map.xlsx")
    assert refused.exit_code == 2 and "choose from .nc, .json, .txt" in refused.output
    refused = workbench(*ROLL[:7], "--model", "quasi-likelihood", "--out", folder / "x.nc")
    assert refused.exit_code == 2 and "unknown" in refused.output
    refused = workbench(*ROLL[:7], "--model", "auto", "--truth", "prior", "--out",
                        folder / "x.nc")
    assert refused.exit_code == 2 and "no prior over its candidates" in refused.output


def test_what_is_finished_when_it_is_stopped_is_written_and_goes_on(stored, monkeypatch):
    from workbench.comparison.rehearsal import run

    folder, real = stored[0], run.outcomes

    def stopping(*arguments, **options):
        for k, one in enumerate(real(*arguments, **options)):
            if k == 2 and one.__class__ is run.Truth:
                raise KeyboardInterrupt
            yield one
    monkeypatch.setattr(run, "outcomes", stopping)
    out = folder / "stopped.nc"
    told = workbench(*ROLL, "--out", out)
    assert told.exit_code != 0 and "stopped after 2 of 3 truths" in told.output
    partial = xr.load_dataset(folder / "stopped.partial.nc", engine="h5netcdf")
    assert partial.sizes["truth"] == 2 and "2 of 3" in partial.attrs["partial"]
    assert (folder / "stopped.nc.resume").is_dir() and not out.exists()
    monkeypatch.setattr(run, "outcomes", real)
    assert workbench(*ROLL, "--out", out).exit_code == 0
    assert out.exists() and not (folder / "stopped.nc.resume").exists()


def test_jobs_is_another_name_of_workers():
    for command in ("disaggregate", "compare", "recover", "rehearse"):
        assert "--workers, --jobs" in workbench(command, "--help").output


def test_the_picture_has_coverage_skill_and_ranks(stored):
    result = xr.load_dataset(stored[0] / "r.nc", engine="h5netcdf")
    picture = rehearsal_picture(result)
    titles = [hv.render(panel, backend="bokeh").title.text for panel in picture]
    assert titles == ["Coverage over 3 truths", "Skill over a simple map (median, quartiles)",
                      "Ranks of whole fields", "Ranks of all individuals (±2 standard errors)"]
    with pytest.raises(InputError, match="no rehearsal"):
        rehearsal_picture(xr.Dataset())


def test_a_stop_before_anything_is_finished_is_no_result(monkeypatch):
    def stopped(*arguments, **options):
        raise Interrupted(None, 0, 3)
    monkeypatch.setattr("workbench.comparison.rehearse", stopped)
    with pytest.raises(KeyboardInterrupt):
        wb.run(wb.RehearseSpec("swiss-roll", {"n_bags": 12}, truths=3))
