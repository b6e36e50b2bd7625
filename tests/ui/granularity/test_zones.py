"""Shapes of cells on a map, and draws that move."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from workbench.ui.granularity import worlds
from workbench.ui.granularity.background import equal_cells
from workbench.ui.granularity.draws import NUMBER, Draws, draws, gaussian
from workbench.ui.granularity.engine import Bench, Model
from workbench.ui.granularity.zones import SHAPES, number


@pytest.fixture(scope="module")
def world():
    return worlds.synthetic_map("both", "normal")


def area(east, north):
    return abs(east @ np.roll(north, 1) - north @ np.roll(east, 1)) / 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("side", [0.4, 1.6, 2.5, 5.0])
def test_cells_of_any_shape_hold_all_points_within_the_map(world, shape, side):
    cells = equal_cells(world, side, shape)
    assert cells.counts.sum() == world.values.size
    assert cells.means @ cells.counts == pytest.approx(world.values.sum())
    inside = cells.assignment
    assert (world.points >= cells.left[inside] - 1e-9).all()
    assert (world.points <= cells.right[inside] + 1e-9).all()
    low, high = np.array(world.bounds[:2]), np.array(world.bounds[2:])
    assert (cells.left >= low - 1e-9).all() and (cells.right <= high + 1e-9).all()
    assert (cells.places >= cells.left).all() and (cells.places <= cells.right).all()
    assert cells.size <= np.prod(number(world.bounds, side))
    xs, ys = cells.outlines
    assert len(xs) == len(ys) == cells.size
    for k in range(0, cells.size, 7):
        assert cells.left[k] == pytest.approx([xs[k].min(), ys[k].min()])
        assert cells.right[k] == pytest.approx([xs[k].max(), ys[k].max()])


@pytest.mark.parametrize("shape", SHAPES)
def test_as_many_cells_of_every_shape_cover_the_map(world, shape):
    cells = equal_cells(world, 2.5, shape)              # none without points
    assert cells.size == 16
    assert sum(map(area, *cells.outlines)) == pytest.approx(100, rel=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cell_reports_from_its_centroid(world, shape):
    ends = (np.arange(400) + 0.5) / 40
    dense = np.column_stack([part.ravel() for part in np.meshgrid(ends, ends)])
    cells = SHAPES[shape](dense, np.zeros(len(dense)), world.bounds, 2.5)
    means = np.column_stack([np.bincount(cells.assignment, weights=one) / cells.counts
                             for one in dense.T])
    np.testing.assert_allclose(cells.places, means, atol=0.02)


def test_the_shape_of_cells_changes_what_is_lost(world):
    bench, model = Bench(world), Model(lengthscale=1.0)
    errors = {shape: bench.error(equal_cells(world, 1.6, shape), model) for shape in SHAPES}
    assert errors["strips"] > 1.3 * errors["squares"]
    assert errors["voronoi"] != pytest.approx(errors["squares"], rel=1e-3)


def test_vectors_have_the_covariance_even_where_it_is_singular():
    x = np.linspace(0, 1, 12)[:, None]
    covariance = np.exp(-0.5 * cdist(x, x) ** 2)        # of few dimensions, to rounding
    found = gaussian(covariance.copy(), 40_000, seed=1)
    assert np.linalg.matrix_rank(covariance) < 12
    assert np.abs(found.T @ found / len(found) - covariance).max() < 0.03


def test_draws_on_their_way_have_the_posteriors_mean_and_spread(world):
    bench, model = Bench(world), Model(lengthscale=1.0)
    cells = equal_cells(world, 1.6)
    found = draws(bench, cells, model)
    posterior = bench.answer(cells, model, whole=True).summary
    np.testing.assert_allclose(found.mean, posterior.mean, atol=1e-9)
    assert len(found.departures) == NUMBER
    # Half way between two draws is as far from the mean as they are, and no jump leads there.
    turns = np.arange(0, NUMBER, 0.25)
    scaled = np.array([(found.at(turn) - found.mean) / posterior.sd for turn in turns])
    assert (scaled**2).mean() == pytest.approx(1, abs=0.2)
    assert np.abs((scaled**2).mean(1) - 1).max() < 0.6
    steps = [np.abs(found.at(t) - found.at(t + 0.01)).max() for t in np.arange(0.97, 3, 0.5)]
    assert max(steps) < 0.15
    np.testing.assert_allclose(found.at(NUMBER), found.at(0), atol=1e-12)


def test_a_turn_keeps_variances():
    """Cosine and sine of one angle weight two independent draws: variances stay one."""
    many = np.random.default_rng(2).standard_normal((2, 200_000))
    drawn = Draws(np.zeros(200_000), many)
    assert np.var(drawn.at(0.37)) == pytest.approx(1, abs=0.02)
    assert np.var(drawn.at(1.5)) == pytest.approx(1, abs=0.02)
