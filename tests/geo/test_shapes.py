"""Outlines as files hold them: collections, broken corners, wrong CRSs, copies."""

import re

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

from tests.geo.test_children import bagged as bagged_children
from tests.geo.test_children import fine
from tests.geo.test_polygons import CRS, areas, bagged, people
from workbench.bagging.findings import listing
from workbench.checks import InputError, named_as_flags
from workbench.geo import bag_children, bag_polygons


def test_of_a_collection_the_polygons_are_kept_and_the_rest_is_recorded():
    mixed = areas()
    whole = mixed.geometry[0]
    west, east = shapely.box(1030, 1230, 1200, 1970), shapely.box(1200, 1230, 1800, 1970)
    inner = shapely.GeometryCollection([whole & east, shapely.Point(1100, 1500)])
    mixed.loc[0, "geometry"] = shapely.GeometryCollection(
        [whole & west, inner, shapely.LineString([(1040, 1300), (1090, 1800)])])
    ds = bagged(mixed)
    assert ds["bag_geometry"].values[0].geom_type in ("Polygon", "MultiPolygon")
    assert ds["bag_geometry"].values[0].area == pytest.approx(whole.area)
    np.testing.assert_allclose(
        np.bincount(ds["membership"], ds["weight"]),
        np.bincount(bagged()["membership"], bagged()["weight"]), rtol=1e-6)
    assert "1 collections of shapes (first: row 0) were reduced to their polygons; 2 lines and " \
        "points in them" in ds.attrs["treatments"]


def test_what_make_valid_leaves_of_a_polygon_with_a_spike_can_be_bagged():
    spiked = areas()
    corners = list(spiked.geometry[0].exterior.coords)
    # The border runs out along a line and back again: make_valid gives a polygon and a line.
    spiked.loc[0, "geometry"] = shapely.Polygon([*corners[:1], (1010, 1210), *corners])
    assert shapely.make_valid(spiked.geometry[0]).geom_type == "GeometryCollection"
    ds = bagged(spiked)
    assert "1 invalid polygons were repaired" in ds.attrs["treatments"]
    assert "1 collections of shapes" in ds.attrs["treatments"]
    assert ds["bag_geometry"].values[0].area == pytest.approx(areas().geometry[0].area)


def test_a_collection_without_polygons_is_no_area():
    lines = areas()
    lines.loc[2, "geometry"] = shapely.GeometryCollection(
        [shapely.LineString([(1310, 1210), (1345, 1229)]), shapely.Point(1, 1)])
    with pytest.raises(InputError, match=r"1 geometries have no area \(first: row \[2\]\)"):
        bagged(lines)


def test_corners_that_are_no_numbers_are_named():
    broken = areas()
    with np.errstate(invalid="ignore"):
        broken.loc[1, "geometry"] = shapely.Polygon(
            [(1420, 1970), (np.nan, 1230), (1970, 1230), (1970, 1970)])
    with pytest.raises(InputError, match=r"1 polygons have corners .* \(first: row \[1\]\)"):
        bagged(broken)


def test_metres_that_are_called_degrees_are_refused():
    wrong = areas().set_crs("EPSG:4326", allow_override=True)
    with pytest.raises(InputError, match="polygons in EPSG:4326, .* run over x 1030 to 1970, "
                                         "y 1210 to 1970, which look like metres"):
        bagged(wrong)
    with pytest.raises(InputError, match="raster 'people' in EPSG:4326, .* look like metres"):
        bagged(weight=people(crs="EPSG:4326"))


def test_a_crs_that_nobody_knows_is_named_with_its_argument():
    with pytest.raises(InputError, match="polygon_crs='EPSG:99999' is not a known coordinate"):
        bagged(areas().set_crs(None, allow_override=True), polygon_crs="EPSG:99999")
    with pytest.raises(InputError, match="raster_crs='lonlat' is not a known coordinate ref"):
        bagged(weight=people(crs=None), raster_crs="lonlat")
    with named_as_flags(), pytest.raises(InputError, match="^--raster-crs lonlat is not .* write "
                                                           "it as --raster-crs EPSG:4326"):
        bagged(weight=people(crs=None), raster_crs="lonlat")


def test_polygons_elsewhere_are_told_with_both_extents_not_dropped():
    away = areas()
    away.geometry = away.translate(50_000)
    for choice in ("error", "drop"):
        with pytest.raises(InputError) as caught:
            bagged(away, empty=choice)
        told = str(caught.value)
        assert "none of the 3 areas touches the weight raster" in told
        assert "polygons in EPSG:32633 run over x 51030 to 51970, y 1210 to 1970" in told
        assert "the raster in EPSG:32633 over x 1000 to 2000, y 1200 to 2000" in told
        assert "empty" not in told


def test_the_raster_that_polygons_do_not_meet_is_named_where_it_is_a_covariate():
    away = areas()
    away.geometry = away.translate(50_000)
    with pytest.raises(InputError, match="none of the 3 areas touches raster 'height': polygons"):
        bagged(away, weight="area")
    with listing() as found, pytest.raises(InputError):
        bagged(away, weight="area")
    assert found[-1].where == ("polygons", "height") and found[-1].code == "apart"
    one = areas()
    one.loc[2, "geometry"] = shapely.box(5000, 5000, 5100, 5100)
    with pytest.raises(InputError, match="1 of them lie outside the extent of raster 'height', x"):
        bagged(one, weight="area")
    assert "pixels_of" not in str(bagged(weight="area"))


