"""Posteriors of the app "sources" are those of the package; data are the paper's where it says so.

Milliseconds are printed, not asserted: the machine may serve other jobs too.
"""

import time
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from workbench.gp.models.several_sources.mr_gp import MRGP
from workbench.ui.base.bands import HALF_95
from workbench.ui.base.jobs import Job
from workbench.ui.sources import background, city_models, line
from workbench.ui.sources.background import Plan
from workbench.ui.sources.city import city
from workbench.ui.sources.designs import Design
from workbench.ui.sources.engine import WEIGHTS, Bench, Model, answer, score
from workbench.ui.sources.state import CITY, State
from workbench.ui.sources.store import Store

pytestmark = pytest.mark.usefixtures("one_thread")

NARROW, WIDE = (-2.0, 15.0), (-10.0, 20.0)
SEVERAL = (Design(6, 13, 50, 1, noise=0.1), Design(-10, 10, 100, 5, 0.5, 1.0, 0.3, 0.5),
           Design(10, 20, 40, 4, 0.3, 0.0, 0.2), Design(-4, 5, 30, 3, noise=0.4))


class Quiet:
    """A run that nobody stops, and that hears nothing."""

    def __init__(self):
        self.sent = {}

    def send(self, name, result):
        self.sent[name] = result

    def rest(self, seconds):
        """At once."""

    def check(self):
        """Go on."""

    def tick(self, step, objective, fraction):
        """Go on."""


def preset(k: int) -> tuple[State, Bench, Model]:
    state = State()
    state.choose_preset(k)
    store = Store(state)
    return state, store.bench, store.set_model()


def test_the_dependent_preset_is_the_papers_data():
    world = preset(0)[1].world
    tree = wb.load_sources("dependent-sources")
    for shown, name in zip(world.sources, ("points", "aggregates"), strict=True):
        np.testing.assert_allclose(shown.values, tree[f"sources/{name}"]["value"], atol=1e-12)
    high = preset(1)[1].world.sources[0]
    expected = wb.load_sources("biased-sources")["sources/high"]["value"]
    np.testing.assert_allclose(high.values, expected, atol=1e-12)


@pytest.mark.parametrize("weight", [0.05, 0.5, 1.0, 1.5])
def test_posteriors_are_those_of_the_package(weight):
    """`wb.MRGP` with ``trust``, on the paper's dependent sources."""
    _, bench, model = preset(0)
    tree = wb.load_sources("dependent-sources")
    given = {"mean": model.mean, "rbf.variance": model.variance,
             "rbf.lengthscale": model.lengthscale} | {
        f"{name}.noise.variance": sd**2 for name, sd in zip(
            ("points", "aggregates"), model.noise, strict=True)}
    fit = wb.MRGP(kernel="rbf").condition(
        tree, given, trust={"points": weight, "aggregates": weight})
    target = tree["target"].to_dataset()
    bench.world.__dict__["places"] = target["covariates"].values[:, 0]
    dist, expected = Bench(bench.world).band(model, weight), fit.at(target)
    np.testing.assert_allclose(dist.mean, expected.mean.values, rtol=0, atol=1e-8)
    np.testing.assert_allclose(dist.sd, expected.std.values, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "matern52", "matern32"])
@pytest.mark.parametrize("designs", [SEVERAL, SEVERAL[3:]], ids=["several", "one"])
def test_every_kernel_and_any_sources_too(kernel, designs):
    world = line.make(WIDE, "step", "", designs, 3)
    model = Model(kernel, 1.4, 6.25, 1.7, tuple(float(s.noise) for s in world.sources))
    given = {"mean": 1.7, f"{kernel}.variance": 6.25, f"{kernel}.lengthscale": 1.4}
    sources = [replace(s, trust=0.37) for s in background.sources_of(world)]
    fit = MRGP(kernel=kernel).condition(sources, given | background.noise_as_made(world))
    expected = fit.at(background.bags_of(world.places[:, None]))
    dist = Bench(world).band(model, 0.37)
    np.testing.assert_allclose(dist.mean, expected.mean.numpy(), rtol=0, atol=1e-8)
    np.testing.assert_allclose(dist.sd, expected.std.numpy(), rtol=0, atol=1e-8)


