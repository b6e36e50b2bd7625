"""Pictures of sources: bands, contraction, experts, posteriors, a city's maps and series."""

import holoviews as hv
import numpy as np
import pytest
import xarray as xr
from bokeh.models import ColorBar

import workbench as wb
from workbench.checks import InputError
from workbench.papers.hamelijnck2019.plots import contraction, full_bayes
from workbench.plots import (
    city_maps,
    city_scale,
    expert_weights,
    source_bands,
    station_series,
)
from workbench.plots.cycle import DASHES, Look, looks
from workbench.plots.sources import model_band
from workbench.plots.theme import axis

HOURS = {"stations": 4, "hours": 6, "points": 2, "every": 3}


def render(element):
    return hv.render(element, backend="bokeh")


def of_kind(overlay, kind):
    return [e for e in overlay.traverse(lambda e: e) if isinstance(e, kind)]


def flat(ds, mean=1.0, std=0.5):
    """A map of one value."""
    like = xr.ones_like(ds["weight"])
    return xr.Dataset({"mean": mean * like, "std": std * like})


def legend(figure):
    """Label of every entry, and how it is drawn."""
    assert figure.frame_height >= 23 * len(figure.legend[0].items)     # none is cut off
    found = {}
    for item in figure.legend[0].items:
        glyph = item.renderers[0].glyph
        found[item.label.value] = tuple(str(getattr(glyph, name, "")) for name in (
            "line_color", "fill_color", "line_dash", "marker", "fill_alpha", "hatch_pattern"))
    return found


def all_differ(found):
    return len(set(found.values())) == len(found)


def tree_of(target, **sources):
    return xr.DataTree.from_dict({f"/sources/{n}": ds for n, ds in sources.items()}
                                 | {"/target": target})


def of_units(ds, units, **attrs):
    return ds.assign(value=ds["value"].assign_attrs(units=units, **attrs))


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
    area, = of_kind(model_band(x, ds, 0.9, "m", Look("red")), hv.Area)
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
    good = flat(target)
    for level in (95, 0, 1, -0.5, np.nan):
        with pytest.raises(InputError, match="level must be between 0 and 1, such as 0.95, got"):
            source_bands(line, {"one": good}, level=level)
    with pytest.raises(InputError, match="nothing lies inside xlim 50 to 60; the data span -2 to"):
        source_bands(line, {"one": good}, xlim=(50, 60))
    with pytest.raises(InputError, match="a lower and an upper end"):
        source_bands(line, {"one": good}, xlim=(10, 3))
    for maps in (good, {"one": good.drop_vars("std")}, {"one": good["mean"]}):
        with pytest.raises(InputError, match="maps by model, got Dataset|with mean and std"):
            source_bands(line, maps)


def test_no_source_is_left_out_and_no_two_look_alike(line):
    points, bags = (line[f"sources/{n}"].to_dataset() for n in ("points", "aggregates"))
    goal = line["target"].to_dataset()
    for part, kind in ((points, hv.Points), (bags, hv.Segments)):
        tree = tree_of(goal, **{f"s{k}": part.assign(value=part["value"] + k) for k in range(8)})
        panel, = source_bands(tree, {"one": flat(goal)})
        drawn = {e.label: e.dimension_values("y") for e in of_kind(panel, kind)}
        assert list(drawn) == [f"s{k}" for k in range(8)]
        for k in range(8):
            np.testing.assert_allclose(drawn[f"s{k}"], part["value"].values + k)
        found = legend(render(panel))
        assert list(found) == ["model, 95 %", "truth", *drawn] and all_differ(found)
    many = tree_of(goal, **{f"s{k}": points for k in range(21)})
    with pytest.raises(InputError, match="21 series cannot be distinguished .*, 20 can"):
        source_bands(many, {"one": flat(goal)})


def test_looks_use_all_colours_before_another_dash():
    found = list(looks("abcdefgh", ["red", "blue", "green"]).values())
    assert [look.colour for look in found] == ["red", "blue", "green"] * 2 + ["red", "blue"]
    assert [look.dash for look in found] == [DASHES[0]] * 3 + [DASHES[1]] * 3 + [DASHES[2]] * 2
    assert len({str(look.mark()) for look in found}) == len({str(look.area()) for look in found}) \
        == 8


@pytest.fixture(scope="module")
def pollutants(line):
    """Coarse PM10 of large values and fine PM2.5, of which the target is."""
    part = {n: line[f"sources/{n}"].to_dataset() for n in ("points", "aggregates")}
    ug = {"units": "ug/m3"}
    coarse = part["aggregates"].assign(value=(100 + part["aggregates"]["value"]).assign_attrs(
        part["aggregates"]["value"].attrs | ug | {"task": "pm10", "long_name": "PM10"}))
    fine = of_units(part["points"], "ug/m3", task="pm25", long_name="PM2.5")
    goal = of_units(line["target"].to_dataset(), "ug/m3", task="pm25", long_name="PM2.5")
    return tree_of(goal, pm10=coarse, pm25=fine)


