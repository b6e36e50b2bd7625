"""Pictures of sources: bands, contraction, experts, posteriors, a city's maps and series."""

import holoviews as hv
import numpy as np
import pytest
import xarray as xr
from bokeh.models import ColorBar

import workbench as wb
from workbench.checks import InputError
from workbench.plots import (
    city_maps,
    city_scale,
    contraction,
    expert_weights,
    full_bayes,
    source_bands,
    station_series,
)
from workbench.plots.sources import model_band

HOURS = {"stations": 4, "hours": 6, "points": 2, "every": 3}


def render(element):
    return hv.render(element, backend="bokeh")


def of_kind(overlay, kind):
    return [e for e in overlay.traverse(lambda e: e) if isinstance(e, kind)]


def flat(ds, mean=1.0, std=0.5):
    """A map of one value."""
    like = xr.ones_like(ds["weight"])
    return xr.Dataset({"mean": mean * like, "std": std * like})


@pytest.fixture(scope="module")
def line():
    return wb.load_sources("dependent-sources", points=30)


@pytest.fixture(scope="module")
def city():
    return wb.load_sources("simulated-city", **HOURS)


# -- along one input ---------------------------------------------------------------------------


def test_every_source_and_the_truth_are_in_every_panel(line):
    target = line["target"].to_dataset()
    drawn = list(source_bands(line, {"one": flat(target), "two": flat(target, 2.0)}))
    assert [render(panel).title.text for panel in drawn] == ["one", "two"]
    legend = render(drawn[1]).legend[0].items
    assert [item.label.value for item in legend] == ["model, 95 %", "truth", "points", "aggregates"]
    for panel in drawn:
        points, = of_kind(panel, hv.Points)
        np.testing.assert_allclose(points.dimension_values("y"),
                                   line["sources/points"]["value"].values)
        bags, = of_kind(panel, hv.Segments)
        ds = line["sources/aggregates"].to_dataset()
        assert len(bags) == ds.sizes["bag"]
        x = ds["covariates"].values[ds["membership"].values == 0, 0]
        assert bags.dimension_values("x").min() == pytest.approx(x.min())
        assert bags.dimension_values("x1").min() == pytest.approx(x.max())


def test_bands_are_central_intervals_in_the_order_of_x():
    x = np.array([2.0, 0.0, 1.0])
    ds = xr.Dataset({"mean": ("individual", [2.0, 0.0, 1.0]), "std": ("individual", np.ones(3))})
    area, = of_kind(model_band(x, ds, 0.9, "m", "red"), hv.Area)
    np.testing.assert_allclose(area.dimension_values("x"), [0, 1, 2])
    np.testing.assert_allclose(area.dimension_values("upper"), np.array([0, 1, 2]) + 1.6448536)


def test_without_truth_held_out_readings_are_drawn(line):
    tree = line.copy(deep=True)
    tree["target"] = tree["target"].to_dataset().drop_vars("truth")
    target = tree["target"].to_dataset()
    panel, = source_bands(tree, {"one": flat(target)})
    held, = (e for e in of_kind(panel, hv.Points) if e.label == "held out")
    np.testing.assert_allclose(held.dimension_values("y"), target["value"].values)
    assert not [e for e in of_kind(panel, hv.Curve) if e.label == "truth"]


def test_a_wild_model_does_not_squeeze_the_observations(line):
    target = line["target"].to_dataset()
    panel, = source_bands(line, {"wild": flat(target, std=1e4)}, xlim=(3, 10))
    figure = render(panel)
    assert figure.y_range.end - figure.y_range.start < 4 * float(np.ptp(target["truth"].values))
    assert (figure.x_range.start, figure.x_range.end) == (3, 10)


def test_what_bands_refuse(line):
    target = line["target"].to_dataset()
    with pytest.raises(InputError, match="covariate"):
        source_bands(line, {"one": flat(target)}, covariate="y")
    with pytest.raises(InputError, match="no model to draw"):
        source_bands(line, {})
    with pytest.raises(InputError, match="map of 'one' is not of the target's 500"):
        source_bands(line, {"one": flat(line["sources/points"].to_dataset())})


def test_contraction_has_a_dot_per_run_and_a_tick_at_the_mean():
    runs = xr.Dataset({"relative_variance": (("model", "run"), [[1.0, 1.2], [0.1, np.nan]]),
                       "coverage": (("model", "run"), [[0.95, 0.93], [0.3, np.nan]])},
                      {"model": ["right", "product"]})
    drawn = list(contraction(runs))
    dots, ticks = of_kind(drawn[0], hv.Points)
    assert len(dots) == 3
    np.testing.assert_allclose(ticks.dimension_values("value"), [0.1, 1.1])
    labels = render(drawn[0]).yaxis[0].major_label_overrides
    assert labels == {0: "product", 1: "right"}
    with pytest.raises(InputError, match="no 'coverage'"):
        contraction(runs.drop_vars("coverage"))


