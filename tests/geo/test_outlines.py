"""Outlines in NetCDF: small files whatever the longest outline, old files still read."""

import tracemalloc

import numpy as np
import pytest
import shapely
import xarray as xr

from tests.geo.test_files import cut
from workbench.checks import InputError
from workbench.geo import read, write

CORNERS = 400_000


def coast():
    """Four hundred squares and an island with a long coast."""
    shapes = np.empty(401, dtype=object)
    shapes[:400] = shapely.box(np.arange(400), 0, np.arange(400) + 1, 1)
    angle = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    radius = 10 + np.sin(1000 * angle)
    shapes[400] = shapely.Polygon(np.column_stack([radius * np.cos(angle),
                                                   20 + radius * np.sin(angle)]))
    return xr.Dataset(
        {"value": ("bag", np.arange(401.0))},
        coords={"bag": np.arange(401), "bag_geometry": ("bag", shapes)})


def test_one_long_outline_does_not_make_the_others_long(tmp_path):
    ds = coast()
    binary = sum(len(shapely.to_wkb(shape)) for shape in ds["bag_geometry"].values)
    tracemalloc.start()
    path = write(ds, tmp_path / "coast.nc")
    writing = tracemalloc.get_traced_memory()[1]
    back = read(path)
    reading = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size < 1.05 * binary + 50_000
    assert max(writing, reading) < 6 * binary
    assert all(shapely.equals_identical(back["bag_geometry"].values, ds["bag_geometry"].values))


def test_shapes_of_every_kind_come_back(tmp_path):
    shapes = np.empty(4, dtype=object)
    ring = shapely.Polygon([(0, 0), (9, 0), (9, 9), (0, 9)], [[(1, 1), (2, 1), (2, 2)]])
    shapes[:] = [ring, shapely.MultiPolygon([ring, shapely.box(20, 0, 21, 1 / 3)]),
                 shapely.Point(0.1, 0.2), shapely.Polygon()]
    ds = cut().assign_coords(individual_geometry=("individual", shapes))
    back = read(write(ds, tmp_path / "map.nc"))
    for name in ("bag_geometry", "individual_geometry"):
        assert all(shapely.equals_identical(back[name].values, ds[name].values))
    assert set(back.variables) == set(ds.variables) and set(back.coords) == set(ds.coords)
    assert set(back.dims) == set(ds.dims)
    none = ds.isel(bag=[]).drop_vars("individual_geometry")
    assert read(write(none, tmp_path / "none.nc"))["bag_geometry"].size == 0


def test_files_that_hold_text_are_still_read(tmp_path):
    ds = cut()
    text = shapely.to_wkt(ds["bag_geometry"].values, rounding_precision=-1)
    former = ds.assign_coords(bag_geometry=("bag", text.astype(str), {"encoding": "WKT"}))
    former.to_netcdf(tmp_path / "former.nc", engine="h5netcdf")
    back = read(tmp_path / "former.nc")
    assert all(shapely.equals_identical(back["bag_geometry"].values, ds["bag_geometry"].values))


def test_bytes_that_do_not_add_up_are_refused(tmp_path):
    path = write(cut(), tmp_path / "map.nc")
    with xr.open_dataset(path, engine="h5netcdf") as opened:
        stored = opened.load()
    stored["bag_geometry_wkb_end"][1] = 7
    stored.to_netcdf(tmp_path / "odd.nc", engine="h5netcdf")
    with pytest.raises(InputError, match=r"bag_geometry is damaged: \d+ bytes where \[7\]"):
        read(tmp_path / "odd.nc")
