"""Polygons over rasters: coverage against geometry, totals, and every named treatment."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rioxarray  # noqa: F401 (registers .rio)
import shapely
import xarray as xr
from rasterio.transform import from_origin

from workbench import schema
from workbench.bagging import merge
from workbench.bagging.findings import listing
from workbench.checks import InputError
from workbench.geo import bag_polygons, polygon_places
from workbench.geo.coverage import coverage_fractions
from workbench.preflight.totals import totals_of

CRS = "EPSG:32633"
SHAPE = (8, 10)  # rows, columns of 100 m, the north-west corner at (1000, 2000)


def raster(name, values, crs=CRS, cell=100.0, origin=(1000.0, 2000.0)):
    rows, columns = values.shape
    transform = from_origin(*origin, cell, cell)
    array = xr.DataArray(
        np.asarray(values, dtype=float), dims=("y", "x"), name=name,
        coords={"y": origin[1] - cell * (np.arange(rows) + 0.5),
                "x": origin[0] + cell * (np.arange(columns) + 0.5)},
    ).rio.write_transform(transform)
    return array.rio.write_crs(crs) if crs else array


def people(change=None, **kwargs):
    values = 1.0 + np.arange(80.0).reshape(SHAPE)
    for (row, column), number in (change or {}).items():
        values[row, column] = number
    return raster("people", values, **kwargs)


def layers(change=None, **kwargs):
    height = np.add.outer(np.arange(8.0), 10 * np.arange(10.0))
    slope = np.sqrt(height + 1)
    for (row, column), number in (change or {}).items():
        height[row, column] = number
    return [raster("height", height, **kwargs), raster("slope", slope, **kwargs)]


def areas(**columns):
    """Three slanted areas that share borders and reach into pixels; a strip stays outside."""
    shapes = [
        shapely.Polygon([(1030, 1230), (1030, 1970), (1420, 1970), (1555, 1230)]),
        shapely.Polygon([(1420, 1970), (1555, 1230), (1970, 1230), (1970, 1970)]),
        shapely.box(1310, 1210, 1345, 1229),  # a fraction of one pixel
    ]
    frame = {"code": ["n1", "n2", "n3"], "cases": [10.0, 20.0, 3.0], "land": ["p", "p", "q"]}
    return gpd.GeoDataFrame(frame | columns, geometry=shapes, crs=CRS)


def bagged(polygons=None, covariates=None, weight=None, **options):
    return bag_polygons(
        areas() if polygons is None else polygons, layers() if covariates is None else covariates,
        people() if weight is None else weight, "cases", id="code", labels={"land": "land"},
        **options,
    )


def test_coverage_equals_the_intersection_of_shapes():
    ds = schema.check(bagged())
    a, b, c, d, e, f = ds.attrs["grid_transform"]
    left, top = c + a * ds["column"].values, f + e * ds["row"].values
    pixels = shapely.box(left, top + e, left + a, top)
    polygons = ds["bag_geometry"].values[ds["membership"].values]
    exact = shapely.area(shapely.intersection(pixels, polygons)) / 100**2
    assert ds["coverage"].values == pytest.approx(exact, abs=1e-6)
    # nothing that is covered was left out
    assert ds["coverage"].sum().item() * 100**2 == pytest.approx(areas().area.sum(), rel=1e-6)


def test_weights_of_areas_and_outside_add_up_to_the_raster():
    ds = bagged()
    total = people().sum().item()
    assert ds["weight"].sum().item() + ds.attrs["outside_weight"] == pytest.approx(total, rel=1e-6)
    assert ds.attrs["outside_share"] == pytest.approx(ds.attrs["outside_weight"] / total)
    assert "lies outside all areas" in ds.attrs["treatments"]
    with pytest.raises(InputError, match="lies outside all areas; pass outside='report'"):
        bagged(outside="error")


def test_weight_of_areas_that_are_left_out_is_not_outside_all_areas():
    whole, weight = bagged(), people()
    given = areas(cases=[10.0, np.nan, 3.0])
    with listing() as found:
        ds = bagged(given, missing_value="drop")
    assert ds.attrs["outside_weight"] == pytest.approx(whole.attrs["outside_weight"], rel=1e-9)
    in_it = whole["weight"].values[whole["membership"].values == 1].sum()
    assert ds.attrs["left_out_weight"] == pytest.approx(in_it, rel=1e-6)
    assert f"{in_it:,.6g} of the weight" in ds.attrs["treatments"]
    assert "lies in areas that were left out" in ds.attrs["treatments"]
    marked = {one.code: one.cells for one in found}
    inside, outside = (set(zip(one.x, one.y, strict=True)) for one in (
        marked["left-out"], marked["outside"]))
    assert (1650, 1650) in inside and (1650, 1650) not in outside       # amid the second area
    row = totals_of(ds, found.counted).loc["weight"]
    assert row["left out"] == pytest.approx(in_it, rel=1e-6)
    assert row["outside"] == pytest.approx(whole.attrs["outside_weight"])
    later = totals_of(ds, {}).loc["weight"]                             # of data bagged before
    assert later["read"] == pytest.approx(weight.sum().item(), rel=1e-6)
    assert later["left out"] == pytest.approx(in_it, rel=1e-6)
    assert "left_out_weight" not in whole.attrs
    (told,) = (one for one in found if one.code == "left-out")
    assert told.severity == "warning" and "outline" in told.fix         # it is more than 5 %
    with pytest.raises(InputError, match="in areas that were left out; pass outside='report'"):
        bagged(given, missing_value="drop", outside="error")


@pytest.mark.parametrize("over", [1e-3, 1e-6, 1e-10, -1e-10])
def test_a_border_that_misses_the_edge_of_pixels_by_rounding_adds_none(over):
    grid = people()
    left, bottom, right, top = grid.rio.bounds()
    side = (right - left) / grid.sizes["x"]
    box = shapely.box(left, top - 2 * side, left + 2 * side + over * side, top)
    area, cell, coverage = coverage_fractions(
        gpd.GeoDataFrame(geometry=[box], crs=grid.rio.crs), grid)
    assert len(cell) == (4 if abs(over) < 1e-9 else 6)
    assert coverage.sum() == pytest.approx(4 + 2 * over, rel=1e-6) and (area == 0).all()
    tiny = shapely.box(left, top - 1e-6 * side, left + 1e-6 * side, top)     # is all of its area
    _, cell, coverage = coverage_fractions(
        gpd.GeoDataFrame(geometry=[tiny], crs=grid.rio.crs), grid)
    assert cell.tolist() == [0] and coverage[0] > 0


def test_individuals_carry_the_values_of_their_pixel():
    ds = bagged()
    row, column = ds["row"].values, ds["column"].values
    height, slope = layers()
    assert ds["covariate"].values.tolist() == ["height", "slope"]
    np.testing.assert_array_equal(ds["covariates"].values[:, 0], height.values[row, column])
    np.testing.assert_array_equal(ds["covariates"].values[:, 1], slope.values[row, column])
    np.testing.assert_allclose(ds["weight"], people().values[row, column] * ds["coverage"])
    np.testing.assert_array_equal(ds["x"].values, height["x"].values[column])
    np.testing.assert_array_equal(ds["y"].values, height["y"].values[row])
    assert ds["x"].attrs["units"] == "m"


def test_an_area_smaller_than_a_pixel_is_a_part_of_it():
    ds = bagged()
    small = ds.isel(individual=ds["membership"].values == 2)
    assert small["coverage"].values == pytest.approx([35 * 19 / 100**2], rel=1e-6)


def test_areas_can_be_merged_by_label():
    merged = merge(bagged(), "land")
    assert merged["value"].values.tolist() == [30.0, 3.0]


def test_a_gap_in_a_label_is_no_label():
    """A gap cut all labels of its column to one letter, and other regions were merged by it."""
    with pytest.raises(InputError, match="label 'land' in column 'land' is missing in 1 of 3 rows"):
        bagged(areas(land=["north", None, "south"]))
    assert bagged(areas(land=["north", "north", "south"]))["land"].values.tolist() == [
        "north", "north", "south"]


def test_south_up_and_named_axes_give_the_same_individuals():
    turned = [r.isel(y=slice(None, None, -1)).rename(y="lat", x="lon").drop_vars("spatial_ref")
              for r in layers()]
    xr.testing.assert_allclose(
        bagged(covariates=turned, raster_crs=CRS).drop_vars("bag_geometry"),
        bagged().drop_vars("bag_geometry"),
    )


def test_files_and_rasters_in_memory_are_the_same(tmp_path):
    height, slope = layers()
    height.rio.to_raster(tmp_path / "height.tif")
    slope.to_dataset().to_netcdf(tmp_path / "slope.nc", engine="h5netcdf")
    people().rio.write_nodata(-1).rio.to_raster(tmp_path / "people.tif")
    areas().to_file(tmp_path / "areas.gpkg")
    stored = bag_polygons(
        tmp_path / "areas.gpkg", [tmp_path / "height.tif", tmp_path / "slope.nc"],
        tmp_path / "people.tif", "cases", id="code", labels={"land": "land"},
    )
    # identical but for the order of dict-like attributes
    for name in ("covariates", "weight", "membership", "value"):
        np.testing.assert_array_equal(stored[name], bagged()[name])
    assert stored["covariate"].values.tolist() == ["height", "slope"]


def test_a_mapping_names_the_covariates_and_a_dataset_holds_several():
    height, slope = layers()
    assert bagged(covariates={"up": height})["covariate"].values.tolist() == ["up"]
    both = xr.Dataset({"height": height, "slope": slope})
    assert bagged(covariates=both)["covariate"].values.tolist() == ["height", "slope"]
    bands = xr.concat([height, slope], "band").assign_attrs(long_name=("one", "two"))
    assert bagged(covariates=bands)["covariate"].values.tolist() == ["one", "two"]


# -- treatments ------------------------------------------------------------------------------


def test_polygons_without_crs_need_one():
    bare = areas().set_crs(None, allow_override=True)
    with pytest.raises(InputError, match="polygons have no CRS; state it with polygon_crs"):
        bagged(bare)
    ds = bagged(bare, polygon_crs=CRS)
    assert "polygons have no CRS: EPSG:32633 as given" in ds.attrs["treatments"]


def test_rasters_without_crs_need_one():
    with pytest.raises(InputError, match="raster 'people' has no CRS; state it with raster_crs"):
        bagged(weight=people(crs=None))
    ds = bagged(weight=people(crs=None), covariates=layers(crs=None), raster_crs=CRS)
    assert ds.attrs["crs"] == CRS


def test_polygons_in_another_crs_are_reprojected_and_that_is_recorded():
    lonlat = areas().to_crs("EPSG:4326")
    ds = bagged(lonlat)
    assert "reprojected from EPSG:4326 to EPSG:32633" in ds.attrs["treatments"]
    np.testing.assert_allclose(ds["weight"].groupby(ds["membership"]).sum(),
                               bagged()["weight"].groupby(bagged()["membership"]).sum(), rtol=1e-6)
    with pytest.raises(InputError, match="polygons are in EPSG:4326 but.*crs='reproject'"):
        bagged(lonlat, crs="error")


@pytest.mark.parametrize("method", ["nearest", "bilinear", "average"])
def test_covariates_on_another_grid_are_resampled_as_asked(method):
    # half the pixel size, same extent: a plane in x, which every method keeps up to a pixel
    fine = raster("east", np.tile(25 + 50 * np.arange(20.0), (16, 1)), cell=50.0)
    with pytest.raises(InputError, match=r"'east' \(16 x 20.*not on the grid.*align='nearest'"):
        bagged(covariates=[fine], align="error")
    ds = bagged(covariates=[fine], align=method)
    assert f"'east' was resampled ({method})" in ds.attrs["treatments"]
    expected = ds["x"].values - 1000
    slack = {"nearest": 25 + 1e-6, "bilinear": 1e-6, "average": 1e-6}[method]
    inner = (ds["column"].values > 0) & (ds["column"].values < 9)
    assert np.abs(ds["covariates"].values[inner, 0] - expected[inner]).max() <= slack


@pytest.mark.parametrize("declared", [True, False])
def test_sentinels_are_masked_whether_declared_or_not(declared):
    mark = float(np.float32(-3.4e38))
    weight = people({(2, 2): mark})
    if declared:
        weight = weight.rio.write_nodata(mark)
    ds = bagged(weight=weight)
    assert not ((ds["row"] == 2) & (ds["column"] == 2)).any()
    assert "'people': 1 " in ds.attrs["treatments"] and "masked" in ds.attrs["treatments"]
    assert "1 covered pixels without a weight are not individuals" in ds.attrs["treatments"]


def test_what_looks_like_an_undeclared_mark_is_asked_about():
    marked = layers({(2, 2): -9999.0})
    with pytest.raises(InputError, match="'height' has 1 pixels equal to -9999.*nodata=-9999"):
        bagged(covariates=marked[:1])
    ds = bagged(covariates=marked[:1], nodata=-9999, missing="drop")
    assert ds.sizes["individual"] == bagged().sizes["individual"] - 1


def test_missing_covariates_are_dropped_or_taken_from_the_nearest():
    gap = layers({(3, 1): np.nan})
    with pytest.raises(InputError, match=r"missing at 1 weighted pixels \(1 of 'height'; .*near"):
        bagged(covariates=gap[:1], missing="error")
    dropped = bagged(covariates=gap[:1], missing="drop")
    assert "1 individuals lacking covariates (1 of 'height') were dropped" in str(
        dropped.attrs["treatments"])
    filled = bagged(covariates=gap[:1], missing="nearest")
    here = (filled["row"] == 3).values & (filled["column"] == 1).values
    around = {layers()[0].values[r, c] for r, c in ((2, 1), (4, 1), (3, 0), (3, 2))}
    assert filled["covariates"].values[here, 0].item() in around
    assert "1 gaps were filled from the nearest" in filled.attrs["treatments"]


def test_a_covariate_that_covers_no_area_is_refused_and_has_no_gaps():
    height, slope = layers()
    whole = bagged(areas().iloc[:1], [height, slope])
    height.values[whole["row"].values, whole["column"].values] = np.nan
    height.values[-1, -1] = 1.0
    for missing in ("error", "drop"):
        with pytest.raises(InputError, match="raster 'height' covers none of the areas; remove"):
            bagged(areas().iloc[:1], [height, slope], missing=missing)


def test_gaps_are_filled_unasked_only_where_few_live():
    with pytest.raises(InputError, match="missing at .* weighted pixels.*nearest"):
        bagged(covariates=layers({(3, 1): np.nan})[:1])
    crowd = people()
    crowd.values[:] = 1000.0
    crowd.values[3, 1] = 1.0
    ds = bagged(covariates=layers({(3, 1): np.nan})[:1], weight=crowd)
    assert "1 gaps were filled from the nearest" in ds.attrs["treatments"]


def test_pixels_that_areas_share_are_counted_once():
    shared, counts = bagged(), {}
    pairs = list(zip(shared["row"].values.tolist(), shared["column"].values.tolist(), strict=True))
    row, column = max(pairs, key=pairs.count)
    assert pairs.count((row, column)) > 1
    with listing() as found:
        bagged(weight=people({(row, column): np.nan}))
        bagged(weight=people({(row, column): 0.0}), zero_weight="error")
        bagged(covariates=layers({(row, column): np.nan})[:1], missing="error")
    for code in ("weight-missing", "weight-zero", "covariate-missing"):
        [one] = [one for one in found if one.code == code]
        counts[code] = one.count, one.cells.count
    assert set(counts.values()) == {(1, 1)}, counts


def test_zero_weights_are_dropped_and_negative_never():
    with pytest.raises(InputError, match="1 covered pixels have zero weight; pass zero_weight"):
        bagged(weight=people({(3, 1): 0.0}), zero_weight="error")
    ds = bagged(weight=people({(3, 1): 0.0}))
    assert "1 individuals of zero weight were dropped" in ds.attrs["treatments"]
    assert ds.sizes["individual"] == bagged().sizes["individual"] - 1
    for choice in ("error", "drop"):
        with pytest.raises(InputError, match="has 1 negative pixels"):
            bagged(weight=people({(3, 1): -2.0}), zero_weight=choice)


def test_fractional_counts_are_kept_or_rounded_by_name():
    odd = areas(cases=[10.4, 20.0, 3.0])
    with pytest.raises(InputError, match=r"1 count is not whole \(first: area 'n1' with 10.4"):
        bagged(odd, fractional="error")
    assert bagged(odd, fractional="keep")["value"].values.tolist() == [10.4, 20, 3]
    assert bagged(odd, fractional="round")["value"].values.tolist() == [10, 20, 3]
    assert bagged(odd, kind="continuous")["value"].values.tolist() == [10.4, 20, 3]


def test_negative_counts_are_always_refused():
    for choice in ("error", "keep", "round"):
        with pytest.raises(InputError, match="1 count is negative.*'n3' with -1"):
            bagged(areas(cases=[10, 20, -1.0]), fractional=choice)
    assert bagged(areas(cases=[1, 2, -1.0]), kind="continuous")["value"].min() == -1


def test_areas_without_a_value():
    unknown = areas(cases=[10, np.nan, 3])
    with pytest.raises(InputError, match=r"1 area has no value \(first: \['n2'\]\)"):
        bagged(unknown)
    assert bagged(unknown, missing_value="drop")["bag"].values.tolist() == ["n1", "n3"]


def test_areas_without_any_weighted_pixel():
    hole = people({(7, 3): np.nan})
    with pytest.raises(InputError, match=r"1 areas hold no pixel.*\['n3'\].*empty='drop'"):
        bagged(weight=hole)
    ds = bagged(weight=hole, empty="drop")
    assert ds["bag"].values.tolist() == ["n1", "n2"]
    assert "values adding up to 3: n3" in ds.attrs["treatments"]


def test_overlapping_areas_count_weight_twice_only_when_asked():
    both = areas()
    both.loc[2, "geometry"] = shapely.box(1100, 1500, 1300, 1700)  # inside the first
    with pytest.raises(InputError, match="areas overlap: .* in more than one area"):
        bagged(both)
    assert "is counted in more than one area" in bagged(both, overlap="keep").attrs["treatments"]


@pytest.mark.filterwarnings("ignore:.*more cases than persons")
def test_slivers_of_overlap_are_kept_with_a_record_unless_overlap_is_an_error():
    sliver = areas()
    sliver.loc[2, "geometry"] = shapely.box(1310, 1500, 1345, 1502)  # inside the first
    twice = 35 * 2 / 100**2 * people().values[4, 3]
    assert 1e-6 < twice / people().sum().item() < 1e-3
    note = next(n for n in bagged(sliver).attrs["treatments"].split("\n") if "slivers" in n)
    assert float(note.split()[5]) == pytest.approx(twice, rel=1e-4)
    with pytest.raises(InputError, match="overlap='keep-slivers' or 'keep' .*at most 0.1% of the"):
        bagged(sliver, overlap="error")
    # Areas that only touch do not overlap, however strict one is.
    assert "overlap" not in bagged(overlap="error").attrs["treatments"]


def test_one_id_for_several_polygons():
    twice = areas(code=["n1", "n2", "n2"])
    with pytest.raises(InputError, match=r"1 id belongs to several polygons.*\['n2'\]"):
        bagged(twice)
    ds = bagged(twice, duplicates="merge")
    assert ds["value"].values.tolist() == [10, 23]
    assert ds["weight"].sum().item() == pytest.approx(bagged()["weight"].sum().item())


@pytest.mark.filterwarnings("ignore:.*more cases than persons")
def test_invalid_polygons_are_repaired_and_that_is_recorded():
    bow = areas()
    bow.loc[2, "geometry"] = shapely.Polygon(
        [(1310, 1210), (1345, 1229), (1345, 1210), (1310, 1229)])
    assert "1 invalid polygons were repaired" in bagged(bow).attrs["treatments"]


@pytest.mark.parametrize("options,message", [
    (dict(misssing="drop"), "option 'misssing' is unknown; did you mean 'missing'"),
    (dict(missing="fill"), "missing 'fill' is unknown"),
    (dict(covariates=layers() + layers()), "two rasters are named 'height'"),
    (dict(covariates=[]), "at least one raster"),
    (dict(covariates=["no.tif"]), "no raster file 'no.tif'"),
    (dict(covariates=[xr.concat(layers(), "time")]), "select one layer"),
    (dict(weight=layers()), "expected one weight raster"),
    (dict(weight=people() * np.nan), "has no valid pixel"),
    (dict(aggregation="total"), "aggregation 'total' is unknown"),
    (dict(polygons="no.shp"), "no polygon file 'no.shp'"),
    (dict(polygons=areas().iloc[:0]), "no polygons"),
    (dict(polygons=areas(cases=["a", "b", "c"])), "'cases' does not hold numbers"),
    (dict(polygons=areas().drop(columns="cases")), "no column 'cases' for the value; they"),
    (dict(polygons=areas().drop(columns="code")), "no column 'code' for the id"),
    (dict(polygons=areas().rename(columns={"code": "Codes"})),
     r"no column 'code' for the id; did you mean 'Codes'\? they have"),
    (dict(polygons=areas().translate(1e5).to_frame("geometry").join(
        areas().drop(columns="geometry")).set_geometry("geometry"), empty="drop"),
     "none of the 3 areas touches the weight raster: polygons in EPSG:32633 run over x 101030 "),
])
def test_bad_input_is_named(options, message):
    with pytest.raises(InputError, match=message):
        bagged(**options)


def test_a_rotated_raster_is_refused():
    from affine import Affine
    turned = people().rio.write_transform(Affine(98.5, -17.4, 0, 17.4, 98.5, 0))
    with pytest.raises(InputError, match="is rotated"):
        bagged(weight=turned.drop_vars(["x", "y"]))


@pytest.mark.filterwarnings("ignore:.*more cases than persons")
def test_a_population_known_by_area_is_spread_over_its_pixels():
    table = areas(people=[300.0, 50.0, 7.0])
    flat, shaped = (bag_polygons(table, layers(), weight, "cases", id="code", population="people")
                    for weight in (None, people()))
    for ds in (flat, shaped):
        assert np.bincount(ds["membership"], ds["weight"]) == pytest.approx([300, 50, 7])
        assert ds["weight"].attrs == {"long_name": "people", "units": "persons"}
        assert "column 'people', was spread" in ds.attrs["treatments"]
    per_pixel = (flat["weight"] / flat["coverage"]).values[flat["membership"] == 0]
    assert per_pixel == pytest.approx(per_pixel[0], rel=1e-3)       # km² of a projection
    by_raster = (shaped["weight"] / bagged()["weight"]).values[shaped["membership"] == 1]
    assert by_raster == pytest.approx(by_raster[0])


def test_a_population_known_by_area_serves_periods_and_other_regions():
    table = areas(people=[300.0, 50.0, 7.0])
    counts = {"code": ["n1", "n1", "n2", "n3"], "year": [1, 2, 1, 1], "cases": [4, 5, 6, 1]}
    ds = bag_polygons(table.drop(columns="cases"), value="cases", totals=pd.DataFrame(counts),
                      join="code", time="year", population="people")
    assert np.bincount(ds["membership"], ds["weight"]) == pytest.approx([300, 300, 50, 7])
    places = polygon_places(table, id="code", population="people")
    assert np.bincount(places["membership"], places["weight"]) == pytest.approx([300, 50, 7])
    with pytest.raises(InputError, match="leave out population"):
        bag_polygons(table, value="cases", totals=pd.DataFrame(counts), join="code", time="year",
                     population="people", weight="people_{time}.tif")


def test_areas_whose_population_cannot_be_spread():
    for people, said in (([300, 0, 7], r"1 areas have no population.*\['n2'\].*empty='drop'"),
                         ([300, np.nan, 7], "1 areas have no population"),
                         ([300, -5, 7], "population 'people' of 1 areas is negative"),
                         (["x", "y", "z"], "population column 'people' does not hold numbers")):
        with pytest.raises(InputError, match=said):
            bag_polygons(areas(people=people), value="cases", id="code", population="people")
    with pytest.raises(InputError, match="no column 'persons' for the population"):
        bag_polygons(areas(), value="cases", id="code", population="persons")
    kept = bag_polygons(areas(people=[300, 0, 7]), value="cases", id="code", population="people",
                        empty="drop")
    assert kept["bag"].values.tolist() == ["n1", "n3"]
    assert kept["weight"].sum().item() == pytest.approx(307)