def test_half_the_weight_undoes_a_duplicate_exactly():
    _, bench, model = preset(2)
    found = answer(bench, model, 0.5)
    for name in ("mean", "sd"):
        np.testing.assert_allclose(getattr(found.bands["composite"], name),
                                   getattr(found.bands["alone"], name), atol=1e-9)
    assert found.scores["product"].variance < 0.6
    assert found.scores["composite"].variance == pytest.approx(1, abs=1e-9)
    plan = Plan(State().data_key, "rbf", "set", False)
    estimate = background.estimate(bench.world, plan, Quiet())
    assert (estimate.ribatet, estimate.lyddon) == pytest.approx((0.5, 0.5), abs=1e-6)


def test_the_curve_is_that_of_the_posteriors():
    _, bench, model = preset(0)
    found = answer(bench, model, float(WEIGHTS[7]))
    assert found.relative[7] == pytest.approx(found.scores["composite"].variance, rel=1e-10)
    assert (np.diff(found.relative) < 0).all()
    # The oracle of the paper's case: contracted at one, recovered at one half.
    assert 0.5 < found.scores["product"].variance < 0.6
    assert 0.98 < answer(bench, model, 0.5).scores["composite"].variance < 1.1


def test_scores_say_what_they_claim():
    _, bench, model = preset(1)
    found = answer(bench, model, 1.0)
    dist, world = found.bands["product"], bench.world
    inside = np.abs(dist.mean - world.known) <= HALF_95 * dist.sd
    assert found.scores["product"].coverage == pytest.approx(inside[world.seen].mean())
    assert found.scores["product"].coverage < 0.3       # two of three sources are biased
    assert score(dist, dist, world).variance == 1.0


def test_copied_noise_is_the_first_sources_and_own_noise_is_not():
    first = Design(-2, 15, 200, 1, noise=1.0)
    for share in (0.0, 0.5, 1.0):
        world = line.make(NARROW, "slow", "", (first, replace(first, copied=share)), 5)
        one, two = (s.values - world.truth(s.x[:, 0]) for s in world.sources)
        assert two.std() == pytest.approx(1, abs=0.15)
        assert np.corrcoef(one, two)[0, 1] == pytest.approx(np.sqrt(share), abs=0.15)
    np.testing.assert_array_equal(one, two)
    apart = line.make(NARROW, "slow", "", (Design(-2, 5, 50), Design(6, 15, 50, copied=1.0)), 5)
    free = line.make(NARROW, "slow", "", (Design(-2, 5, 50), Design(6, 15, 50)), 5)
    np.testing.assert_array_equal(apart.sources[1].values, free.sources[1].values)


def test_a_drawn_function_goes_through_its_values_without_overshoot():
    values = np.where(np.arange(line.KNOTS) < 9, -1.5, 6.5)
    f = line.curve(values, NARROW)
    np.testing.assert_allclose(f(line.knots(NARROW)), values)
    dense = f(np.linspace(*NARROW, 2000))
    assert dense.min() >= -1.5 - 1e-12 and dense.max() <= 6.5 + 1e-12
    assert line.read(line.written(values)).tolist() == values.tolist()


def test_answers_after_a_change_are_those_of_a_cold_start():
    most = tuple(Design(-10, 20, 200, 1, noise=0.5) for _ in range(4))      # the most offered
    for designs in (State().designs, most):
        world = line.make(WIDE, "waves", "", designs, 0)
        bench = Bench(world)
        noise = tuple(float(s.noise) for s in world.sources)
        for length, weight in ((1.0, 0.5), (1.0, 0.7), (0.9, 0.7)):
            model = Model("rbf", length, 10.0, 2.5, noise)
            found, cold = answer(bench, model, weight), answer(Bench(world), model, weight)
            for name, band in cold.bands.items():
                np.testing.assert_allclose(found.bands[name].mean, band.mean, atol=1e-8)
                np.testing.assert_allclose(found.bands[name].sd, band.sd, atol=1e-8)


def test_learning_and_experts_are_the_packages():
    state, bench, model = preset(1)
    plan, run = Plan(state.data_key, "rbf", "kernel", True), Quiet()
    learnt = background.learn(bench.world, plan, run)
    assert learnt.model.noise == pytest.approx(model.noise, rel=1e-6)
    fit = MRGP(kernel="rbf", max_steps=background.STEPS,
               hyperparameters=background.noise_as_made(bench.world)).fit(
        background.sources_of(bench.world))
    assert learnt.objective == pytest.approx(fit.objective)
    found = background.experts(bench.world, plan, run)
    assert found.weights.shape == found.means.shape == (3, line.PLACES)
    np.testing.assert_allclose(found.weights.sum(0), 1, atol=1e-9)
    alone = bench.band(model, 1.0, [0])
    product = bench.band(model, 1.0)
    world = bench.world
    assert score(found.band, alone, world).rmse < 0.4 * score(product, alone, world).rmse


