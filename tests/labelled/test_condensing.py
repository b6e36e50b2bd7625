"""Clusters in the place of individuals: what they keep, what models make of them, parts."""

import geopandas
import numpy as np
import pytest
import rasterio
import rioxarray  # noqa: F401
import shapely
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench.checks import InputError
from workbench.cli import app
from workbench.pipeline.spec import Spec
from workbench.reporting.code import steps_of


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
    assert few.attrs["condensed"].startswith("2,000 individuals in 140 clusters, without ")


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


def flat(ds, **options):
    """A flat model with a large nugget, and its hyperparameters."""
    given = {"kernel": "constant", "nugget": 0.9, "overdispersion": "area", "compress": 0}
    model = wb.VBAgg(**given | options)
    return model, {name: entry["value"] for name, entry in model.fit(ds).hyperparameters.items()}


@pytest.mark.parametrize("options", [
    {}, {"overdispersion": "none"}, {"likelihood": "negative-binomial", "overdispersion": "auto"}],
    ids=["effects", "none", "negative-binomial"])
def test_where_the_map_is_flat_nothing_is_lost(country, options):
    """The bound, and totals of areas known and unknown, are those of all pixels."""
    few = wb.condense(country, most=5)
    model, given = flat(few, **options)
    whole, part, without = (model.condition(one, given) for one in (
        country, few, few.drop_vars("concentration")))
    assert part.objective == pytest.approx(whole.objective, abs=1e-6)
    if "likelihood" not in options:         # there a nugget's variance is part of the dispersion
        assert abs(without.objective - whole.objective) > 0.05      # what it is for
    for known in (True, False):
        seen = [one if known else one.drop_vars("value") for one in (country, few)]
        totals = [fit.over(one) for fit, one in zip((whole, part), seen, strict=True)]
        np.testing.assert_allclose(totals[1].mean, totals[0].mean, rtol=1e-5)
        np.testing.assert_allclose(totals[1].std, totals[0].std, rtol=1e-5 if known else 0.02)


def test_rates_of_clusters_add_up_to_their_areas(country):
    """At clusters the map is that of a member, and draws are of all members together."""
    few = wb.condense(country, most=5)
    model, given = flat(few, overdispersion="none")
    fit, unseen = model.condition(few, given), few.drop_vars("value")
    weight, members = few["weight"].values, few["membership"].values
    total = fit.over(unseen).mean.values
    np.testing.assert_allclose(np.bincount(members, weight * fit.at(unseen).mean.values), total)
    counts = fit.sample(unseen, 8000, seed=0).transpose("sample", "individual").values
    mean = counts.mean(0)
    np.testing.assert_allclose(np.bincount(members, mean), total, rtol=0.03)
    spread = counts.var(0) / mean**2 - 1 / mean         # beside that of Poisson counts
    own = few["concentration"].values * np.expm1(given["nugget.std"] ** 2)
    expected = own + np.expm1(fit.latent(unseen).std.values ** 2)
    assert np.median(spread / expected) == pytest.approx(1, abs=0.06)


def test_other_models_see_what_clusters_average_out():
    ds = wb.load("swiss-roll-heights", bags=12, points=400)
    few = wb.condense(ds, most=6)
    model = wb.CMP(nugget=0.8)
    given = {name: entry["value"] for name, entry in model.fit(few).hyperparameters.items()}
    assert abs(model.condition(few, given).objective - model.condition(
        few.drop_vars("concentration"), given).objective) > 1e-3


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
        {"code": list("ihgfedcba"), "cases": np.arange(9) + 20, "tested": np.arange(9) + 90,
         "region": ["north", "south", "east"] * 3},
        geometry=[shapely.box(x, y, x + 3000, y + 3000) for x, y in corners], crs="EPSG:3035")
    areas.to_file(folder / "areas.gpkg")
    return folder


GIVEN = ("areas.gpkg", "height.tif", "people.tif")


def bagged(files, **options):
    """The areas in parts, and bagged together and condensed."""
    given = (*(files / name for name in GIVEN), "cases")
    most, at_once = options.pop("most", 8), options.pop("at_once", 2)
    return (wb.bag_in_parts(*given, most=most, at_once=at_once, **options),
            wb.condense(wb.bag_polygons(*given, **options), most=most))


