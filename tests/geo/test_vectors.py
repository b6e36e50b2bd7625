"""Files of polygons and rasters that are damaged, misplaced, or hold several layers."""

import os

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

from tests.geo.test_polygons import CRS, areas, bagged, layers, people
from workbench.bagging.findings import listing
from workbench.bagging.tables import read_table
from workbench.checks import InputError, named_as_flags
from workbench.geo import bag_polygons
from workbench.geo.shapes import repaired
from workbench.geo.treatments import Record
from workbench.geo.vectors import open_polygons

RANDOM = np.random.default_rng(0).bytes(3000)


def one_line(error) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("suffix", [".gpkg", ".geojson", ".shp"])
@pytest.mark.parametrize("damage", ["empty", "half", "random"])
def test_damaged_polygons_end_in_one_line(tmp_path, suffix, damage):
    path = tmp_path / f"areas{suffix}"
    areas().to_file(path)
    content = path.read_bytes()
    path.write_bytes({"empty": b"", "half": content[: len(content) // 2], "random": RANDOM}[damage])
    # GDAL opens half a shapefile, whose last polygons are then empty.
    expected = f"^cannot read '.*areas{suffix}' as polygons: .+; try "
    if (suffix, damage) == (".shp", "half"):
        expected = r"^2 polygons are empty \(first: row \[1\]\)"
    with pytest.raises(InputError, match=expected) as caught:
        bagged(path)
    told = one_line(caught)
    assert "specify the correct driver" not in told
    assert "0 bytes" in told or damage != "empty"


@pytest.mark.parametrize("part", [".shx", ".dbf"])
def test_a_part_of_a_shapefile_that_is_missing_is_named(tmp_path, part):
    areas().to_file(tmp_path / "areas.shp")
    (tmp_path / f"areas{part}").unlink()
    with pytest.raises(InputError, match=f"try to copy the shapefile .*not there: areas{part}"):
        bagged(tmp_path / "areas.shp")


@pytest.mark.parametrize("damage", ["empty", "half", "random"])
def test_damaged_rasters_end_in_one_line(tmp_path, damage):
    path = tmp_path / "height.tif"
    layers()[0].rio.to_raster(path)
    content = path.read_bytes()
    path.write_bytes({"empty": b"", "half": content[: len(content) // 2], "random": RANDOM}[damage])
    with pytest.raises(InputError, match="^cannot read '.*height.tif' as a raster: .+; try to "
                                         "download or write it again") as caught:
        bagged(covariates=path)
    assert "previous exception" not in one_line(caught)


def test_what_is_in_the_wrong_place_is_sent_to_the_right_one(tmp_path):
    people().rio.to_raster(tmp_path / "people.tif")
    areas().to_file(tmp_path / "areas.gpkg")
    pd.DataFrame({"code": ["n1"], "cases": [3]}).to_csv(tmp_path / "cases.csv", index=False)
    with pytest.raises(InputError, match=r"no column 'code'.*they have \['cell', 'people'\]"):
        bagged(tmp_path / "people.tif")
    with pytest.raises(InputError, match="it holds no polygons .*join the columns of this table"):
        bagged(tmp_path / "cases.csv")
    with named_as_flags(), pytest.raises(InputError, match="polygons, which go into --polygons"):
        bagged(weight=tmp_path / "areas.gpkg")
    with pytest.raises(InputError, match="is a directory; name a raster in it"):
        bagged(weight=tmp_path)


def test_a_directory_is_read_if_it_holds_polygons(tmp_path):
    (tmp_path / "folder").mkdir()
    areas().to_file(tmp_path / "folder" / "areas.shp")
    areas().to_file(tmp_path / "areas.gdb", driver="OpenFileGDB", layer="areas")
    for path in (tmp_path / "folder", tmp_path / "areas.gdb"):
        assert bagged(path)["value"].values.tolist() == [10, 20, 3]
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="cannot read '.*none' as polygons: .*try naming a file "
                                         "inside this directory"):
        bagged(tmp_path / "none")


def test_of_several_layers_one_is_chosen(tmp_path):
    path = tmp_path / "both.gpkg"
    areas(cases=[1.0, 2.0, 3.0]).to_file(path, layer="former")
    areas().to_file(path, layer="present")
    with pytest.raises(InputError, match="has 2 layers of polygons: former, present; pass "
                                         "layer='former', or another"):
        bagged(path)
    assert bagged(path, layer="present")["value"].values.tolist() == [10, 20, 3]
    with pytest.raises(InputError, match="layer 'presents' is unknown; did you mean 'present'"):
        bagged(path, layer="presents")
    with pytest.raises(InputError, match="layer chooses among the layers of a file"):
        bagged(areas(), layer="present")


def test_the_only_layer_of_polygons_is_taken_and_that_is_recorded(tmp_path):
    path = tmp_path / "mixed.gpkg"
    points = gpd.GeoDataFrame({"a": [1]}, geometry=[shapely.Point(1100, 1500)], crs=CRS)
    points.to_file(path, layer="capitals")
    areas().to_file(path, layer="areas")
    ds = bagged(path)
    assert ds["value"].values.tolist() == [10, 20, 3]
    assert "layer 'areas' of mixed.gpkg was taken" in ds.attrs["treatments"]
    points.to_file(tmp_path / "points.gpkg", layer="capitals")
    with pytest.raises(InputError, match=r"it holds no polygons \(capitals: Point\)"):
        open_polygons(tmp_path / "points.gpkg", Record())


def test_tables_in_another_encoding_end_in_one_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("name,n\nMálaga,3\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"^cannot read '.*table.csv' as a CSV table: it is not "
                                         r"UTF-8 text \(byte 0xe1\); try to save it again as UTF"):
        read_table(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"the file is empty \(0 bytes\)"):
        read_table(path)
    path.write_text("a,b\n1,2\n1,2,3,4\n")
    with pytest.raises(InputError, match="cannot read .* as a CSV table: .*Expected 2 fields"):
        read_table(path)


def test_points_and_lines_in_the_place_of_polygons_are_told_where_to_go(tmp_path):
    points = gpd.GeoDataFrame({"cases": [1]}, geometry=[shapely.Point(1100, 1500)], crs=CRS)
    lines = points.set_geometry([shapely.LineString([(1100, 1500), (1200, 1600)])], crs=CRS)
    for frame, said in ((points, "give points as --points, in Python to workbench.bag_points"),
                        (lines, "give polygons, as lines have no area")):
        frame.to_file(tmp_path / "places.shp")
        with pytest.raises(InputError, match=rf"it holds no polygons .*try to {said}"):
            bagged(tmp_path / "places.shp")
        with pytest.raises(InputError, match=f"have no area .*; {said}"):
            bagged(frame)


def test_an_array_without_coordinates_is_no_raster():
    for options in (dict(covariates=[np.ones((4, 4))]), dict(covariates={"a": np.ones((4, 4))}),
                    dict(covariates=np.ones((4, 4))), dict(weight=np.ones((4, 4)))):
        with pytest.raises(InputError, match="got ndarray; give an xr.DataArray with x, y and a "
                                             r"CRS \(.*\), or a path"):
            bagged(**options)


def test_infinite_values_are_said_to_be_infinite():
    broken = areas(cases=[np.inf, 20, np.nan])
    with pytest.raises(InputError, match="1 area has no value"):
        bagged(broken)
    with pytest.raises(InputError, match=r"1 area has an infinite value .*; correct them, as "
                                         "where something was divided by zero, or pass missing_v"):
        bagged(areas(cases=[np.inf, 20, 3]))
    ds = bagged(broken, missing_value="drop")
    assert ds.sizes["bag"] == 1
    assert "1 area with an infinite value was dropped" in ds.attrs["treatments"]
    assert "1 area without a value was dropped" in ds.attrs["treatments"]


def test_files_of_one_name_in_two_folders_are_two_files(tmp_path, monkeypatch):
    """Archives and copies keep the time of a file, and relative names recur."""
    for name, cases in (("one", [3, 8, 1]), ("other", [5, 9, 1])):
        (tmp_path / name).mkdir()
        areas(cases=cases).to_file(tmp_path / name / "areas.gpkg")
        os.utime(tmp_path / name / "areas.gpkg", (1_700_000_000, 1_700_000_000))
    read = []
    for name in ("one", "other"):
        monkeypatch.chdir(tmp_path / name)
        read.append(bagged("areas.gpkg")["value"].values.tolist())
    assert read == [[3, 8, 1], [5, 9, 1]]


def test_an_index_of_several_levels_names_no_area():
    frame = areas().set_index(["land", "code"])
    with pytest.raises(InputError, match="index of 2 levels, .* column by id='COLUMN' after reset"):
        bag_polygons(frame, layers(), people(), "cases")
    assert bagged(frame.reset_index())["bag"].values.tolist() == ["n1", "n2", "n3"]


def test_na_is_a_name_where_names_are_read(tmp_path):
    (tmp_path / "t.csv").write_text("iso,cases\nNA,3\n,5\nBW,NA\n")
    table = read_table(tmp_path / "t.csv", text=["iso"])
    assert table["iso"].fillna("none").tolist() == ["NA", "none", "BW"]
    assert table["cases"].isna().tolist() == [False, False, True]


def test_a_check_leaves_out_broken_rows_alone_where_an_index_repeats():
    frame = areas().set_axis([7, 8, 7])
    shapes = frame.geometry.to_numpy().copy()
    corners = shapely.get_coordinates(shapes[2])
    corners[1, 0] = np.inf
    shapes[2] = shapely.set_coordinates(shapes[2], corners)
    with listing() as found:
        kept = repaired(frame.set_geometry(gpd.GeoSeries(shapes, frame.index, CRS)), Record())
    assert [one.code for one in found] == ["shape-broken"]
    assert kept["code"].tolist() == ["n1", "n2"]
