"""Models of several sources: formulas against Monte Carlo, limits, composite weights, refusals."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.checks import ConvergenceWarning, InputError
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.models.registry import MODELS
from workbench.gp.models.several_sources import updates
from workbench.gp.models.several_sources.gprn import MRGPRN
from workbench.gp.models.several_sources.gprn_state import GPRNState
from workbench.gp.models.several_sources.magnitude import CompositeWarning, magnitudes
from workbench.gp.models.several_sources.mr_gp import MRGP
from workbench.gp.models.several_sources.products import at, bag_mean, bag_variance
from workbench.gp.models.several_sources.updates import optimise_q

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")

X = np.linspace(-2, 15, 90)
COLUMNS = Columns(("x",))


def source(x, y, size, name, task="value", aggregation="mean", weight=None):
    """Means (or sums) of runs of ``size`` points."""
    count = len(x) // size
    x, y = x[:count * size], y[:count * size].reshape(count, size)
    weight = np.ones(len(x)) if weight is None else weight[:len(x)]
    bags = Bags(torch.tensor(x)[:, None], torch.arange(count).repeat_interleave(size),
                torch.tensor(weight), count, COLUMNS, tuple(f"{name}{i}" for i in range(count)))
    value = y.mean(1) if aggregation == "mean" else y.sum(1)
    return Source(bags, Targets(torch.tensor(value)), aggregation, "continuous", name, task=task)


def noisy(seed, std=0.5):
    return 5 * np.sin(X)**2 + std * np.random.default_rng(seed).standard_normal(len(X))


def points(x):
    x = torch.as_tensor(np.asarray(x, dtype=float))[:, None]
    return Bags(x, torch.arange(len(x)), torch.ones(len(x)).double(), len(x), COLUMNS)


@pytest.fixture(scope="module")
def pair():
    y = noisy(0)
    return [source(X, y, 1, "points"), source(X, y, 3, "aggregates")]


# --- moments of products ---------------------------------------------------------------------


def random_q(state, seed):
    rng, q = np.random.default_rng(seed), []
    for field in state.fields:
        m = len(field.q_mean)
        root = 0.3 * rng.standard_normal((m, m)) / math.sqrt(m)
        mean = torch.tensor(0.5 * rng.standard_normal(m))
        q.append((mean, torch.tensor(root @ root.T + 0.05 * np.eye(m))))
    return q


def brute_draws(state, seen, q, task, samples, rng, positive=lambda weight: weight):
    """Draws of the bags' η from q, by joint Gaussians over all of the source's individuals."""
    x, n = seen.x, len(seen.x)

    def draw(g):
        field, (mean, covariance) = state.fields[g], q[g]
        phi = field.project(x).features.detach()
        full = (field.prior(x, x).detach() - phi @ phi.mT + phi @ covariance @ phi.mT)
        values, vectors = torch.linalg.eigh(full)
        root = vectors * values.clamp_min(0).sqrt()
        return phi @ mean + torch.tensor(rng.standard_normal((samples, n))) @ root.mT

    total = torch.zeros(samples, n).double()
    for k in range(state.q_count):
        total += positive(draw(state.weight(task, k))) * draw(k)
    return seen.part.operator(total)


def test_bag_moments_match_monte_carlo():
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 6, 12))
    weight = rng.uniform(0.5, 2, 12)
    first = source(x, np.cos(x), 3, "a", "one", weight=weight)
    ragged = replace(first.bags, membership=torch.tensor([0] * 5 + [1] * 1 + [2] * 4 + [3] * 2))
    sources = [replace(first, bags=ragged), source(x[:6], np.sin(x[:6]), 3, "b", "two", "sum")]
    state = GPRNState(MRGPRN(kernel="rbf", latent=2, inducing=4), sources)
    q = random_q(state, 1)
    for task, seen in enumerate(state.full):
        projections = state.projections(seen)
        w, f = state.factors(seen, at(projections, q))
        samples = 200_000
        draws = brute_draws(state, seen, q, task, samples, rng)
        mean, variance = bag_mean(seen.pairs, w, f), bag_variance(seen.pairs, w, f)
        error = draws.std(0) / math.sqrt(samples)
        assert ((draws.mean(0) - mean).abs() < 5 * error).all()
        fourth = (draws - draws.mean(0)).pow(4).mean(0)
        spread = ((fourth - draws.var(0)**2) / samples).sqrt()
        assert ((draws.var(0) - variance).abs() < 5 * spread).all()


def test_expected_log_likelihood_matches_monte_carlo_with_missing_rows():
    """Two tasks, two basis functions, bags of three, rows of the second task missing."""
    rng = np.random.default_rng(4)
    x = np.linspace(0, 5, 12)
    first = source(x, np.cos(x), 3, "a", "one")
    second = source(x, 2 + 3 * np.sin(x), 3, "a2", "two")
    kept = [0, 2, 3]
    rows = np.isin(second.bags.membership.numpy(), kept)
    bags = replace(second.bags, x=second.bags.x[rows], weight=second.bags.weight[rows],
                   membership=torch.arange(3).repeat_interleave(3), count=3, names=())
    second = replace(second, bags=bags, targets=Targets(second.targets.value[kept]),
                     trust=0.7)
    state = GPRNState(MRGPRN(kernel="rbf", latent=2, inducing=5), [first, second])
    q = random_q(state, 2)
    for task, (seen, trust) in enumerate(zip(state.full, (1.0, 0.7), strict=True)):
        scale, mean = state.sources.scale[task], float(state.means[task].natural.detach())
        y, variance = seen.part.value, seen.part.noise().detach()
        samples = 100_000
        eta = mean + scale * brute_draws(state, seen, q, task, samples, rng)
        logs = torch.distributions.Normal(eta, variance.sqrt()).log_prob(y).sum(1)
        found = float(state.expected(seen, at(state.projections(seen), q)).detach())
        error = float(logs.std()) / math.sqrt(samples)
        assert abs(found - trust * float(logs.mean())) < 5 * trust * error


def test_predictions_match_joint_draws():
    x = np.linspace(0, 6, 30)
    sources = [source(x, np.cos(2 * x), 1, "a", "one"), source(x, 3 + np.cos(2 * x) * x, 3, "b",
                                                               "two")]
    fit = MRGPRN(kernel="rbf", inducing=15, max_steps=15, tolerance=1e-3).fit(sources)
    new = points(np.linspace(0.5, 5.5, 9))
    for task in ("one", "two"):
        law, draws = fit.at(new, task=task), fit.draw(new, 20_000, 1, task)
        assert ((draws.mean(0) - law.mean).abs() < 6 * law.std / math.sqrt(20_000)).all()
        torch.testing.assert_close(draws.std(0), law.std, rtol=0.1, atol=1e-4)


@pytest.mark.parametrize("model", [MRGPRN(kernel="matern32", inducing=6, max_steps=5,
                                          tolerance=1e-2),
                                   MRGP(kernel="matern32", max_steps=5, tolerance=1e-2),
                                   MRGP(kernel="matern32", inducing=6, max_steps=5,
                                        tolerance=1e-2)])
@pytest.mark.filterwarnings("ignore:not converged")
def test_draws_have_the_spread_of_bag_means(model, pair):
    """Few inducing inputs: what they leave unexplained is shared inside a bag."""
    fit, bags = model.fit(pair[1]), pair[1].bags
    means = fit.draw(bags, 8000, 0).reshape(8000, -1, 3).mean(2)
    torch.testing.assert_close(means.std(0), fit.over(bags).std, rtol=0.06, atol=1e-4)


@pytest.mark.filterwarnings("ignore:not converged")
def test_each_source_is_answered_with_its_own_aggregation():
    y = noisy(2)
    means, sums = source(X, y, 1, "means"), source(X, y, 5, "sums", aggregation="sum")
    for name in ("mr-gp", "mr-gprn", "mr-dgp"):
        options = {"inducing": 20} if name != "mr-gp" else {}
        if name == "mr-dgp":
            options["joint_steps"] = 0
        fit = MODELS[name](kernel="rbf", max_steps=20, tolerance=1e-2, **options).fit(
            [means, sums])
        total = fit.over(sums.bags, source="sums").mean
        assert float((total - sums.targets.value).abs().mean()) < 2
        draws = fit.simulate_bags(sums.bags, None, 200, 0, source="sums")
        assert float((draws.mean(0) - sums.targets.value).abs().mean()) < 2
        assert float(fit.over(sums.bags, source="means").mean.mean()) < 4


def test_noise_has_a_prior_and_a_source_without_variation_does_not_rule():
    """Coarse values that are all alike are no exact observations."""
    fine, flat = source(X, noisy(3), 1, "fine"), source(X, np.full(90, 2.0), 5, "flat")
    fit = MRGP(kernel="rbf").fit([fine, flat])
    truth = torch.as_tensor(5 * np.sin(X)**2)
    assert float((fit.at(fine.bags).mean - truth).square().mean().sqrt()) < 0.5
    assert "source 'flat' are the same" in fit.history.notes[0]


def test_a_source_may_have_noise_of_its_own_kind(pair):
    known = replace(pair[0], targets=replace(
        pair[0].targets, noise_variance=torch.full((90,), 0.25).double()))
    fit = MRGP(kernel="rbf", noise="known", noises={"aggregates": "constant"}).fit(
        [known, pair[1]])
    assert "aggregates.noise.variance" in fit.hyperparameters
    assert "points.noise.variance" not in fit.hyperparameters
    with pytest.raises(InputError, match="source 'aggregates' has not"):
        MRGP(kernel="rbf", noise="known").fit([known, pair[1]])


def test_large_sources_are_learnt_on_clusters(pair):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 15, 6000))
    big = source(x, 5 * np.sin(x)**2, 200, "big")
    small = MRGP(kernel="rbf", compress=8).fit([pair[0], big])
    assert any("at most 8 clusters per bag" in note for note in small.history.notes)
    values = small.hyperparameters
    exact = MRGP(kernel="rbf").condition([pair[0], big], values)
    new = points(np.linspace(0, 10, 20))
    torch.testing.assert_close(small.at(new).mean, exact.at(new).mean)


@pytest.mark.slow
@pytest.mark.parametrize("name, options", [
    ("mr-gp", {}), ("mr-gprn", {"inducing": 25, "weights": "constant"})])
def test_intervals_cover_where_the_model_is_right(name, options):
    """Twelve fields from the prior, a fine source on a part and a coarse one: 95 % intervals."""
    inside = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = np.linspace(0, 12, 120)
        k = np.exp(-0.5 * ((x[:, None] - x) / 1.0)**2)
        f = 2 + np.linalg.cholesky(k + 1e-8 * np.eye(120)) @ rng.standard_normal(120)
        fine, coarse = np.arange(0, 60, 3), f.reshape(-1, 6).mean(1)
        a = source(x[fine], f[fine] + 0.2 * rng.standard_normal(20), 1, "a")
        b = replace(source(x, f, 6, "b"), targets=Targets(
            torch.tensor(coarse + 0.1 * rng.standard_normal(20))))
        lower, upper = MODELS[name](kernel="rbf", **options).fit([a, b]).at(points(x)).interval()
        inside.append(float(((f > lower.numpy()) & (f < upper.numpy())).mean()))
    assert 0.88 < np.mean(inside) <= 1


def test_means_over_bags_are_means_of_individuals(pair):
    fit = MRGPRN(kernel="rbf", inducing=20, max_steps=5, tolerance=1e-2).fit(pair)
    bags = pair[1].bags
    mean = torch.stack([m.mean() for m in fit.at(bags).mean.split(3)])
    torch.testing.assert_close(fit.over(bags).mean, mean)
    assert (fit.over(bags).std < fit.at(bags).std.reshape(-1, 3).amax(1) + 1e-9).all()


# --- limits ----------------------------------------------------------------------------------


def test_one_source_is_the_aggregated_gp():
    one = source(X, noisy(1), 3, "a")
    fit = MRGP(kernel="matern32").fit(one)
    peer = MODELS["aggregated-gp"](kernel="matern32", noise="constant").condition(
        one, fit.hyperparameters)
    assert fit.objective == pytest.approx(peer.objective, abs=1e-8)
    new = points(np.linspace(0, 10, 20))
    torch.testing.assert_close(fit.at(new).mean, peer.at(new).mean)
    torch.testing.assert_close(fit.at(new).variance, peer.at(new).variance)


def test_a_product_of_sources_is_vbagg_normal_on_all_of_them(pair):
    """Appendix E: one latent function, constant weights, composite weight one."""
    from workbench.gp.models.several_sources.sources import stack

    fit = MRGP(kernel="rbf", max_steps=3, tolerance=1e-2).fit(pair)
    values = fit.hyperparameters
    noise = torch.cat([torch.full((s.bags.count,), values[f"{s.name}.noise.variance"]["value"])
                       for s in pair]).double()
    both = Source(stack([s.bags for s in pair]),
                  Targets(torch.cat([s.targets.value for s in pair]), noise), "mean", "continuous")
    peer = MODELS["vbagg"](kernel="rbf", likelihood="normal", link="identity", noise="known",
                           inducing=200).condition(
        both, {k: v for k, v in values.items() if "noise" not in k})
    assert peer.objective == pytest.approx(fit.objective, abs=1e-2)
    new = points(np.linspace(0, 10, 20))
    torch.testing.assert_close(peer.at(new).mean, fit.at(new).mean, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(peer.at(new).variance, fit.at(new).variance, rtol=1e-3, atol=1e-5)


def test_composite_posterior_is_conditioning_with_tempered_noise(pair):
    trusted = [replace(pair[0], trust=0.5), replace(pair[1], trust=0.25)]
    values = {"mean": 2.0, "rbf.variance": 5.0, "rbf.lengthscale": 1.0,
              "points.noise.variance": 0.3, "aggregates.noise.variance": 0.1}
    tempered = {**values, "points.noise.variance": 0.6, "aggregates.noise.variance": 0.4}
    fit = MRGP(kernel="rbf").condition(trusted, values)
    peer = MRGP(kernel="rbf").condition(pair, tempered)
    new = points(np.linspace(0, 10, 20))
    torch.testing.assert_close(fit.at(new).mean, peer.at(new).mean)
    torch.testing.assert_close(fit.at(new).variance, peer.at(new).variance)
    # Of the log normaliser, by one dimension of quadrature: a single observation of a constant.
    one = source(np.zeros(1), np.array([1.3]), 1, "a")
    single = MRGP(kernel="constant").condition(
        replace(one, trust=0.4),
        {"mean": 0.2, "constant.variance": 2.0, "noise.variance": 0.5})
    grid = torch.linspace(-30, 30, 200_001).double()
    prior = torch.distributions.Normal(0.2, math.sqrt(2.0)).log_prob(grid)
    likelihood = torch.distributions.Normal(grid, math.sqrt(0.5)).log_prob(torch.tensor(1.3))
    exact = torch.trapezoid((prior + 0.4 * likelihood).exp(), grid).log()
    assert single.objective == pytest.approx(float(exact), abs=1e-6)


def test_inducing_inputs_at_the_data_are_exact(pair):
    values = {"mean": 2.0, "rbf.variance": 5.0, "rbf.lengthscale": 1.0,
              "points.noise.variance": 0.3, "aggregates.noise.variance": 0.1}
    trusted = [replace(pair[0], trust=0.5), pair[1]]
    exact = MRGP(kernel="rbf").condition(trusted, values)
    sparse = MRGP(kernel="rbf", inducing=90).condition(trusted, values)
    fewer = MRGP(kernel="rbf", inducing=10).condition(trusted, values)
    assert sparse.objective == pytest.approx(exact.objective, abs=1e-3)
    assert fewer.objective < exact.objective
    new = points(np.linspace(0, 10, 20))
    torch.testing.assert_close(sparse.at(new).variance, exact.at(new).variance, rtol=1e-3,
                               atol=1e-5)


def test_constant_weights_are_the_multi_resolution_gp(pair):
    trusted = [replace(pair[0], trust=0.5), pair[1]]
    network = MRGPRN(kernel="rbf", weights="constant", inducing=90)
    scale = GPRNState(network, trusted).sources.scale[0]
    noise = {"points.noise.variance": 0.3, "aggregates.noise.variance": 0.1}
    fit = network.condition(trusted, {"mean": 2.0, "f.rbf.variance": 5.0 / scale**2, "weight": 1.0,
                                      "f.rbf.lengthscale": 1.0, **noise})
    peer = MRGP(kernel="rbf").condition(
        trusted, {"mean": 2.0, "rbf.variance": 5.0, "rbf.lengthscale": 1.0, **noise})
    assert fit.objective == pytest.approx(peer.objective, abs=2e-3)
    assert fit.objective <= peer.objective + 1e-9
    new = points(np.linspace(0, 10, 20))
    torch.testing.assert_close(fit.at(new).mean, peer.at(new).mean, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(fit.over(pair[1].bags).variance, peer.over(pair[1].bags).variance,
                               rtol=1e-3, atol=1e-5)


def test_rounds_never_lower_the_bound(pair):
    state = GPRNState(MRGPRN(kernel="rbf", inducing=15, latent=2), pair)
    projections = [{g: s.detach() for g, s in state.projections(seen).items()}
                   for seen in state.full]
    reached = [float(state.bound(state.full, state.q).detach())]
    for _ in range(6):
        optimise_q(state, state.full, projections, rounds=2)
        reached.append(float(state.bound(state.full, state.q).detach()))
    assert (np.diff(reached) > -1e-8 * np.abs(reached[1:])).all()
    assert reached[-1] > reached[0] + 10


def test_a_search_that_ends_on_a_slope_begins_again(pair):
    fits = [MRGPRN(kernel="rbf", inducing=10, tolerance=tolerance).fit(pair)
            for tolerance in (1e-2, 1e-7)]
    assert all(fit.history.converged for fit in fits)
    assert fits[0].objective == pytest.approx(fits[1].objective, abs=0.05)


def test_a_search_comes_back_from_a_poor_q(pair):
    """With both factors at zero neither has anything to learn: rounds stay there."""
    state = GPRNState(MRGPRN(kernel="rbf", inducing=15), pair)
    reached = float(state.profile().detach())
    state.q = [(torch.zeros_like(mean), covariance) for mean, covariance in state.q]
    projections = [state.projections(seen) for seen in state.full]
    optimise_q(state, state.full, projections)
    assert float(state.bound(state.full, state.q).detach()) < reached - 10
    assert float(state.profile().detach()) >= reached - 1e-6


@pytest.mark.parametrize(("weights", "remedy"), [
    ("gp", "fix the hyperparameters of the weights"), ("constant", "fewer basis functions")])
def test_a_q_that_is_not_at_rest_is_told_and_counts_as_not_converged(
        pair, weights, remedy, monkeypatch):
    monkeypatch.setattr(updates, "_LEFT", -1.0)
    model = MRGPRN(kernel="rbf", inducing=8, max_steps=3, weights=weights)
    with pytest.warns(ConvergenceWarning, match="q is not at its optimum"):
        history = model.fit(pair).history
    assert not history.converged and any(remedy in note for note in history.notes)


# --- composite weights -----------------------------------------------------------------------


@pytest.mark.parametrize("estimate", ["ribatet", "lyddon"])
@pytest.mark.parametrize("per", ["all", "source"])
def test_a_source_that_is_there_twice_counts_half(estimate, per):
    one = source(X, noisy(0), 1, "a")
    fit = MRGP(kernel="rbf", composite=estimate, composite_per=per).fit(
        [one, replace(one, name="b")])
    assert list(fit.composite_weights.values()) == pytest.approx([0.5, 0.5], rel=1e-6)
    new = points(np.linspace(0, 10, 20))
    values = {k: v for k, v in fit.hyperparameters.items() if not k.startswith("b.")}
    values["noise.variance"] = values.pop("a.noise.variance")
    same = fit.with_hyperparameters({"b.noise.variance": values["noise.variance"]})
    alone = MRGP(kernel="rbf").condition(one, values)
    torch.testing.assert_close(same.at(new).variance, alone.at(new).variance)


def test_dependent_sources_count_half_and_independent_ones_whole():
    """Means over eight data sets: estimates of single ones scatter."""
    dependent, independent = [], []
    for seed in range(8):
        y, other = noisy(seed), noisy(100 + seed)
        for found, second in ((dependent, y), (independent, other)):
            model = MRGP(kernel="rbf", composite="ribatet", max_steps=60)
            found.append(model.weights_of(
                [source(X, y, 1, "a"), source(X, second, 3, "b")]).ribatet)
    assert 0.5 <= np.mean(dependent) < 0.65
    assert 0.75 < np.mean(independent) < 1.15


def test_the_composite_posterior_does_not_contract(pair):
    """Figure 2, left: relative to the posterior of the points alone."""
    new = points(np.linspace(3, 10, 100))
    alone = MRGP(kernel="rbf").fit(pair[0]).at(new).variance.mean()
    product = MRGP(kernel="rbf").fit(pair).at(new).variance.mean()
    composite = MRGP(kernel="rbf", composite="ribatet").fit(pair).at(new).variance.mean()
    assert product < 0.6 * alone
    assert 0.75 * alone < composite < 1.3 * alone


def test_magnitudes_of_known_matrices():
    rng = np.random.default_rng(0)
    h = np.diag([2.0, 5.0])
    g = rng.standard_normal((400, 2)) @ np.diag([1.0, 3.0])
    twice = magnitudes([h, h], [g, g])
    assert (twice.ribatet, twice.lyddon) == pytest.approx((0.5, 0.5))
    other = rng.standard_normal((400, 2))
    apart = magnitudes([h, h], [g, other])
    assert apart.ribatet == pytest.approx(1, abs=0.1)
    # One pair of copies and a source of its own: only the pair is taken down.
    three = magnitudes([h, h, h], [g, g, other])
    assert three.per_source["ribatet"] == pytest.approx([0.5, 0.5, 1], abs=0.1)
    with pytest.warns(CompositeWarning, match="above one"):
        opposed = magnitudes([h, h], [g, -0.5 * g + 0.1 * other])
    assert opposed.ribatet > 1


def test_an_ill_conditioned_curvature_is_told():
    h, g = np.diag([1.0, 1e-9]), np.random.default_rng(0).standard_normal((50, 2))
    with pytest.warns(CompositeWarning, match="condition number 1.0e"):
        found = magnitudes([h, h], [g, g])
    assert found.ribatet == pytest.approx(0.5)
    with pytest.warns(CompositeWarning, match="4 blocks of scores for 2"):
        magnitudes([np.eye(2), np.eye(2)], [g[:4], g[:4]])


def test_weights_come_with_the_sources_when_conditioned(pair):
    fit = MRGP(kernel="rbf", composite="ribatet").fit(pair)
    again = MRGP(kernel="rbf", composite="ribatet").condition(pair, fit.hyperparameters)
    assert again.composite_weights == pytest.approx(fit.composite_weights)
    new = points(np.linspace(0, 10, 20))
    torch.testing.assert_close(again.at(new).std, fit.at(new).std)


def test_a_source_that_says_little_takes_the_common_weight():
    """Bags of ten over a field that turns within them; their own estimate is wild."""
    wild = 0
    for seed in range(4):
        sources = [source(X, noisy(seed), 1, "a"), source(X, noisy(50 + seed), 10, "b")]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = MRGP(kernel="rbf", composite="ribatet", composite_per="source").weights_of(
                sources)
        wild += any("single sources are unreliable" in str(w.message) for w in caught)
        assert ((found.weights > 0.2) & (found.weights < 2.5)).all()
    assert wild > 0


def test_fixed_kernels_have_no_scores(pair):
    with pytest.warns(CompositeWarning, match="no kernel hyperparameter is free"):
        fit = MRGP(kernel="rbf", composite="ribatet", hyperparameters={
            "rbf.variance": 5.0, "rbf.lengthscale": 1.0}).fit(pair)
    assert set(fit.composite_weights.values()) == {1.0}


@pytest.mark.filterwarnings("ignore:not converged")
def test_unreliable_weights_of_a_network_are_told():
    y = noisy(0)
    few = [source(X[:4], y[:4], 1, "points"), source(X[:4], y[:4], 4, "aggregates")]
    with pytest.warns(CompositeWarning, match="unreliable"):
        MRGPRN(kernel="rbf", composite="ribatet", inducing=4, max_steps=2, tolerance=1e-1).fit(few)


def test_network_weights_are_those_of_the_gp(pair):
    network = MRGPRN(kernel="rbf", composite="ribatet", inducing=20, max_steps=10,
                     tolerance=1e-2).fit(pair)
    assert network.composite_weights["points"] == pytest.approx(0.53, abs=0.12)


# --- tasks -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_task_learns_from_another():
    """A gap of one task is filled from coarse means of the other."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 12, 120)
    f = np.sin(4 * x) + 0.5 * np.sin(0.7 * x)
    gap = (x > 5) & (x < 7)
    one = source(x[~gap], 3 + f[~gap] + 0.05 * rng.standard_normal((~gap).sum()), 1, "one", "one")
    two = source(x, 10 - 4 * f + 0.2 * rng.standard_normal(120), 2, "two", "two")
    new = points(x[gap])
    options = dict(kernel="rbf", inducing=30, max_steps=30, tolerance=1e-4)
    error = {}
    for name, sources in (("alone", [one]), ("both", [one, two])):
        law = MRGPRN(**options).fit(sources).at(new)
        error[name] = float((law.mean - torch.as_tensor(3 + f[gap])).square().mean().sqrt())
    assert error["both"] < 0.1 * error["alone"]
    assert error["both"] < 0.15


