import holoviews as hv
import numpy as np
import pytest
import shapely
import xarray as xr
from bokeh.models import ColorBar, GlyphRenderer, HoverTool, MultiPolygons, ScaleBar

from tests.reference import country
from workbench.checks import InputError
from workbench.plots import (
    ColourScale,
    colour_scale,
    disaggregation_panel,
    map_scales,
    observed_rate,
    rate_unit,
    simplified,
    value_map,
)


def squares(ds: xr.Dataset, columns: int = 10) -> xr.Dataset:
    """Give every bag a square with a square hole, and every second one an island."""
    shapes = np.empty(ds.sizes["bag"], dtype=object)
    for k in range(shapes.size):
        x, y = 10.0 * (k % columns), 10.0 * (k // columns)
        square = shapely.box(x, y, x + 10, y + 10) - shapely.box(x + 4, y + 4, x + 6, y + 6)
        island = shapely.box(x + 4.5, y + 4.5, x + 5.5, y + 5.5)
        shapes[k] = shapely.MultiPolygon([square, island]) if k % 2 else square
    return ds.assign_coords(bag_geometry=("bag", shapes))


def raster(rows=4, cols=6, bags=3, north_up=True) -> xr.Dataset:
    """Pixels 1 to rows x cols in reading order; pixel (1, 1) is cut by a border in two parts."""
    row, column = (index.ravel() for index in np.mgrid[:rows, :cols])
    cut = int(np.flatnonzero((row == 1) & (column == 1))[0])
    row, column = np.append(row, row[cut]), np.append(column, column[cut])
    membership = np.append(np.minimum(row[:-1] // 2, bags - 2), bags - 1)
    coverage = np.ones(row.size)
    coverage[cut], coverage[-1] = 0.75, 0.25
    ds = xr.Dataset(
        {
            "covariates": (("individual", "covariate"), np.zeros((row.size, 1))),
            "weight": ("individual", coverage, {"units": "people"}),
            "membership": ("individual", membership),
            "value": ("bag", np.arange(bags) + 1.0, {"units": "cases"}),
        },
        coords={
            "individual": np.arange(row.size),
            "bag": [f"b{k}" for k in range(bags)],
            "row": ("individual", row),
            "column": ("individual", column),
            "coverage": ("individual", coverage),
            "x": ("individual", 100.0 + 5 * (column + 0.5), {"units": "km"}),
        },
        attrs={
            "grid_transform": [5.0, 0.0, 100.0, 0.0, -5.0 if north_up else 5.0, 50.0],
            "grid_shape": [rows, cols],
        },
    )
    return ds


SCALE = colour_scale(np.arange(30.0), label="rate", unit="cases per 1,000 people")


def figures(element):
    root = hv.render(element, backend="bokeh")
    return list(root.select({"type": hv.plotting.bokeh.element.Plot})) or [root]


def bar(figure):
    return next(iter(figure.select({"type": ColorBar})))


@pytest.mark.parametrize("north_up", [True, False])
def test_every_pixel_is_at_its_place(north_up):
    ds = raster(north_up=north_up)
    values = 1.0 + ds["row"] * 6 + ds["column"]
    values[-1] = 0.0  # the other part of pixel (1, 1), a quarter of it
    drawn = value_map(ds, values, SCALE)
    assert isinstance(drawn, hv.Image)
    for row, column in [(0, 0), (0, 5), (3, 0), (2, 4)]:
        y = 50 + (row + 0.5) * (-5 if north_up else 5)
        shown = drawn[100 + 5 * (column + 0.5), y]
        assert shown == 1 + 6 * row + column
    cut = drawn[100 + 5 * 1.5, 50 + 1.5 * (-5 if north_up else 5)]
    assert cut == pytest.approx(0.75 * 8)  # the mean of its parts by coverage
    top = drawn.dimension_values("value", flat=False)[-1]  # HoloViews: last row is the top
    np.testing.assert_array_equal(top, np.arange(1, 7) + (0 if north_up else 18))


def test_empty_pixels_stay_empty():
    ds = raster().isel(individual=slice(2, None))
    drawn = value_map(ds, ds["row"] * 1.0, SCALE)
    assert np.isnan(drawn[102.5, 47.5]) and drawn[112.5, 47.5] == 0


def test_polygons_go_to_bokeh_with_holes_islands_and_names():
    ds = squares(country(bags=20))
    figure = figures(value_map(ds, observed_rate(ds), SCALE, hover={"cases": ds["value"]}))[0]
    renderer = next(r for r in figure.select({"type": GlyphRenderer}))
    assert isinstance(renderer.glyph, MultiPolygons)
    data = renderer.data_source.data
    assert [len(area) for area in data["xs"]] == [1, 2] * 10  # parts
    assert [len(area[0]) for area in data["xs"]] == [2] * 20  # exterior and hole
    np.testing.assert_allclose(np.ptp(data["xs"][0][0][0]), 10)
    np.testing.assert_allclose(data["value"], observed_rate(ds))
    np.testing.assert_array_equal(data["cases"], ds["value"])
    assert data["id"][3] == "b3"


def test_the_fast_polygons_are_those_of_holoviews():
    ds = squares(country(bags=6))
    slow = hv.Polygons(
        [
            {
                "x": shapely.get_coordinates(square.exterior)[:, 0],
                "y": shapely.get_coordinates(square.exterior)[:, 1],
                "holes": [[shapely.get_coordinates(hole) for hole in square.interiors]],
                "value": float(k),
            }
            for k, square in enumerate(ds["bag_geometry"].values[::2])
        ],
        vdims="value",
    )
    even = ds.isel(bag=slice(None, None, 2))
    ours = value_map(even, xr.DataArray(np.arange(3.0), dims="bag"), SCALE)
    theirs, mine = (
        next(iter(f.select({"type": GlyphRenderer}))) for f in figures(slow) + figures(ours)
    )
    assert type(theirs.glyph) is type(mine.glyph)
    for name in ("xs", "ys"):
        for a, b in zip(theirs.data_source.data[name], mine.data_source.data[name], strict=True):
            for ring, other in zip(a[0], b[0], strict=True):
                assert set(np.asarray(ring)) == set(np.asarray(other))
    np.testing.assert_array_equal(theirs.data_source.data["value"], mine.data_source.data["value"])


def test_simplification_keeps_areas_and_drops_detail():
    ds = squares(country(bags=20))
    detailed = [shapely.segmentize(shape, 0.0625) for shape in ds["bag_geometry"].values]
    shapes = np.empty(20, dtype=object)
    shapes[:] = detailed
    simple = simplified(ds.assign_coords(bag_geometry=("bag", shapes)))["bag_geometry"].values
    assert shapely.get_num_coordinates(simple).sum() < shapely.get_num_coordinates(shapes).sum() / 5
    np.testing.assert_allclose(shapely.area(simple), shapely.area(shapes), rtol=1e-6)


def test_panel_locks_colours_of_observed_mean_and_truth():
    ds = squares(country(bags=20))
    mean = ds["truth"] * 3  # far beyond the scale
    maps = xr.Dataset({"mean": mean, "std": 0.1 * mean, "exceedance": mean / mean.max()})
    maps["exceedance"].attrs["threshold"] = 0.5
    panel = disaggregation_panel(ds, maps)
    by_title = {f.title.text: f for f in figures(panel)}
    order = ["Observed areas", "Posterior mean", "Standard deviation", "Exceedance", "True rate"]
    assert set(by_title) == set(order)
    drawn = [by_title[title] for title in order]
    ends = [(bar(f).color_mapper.low, bar(f).color_mapper.high) for f in drawn]
    assert ends[0] == ends[1] == ends[4] != ends[2]
    assert ends[3] == (0, 1)
    titles = [bar(f).title for f in drawn]
    assert titles[:2] == ["cases per house"] * 2 and titles[3] == "P(> 0.5 per house)"
    ranges = {(f.x_range.id, f.y_range.id) for f in drawn}
    assert len(ranges) == 1  # linked axes
    assert map_scales(ds, maps)["rate"] == map_scales(ds, maps * 5)["rate"]


def test_maps_have_equal_aspect_a_scale_bar_and_hover_with_units():
    ds = squares(country(bags=20))
    figure = figures(value_map(ds, observed_rate(ds), SCALE))[0]
    across = figure.x_range.end - figure.x_range.start
    up = figure.y_range.end - figure.y_range.start
    assert figure.frame_width / across == pytest.approx(figure.frame_height / up, rel=0.01)
    assert list(figure.select({"type": ScaleBar}))
    tips = dict(next(iter(figure.select({"type": HoverTool}))).tooltips)
    assert "cases per 1,000 people" in tips["rate"] and tips["bag"] == "@{id}"


def test_degrees_are_labelled_and_shrunk_by_latitude():
    ds = raster()
    ds["x"] = ds["x"].assign_attrs(units="degree")
    ds.attrs["grid_transform"] = [1.0, 0.0, 10.0, 0.0, -1.0, 64.0]
    figure = figures(value_map(ds, ds["row"] * 1.0, SCALE))[0]
    assert figure.xaxis[0].axis_label == "longitude (degree)"
    across = (figure.x_range.end - figure.x_range.start) * np.cos(np.deg2rad(62))
    up = figure.y_range.end - figure.y_range.start
    assert figure.frame_width / across == pytest.approx(figure.frame_height / up, rel=0.02)


def test_points_need_axes_and_say_which_there_are():
    ds = country(bags=5).rename(x="east", y="north")
    with pytest.raises(InputError, match="east, north"):
        value_map(ds, ds["truth"], SCALE)
    drawn = value_map(ds, ds["truth"], SCALE, axes=("east", "north"))
    assert isinstance(drawn, hv.Points) and len(drawn) == ds.sizes["individual"]
    assert figures(drawn)[0].xaxis[0].visible is False  # km: a scale bar instead
    with pytest.raises(InputError, match="bag \\(5\\) or individual"):
        value_map(ds, ds["covariates"], SCALE)


def test_scales_are_named_and_bad_ones_refused():
    ds = country()
    assert rate_unit(ds) == (1.0, "cases per house")
    rare = ds.assign(value=ds["value"].copy(data=ds["value"] / 200))
    assert rate_unit(rare) == (1000.0, "cases per 1,000 houses")
    scale = colour_scale([0.0, 1.0], label="rate", unit="cases", quantiles=(0.0, 1.0), factor=10)
    assert (scale.lower, scale.upper) == (0, 10)
    assert "0 to 10 cases" in scale.caption and scale.title == "rate (cases)"
    even = colour_scale([-3.0, 1.0], label="d", kind="difference", quantiles=(0, 1))
    assert (even.lower, even.upper) == (-3, 3)
    flat = colour_scale([2.0, 2.0], label="flat")
    assert flat.lower < 2 < flat.upper
    with pytest.raises(InputError, match="log=False"):
        colour_scale([0.0, 1.0], label="rate", log=True)
    with pytest.raises(InputError, match="no finite"):
        colour_scale([np.nan], label="rate")


@pytest.mark.parametrize("ends, ticks", [
    ((2.4, 7.1), [3, 4, 5, 6, 7]),
    ((1.9, 26.0), [2, 5, 10, 20]),
    ((0.003, 0.4), [0.005, 0.01, 0.02, 0.05, 0.1, 0.2]),
    ((0.02, 900.0), [0.1, 1, 10, 100]),
])
def test_logarithmic_bars_are_labelled_by_few_round_values(ends, ticks):
    scale = ColourScale("rate", "cases", *ends, log=True)
    assert scale.ticks == pytest.approx(ticks)
    assert "logarithmic colours span" in scale.caption
    assert ColourScale("rate", "cases", *ends).ticks == []
