import holoviews as hv
import numpy as np
import pytest
import xarray as xr
from bokeh.models import ColorBar, GridPlot, Plot

from workbench.bagging import bag_blocks, unmatch
from workbench.checks import InputError
from workbench.plots import field_panel, field_scales
from workbench.plots.fields import OBSERVED, PREDICTED, RECONSTRUCTED, SHOWN, UNKNOWN

ROWS, COLUMNS, BLOCK = 12, 18, 3


def field(units: str = "km", gap: bool = False) -> xr.Dataset:
    """A temperature that rises eastwards, on rows stored from the south."""
    north, east = 10.0 + np.arange(ROWS), 100.0 + np.arange(COLUMNS)
    warm = 280.0 + np.arange(COLUMNS) + 0.1 * np.arange(ROWS)[:, None]
    if gap:
        warm[0, 0] = np.nan
    high = np.random.default_rng(0).uniform(0, 900, warm.shape)
    fields = xr.Dataset(
        {"t": (("y", "x"), warm, {"units": "K", "long_name": "temperature"}),
         "altitude": (("y", "x"), high, {"units": "m"}),
         "pressure": (("y", "x"), warm - 200, {"units": "hPa"})},
        coords={"y": ("y", north, {"units": units}), "x": ("x", east, {"units": units})})
    return bag_blocks(fields, "t", ["altitude"], ["pressure", "x", "y"], BLOCK,
                      missing="drop" if gap else "refuse")


def predicted(ds: xr.Dataset, off: float = 0.5) -> xr.Dataset:
    return xr.Dataset({"mean": ds["truth"] + off, "std": 0.0 * ds["truth"] + 0.25})


def images(layout: hv.Layout) -> dict[str, hv.Image]:
    """Images by title, with what is drawn over them left out."""
    found = [next(iter(panel.traverse(lambda e: e, [hv.Image]))) for panel in layout]
    return {hv.Store.lookup_options("bokeh", i, "plot").kwargs["title"]: i for i in found}


def option(image: hv.Image, name: str):
    return {**hv.Store.lookup_options("bokeh", image, "plot").kwargs,
            **hv.Store.lookup_options("bokeh", image, "style").kwargs}[name]


def test_all_panels_that_there_are_data_for():
    ds = field()
    bags, targets = unmatch(ds, 0.5, 1)
    assert list(images(field_panel(ds, predicted(ds), bags=bags, targets=targets))) == [
        "Altitude of D₁", "Pressure, blocks", "Blocks of D₂", "Truth", "Posterior mean",
        "95 % width", "Squared error", "Truth minus mean"]
    assert list(images(field_panel(ds.drop_vars("truth")))) == [
        "Altitude", "Pressure, blocks", "Blocks"]
    named = images(field_panel(ds, predicted(ds), show=["width", "mean"], name="VarCMP", level=0.5))
    assert list(named) == ["VarCMP: 50 % width", "VarCMP: posterior mean"]


def test_grey_of_bags_and_of_targets_are_complements():
    ds = field()
    bags, targets = unmatch(ds, 0.5, 1)
    drawn = images(field_panel(ds, bags=bags, targets=targets, show=OBSERVED))
    seen = np.isfinite(drawn["Altitude of D₁"].dimension_values("value"))
    coarse = np.isfinite(drawn["Blocks of D₂"].dimension_values("value"))
    assert (seen ^ coarse).all() and 0 < seen.mean() < 1
    assert np.isfinite(drawn["Pressure, blocks"].dimension_values("value")).all()
    assert option(drawn["Blocks of D₂"], "clipping_colors") == {"NaN": UNKNOWN}
    outlines = field_panel(ds, bags=bags, show=["covariates"]).traverse(lambda e: e, [hv.Path])
    assert len(outlines) == 1


@pytest.mark.parametrize("flipped", [False, True])
def test_pixels_are_at_their_places(flipped):
    ds = field()
    if flipped:     # the same pixels, counted from the south
        ds = ds.assign_coords(row=ROWS - 1 - ds["row"])
        dx, _, west, _, dy, north = ds.attrs["grid_transform"]
        ds.attrs["grid_transform"] = [dx, 0.0, west, 0.0, -dy, north + ROWS * dy]
    image = images(field_panel(ds, show=["truth"]))["Truth"]
    assert image.bounds.lbrt() == (99.5, 9.5, 117.5, 21.5)
    for k in (0, 7, ds.sizes["individual"] - 1):
        x, y = float(ds["x"][k]), float(ds["y"][k])
        assert image[x, y] == pytest.approx(float(ds["truth"][k]), abs=1e-4)


