"""Posteriors of the app "granularity" are the package's; cells, the plane, what intervals cover."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from workbench.gp.data.bags import Bags
from workbench.gp.models.summaries.model import QuasiLikelihoodGP
from workbench.ui.base.bands import LEVELS
from workbench.ui.granularity import cells as cutting
from workbench.ui.granularity import learning, story, worlds
from workbench.ui.granularity.background import equal_cells
from workbench.ui.granularity.engine import Bench, Model
from workbench.ui.granularity.plane import Plane, contour
from workbench.ui.granularity.state import KERNELS


@pytest.fixture(scope="module")
def world():
    return worlds.synthetic_map("both", "normal")


@pytest.mark.parametrize("kernel", KERNELS.values())
@pytest.mark.parametrize("likelihood", ["normal", "poisson"])
def test_the_posterior_is_that_of_the_packages_model(kernel, likelihood):
    world = worlds.synthetic_map("both", likelihood)
    cells, model = equal_cells(world, 1.25), Model(kernel, 1.3, 0.8, 0.4, likelihood)
    found, cross = Bench(world).summary(cells, model)
    source = learning.source_of(cells)
    source = replace(source, targets=replace(source.targets, sample_variance=None))
    given = {"mean": world.constant, f"{kernel}.variance": 0.8, f"{kernel}.lengthscale": 1.3}
    given |= {"noise.variance": 0.16} if likelihood == "normal" else {}
    fit = QuasiLikelihoodGP(kernel=kernel, likelihood=likelihood, nugget=0.0, boundary="half"
                            ).condition(source, given)
    places = torch.as_tensor(world.places[:300])
    there = Bags(places, torch.arange(300), torch.ones(300, dtype=places.dtype), 300,
                 source.bags.columns)
    expected = fit.latent(there)
    # Its distances are differences of squares: where places nearly meet, Matérn 1/2 loses digits.
    near = {"rtol": 0, "atol": 1e-6 if kernel == "matern12" else 1e-8}
    np.testing.assert_allclose(world.constant + found.mean(cross)[:300], expected.mean, **near)
    np.testing.assert_allclose(found.std(cross, 0.8)[:300], expected.std, **near)
    assert found.evidence == pytest.approx(fit.state.evidence().item(), abs=1e-4)


@pytest.mark.parametrize("likelihood", ["normal", "poisson"])
def test_learning_never_ends_at_a_worse_evidence(likelihood):
    world = worlds.synthetic_map("both", likelihood)
    cells, steps = equal_cells(world, 1.0), []
    start = Model("rbf", 3.0, 0.3, 1.0, likelihood)
    found, evidence = learning.learn(cells, start, world.constant, world.extent,
                                     lambda step, value, share: steps.append(step))
    assert steps and 0.4 < found["lengthscale"] < 2
    assert ("noise" in found) == (likelihood == "normal")
    if likelihood == "normal":
        assert 0.2 < found["noise"] < 0.6
    else:       # there the evidence is that of the summaries alone
        both = start, replace(start, **found)
        posteriors = [Bench(world).summary(cells, one)[0] for one in both]
        assert evidence == pytest.approx(posteriors[1].evidence, abs=1e-6)
        assert evidence > posteriors[0].evidence


def test_variances_of_the_statistics():
    counts = np.array([1.0, 4.0, 25.0])
    np.testing.assert_allclose(Model(noise=0.5).errors(np.zeros(3), counts), 0.25 / counts)
    means = np.array([2.0, 0.5, 3.0])
    found = Model(likelihood="poisson").errors(np.log(means), counts)
    np.testing.assert_allclose(found, 1 / (counts * means))


def test_summaries_at_the_points_of_one_point_each_are_complete_data():
    world = worlds.line("two", 200, 0.3)
    half = (world.points[1, 0] - world.points[0, 0]) / 2
    edges = np.concatenate([world.points[:, 0] - half, world.points[-1] + half])
    cells = cutting.intervals(world.points, world.values, edges)
    np.testing.assert_array_equal(cells.counts, 1)
    assert Bench(world).error(cells, Model(lengthscale=0.5)) < 1e-8


def test_complete_counts_are_conditioned_on_while_nobody_drags():
    world = worlds.synthetic_map("smooth", "poisson")
    bench, model = Bench(world), Model("rbf", 1.5, 1.0, likelihood="poisson")
    assert bench.answer(equal_cells(world, 1.0), model).complete is None
    assert bench.answer(equal_cells(world, 1.0), model, whole=True).whole


def test_cells_can_be_moved_merged_split_and_written():
    edges = cutting.equal(worlds.END, 4)
    assert cutting.read(cutting.written(edges), worlds.END) == pytest.approx(edges, abs=1e-3)
    assert cutting.moved(edges, 1, 99)[1] == pytest.approx(edges[2] - cutting.GAP)
    assert cutting.merged(edges, 3).tolist() == edges[[0, 1, 2, 4]].tolist()
    assert cutting.merged(edges, 0).tolist() == edges[[0, 2, 3, 4]].tolist()
    halved = cutting.split(edges, 1)
    assert halved.size == 6 and halved[2] == pytest.approx((edges[1] + edges[2]) / 2)
    for text in ("2_1", "a", "7", "1_1.001", "nan"):
        assert cutting.read(text, worlds.END) is None


def test_every_point_is_in_its_cell(world):
    for side in (0.2, 0.64, 2.0, 5.0):
        cells = equal_cells(world, side)
        inside = cells.assignment
        assert (world.points >= cells.left[inside] - 1e-9).all()
        assert (world.points <= cells.right[inside] + 1e-9).all()
        assert cells.counts.sum() == world.values.size
        assert cells.means @ cells.counts == pytest.approx(world.values.sum())


def test_finer_cells_and_longer_lengthscales_lose_less(world):
    bench = Bench(world)
    errors = [bench.error(equal_cells(world, side), Model()) for side in (3.2, 1.6, 0.8, 0.4)]
    assert errors == sorted(errors, reverse=True)
    errors = [bench.error(equal_cells(world, 0.8), Model(lengthscale=s)) for s in (0.5, 1, 2, 4)]
    assert errors == sorted(errors, reverse=True)


def test_intervals_of_a_right_model_hold_what_they_claim():
    """Truth drawn from the model itself; shrunk intervals must not pass."""
    plain, model = worlds.line("sine", 60, 0.3), Model(lengthscale=0.7, noise=0.3)
    places = np.vstack([plain.points, plain.places])
    prior = model.covariance(cdist(places, places)) + 1e-8 * np.eye(len(places))
    root, rng, held, doubting = np.linalg.cholesky(prior), np.random.default_rng(5), [], []
    for _ in range(60):
        f = root @ rng.standard_normal(len(places))
        world = replace(plain, values=f[:60] + 0.3 * rng.standard_normal(60), truth=f[60:])
        cells = equal_cells(world, worlds.END / 60)
        held.append(Bench(world).answer(cells, model, whole=True).coverage)
        doubting.append(Bench(world).answer(cells, replace(model, noise=0.1),
                                            whole=True).coverage)
    assert np.abs(np.mean(held, axis=0) - LEVELS).max() < 0.06
    assert (np.mean(doubting, axis=0) - LEVELS).min() < -0.3


def test_posteriors_are_counted_and_those_of_complete_data_kept(world):
    bench, model = Bench(world), Model("rbf", 1.0, 0.5, 0.3)
    assert bench.answer(equal_cells(world, 0.2), model).whole
    assert bench.evaluations == 2
    bench.answer(equal_cells(world, 1.0), model)
    assert bench.evaluations == 3                       # complete data are not conditioned again


def test_a_rough_error_is_near_the_error_and_on_a_line_the_same(world):
    for place, cells in ((world, equal_cells(world, 1.6)), (world, equal_cells(world, 0.4)),
                         (worlds.line("two", 200, 0.3), None)):
        cells = equal_cells(place, worlds.END / 12) if cells is None else cells
        for length in (0.4, 1.0, 2.5):
            model = Model(lengthscale=length)
            rough = Bench(place).error(cells, model, rough=True)
            assert rough == pytest.approx(Bench(place).error(cells, model),
                                          rel=0.08 if place is world else 1e-12)


def test_the_plane_is_exact_where_one_looks_and_interpolated_elsewhere():
    sizes, lengths = np.geomspace(0.1, 3, 13), np.geomspace(0.05, 10, 16)
    plane, calls = Plane(sizes, lengths, (4, 4)), []

    def error(row, column):
        calls.append((row, column))
        return (sizes[column] / lengths[row]) ** 2

    assert not plane.ready
    assert len(list(plane.fill(error))) == plane.columns.size and plane.ready
    assert len(calls) == plane.rows.size * plane.columns.size
    truth = (sizes / lengths[:, None]) ** 2             # a power law: straight on log axes
    np.testing.assert_allclose(plane.filled(), truth, rtol=1e-9)
    assert [column for _, column in calls] == sorted((c for _, c in calls), reverse=True)
    near = plane.around(0.5, 1.0)
    list(plane.fill(error, near))
    assert set(near) <= set(calls) and len(calls) == len(set(calls))
    x, y = contour(sizes, lengths, plane.filled(), 0.04)
    np.testing.assert_allclose((x / y)[np.isfinite(x)], 0.2, rtol=1e-6)


def test_the_plane_is_finer_where_errors_cross_the_tolerances():
    sizes, lengths = np.geomspace(0.1, 3, 13), np.geomspace(0.05, 10, 17)
    truth = 1 / (1 + (lengths[:, None] / sizes) ** 2)       # bends, so that finer is nearer
    plane, calls = Plane(sizes, lengths, (4, 4)), []

    def error(row, column):
        calls.append((row, column))
        return truth[row, column]

    list(plane.fill(error))
    coarse, rough = set(calls), plane.filled()
    list(plane.fill(error, plane.crossed([0.1, 0.3])))
    added = set(calls) - coarse
    assert 0 < len(added) < 7 * 9 - len(coarse)             # not all of the finer plane
    near = (np.abs(truth - 0.1) < 0.03) | (np.abs(truth - 0.3) < 0.05)
    wrong = [np.abs(np.log(found / truth))[near].max() for found in (rough, plane.filled())]
    assert wrong[1] < wrong[0] / 2
    assert plane.crossed([2.0]) == [] and list(plane.fill(error, [])) == []


def test_the_story_has_steps_with_a_sentence_or_more_each():
    assert len({s.name for s in story.STEPS}) == len(story.STEPS) == 8
    assert all(s.name and s.sentence.endswith((".", "?")) for s in story.STEPS)
