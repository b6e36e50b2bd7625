"""Markov chain Monte Carlo of points and aggregates, against exact conditionals and quadrature."""

import subprocess
import sys
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal, multivariate_t, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from workbench.checks import InputError
from workbench.papers.hamelijnck2019.full_bayes import (
    LIKELIHOODS,
    NAMES,
    Priors,
    Problem,
    conditional,
    draw_latent,
    evidence_gradient,
    figure5,
    log_evidence,
    metropolis,
    nuts,
)
from workbench.papers.hamelijnck2019.full_bayes.diagnostics import effective_size, rhat, summary
from workbench.papers.hamelijnck2019.full_bayes.figure5 import SIZES, pairs
from workbench.papers.hamelijnck2019.full_bayes.modes import JumpProposal, Mode, _mode, modes

LOGS = np.log([2.0, 1.3, 0.6, 0.3])
TIGHT = Priors(median=(2.0, 1.0, 0.7, 0.5), sigma=(0.5, 0.5, 0.5, 0.5))
STANDARD_ERRORS = 5
CASES = {"dependent": 1.0, "product": 1.0, "composite": (0.7, 0.4)}
every_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)


@cache
def problem(likelihood: str, weights=None) -> Problem:
    """Six points in three bags of two, unequally spaced and unequally weighted."""
    rng = np.random.default_rng(3)
    x = np.array([0.0, 0.7, 1.1, 2.0, 2.9, 3.3])
    operator = np.array([[0.5, 0.5, 0, 0, 0, 0], [0, 0, 0.3, 0.7, 0, 0], [0, 0, 0, 0, 0.5, 0.5]])
    points = 1.5 * np.sin(x) + 0.6 * rng.standard_normal(6)
    aggregates = operator @ points + 0.3 * rng.standard_normal(3)
    return Problem(x, points, aggregates, operator, likelihood, weights or CASES[likelihood],
                   TIGHT)


