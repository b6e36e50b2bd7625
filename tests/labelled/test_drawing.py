"""Labelled draws: totals preserved, functionals, maps from draws, and what attributes say."""

import doctest

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from workbench.checks import InputError
from workbench.datasets import load
from workbench.labelled import drawing, maps

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore::workbench.checks.ExtrapolationWarning")


@pytest.fixture(scope="module")
def ds():
    made = load("swiss-roll", n_bags=16, mean_size=8, size_std=4)
    rng = np.random.default_rng(1)
    rate = np.exp(1.5 + 0.4 * np.sin(made["covariates"].values[:, 0] / 4))
    fine = rng.poisson(rate * made["weight"].values).astype(float)
    total = np.bincount(made["membership"].values, fine)
    return made.assign(individual_value=("individual", fine), truth=("individual", rate),
                       value=made["value"].copy(data=total).assign_attrs(
                           kind="count", aggregation="sum", units="cases"))


@pytest.fixture(scope="module")
def fit(ds):
    return wb.VBAgg(kernel="rbf", inducing=12, max_steps=10, overdispersion="area",
                    nugget=0.3).fit(ds)


def totals(draws, ds):
    return np.stack([np.bincount(ds["membership"].values, row) for row in draws.values])


def test_every_draw_adds_up_and_says_so(fit, ds):
    draws = fit.sample(ds, 60, preserve_totals=True, seed=2)
    assert draws.dims == ("sample", "individual") and draws.attrs["units"] == "cases"
    assert "adds up" in draws.attrs["distribution"] and draws.attrs["fractional_totals"] == 0
    np.testing.assert_array_equal(totals(draws, ds), np.tile(ds["value"].values, (60, 1)))
    xr.testing.assert_identical(draws, fit.sample(ds, 60, preserve_totals=True, seed=2))
    free = fit.sample(ds, 60, seed=2)
    xr.testing.assert_identical(free, fit.simulate(ds, "individual", 60, 2))
    assert (totals(free, ds) != ds["value"].values).any()


def test_totals_that_are_not_whole_are_met_and_named(fit, ds):
    other = ds.assign(value=ds["value"] + 0.25)
    draws = fit.sample(other, 40, preserve_totals=True)
    np.testing.assert_allclose(totals(draws, ds), np.tile(other["value"].values, (40, 1)))
    assert draws.attrs["fractional_totals"] == 16


def test_what_cannot_be_preserved_is_refused(fit, ds):
    with pytest.raises(InputError, match="no totals to preserve"):
        fit.sample(ds.drop_vars("value"), 5, preserve_totals=True)
    with pytest.raises(InputError, match="samples must be positive"):
        fit.sample(ds, 0)
    with pytest.raises(InputError, match="level must lie"):
        fit.functional(ds, lambda draw: draw.sum(), 10, level=95)


def test_sums_over_groups_are_drawn_by_name_or_by_label(fit, ds):
    members = ds["membership"].values
    halves = np.where(np.arange(members.size) % 2, "odd", "even")
    labels = np.char.add(members.astype(str), halves)
    drawn = fit.sample(ds, 2000, preserve_totals=True, by=labels, seed=2)
    assert drawn.dims == ("sample", "group") and drawn.attrs["units"] == "cases"
    assert "adds up" in drawn.attrs["distribution"]
    assert drawn["group"].values.tolist() == sorted(set(labels))
    whole = fit.sample(ds, 2000, preserve_totals=True, seed=3)
    for name in drawn["group"].values[:6]:
        one, other = drawn.sel(group=name), whole[:, labels == name].sum("individual")
        error = np.sqrt((float(one.var()) + float(other.var())) / 2000)
        assert abs(float(one.mean() - other.mean())) < 4.5 * error
    named = ds.assign_coords(half=("individual", labels))
    xr.testing.assert_identical(
        drawn, fit.sample(named, 2000, preserve_totals=True, by="half", seed=2))
    by_area = fit.sample(ds, 30, preserve_totals=True, by="membership", seed=2)
    np.testing.assert_array_equal(by_area, np.tile(ds["value"].values, (30, 1)))
    free = fit.sample(ds, 30, by=labels, seed=2)
    alone = fit.sample(ds, 30, seed=2)
    for name in free["group"].values:
        np.testing.assert_allclose(free.sel(group=name),
                                   alone[:, labels == name].sum("individual"))


