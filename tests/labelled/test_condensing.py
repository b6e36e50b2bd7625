"""Clusters in the place of individuals: what they keep, what models make of them, parts."""

import geopandas
import numpy as np
import pytest
import rioxarray  # noqa: F401
import shapely
import xarray as xr

import workbench as wb
from workbench.checks import InputError


@pytest.fixture(scope="module")
def country():
    return wb.load("simulated-country", pixels=2000, districts=20, regions=4, provinces=2)


def by_bag(ds, values):
    weight, members = ds["weight"].values, ds["membership"].values
    total = np.bincount(members, weight)
    return np.bincount(members, weight * values) / total


def test_totals_means_and_values_of_bags_stay_what_they_are(country):
    few = wb.condense(country, most=7)
    assert few.sizes["individual"] == 140 < country.sizes["individual"]
    np.testing.assert_array_equal(few["value"], country["value"])
    np.testing.assert_allclose(np.bincount(few["membership"], few["weight"]),
                               np.bincount(country["membership"], country["weight"]))
    for name in country["covariate"].values:
        np.testing.assert_allclose(by_bag(few, few["covariates"].sel(covariate=name).values),
                                   by_bag(country, country["covariates"].sel(
                                       covariate=name).values))
    for name in ("x", "y", "truth"):
        np.testing.assert_allclose(by_bag(few, few[name].values),
                                   by_bag(country, country[name].values))
    assert "row" not in few and "grid_transform" not in few.attrs
    assert few.attrs["condensed"] == "2000 individuals in 140 clusters"


def test_clusters_of_one_are_the_individuals(country):
    same = wb.condense(country, most=10_000)
    assert (same["concentration"] == 1).all() and same.sizes == {
        name: size for name, size in country.sizes.items() if name in same.sizes}
    order = np.lexsort(same["covariates"].values.T)
    before = np.lexsort(country["covariates"].values.T)
    np.testing.assert_allclose(same["weight"].values[order], country["weight"].values[before])


def test_what_a_cluster_keeps_of_white_noise_is_that_of_its_weighted_mean(country):
    few = wb.condense(country, most=1)
    weight, members = country["weight"].values, country["membership"].values
    total = np.bincount(members, weight)
    np.testing.assert_allclose(few["concentration"], np.bincount(members, weight**2) / total**2)
    again = wb.condense(wb.condense(country, most=9), most=1)       # clusters of clusters
    np.testing.assert_allclose(again["concentration"], few["concentration"])


def test_where_the_map_is_flat_nothing_is_lost(country):
    """The bound and the areas' totals, with nugget and area effects, are those of all pixels."""
    few = wb.condense(country, most=5)
    model = wb.VBAgg(kernel="constant", nugget=0.9, overdispersion="area", compress=0)
    given = {name: entry["value"] for name, entry in model.fit(few).hyperparameters.items()}
    fits = [model.condition(one, given)
            for one in (country, few, few.drop_vars("concentration"))]
    assert fits[1].objective == pytest.approx(fits[0].objective, abs=1e-6)
    assert abs(fits[2].objective - fits[0].objective) > 0.05        # what it is for
    totals = [fit.over(one) for fit, one in zip(fits, (country, few), strict=False)]
    for name in ("mean", "std"):
        np.testing.assert_allclose(getattr(totals[1], name), getattr(totals[0], name), rtol=1e-5)


def test_joint_draws_of_clusters_vary_as_means_of_their_members(country):
    few = wb.condense(country, most=5)
    model = wb.VBAgg(kernel="constant", nugget=0.9, overdispersion="none", compress=0)
    fit = model.fit(few)
    unseen = few.drop_vars("value")
    rate = np.log(fit.sample(unseen, 4000, seed=0).values.reshape(-1, few.sizes["individual"]))
    found = rate.std(axis=0)
    alone = fit.hyperparameters["nugget.std"]["value"] * np.sqrt(few["concentration"].values)
    assert np.corrcoef(found, alone)[0, 1] > 0.99


@pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")
def test_a_map_learnt_from_clusters_is_near_that_of_all_pixels(country):
    model = wb.VBAgg(kernel="linear+matern32(coordinates)", compress=0)
    whole, part = model.fit(country), model.fit(wb.condense(country, most=15))
    maps = [np.log(fit.at(country.drop_vars("value")).mean.values) for fit in (whole, part)]
    assert np.corrcoef(maps)[0, 1] > 0.98


@pytest.mark.parametrize("wrong", [0, 2.5, "many"])
def test_a_wrong_number_of_clusters_is_refused(country, wrong):
    with pytest.raises(InputError, match="most must be a whole number of 1 or more"):
        wb.condense(country, most=wrong)


def test_shares_beyond_one_are_refused(country):
    few = wb.condense(country, most=3)
    few["concentration"] = few["concentration"] + 1
    with pytest.raises(InputError, match="concentration must be above 0 and at most 1"):
        wb.VBAgg(kernel="linear").fit(few)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Nine square areas over a raster of 90 x 90 pixels, and their people."""
    folder = tmp_path_factory.mktemp("large")
    centre = 50.0 + 100 * np.arange(90)
    noise = np.random.default_rng(0)
    for name, values in (("height", noise.normal(size=(90, 90))),
                         ("people", noise.uniform(1, 9, size=(90, 90)))):
        layer = xr.DataArray(values, {"y": centre[::-1], "x": centre}, ("y", "x"))
        layer.rio.write_crs("EPSG:3035").rio.to_raster(folder / f"{name}.tif")
    corners = [(3000 * k, 3000 * m) for k in range(3) for m in range(3)]
    areas = geopandas.GeoDataFrame(
        {"code": list("ihgfedcba"), "cases": np.arange(9) + 20,
         "region": ["north", "south", "east"] * 3},
        geometry=[shapely.box(x, y, x + 3000, y + 3000) for x, y in corners], crs="EPSG:3035")
    areas.to_file(folder / "areas.gpkg")
    return folder


def test_areas_in_parts_are_those_bagged_together(files):
    given = (files / "areas.gpkg", files / "height.tif", files / "people.tif", "cases")
    more = {"id": "code", "labels": {"region": "region"}}
    whole = wb.condense(wb.bag_polygons(*given, **more), most=8)
    one = wb.bag_in_parts(*given, most=8, **more)
    several = wb.bag_in_parts(*given, most=8, at_once=2, **more)
    xr.testing.assert_allclose(one.drop_vars("bag_geometry"), whole.drop_vars("bag_geometry"))
    assert several["bag"].values.tolist() == list("ihgfedcba")
    for name in ("value", "region", "bag_x", "bag_y"):
        np.testing.assert_array_equal(several[name], whole[name])
    assert several.sizes == whole.sizes
    np.testing.assert_allclose(by_bag(several, several["covariates"].values[:, 0]),
                               by_bag(whole, whole["covariates"].values[:, 0]))
    assert several.attrs["condensed"] == "8100 individuals in 72 clusters"
    assert not [name for name in several.attrs if name.startswith(("outside", "grid"))]
    wb.write(several, files / "condensed.nc")
    xr.testing.assert_allclose(wb.read(files / "condensed.nc")["concentration"],
                               several["concentration"])


def test_parts_refuse_what_they_cannot_tell(files):
    given = (files / "areas.gpkg", files / "height.tif", files / "people.tif", "cases")
    with pytest.raises(InputError, match="nobody can tell what lies outside"):
        wb.bag_in_parts(*given, outside="error")
    areas = geopandas.read_file(files / "areas.gpkg")
    areas["code"] = "same"
    with pytest.raises(InputError, match="same id"):
        wb.bag_in_parts(areas, *given[1:], id="code", at_once=1)