def test_the_centre_point_network_sees_centres(pair):
    new = points(np.linspace(0, 10, 20))
    model = MODELS["centre-point-gprn"](kernel="rbf", inducing=20, max_steps=5, tolerance=1e-2)
    centred = replace(pair[1], bags=pair[1].bags.centres())
    fit = model.fit(pair)
    same = MRGPRN(kernel="rbf", inducing=20, max_steps=5, tolerance=1e-2)
    peer = same.condition([pair[0], centred], fit.hyperparameters)
    torch.testing.assert_close(fit.at(new).mean, peer.at(new).mean, rtol=0.05, atol=0.05)


# --- refusals --------------------------------------------------------------------------------


def test_sources_that_do_not_go_together(pair):
    other = replace(pair[1], task="another")
    with pytest.raises(InputError, match="sources of one task"):
        MRGP().fit([pair[0], other])
    with pytest.raises(InputError, match="different names"):
        MRGP().fit([pair[0], pair[0]])
    with pytest.raises(InputError, match="there are no sources"):
        MRGP().fit([])
    named = replace(pair[1].bags, columns=Columns(("t",)))
    with pytest.raises(InputError, match="same covariates in the same units"):
        MRGP().fit([pair[0], replace(pair[1], bags=named)])
    fit = MRGP(kernel="rbf", max_steps=2, tolerance=1e-1).fit(pair)
    empty = torch.full((90,), float("nan")).double()
    with pytest.raises(InputError, match="90 values of source 'points' are not finite"):
        MRGP().fit([replace(pair[0], targets=Targets(empty)), pair[1]])
    with pytest.raises(InputError, match="task 'tsak' is unknown"):
        fit.at(pair[0].bags, task="tsak")
    with pytest.raises(InputError, match="did you mean 'points'"):
        fit.simulate_bags(pair[0].bags, None, 3, 0, source="pionts")
    with pytest.raises(InputError, match="did you mean 'ribatet'"):
        MRGP(composite="ribate")


def test_progress_can_be_cancelled(pair):
    _, stop = made.cancelling(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = MRGPRN(kernel="rbf", inducing=15).fit(pair, callback=stop)
    assert fit.history.cancelled
    assert torch.isfinite(fit.at(pair[0].bags).mean).all()
