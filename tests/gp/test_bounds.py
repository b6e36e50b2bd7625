"""The named forms of E log η against the published table, brute force and finite differences."""

import numpy as np
import pytest
import torch
from scipy import special, stats

from workbench.checks import InputError
from workbench.gp.expectations import BOUNDS, DEFAULT_BOUND, bound_named
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.inference.objectives import elbo, expected_log_likelihood
from workbench.gp.likelihoods import Binomial, Poisson
from workbench.gp.numerics.special import expected_log_square
from workbench.papers.law2018.gaps import REGIMES, brute_force, explicit_view, gaps, view_of_regime

DRAWS = 40_000


def bound_of_one(data, bound, likelihood, y, mean, covariance):
    """The evidence lower bound of one source."""
    expected = expected_log_likelihood(data, bound, likelihood, y, mean, covariance)
    return elbo([expected], mean, covariance)


def moments(link, name, view):
    width = view.projection.features.shape[1]
    return BOUNDS[link, name].moments(view, torch.zeros(width).double(), torch.eye(width).double())


def paper_case(n, sd):
    """Section 4.4 of the notes: m = 1.5 + 0.5 sin x on [0, 3], RBF covariance with sd², p = 1."""
    x = np.linspace(0, 3, n)
    mean = 1.5 + 0.5 * np.sin(x)
    gram = sd**2 * np.exp(-0.5 * (x[:, None] - x) ** 2) + 1e-12 * np.eye(n)
    return explicit_view([n], mean, np.linalg.cholesky(gram))


def monte_carlo(view, link, draws=DRAWS, **options):
    """Mean of log η of each bag and its standard error."""
    logs = np.log(brute_force(view, link, draws, **options))
    return logs.mean(0), logs.std(0, ddof=1) / np.sqrt(draws)


# N, sd, E log Σv² (Monte Carlo), ζ, Lemma 1, then E log Σeᵛ (Monte Carlo), Jensen, log E Σeᵛ.
# With N = 1, linspace(0, 3, 1) is the single point 0.
TABLE = [
    (1, 1.0, 0.343, 0.658, 0.338, 1.504, 1.500, 2.000),
    (2, 0.3, 1.550, 1.552, 1.510, 2.251, 2.229, 2.274),
    (10, 0.3, 3.482, 3.482, 3.457, 4.134, 4.116, 4.161),
    (10, 1.0, 3.469, 3.518, 3.095, 4.297, 4.116, 4.616),
    (150, 0.3, 6.218, 6.220, 6.197, 6.866, 6.851, 6.896),
    (150, 1.0, 6.188, 6.241, 5.840, 7.019, 6.851, 7.351),
]


@pytest.mark.slow
@pytest.mark.parametrize("n, sd, log_square, zeta, lemma, log_exp, jensen, log_mean", TABLE)
def test_published_table(n, sd, log_square, zeta, lemma, log_exp, jensen, log_mean):
    view = paper_case(n, sd)
    moment = moments("exp", "moment", view)
    for link, name, expected in (("square", "taylor", zeta), ("square", "jensen", lemma),
                                 ("exp", "jensen", jensen)):
        assert float(moments(link, name, view).log_mean) == pytest.approx(expected, abs=1e-3)
    assert float(moment.mean.log()) == pytest.approx(log_mean, abs=1e-3)
    # The table's Monte Carlo has an error of 1e-3 to 5e-3; the moment form comes close to it.
    assert float(moment.log_mean) == pytest.approx(log_exp, abs=0.03 if sd == 1 else 3e-3)
    for link, expected in (("square", log_square), ("exp", log_exp)):
        values, error = monte_carlo(view, link)
        assert abs(values[0] - expected) < 4.5 * error[0] + 5e-3
        sampled = float(moments(link, "monte-carlo", view).log_mean)
        assert sampled == pytest.approx(values[0], abs=0.05 if n == 1 else 0.01)


