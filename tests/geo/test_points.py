"""Points in a table, over rasters or alone: what is read, refused, and mapped."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
import xarray as xr

import workbench as wb
from tests.geo.files import CRS, height, kit, mapped, refusal
from workbench.bagging.findings import listing
from workbench.checks import DataWarning, InputError


def table(count: int = 40, **columns) -> pd.DataFrame:
    """Measurements that follow the height of the pixel."""
    rng = np.random.default_rng(3)
    row, column = rng.integers(0, 12, (2, count))
    found = {"x": 500_000 + 1000 * (column + rng.uniform(0.1, 0.9, count)),
             "y": 5_012_000 - 1000 * (row + rng.uniform(0.1, 0.9, count)),
             "warmth": 2 * height().values[row, column] + rng.normal(0, 0.1, count),
             "positive": rng.integers(0, 9, count), "tested": 10, "row": row, "column": column,
             "site": [f"s{i}" for i in range(count)]}
    return pd.DataFrame(found | columns)


def bagged(frame=None, value="warmth", **options):
    options = {"points_crs": CRS} | options
    return wb.bag_points(table() if frame is None else frame, value, [height()], **options)


def test_points_have_the_covariates_of_their_pixel():
    ds, frame = bagged(id="site"), table()
    assert ds["covariates"].values[:, 0] == pytest.approx(
        height().values[frame["row"], frame["column"]])
    assert ds["value"].values.tolist() == frame["warmth"].tolist()
    assert ds["bag"].values.tolist() == frame["site"].tolist() and ds.attrs["crs"] == CRS
    assert ds["value"].attrs["aggregation"] == "mean"
    survey = bagged(value="positive", trials="tested")
    assert (survey["trials"] == 10).all() and survey["value"].attrs["kind"] == "count"
    counts = bagged(value="positive", kind="count", weight="tested")
    assert (counts["weight"] == 10).all() and counts["value"].attrs["aggregation"] == "sum"


def test_degrees_are_told_by_the_names_of_columns():
    lonlat = gpd.points_from_xy(table()["x"], table()["y"], crs=CRS).to_crs("EPSG:4326")
    frame = table().drop(columns=["x", "y"]).assign(Longitude=lonlat.x, lat=lonlat.y)
    ds = wb.bag_points(frame, "warmth", [height()])
    assert ds["covariates"].values == pytest.approx(bagged()["covariates"].values)
    assert "points were reprojected from EPSG:4326 to EPSG:32633" in ds.treatments


@pytest.mark.parametrize(("change", "options", "said"), [
    (lambda t: t.assign(x=t["x"].where(t.index > 0, 0)), {}, "1 points lie off the covariates"),
    (lambda t: t.rename(columns={"x": "links"}), {}, "no columns for x"),
    (lambda t: t, {"x": "links"}, r"lacks columns \['links'\]"),
    (lambda t: t, {"points_crs": None}, "has no CRS; state it with points_crs='EPSG:...'"),
    (lambda t: t, {"value": "tested", "trials": "positive"}, "more positives than trials"),
    (lambda t: t.assign(warmth=None), {}, "none of the 40 areas has a value|have no value"),
    (lambda t: t.assign(site="a"), {"id": "site"}, "1 id in column 'site' .* has several rows"),
])
def test_points_that_cannot_be_used_are_refused(change, options, said):
    with pytest.raises(InputError, match=said):
        bagged(change(table()), **options)


def test_points_off_the_rasters_may_be_dropped():
    ds = bagged(table().assign(x=lambda t: t["x"].where(t.index > 0, 0)), missing="drop")
    assert ds.sizes["bag"] == 39 and "1 points off the covariates were dropped" in ds.treatments


def test_pixels_of_rasters_are_places():
    gaps = height().where(height() > 0)
    places = wb.raster_places([gaps])
    assert places.sizes["individual"] == int((height() > 0).sum())
    assert wb.to_raster(places, "weight").shape == (12, 12)
    with pytest.raises(InputError, match="there are no rasters"):
        wb.raster_places(None)


def features(folder, **layers):
    """A GeoPackage with layers of points, and a road in a file of its own."""
    for name, frame in layers.items():
        at = gpd.points_from_xy(frame["x"], frame["y"], crs=CRS)
        gpd.GeoDataFrame(frame.drop(columns=["x", "y"]), geometry=at).to_crs("EPSG:4326").to_file(
            folder / "sites.gpkg", layer=name)
    road = gpd.GeoDataFrame(geometry=[shapely.LineString([(5e5, 5e6), (512_000, 5e6)])], crs=CRS)
    road.to_file(folder / "road.gpkg")
    return folder / "sites.gpkg"


def test_points_of_a_layer_are_those_of_a_table(tmp_path):
    path = features(tmp_path, sites=table())
    ds = wb.bag_points(path, "warmth", [height()], id="site")
    np.testing.assert_allclose(ds["covariates"], bagged()["covariates"])
    np.testing.assert_allclose(ds["x"], table()["x"], atol=1e-3)
    assert "reprojected from EPSG:4326" in ds.treatments
    features(tmp_path, others=table().iloc[:7])
    with pytest.raises(InputError, match="2 layers of points: sites, others; pass layer='sites'"):
        wb.bag_points(path, "warmth", [height()])
    assert wb.bag_points(path, "warmth", [height()], layer="others").sizes["bag"] == 7
    with pytest.raises(InputError, match="layer 'sitez' is unknown; did you mean 'sites'"):
        wb.bag_points(path, "warmth", [height()], layer="sitez")
    with pytest.raises(InputError, match="road.gpkg holds LineString, not points"):
        wb.bag_points(tmp_path / "road.gpkg", "warmth")
    with pytest.raises(InputError, match="coordinates of their own"):
        wb.bag_points(path, "warmth", layer="sites", x="a")


def test_distances_are_from_the_points_themselves(tmp_path):
    features(tmp_path, sites=table())
    options = {"distance_to": tmp_path / "road.gpkg", "slope_of": "height"}
    ds = bagged(**options)
    assert ds["covariate"].values.tolist() == ["height", "slope", "distance to road"]
    assert ds["covariate_units"].values.tolist() == ["1", "degree", "km"]
    exact = (table()["y"] - 5e6) / 1000
    assert ds["covariates"].values[:, 2] == pytest.approx(exact)
    assert "covariate 'distance to road' was made, in km" in ds.treatments
    places = wb.raster_places([height()], **options)
    assert places["covariate"].values.tolist() == ds["covariate"].values.tolist()
    assert places["covariates"].values[:, 2] == pytest.approx((places["y"].values - 5e6) / 1000)
    with pytest.raises(InputError, match="distances need the CRS of the points"):
        wb.bag_points(table(), "warmth", distance_to=tmp_path / "road.gpkg")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_points_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(kit(tmp_path))
    table().to_csv("sites.csv", index=False)
    common = ["--points", "sites.csv", "--points-crs", CRS]
    maps = mapped(tmp_path / "map.nc", *common, "--value", "warmth", "--covariates", "height.tif",
                  "--cv", 3)
    assert maps.sizes["individual"] == 144
    error = maps["mean"].values - 2 * height().values.ravel()
    assert np.abs(error).mean() < 0.3 and maps["cv_scores"].notnull().any()
    spec = wb.Spec.from_json(maps.attrs["spec"])
    assert spec.dataset == "points" and wb.run(spec)["mean"].equals(maps["mean"])
    alone = mapped(tmp_path / "alone.nc", *common, "--value", "positive", "--trials", "tested")
    assert ((alone["mean"] > 0) & (alone["mean"] < 1)).all()
    features(tmp_path, sites=table())
    near = mapped(tmp_path / "near.nc", *common, "--value", "warmth", "--distance-to", "road.gpkg")
    assert near["mean"].notnull().all() and near.attrs["grid_shape"].size == 2
    layer = mapped(tmp_path / "layer.nc", "--points", "sites.gpkg", "--layer", "sites", "--value",
                   "warmth", "--covariates", "height.tif", "--distance-to", "road.gpkg",
                   "--slope-of", "height")
    assert layer.sizes["individual"] == 144
    assert "both give data" in refusal(*common, "--value", "warmth", "--polygons", "areas.gpkg")
    assert "missing --value" in refusal(*common)


def test_rows_of_several_points_and_a_second_crs_are_refused(tmp_path):
    frame = table()
    shapes = gpd.GeoDataFrame(frame, geometry=gpd.points_from_xy(frame["x"], frame["y"]), crs=CRS)
    as_many = shapes.set_geometry([shapely.MultiPoint([point]) for point in shapes.geometry],
                                  crs=CRS)
    assert wb.bag_points(as_many, "warmth", [height()])["x"].values.tolist() == (
        wb.bag_points(shapes, "warmth", [height()])["x"].values.tolist())
    double = shapes.set_geometry([shapely.MultiPoint([point, shapely.Point(0, 0)])
                                  for point in shapes.geometry], crs=CRS)
    with pytest.raises(InputError, match="several points in one row; split them"):
        wb.bag_points(double, "warmth", [height()])
    with pytest.raises(InputError, match="says otherwise; leave one of them out"):
        wb.bag_points(shapes, "warmth", [height()], points_crs="EPSG:4326")
    wb.bag_points(shapes, "warmth", [height()], points_crs=CRS)


def test_a_check_of_points_has_no_small_areas_and_says_that_there_is_no_crs():
    frame = table()[["x", "y", "warmth"]]
    with_crs = wb.check(wb.bag_points(frame, "warmth", points_crs=CRS))
    assert not [one for one in with_crs.findings if one.code in ("one-individual", "crs-missing")]
    with listing() as found:
        ds = wb.bag_points(frame, "warmth")
    told = [one for one in found if one.code == "crs-missing"]
    assert [one.severity for one in told] == ["warning"] and told[0].where == ("points",)
    assert "have no CRS" in told[0].what and "points_crs" in told[0].fix
    assert "have no CRS" in ds.treatments


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")     # of a few steps
def test_what_was_done_to_points_is_in_their_map(tmp_path, monkeypatch):
    monkeypatch.chdir(kit(tmp_path))
    table().assign(x=lambda t: t["x"].where(t.index > 1, 0)).to_csv("points.csv", index=False)
    maps = mapped(tmp_path / "map.nc", "--points", "points.csv",
                  "--points-crs", CRS, "--value", "warmth", "--covariates", "height.tif",
                  "--missing", "drop", "--kernel", "linear")
    assert "2 points off the covariates were dropped" in maps.attrs["treatments"]


def test_ids_and_labels_with_a_gap_are_refused_and_others_kept_in_full():
    """A gap cut all texts of its column to one character, and regions were merged by it."""
    frame = table(zone=["north-east", "north-west"] * 20)
    ds = bagged(frame, id="site", labels={"zone": "zone"})
    assert set(ds["zone"].values) == {"north-east", "north-west"}
    with pytest.raises(InputError, match=r"label 'zone' in column 'zone' is missing in 1 of 40 "
                       r"rows \(first: \[3\]\); fill it in"):
        bagged(frame.assign(zone=frame["zone"].where(frame.index != 3)), labels={"zone": "zone"})
    with pytest.raises(InputError, match="id in column 'site' is missing in 1 of 40 rows"):
        bagged(frame.assign(site=frame["site"].where(frame.index != 3)), id="site")


def test_rows_that_are_the_same_are_pointed_out():
    frame = table()
    with pytest.warns(DataWarning, match=r"2 rows of .* are the same as another in every column"):
        ds = bagged(pd.concat([frame, frame.iloc[[3, 5]]], ignore_index=True))
    assert ds.sizes["bag"] == 42


def test_points_without_exposure_are_refused_or_dropped():
    frame = table(people=[0.0, *[10.0] * 39])
    options = dict(value="positive", kind="count", weight="people", id="site")
    with pytest.raises(InputError, match=r"1 point has zero weight \(first: 's0'\); pass"):
        bagged(frame, **options)
    ds = bagged(frame, **options, zero_weight="drop")
    assert ds.sizes["bag"] == 39 and "zero weight were dropped" in ds.attrs["treatments"]
    with pytest.raises(InputError, match="1 weight is negative or missing .*'s0' with -10"):
        bagged(frame.assign(people=[-10.0, *[10.0] * 39]), **options)


def test_ids_and_labels_of_a_file_keep_their_zeros_and_places_with_several_rows_are_said(tmp_path):
    frame = table().assign(site=[f"{i:04d}" for i in range(40)], district=["007", "012"] * 20)
    frame.loc[1, ["x", "y"]] = frame.loc[0, ["x", "y"]]
    frame.to_csv(tmp_path / "points.csv", index=False)
    ds = bagged(tmp_path / "points.csv", id="site", labels={"district": "district"})
    assert ds["bag"].values[:2].tolist() == ["0000", "0001"]
    assert ds["district"].values[:2].tolist() == ["007", "012"]
    assert "1 rows of points.csv are at a place that another row has" in bagged(
        tmp_path / "points.csv").attrs["treatments"]
    none = frame.assign(tested=[0, *[10] * 39], positive=[0, *frame["positive"][1:]])
    untested = bagged(none, "positive", id="site", trials="tested")
    assert "in 1 areas nobody was tested (first: '0000')" in untested.attrs["treatments"]


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["continuous", "count"])
def test_maps_of_points_are_averaged_over_polygons(kind):
    """They have no weights: pixels count alike, unless people are given."""
    counts = {"value": "positive", "kind": "count"} if kind == "count" else {}
    fit = wb.VBAgg(kernel="linear", max_steps=5).fit(bagged(**counts))
    maps = fit.to_dataset(wb.raster_places([height()]), draws=50)
    maps = maps.drop_dims("bag").drop_vars(["membership", "weight"])    # as the command writes it
    west, south, east, north = 500_000, 5_000_000, 512_000, 5_012_000
    zones = gpd.GeoDataFrame({"zone": ["west", "east"]}, crs=CRS, geometry=[
        shapely.box(west, south, west + 6000, north), shapely.box(west + 6000, south, east, north)])
    with pytest.warns(DataWarning, match="no weights.*every pixel counts alike"):
        found = wb.aggregate(maps, zones, id="zone")
    side = np.where(maps["column"] < 6, 0, 1)
    for zone in (0, 1):
        drawn = maps["draw"].values[:, side == zone].mean(1)
        np.testing.assert_allclose(found["draw"].values[:, zone], drawn, rtol=1e-5)
    assert found["mean"].attrs["units"] == maps["draw"].attrs["units"]
    people = np.where(maps["row"] < 6, 3.0, 1.0)
    weighed = wb.aggregate(maps.assign(weight=("individual", people)), zones, id="zone")
    sums = maps["draw"].attrs["aggregation"] == "sum"
    inside = side == 0
    wanted = (maps["draw"].values * people)[:, inside].sum(1)
    wanted /= 1 if sums else people[inside].sum()
    np.testing.assert_allclose(weighed["draw"].values[:, 0], wanted, rtol=1e-5)


def people(cell=500.0, name="people") -> xr.DataArray:
    """People on pixels of half the size, none of them known in the last column of the map."""
    rows = np.arange(24)
    values = np.where(rows[:, None] < 12, 3.0, 1.0) * np.ones(24)
    values[:, 22:] = np.nan
    return xr.DataArray(values, dims=("y", "x"), name=name, attrs={"units": "people"}, coords={
        "y": 5_012_000 - cell * (rows + 0.5), "x": 500_000 + cell * (rows + 0.5)}
        ).rio.write_crs(CRS)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_pixels_of_a_map_of_points_count_by_a_raster():
    fit = wb.VBAgg(kernel="linear", max_steps=5).fit(bagged())
    places = wb.raster_places([height()])
    maps = fit.to_dataset(places, draws=30).drop_dims("bag").drop_vars(["membership", "weight"])
    with pytest.warns(DataWarning, match="12 of 144 pixels of the map have no weight in 'people'"):
        weighed = wb.with_weight(maps, people())
    wanted = np.where(maps["column"] == 11, 0, np.where(maps["row"] < 6, 12, 4))
    np.testing.assert_allclose(weighed["weight"], wanted)
    assert weighed["weight"].attrs["units"] == "people"
    assert "weight 'people' was summed from 24 x 24 pixels" in weighed.attrs["weighed"]
    twice = wb.with_weight(weighed, people().fillna(0.0) * 2)       # another raster in its place
    np.testing.assert_allclose(twice["weight"], 2 * wanted)
    whole = gpd.GeoDataFrame({"zone": ["all"]}, crs=CRS, geometry=[
        shapely.box(500_000, 5_000_000, 512_000, 5_012_000)])
    found = wb.aggregate(weighed, whole, id="zone")
    np.testing.assert_allclose(found["draw"].values[:, 0], np.average(
        maps["draw"].values, axis=1, weights=wanted), rtol=1e-5)
    with pytest.warns(DataWarning, match="have no weight"):     # as places to map, too
        peopled = wb.with_weight(places, people())
    np.testing.assert_allclose(peopled["weight"], wanted)
    again = fit.aggregate(peopled, whole, id="zone", samples=400, seed=1)
    assert again["covered"].item() == pytest.approx(1)
    rates = fit.at(places).mean.values
    assert again["mean"].item() == pytest.approx(np.average(rates, weights=wanted), rel=0.02)


def test_what_cannot_be_weighed_says_why():
    places = wb.raster_places([height()])
    own = places.assign(weight=places["weight"] * 2)
    with pytest.raises(InputError, match="have weights, by which they were learnt from"):
        wb.with_weight(own, people())
    away = people().assign_coords(x=people()["x"] + 1e6)
    with pytest.raises(InputError, match="'people' covers no pixel of the map"):
        wb.with_weight(places, away)
    with pytest.raises(InputError, match="states no CRS"):
        wb.with_weight(places.drop_attrs(deep=False).assign_attrs(
            {name: places.attrs[name] for name in ("grid_shape", "grid_transform")}), people())
    with pytest.raises(InputError, match="have weights, by which they were learnt from"):
        wb.with_weight(bagged().drop_vars("weight"), people())
    with pytest.raises(InputError, match="not pixels of a raster"):
        wb.with_weight(bagged().drop_vars(["weight", "value"]), people())
    with pytest.raises(InputError, match="'people' has nobody where the map is"):
        wb.with_weight(places, people().fillna(0) * 0)
    a, b, c, d, e, f = places.attrs["grid_transform"]
    with pytest.raises(InputError, match="do not run from north to south"):
        wb.with_weight(places.assign_attrs(grid_transform=[a, b, c, d, -e, f + 12 * e]), people())
    cut = places.isel(individual=[0, 0, 1])
    with pytest.raises(InputError, match="cut into several individuals"):
        wb.with_weight(cut, people())


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_counts_at_points_are_multiplied_by_people_if_they_had_an_exposure():
    whole = gpd.GeoDataFrame({"zone": ["all"]}, crs=CRS, geometry=[
        shapely.box(500_000, 5_000_000, 512_000, 5_012_000)])
    places = wb.raster_places([height()])
    where = people().fillna(0.0)
    for weight in (None, "tested"):
        fit = wb.VBAgg(kernel="linear", max_steps=5).fit(
            bagged(value="positive", kind="count", weight=weight))
        maps = fit.to_dataset(places, draws=30).drop_dims("bag")
        if weight is None:
            with pytest.raises(InputError, match="cases per point, which people cannot multiply"):
                wb.with_weight(maps, where)
            continue
        weighed = wb.with_weight(maps, where)
        assert "expected_count" not in weighed
        found = wb.aggregate(weighed, whole, id="zone")
        np.testing.assert_allclose(found["draw"].values[:, 0], (
            maps["draw"].values * weighed["weight"].values).sum(1), rtol=1e-5)
        assert found["mean"].attrs["units"] == str(maps["mean"].attrs["units"]).split(" / ")[0]
        # Where nobody is nobody is counted, whatever is drawn there.
        peopled = wb.with_weight(places, where)
        expected, observed = (fit.aggregate(peopled, whole, id="zone", kind=kind, samples=400)
                              for kind in ("expected", "observed"))
        assert observed["mean"].item() == pytest.approx(expected["mean"].item(), rel=0.03)