def test_groups_of_means_are_averaged_by_weight():
    ds = load("swiss-roll", n_bags=12, mean_size=6, size_std=3)
    weight = np.random.default_rng(0).uniform(1, 3, ds.sizes["individual"])
    members = ds["membership"].values
    mean = np.bincount(members, weight * np.sin(ds["covariates"].values[:, 0])) / np.bincount(
        members, weight)
    ds = ds.assign(weight=ds["weight"].copy(data=weight), value=ds["value"].copy(
        data=mean).assign_attrs(kind="continuous", aggregation="mean"))
    fit = wb.VBAgg(kernel="rbf", inducing=8, max_steps=5, likelihood="normal",
                   link="identity").fit(ds)
    drawn = fit.sample(ds, 20, preserve_totals=True, by="membership")
    np.testing.assert_allclose(drawn, np.tile(mean, (20, 1)))
    everyone = fit.sample(ds, 20, by=np.zeros(members.size), seed=1)
    single = fit.sample(ds, 20, seed=1)
    np.testing.assert_allclose(everyone[:, 0], single.values @ weight / weight.sum())


def test_groups_of_areas_go_by_a_label_of_theirs(fit, ds):
    half = xr.DataArray(np.where(np.arange(ds.sizes["bag"]) % 2, "odd", "even"), dims="bag")
    drawn = fit.sample(ds.assign_coords(half=half), 10, preserve_totals=True, by="half")
    wanted = [float(ds["value"][half.values == name].sum()) for name in ("even", "odd")]
    np.testing.assert_allclose(drawn, np.tile(wanted, (10, 1)))


def test_groups_that_do_not_fit_are_refused(fit, ds):
    with pytest.raises(InputError, match="did you mean 'membership'"):
        fit.sample(ds, 5, preserve_totals=True, by="memberships")
    with pytest.raises(InputError, match=r"one label in by for each individual .*shape \(16,\)"):
        fit.sample(ds, 5, preserve_totals=True, by=np.arange(16))
    with pytest.raises(InputError, match="labels in by of one type.*int, str"):
        fit.sample(ds, 5, by=np.array([1, "a"] + ["b"] * (ds.sizes["individual"] - 2), object))
    labels = np.where(np.arange(ds.sizes["individual"]) < 3, np.nan, 1.0)
    with pytest.raises(InputError, match="no label for 3 of"):
        fit.sample(ds, 5, by=labels)


def test_the_map_of_draws_is_an_average_of_shares(fit, ds):
    maps = fit.to_dataset(ds, [0.1, 0.9], threshold=5.0, preserve_totals=True, samples=400, seed=3)
    summed = np.bincount(ds["membership"].values, maps["expected_count"].values)
    np.testing.assert_allclose(summed, ds["value"].values)
    np.testing.assert_allclose(maps["mean"] * ds["weight"], maps["expected_count"])
    assert maps["rate_quantile"].dims == ("quantile", "individual")
    assert (maps["value_quantile"].diff("quantile") >= 0).all()
    assert ((maps["exceedance"] >= 0) & (maps["exceedance"] <= 1)).all()
    several = fit.to_dataset(ds, [0.1, 0.9], threshold=[9.0, 5.0], preserve_totals=True,
                             samples=400, seed=3)["exceedance"]
    np.testing.assert_array_equal(several.sel(threshold=5.0), maps["exceedance"])
    assert (several.sel(threshold=9.0) <= several.sel(threshold=5.0)).all()
    for name in ("mean", "std", "rate_quantile", "value_quantile", "expected_count", "exceedance"):
        assert "adds up" in maps[name].attrs["distribution"]
        assert "long_name" in maps[name].attrs and "units" in maps[name].attrs
    # It is not the mean scaled to the total, but near it.
    ratio = wb.rescale_to_totals(ds, fit.at(ds, area_effect=True).mean * ds["weight"])
    np.testing.assert_allclose(maps["expected_count"], ratio, rtol=0.15)
    assert np.abs(maps["expected_count"] - ratio).max() > 1e-6
    plain = fit.to_dataset(ds, area_effect=False)
    assert "prior" in plain["mean"].attrs["distribution"]
    assert "given their observed totals" in fit.to_dataset(ds)["mean"].attrs["distribution"]