@pytest.fixture(scope="module")
def small():
    """A city learnt with few inducing inputs and steps."""
    steps, inducing = city_models.STEPS, dict(city_models.INDUCING)
    city_models.STEPS, city_models.INDUCING["quick"] = 4, 15
    data = city(1, 16, 24)

    def fitted(**given):
        state = State(tab=CITY, city=1, **given)
        return city_models.fit(data, state.fit_key)

    yield fitted
    city_models.STEPS = steps
    city_models.INDUCING.update(inducing)


@pytest.mark.filterwarnings("ignore:not converged", "ignore:.*composite weights")
@pytest.mark.parametrize("given", [
    {"model": "product"}, {"model": "composite", "city_kernel": "rbf"},
    {"model": "centre", "reach": 8.0}, {"model": "gprn"}, {"model": "dgp", "reach": 3.0}])
def test_the_city_is_that_of_the_package(small, given):
    fitted = small(**given)
    if "reach" in given:
        length = next(v for n, v in fitted.fit.hyperparameters.items() if "_2.lengthscale" in n)
        assert length["value"] == pytest.approx(given["reach"]) and length["unit"] == "km"
    data, tree = fitted.data, wb.load_sources("simulated-city", seed=1, stations=16, hours=24,
                                              points=4)
    target = tree["target"].to_dataset()
    rows = [(data.names.index(s), int(h)) for s, h in zip(
        target["station"].values, target["covariates"].values[:, 0], strict=True)]
    np.testing.assert_allclose([data.truth[r] for r in rows], target["truth"], atol=1e-9)
    np.testing.assert_allclose([data.readings[r] for r in rows], target["value"], atol=1e-9)
    dist = fitted.fit.at(target)
    np.testing.assert_allclose([fitted.mean[r] for r in rows], dist.mean.values, atol=1e-8)
    assert fitted.rmse == pytest.approx(
        float(np.sqrt(((dist.mean.values - target["truth"].values) ** 2).mean())))
    noise = fitted.fit.noise_std(target).values
    np.testing.assert_allclose([fitted.noise[r] for r in rows], noise, atol=1e-8)
    later = target["covariates"].values[:, 0] >= data.half
    inside = np.abs(dist.mean - target["value"].values) <= 1.959964 * np.hypot(dist.std, noise)
    assert fitted.coverage == pytest.approx(float(inside.values[later].mean()))
    hour = fitted.at(30)
    assert hour is fitted.at(30) and hour.mean.shape == hour.sd.shape == hour.truth.shape
    there = wb.city_map(tree, 30, 0.5)
    np.testing.assert_allclose(hour.truth, there["truth"], atol=1e-9)
    part = there.isel(individual=slice(0, 40), bag=slice(0, 40))
    np.testing.assert_allclose(hour.mean[:40], fitted.fit.at(part).mean.values, atol=1e-8)


def test_the_satellite_is_shown_at_its_last_overpass(small):
    data = small(model="product", satellite=False).data
    assert data.overpass(1) == 2 and data.overpass(8) == 8 and data.overpass(13) == 8
    assert all(values.shape == (30,) for values in data.seen.values())


def test_learning_on_the_city_stops_when_asked(small):
    heard = []
    job = Job(lambda event, *values: heard.append((event, *values)))
    key = State(tab=CITY, city=1, model="gprn").fit_key
    job.start(lambda run: (run.stop(), city_models.work(key, 3, run)))
    deadline = time.monotonic() + 60
    while not any(event[0] in ("ended", "failed") for event in heard) and (
            time.monotonic() < deadline):
        time.sleep(0.02)
    assert heard[-1] == ("ended", True)
    assert city_models._FITS.peek(key) is None


@pytest.mark.parametrize("cell", [3.5, 1.75])
def test_cells_of_the_satellite_are_finer_and_the_truth_is_the_same(cell):
    coarse, fine = city(1, 16, 24), city(1, 16, 24, cell)
    assert fine.side == cell and len(fine.cells) == len(coarse.cells) * (7 / cell) ** 2
    assert fine.sources["satellite"].sizes["individual"] == (
        coarse.sources["satellite"].sizes["individual"])
    np.testing.assert_allclose(fine.truth, coarse.truth)
    assert fine.own_means == coarse.own_means > 5
