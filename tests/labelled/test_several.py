"""Several labelled sources: trees, mappings, tasks with gaps, and the command on files."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench.checks import InputError
from workbench.cli import app
from workbench.labelled import datasets_of, to_sources

QUICK = {"kernel": "rbf", "max_steps": 15, "tolerance": 1e-3}


@pytest.fixture(scope="module")
def tree():
    return wb.load_sources("dependent-sources", points=40)


def monitors(task_values, **attrs):
    """Hourly means of two tasks in the same bags, some rows of one missing."""
    table = pd.DataFrame({"from": np.arange(0.0, 12, 2), "to": np.arange(2.0, 14, 2), "y": 0.0})
    ds = wb.bag_boxes(table, "y", {"time": ("from", "to")}, nodes=3)
    values = np.array(list(task_values.values())).T
    return ds.assign(value=(("bag", "task"), values, ds["value"].attrs | attrs)).assign_coords(
        task=list(task_values))


def test_a_tree_and_a_mapping_are_the_same_sources(tree):
    mapping = {name: child.to_dataset() for name, child in tree["sources"].children.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = wb.MRGP(**QUICK).fit(tree), wb.MRGP(**QUICK).fit(mapping)
    assert one.hyperparameters == other.hyperparameters
    assert set(one.hyperparameters) >= {"points.noise.variance", "aggregates.noise.variance"}
    assert repr(one).endswith("to bags of points (40), aggregates (13)>")
    assert one.composite_weights.to_series().to_dict() == {"points": 1.0, "aggregates": 1.0}


def test_trust_is_the_power_of_a_source(tree):
    values = {"mean": 2.0, "rbf.variance": 5.0, "rbf.lengthscale": 1.0,
              "points.noise.variance": 0.3, "aggregates.noise.variance": 0.1}
    model, target = wb.MRGP(kernel="rbf"), tree["target"].to_dataset()
    half = model.condition(tree, values, trust={"aggregates": 0.5})
    peer = model.condition(tree, values | {"aggregates.noise.variance": 0.2})
    np.testing.assert_allclose(half.at(target).std, peer.at(target).std)
    assert float(half.composite_weights.sel(source="aggregates")) == 0.5
    for name, value, message in (("agregates", 1.0, "did you mean 'aggregates'"),
                                 ("points", 0.0, "must be positive")):
        with pytest.raises(InputError, match=message):
            to_sources(tree, {name: value})


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_tasks_with_missing_rows_become_sources_without_them():
    ds = monitors({"no2": [1, 2, np.nan, 4, 5, 6], "pm10": [10, np.nan, np.nan, 40, 50, 60]},
                  units="ug/m3")
    found = datasets_of({"street": ds})
    assert list(found) == ["street.no2", "street.pm10"]
    assert found["street.no2"]["value"].values.tolist() == [1, 2, 4, 5, 6]
    assert found["street.pm10"].sizes["individual"] == 4 * 3
    assert found["street.pm10"]["time_from"].values.tolist() == [0, 6, 8, 10]
    sources = to_sources({"street": ds})
    assert [s.task for s in sources] == ["no2", "pm10"]
    assert [s.bags.count for s in sources] == [5, 4]
    fit = wb.MRGPRN(kernel="rbf", inducing=8, max_steps=5, tolerance=1e-1).fit({"street": ds})
    assert fit.tasks == ("no2", "pm10")
    with_task = fit.at(found["street.pm10"], task="pm10").mean
    assert with_task.attrs["units"] == "ug/m3"
    assert 5 < float(with_task.mean()) < 70 and float(fit.at(found["street.pm10"]).mean.mean()) < 8
    draws = fit.simulate(found["street.no2"], samples=7, source="street.pm10")
    assert draws.shape == (7, 5)
    assert fit.at(ds, task="pm10").mean.sizes["individual"] == 18
    nothing = monitors({"no2": [1, 2, 3, 4, 5, 6], "pm10": [np.nan] * 6})
    with pytest.raises(InputError, match="no value of task 'pm10'"):
        datasets_of({"street": nothing})


def test_counts_and_means_keep_their_own_units_and_scales():
    """Cases per area beside a measured quantity: neither is scaled by the other's weights."""
    ds = wb.load("swiss-roll", n_bags=12, mean_size=6, size_std=3)
    measured = ds.assign(value=("bag", np.linspace(1, 2, 12), {
        "units": "ug/m3", "aggregation": "mean", "kind": "continuous", "task": "no2"}))
    weight = (50 * ds["weight"]).assign_attrs(units="persons")
    cases = ds.assign(weight=weight, value=ds["value"].assign_attrs(
        ds["value"].attrs | {"task": "cases", "units": "cases"}))
    for order in (("cases", "no2"), ("no2", "cases")):
        sources = {name: {"cases": cases, "no2": measured}[name] for name in order}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = wb.MRGPRN(kernel="rbf", inducing=10, max_steps=15, tolerance=1e-3).fit(sources)
        no2, total = fit.over(cases, task="no2").mean, fit.over(cases, task="cases").mean
        assert 0.5 < float(no2.mean()) < 3 and no2.attrs["units"] == "ug/m3"
        assert float(total.mean()) == pytest.approx(float(cases["value"].mean()), rel=0.5)
        assert total.attrs["units"] == "cases"
        assert fit.at(cases, task="cases").mean.attrs["units"] == "cases / persons"
        assert fit.noise_std(cases, "no2").attrs["units"] == "ug/m3"
    other = measured.copy()
    other["value"].attrs["units"] = "ng/m3"
    with pytest.raises(InputError, match="task 'no2' is in 'ug/m3' in source 'a' and in 'ng/m3'"):
        to_sources({"a": measured, "b": other})