def test_large_maps_are_drawn_some_bags_at_a_time(fit, ds, monkeypatch):
    for module in (drawing, maps):
        monkeypatch.setattr(module, "BUDGET", 400 * 40)
    found = fit.to_dataset(ds, preserve_totals=True, samples=400)
    summed = np.bincount(ds["membership"].values, found["expected_count"].values)
    np.testing.assert_allclose(summed, ds["value"].values)
    many = fit.functional(ds, lambda draw: draw.sum(), samples=400)
    np.testing.assert_allclose(many["draws"], float(ds["value"].sum()))


def test_functionals_take_one_draw_or_all(fit, ds):
    inside = xr.DataArray(np.arange(ds.sizes["individual"]) % 3 == 0, dims="individual")
    one = fit.functional(ds, lambda draw: float(draw.values[inside.values].sum()), 300, seed=4)
    draws = fit.sample(ds, 300, preserve_totals=True,
                       seed=int(np.random.default_rng(4).integers(2**31, size=1)[0]))
    wanted = draws.where(inside, 0).sum("individual")
    np.testing.assert_allclose(one["draws"], wanted)
    assert float(one["mean"]) == pytest.approx(float(wanted.mean()))
    assert float(one["sd"]) == pytest.approx(float(wanted.std(ddof=1)))
    assert one["interval"].dims == ("end",) and one["interval"]["end"].values.tolist() == [
        "lower", "upper"]
    low, high = np.quantile(wanted, [0.025, 0.975])
    np.testing.assert_allclose(one["interval"], [low, high])
    centred = fit.functional(ds, lambda all: all - all.mean("sample"), 300, seed=4)
    assert centred["mean"].dims == ("individual",)
    np.testing.assert_allclose(centred["mean"], 0, atol=1e-9)
    with pytest.raises(ZeroDivisionError):
        fit.functional(ds, lambda draw: 1 / 0, 10)


def test_draws_are_joint_unless_told_otherwise(fit, ds):
    rate = fit.at(ds, area_effect=False)
    joint, alone = rate.sample(4000, 1), rate.sample(4000, 1, joint=False)
    assert joint.attrs["draws"] == "joint" and alone.attrs["draws"] == "of single units"
    np.testing.assert_allclose(joint.std("sample"), alone.std("sample"), rtol=0.2)
    assert joint.sum("individual").std() > 1.5 * alone.sum("individual").std()
    over = fit.over(ds, area_effect=False).sample(4000, 1)
    summed = xr.DataArray(totals(joint * ds["weight"], ds), dims=("sample", "bag"))
    np.testing.assert_allclose(over.std("sample"), summed.std("sample"), rtol=0.15)
    latent = fit.latent(ds).sample(2000, 2)
    assert latent.attrs["draws"] == "joint"
    assert np.corrcoef(latent.values[:, :2].T)[0, 1] > 0.3


def test_examples_in_the_docstrings_run():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    found = [test for method in (wb.labelled.fit.Fit.functional, wb.labelled.fit.Fit.sample)
             for test in finder.find(method, method.__name__, globs={}) if test.examples]
    assert len(found) == 2
    for test in found:
        runner.run(test)
    assert runner.failures == 0