def test_degrees_that_are_called_metres_are_recognised():
    degrees = areas().to_crs("EPSG:4326").set_crs(CRS, allow_override=True)
    with pytest.raises(InputError, match="coordinates of the polygons look like degrees, not "
                                         "those of EPSG:32633: correct it in the file"):
        bagged(degrees)


def test_areas_beyond_the_raster_are_told_apart_from_empty_ones():
    one = areas()
    one.loc[2, "geometry"] = shapely.box(5000, 5000, 5100, 5100)
    with pytest.raises(InputError, match="1 areas hold no pixel .* values adding up to 3.*1 of "
                                         "them lie outside the extent of the weight raster, x"):
        bagged(one)


def test_all_values_missing_is_said_even_if_they_may_be_dropped():
    with pytest.raises(InputError, match="none of the 3 areas has a value"):
        bagged(areas(cases=[np.nan] * 3), missing_value="drop")


# -- copies ----------------------------------------------------------------------------------


def doubled(frame, *rows):
    return gpd.GeoDataFrame(pd.concat([frame, frame.iloc[list(rows)]], ignore_index=True))


def test_exact_copies_are_counted_once_with_both_totals():
    twice = doubled(areas(), 1)
    with pytest.raises(InputError, match="1 id belongs to several.*1 row is an exact copy.*total "
                                         "of 'cases' is 53 with them and 33 without.*merge"):
        bagged(twice)
    ds = bagged(twice, duplicates="merge")
    assert ds["value"].values.tolist() == [10, 20, 3]
    assert "is 53 with them and 33 without" in ds.attrs["treatments"]


def test_copies_under_other_ids_are_refused_unless_overlaps_are_kept():
    twice = doubled(areas(), 1)
    twice["code"] = ["n1", "n2", "n3", "n4"]
    for choice in ("keep-slivers", "error"):
        with pytest.raises(InputError, match=r"1 polygon is an exact copy of another \(n4 of n2\)"
                                             "; the total of 'cases' is 53 with them and 33 with"):
            bagged(twice, overlap=choice)
    ds = bagged(twice, overlap="keep")
    assert ds["value"].sum() == 53
    assert "n4 of n2" in ds.attrs["treatments"]


def test_copies_of_small_areas_do_not_double_the_total_of_their_parent():
    twice = doubled(fine(), 5)
    twice.loc[12, "code"] = "f99"
    with pytest.raises(InputError, match="f99 of f05.* is 71 with them and 66 without"):
        bagged_children(twice)


def parts(values):
    """Area n2 in two parts with a value each."""
    frame = doubled(areas(), 1)
    whole = frame.geometry[1]
    left, right = shapely.box(0, 0, 1700, 3000), shapely.box(1700, 0, 3000, 3000)
    frame["geometry"] = [frame.geometry[0], whole & left, frame.geometry[2], whole & right]
    frame["cases"] = [10.0, values[0], 3.0, values[1]]
    return frame.set_crs(CRS, allow_override=True)


def test_a_total_repeated_on_every_part_is_pointed_out_and_can_be_taken_once():
    with pytest.raises(InputError, match="polygons of 1 id all have the same value.*once"):
        bagged(parts([20, 20]))
    added = bagged(parts([20, 20]), duplicates="merge")
    assert added["value"].values.tolist() == [10, 40, 3]
    assert "duplicates='once' counts it once" in added.attrs["treatments"]
    once = bagged(parts([20, 20]), duplicates="once")
    assert once["value"].values.tolist() == [10, 20, 3]
    assert "adding up to 40 before and 20 after" in once.attrs["treatments"]
    np.testing.assert_allclose(once["weight"].sum(), bagged()["weight"].sum())


def test_parts_with_values_of_their_own_are_added_and_cannot_be_taken_once():
    ds = bagged(parts([12, 8]), duplicates="merge")
    assert ds["value"].values.tolist() == [10, 20, 3]
    assert "same value" not in ds.attrs["treatments"]
    with pytest.raises(InputError, match=r"1 id have different values \(first: \['n2'\]\)"):
        bagged(parts([12, 8]), duplicates="once")


def test_a_part_without_a_value_leaves_the_whole_without_one():
    with pytest.raises(InputError, match=r"1 area has no value \(first: \['n2'\]\)"):
        bagged(parts([12, np.nan]), duplicates="merge")


def test_a_plane_that_has_no_place_on_earth_is_stated_as_one():
    """The message names a CRS that works, also where individuals are weighted by their km²."""
    plane = fine().set_crs(None, allow_override=True)
    with pytest.raises(InputError) as refused:
        bagged_children(plane)
    told = re.search("plane that has no place on Earth, with polygon_crs='(.*)'$",
                     str(refused.value))
    own = told[1].replace("metre", "kilometre").replace(",1]", ",1000]")
    for crs, km2, unit in ((told[1], 1.0, "m"), (own, 1e6, "km")):
        ds = bag_children(plane, parent="parent", value="cases", polygon_crs=crs)
        assert ds["weight"].values == pytest.approx(km2) and ds["x"].attrs["units"] == unit
        pixels = bag_polygons(plane, value="cases", grid_size=8, polygon_crs=crs)
        assert pixels["weight"].sum() == pytest.approx(12 * km2)
    with named_as_flags(), pytest.raises(InputError, match="--polygon-crs 'LOCAL_CS.*1\\]\\]'$"):
        bagged_children(plane)      # quoted for a shell