def test_experts_and_draws_are_labelled():
    tree = wb.load_sources("biased-sources")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = wb.MRDGP(kernel="rbf", joint_steps=0, max_steps=20, tolerance=1e-2).fit(tree)
        field = wb.MRGP(**QUICK).fit(tree)
    target = tree["target"].to_dataset()
    weights = fit.expert_weights(target)
    assert weights["expert"].values.tolist() == ["high", "low-1", "low-2"]
    np.testing.assert_allclose(weights.sum("expert"), 1)
    assert fit.expert(target, "low-1").mean.sizes == {"individual": 200}
    draws = field.draw(target, 50)
    assert draws.dims == ("sample", "individual") and draws.sizes["sample"] == 50
    for refused in (lambda: fit.draw(target), lambda: field.expert_weights(target)):
        with pytest.raises(InputError, match="mr-"):
            refused()


def test_the_map_of_a_task_has_provenance(tree, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = wb.MRGP(**QUICK, composite="ribatet").fit(tree)
    maps = fit.to_dataset(tree["target"].to_dataset(), threshold=3.0)
    assert {"mean", "std", "rate_quantile", "exceedance", "bag_mean", "extrapolation"} <= set(maps)
    assert "points" in maps.attrs["source_weights"] and "composite" in maps.attrs["model"]
    maps.to_netcdf(tmp_path / "map.nc")
    back = xr.load_dataset(tmp_path / "map.nc")
    np.testing.assert_allclose(back["mean"], maps["mean"])
    assert "composite weights (ribatet)" in fit.summary()


def test_what_is_no_set_of_sources_is_refused(tree):
    with pytest.raises(InputError, match="got list"):
        wb.MRGP().fit([1])
    with pytest.raises(InputError, match="there are no sources"):
        wb.MRGP().fit({})
    with pytest.raises(InputError, match="the tree holds no sources"):
        wb.MRGP().fit(xr.DataTree())
    broken = tree["sources/points"].to_dataset().drop_vars("weight")
    with pytest.raises(InputError, match="source 'points': the dataset lacks 'weight'"):
        wb.MRGP().fit({"points": broken})


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_the_command_combines_files(tree, tmp_path):
    for name, child in tree["sources"].children.items():
        child.to_dataset().to_netcdf(tmp_path / f"{name}.nc")
    tree["target"].to_dataset().to_netcdf(tmp_path / "grid.nc")
    run = CliRunner().invoke(app, [
        "combine", f"fine={tmp_path / 'points.nc'}", str(tmp_path / "aggregates.nc"), "--at",
        str(tmp_path / "grid.nc"), "--option", "kernel=rbf", "--option", "max_steps=5",
        "--trust", "aggregates=0.5", "--out", str(tmp_path / "map.nc"), "--quiet"])
    assert run.exit_code == 0, run.output
    assert "weights of the sources: fine 1, aggregates 0.5" in run.output
    assert xr.load_dataset(tmp_path / "map.nc").sizes["individual"] == 500
    bad = CliRunner().invoke(app, ["combine", str(tmp_path / "points.nc"), "--model", "cmp",
                                   "--out", str(tmp_path / "map.nc")])
    assert bad.exit_code == 2 and "model 'cmp' is unknown" in bad.output
    named = CliRunner().invoke(app, [
        "combine", "dependent-sources", "--option", "kernel=rbf", "--option", "max_steps=2",
        "--out", str(tmp_path / "named.nc"), "--quiet"])
    assert named.exit_code == 0, named.output
