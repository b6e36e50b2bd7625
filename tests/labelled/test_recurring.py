"""Areas that have bags in several periods: known by label and place, in any data with periods."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import workbench as wb
from tests.geo.files import areas, height, people
from workbench.bagging.recurring import areas_of
from workbench.checks import without_warnings
from workbench.evaluation.conditioning import bare, coarsen
from workbench.labelled.recurring import KnownAreas
from workbench.labelled.source import Converted, to_source

YEARS, DIFFERENCE = (2019, 2020, 2021), 0.6


def counts(years=YEARS) -> pd.DataFrame:
    """Counts that areas differ in by the same factors every year."""
    rng = np.random.default_rng(1)
    codes = areas()["code"].tolist()
    own = np.exp(rng.normal(0, DIFFERENCE, len(codes)))
    rows = [(code, year, int(rng.poisson(80 * own[k]))) for year in years
            for k, code in enumerate(codes)]
    return pd.DataFrame(rows, columns=["code", "year", "cases"])


def bagged(years=YEARS, codes=None, shift=0.0) -> xr.Dataset:
    table, where = counts(years), areas()
    if codes is not None:
        table["code"], where["code"] = (one["code"].map(codes) for one in (table, where))
    ds = wb.bag_polygons(where, [height()], people(), value="cases", totals=table, join="code",
                         time="year")
    return ds.assign_coords(x=ds["x"] + shift)


@pytest.fixture(scope="module")
def ds() -> xr.Dataset:
    return bagged()


@pytest.fixture(scope="module")
def fit(ds):
    with without_warnings():        # of a short fit
        return wb.VBAgg(kernel="linear(height)+matern32(place)", inducing=20, max_steps=15).fit(ds)


def test_a_known_area_keeps_its_effect_in_other_years(ds, fit):
    assert fit.hyperparameters["persistent.variance"]["value"] > 0.05
    later = bagged((2024, 2025))
    expected = fit.over(later).mean
    of_2019 = ds["value"].values[:expected.sizes["bag"] // 2]
    errors = np.log(expected.values[:of_2019.size] / of_2019)
    assert np.std(errors) < DIFFERENCE / 3
    prior = fit.over(later, area_effect=False)
    assert np.std(np.log(prior.mean.values[:of_2019.size] / of_2019)) > 1.5 * np.std(errors)
    assert (fit.over(later).std / expected < prior.std / prior.mean).all()
    # Under other names, and elsewhere, it is another area, whose effect has its prior.
    for other in (bagged((2024, 2025), lambda code: f"X{code}"),
                  bagged((2024, 2025), shift=5e4)):
        unknown = fit.at(other).std / fit.at(other).mean
        kept = fit.at(other, area_effect=False)
        np.testing.assert_allclose(unknown, kept.std / kept.mean, rtol=1e-8)


def test_order_and_parts_of_the_data_do_not_matter(ds, fit):
    from workbench.evaluation.folding import subset

    whole, part = fit.at(ds).mean.values, np.array([30, 3, 20])
    inside = np.concatenate([np.flatnonzero(ds["membership"].values == k) for k in part])
    np.testing.assert_allclose(fit.at(subset(ds, part)).mean, whole[inside])


def test_unions_remember_their_areas(ds):
    groups = np.arange(ds.sizes["bag"]) // 4
    for merged in (coarsen(bare(ds), groups), wb.merge_to(ds, 12)):
        assert sorted(set(areas_of(merged))) == sorted(set(ds["area"].values))
        assert to_source(merged).bags.recurring.max() == len(set(ds["area"].values)) - 1
    single = wb.at_period(ds, 2020)
    fitted = wb.VBAgg(kernel="rbf", inducing=5, max_steps=3)
    assert "persistent.variance" not in fitted.starting_values(single)
    assert "persistent.variance" in fitted.starting_values(ds)
    assert areas_of(wb.load("swiss-roll", n_bags=12)) is None


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_a_saved_fit_knows_its_areas_again(tmp_path, ds, fit):
    fit.save(tmp_path / "fit.wbfit")
    again, later = wb.load_fit(tmp_path / "fit.wbfit"), bagged((2024, 2025))
    np.testing.assert_allclose(again.at(later).mean, fit.at(later).mean, rtol=1e-8)
    np.testing.assert_allclose(again.at(later).std, fit.at(later).std, rtol=1e-8)


def test_parts_of_the_map_add_up(ds, fit):
    parts = fit.components(ds, area_effect=True)
    total = sum(parts[name] for name in parts if name.endswith("_mean"))
    latent = fit.latent(ds).mean
    assert "persistent_mean" not in parts
    np.testing.assert_allclose(total - parts["area effect_mean"], latent, atol=1e-8)
    # exp of the sum is the median of the rate
    np.testing.assert_allclose(np.log(fit.at(ds).quantile([0.5])).values.reshape(-1), total,
                               atol=0.02)


@pytest.mark.parametrize("each", [1, 3])
def test_areas_of_a_pixel_or_a_row_are_known(each):
    rng, areas = np.random.default_rng(0), 40
    x, y = rng.uniform(0, 1e5, (2, areas))
    place = np.tile(np.repeat(np.arange(areas), each), 3)
    step = np.tile(np.arange(each), 3 * areas)
    bag = np.repeat(np.arange(3 * areas), each)
    made = xr.Dataset(
        {"covariates": (("individual", "covariate"), rng.normal(size=(bag.size, 1))),
         "weight": ("individual", np.full(bag.size, 10.0)), "membership": ("individual", bag),
         "value": ("bag", rng.poisson(20, 3 * areas).astype(float),
                   {"kind": "count", "aggregation": "sum"})},
        coords={"covariate": ["h"], "bag": [f"b{k}" for k in range(3 * areas)],
                "x": ("individual", x[place] + 100 * step), "y": ("individual", y[place]),
                "area": ("bag", [f"A{k % areas}" for k in range(3 * areas)]),
                "period": ("bag", np.repeat(["1", "2", "3"], areas))})
    known = KnownAreas.of(Converted(made))
    assert (known.numbers(Converted(made)) >= 0).all()
    near, far = made["x"].astype("float32"), made["x"] + 1e6
    assert (known.numbers(Converted(made.assign_coords(x=near))) >= 0).all()
    assert (known.numbers(Converted(made.assign_coords(x=far))) < 0).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_candidates_of_auto_have_it_and_are_weighed(ds):
    found = wb.Auto(effort="quick", workers=1).fit(ds)
    assert found.recovery is not None
    assert all("persistent.variance" in one["hyperparameters"]
               for one in found.hyperparameters.values())


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_estimates_of_areas_lean_on_their_other_years(ds):
    """Of a value without much weight of its own the others of its area are the estimate."""
    mean = ds["value"].values / np.bincount(ds["membership"].values, ds["weight"].values) * 1e3
    error = np.full(mean.size, 0.05 * mean.mean())
    error[0] = 100 * mean.mean()
    means = ds.assign(
        value=("bag", mean, {"kind": "continuous", "aggregation": "mean"}),
        noise_variance=("bag", error**2))
    found = {name: wb.VBAgg(kernel="linear(height)", link="identity", persistence=name,
                            max_steps=40).fit(means).area_estimates(means)
             for name in ("auto", "none")}
    others = mean[ds["area"].values == ds["area"].values[0]][1:].mean()
    off = {name: abs(float(one["estimate"][0]) - others) for name, one in found.items()}
    assert off["auto"] < off["none"] / 2
    assert float(found["auto"]["estimate_std"][0]) < float(found["none"]["estimate_std"][0])
