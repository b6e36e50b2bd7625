"""Gridded fields in blocks: what is averaged, trimmed, dropped and collocated."""

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from workbench import schema
from workbench.checks import InputError


def made(rows=7, columns=9, *, south_first=True, units=("degrees_north", "degrees_east")):
    """Fields over latitudes and longitudes of one degree; temperature counts pixels as stored."""
    lat = 40.0 + np.arange(rows) if south_first else 40.0 + np.arange(rows)[::-1]
    rng = np.random.default_rng(0)
    number = np.arange(rows * columns, dtype=float).reshape(rows, columns)
    return xr.Dataset(
        {"t": (("lat", "lon"), number, {"units": "K", "long_name": "temperature"}),
         "z": (("lat", "lon"), rng.normal(size=(rows, columns)), {"units": "m"}),
         "p": (("lat", "lon"), 2 * number + 1, {"units": "Pa"})},
        coords={"lat": ("lat", lat, {"units": units[0]}),
                "lon": ("lon", 5.0 + np.arange(columns), {"units": units[1]})},
        attrs={"crs": "EPSG:4326"})


def test_means_trimming_and_places():
    fields = made()
    ds = schema.check(wb.bag_blocks(fields, "t", ["z"], ["p", "x", "y"], 3))
    assert ds.sizes["bag"] == 6 and ds.sizes["individual"] == 54
    assert ds.attrs["grid_shape"] == [6, 9] and ds.attrs["block_shape"] == [2, 3]
    assert "7 x 9 pixels were trimmed to 6 x 9, the last 1 of 'lat'" in ds.attrs["treatments"]
    coarse = fields.isel(lat=slice(0, 6)).coarsen(lat=3, lon=3).mean()
    north_first = coarse.sortby("lat", ascending=False)
    np.testing.assert_allclose(ds["value"], north_first["t"].values.ravel())
    np.testing.assert_allclose(ds["mediators"].sel(mediator="p"), north_first["p"].values.ravel())
    np.testing.assert_allclose(ds["mediators"].sel(mediator="y"), ds["bag_y"])
    np.testing.assert_allclose(ds["mediators"].sel(mediator="x"), ds["bag_x"])
    assert ds["mediator_units"].values.tolist() == ["Pa", "degree", "degree"]
    assert ds["x"].attrs["units"] == ds["y"].attrs["units"] == "degree"
    assert ds["value"].attrs == {"long_name": "temperature", "units": "K", "aggregation": "mean",
                                 "kind": "continuous"}
    assert ds["bag"].values.tolist()[:4] == ["r0c0", "r0c1", "r0c2", "r1c0"]
    np.testing.assert_allclose(
        ds["truth"], fields["t"].sel(lat=ds["y"], lon=ds["x"]).values)
    np.testing.assert_allclose(
        ds["covariates"].values[:, 0], fields["z"].sel(lat=ds["y"], lon=ds["x"]).values)
    for bag in range(6):
        bounds = ds["bag_geometry"].values[bag].bounds
        inside = ds["membership"].values == bag
        assert bounds == pytest.approx((float(ds["x"].values[inside].min()) - 0.5,
                                        float(ds["y"].values[inside].min()) - 0.5,
                                        float(ds["x"].values[inside].max()) + 0.5,
                                        float(ds["y"].values[inside].max()) + 0.5))


@pytest.mark.parametrize("south_first", [True, False])
def test_maps_have_north_up_whatever_the_order_of_the_file(south_first):
    fields = made(6, 9, south_first=south_first)
    ds = wb.bag_blocks(fields, "t", block=3)
    assert ds.attrs["treatments"] == "none" and ds.sizes["covariate"] == 0
    raster = wb.to_raster(ds, "truth")
    assert raster["y"].values[0] == 45 and raster["x"].values[0] == 5
    xr.testing.assert_allclose(
        raster.drop_vars("spatial_ref").reset_coords(drop=True).drop_vars(["x", "y"]),
        fields["t"].sortby("lat", ascending=False).rename(lat="y", lon="x").drop_vars(["x", "y"]))


@pytest.mark.parametrize(("crs", "axes"), [
    ("EPSG:32633", ("y", "x")), ("EPSG:4326", ("lat", "lon")), (None, ("lat", "lon"))])