@pytest.mark.parametrize("options", [
    {"id": "code", "labels": {"region": "region"}}, {"aggregation": "mean", "kind": "continuous"},
    {"trials": "tested"}, {"population": "tested"}], ids=lambda options: "-".join(options))
@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_areas_in_parts_are_those_bagged_together(files, options, at_once):
    parts, whole = bagged(files, at_once=at_once, **options)
    assert parts["bag"].values.tolist() == whole["bag"].values.tolist()
    assert set(parts.variables) == set(whole.variables) and parts.sizes == whole.sizes
    for name in whole.variables:
        assert parts[name].attrs == whole[name].attrs, name
    for name in ("value", "bag_x", "bag_y", *options.get("labels", {})):
        np.testing.assert_allclose(parts[name], whole[name]) if parts[name].dtype.kind == "f" else (
            np.testing.assert_array_equal(parts[name], whole[name]))
    np.testing.assert_allclose(by_bag(parts, parts["covariates"].values[:, 0]),
                               by_bag(whole, whole["covariates"].values[:, 0]))
    if at_once == 9:
        xr.testing.assert_allclose(parts.drop_vars("bag_geometry"), whole.drop_vars("bag_geometry"))
    assert parts.attrs["condensed"] == whole.attrs["condensed"]
    assert parts.attrs["condensed"].startswith("8,100 individuals in 72 clusters, without column")
    assert not [name for name in parts.attrs if name.startswith(("outside", "grid"))]
    assert "outside all areas" not in parts.attrs["treatments"]


def test_the_command_line_bags_in_parts_and_maps_the_pixels_afterwards(files, tmp_path):
    polygons, height, people = (files / name for name in GIVEN)
    out, kept = tmp_path / "clusters.nc", tmp_path / "fit.wbfit"
    made = CliRunner().invoke(app, [
        "disaggregate", "--polygons", str(polygons), "--covariates", str(height), "--weight",
        str(people), "--value", "cases", "--in-parts", "8", "--model", "constant",
        "--out", str(out), "--save-fit", str(kept), "--quiet"])
    assert made.exit_code == 0, made.output
    maps, parts = wb.read(out), bagged(files)[0]
    np.testing.assert_allclose(maps["weight"], parts["weight"])
    assert "wb.bag_in_parts(" in (code := steps_of(Spec.from_json(maps.attrs["spec"])).data)
    assert "most=8" in code and "in_parts=" not in code
    raster = CliRunner().invoke(app, ["disaggregate", "--polygons", str(polygons), "--covariates",
                                      str(height), "--value", "cases", "--in-parts", "8", "--out",
                                      str(tmp_path / "map.tif"), "--quiet"])
    assert raster.exit_code == 2 and "are not pixels of a raster" in raster.output
    found = CliRunner().invoke(app, ["predict", str(kept), "--rasters", f"height={height}",
                                     "--out", str(tmp_path / "map.tif"), "--quiet"])
    assert found.exit_code == 0, found.output
    with rasterio.open(tmp_path / "map.tif") as file:
        assert file.shape == (90, 90)


def test_areas_in_parts_are_written_and_read(files):
    parts, _ = bagged(files)
    wb.write(parts, files / "condensed.nc")
    xr.testing.assert_allclose(wb.read(files / "condensed.nc")["concentration"],
                               parts["concentration"])


def test_far_areas_are_no_window_of_their_own_making(files):
    from workbench.labelled.in_parts import _windows

    areas = geopandas.read_file(files / "areas.gpkg")
    far = areas.geometry.translate(3_000_000, 0).iloc[:2]
    together = geopandas.GeoDataFrame(geometry=[*areas.geometry, *far], crs=areas.crs)
    windows = _windows(together, 11)
    assert sorted(np.concatenate(windows)) == list(range(11))
    assert max(np.ptp(together.iloc[one].total_bounds[[0, 2]]) for one in windows) < 20_000


