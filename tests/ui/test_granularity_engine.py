"""The closed forms of the app "granularity" against scikit-learn, differences and each other."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

import workbench as wb
from workbench.ui.granularity import cells as cutting
from workbench.ui.granularity import engine, story, worlds
from workbench.ui.granularity.background import equal_cells
from workbench.ui.granularity.bench import LEVELS, Bench
from workbench.ui.granularity.engine import Model
from workbench.ui.granularity.plane import Plane, contour

SHAPES = {"rbf": RBF, "matern12": lambda s: Matern(s, nu=0.5),
          "matern32": lambda s: Matern(s, nu=1.5), "matern52": lambda s: Matern(s, nu=2.5)}


@pytest.fixture(scope="module")
def world():
    return worlds.made_map("both", "normal")


@pytest.mark.parametrize("kernel", engine.KERNELS)
@pytest.mark.parametrize("likelihood", ["normal", "poisson"])
def test_the_posterior_is_that_of_scikit_learn(kernel, likelihood):
    world = worlds.made_map("both", likelihood)
    cells = equal_cells(world, 1.25)
    model = Model(kernel, 1.3, 0.8, 0.4, likelihood)
    statistic = cells.statistic(likelihood)
    errors = model.errors(statistic, cells.counts)
    fit, cross = Bench(world).summary(cells, model)
    shape = ConstantKernel(model.variance) * SHAPES[kernel](model.lengthscale)
    other = GaussianProcessRegressor(shape, alpha=errors + engine.JITTER * model.variance,
                                     optimizer=None).fit(cells.places, statistic - world.constant)
    mean, sd = other.predict(world.places[:300], return_std=True)
    np.testing.assert_allclose(fit.mean(cross)[:300], mean + world.constant, atol=1e-8)
    np.testing.assert_allclose(fit.sd(cross)[:300], sd, atol=1e-8)
    assert fit.evidence == pytest.approx(other.log_marginal_likelihood_value_, abs=1e-7)


def test_variances_of_the_statistics():
    counts = np.array([1.0, 4.0, 25.0])
    np.testing.assert_allclose(Model(noise=0.5).errors(np.zeros(3), counts), 0.25 / counts)
    means = np.array([2.0, 0.5, 3.0])
    found = Model(likelihood="poisson").errors(np.log(means), counts)
    np.testing.assert_allclose(found, 1 / (counts * means))


def test_a_nugget_is_added_to_every_summary(world):
    cells = equal_cells(world, 2.0)
    near = cdist(cells.places, cells.places)
    errors = np.full(cells.size, 0.02)
    with_it = engine.condition(Model(nugget=0.1), near, cells.means, errors)
    without = engine.condition(Model(), near, cells.means, errors + 0.1)
    np.testing.assert_allclose(with_it.coefficients, without.coefficients, rtol=1e-10)


def test_summaries_at_the_points_of_one_point_each_are_complete_data():
    world = worlds.line("two", 200, 0.3)
    half = (world.points[1, 0] - world.points[0, 0]) / 2
    edges = np.concatenate([world.points[:, 0] - half, world.points[-1] + half])
    cells = cutting.intervals(world.points, world.values, edges)
    np.testing.assert_array_equal(cells.counts, 1)
    assert Bench(world).error(cells, Model(lengthscale=0.5)) < 1e-8


def test_the_evidence_of_means_and_variances_is_that_of_all_points_moved_to_the_centres():
    world = worlds.line("two", 100, 0.3)
    cells = equal_cells(world, worlds.END / 7)
    model = Model(lengthscale=0.8, variance=1.7, noise=0.45)
    near = cdist(cells.places, cells.places)
    value, _ = engine.evidence_and_slopes(model, near, cells.means, cells.counts, cells.spreads,
                                          world.constant)
    moved = cells.places[cells.assignment]
    whole = engine.condition(model, cdist(moved, moved), world.values,
                             np.full(world.values.size, model.noise**2), world.constant)
    assert value == pytest.approx(whole.evidence, abs=1e-6)


@pytest.mark.parametrize("kernel", engine.KERNELS)
def test_slopes_are_those_of_differences(kernel, world):
    cells = equal_cells(world, 1.6)
    near = cdist(cells.places, cells.places)
    model = Model(kernel, 0.9, 1.2, 0.35)

    def value(which, step):
        there = replace(model, **{which: getattr(model, which) * np.exp(step)})
        return engine.evidence_and_slopes(there, near, cells.means, cells.counts, cells.spreads,
                                          world.constant)

    _, slopes = value("noise", 0.0)
    for which, slope in slopes.items():
        between = (value(which, 1e-5)[0] - value(which, -1e-5)[0]) / 2e-5
        assert slope == pytest.approx(between, rel=1e-4, abs=1e-3)


def test_learning_finds_the_noise_and_never_a_worse_evidence(world):
    cells = equal_cells(world, 0.5)
    near = cdist(cells.places, cells.places)
    start = Model("rbf", 3.0, 0.3, 1.0)
    arguments = near, cells.means, cells.counts, cells.spreads, world.constant
    steps = []
    found, evidence = engine.learn(start, *arguments, {
        "lengthscale": (0.05, 10), "variance": (0.05, 20), "noise": (0.03, 2)},
        lambda step, value: steps.append(value))
    assert evidence == pytest.approx(max(steps))
    assert evidence > engine.evidence_and_slopes(start, *arguments)[0]
    assert 0.5 < found.lengthscale < 2 and 0.25 < found.noise < 0.5


def test_laplace_ends_at_the_mode():
    world = worlds.made_map("smooth", "poisson")
    model = Model("rbf", 1.5, 1.0, likelihood="poisson")
    fit = engine.laplace(model, world.near, world.values, world.constant)
    f = world.constant + model.covariance(world.near) @ fit.coefficients
    # there, K⁻¹ (f - constant) is the slope of the log likelihood
    np.testing.assert_allclose(fit.coefficients, world.values - np.exp(f), atol=1e-4)
    bench = Bench(world)
    assert bench.answer(equal_cells(world, 1.0), model).complete is None   # not while one drags
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


def test_the_plane_is_exact_where_one_looks_and_interpolated_elsewhere():
    sizes, lengths = np.geomspace(0.1, 3, 13), np.geomspace(0.05, 10, 16)
    plane, calls = Plane(sizes, lengths, (3, 3)), []

    def error(row, column):
        calls.append((row, column))
        return (sizes[column] / lengths[row]) ** 2

    assert not plane.ready
    assert len(list(plane.fill(error))) == plane.rows.size and plane.ready
    assert len(calls) == plane.rows.size * plane.columns.size
    truth = (sizes / lengths[:, None]) ** 2             # a power law: straight on log axes
    np.testing.assert_allclose(plane.filled(), truth, rtol=1e-9)
    near = plane.around(0.5, 1.0)
    list(plane.fill(error, near))
    assert set(near) <= set(calls) and len(calls) == len(set(calls))
    x, y = contour(sizes, lengths, plane.filled(), 0.04)
    np.testing.assert_allclose((x / y)[np.isfinite(x)], 0.2, rtol=1e-6)


def test_the_story_has_six_steps_with_a_sentence_each():
    assert len(story.STEPS) == 6
    assert all(s.name and s.sentence.endswith(".") for s in story.STEPS)


@pytest.mark.parametrize("likelihood", ["normal", "poisson"])
@pytest.mark.parametrize("kernel", engine.KERNELS)
def test_the_engine_is_the_librarys_model(kernel, likelihood):
    """The page's fast formulas and `QuasiLikelihoodGP` give one posterior."""
    rng = np.random.default_rng(3)
    z, n = rng.uniform(0, 10, (30, 2)), rng.integers(2, 50, 30)
    f = np.sin(z[:, 0])
    mean = (rng.poisson(n * np.exp(f)) + 1) / n if likelihood == "poisson" else (
        f + rng.normal(0, 0.4 / np.sqrt(n)))
    frame = pd.DataFrame({"x": z[:, 0], "y": z[:, 1], "n": n, "mean": mean})
    ds = wb.from_summaries(frame, "mean", "n", x="x", y="y", units={"x": "km", "y": "km"})
    theta = {"mean": 0.2, f"{kernel}.variance": 1.3, f"{kernel}.lengthscale": 2.1}
    theta |= {"noise.variance": 0.16} if likelihood == "normal" else {}
    model = wb.QuasiLikelihoodGP(kernel=kernel, likelihood=likelihood, nugget=0.0)
    fit = model.condition(ds, theta)
    model = engine.Model(kernel, 2.1, 1.3, 0.4, likelihood)
    statistic = np.log(mean) if likelihood == "poisson" else mean
    own = engine.condition(model, cdist(z, z), statistic, model.errors(statistic, n), 0.2)
    places = wb.grid_places(ds, cells=8)
    cross = model.covariance(cdist(np.stack([places["x"], places["y"]], 1), z))
    law = fit.latent(places)
    np.testing.assert_allclose(own.mean(cross), law.mean, atol=1e-7)
    np.testing.assert_allclose(own.sd(cross), law.std, atol=1e-6)
