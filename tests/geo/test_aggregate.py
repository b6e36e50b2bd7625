"""Maps added up over new polygons: the areas themselves, their unions, and cuts through pixels."""

import geopandas
import numpy as np
import pytest
import shapely

import workbench as wb
from tests.kit import write_kit
from workbench.checks import DataWarning, InputError
from workbench.geo.overlay import shares_in, zones_of

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.FewAreasWarning",
    "ignore::workbench.checks.ExtrapolationWarning")


@pytest.fixture(scope="module")
def ds(tmp_path_factory):
    """Twelve areas whose borders cut pixels: moved by a third of one."""
    folder = write_kit(tmp_path_factory.mktemp("kit"))
    areas = geopandas.read_file(folder / "areas.gpkg")
    areas = areas.set_geometry(areas.translate(3.3, -3.3).intersection(shapely.box(0, 0, 400, 300)))
    return wb.bag_polygons(areas, [str(folder / "height.tif")], str(folder / "people.tif"),
                           "cases", id="code", labels={"Region": "Region"}, outside="report")


@pytest.fixture(scope="module")
def fit(ds):
    return wb.VBAgg(kernel="rbf(covariates)+matern32(coordinates)", inducing=10, max_steps=6,
                    overdispersion="area").fit(ds)


def frame(ds, shapes, names):
    return geopandas.GeoDataFrame({"name": names}, geometry=shapes, crs=ds.attrs["crs"])


@pytest.fixture(scope="module")
def areas(ds):
    return frame(ds, ds["bag_geometry"].values, ds["bag"].values)


def test_areas_themselves_take_each_individual_whole(ds, areas):
    assert (ds["coverage"] < 1).any()
    shares, covered = shares_in(ds, zones_of(ds, areas, "name"))
    wanted = ds["membership"].values == np.arange(ds.sizes["bag"])[:, None]
    np.testing.assert_allclose(shares.toarray(), wanted, atol=1e-5)
    np.testing.assert_allclose(covered, 1, rtol=1e-5)


def test_shares_of_pixels_are_areas_of_intersections(ds):
    """Against shapely, individual by individual: its part of the pixel, cut by the zone."""
    zone = shapely.Point(200, 150).buffer(83)
    shares, covered = shares_in(ds, zones_of(ds, frame(ds, [zone], ["disc"]), "name"))
    x, y = ds["x"].values, ds["y"].values
    squares = shapely.box(x - 5, y - 5, x + 5, y + 5)
    parts = shapely.intersection(squares, ds["bag_geometry"].values[ds["membership"].values])
    wanted = shapely.area(shapely.intersection(parts, zone)) / shapely.area(parts)
    np.testing.assert_allclose(shares.toarray()[0], wanted, atol=2e-5)
    assert covered[0] == pytest.approx(1, abs=1e-4)
    assert (ds["weight"] * shares.toarray()[0]).sum() == pytest.approx(
        (ds["weight"].values * wanted).sum(), rel=1e-6)


def test_without_outlines_of_areas_parts_are_mixed_evenly(ds):
    bare = ds.drop_vars("bag_geometry")
    half = frame(ds, [shapely.box(0, 0, 200, 300)], ["west"])
    found, _ = shares_in(bare, zones_of(bare, half, "name"))
    known, _ = shares_in(ds, zones_of(ds, half, "name"))
    whole = ds["coverage"].values > 0.999
    np.testing.assert_allclose(found.toarray()[0][whole], known.toarray()[0][whole], atol=1e-5)


def test_over_the_areas_it_is_the_models_own(ds, fit, areas):
    found = fit.aggregate(ds, areas, id="name", samples=4000, area_effect=True, seed=1)
    own = fit.over(ds, area_effect=True)
    error = own.std / np.sqrt(4000)
    assert (abs(found["mean"].values - own.mean.values) < 4.5 * error.values).all()
    np.testing.assert_allclose(found["std"], own.std, rtol=0.08)
    np.testing.assert_allclose(found["value_quantile"], own.quantile([0.05, 0.5, 0.95]), rtol=0.08)
    np.testing.assert_allclose(found["rate"], found["mean"] / np.bincount(
        ds["membership"], ds["weight"]), rtol=1e-5)
    assert found["bag"].values.tolist() == ds["bag"].values.tolist()


def test_over_a_union_it_is_the_sum_of_joint_draws(ds, fit, areas):
    merged = areas.assign(Region=ds["Region"].values).dissolve("Region")
    found = fit.aggregate(ds, merged, samples=300, seed=2)
    each = fit.aggregate(ds, areas, id="name", samples=300, seed=2)
    north = (ds["Region"] == "north").values
    np.testing.assert_allclose(found["draw"].sel(bag="north"), each["draw"][:, north].sum("bag"),
                               rtol=1e-4)
    spread = float(found["std"].sel(bag="north"))
    assert spread == pytest.approx(float(each["draw"][:, north].sum("bag").std(ddof=1)), rel=1e-3)
    alone = float(np.sqrt((each["std"][north] ** 2).sum()))
    assert abs(spread / alone - 1) > 0.02           # areas are not independent of each other


