"""One model by several engines: agreement where it must be, and refusals in words."""

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import workbench as wb
from workbench import geo, plots
from workbench.checks import InputError
from workbench.cli import app
from workbench.pipeline.base import BaseSpec

# Few areas and short chains warn, as they should.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.FitWarning",
    "ignore::workbench.checks.ExtrapolationWarning")
NORMAL = {"kernel": "rbf", "link": "identity", "likelihood": "normal", "nugget": 0.0}


@pytest.fixture(scope="module")
def ds():
    return wb.load("swiss-roll", n_bags=10, mean_size=6, size_std=3)


def test_vi_of_normal_values_is_the_closed_form(ds):
    found = wb.compare_engines(ds, wb.VBAgg(**NORMAL), engines=["exact", "vi"],
                               fix_hyperparameters=True)
    assert found["engine"].values.tolist() == ["exact", "vi"]
    assert found.attrs["reference"] == "exact" and "rhat" not in found
    assert float(np.abs(found["difference"]).max()) < 1e-3
    np.testing.assert_allclose(found["std_ratio"], 1, atol=1e-3)
    assert bool((found["seconds"] > 0).all())
    exact, vi = (found["hyperparameter_mean"].sel(engine=e) for e in ("exact", "vi"))
    np.testing.assert_allclose(exact, vi)
    assert "vi: " in found.attrs["summary"] and found["mean"].dims == ("engine", "individual")


@pytest.mark.slow
def test_chains_of_normal_values_are_the_closed_form(ds):
    """Monte Carlo error of 800 draws: means within 0.2 sd, standard deviations within 15 %."""
    pytest.importorskip("numpyro")
    found = wb.compare_engines(ds, wb.VBAgg(**NORMAL), fix_hyperparameters=True, draws=400,
                               warmup=200, chains=2)
    assert found["engine"].values.tolist() == ["exact", "vi", "nuts"]
    assert found.attrs["reference"] == "nuts"
    assert float(np.abs(found["difference"]).max()) < 0.2
    np.testing.assert_allclose(found["std_ratio"], 1, atol=0.15)
    assert float(found["rhat"].max()) < 1.05 and float(found["ess"].min()) > 100
    vi, nuts = (found["hyperparameter_mean"].sel(engine=e) for e in ("vi", "nuts"))
    np.testing.assert_allclose(nuts, vi)
    assert bool(found["hyperparameter_std"].isnull().all())


@pytest.mark.slow
def test_hyperparameters_are_sampled_on_the_command_line(tmp_path):
    pytest.importorskip("numpyro")
    out = tmp_path / "engines.nc"
    run = CliRunner().invoke(app, [
        "engines", "--dataset", "swiss-roll", "--n-bags", "8", "--mean-size", "5", "--size-std",
        "3", "--kernel", "rbf", "--nugget", "0", "--overdispersion", "none", "--fix", "mean=1",
        "--draws", "30", "--warmup", "60", "--chains", "2", "--quiet", "--out", str(out)])
    assert run.exit_code == 0, (run.output, run.exception)
    assert "vi: " in run.output and "worst R-hat" in run.output
    found = geo.read(out)
    spread = found["hyperparameter_std"].sel(engine="nuts").to_series()
    assert spread.isnull()["mean"] and (spread.drop("mean") > 0).all()      # it was held
    spec = BaseSpec.from_json(found.attrs["spec"])
    assert type(spec) is wb.EnginesSpec and spec.draws == 30 and spec.options["kernel"] == "rbf"
    places = found.assign_coords(x=found["covariates"][:, 0] if "covariates" in found else (
        "individual", np.arange(found.sizes["individual"]) * 1.0),
        y=("individual", np.zeros(found.sizes["individual"])))
    assert len(plots.engines(places)) == 6


def test_what_no_engine_can_do_is_said(ds, monkeypatch):
    for model, engines, message in (
            (None, ["exact"], "no closed form: the likelihood is not Normal"),
            (wb.VBAgg(likelihood="normal"), ["exact"], "write link='identity'"),
            (wb.VBAgg(**NORMAL | {"nugget": 0.1}), ["exact"], "there is a nugget"),
            (None, ["mcmc"], "engine 'mcmc' is unknown"), (wb.CMP(), None, "write wb.VBAgg")):
        with pytest.raises(InputError, match=message):
            wb.compare_engines(ds, model, engines=engines)
    with pytest.raises(InputError, match="minutes, more than the limit of 1"):
        wb.compare_engines(ds, engines=["nuts"], draws=10**7, limit=1)
    monkeypatch.setitem(sys.modules, "numpyro", None)
    with pytest.raises(ImportError, match=r"aggregate-workbench\[sampling\]"):
        wb.compare_engines(ds, engines=["nuts"])
    with pytest.raises(InputError, match="no engines to draw"):
        plots.engines(ds)
