"""A line of `workbench disaggregate` runs under another verb, and what has no use there is told."""

import click
import pytest
import torch
import typer
import xarray as xr

import workbench as wb
from tests.geo.files import workbench
from workbench.checks import InputError
from workbench.cli import app
from workbench.geo import write

pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.ExtrapolationWarning",
    "ignore::workbench.checks.FitWarning")
VERBS = ("check", "compare", "recover", "rehearse")
OF_MAP = ["--report", "page.html", "--save-fit", "f.wbfit", "--information", "--components",
          "--residuals", "--ranks", "--rescale-to-totals", "--no-area-effect", "--draws", "900",
          "--quantiles", "0.1,0.9", "--threshold", "0.1", "--threshold", "0.2", "--threads", "2",
          "--at", "elsewhere.nc", "--at-polygons", "p.shp", "--at-covariates", "a.tif", "--at-id",
          "name"]
SHORT = {"compare": ["--without", "auto", "--groupings", 1, "--samples", 20, "--levels", "6"],
         "recover": ["--groupings", 1, "--samples", 20, "--levels", "6"],
         "rehearse": ["--truths", 2, "--samples", 19]}
WHAT = {"compare": "comparison", "recover": "recovery", "rehearse": "rehearsal"}


@pytest.fixture(scope="module")
def country(tmp_path_factory):
    path = tmp_path_factory.mktemp("copied") / "country.nc"
    write(wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2), path)
    return path


def flags_of(verb: str) -> dict[str, click.Parameter]:
    command = typer.main.get_command(app).commands[verb]
    return {text: one for one in command.params for text in one.opts}


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_of_a_map_is_known_to_the_verb(verb):
    theirs, own = flags_of("disaggregate"), flags_of(verb)
    assert theirs.keys() <= own.keys()
    shared = [text for text in theirs if not own[text].name.startswith("unused_")]
    assert {"--polygons", "--covariates", "--model", "--seed", "--out", "--fix"} <= set(shared)
    assert "unused" not in {one.name for one in own.values()}
    hidden = [one for one in own.values() if one.name.startswith("unused_")]
    assert hidden and all(one.hidden for one in hidden)


@pytest.mark.slow
@pytest.mark.parametrize("verb", SHORT)
def test_the_whole_line_runs_and_the_map_stays(country, tmp_path, verb):
    line = ["--dataset", country, "--kernel", "linear", "--inducing", 5, "--max-steps", 2,
            "--fix", "nugget.std=0.1", "--seed", 3, "--jobs", 0, "--cv", 2, "--folds-scheme",
            "random", "--out", tmp_path / "map.nc"]
    made = xr.Dataset(attrs={"spec": wb.Spec(str(country)).to_json(indent=None)})
    made.to_netcdf(tmp_path / "map.nc", engine="h5netcdf")
    before = (tmp_path / "map.nc").read_bytes()
    done = workbench(verb, *line, *OF_MAP, *SHORT[verb], "--quiet")
    assert done.exit_code == 0, (done.output, done.exception)
    told = next(one for one in done.output.splitlines() if "makes no map" in one)
    for text in (*(one for one in OF_MAP if one.startswith("--")), "page.html", "--threshold 0.2",
                 "--at elsewhere.nc", "--at-id name", "--draws 900"):
        assert text in told, text
    for text in ("--fix", "--seed", "--kernel", "--jobs"):
        assert text not in told
    assert ("--cv" in told) == (verb != "compare")
    assert "model vbagg, as --" in done.output or verb != "compare"
    assert (tmp_path / "map.nc").read_bytes() == before
    assert f"the {WHAT[verb]} goes to" in done.output
    assert (tmp_path / f"map.{WHAT[verb]}.nc").is_file()
    again = workbench(verb, *line[:-1], tmp_path / "map.cog.tif", *SHORT[verb], "--quiet")
    ending = "html" if verb == "compare" else "nc"
    assert again.exit_code == 0 and (tmp_path / f"map.{WHAT[verb]}.{ending}").is_file()


@pytest.mark.parametrize(("verb", "work"), [
    ("check", "workbench.preflight.looked_over"), ("compare", "workbench.comparison.compare"),
    ("recover", "workbench.evaluation.recover"),
    ("rehearse", "workbench.pipeline.rehearsing.rehearsed"),
    ("report", "workbench.cli.reporting.write_page"), ("run", "workbench.pipeline.run.run")])
def test_every_verb_works_with_one_thread(country, tmp_path, monkeypatch, verb, work):
    """Threads that wait for each other made fits, and the time that a check took them for, long."""
    def seen(*given, **options):
        raise InputError(f"threads: {torch.get_num_threads()}")

    monkeypatch.setattr(work, seen)
    spec = tmp_path / "spec.json"
    spec.write_text(wb.Spec(str(country)).to_json(), encoding="utf-8")
    given = {"report": [country, "--out", tmp_path / "page.html"],
             "run": [spec, "--out", tmp_path / "map.nc"],
             "check": ["--dataset", country]}
    line = given.get(verb, ["--dataset", country, "--model", "vbagg", "--out", tmp_path / "x.nc"])
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert "threads: 1" in workbench(verb, *line).output
        if verb in ("check", "run"):
            assert "threads: 2" in workbench(verb, *line, "--threads", 2).output
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("verb", SHORT)
def test_what_no_verb_knows_is_refused_still(country, tmp_path, verb):
    for more, words in ((["--kernl", "rbf"], "did you mean '--kernel'"),
                        (["--out", tmp_path / "table.xlsx"], "format of the output")):
        done = workbench(verb, "--dataset", country, "--out", tmp_path / "x.nc", "--model", "vbagg",
                         *more, "--quiet")
        assert done.exit_code == 2 and words in done.output, done.output


def test_hyperparameters_of_truths_are_no_place(country, tmp_path):
    done = workbench("rehearse", "--dataset", country, "--at", "nugget=0.1", "--at", "korea",
                     "--spec-only", "--out", tmp_path / "s.json")
    assert done.exit_code == 0 and "--at korea not used" in done.output
    assert wb.RehearseSpec.read(tmp_path / "s.json").at == {"nugget": 0.1}
    wrong = workbench("rehearse", "--dataset", country, "--at", "nugget", "--out",
                      tmp_path / "x.nc")
    assert wrong.exit_code == 2 and "name=value" in wrong.output


def test_options_of_auto_choose_it(country, tmp_path):
    done = workbench("rehearse", "--dataset", country, "--effort", "quick", "--spec-only", "--out",
                     tmp_path / "s.json")
    assert done.exit_code == 0 and "model auto, as --effort" in done.output
    assert wb.RehearseSpec.read(tmp_path / "s.json").model == "auto"