def test_sources_of_another_task_have_a_picture_of_their_own(pollutants):
    goal = pollutants["target"].to_dataset()
    panel, = source_bands(pollutants, {"one": flat(goal)})
    figure = render(panel)
    first = legend(figure)
    assert list(first) == ["model, 95 %", "truth", "pm25"]
    assert figure.yaxis[0].axis_label == "PM2.5 (ug/m3)" and figure.y_range.end < 20
    panel, = source_bands(pollutants, {"one": flat(goal, 102.0)}, task="pm10")
    figure = render(panel)
    assert list(legend(figure)) == ["model, 95 %", "pm10"]      # the truth is of PM2.5
    assert figure.yaxis[0].axis_label == "PM10 (ug/m3)" and figure.y_range.start > 80
    assert legend(figure)["pm10"][0] != first["pm25"][0]
    with pytest.raises(InputError, match="task 'pm1' is unknown; did you mean 'pm10'"):
        source_bands(pollutants, {"one": flat(goal)}, task="pm1")
    with pytest.raises(InputError, match="map of 'one' is of task 'pm10', the picture of 'pm25'; "
                                         "pass task='pm10'"):
        source_bands(pollutants, {"one": flat(goal).assign_attrs(task="pm10")})


def test_values_of_several_tasks_are_drawn_by_task(line):
    points, goal = line["sources/points"].to_dataset(), line["target"].to_dataset()
    both = xr.concat([points["value"], points["value"] + 50], "task").transpose("bag", "task")
    both[3, 1] = np.nan
    ds = points.assign(value=both.assign_attrs(points["value"].attrs)).assign_coords(
        task=["y", "z"])
    tree = tree_of(goal, both=ds, bags=line["sources/aggregates"].to_dataset())
    panel, = source_bands(tree, {"one": flat(goal)})
    shown, = of_kind(panel, hv.Points)
    np.testing.assert_allclose(shown.dimension_values("y"), points["value"].values)
    panel, = source_bands(tree, {"one": flat(goal)}, task="z")
    shown, = of_kind(panel, hv.Points)
    np.testing.assert_allclose(shown.dimension_values("y"),
                               np.delete(points["value"].values, 3) + 50)
    assert not of_kind(panel, hv.Segments)
    assert np.isfinite([render(panel).y_range.start, render(panel).y_range.end]).all()
    nameless = goal.assign(value=goal["value"].drop_attrs())        # is of the first task
    panel, = source_bands(tree_of(nameless, both=ds), {"one": flat(goal)})
    assert list(legend(render(panel))) == ["model, 95 %", "truth", "both"]
    with pytest.raises(InputError, match="dimension 'task' without names"):
        source_bands(tree_of(goal, both=ds.drop_vars("task")), {"one": flat(goal)})
    lost = points.assign(value=points["value"].where(points["value"] < 5))
    with pytest.raises(InputError, match=r"'a' has \d+ values that are not finite"):
        source_bands(tree_of(goal, a=lost), {"one": flat(goal)})


def test_a_target_of_several_tasks_shows_what_was_held_out_of_each(line):
    points, goal = line["sources/points"].to_dataset(), line["target"].to_dataset()
    both = xr.concat([goal["value"], goal["value"] + 50], "task").transpose("bag", "task")
    goal = goal.assign(value=both).assign_coords(task=["y", "z"])
    other = points.assign(value=points["value"].assign_attrs(task="z"))
    panel, = source_bands(tree_of(goal, a=points, b=other), {"one": flat(goal)}, task="z")
    held, _ = of_kind(panel, hv.Points)
    assert held.label == "held out" and not [e for e in of_kind(panel, hv.Curve)
                                             if e.label == "truth"]
    np.testing.assert_allclose(held.dimension_values("y"), both.values[:, 1])


def test_units_of_labels_are_whole_and_those_of_plain_numbers_left_out(line):
    goal = line["target"].to_dataset()
    for units, label in (("m s-1", "y (m s-1)"), ("10 ug/m3", "y (10 ug/m3)"), ("1", "y")):
        tree = tree_of(of_units(goal, units), points=of_units(
            line["sources/points"].to_dataset(), units))
        panel, = source_bands(tree, {"one": flat(goal)})
        assert render(panel).yaxis[0].axis_label == label == axis("y", units)
        assert render(panel).xaxis[0].axis_label == "x"