# Largest error of E log η that is tolerated, in nats, by bound and regime; Jensen's gaps in the
# same regimes are up to ten times larger.
_EXP = {"narrow": 5e-4, "common": 0.002, "individual": 0.005, "wide": 0.02, "heavy weights": 0.01,
        "very wide": 0.1, "few individuals": 0.02}
_LOGIT = {"narrow": 5e-4, "common": 0.002, "individual": 0.002, "wide": 0.01,
          "heavy weights": 0.002, "very wide": 0.02, "few individuals": 0.01}
# Prevalences of 4 to 15 %, the sd of f up to 1.5 of the probit scale: heavy tails below.
_PROBIT = {"narrow": 5e-4, "common": 0.006, "individual": 0.025, "wide": 0.1,
           "heavy weights": 0.045, "very wide": 0.17, "few individuals": 0.16}
# ζ and the Gamma form fail for one individual, where log f² has a long tail below.
_TAYLOR = {"narrow": 0.002, "common": 0.15, "individual": 0.15, "wide": 0.4, "heavy weights": 0.08,
           "very wide": 0.4, "few individuals": 0.3}
_GAMMA = {"narrow": 0.002, "common": 0.12, "individual": 0.12, "wide": 0.25, "heavy weights": 0.06,
          "very wide": 0.2, "few individuals": 0.2}
# Sobol points: 256 of them are worth thousands of random draws.
_SAMPLED = {"narrow": 0.001, "common": 0.01, "individual": 0.01, "wide": 0.03,
            "heavy weights": 0.01, "very wide": 0.04, "few individuals": 0.03}
TOLERANCES = {
    ("exp", "moment"): _EXP, ("logit", "moment"): _LOGIT, ("square", "taylor"): _TAYLOR,
    ("square", "taylor-lowrank"): _TAYLOR, ("square", "gamma"): _GAMMA,
    ("exp", "monte-carlo"): _SAMPLED, ("square", "monte-carlo"): _SAMPLED,
    ("logit", "monte-carlo"): _SAMPLED,
    ("probit", "moment"): _PROBIT, ("probit", "monte-carlo"): _SAMPLED,
}


@pytest.mark.parametrize("name", REGIMES)
@pytest.mark.parametrize("link", ["exp", "square"])
def test_jensen_is_a_lower_bound(link, name):
    view = view_of_regime(REGIMES[name], link)
    values, error = monte_carlo(view, link)
    assert (moments(link, "jensen", view).log_mean.numpy() <= values + 4.5 * error).all()


@pytest.mark.parametrize("name", REGIMES)
@pytest.mark.parametrize("key", TOLERANCES, ids=" ".join)
def test_approximations_against_monte_carlo(key, name):
    link, bound = key
    view = view_of_regime(REGIMES[name], link)
    got = moments(link, bound, view)
    values, error = monte_carlo(view, link)
    gap = np.abs(got.log_mean.numpy() - values)
    assert (gap < TOLERANCES[key][name] + 4.5 * error).all(), gap
    if bound != "monte-carlo":
        # E η is exact, whatever the regime.
        eta = brute_force(view, link, DRAWS, seed=1)
        assert (np.abs(eta.mean(0) - got.mean.numpy()) < 5 * eta.std(0) / np.sqrt(DRAWS)).all()


def test_the_gamma_form_overshoots_less_than_taylor_for_one_individual():
    rows = gaps({k: REGIMES[k] for k in ("wide", "very wide", "few individuals")}, ["square"],
                DRAWS)
    size_one = {(r["regime"], r["bound"]): r["gap"] for r in rows if r["size"] == 1}
    for regime in ("wide", "very wide", "few individuals"):
        assert abs(size_one[regime, "gamma"]) < 0.9 * abs(size_one[regime, "taylor"])


