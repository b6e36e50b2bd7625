"""The paper's baselines: loss, manifold penalty, training, and what they are equal to."""

import os
import signal
from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.stats
import torch

import workbench as wb
from tests.gp import made
from workbench.checks import Cancelled, ExtrapolationWarning, InputError
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.fields.exact import ExactField
from workbench.gp.kernels.grammar import build
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.models.baselines.bag_constant import BagConstant
from workbench.gp.models.baselines.epochs import EpochHistory, descend
from workbench.gp.models.baselines.fit import PointFit
from workbench.gp.models.baselines.functions import he_normal
from workbench.gp.models.baselines.manifold import (
    ManifoldPenalty,
    RandomFeatures,
    laplacian_penalty,
)
from workbench.gp.models.baselines.models import BagPixel, NeuralNetwork, Nystrom
from workbench.gp.models.baselines.scores import bag_nll
from workbench.gp.models.baselines.state import PointState
from workbench.gp.models.registry import MODELS
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.predictive import Point
from workbench.labelled import to_source

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")

SIZES = (4, 3, 6, 2, 5, 4)


@pytest.fixture(scope="module")
def source():
    return made.counts(made.bags(SIZES), scale=2.0)


@pytest.fixture(scope="module")
def held_out():
    return made.counts(made.bags((3, 5, 4, 2), seed=5), seed=6, scale=2.0)


def dense_laplacian(kernel, f):
    return f @ (torch.diag(kernel.sum(1)) - kernel) @ f


# --- the manifold penalty ---------------------------------------------------------------------

def test_the_penalty_is_that_of_the_dense_laplacian_of_the_features():
    bags = made.bags(SIZES)
    x = fit_inputs(bags)(bags.x)
    features = RandomFeatures(bags.columns, x, 40)
    f = 7.0 + torch.randn(len(x), generator=torch.manual_seed(0), dtype=torch.float64)
    phi = features(x)
    expected = dense_laplacian(phi @ phi.mT, f)
    pairs = 0.5 * ((phi @ phi.mT) * (f[:, None] - f[None]).square()).sum()
    torch.testing.assert_close(laplacian_penalty(phi, f), expected, rtol=1e-10, atol=0)
    torch.testing.assert_close(laplacian_penalty(phi, f), pairs, rtol=1e-10, atol=0)
    rows = torch.tensor([1, 4, 9, 20])
    torch.testing.assert_close(ManifoldPenalty(features, x, 100)(rows, f[rows]),
                               dense_laplacian((phi @ phi.mT)[rows][:, rows], f[rows]) / 16)


def test_features_that_are_not_kept_give_the_same(monkeypatch):
    bags = made.bags(SIZES)
    x = fit_inputs(bags)(bags.x)
    features, f = RandomFeatures(bags.columns, x, 40), x[:, 0]
    kept = ManifoldPenalty(features, x, 100)
    monkeypatch.setattr("workbench.gp.models.baselines.manifold._KEPT", 0)
    rows = torch.arange(len(x))
    torch.testing.assert_close(ManifoldPenalty(features, x, 100)(rows, f), kept(rows, f))


def test_of_many_individuals_a_part_is_taken():
    """The average over pairs of a part of alike individuals is near that of all."""
    bags = made.bags((200,) * 20)
    x = fit_inputs(bags)(bags.x)
    features, rows = RandomFeatures(bags.columns, x, 100), torch.arange(4000)
    f = torch.sin(2 * x[:, 0]) + x[:, 1]
    every, part = (float(ManifoldPenalty(features, x, most)(rows, f)) for most in (4000, 1000))
    assert part == pytest.approx(every, rel=0.05) and part != every


def test_random_features_are_right_on_average():
    """Over frequency seeds R has the mean of the exact Laplacian, within 4 standard errors."""
    bags = made.bags((20, 15))
    x = fit_inputs(bags)(bags.x)
    f = torch.sin(x[:, 0]) + x[:, 1]
    exact = dense_laplacian(sum(t(x, x) for t in build("rbf", bags.columns, x)), f).detach()
    draws = torch.stack([
        laplacian_penalty(RandomFeatures(bags.columns, x, 500, seed)(x), f)
        for seed in range(60)])
    error = draws.std() / 60**0.5
    assert abs(float((draws.mean() - exact) / error)) < 4
    assert float(error / exact) < 0.04