def test_datasets_by_name_are_drawn_as_a_tree_is(line):
    goal = line["target"].to_dataset()
    named = {n: c.to_dataset() for n, c in line["sources"].children.items()} | {"target": goal}
    one, = source_bands(line, {"one": flat(goal)})
    other, = source_bands(named, {"one": flat(goal)})
    for a, b in zip(of_kind(one, hv.Element), of_kind(other, hv.Element), strict=True):
        assert a.label == b.label and type(a) is type(b)
        np.testing.assert_array_equal(a.dimension_values(1), b.dimension_values(1))
    for bad, message in ((goal, "expected a DataTree of sources, or Datasets by name, got Dataset"),
                         ([goal], "got list"), ({"target": goal}, "expected sources and a target"),
                         ({"a": goal}, "expected sources and a target, got a"),
                         (xr.DataTree(), "got nothing"), ({"a": 1, "target": goal}, "'a' to be a"),
                         ({"a": goal.drop_vars("value"), "target": goal}, "'a' has no 'value'"),
                         (named | {"b": goal.assign_coords(covariate=["z"])},
                          "covariate of 'b' 'x' is unknown")):
        with pytest.raises(InputError, match=message):
            source_bands(bad, {"one": flat(goal)})


def test_a_part_without_places_of_the_target_can_be_drawn(line):
    far = line["target"].to_dataset().isel(individual=slice(0, 50), bag=slice(0, 50))
    tree = tree_of(far, **{n: c.to_dataset() for n, c in line["sources"].children.items()})
    panel, = source_bands(tree, {"one": flat(far)}, xlim=(5, 10))   # the target ends at -0.3
    figure = render(panel)
    assert (figure.x_range.start, figure.x_range.end) == (5, 10)
    assert np.isfinite([figure.y_range.start, figure.y_range.end]).all()


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
    with pytest.raises(InputError, match="weights of 8 individuals do not add up to one"):
        expert_weights(weights.isel(expert=[0, 1]))


def test_eight_experts_are_stacked_to_one_and_look_different():
    shares = np.random.default_rng(0).dirichlet(np.ones(8), 20).T
    weights = xr.DataArray(shares, dims=("expert", "individual"), coords={
        "expert": [f"e{k}" for k in range(8)], "x": ("individual", np.linspace(0, 1, 20))})
    drawn = expert_weights(weights)
    areas = of_kind(drawn, hv.Area)
    np.testing.assert_allclose(areas[-1].dimension_values("upper"), 1)
    found = legend(render(drawn))
    assert list(found) == [f"e{k}" for k in range(8)] and all_differ(found)


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
    names = ["dependent", *(f"l{k}" for k in range(8))]
    many = ds.isel(likelihood=[0, *[1] * 8]).assign_coords(likelihood=names)
    drawn = list(full_bayes(many))
    assert len(drawn) == 9
    found = legend(render(drawn[-1]))
    assert list(found) == names and all_differ(found)


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


def test_series_of_eight_models_show_them_all(city):
    target = city["target"].to_dataset()
    maps = {f"m{k}": flat(target, float(k)) for k in range(8)}
    panel, = station_series(city, maps, str(target["station"].values[0]))   # one by its name
    found = legend(render(panel))
    assert list(found) == [*maps, "truth", "learnt from", "held out"]
    assert all_differ({name: found[name] for name in maps})
    means = {e.label: e.dimension_values("y") for e in of_kind(panel, hv.Curve)}
    for k in range(8):
        np.testing.assert_allclose(means[f"m{k}"], k)


def test_what_series_refuse(city, line):
    target = city["target"].to_dataset()
    good, name = {"flat": flat(target)}, [str(target["station"].values[0])]
    with pytest.raises(InputError, match="map of 'flat' is not of the target's 24 individuals but "
                                         "of 20"):
        station_series(city, {"flat": flat(target.isel(individual=slice(0, 20)))}, name)
    with pytest.raises(InputError, match="level must be between 0 and 1"):
        station_series(city, good, name, level=95)
    with pytest.raises(InputError, match="source 'station' is unknown; did you mean 'stations'"):
        station_series(city, good, name, source="station")
    with pytest.raises(InputError, match="the source 'satellite' has no 'station'"):
        station_series(city, good, name, source="satellite")
    with pytest.raises(InputError, match="source 'points' has no 'station'; series are of"):
        station_series(line, {"flat": flat(line["target"].to_dataset())}, ["S1"], source="points")
    untimed = city.copy()
    for path in ("sources/stations", "target"):
        ds = city[path].to_dataset()
        untimed[path] = ds.isel(covariate=slice(1, None))
    with pytest.raises(InputError, match="covariate of a dataset of a city 'time' is unknown"):
        station_series(untimed, good, name)


def test_what_maps_refuse(city):
    grid = wb.city_map(city, 5.0, 7.0)
    with pytest.raises(InputError, match="not a map of a simulated city"):
        city_maps(city["target"].to_dataset(), {})
    with pytest.raises(InputError, match="not of the grid's"):
        city_maps(grid, {"flat": flat(wb.city_map(city, 5.0, 3.5))})
    stations, satellite = (city[f"sources/{n}"].to_dataset() for n in ("stations", "satellite"))
    for given, message in (({"stations": satellite}, "stations=... has no 'station'"),
                           ({"satellite": stations}, "satellite=... has no 'cell_x'"),
                           ({"outlines": stations}, "outlines=... has no 'road'")):
        with pytest.raises(InputError, match=message):
            city_maps(grid, {}, **given)
