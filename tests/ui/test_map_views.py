"""The maps: every value at its place, one locked scale, and pushing equals drawing anew."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from workbench.ui import answers
from workbench.ui.state import State
from workbench.ui.views import figures
from workbench.ui.views.maps import Atlas


def scene_of(query):
    state = State()
    assert state.read(query) == []
    return state, answers.scene(state.spec())


@pytest.fixture(scope="module")
def country():
    return scene_of("dataset=simulated-country&granularity=province")


def test_every_pixel_is_at_its_place(country):
    _, scene = country
    atlas = Atlas(scene, ("x", "y"))
    x, y = scene.data["x"].values, scene.data["y"].values
    atlas.push(x, y, np.zeros(x.size))
    data = atlas.fine.source.data
    image, rows, columns = data["mean"][0], *data["mean"][0].shape
    centres_x = data["left"][0] + (np.arange(columns) + 0.5) * data["width"][0] / columns
    centres_y = data["bottom"][0] + (np.arange(rows) + 0.5) * data["height"][0] / rows
    drawn = np.isfinite(image)
    assert drawn.sum() == x.size
    expected = np.broadcast_to(centres_x, image.shape)[drawn] * scene.factor
    np.testing.assert_allclose(image[drawn], expected, rtol=1e-5)
    expected = np.broadcast_to(centres_y[:, None], image.shape)[drawn] * scene.factor
    np.testing.assert_allclose(data["std"][0][drawn], expected, rtol=1e-5)


def test_pixels_cut_by_a_border_average_by_coverage():
    ds = xr.Dataset(
        {"weight": ("individual", [1.0, 1.0, 1.0])},
        coords={"row": ("individual", [0, 0, 1]), "column": ("individual", [0, 0, 1]),
                "coverage": ("individual", [0.25, 0.75, 1.0])},
        attrs={"grid_transform": (1.0, 0, 10.0, 0, -1.0, 50.0), "grid_shape": (2, 2)},
    )
    place = figures.place(ds, "individual", ("x", "y"))
    (image,) = place.column(np.array([4.0, 8.0, 1.0]))
    assert image[1, 0] == pytest.approx(7.0) and image[0, 1] == pytest.approx(1.0)
    assert np.isnan(image[0, 0]) and np.isnan(image[1, 1])
    assert place.source.data["bottom"] == [48.0] and place.source.data["left"] == [10.0]


def test_the_rate_has_one_colour_scale_whatever_happens(country):
    _, scene = country
    atlas = Atlas(scene, ("x", "y"))
    atlas.rescale(replace(scene.rate, lower=1.0, upper=2.0), scene.spread)
    found = {}
    for name, plot in atlas.figures.items():
        found[name] = next(r for r in plot.renderers if r.glyph.__class__.__name__ in
                           ("Image", "MultiPolygons"))
    mappers = {name: getattr(r.glyph, "color_mapper", None) or r.glyph.fill_color.transform
               for name, r in found.items()}
    assert mappers["observed"] is mappers["mean"] is mappers["known"]
    assert (mappers["mean"].low, mappers["mean"].high) == (1.0, 2.0)
    assert (mappers["exceedance"].low, mappers["exceedance"].high) == (0.0, 1.0)


def test_maps_are_linked_with_equal_aspect(country):
    atlas = Atlas(country[1], ("x", "y"))
    plots = list(atlas.figures.values())
    assert len({id(p.x_range) for p in plots}) == len({id(p.y_range) for p in plots}) == 1
    one = plots[0]
    across = (one.x_range.end - one.x_range.start) / one.frame_width
    up = (one.y_range.end - one.y_range.start) / one.frame_height
    assert across == pytest.approx(up, rel=0.01)


def test_colour_bars_carry_units(country):
    atlas = Atlas(country[1], ("x", "y"))
    titles = {name: plot.below[-1].title for name, plot in atlas.figures.items()}
    assert titles["mean"] == titles["known"] == "cases per 1,000 persons"
    assert titles["exceedance"] == "probability"


def test_pushing_equals_drawing_anew(country):
    _, scene = country
    values = [np.random.default_rng(k).uniform(size=scene.data.sizes["individual"])
              for k in range(6)]
    pushed, fresh = Atlas(scene, ("x", "y")), Atlas(scene, ("x", "y"))
    pushed.push(*values[:3])
    pushed.push(*values[3:])
    fresh.push(*values[3:])
    for name in ("mean", "std", "exceedance", "known", "observed"):
        np.testing.assert_array_equal(pushed.fine.source.data[name][0],
                                      fresh.fine.source.data[name][0])


def test_polygons_and_points_take_values_in_order():
    for query, axes in (("dataset=swiss-roll&granularity=10", ("roll_1", "roll_3")),
                        ("dataset=korea&granularity=province", ("x", "y"))):
        _, scene = scene_of(query)
        atlas = Atlas(scene, axes)
        mean = np.arange(scene.data.sizes["individual"], dtype=float)
        atlas.push(mean, mean, mean)
        data = atlas.fine.source.data
        np.testing.assert_allclose(data["mean"], mean * scene.factor, rtol=1e-6)
        assert len(data["name"]) == mean.size
        if "xs" in data:
            west = [min(ring.min() for part in shape for ring in part) for shape in data["xs"]]
            drawn = [g.bounds[0] for g in scene.drawn["individual_geometry"].values]
            np.testing.assert_allclose(west, drawn, rtol=1e-5)


def test_without_a_truth_no_map_pretends_one():
    _, scene = scene_of("dataset=korea&granularity=province")
    atlas = Atlas(replace(scene, known=None), ("x", "y"))
    assert "known" not in atlas.figures and len(atlas.figures) == 4