# --- the loss ---------------------------------------------------------------------------------

CASES = {
    "poisson exp": (Nystrom, dict(link="exp"), made.counts),
    "poisson square": (Nystrom, dict(link="square", intercept="learn"), made.counts),
    "network exp": (NeuralNetwork, dict(link="exp", weight_penalty=0.3), made.counts),
    "network square": (NeuralNetwork, dict(link="square", hidden=15), made.counts),
    "normal mean": (Nystrom, dict(link="identity"), made.continuous),
    "normal counts": (NeuralNetwork, dict(link="exp", likelihood="normal"), made.counts),
    "bag-pixel": (BagPixel, dict(manifold_penalty=2.0), made.counts),
}


def assembled(case, bags=None):
    model, options, make = CASES[case]
    extra = {"inducing": 8} if model is Nystrom else {}
    return PointState(model(**options | extra), make(bags or made.bags(SIZES)))


@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_its_formula(case):
    """Every term again, bag by bag and pair by pair."""
    state = assembled(case)
    f = state.field(state.x).detach()
    rate = state.link.psi(f)
    nll, bags = [], state.bags
    for a in range(bags.count):
        inside = bags.membership == a
        weight = bags.weight[inside]
        if state.source.aggregation == "mean":
            weight = weight / weight.sum()
        eta, y = float((weight * rate[inside]).sum()), float(state.source.targets.value[a])
        if state.noise is None:
            nll.append(eta - y * np.log(eta) + float(torch.lgamma(torch.tensor(y + 1))))
        else:
            std = float(state.noise()[a].detach().sqrt())
            nll.append(-scipy.stats.norm(eta, std).logpdf(y))
    g = f.abs() if state.link.name == "square" else f
    g = g / state.scale if state.link.name == "identity" else g
    phi = RandomFeatures(bags.columns, state.x, 500)(state.x)
    rough = float(dense_laplacian(phi @ phi.mT, g)) / len(f) ** 2
    size = sum(float(w.detach().square().sum()) for w in state.field.weights) / 2
    per = bags.count if CASES[case][0] is Nystrom else 1
    expected = (np.mean(nll) + state.options.manifold_penalty * rough
                + state.options.weight_penalty * size / per
                - float(state.hyperparameters.log_prior().detach()) / bags.count)
    assert float(state.objective()) == pytest.approx(-bags.count * expected, rel=1e-6)
    assert float(state.objective(gradient=True).detach()) == pytest.approx(
        float(state.objective()), rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_the_loss_are_differences(case):
    state = assembled(case)
    batch = state.batches(torch.Generator().manual_seed(3))[0]
    items, generator = state.hyperparameters, np.random.default_rng(0)
    start = items.vector() + 0.05 * generator.standard_normal(len(items.vector()))
    items.assign(start)
    state.loss(batch).backward()
    gradient = items.gradient()
    for _ in range(5):
        way = generator.standard_normal(len(start))
        ends = []
        for sign in (1, -1):
            items.assign(start + sign * 1e-6 * way)
            ends.append(float(state.loss(batch).detach()))
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(gradient @ way, rel=1e-5, abs=1e-7)
    assert (np.abs(gradient) > 0).mean() > 0.3       # rectified units may be off


def test_batches_go_once_through_all_bags_with_their_individuals():
    few = (3, 1, 4, 2, 6, 5, 2, 3)
    for members, sizes in ((few, [1] * 8), (few * 3, [2] * 12), (few * 4, [3] * 10 + [2])):
        state = assembled("poisson exp", made.bags(members))
        batches = state.batches(torch.Generator().manual_seed(0))
        assert [len(b.bags) for b in batches] == sizes
        every = torch.cat([b.bags for b in batches]).sort().values
        assert every.tolist() == list(range(len(members)))
        for batch in batches:
            expected = torch.isin(state.bags.membership, batch.bags).nonzero().flatten()
            assert torch.equal(batch.rows, expected)
            assert torch.equal(batch.bags[batch.membership],
                               state.bags.membership[batch.rows])


def test_batches_are_unbiased_for_the_likelihood_and_the_weights():
    state = assembled("poisson exp", made.bags((3, 1, 4, 2, 6, 5, 2, 3)))
    state.roughness = None
    losses = [float(state.loss(b).detach()) for b in state.batches(torch.manual_seed(0))]
    assert -8 * np.mean(losses) == pytest.approx(float(state.objective()))


# --- what they are equal to -------------------------------------------------------------------

def kernel_matrix(fit, a, b):
    return sum(term(a, b) for term in fit.state.field.terms).detach()


@pytest.mark.parametrize("aggregation", ["mean", "sum"])
def test_nystrom_with_landmarks_at_the_data_is_ridge_regression(aggregation):
    """With W = X, Normal bags and fixed hyperparameters: the posterior mean of the exact GP."""
    bags = made.bags(SIZES)
    data = made.continuous(bags, aggregation)
    given = {"matern32.variance": 0.8, "matern32.lengthscale": 30.0, "noise.variance": 0.05,
             "mean": 0.7}
    fit = Nystrom(link="identity", inducing=100, manifold_penalty=0.0, hyperparameters=given,
                  tolerance=1e-14, max_steps=3000).fit(data)
    state = fit.state
    operator, x = OPERATORS[aggregation](bags), state.x
    exact = ExactField(list(state.field.terms), x, operator)
    with torch.no_grad():
        exact.mean.fill_(0.7)
    exact.condition(data.targets.value, state.noise())
    new = made.bags((3, 2), seed=8)
    for where in (bags, new):
        expected, _ = exact.marginals(state.transform(where.x))
        torch.testing.assert_close(fit.latent(where).mean, expected.detach(), rtol=0, atol=1e-4)
    # The same as ridge regression on the features, in the space of weights.
    phi = state.field.features.project(x).features.detach()
    rows = operator.rows(phi) / state.noise().detach().sqrt()[:, None]
    flat = operator(torch.full_like(x[:, 0], 0.7))
    y = (data.targets.value - flat) / state.noise().detach().sqrt()
    ridge = torch.linalg.solve(rows.mT @ rows + torch.eye(len(phi)), rows.mT @ y)
    torch.testing.assert_close(state.field.weight.detach(), ridge, rtol=0, atol=1e-3)


@pytest.mark.slow
def test_nystrom_features_and_landmarks_are_those_of_vbagg(source):
    options = dict(kernel="rbf", inducing=7, seed=3)
    fit = Nystrom(**options, max_steps=500).fit(source)
    vbagg = MODELS["vbagg"](**options, tolerance=1e-2).fit(source)
    landmarks = fit.state.field.features.inducing[0]
    assert torch.equal(landmarks, vbagg.state.field.inducing[0]) and len(landmarks) == 7
    x = fit.state.x
    phi = fit.state.field.features.project(x).features
    torch.testing.assert_close(fit.latent(source.bags).mean, phi.detach() @ torch.tensor(
        fit.hyperparameters["weights"]["value"], dtype=torch.float64))
    k_xw, k_ww = kernel_matrix(fit, x, landmarks), kernel_matrix(fit, landmarks, landmarks)
    torch.testing.assert_close((phi @ phi.mT).detach(),
                               k_xw @ torch.linalg.solve(k_ww, k_xw.mT), rtol=0, atol=1e-5)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_bag_pixel_on_single_individuals_is_the_network():
    data = made.counts(made.bags((1,) * 20), scale=5.0)
    options = dict(hidden=8, manifold_penalty=0.0, max_steps=20, tolerance=1e-2)
    fits = [by_adam(model(**options), data) for model in (NeuralNetwork, BagPixel)]
    new = made.bags((3, 2), seed=8)
    torch.testing.assert_close(fits[0].at(new).mean, fits[1].at(new).mean, rtol=1e-9, atol=0)
    np.testing.assert_allclose(fits[0].history.objective, fits[1].history.objective, rtol=1e-10)


def test_bag_pixel_sees_mean_inputs_and_predicts_individuals_from_their_own(source):
    fit = BagPixel(max_steps=300, tolerance=1e-4).fit(source)
    state, bags = fit.state, source.bags
    centres = bags.centres()
    rate = state.link.psi(state.field(state.transform(centres.x))).detach()
    torch.testing.assert_close(fit.over(bags).mean, rate * bags.totals)
    own = state.link.psi(state.field(state.transform(bags.x))).detach()
    torch.testing.assert_close(fit.at(bags).mean, own)


def test_joint_landmarks_are_one_set_for_the_whole_kernel(source):
    fit = Nystrom(kernel="malaria", layout="joint", inducing=9, max_steps=500).fit(source)
    assert [len(z) for z in fit.state.field.features.inducing] == [9]
    assert len(fit.hyperparameters["matern32.lengthscale"]["value"]) == 2
    assert torch.isfinite(fit.at(source.bags).mean).all()


# --- networks ---------------------------------------------------------------------------------

@pytest.mark.parametrize("hidden", [15, 30])
def test_shapes_of_a_network_and_its_seed(source, hidden):
    def build_state(seed):
        return PointState(NeuralNetwork(hidden=hidden, seed=seed), source)

    state = build_state(0)
    assert state.field.inner.shape == (hidden, 3) and state.field.outer.shape == (hidden,)
    assert state.field(state.x).shape == (24,)
    assert not state.field.bias.any() and not state.field.mean.any()
    assert torch.equal(state.field.inner, build_state(0).field.inner)
    assert not torch.equal(state.field.inner, build_state(1).field.inner)
    assert {item.name for item in state.hyperparameters} == {
        "mean", "hidden.weight", "hidden.bias", "output.weight"}


def test_initial_weights_are_he_normal():
    weights = he_normal((400, 50), 50, torch.manual_seed(0), torch.zeros(1)).detach()
    assert float(weights.var()) == pytest.approx(2 / 50, rel=5 * (2 / 20_000) ** 0.5)
    assert abs(float(weights.mean())) < 5 * (2 / 50 / 20_000) ** 0.5


def test_without_an_intercept_f_has_no_constant_unless_asked(source):
    plain = NeuralNetwork(max_steps=300, tolerance=1e-3).fit(source)
    assert plain.hyperparameters["mean"]["value"] == 0
    learnt = NeuralNetwork(max_steps=300, tolerance=1e-3, intercept="learn").fit(source)
    start = float(torch.log(source.mean_rate))
    assert learnt.hyperparameters["mean"]["value"] not in (0, pytest.approx(start, rel=1e-6))
    held = PointState(NeuralNetwork(intercept="learn"), source)
    assert float(held.field.mean.detach()) == pytest.approx(start)


# --- training ---------------------------------------------------------------------------------

ADAM = dict(learning_rate=0.05, hidden=10, manifold_penalty=1.0)


def by_adam(model, source, early_stop=None, **options):
    """A fit by minibatches, as of large data or with early-stop bags."""
    state = PointState(model, source)
    state.fix_intercept()
    fit = PointFit(model, state, EpochHistory())
    criterion = None if early_stop is None else lambda: bag_nll(fit, early_stop).exact
    fit.history = descend(state, criterion, **options)
    return fit


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_early_stopping_puts_the_best_epoch_back(source, held_out):
    model = NeuralNetwork(**ADAM, max_steps=90)
    fit = by_adam(model, source, held_out, patience=5, patience_from=0.2)
    watched = fit.history.early_stop
    assert bag_nll(fit, held_out).exact == min(watched)
    first = 18                                  # a fifth of 90 epochs
    assert fit.history.kept_epoch == first + int(np.argmin(watched))
    assert len(watched) == len(fit.history.objective) - first + 1
    assert fit.history.converged and "early-stop bags had not improved" in fit.history.notes[-1]
    assert fit.history.objective[fit.history.kept_epoch - 1] == pytest.approx(fit.objective)
    assert fit.history.kept_epoch < len(fit.history.objective)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_early_stop_bags_call_for_minibatches(source, held_out):
    model = NeuralNetwork(max_steps=6)
    assert len(model.fit(source, early_stop=held_out).history.early_stop) == 6 - 2 + 1
    assert not hasattr(model.fit(source).history, "early_stop")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_adam_nears_l_bfgs(source):
    given = {"matern32.variance": 0.5, "matern32.lengthscale": 40.0}
    options = dict(inducing=8, hyperparameters=given, intercept="learn", tolerance=1e-8)
    best = Nystrom(**options, max_steps=2000).fit(source)
    near = by_adam(Nystrom(**options, max_steps=700, learning_rate=0.05), source, patience=700)
    assert near.objective == pytest.approx(best.objective, abs=0.02)
    assert near.objective < best.objective + 1e-6
    assert near.history.objective[-1] > near.history.objective[0]


@pytest.mark.slow
def test_adam_stops_where_the_objective_has_levelled_and_says_so(source):
    fit = by_adam(NeuralNetwork(**ADAM, max_steps=400, tolerance=1e-2), source, patience=5)
    assert fit.history.converged and len(fit.history.objective) < 400
    assert "the objective had not improved for 5" in fit.history.notes[-1]
    with pytest.warns(UserWarning, match="not converged after 4 epochs.*raise max_steps"):
        fit = by_adam(NeuralNetwork(**ADAM, max_steps=4), source)
    assert not fit.history.converged and len(fit.history.objective) == 4


def test_cancelling_adam_keeps_the_best_state(source):
    seen = []

    def stop(step, objective, fraction):
        seen.append((step, objective, fraction))
        if step == 4:
            raise Cancelled

    fit = by_adam(NeuralNetwork(**ADAM), source, callback=stop)
    # On a busy machine an epoch that takes long says in its midst that it is still at work.
    assert list(dict.fromkeys(step for step, _, _ in seen)) == [1, 2, 3, 4]
    assert all(0 < fraction <= 1 for _, _, fraction in seen)
    assert fit.history.cancelled and not fit.history.converged
    assert fit.objective == pytest.approx(max(objective for _, objective, _ in seen))
    assert "cancelled after 4 epochs" in fit.history.notes[-1]


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_keeps_the_best_state(source):
    seen = []

    def interrupt(step, objective, fraction):
        seen.append(objective)
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    fit = by_adam(NeuralNetwork(**ADAM), source, callback=interrupt)
    assert fit.history.cancelled and fit.objective == pytest.approx(max(seen))


def test_progress_is_shown(source, capsys):
    by_adam(NeuralNetwork(**ADAM, max_steps=50, tolerance=0.1), source, progress=True)
    assert "objective=" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_steps_to_nowhere_back_off(source):
    fit = by_adam(NeuralNetwork(learning_rate=10.0, max_steps=20), source)
    told = "epoch 1: backed off to learning rate 1, the loss is not finite; likely"
    assert any(note.startswith(told) for note in fit.history.notes)
    assert np.isfinite(fit.history.objective).all()
    assert torch.isfinite(fit.at(source.bags).mean).all()
    with pytest.raises(FactorisationError, match="cannot start.*change the initial or fixed"):
        by_adam(NeuralNetwork(**ADAM, hyperparameters={"mean": 800.0}), source)


@pytest.mark.slow
@pytest.mark.parametrize("name, options", [
    ("nystrom", dict(kernel="rbf", inducing=30, intercept="learn")),
    ("neural-network", dict(seed=2)),
])
def test_learning_beats_the_flat_maps_on_a_small_roll(name, options):
    ds = wb.load("swiss-roll", n_bags=100, mean_size=60, size_std=24)
    source, truth = to_source(ds), torch.as_tensor(ds["truth"].values)

    def error(fit):
        return float((fit.at(source.bags).mean - truth).square().mean())

    flat = error(MODELS["constant"]().fit(source))
    own = error(MODELS["bag-constant"]().fit(source))
    assert own < flat
    assert error(MODELS[name](**options).fit(source)) < 0.5 * own


# --- answers ----------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def fit(source):
    return NeuralNetwork(max_steps=300, tolerance=1e-3, hidden=10).fit(source)


def test_answers_are_points_and_totals_add_up(fit, source):
    bags = source.bags
    for law in (fit.latent(bags), fit.at(bags), fit.over(bags)):
        assert isinstance(law, Point) and not law.variance.any()
    total = torch.zeros(bags.count).double().index_add(
        0, bags.membership, bags.weight * fit.at(bags).mean)
    torch.testing.assert_close(fit.over(bags).mean, total)
    torch.testing.assert_close(fit.at(bags).mean, fit.latent(bags).mean.exp())


def test_simulated_counts_and_their_density(fit, source):
    bags, y = source.bags, source.targets.value
    for unit, mean in (("bag", fit.over(bags).mean), ("individual",
                                                      fit.at(bags).mean * bags.weight)):
        draw = fit.simulate_bags if unit == "bag" else fit.simulate_individuals
        draws = draw(bags, None, 4000, 1)
        error = (mean / 4000).sqrt()
        assert float(((draws.mean(0) - mean) / error).abs().max()) < 5
        torch.testing.assert_close(draws.var(0), mean, rtol=0.2, atol=0)
        seen = y if unit == "bag" else draws[0]
        density = fit.log_density(seen, bags, None, unit, 1000, 0)
        np.testing.assert_allclose(density, scipy.stats.poisson(mean).logpmf(seen)[None])


@pytest.mark.parametrize("make, options", [
    (made.counts, dict(likelihood="normal")),
    (made.continuous, dict(link="identity", intercept="learn")),
])
def test_normal_observations_come_in_units_of_the_values(make, options):
    source = make(made.bags((5,) * 12))
    options = dict(inducing=10, noise="constant", tolerance=1e-4,
                   hyperparameters={"noise.variance": 0.3}) | options
    fit = Nystrom(**options).fit(source)
    bags, y, std = source.bags, source.targets.value, 0.3**0.5
    size = bags.totals if source.kind == "count" else torch.ones(12).double()
    mean, spread = fit.over(bags).mean * size, std * size
    draws = fit.simulate_bags(bags, None, 4000, 0)
    assert float(((draws.mean(0) - mean) / spread).abs().max()) < 5 / 4000**0.5
    density = scipy.stats.norm(mean, spread).logpdf(y)
    np.testing.assert_allclose(fit.log_density(y, bags, None, "bag")[0], density)
    assert bag_nll(fit, source).exact == pytest.approx(-density.mean())
    assert np.isnan(bag_nll(fit, source).stirling)
    own = fit.simulate_individuals(bags, None, 2000, 0)
    unit = bags.weight if source.kind == "count" else torch.ones_like(bags.weight)
    torch.testing.assert_close(own.std(0) / unit, torch.full_like(unit, std), rtol=0.1, atol=0)


def test_point_predictors_have_no_terms_to_report(fit, source):
    with pytest.raises(InputError, match="no additive terms"):
        fit.components(source.bags)
    assert fit.coefficients() == {}
    with pytest.raises(InputError, match="samples must be positive"):
        fit.simulate_bags(source.bags, None, 0, 0)


@pytest.mark.parametrize("model", [NeuralNetwork, Nystrom, BagPixel, BagConstant])
def test_float32_stays_float32_and_close(model, source):
    allowed = {f.name for f in fields(model.options_type)}
    options = {k: v for k, v in dict(inducing=8, hidden=8, tolerance=1e-3).items() if k in allowed}
    double = model(**options).fit(source)
    single = model(**options, dtype="float32").condition(source, double.hyperparameters)
    assert single.at(source.bags).mean.dtype == torch.float32
    torch.testing.assert_close(single.at(source.bags).mean.double(), double.at(source.bags).mean,
                               rtol=2e-3, atol=1e-4)
    assert torch.isfinite(model(**options, dtype="float32").fit(source).at(source.bags).mean).all()


@pytest.mark.parametrize("options, message", [
    (dict(link="identity"), "needs positive rates"),
    (dict(link="expp"), "did you mean 'exp'"),
    (dict(intercept="yes"), "choose from none, learn"),
    (dict(kernel="rbf"), "kernel of neural-network was removed"),
    (dict(learning_rate=0.0), "learning_rate in"),
    (dict(hyperparameters={"hidden.weight": [1.0, 2.0]}), "hidden.weight has 90 values, got 2"),
])
def test_options_that_cannot_be(options, message, source):
    with pytest.raises(InputError, match=message):
        NeuralNetwork(**options).fit(source)
    with pytest.raises(InputError, match="needs bag totals"):
        NeuralNetwork().fit(replace(source, aggregation="mean"))


# --- the flat baselines -----------------------------------------------------------------------

def test_constant_is_the_global_mean(source):
    """So that no other model of that name is needed."""
    plain = MODELS["constant"](overdispersion="none", nugget=0.0, tolerance=1e-10)
    law = plain.fit(source).at(source.bags)
    # Converged is to a decrement d of 1e-3 nats: the mean is then right to about √(2 d / total).
    right = float((2e-3 / source.targets.value.sum()).sqrt())
    assert right < 0.01
    torch.testing.assert_close(law.mean, source.mean_rate.expand(24), rtol=right, atol=0)


def test_bag_constant_repeats_the_bags(source):
    fit, bags = BagConstant().fit(source), source.bags
    expected = (source.targets.value / bags.totals)[bags.membership]
    torch.testing.assert_close(fit.at(bags).mean, expected)
    torch.testing.assert_close(fit.over(bags, torch.arange(6)).mean, source.targets.value)
    some = made.bags((3, 2), seed=8)
    with pytest.warns(ExtrapolationWarning, match="1 of 2 bags were not trained on"):
        known = fit.at(some, torch.tensor([4, -1])).mean
    assert known[:3].tolist() == [pytest.approx(float(expected[bags.membership == 4][0]))] * 3
    assert known[3:].tolist() == [pytest.approx(float(source.mean_rate))] * 2
    y = source.targets.value
    assert fit.objective == pytest.approx(scipy.stats.poisson(y).logpmf(y).sum())
    with pytest.raises(InputError, match="expected one entry per bag"):
        fit.at(some, torch.tensor([1]))


def test_bag_constant_has_no_noise_to_learn():
    source = made.continuous(made.bags(SIZES), known=[0.2] * 6)
    fit = BagConstant().fit(source)
    torch.testing.assert_close(fit.over(source.bags).mean, source.targets.value)
    with pytest.raises(InputError, match="noise='known'"):
        fit.simulate_bags(source.bags, None, 5, 0)
    known = BagConstant(noise="known").fit(source)
    assert known.simulate_bags(source.bags, None, 500, 0).std(0).mean() == pytest.approx(
        0.2**0.5, rel=0.1)
    with pytest.raises(InputError, match="takes mean from the totals"):
        BagConstant(priors={"mean": "none"}).fit(source)


# --- given hyperparameters --------------------------------------------------------------------

def test_nystrom_weights_follow_given_hyperparameters(source):
    options = dict(inducing=8, tolerance=1e-9, max_steps=2000)
    given = {"mean": 1.0, "matern32.variance": 0.5, "matern32.lengthscale": 30.0}
    fit = Nystrom(**options).condition(source, given)
    best = Nystrom(**options, hyperparameters=given, seed=0).fit(source)
    assert fit.objective == pytest.approx(best.objective, abs=1e-4)
    moved = best.with_hyperparameters({"matern32.lengthscale": 60.0})
    again = Nystrom(**options).condition(source, given | {"matern32.lengthscale": 60.0})
    assert moved.objective == pytest.approx(again.objective, abs=1e-4)
    assert moved.hyperparameters["matern32.lengthscale"]["value"] == pytest.approx(60.0)
    assert len(moved.history.objective) < len(again.history.objective)      # it starts near
    held = best.with_hyperparameters({"matern32.lengthscale": 60.0, "weights": [0.0] * 8})
    assert held.at(source.bags).mean.tolist() == pytest.approx([np.e] * 24)


def test_networks_and_flat_maps_move_with_what_is_given(fit, source):
    moved = fit.with_hyperparameters({"mean": 0.5})
    torch.testing.assert_close(moved.latent(source.bags).mean, fit.latent(source.bags).mean + 0.5)
    new = made.bags((3, 2), seed=8)
    flat = BagConstant().fit(source).with_hyperparameters({"mean": 3.0})
    with pytest.warns(ExtrapolationWarning, match="2 of 2 bags"):
        assert flat.at(new).mean.tolist() == [3.0] * 5
    with pytest.raises(InputError, match="missing: hidden.weight, hidden.bias, output.weight"):
        NeuralNetwork().condition(source, {"mean": 0.0})


def test_positives_out_of_trials_are_refused(source):
    bags = replace(source.bags, trials=source.targets.value + 5)
    for model in (NeuralNetwork, Nystrom, BagPixel, BagConstant):
        with pytest.raises(InputError, match="no likelihood; use vbagg"):
            model().fit(replace(source, bags=bags))
