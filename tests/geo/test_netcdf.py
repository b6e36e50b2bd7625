"""Which variables of a NetCDF file become covariates, and which kinds of file can be read."""

import gc
import warnings

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from tests.geo.test_polygons import SHAPE, bagged, layers, people
from workbench.checks import InputError, named_as_flags
from workbench.geo import read, write
from workbench.geo.lazy_rasters import open_rasters
from workbench.geo.netcdf import open_netcdf, rasters_in
from workbench.geo.rasters import read_rasters
from workbench.geo.treatments import Record


def climate():
    """Two covariates among what else climate files hold."""
    height, slope = layers()
    ds = xr.Dataset({"height": height, "slope": slope})
    longitude = np.add.outer(np.zeros(SHAPE[0]), np.arange(SHAPE[1]) / 10)
    return ds.assign(
        lat2d=(("y", "x"), longitude + 40, {"units": "degrees_north"}),
        lon2d=(("y", "x"), longitude, {"standard_name": "longitude"}),
        nav_lat=(("y", "x"), longitude),
        x_bnds=(("x", "bnds"), np.zeros((SHAPE[1], 2))),
        time_bnds=(("time", "bnds"), np.zeros((1, 2))),
        series=("month", np.arange(12.0)),
        flag=(("y", "x"), np.full(SHAPE, "good")),
        total=((), 1.0),
    )


@pytest.mark.parametrize("stored", [False, True])
def test_only_rasters_become_covariates_and_the_rest_is_listed(tmp_path, stored):
    source = climate()
    if stored:
        source.to_netcdf(tmp_path / "climate.nc", engine="h5netcdf")
        source = tmp_path / "climate.nc"
    ds = bagged(covariates=source)
    assert ds["covariate"].values.tolist() == ["height", "slope"]
    np.testing.assert_array_equal(ds["covariates"], bagged()["covariates"])
    told = next(n for n in ds.attrs["treatments"].split("\n") if "took height, slope" in n)
    for part in ("lat2d (a coordinate)", "lon2d (a coordinate)", "nav_lat (a coordinate)",
                 "x_bnds (bounds of cells)", "series (one-dimensional)", "flag (no numbers)",
                 "total (a single value)"):
        assert part in told


def test_auxiliary_coordinates_that_others_name_are_no_covariates(tmp_path):
    ds = climate().set_coords(["lat2d", "lon2d", "nav_lat"])[["height"]]
    ds.to_netcdf(tmp_path / "aux.nc", engine="h5netcdf")
    assert bagged(covariates=tmp_path / "aux.nc")["covariate"].values.tolist() == ["height"]


def test_without_grid_mapping_dimensions_decide():
    bare = climate().drop_vars("spatial_ref")
    for variable in bare.variables.values():
        variable.encoding.pop("grid_mapping", None), variable.attrs.pop("grid_mapping", None)
    bare["profile"] = ("depth", "month"), np.zeros((3, 12))
    record = Record()
    assert rasters_in(bare, "here", record) == ["height", "slope"]
    assert "profile (dimensions depth, month)" in str(record)


def test_axes_are_known_by_their_attributes_too():
    height = layers()[0].drop_vars("spatial_ref").rename(y="rlat", x="rlon")
    height["rlat"].attrs["standard_name"] = "grid_latitude"
    height["rlon"].attrs["axis"] = "X"
    ds = bagged(covariates=height, raster_crs="EPSG:32633")
    np.testing.assert_array_equal(ds["covariates"][:, 0], bagged()["covariates"][:, 0])


def test_variables_can_be_chosen():
    ds = bagged(covariates=climate(), variable="slope")
    assert ds["covariate"].values.tolist() == ["slope"]
    both = bagged(covariates=climate(), variable=("slope", "height"))
    assert both["covariate"].values.tolist() == ["slope", "height"]
    with pytest.raises(InputError, match=r"no raster has the variables \['slop'\] of variable="):
        bagged(covariates=climate(), variable="slop")
    with named_as_flags(), pytest.raises(InputError, match="of --variable slop; those read are"):
        bagged(covariates=climate(), variable=("slop",))


def test_the_weight_can_be_chosen_among_variables():
    height = layers()[0]
    several = xr.Dataset({"people": people(), "height": height})
    with pytest.raises(InputError, match=r"one weight raster, got \['people', 'height'\].*"
                                         "weight_variable="):
        bagged(weight=several)
    ds = bagged(weight=several, weight_variable="people")
    np.testing.assert_array_equal(ds["weight"], bagged()["weight"])
    with pytest.raises(InputError, match=r"variables \['peple'\] of weight_variable"):
        bagged(weight=several, weight_variable="peple")