def test_exact_for_one_individual():
    weight = [2.0, 0.01]
    view = explicit_view([1, 1], [0.3, -1.0], [[0.9, 0.1], [0.0, 1.4]], weight=weight)
    got, log_weight = moments("exp", "moment", view), torch.tensor(weight).double().log()
    # A log-normal: E log p e^v = log p + m, Var log = S.
    torch.testing.assert_close(got.log_mean, log_weight + view.projection.offset)
    torch.testing.assert_close(got.log_variance, torch.tensor([0.82, 1.96]).double())
    # Lemma 1 of the square link holds with equality: E log p v² = log p + ξ (Lloyd et al. 2015).
    m, s = view.projection.offset, torch.tensor([0.82, 1.96]).double()
    torch.testing.assert_close(moments("square", "jensen", view).log_mean,
                               log_weight + expected_log_square(m, s))
    # p v² with m = 0 is Gamma(1/2, 2 p S).
    centred = explicit_view([1, 1], [0.0, 0.0], [[0.9, 0.1], [0.0, 1.4]], weight=weight)
    gamma = moments("square", "gamma", centred)
    torch.testing.assert_close(
        gamma.log_mean, special.digamma(0.5) + (2 * s).log() + log_weight)
    torch.testing.assert_close(gamma.log_variance, torch.full((2,), np.pi**2 / 2).double())
    # A probability of one individual is logit-normal, whatever its weight.
    alone = explicit_view([1, 1], [0.3, -6.0], [[0.9, 0.1], [0.0, 1.4]], weight=weight,
                          average=True)
    odds = moments("logit", "moment", alone)
    torch.testing.assert_close(odds.logit_mean, alone.projection.offset, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(odds.logit_variance, s, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("link, bound", [("exp", "moment"), ("square", "taylor"),
                                         ("square", "gamma"), ("square", "jensen"),
                                         ("logit", "moment"), ("probit", "moment")])
def test_mean_and_variance_of_a_bag(link, bound):
    view = view_of_regime(REGIMES["narrow"], link)
    got, eta = moments(link, bound, view), brute_force(view, link, 200_000)
    centred = np.square(eta - eta.mean(0))
    error = centred.std(0) / np.sqrt(len(eta))
    # Under the square link the variance is exact; elsewhere first order in log-variances of 0.02.
    slack = 0.0 if link == "square" else 0.02 * got.variance.numpy()
    assert (np.abs(eta.mean(0) - got.mean.numpy()) < 5 * eta.std(0) / np.sqrt(len(eta))).all()
    assert (np.abs(centred.mean(0) - got.variance.numpy()) < 4.5 * error + slack).all()


def test_taylor_overshoots():
    """It is no bound: with one individual and a wide posterior ζ exceeds E log η."""
    view = paper_case(1, 1.0)
    values, error = monte_carlo(view, "square")
    assert float(moments("square", "taylor", view).log_mean) > values[0] + 10 * error[0]


POSITIVE = [key for key in BOUNDS if key[0] in ("exp", "square")]


@pytest.mark.parametrize("size", [1, 3, 50])
@pytest.mark.parametrize("link, bound", POSITIVE)
def test_nugget_is_counted_once(link, bound, size):
    """White noise of variance 0.09 in f: E η and E log η of the bag it is in, by simulation.

    On log η of the bag it is the Gaussian effect of mean zero that the likelihood integrates out,
    so its share of E η must not be in the centre as well: E η = E exp(g + a).
    """
    nugget = 0.09
    view = explicit_view([size], np.linspace(1.9, 2.1, size), 0.01 * np.eye(size), nugget=nugget)
    got = moments(link, bound, view)
    eta = brute_force(view, link, 100_000, nugget=nugget)[:, 0]
    logs = np.log(eta)
    slack = 0.003 if link == "square" else 3e-4
    # 256 draws of f with a standard deviation of 0.01 give E η to about 1e-4 of itself.
    sampled = 3e-4 * eta.mean() if bound == "monte-carlo" else 0.0
    assert float(got.mean) == pytest.approx(eta.mean(),
                                            abs=5 * eta.std() / len(eta) ** 0.5 + sampled)
    assert float(got.log_mean) == pytest.approx(logs.mean(), abs=5 * logs.std() / 316 + slack)
    assert float(got.effect_variance) == pytest.approx(
        logs.var(), rel=0.15 if link == "square" else 0.05)
    total = got.log_mean + (got.log_variance + got.effect_variance) / 2
    error = 4.5 * eta.std() / eta.mean() / len(eta) ** 0.5
    assert float(total) == pytest.approx(np.log(eta.mean()), abs=slack + error)


@pytest.mark.parametrize("bound", ["moment", "jensen", "monte-carlo"])
def test_area_effect_is_an_iid_effect_on_the_log_total(bound):
    view = view_of_regime(REGIMES["narrow"], "exp")
    with_effect = ProjectedData(view.projection, view.operator, view.residual, view.nugget_variance,
                       torch.tensor(0.4).double())
    plain, got = moments("exp", bound, view), moments("exp", bound, with_effect)
    torch.testing.assert_close(got.log_mean, plain.log_mean)
    torch.testing.assert_close(got.effect_variance, torch.full((3,), 0.16).double())
    assert plain.effect_variance is None


def expected_poisson(y, psi, m, s):
    z, weight = np.polynomial.hermite_e.hermegauss(200)
    return weight @ stats.poisson.logpmf(y, psi(m + np.sqrt(s) * z)) / np.sqrt(2 * np.pi)


def test_singleton_bags_are_classical_gaussian_poisson_models():
    """E log Poisson(y | e^v) = y m - e^{m + S/2} - log y!; and for v² as Lloyd et al. 2015."""
    m, s, y = 1.2, 0.5, 4.0
    view = explicit_view([1], [m], [[np.sqrt(s)]])
    got = Poisson().expected_log_prob(torch.tensor([y]).double(), moments("exp", "moment", view))
    assert float(got) == pytest.approx(expected_poisson(y, np.exp, m, s), abs=1e-6)
    far = explicit_view([1], [6.0], [[np.sqrt(s)]])      # no mass at the pole: quadrature is exact
    got = Poisson().expected_log_prob(torch.tensor([30.0]).double(),
                                      moments("square", "jensen", far))
    assert float(got) == pytest.approx(expected_poisson(30.0, np.square, 6.0, s), abs=1e-6)


def test_the_paper_bounds_stay_below_the_evidence():
    """Law notes 14 d: a tiny problem, log p(y) by brute force; Jensen's bounds never exceed it."""
    rng = np.random.default_rng(3)
    x = np.linspace(0, 4, 9)
    root = np.linalg.cholesky(0.6 * np.exp(-0.5 * (x[:, None] - x) ** 2) + 1e-9 * np.eye(9))
    y = torch.tensor([6.0, 14.0, 3.0]).double()
    view = explicit_view([3, 3, 3], np.full(9, 1.1), root)
    for link in ("exp", "square"):
        eta = brute_force(view, link, 400_000)
        density = stats.poisson.logpmf(y.numpy(), eta).sum(1)
        evidence = special.logsumexp(density) - np.log(len(density))
        for _ in range(20):
            raw = torch.as_tensor(rng.normal(0, 0.3, (9, 9)))
            covariance = raw @ raw.mT + rng.uniform(0.05, 1) * torch.eye(9).double()
            mean = torch.as_tensor(rng.normal(0, 0.5, 9))
            value = bound_of_one(view, BOUNDS[link, "jensen"], Poisson(), y, mean, covariance)
            assert float(value) < evidence + 0.01


@pytest.mark.parametrize("effect", [None, 0.3])
@pytest.mark.parametrize("nugget", [0.0, 0.05])
@pytest.mark.parametrize("link, bound", POSITIVE)
def test_gradients_by_finite_differences(link, bound, nugget, effect):
    view = view_of_regime(REGIMES["common"], link)
    y = torch.as_tensor([3.0, 20.0, 90.0]).double()
    std = None if effect is None else torch.tensor(effect).double().requires_grad_()
    variance = torch.tensor(nugget).double().requires_grad_(nugget > 0)
    mean, raw, features = start_of_q(view)

    def objective(mean, raw, *effects):
        effects = list(effects)
        at = seen_through(view, features, effects.pop() if nugget > 0 else variance,
                          effects.pop() if effect else None)
        return bound_of_one(at, BOUNDS[link, bound], Poisson(), y, mean, covariance_of(raw))

    extra = ([std] if effect else []) + ([variance] if nugget > 0 else [])
    # The quadrature of the effect keeps its nodes fixed in the gradient: exact to its own error.
    loose = effect is not None or nugget > 0
    assert torch.autograd.gradcheck(objective, (mean, raw, *extra), eps=1e-5,
                                    atol=2e-3 if loose else 1e-4, rtol=2e-3 if loose else 1e-5)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("bound", ["moment", "monte-carlo"])
def test_gradients_of_probabilities(bound, link):
    view = view_of_regime(REGIMES["common"], "logit")
    y, n = torch.tensor([0.0, 20.0, 7.0]).double(), torch.tensor([4.0, 90.0, 70.0]).double()
    mean, raw, features = start_of_q(view)

    def objective(mean, raw, features):
        at = seen_through(view, features, view.nugget_variance, None)
        return bound_of_one(at, BOUNDS[link, bound], Binomial(lambda: n), y, mean,
                            covariance_of(raw))

    assert torch.autograd.gradcheck(objective, (mean, raw, features.requires_grad_()), eps=1e-5,
                                    atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_a_probability_of_one_half_has_a_gradient(link):
    """Where both tails are as likely; of one individual d E log ψ(v) / dm = E (log ψ)'(v)."""
    view = explicit_view([1], [0.0], [[1.0]], average=True)
    mean = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    found = BOUNDS[link, "moment"].moments(view, mean, torch.eye(1).double())
    slope, = torch.autograd.grad(found.log_mean.sum(), mean)
    z, weight = np.polynomial.hermite_e.hermegauss(100)
    each = {"logit": special.expit(-z),
            "probit": np.exp(-z**2 / 2 - special.log_ndtr(z)) / np.sqrt(2 * np.pi)}[link]
    assert float(slope) == pytest.approx(weight @ each / np.sqrt(2 * np.pi), rel=1e-6)


def start_of_q(view):
    rng, n = np.random.default_rng(0), len(view.projection.offset)
    features = torch.as_tensor(0.3 * rng.standard_normal((n, 3)))
    mean = torch.as_tensor(rng.normal(0, 0.3, 3)).requires_grad_()
    return mean, torch.as_tensor(rng.normal(0, 0.3, (3, 3))).requires_grad_(), features


def covariance_of(raw):
    return raw @ raw.mT + torch.eye(3).double()


def seen_through(view, features, nugget, effect):
    """The view's bags with other features, and with effects that may have gradients."""
    bags = view.operator.bags
    made = explicit_view(bags.sizes.long().tolist(), view.projection.offset, features,
                         weight=bags.weight)
    return ProjectedData(made.projection, view.operator, made.residual, nugget, effect)


def test_names_of_bounds():
    assert bound_named("default", "exp") is bound_named(None, "exp") is BOUNDS["exp", "moment"]
    assert all(key in BOUNDS for key in DEFAULT_BOUND.items())
    kinds = {"exact", "bound", "approximation", "unbiased"}
    assert all(bound.kind in kinds and bound.cost and bound.help for bound in BOUNDS.values())
    assert {key for key, bound in BOUNDS.items() if bound.kind == "bound"} == {
        ("exp", "jensen"), ("square", "jensen")}
    with pytest.raises(InputError, match="did you mean 'jensen'"):
        bound_named("jenson", "exp")
    with pytest.raises(InputError, match="'taylor' is not for link 'exp'; use moment or"):
        bound_named("taylor", "exp")
    with pytest.raises(InputError, match="'jensen' is not for link 'logit'; use moment or monte"):
        bound_named("jensen", "logit")
    with pytest.raises(InputError, match="link 'expp' is unknown; did you mean 'exp'"):
        bound_named(None, "expp")
