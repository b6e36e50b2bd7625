import holoviews as hv
import numpy as np
import pytest
import shapely

from tests.plots.test_maps import SCALE, raster, squares
from tests.reference import country
from workbench.checks import InputError
from workbench.plots import marked_areas, observed_rate, pixel_lines, value_map


def steps(path: hv.Path) -> set[frozenset]:
    """Pairs of points that a path with gaps joins."""
    points = np.column_stack([path.dimension_values(k) for k in (0, 1)])
    points = points[~np.isnan(points).any(1)].reshape(-1, 2, 2)
    return {frozenset(map(tuple, pair)) for pair in points}


def at(row: int, column: int) -> tuple[float, float]:
    return 100 + 5 * (column + 0.5), 50 - 5 * (row + 0.5)


def picture():
    ds = raster()
    return ds.assign_coords(y=("individual", 50 - 5 * (ds["row"].values + 0.5)))


def test_lines_join_neighbours_and_no_others():
    ds = picture()
    wanted = [(0, 0), (0, 1), (1, 2), (2, 2), (3, 5)]  # the last one is alone
    chosen = [(int(r), int(c)) in wanted for r, c in zip(ds["row"], ds["column"], strict=True)]
    joined = {frozenset({at(*a), at(*b)}) for a, b in zip(wanted[:3], wanted[1:4], strict=True)}
    assert steps(pixel_lines(ds, chosen)) == joined


@pytest.mark.parametrize("corner", [(0, 1), (1, 0)])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_corner_is_turned_without_its_diagonal(corner, mirrored):
    ds = picture()
    wanted = [(0, 0), (1, 1), corner]
    wanted = [(r, 1 - c if mirrored else c) for r, c in wanted]
    chosen = [(int(r), int(c)) in wanted for r, c in zip(ds["row"], ds["column"], strict=True)]
    ends = [at(*place) for place in wanted]
    assert steps(pixel_lines(ds, chosen)) == {
        frozenset({ends[2], ends[0]}), frozenset({ends[2], ends[1]})
    }  # fmt: skip


def test_marked_areas_share_one_outline_and_have_a_cross_each():
    ds = squares(country(bags=20))
    chosen = np.isin(np.arange(20), [0, 1, 15])
    outline, cross = marked_areas(ds, chosen)
    points = shapely.points(np.column_stack([cross.dimension_values(k) for k in (0, 1)]))
    assert shapely.within(points, ds["bag_geometry"].values[chosen]).all()
    x, y = (outline.dimension_values(k) for k in (0, 1))
    assert not ((x == 10) & (y > 0) & (y < 10)).any()  # between the two neighbours
    assert np.nanmin(x) == 0 and np.nanmax(x) == 60 and np.nanmax(y) == 20
    drawn = value_map(ds, observed_rate(ds), SCALE) * marked_areas(ds, chosen)
    assert hv.render(drawn, backend="bokeh").renderers


def test_nothing_may_be_marked():
    ds = squares(country(bags=20))
    outline, cross = marked_areas(ds, np.zeros(20, dtype=bool))
    assert len(cross) == 0 and outline.dimension_values(0).size == 0
    none = np.zeros(picture().sizes["individual"], dtype=bool)
    assert steps(pixel_lines(picture(), none)) == set()


def test_what_cannot_be_marked_is_said():
    ds = squares(country(bags=20))
    with pytest.raises(InputError, match="20 truth values of bags"):
        marked_areas(ds, [0, 1, 15])
    with pytest.raises(InputError, match="no shapes"):
        marked_areas(ds.drop_vars("bag_geometry"), np.ones(20, dtype=bool))
    with pytest.raises(InputError, match="truth values of pixels"):
        pixel_lines(picture(), [True])
    with pytest.raises(InputError, match="not pixels of a map: no row"):
        pixel_lines(picture().drop_vars("row"), [True])