def test_a_file_that_gives_nothing_is_an_error(tmp_path):
    xr.Dataset({"series": ("time", np.arange(4.0))}).to_netcdf(tmp_path / "one.nc",
                                                               engine="h5netcdf")
    height = layers()[0]
    with pytest.raises(InputError, match=r"one.nc holds no raster over y and x; its variables: "
                                         r"series \(one-dimensional\)"):
        bagged(covariates=[height, tmp_path / "one.nc"])
    with pytest.raises(InputError, match="a Dataset holds no raster.*its variables: none"):
        bagged(covariates=[height, xr.Dataset()])


def test_classic_files_are_read(tmp_path):
    ds = layers()[0].to_dataset()
    ds.to_netcdf(tmp_path / "classic.nc", engine="scipy", format="NETCDF3_64BIT")
    assert (tmp_path / "classic.nc").read_bytes()[:3] == b"CDF"
    got = bagged(covariates=tmp_path / "classic.nc")
    np.testing.assert_array_equal(got["covariates"][:, 0], bagged()["covariates"][:, 0])
    stored = write(bagged().drop_vars(["bag_geometry", "bag"]), tmp_path / "new.nc")
    with xr.open_dataset(stored, engine="h5netcdf") as opened:
        numbers = opened[["value", "weight"]].load()
    numbers.to_netcdf(tmp_path / "old.nc", engine="scipy")
    np.testing.assert_array_equal(read(tmp_path / "old.nc")["value"], [10, 20, 3])


def test_bounds_that_a_file_names_and_does_not_have_are_passed_over_in_silence(tmp_path):
    ds = layers()[0].to_dataset()
    ds["x"].attrs["bounds"] = "x_bnds"
    ds.to_netcdf(tmp_path / "lost.nc", engine="h5netcdf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_netcdf(tmp_path / "lost.nc")
        lazy = open_rasters(tmp_path / "lost.nc")
    np.testing.assert_array_equal(lazy["height"], layers()[0])


@pytest.mark.parametrize(("stated", "encoding"), [
    ({"valid_range": np.array([0.0, 3000.0])}, {}),
    ({"valid_max": 3000.0}, {}),
    ({"valid_range": np.array([0, 6000], "int16")},
     {"dtype": "int16", "scale_factor": 0.5, "add_offset": 0.0, "_FillValue": -1}),
    ({"valid_range": np.array([0.0, 3000.0])},
     {"dtype": "int16", "scale_factor": 0.5, "add_offset": 0.0, "_FillValue": -1})])
def test_numbers_beyond_the_valid_range_of_a_file_are_missing(tmp_path, stated, encoding):
    """CF says so, and xarray keeps them: also where the range is of packed numbers."""
    layer = layers()[0]
    values = np.round(np.abs(layer.values)) + 10
    values[0, 0] = 5000.0
    one = layer.copy(data=values).assign_attrs(stated)
    one.attrs.pop("_FillValue", None)
    one.encoding = {}
    one.to_dataset(name="height").to_netcdf(tmp_path / "range.nc", encoding={"height": encoding})
    opened = open_netcdf(tmp_path / "range.nc")["height"].transpose(*layer.dims)
    assert np.isnan(opened.values[0, 0]) and np.isfinite(opened.values).sum() == values.size - 1
    record = Record()
    (found,) = read_rasters(tmp_path / "range.nc", record).values()
    assert int(np.isnan(found.values).sum()) == 1
    assert any("numbers beyond the file's valid range, " in line for line in record)
    assert int(np.isnan(wb.open_rasters(tmp_path / "range.nc")["height"].values).sum()) == 1


# SciPy says so when the memory map of a damaged file is collected.
@pytest.mark.filterwarnings("ignore:Cannot close a netcdf_file:RuntimeWarning")
@pytest.mark.parametrize("format, engine", [("NETCDF4", "h5netcdf"), ("NETCDF3_CLASSIC", "scipy")])
@pytest.mark.parametrize("damage", ["empty", "half", "random"])
def test_damaged_files_end_in_one_line(tmp_path, format, engine, damage):
    path = tmp_path / "height.nc"
    layers()[0].to_dataset().to_netcdf(path, engine=engine, format=format)
    content = path.read_bytes()
    path.write_bytes({"empty": b"", "half": content[: len(content) // 2],
                      "random": np.random.default_rng(0).bytes(2000)}[damage])
    for reader in (lambda: bagged(covariates=path), lambda: read(path)):
        with pytest.raises(InputError, match=r"^cannot read '.*height.nc' as NetCDF: .+; try to "
                                             "download or write it again") as caught:
            reader()
        assert "\n" not in str(caught.value)
        assert ("0 bytes" in str(caught.value)) == (damage == "empty")
        del caught
    gc.collect()