def standard_error(draws: np.ndarray) -> np.ndarray:
    """Of the mean of chains (C, S, ...), by the spread of the means of long batches."""
    batches = np.stack(np.array_split(draws[:, : draws.shape[1] // 20 * 20], 20, axis=1))
    means = batches.mean(2)                                             # (20, C, ...)
    return means.reshape(-1, *draws.shape[2:]).std(0, ddof=1) / np.sqrt(20 * len(draws))


def agrees(draws: np.ndarray, expected: np.ndarray) -> None:
    """The mean of chains (C, S, ...) is as expected, within Monte Carlo error."""
    z = (draws.mean((0, 1)) - expected) / standard_error(draws)
    assert np.all(np.abs(z) < STANDARD_ERRORS), z


# -- the density -------------------------------------------------------------------------------

def test_a_gaussian_to_a_power_is_a_wider_gaussian():
    y, sigma, phi = 1.7, 0.6, 0.35
    constant = (1 - phi) / 2 * np.log(2 * np.pi * sigma**2) - np.log(phi) / 2
    assert phi * norm.logpdf(y, 0.2, sigma) == pytest.approx(
        norm.logpdf(y, 0.2, sigma / np.sqrt(phi)) + constant, abs=1e-13)


@every_likelihood
def test_joint_density_is_evidence_times_conditional(likelihood):
    case = problem(likelihood)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        logs, f = LOGS + 0.5 * rng.standard_normal(4), rng.standard_normal(6)
        posterior = multivariate_normal(*conditional(case, logs)).logpdf(f)
        assert case.log_density(f, logs) == pytest.approx(log_evidence(case, logs) + posterior,
                                                          abs=1e-6)


def test_joint_density_is_that_of_the_factors_written_out():
    rng, sigma = np.random.default_rng(0), np.exp(LOGS[2:])
    f = rng.standard_normal(6)
    for likelihood in LIKELIHOODS:
        case = problem(likelihood)
        of_field = multivariate_normal(np.zeros(6), case.kernel(LOGS)).logpdf(f)
        told = case.points if likelihood == "dependent" else f
        factors = [norm.logpdf(case.points, f, sigma[0]).sum(),
                   norm.logpdf(case.aggregates, case.operator @ told, sigma[1]).sum()]
        prior = norm.logpdf(LOGS, np.log(TIGHT.median), TIGHT.sigma).sum()
        expected = of_field + np.dot(np.broadcast_to(CASES[likelihood], 2), factors) + prior
        assert case.log_density(f, LOGS) == pytest.approx(expected, abs=1e-9)


def slope(function, at):
    """Central differences of a function at a vector."""
    backward = -approx_fprime(-at, lambda v: function(-v), 1e-6)
    return (approx_fprime(at, function, 1e-6) + backward) / 2


@every_likelihood
def test_gradients_are_those_of_finite_differences(likelihood):
    case, f = problem(likelihood), np.random.default_rng(1).standard_normal(6)
    by_f, by_logs = case.gradient(f, LOGS)
    assert by_f == pytest.approx(slope(lambda v: case.log_density(v, LOGS), f), abs=1e-4)
    assert by_logs == pytest.approx(slope(lambda v: case.log_density(f, v), LOGS), abs=1e-4)
    assert evidence_gradient(case, LOGS) == pytest.approx(
        slope(lambda v: log_evidence(case, v), LOGS), abs=1e-4)


def test_the_composite_posterior_is_conditioning_with_wider_noise():
    phi = np.array([0.7, 0.4])
    wider = LOGS - np.concatenate([np.zeros(2), 0.5 * np.log(phi)])
    mean, covariance = conditional(problem("composite"), LOGS)
    same_mean, same_covariance = conditional(problem("product"), wider)
    assert mean == pytest.approx(same_mean, abs=1e-10)
    assert covariance == pytest.approx(same_covariance, abs=1e-10)


def test_the_true_posterior_of_f_is_that_of_the_points_alone():
    case = problem("dependent")
    kernel = ConstantKernel(np.exp(LOGS[0])) * RBF(np.exp(LOGS[1]))
    peer = GaussianProcessRegressor(kernel, alpha=np.exp(2 * LOGS[2]), optimizer=None)
    peer.fit(case.x[:, None], case.points)
    mean, covariance = peer.predict(case.x[:, None], return_cov=True)
    ours = conditional(case, LOGS)
    assert ours[0] == pytest.approx(mean, abs=1e-6)
    assert ours[1] == pytest.approx(covariance, abs=1e-6)


def test_aggregates_teach_the_aggregate_noise_alone_under_the_true_likelihood():
    case = problem("dependent")
    other = Problem(case.x, case.points, case.aggregates + 3, case.operator, priors=TIGHT)
    change = evidence_gradient(other, LOGS) - evidence_gradient(case, LOGS)
    assert np.all(change[:3] == 0) and change[3] > 1


def test_the_product_is_narrower_than_the_truth():
    sd = {name: np.sqrt(conditional(problem(name), LOGS)[1].diagonal())
          for name in ("dependent", "product")}
    assert np.all(sd["product"] < 0.95 * sd["dependent"])


# -- samplers ----------------------------------------------------------------------------------

@pytest.mark.parametrize("likelihood, scheme", [
    *product(LIKELIHOODS, ["collapsed"]), ("product", "white"), ("dependent", "algorithm-3"),
    ("composite", "algorithm-3")])
def test_f_at_fixed_hyperparameters_has_its_exact_conditional(likelihood, scheme):
    case = problem(likelihood)
    held = {name: 0 for name in metropolis.MOVES[scheme] if name != "latent"}
    moves = held | {"latent": 1 if scheme == "collapsed" else 10}
    chains = metropolis.sample(case, steps=1500, burn_in=300, chains=2, seed=2, scheme=scheme,
                               moves=moves, start=dict(zip(NAMES, np.exp(LOGS), strict=True)))
    assert chains.logs == pytest.approx(np.broadcast_to(LOGS, chains.logs.shape))
    mean, covariance = conditional(case, LOGS)
    off = chains.latent - mean
    agrees(chains.latent, mean)
    agrees(off[..., :, None] * off[..., None, :], covariance)


def test_a_draw_of_f_has_its_exact_conditional():
    rng, case = np.random.default_rng(0), problem("composite")
    draws = np.array([draw_latent(case, LOGS, rng) for _ in range(3000)])[None]
    mean, covariance = conditional(case, LOGS)
    agrees(draws, mean)
    agrees((draws - mean)[..., :, None] * (draws - mean)[..., None, :], covariance)


@cache
def quadrature(likelihood: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Posterior means of the logarithms (4,) and of their squares (4,), on a grid of 10⁴; log mass
    of all."""
    case = problem(likelihood)
    axis = np.linspace(-3.6, 3.6, 10)
    grid = np.log(TIGHT.median) + np.array(list(product(axis, repeat=4))) * TIGHT.sigma
    values = np.array([log_evidence(case, logs) for logs in grid])
    weight = softmax(values)
    cell = np.prod((axis[1] - axis[0]) * np.array(TIGHT.sigma))
    return weight @ grid, weight @ grid**2, float(logsumexp(values) + np.log(cell))


def has_moments_of_quadrature(chains, likelihood):
    mean, square, _ = quadrature(likelihood)
    agrees(chains.logs, mean)
    agrees((chains.logs - mean) ** 2, square - mean**2)


@pytest.mark.parametrize("likelihood, scheme, moves", [
    ("dependent", "collapsed", {"hyperparameters": 2, "jump": 0}),
    ("composite", "collapsed", {"hyperparameters": 2, "jump": 0}),
    ("product", "collapsed", {"hyperparameters": 0, "jump": 2}),
    ("composite", "white", {"latent": 5}), ("composite", "algorithm-3", {"latent": 5})])
def test_gibbs_has_the_moments_of_quadrature(likelihood, scheme, moves):
    chains = metropolis.sample(problem(likelihood), steps=2000, burn_in=700, chains=2, seed=5,
                               scheme=scheme, moves=moves)
    has_moments_of_quadrature(chains, likelihood)


def test_chains_jump_out_of_a_mode_that_has_hardly_any_mass():
    x, _, points, aggregates, operator = pairs(100, -2.0, 15.0, 1)
    case = Problem(x, points, aggregates, operator, "product")
    heaviest, lesser = modes(case)[:2]
    assert heaviest.log_mass > lesser.log_mass + 50
    start = dict(zip(NAMES, np.exp(lesser.place), strict=True))
    there, stuck = (metropolis.sample(case, steps=60, burn_in=60, chains=2, start=start,
                                      moves=moves) for moves in ({}, {"jump": 0}))
    away = [np.abs(heaviest.white(one.logs.reshape(-1, 4).mean(0))).max()
            for one in (there, stuck)]
    assert away[0] < 3 < away[1]
    assert there.acceptance["jump"].min() > 0 and "jump" not in there.scales


def test_modes_have_the_shares_of_importance_sampling():
    x, _, points, aggregates, operator = pairs(40, 3.0, 10.0, 1)
    case = Problem(x, points, aggregates, operator, "composite", (1.0, 0.25))
    proposal, rng = JumpProposal(modes(case)), np.random.default_rng(0)
    drawn = np.array([proposal.draw(rng) for _ in range(2000)])
    weight = softmax([log_evidence(case, one) - proposal.log_density(one) for one in drawn])
    short = drawn[:, 1] < np.log(0.5)           # the lengthscale of f that takes noise for signal
    expected = weight[short].sum()
    error = np.sqrt(np.sum(weight**2 * (short - expected) ** 2))
    assert 0.1 < expected < 0.4 and error < 0.03
    chains = metropolis.sample(case, steps=700, burn_in=150, chains=2)
    here = (chains.logs[..., 1] < np.log(0.5)).astype(float)
    assert here.mean() == pytest.approx(expected, abs=5 * np.hypot(error, standard_error(here)))
    assert np.abs(np.diff(here, axis=1)).sum() > 50     # from one to the other, and back


def test_modes_and_their_masses_are_those_of_quadrature():
    case = problem("product")
    (mode, *_), (mean, square, log_mass) = modes(case), quadrature("product")
    sd = np.sqrt(square - mean**2)
    assert mode.place == pytest.approx(mean, abs=0.6 * sd.max())
    assert evidence_gradient(case, mode.place) == pytest.approx(0, abs=1e-3)
    assert np.sqrt((mode.root @ mode.root.T).diagonal()) == pytest.approx(sd, rel=0.3)
    assert mode.log_mass == pytest.approx(log_mass, abs=0.3)
    # Where a search was not at its end there is no mode, whatever the curvature.
    assert _mode(case, mode.place) is not None
    assert _mode(case, mode.place + 0.3 * mode.root[:, 0]) is None
    with pytest.raises(InputError, match="no mode"):
        modes(case, starts=0)


def test_jumps_have_the_density_that_they_are_drawn_from():
    two = [Mode(np.full(4, shift), np.tril(np.full((4, 4), 0.3)) + np.eye(4), mass)
           for shift, mass in ((0.0, -3.0), (4.0, -4.0))]
    proposal, rng = JumpProposal(two), np.random.default_rng(0)
    share = 0.9 / (1 + np.exp(-1)) + 0.05
    each = [multivariate_t(one.place, one.root @ one.root.T, df=5) for one in two]
    for logs in (np.zeros(4), np.array([1.0, 5.0, 2.0, -3.0])):
        expected = np.log(share * each[0].pdf(logs) + (1 - share) * each[1].pdf(logs))
        assert proposal.log_density(logs) == pytest.approx(expected, abs=1e-10)
    draws = np.array([proposal.draw(rng) for _ in range(4000)])
    low = np.mean(each[0].pdf(draws) * share > each[1].pdf(draws) * (1 - share))
    theirs = np.concatenate([each[k].rvs(int(20_000 * p), random_state=k)
                             for k, p in ((0, share), (1, 1 - share))])
    expected = np.mean(each[0].pdf(theirs) * share > each[1].pdf(theirs) * (1 - share))
    assert low == pytest.approx(expected, abs=0.03)
    assert np.quantile(draws, [0.1, 0.5, 0.9], axis=0) == pytest.approx(
        np.quantile(theirs, [0.1, 0.5, 0.9], axis=0), abs=0.25)


def test_nuts_has_the_moments_of_quadrature():
    pytest.importorskip("numpyro")
    chains = nuts.sample(problem("composite"), steps=600, burn_in=200, chains=2, seed=1)
    assert chains.divergences.sum() == 0
    has_moments_of_quadrature(chains, "composite")


def test_nuts_sees_the_same_evidence():
    jax = pytest.importorskip("jax")
    linalg = pytest.importorskip("jax.scipy.linalg")
    with jax.enable_x64(True):
        for likelihood in LIKELIHOODS:
            case = problem(likelihood)
            theirs = log_evidence(case, jax.numpy.asarray(LOGS), jax.numpy, linalg)
            assert float(theirs) == pytest.approx(log_evidence(case, LOGS), abs=1e-10)


def test_weights_of_one_are_the_product():
    runs = [metropolis.sample(case, steps=50, burn_in=20, chains=2, seed=4)
            for case in (problem("product"), problem("composite", (1.0, 1.0)))]
    assert np.array_equal(runs[0].logs, runs[1].logs)
    assert np.array_equal(runs[0].latent, runs[1].latent)


def test_a_seed_gives_the_same_chains_and_chains_differ():
    first, again, other = (metropolis.sample(problem("product"), steps=20, burn_in=10, chains=2,
                                             seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.logs, again.logs)
    assert not np.any(first.logs[0] == first.logs[1])
    assert not np.any(first.logs == other.logs)


def test_steps_adapt_in_burn_in_only():
    still = metropolis.sample(problem("product"), steps=300, burn_in=0, chains=1, scheme="white")
    assert {name: value.item() for name, value in still.scales.items()} == pytest.approx(
        {"kernel": 0.3, "latent": 0.1, "noise": 0.3})
    tuned = metropolis.sample(problem("product"), steps=800, burn_in=800, chains=1, scheme="white",
                              moves={"latent": 2, "noise": 2})
    for name, wanted in (("kernel", 0.35), ("latent", 0.25), ("noise", 0.35)):
        assert tuned.acceptance[name].item() == pytest.approx(wanted, abs=0.12), name


# -- diagnostics and the figure ----------------------------------------------------------------

def autoregressive(rho: float, chains: int = 4, steps: int = 5000) -> np.ndarray:
    """Stationary chains of unit variance whose effective number is (1 - ρ)/(1 + ρ) of theirs."""
    noise = np.random.default_rng(0).standard_normal((steps, chains)) * np.sqrt(1 - rho**2)
    draws = np.empty((steps, chains))
    draws[0] = noise[0] / np.sqrt(1 - rho**2)
    for step in range(1, steps):
        draws[step] = rho * draws[step - 1] + noise[step]
    return draws.T


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression(rho):
    draws = autoregressive(rho)
    expected = draws.size * (1 - rho) / (1 + rho)
    assert effective_size(draws) == pytest.approx(expected, rel=0.15)
    assert effective_size(draws, "mean") == pytest.approx(expected, rel=0.15)
    assert rhat(draws) == pytest.approx(1, abs=0.01)


def test_rhat_sees_chains_that_differ_in_place_or_in_spread():
    draws = autoregressive(0.0)
    scaled = np.stack([draws + np.arange(4)[:, None], draws * np.array([1, 1, 1, 4])[:, None]], -1)
    assert rhat(scaled).shape == (2,)
    assert np.all(rhat(scaled) > 1.05)


def test_the_summary_leaves_out_what_was_held():
    chains = metropolis.sample(problem("product"), steps=100, burn_in=0, chains=2,
                               scheme="algorithm-3", moves={"kernel": 0},
                               start={"variance": 2.0, "lengthscale": 1.0})
    assert set(summary(chains)) == {"point_noise", "aggregate_noise", "latent"}


def test_figure_5(monkeypatch):
    monkeypatch.setitem(SIZES, "quick", {"inputs": (3.0, 10.0, 40), "chains": 1,
                                         "gibbs": (300, 300)})
    answer = figure5({"half": 0.5, "eighth": (0.125, 0.125)}, seed=1)
    assert set(answer.latent) == {"dependent", "product", "half", "eighth"}
    assert answer.latent["half"].mean.shape == answer.x.shape == (40,)
    assert answer.point_noise["product"].shape == (300,)
    # the product is contracted, half the weight recovers the truth, an eighth is too little
    assert answer.relative_sd("product") < 0.6
    assert 0.8 < answer.relative_sd("half") < 1.4 < answer.relative_sd("eighth")
    noise = {name: np.mean(draws) for name, draws in answer.point_noise.items()}
    assert noise["product"] < 0.5 * noise["dependent"]
    assert noise["half"] == pytest.approx(noise["dependent"], rel=0.2)


def test_pairs_are_as_stated():
    x, truth, points, aggregates, operator = pairs(2000, 3.0, 10.0, 0)
    assert operator.sum(1) == pytest.approx(1.0)
    assert np.std(points - truth) == pytest.approx(1.0, rel=0.05)
    assert np.std(aggregates - (points[::2] + points[1::2]) / 2) == pytest.approx(0.1, rel=0.06)


# -- errors ------------------------------------------------------------------------------------

@pytest.mark.parametrize("change, said", [
    ({"points": [1.0, np.nan]}, "finite points"),
    ({"points": [1.0]}, "every input needs its point"),
    ({"aggregates": []}, "aggregates of shape"),
    ({"operator": [[1.0, 0.0], [0.0, 1.0]]}, "row per aggregate"),
    ({"operator": [[0.0, 0.0]]}, "leave it out"),
    ({"x": 1.0}, "x of shape"),
    ({"likelihood": "compsite"}, "did you mean 'composite'"),
    ({"weights": 0.5}, "has no weights"),
    ({"likelihood": "composite", "weights": -1.0}, "positive, finite weights"),
    ({"likelihood": "composite", "weights": (1, 1, 1)}, "one per source"),
])
def test_a_problem_refuses(change, said):
    good = {"x": [0.0, 1.0], "points": [1.0, 2.0], "aggregates": [1.5], "operator": [[0.5, 0.5]]}
    Problem(**good)
    with pytest.raises(InputError, match=said):
        Problem(**(good | change))


@pytest.mark.parametrize("options, said", [
    ({"steps": 0}, "steps a whole number"), ({"seed": -1}, "seed"),
    ({"scheme": "collapse"}, "did you mean 'collapsed'"),
    ({"moves": {"noise": 1}}, "block 'noise' is unknown"),
    ({"moves": {"latent": 0}}, "one move of latent"), ({"start": {"variance": 0}}, "positive"),
])
def test_gibbs_refuses(options, said):
    with pytest.raises(InputError, match=said):
        metropolis.sample(problem("product"), **options)


def test_other_refusals():
    with pytest.raises(InputError, match="four positive"):
        Priors(median=(1.0, 1.0, 1.0))
    with pytest.raises(InputError, match="another name"):
        figure5({"product": 0.5})
    with pytest.raises(InputError, match="even number"):
        pairs(3, 0.0, 1.0, 0)
    with pytest.raises(InputError, match="two chains"):
        rhat(np.zeros((1, 10)))
    with pytest.raises(InputError, match="target"):
        nuts.sample(problem("product"), target=1.0)


def test_gibbs_needs_no_extra_and_nuts_names_its_own():
    code = ("import sys; sys.modules['numpyro'] = None\n"
            "from workbench.papers.hamelijnck2019.full_bayes import Problem, metropolis, nuts\n"
            "p = Problem([0.0, 1.0], [1.0, 2.0], [1.5], [[0.5, 0.5]])\n"
            "c = metropolis.sample(p, steps=5, burn_in=5)\n"
            "try: nuts.sample(p)\n"
            "except ImportError as error: print('[sampling]' in str(error))\n"
            "print(sorted({'torch', 'xarray', 'jax'} & set(sys.modules)))\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          cwd=Path(__file__).parents[2], timeout=120)
    assert done.stdout.split("\n")[:2] == ["True", "[]"], done.stderr