def test_totals_may_be_kept(ds, fit, areas):
    found = fit.aggregate(ds, areas, id="name", kind="preserved", samples=20)
    np.testing.assert_allclose(found["mean"], ds["value"], rtol=1e-4)
    np.testing.assert_allclose(found["std"], 0, atol=1e-2)
    seen = fit.aggregate(ds, areas, id="name", kind="observed", samples=500)
    expected = fit.aggregate(ds, areas, id="name", area_effect=True, samples=500)
    assert (seen["std"] > expected["std"]).all()


def test_a_map_with_draws_gives_the_same(ds, fit, areas, tmp_path):
    maps = fit.to_dataset(ds, draws=64, seed=5)
    wb.write(maps, tmp_path / "map.nc")
    areas.to_crs("EPSG:4326").to_file(tmp_path / "zones.gpkg")
    found = wb.aggregate(wb.read(tmp_path / "map.nc"), tmp_path / "zones.gpkg", id="name",
                         threshold=50)
    rates = fit.at(ds).sample(64, seed=5).values * ds["weight"].values
    wanted = np.stack([np.bincount(ds["membership"], row) for row in rates])
    np.testing.assert_allclose(found["draw"], wanted, rtol=1e-3)
    np.testing.assert_allclose(found["exceedance"], (found["draw"] > 50).mean("sample"))
    several = wb.aggregate(maps, areas, id="name", threshold=[80, 50])["exceedance"]
    assert several.dims == ("threshold", "bag")
    np.testing.assert_allclose(several.sel(threshold=50), found["exceedance"])
    assert found["mean"].attrs["units"] == "cases"
    with pytest.warns(DataWarning, match=r"0\.001 lies below every total .*not with rates"):
        wb.aggregate(maps, areas, id="name", threshold=(0.001, 50))
    with pytest.raises(InputError, match="keeps no joint draws.*--draws"):
        wb.aggregate(fit.to_dataset(ds), areas)


def test_means_are_averaged_by_weight(ds, areas):
    mean = ds.assign(value=ds["value"].copy(data=np.sin(np.arange(12.0))).assign_attrs(
        kind="continuous", aggregation="mean", units="m"))
    fit = wb.AggregatedGP(kernel="rbf", max_steps=3).fit(mean)
    found = fit.aggregate(mean, areas, id="name", samples=2000, seed=3)
    own = fit.over(mean)
    assert (abs(found["mean"].values - own.mean.values) < 5 * own.std.values / 40).all()
    np.testing.assert_array_equal(found["rate"], found["mean"])


def test_what_the_map_does_not_cover_is_told(ds, fit):
    zones = frame(ds, [shapely.box(100, 100, 200, 200), shapely.box(-100, 0, 100, 200),
                       shapely.box(900, 900, 950, 950)], ["in", "half", "out"])
    with pytest.warns(DataWarning, match="does not cover all of 2 of 3 polygons .first: half"):
        found = fit.aggregate(ds, zones, id="name", samples=10)
    assert found["covered"].values == pytest.approx([1, 0.4835, 0], abs=0.02)
    assert np.isnan(found["mean"].sel(bag="out")) and np.isfinite(found["mean"][:2]).all()


def test_what_cannot_be_laid_over_is_refused(ds, fit, areas):
    with pytest.raises(InputError, match="lie outside of all areas"):
        fit.aggregate(ds, frame(ds, [shapely.box(900, 900, 950, 950)], ["out"]))
    with pytest.raises(InputError, match="names, but these repeat: .'a'."):
        fit.aggregate(ds, areas.assign(name="a"), id="name")
    with pytest.raises(InputError, match="neither pixels nor polygons"):
        fit.aggregate(ds.drop_vars(["row", "column"]), areas)
    with pytest.raises(InputError, match="no CRS"):
        fit.aggregate(ds.drop_attrs(deep=False), areas)
    with pytest.raises(InputError, match="did you mean 'expected'"):
        fit.aggregate(ds, areas, kind="expectd")


def test_borders_that_touch_leave_no_lines(ds, areas):
    """An L-shaped zone that meets an area in a part and along an edge: a mixed intersection."""
    step = shapely.union_all([shapely.box(50, 50, 103.3, 150), shapely.box(103.3, 120, 180, 150)])
    shares, covered = shares_in(ds, zones_of(ds, frame(ds, [step], ["step"]), "name"))
    assert covered[0] == pytest.approx(1, abs=1e-4)
    assert shares.max() <= 1


def test_means_stay_means_where_the_region_has_no_values(ds, areas):
    """A region without values cannot say whether they are totals: the model does."""
    means = ds.assign(value=("bag", np.linspace(2, 4, ds.sizes["bag"]), {
        "aggregation": "mean", "kind": "continuous", "units": "K"}))
    fit = wb.VBAgg(kernel="rbf(covariates)", inducing=6, max_steps=4).fit(means)
    there, zone = means.drop_vars("value"), [areas.geometry.union_all()]
    whole = frame(ds, zone, ["all"])
    for found in (fit.aggregate(there, whole, samples=20), wb.aggregate(
            fit.to_dataset(there, draws=20).drop_vars("value", errors="ignore"), whole)):
        assert 1 < found["mean"].item() < 5
        assert found["mean"].attrs == {"units": "K", "long_name": "posterior mean of the mean"}
