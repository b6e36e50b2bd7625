"""The Korean deaths: known totals, known scores, nested levels."""

import numpy as np
import pytest
import shapely

from workbench import schema
from workbench.bagging import merge_to
from workbench.datasets import load
from workbench.datasets.korea import COVARIATES


@pytest.fixture(scope="module")
def korea():
    return load("korea")


def scores(ds, share):
    """Poisson deviance a unit, RMSE and correlation of totals spread by a share."""
    membership, deaths = ds["membership"].values, ds["individual_value"].values
    expected = (ds["value"].values / np.bincount(membership, share))[membership] * share
    deviance = 2 * np.mean(deaths * np.log(deaths / expected) - (deaths - expected))
    return (deviance, np.sqrt(np.mean((deaths - expected) ** 2)),
            np.corrcoef(deaths, expected)[0, 1])


def test_totals_and_sizes_are_the_known_ones(korea):
    schema.check(korea)
    assert dict(korea.sizes) == {"individual": 3487, "covariate": len(COVARIATES), "bag": 250}
    assert korea["value"].sum() == korea["individual_value"].sum() == 304_268
    assert korea["weight"].sum() == 51_656_761


def test_simple_ways_to_spread_the_totals_score_as_known(korea):
    deviance, rmse, correlation = scores(korea, korea["weight"].values)
    assert (round(deviance, 2), round(rmse, 1)) == (12.35, 36.8)
    assert correlation == pytest.approx(0.86, abs=0.006)
    deviance, rmse, correlation = scores(korea, korea["area"].values)
    assert (round(deviance, 1), round(rmse, 1), round(correlation, 2)) == (87.9, 99.5, 0.30)


def test_provinces_are_made_of_whole_districts(korea):
    provinces = load("korea", level="province")
    assert provinces.sizes["bag"] == 17
    assert provinces["value"].sum() == 304_268
    by_province = korea["value"].groupby(korea["province"]).sum()
    assert provinces["value"].values == pytest.approx(by_province.sel(
        province=provinces["bag"].values).values)
    assert provinces["value"].sel(bag="Sejong") == korea["value"].sel(bag="29010")


def test_names_shapes_and_coordinates_belong_together(korea):
    assert korea["bag_name"].sel(bag="11010").item() == "Jongno-gu, Seoul"
    assert korea["individual_name"].values[0] == "Sajik-dong"
    assert korea["x"].attrs["units"] == "km"
    parents = korea["bag_geometry"].values[korea["membership"].values]
    inside = shapely.contains_xy(shapely.convex_hull(parents), korea["x"], korea["y"])
    assert inside.all()
    # outlines are simplified, areas are not: in all they agree to a thousandth
    assert shapely.area(korea["individual_geometry"].values).sum() == pytest.approx(
        korea["area"].sum().item(), rel=1e-3)
    codes = korea["bag"].values[korea["membership"].values]
    assert all(c.startswith(b) for c, b in zip(korea["individual"].values, codes, strict=True))


def test_covariates_are_natural_or_logarithms_of_the_skewed():
    natural = load("korea", transform="none")
    assert natural["covariate"].values.tolist() == list(COVARIATES)
    shares = natural["covariate_units"].values == "share"
    matrix = natural["covariates"].values
    assert matrix[:, shares].min() >= 0 and matrix[:, shares].max() <= 1
    density = natural["covariates"].sel(covariate="population_density")
    np.testing.assert_allclose(density, natural["weight"] / natural["area"])
    logged = load("korea", covariates=["population_density", "apartments"])
    assert logged["covariate"].values.tolist() == ["log10_population_density", "apartments"]
    np.testing.assert_allclose(logged["covariates"][:, 0], np.log10(density + 1))


def test_granularity_can_be_any_number_of_contiguous_areas(korea):
    merged = merge_to(korea, 60)
    assert merged.sizes["bag"] == 60
    assert merged["value"].sum() == 304_268


def test_the_cleaning_is_on_record(korea):
    assert "14 neighbourhoods without people or deaths" in korea.attrs["treatments"]
    assert "'one_person_households': 1 gap was" in korea.attrs["treatments"]


def test_a_loaded_copy_can_be_changed(korea):
    changed = load("korea")
    changed["value"][:] = 0
    assert load("korea")["value"].sum() == 304_268
