"""Stored fits on the command line: saved beside a map, and mapped again without training."""

from pathlib import Path

import pytest
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench import geo
from workbench.cli import app
from workbench.pipeline.base import BaseSpec

pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.ExtrapolationWarning",
    "ignore::workbench.checks.FitWarning")
ROLL = ["--dataset", "swiss-roll", "--n-bags", 12, "--mean-size", 10, "--size-std", 4]
SHORT = ["--model", "vbagg", "--kernel", "rbf", "--max-steps", 4, "--inducing", 10, "--quiet"]


def workbench(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a map, and the fit that it is of."""
    folder = tmp_path_factory.mktemp("made")
    done = workbench("disaggregate", *ROLL, *SHORT, "--out", folder / "map.nc", "--save-fit",
                     folder / "fit.wbfit")
    assert done.exit_code == 0, (done.output, done.exception)
    assert f"wrote {folder / 'fit.wbfit'}" in done.output
    return folder


def test_the_map_of_a_stored_fit_is_the_one_it_was_saved_with(made, tmp_path):
    out, again = tmp_path / "map.nc", tmp_path / "again.nc"
    done = workbench("predict", made / "fit.wbfit", "--out", out, "--quiet")
    assert done.exit_code == 0, (done.output, done.exception)
    before, after = geo.read(made / "map.nc"), geo.read(out)
    xr.testing.assert_allclose(before.drop_attrs(), after.drop_attrs(), rtol=1e-9)
    for name in ("model", "hyperparameters", "data_sha256", "summary"):
        assert before.attrs[name] == after.attrs[name]
    spec = BaseSpec.from_json(after.attrs["spec"])
    assert type(spec) is wb.PredictSpec and spec.fit == str(made / "fit.wbfit")
    repeated = workbench("run", out, "--out", again, "--quiet")
    assert repeated.exit_code == 0, (repeated.output, repeated.exception)
    xr.testing.assert_identical(geo.read(again).drop_attrs(), after.drop_attrs())


def test_elsewhere_and_with_totals_kept(made, tmp_path):
    other = wb.load("swiss-roll", n_bags=5, mean_size=10, size_std=4, seed=3)
    wb.write(other, tmp_path / "other.nc")
    done = workbench("predict", made / "fit.wbfit", "--at", tmp_path / "other.nc", "--threshold",
                     0.5, "--out", tmp_path / "there.nc", "--quiet")
    assert done.exit_code == 0, (done.output, done.exception)
    there = geo.read(tmp_path / "there.nc")
    assert there.sizes["individual"] == other.sizes["individual"] and "exceedance" in there
    kept = wb.run(wb.PredictSpec(str(made / "fit.wbfit"), rescale_to_totals=True))
    sums = kept["expected_count"].groupby(kept["membership"]).sum()
    assert abs(sums.values - kept["value"].values).max() < 1e-6


@pytest.mark.parametrize("arguments, message", [
    (["predict", "none.wbfit", "--out", "map.nc"], "does not exist"),
    (["predict", "map.nc", "--out", "new.nc"], "cannot read"),
    (["predict", "fit.wbfit", "--task", "no2", "--out", "new.nc"], "leave task out"),
    (["disaggregate", *ROLL, *SHORT, "--out", "new.nc", "--save-fit", "fit.pkl"], ".wbfit"),
    (["disaggregate", *ROLL, *SHORT, "--out", "new.json", "--save-fit", "a.wbfit", "--spec-only"],
     "no fit to save")])
def test_what_cannot_be_done_is_said(made, monkeypatch, arguments, message):
    monkeypatch.chdir(made)
    done = workbench(*arguments)
    assert done.exit_code == 2 and message in done.output
    assert sorted(p.name for p in made.iterdir()) == ["fit.wbfit", "map.nc"]