def test_a_part_of_which_nothing_is_left_is_said_where_areas_may_be_dropped(files):
    areas = geopandas.read_file(files / "areas.gpkg")
    areas["cases"] = areas["cases"].astype(float)
    areas.loc[[3, 4], "cases"] = np.nan
    given = (areas, files / "height.tif", files / "people.tif", "cases")
    with pytest.warns(wb.checks.DataWarning, match="areas were left out, with all that were read"):
        parts = wb.bag_in_parts(*given, at_once=1, missing_value="drop")
    assert parts.sizes["bag"] == 7
    assert "2 areas were left out" in parts.attrs["treatments"]
    assert "left_out_weight" not in parts.attrs                 # windows of their own: not counted
    both = wb.bag_in_parts(*given, at_once=9, missing_value="drop")
    one = wb.bag_polygons(*given, missing_value="drop", outside="report")
    assert both.attrs["left_out_weight"] == pytest.approx(one.attrs["left_out_weight"])
    assert "in areas that were left out" in both.attrs["treatments"]
    with pytest.raises(InputError, match="missing"):
        wb.bag_in_parts(*given, at_once=1)


@pytest.mark.parametrize(("wrong", "said"), [
    ({"outside": "error"}, "nobody can tell what lies outside"),
    ({"totals": "cases.csv"}, "totals=... cannot be used in parts"),
    ({"classes": "land.tif"}, "classes=... cannot be used in parts"),
    ({"at_once": 0}, "at_once must be a whole number of 1 or more")])
def test_parts_refuse_what_needs_all_areas(files, wrong, said):
    given = (*(files / name for name in GIVEN), "cases")
    with pytest.raises(InputError, match=said):
        wb.bag_in_parts(*given, **wrong)


def test_parts_refuse_one_id_for_two_areas_and_no_raster(files):
    areas = geopandas.read_file(files / "areas.gpkg")
    areas["code"] = "same"
    rasters = files / "height.tif", files / "people.tif", "cases"
    with pytest.raises(InputError, match="same id"):
        wb.bag_in_parts(areas, *rasters, id="code", at_once=1)
    with pytest.raises(InputError, match="use bag_polygons"):
        wb.bag_in_parts(areas, None, "uniform", "cases")


def test_a_dataset_and_its_clusters_without_their_shares_are_two(country):
    from workbench.labelled import data_hash, to_bags

    few = wb.condense(country, most=5)
    other = few.drop_vars("concentration")
    assert data_hash(few) != data_hash(other)
    assert not to_bags(few).same_as(to_bags(other)) and to_bags(few).same_as(to_bags(few.copy()))


def test_individuals_without_inputs_have_no_clusters(country):
    bare = country.isel(covariate=slice(0, 0)).drop_vars(["x", "y", "bag_x", "bag_y"])
    with pytest.raises(InputError, match="neither covariates nor coordinates"):
        wb.condense(bare)


def test_known_values_of_individuals_add_up_and_what_is_lost_is_named(country):
    ds = country.assign(individual_value=("individual", np.arange(2000.0)))
    few = wb.condense(ds, most=4)
    np.testing.assert_allclose(np.bincount(few["membership"], few["individual_value"]),
                               np.bincount(ds["membership"], ds["individual_value"]))
    assert few.attrs["condensed"].startswith("2,000 individuals in 80 clusters, without ")


def test_an_error_of_the_data_drops_no_areas(files):
    areas = geopandas.read_file(files / "areas.gpkg")
    areas.loc[4, "cases"] = -3
    with pytest.raises(InputError, match="negative"):
        wb.bag_in_parts(areas, files / "height.tif", files / "people.tif", "cases", at_once=2,
                        missing_value="drop")


def test_overlaps_between_windows_are_refused_unless_asked_for(files):
    areas = geopandas.read_file(files / "areas.gpkg")
    areas.loc[4, "geometry"] = areas.geometry[4].buffer(400)
    given = (areas, files / "height.tif", files / "people.tif", "cases")
    with pytest.raises(InputError, match="pairs of areas overlap"):
        wb.bag_in_parts(*given, at_once=1)
    assert wb.bag_in_parts(*given, at_once=1, overlap="keep").sizes["bag"] == 9


def test_a_column_of_ids_that_is_not_there_is_named(files):
    with pytest.raises(InputError, match="nope"):
        bagged(files, id="nope")
