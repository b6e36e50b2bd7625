"""Bilinear interpolation with a lapse rate, on fields it must give back."""

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from workbench.checks import InputError
from workbench.evaluation.baselines.bilinear import bilinear_lapse


def made(slope=-6.5, curve=0.0, rows=24, columns=36):
    """Temperature linear in position and in altitude, plus a curve in x."""
    rng = np.random.default_rng(0)
    y, x = np.meshgrid(np.arange(rows) * 1.0, np.arange(columns) * 1.0, indexing="ij")
    altitude = rng.gamma(1, 1, size=(rows, columns)) + (x > 20)
    field = 15 - 0.2 * y + 0.05 * x + curve * np.sin(x / 5) + slope * altitude
    fields = xr.Dataset(
        {"t": (("y", "x"), field, {"units": "K"}),
         "altitude": (("y", "x"), altitude, {"units": "km"})},
        coords={"y": ("y", y[:, 0], {"units": "km"}), "x": ("x", x[0], {"units": "km"})})
    return wb.bag_blocks(fields, "t", ["altitude"], block=4)


def within(ds):
    """Pixels no further out than the outermost centres of blocks."""
    return np.logical_and.reduce([
        (ds[a] >= ds[f"bag_{a}"].min()) & (ds[a] <= ds[f"bag_{a}"].max()) for a in "xy"])


def test_a_linear_world_comes_back():
    ds = made()
    found = bilinear_lapse(ds)
    assert found.attrs["slope"] == pytest.approx(-6.5) and found.attrs["slope_units"] == "K per km"
    assert found.attrs["interpolation"] == "bilinear" and found.attrs["blocks"] == 54
    np.testing.assert_allclose(found.values[within(ds)], ds["truth"].values[within(ds)], atol=1e-9)
    # Outside, the edge is continued: at most half a block of the gradient away.
    assert np.abs(found - ds["truth"]).max() < 0.2 * 1.5 + 0.05 * 1.5 + 1e-9


def test_some_blocks_without_values():
    ds = made()
    values = ds["value"].values.copy()
    values[np.random.default_rng(1).permutation(54)[:27]] = np.nan
    found = bilinear_lapse(ds, values)
    assert found.attrs["interpolation"] == "linear" and found.attrs["blocks"] == 27
    assert found.attrs["slope"] == pytest.approx(-6.5)
    error = np.abs(found - ds["truth"]).values
    assert np.median(error) < 1e-9 and error.max() < 2.5      # inside the triangles, and outside


def test_the_slope_helps_and_can_be_given():
    ds = made(curve=1.0)
    truth = ds["truth"]

    def error(**options):
        return float(np.sqrt(((bilinear_lapse(ds, **options) - truth)**2).mean()))

    assert error() < 0.3 * error(slope=0.0)
    assert error(slope=-6.5) < 0.1 * error(slope=0.0)
    given = bilinear_lapse(ds, slope=-6.5, covariate="altitude")
    assert given.attrs["slope"] == -6.5


def test_flat_land_and_a_row_of_blocks():
    flat = made(slope=0.0)
    flat["covariates"][:] = 3.0
    assert bilinear_lapse(flat).attrs["slope"] == 0
    values = np.full(54, np.nan)
    values[:9] = flat["value"].values[:9]
    found = bilinear_lapse(flat, values, slope=0.0)
    assert found.attrs["interpolation"] == "nearest" and np.isfinite(found).all()


@pytest.mark.parametrize("options,message", [
    (dict(covariate="height"), "covariate 'height' is unknown"),
    (dict(degree=5), "degree must be from 0 to 3"),
    (dict(values=np.zeros(3)), "one value for each of 54"),
    (dict(values=np.r_[np.ones(5), np.full(49, np.nan)]), "5 values are too few"),
    (dict(values=np.full(54, np.nan), slope=0.0), "no block has a value"),
])
def test_refusals(options, message):
    with pytest.raises(InputError, match=message):
        bilinear_lapse(made(), **options)


def test_sums_and_data_without_places_are_refused():
    ds = made()
    ds["value"].attrs["aggregation"] = "sum"
    with pytest.raises(InputError, match="these values are sums"):
        bilinear_lapse(ds)
    with pytest.raises(InputError, match="cannot tell which of"):
        bilinear_lapse(made().assign_coords(covariate=["depth"]))