def test_the_crs_of_fields_is_that_of_the_bags(tmp_path, crs, axes):
    import rioxarray  # noqa: F401  (the accessor)

    fields = made(6, 9).rename(dict(zip(("lat", "lon"), axes, strict=True))).drop_attrs()
    given = fields if crs is None else fields.rio.write_crs(crs)
    ds = wb.bag_blocks(given, "t", ["z"], ["p"], 3)
    assert ds.attrs.get("crs") == crs
    assert wb.to_raster(ds, "truth").rio.crs == crs
    # Opened without decode_coords="all" the CRS is a variable of the file.
    given.to_netcdf(tmp_path / "fields.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "fields.nc", engine="h5netcdf") as opened:
        assert wb.bag_blocks(opened, "t", ["z"], ["p"], 3).attrs.get("crs") == crs
    valued = ds.assign(individual_value=ds["truth"])
    assert wb.bag_grid(valued, 2).attrs.get("crs") == crs
    assert wb.bag_along(valued, "z", 9, 0).attrs.get("crs") == crs
    assert wb.add_mediators(ds, ["z"]).attrs.get("crs") == crs


def test_fields_in_two_crs_are_refused():
    import rioxarray  # noqa: F401  (the accessor)

    fields = made(6, 9).drop_attrs()
    fields = fields.assign_coords(one=fields["t"].rio.write_crs("EPSG:4326")["spatial_ref"],
                                  two=fields["t"].rio.write_crs("EPSG:4258")["spatial_ref"])
    fields["t"].attrs["grid_mapping"], fields["z"].attrs["grid_mapping"] = "one", "two"
    with pytest.raises(InputError, match="in several CRS, .'EPSG:4258', 'EPSG:4326'.; repr"):
        wb.bag_blocks(fields, "t", ["z"], block=3)


def test_a_crs_that_cannot_be_read_is_named():
    fields = made(6, 9).drop_attrs()
    fields["t"] = fields["t"].assign_attrs(crs="nonsense")
    with pytest.raises(InputError, match="the CRS that the fields state cannot be read"):
        wb.bag_blocks(fields, "t", ["z"], ["p"], 3)


def test_weights_by_latitude():
    fields = made(6, 6)
    ds = wb.bag_blocks(fields, "t", block=6, weight="cos-latitude")
    w = np.cos(np.deg2rad(fields["lat"].values))[:, None] * np.ones((6, 6))
    assert float(ds["value"][0]) == pytest.approx(np.average(fields["t"].values, weights=w))
    with pytest.raises(InputError, match="needs latitudes in degrees"):
        wb.bag_blocks(made(6, 6, units=("km", "km")), "t", block=3, weight="cos-latitude")


def test_missing_pixels_are_dropped_by_name_only():
    fields = made(6, 9)
    fields["t"][:3, :3] = np.nan        # a whole block
    fields["z"][4, 4] = np.nan
    with pytest.raises(InputError, match="10 of 54 pixels lack .* pass missing='drop'"):
        wb.bag_blocks(fields, "t", ["z"], block=3)
    ds = wb.bag_blocks(fields, "t", ["z"], ["x"], 3, missing="drop")
    assert ds.sizes["bag"] == 5 and ds.sizes["individual"] == 44
    assert "10 of 54 pixels with gaps were left out: 1 blocks are not bags, 1 have fewer" in (
        ds.attrs["treatments"])
    np.testing.assert_allclose(ds["block_row"], [0, 0, 0, 1, 1])
    kept = fields["t"].values[3:, 3:6].ravel()[np.arange(9) != 4]
    assert float(ds["value"].sel(bag="r0c1")) == pytest.approx(kept.mean())
    schema.check(ds)


def test_a_coarse_mediator_on_the_grid_of_blocks_or_on_another():
    fields = made(6, 9)
    coarse = fields[["p"]].coarsen(lat=3, lon=3).mean()
    own = wb.bag_blocks(fields, "t", mediators=["p"], block=3)
    same = wb.bag_blocks(fields, "t", mediators=["p"], block=3, coarse=coarse)
    np.testing.assert_allclose(same["mediators"], own["mediators"])
    # Linear interpolation gives a field that is linear back.
    other = xr.Dataset(coords={"lat": [38.0, 42, 47], "lon": [4.0, 9, 15]})
    other["p"] = (2 * (9 * (other["lat"] - 40) + other["lon"] - 5) + 1).assign_attrs(units="hPa")
    with pytest.raises(InputError, match="pass collocate='linear'"):
        wb.bag_blocks(fields, "t", mediators=["p"], block=3, coarse=other)
    linear = wb.bag_blocks(fields, "t", mediators=["p"], block=3, coarse=other, collocate="linear")
    np.testing.assert_allclose(linear["mediators"], own["mediators"])
    assert linear["mediator_units"].values.tolist() == ["hPa"]
    assert "p: interpolated linearly from 3 x 3" in linear.attrs["treatments"]
    small = other.isel(lat=[1, 2])
    with pytest.raises(InputError, match="2 rows and 0 columns .* edges='nearest'"):
        wb.bag_blocks(fields, "t", mediators=["p"], block=3, coarse=small, collocate="linear")
    clipped = wb.bag_blocks(fields, "t", mediators=["p"], block=3, coarse=small,
                            collocate="linear", edges="nearest")
    assert "its edge continued over 2 rows" in clipped.attrs["treatments"]


@pytest.mark.parametrize("change,options,message", [
    (lambda f: f, {"value": "temp"}, "field 'temp' is unknown"),
    (lambda f: f, {"covariates": ["t"]}, "'t' is the value"),
    (lambda f: f, {"covariates": ["z", "z"]}, "once each"),
    (lambda f: f, {"block": 8}, "holds no block of 8 x 8"),
    (lambda f: f, {"block": 2.5}, "whole number"),
    (lambda f: f, {"missing": "skip"}, "missing 'skip' is unknown"),
    (lambda f: f.expand_dims(time=2), {}, "choose a time or a level with isel"),
    (lambda f: f.assign_coords(lat=f["lat"].copy(data=2.0 ** np.arange(7))), {}, "not equally"),
    (lambda f: f.drop_vars("lat"), {}, "have no coordinates"),
    (lambda f: f.rename(lat="a", lon="b"), {}, r"pass dims=\(north, east\)"),
    (lambda f: made(units=("km", "m")), {}, "one unit"),
])
def test_what_cannot_be_bagged_is_refused(change, options, message):
    with pytest.raises(InputError, match=message):
        wb.bag_blocks(change(made()), **{"value": "t", "block": 3} | options)


def test_dimensions_can_be_named():
    ds = wb.bag_blocks(made().rename(lat="a", lon="b"), "t", block=3, dims=("a", "b"))
    np.testing.assert_allclose(ds["value"], wb.bag_blocks(made(), "t", block=3)["value"])