def test_weights_are_stacked_to_one():
    rng = np.random.default_rng(0)
    x, shares = rng.permutation(8).astype(float), rng.dirichlet([1, 1, 1], 8).T
    weights = xr.DataArray(shares, dims=("expert", "individual"),
                           coords={"expert": ["a", "b", "c"], "x": ("individual", x)})
    areas = of_kind(expert_weights(weights), hv.Area)
    assert [a.label for a in areas] == ["a", "b", "c"]
    np.testing.assert_allclose(areas[-1].dimension_values("upper"), 1)
    np.testing.assert_allclose(areas[1].dimension_values("y"), shares[0, np.argsort(x)])
    with pytest.raises(InputError, match="coordinate 'time'"):
        expert_weights(weights, along="time")


def test_full_bayes_draws_every_likelihood_beside_the_true_one():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(3, 10))
    ds = xr.Dataset(
        {"mean": (("likelihood", "individual"), mean),
         "low": (("likelihood", "individual"), mean - 1),
         "high": (("likelihood", "individual"), mean + 1),
         "truth": ("individual", np.zeros(10)), "points": ("individual", np.ones(10)),
         "point_noise": (("likelihood", "draw"), rng.uniform(0.5, 1, (3, 100)))},
        coords={"likelihood": ["dependent", "product", "lyddon"],
                "x": ("individual", np.arange(10.0))})
    drawn = list(full_bayes(ds))
    assert len(drawn) == 3
    assert render(drawn[0]).title.text == "f: product and dependent"
    means = [c.dimension_values("y") for c in of_kind(drawn[1], hv.Curve) if c.label]
    np.testing.assert_allclose(means, mean[[0, 2]])
    steps = of_kind(drawn[2], hv.Curve)
    assert [s.label for s in steps] == ["dependent", "product", "lyddon"]
    for step in steps:      # all but the half per cent beyond the axis
        assert step.dimension_values("share")[1:-1:2].sum() == pytest.approx(1, abs=0.02)
    with pytest.raises(InputError, match="likelihood"):
        full_bayes(ds, true="exact")


# -- a city ------------------------------------------------------------------------------------


def test_maps_share_one_scale_and_lie_as_the_grid_does(city):
    grid = wb.city_map(city, 5.0, 3.5)
    model = flat(grid, 7.0)
    sources = {n: c.to_dataset() for n, c in city["sources"].children.items()}
    scale = city_scale(grid)
    drawn = list(city_maps(grid, {"flat": model}, outlines=wb.city_outlines(city), **sources,
                           scale=scale))
    figures = [render(panel) for panel in drawn]
    assert [f.title.text for f in figures] == ["truth", "satellite at 04:00", "flat"]
    truth, = of_kind(drawn[0], hv.Image)
    rows, columns = grid.attrs["grid_shape"]
    np.testing.assert_allclose(truth.dimension_values("value", flat=False)[::-1],
                               grid["truth"].values.reshape(rows, columns))
    assert truth[float(grid["x"][0]), float(grid["y"][0])] == pytest.approx(
        float(grid["truth"][0]))
    cells, = of_kind(drawn[1], hv.Rectangles)
    assert len(cells) == 30
    places, = of_kind(drawn[1], hv.Points)
    assert len(places) == 4
    assert [len(list(f.select({"type": ColorBar}))) for f in figures] == [0, 0, 1]
    for figure, kind in ((figures[0], "image"), (figures[2], "image")):
        mapper = next(r.glyph.color_mapper for r in figure.renderers
                      if type(r.glyph).__name__.lower() == kind)
        assert (mapper.low, mapper.high) == pytest.approx((scale.lower, scale.upper))


def test_the_last_overpass_is_shown_and_none_before_the_first(city):
    satellite = city["sources/satellite"].to_dataset()
    first = np.unique(satellite["membership"].values, return_index=True)[1]
    when = satellite["covariates"].sel(covariate="time").values[first]
    grid = wb.city_map(city, float(when.max()) + 0.5, 7.0)
    cells = of_kind(list(city_maps(grid, {}, satellite=satellite))[1], hv.Rectangles)[0]
    np.testing.assert_allclose(np.sort(cells.dimension_values("value")),
                               np.sort(satellite["value"].values[when == when.max()]))
    with pytest.raises(InputError, match="no overpass until hour 0"):
        city_maps(wb.city_map(city, 0.0, 7.0), {}, satellite=satellite)


def test_series_show_what_was_learnt_from_and_what_was_held_out(city):
    target = city["target"].to_dataset()
    names = sorted(set(target["station"].values.tolist()))[:2]
    drawn = list(station_series(city, {"flat": flat(target)}, names))
    for name, panel in zip(names, drawn, strict=True):
        assert render(panel).title.text.startswith(f"{name}, ")
        points = {e.label: e for e in of_kind(panel, hv.Points)}
        train = city["sources/stations"].to_dataset()
        assert len(points["learnt from"]) == int((train["station"].values == name).sum())
        np.testing.assert_allclose(points["held out"].dimension_values("y"),
                                   target["value"].values[target["station"].values == name])
    with pytest.raises(InputError, match="station"):
        station_series(city, {"flat": flat(target)}, ["nowhere"])
    with pytest.raises(InputError, match="name one station"):
        station_series(city, {"flat": flat(target)}, [])


def test_what_maps_refuse(city):
    grid = wb.city_map(city, 5.0, 7.0)
    with pytest.raises(InputError, match="no map of a made city"):
        city_maps(city["target"].to_dataset(), {})
    with pytest.raises(InputError, match="not of the grid's"):
        city_maps(grid, {"flat": flat(wb.city_map(city, 5.0, 3.5))})