def test_bags_in_any_order_keep_their_places():
    ds = field()
    bags, _ = unmatch(ds, 0.5, 1)
    turned = bags.isel(individual=slice(None, None, -1))
    one, other = (images(field_panel(ds, bags=b, show=["covariates"]))["Altitude of D₁"].data
                  for b in (bags, turned))
    np.testing.assert_array_equal(one["value"] if isinstance(one, dict) else one,
                                  other["value"] if isinstance(other, dict) else other)


def test_values_of_a_prediction():
    ds = field()
    drawn = images(field_panel(ds, predicted(ds), show=PREDICTED))
    for title, value in (("95 % width", 2 * 1.959964 * 0.25), ("Squared error", 0.25),
                         ("Truth minus mean", -0.5)):
        np.testing.assert_allclose(drawn[title].dimension_values("value"), value, rtol=1e-4)


def test_one_colour_scale_for_the_field_whatever_is_predicted():
    ds = field()
    bags, targets = unmatch(ds, 0.5, 1)
    maps = predicted(ds), predicted(ds, off=-30.0)
    drawn = [images(field_panel(ds, m, bags=bags, targets=targets, show=RECONSTRUCTED))
             for m in maps]
    limits = {option(d[t], "clim") for d in drawn
              for t in ("Truth", "Blocks of D₂", "Posterior mean")}
    assert len(limits) == 1
    scales = field_scales(ds, *maps)
    assert scales["difference"].lower == -scales["difference"].upper
    assert scales["squared error"].lower == 0
    assert scales["altitude"].unit == "m" and scales["field"].unit == "K"
    shared = [images(field_panel(ds, m, show=PREDICTED, scales=scales)) for m in maps]
    for title in shared[0]:
        assert option(shared[0][title], "clim") == option(shared[1][title], "clim")
    assert option(shared[0]["Truth minus mean"], "cmap") == "RdBu_r"


def test_axes_have_names_units_and_the_aspect_of_the_ground():
    for units, names, ratio in (("km", ("x (km)", "y (km)"), COLUMNS / ROWS),
                                ("degree", ("longitude (°)", "latitude (°)"),
                                 COLUMNS / ROWS * np.cos(np.deg2rad(15.5)))):
        ds = field(units)
        first, second = images(field_panel(ds, predicted(ds), show=["truth", "mean"])).values()
        assert (option(first, "xlabel"), option(first, "ylabel")) == names
        assert option(second, "ylabel") == ""       # its neighbour on the left has it
        assert option(first, "frame_width") / option(first, "frame_height") == pytest.approx(
            ratio, abs=0.02)


def test_colour_bars_name_units_and_axes_are_linked():
    ds = field()
    root = hv.render(field_panel(ds, predicted(ds), show=("truth", "squared error")), "bokeh")
    assert sorted(bar.title for bar in root.select({"type": ColorBar})) == ["K", "K²"]
    plots = [p for p in root.select({"type": Plot}) if not isinstance(p, GridPlot)]
    assert len(plots) == 2 and len({p.x_range.id for p in plots}) == 1


def test_pixels_left_out_are_grey():
    ds = field(gap=True)
    image = images(field_panel(ds, show=["truth"]))["Truth"]
    assert np.isnan(image.dimension_values("value")).sum() == 1


def test_what_cannot_be_drawn_is_refused():
    ds = field()
    bags, targets = unmatch(ds, 0.5, 1)
    with pytest.raises(InputError, match="pass maps"):
        field_panel(ds, show=["mean"])
    with pytest.raises(InputError, match="std"):
        field_panel(ds, predicted(ds)[["mean"]], show=["width"])
    with pytest.raises(InputError, match="panel"):
        field_panel(ds, show=["variance"])
    with pytest.raises(InputError, match="no covariate"):
        field_panel(ds, bags=bags.assign_coords(covariate=["other"]), show=["covariates"])
    with pytest.raises(InputError, match="not blocks of the field"):
        field_panel(ds, targets=targets.assign_coords(target=targets["target"].values + "x"),
                    show=["target"])
    with pytest.raises(InputError, match="pixels are not in the field"):
        field_panel(ds.isel(individual=slice(9)), bags=bags, show=["covariates"])
    with pytest.raises(InputError, match="the whole field"):
        field_panel(bags)
    with pytest.raises(InputError, match="not pixels"):
        field_panel(ds.drop_vars("row"), show=["truth"])
    assert set(OBSERVED) | set(RECONSTRUCTED) | set(PREDICTED) == set(SHOWN)
