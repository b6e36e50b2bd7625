"""The named forms of E log η against the published table, Monte Carlo and finite differences."""

import numpy as np
import pytest
import torch
from scipy import stats

from workbench.bags import Bags, Columns
from workbench.bounds import BOUNDS, DEFAULT_BOUND, bound_named
from workbench.checks import InputError
from workbench.fields.inducing import Projection
from workbench.likelihoods import Poisson
from workbench.objectives import elbo
from workbench.operators import SegmentSum
from workbench.residual import Residual
from workbench.views import View

DRAWS = 40_000


def flat_bags(sizes, weight=None):
    membership = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    n = len(membership)
    weight = torch.ones(n).double() if weight is None else torch.as_tensor(weight).double()
    return Bags(torch.zeros(n, 1).double(), membership, weight, len(sizes), Columns(("c",)))


def seen(bags, mean, root, nugget=0.0, effect=None):
    """A view whose q is f ~ N(mean, root rootᵀ): features ``root``, q(v) = N(0, I)."""
    root = torch.as_tensor(root).double()
    projection = Projection(root, torch.zeros(len(root)).double(), torch.as_tensor(mean).double())
    blocks = []
    from workbench.operators import blocks as padded

    for index, _ in padded(bags):
        blocks.append(torch.zeros(*index.shape, index.shape[1]).double())
    residual = Residual(bags, projection.residual, blocks)
    return View(projection, SegmentSum(bags), residual, torch.tensor(nugget).double(),
                None if effect is None else torch.tensor(effect).double())


def moments(name, view, link=None):
    """Moments by a bound, whose link need not be said where the name belongs to one alone."""
    bound, = (b for (of, n), b in BOUNDS.items() if n == name and link in (None, of))
    width = view.projection.features.shape[1]
    return bound.moments(view, torch.zeros(width).double(), torch.eye(width).double())


def paper_case(n, sd):
    """Section 4.4 of the notes: m = 1.5 + 0.5 sin x on [0, 3], RBF covariance with sd², p = 1."""
    x = np.linspace(0, 3, n)
    mean = 1.5 + 0.5 * np.sin(x)
    gram = sd**2 * np.exp(-0.5 * (x[:, None] - x) ** 2) + 1e-12 * np.eye(n)
    return seen(flat_bags([n]), mean, np.linalg.cholesky(gram))


def simulated(view, link, nugget=0.0, seed=0, draws=DRAWS):
    """Draws of η of every bag, by brute force."""
    rng = np.random.default_rng(seed)
    root, mean = view.projection.features.numpy(), view.projection.offset.numpy()
    f = mean + rng.standard_normal((draws, root.shape[1])) @ root.T
    f = f + np.sqrt(nugget) * rng.standard_normal(f.shape)
    psi = np.exp(f) if link == "exp" else np.square(f)
    return psi @ view.operator.dense().numpy().T


def monte_carlo(view, link, **options):
    """Mean of log η of each bag and its standard error."""
    logs = np.log(simulated(view, link, **options))
    return logs.mean(0), logs.std(0, ddof=1) / np.sqrt(len(logs))


# N, sd, E log Σv² (Monte Carlo), ζ, E log Σeᵛ (Monte Carlo), Jensen, log E Σeᵛ: notes, 4.4.
# The row N = 1 is left out of the link exp: linspace(0, 3, 1) is the single point 0 there.
TABLE = [
    (2, 0.3, 1.550, 1.552, 2.251, 2.229, 2.274),
    (10, 0.3, 3.482, 3.482, 4.134, 4.116, 4.161),
    (10, 1.0, 3.469, 3.518, 4.297, 4.116, 4.616),
    (150, 0.3, 6.218, 6.220, 6.866, 6.851, 6.896),
    (150, 1.0, 6.188, 6.241, 7.019, 6.851, 7.351),
    (1, 1.0, 0.343, 0.658, 1.504, 1.500, 2.000),
]


@pytest.mark.parametrize("n, sd, log_square, zeta, log_exp, jensen, log_mean", TABLE)
def test_published_table(n, sd, log_square, zeta, log_exp, jensen, log_mean):
    view = paper_case(n, sd)
    square, moment = moments("taylor", view), moments("moment", view)
    assert float(square.log_mean) == pytest.approx(zeta, abs=1e-3)
    assert float(moments("jensen", view).log_mean) == pytest.approx(jensen, abs=1e-3)
    assert float(moment.mean.log()) == pytest.approx(log_mean, abs=1e-3)
    # The table's Monte Carlo has an error of 1e-3 to 5e-3; the moment form comes close to it.
    assert float(moment.log_mean) == pytest.approx(log_exp, abs=0.03 if sd == 1 else 3e-3)
    values, error = monte_carlo(view, "square")
    assert abs(values[0] - log_square) < 4.5 * error[0] + 5e-3


REGIMES = {
    # sizes, sd of the common mode, sd of the individual mode, sd of log weights
    "narrow": ([1, 4, 30], 0.1, 0.1, 0.5),
    "common": ([1, 4, 30], 0.5, 0.05, 0.5),
    "individual": ([1, 4, 30], 0.05, 0.5, 0.5),
    "wide": ([1, 4, 30], 0.7, 0.7, 0.5),
    "heavy": ([2, 10, 100], 0.3, 0.5, 2.0),
    "very wide": ([1, 4, 30], 0.3, 1.2, 0.5),
}
# Largest error of E log η that is tolerated, in nats; Jensen's gap in the same regime is larger.
TOLERANCE = {"narrow": 0.0005, "common": 0.002, "individual": 0.005, "wide": 0.02, "heavy": 0.01,
             "very wide": 0.1}


def regime(name, seed=0):
    sizes, common, own, spread = REGIMES[name]
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    bags = flat_bags(sizes, np.exp(spread * rng.standard_normal(n)))
    members = bags.membership.numpy()
    shared = np.zeros((n, len(sizes)))
    shared[np.arange(n), members] = common
    return seen(bags, rng.normal(1, 0.5, n), np.hstack([shared, own * np.eye(n)]))


@pytest.mark.parametrize("name", REGIMES)
def test_jensen_is_a_lower_bound(name):
    view = regime(name)
    values, error = monte_carlo(view, "exp")
    assert (moments("jensen", view).log_mean.numpy() <= values + 4.5 * error).all()


@pytest.mark.parametrize("name", REGIMES)
def test_moment_form_against_monte_carlo(name):
    view = regime(name)
    got = moments("moment", view)
    values, error = monte_carlo(view, "exp")
    gap = np.abs(got.log_mean.numpy() - values)
    assert (gap < TOLERANCE[name] + 4.5 * error).all(), gap
    # E η is exact, whatever the regime.
    eta = simulated(view, "exp", seed=1)
    assert (np.abs(eta.mean(0) - got.mean.numpy()) < 5 * eta.std(0) / np.sqrt(DRAWS)).all()


def test_moment_form_is_exact_for_one_individual():
    """A log-normal of one individual: E log p e^v = log p + m, Var log = S, no approximation."""
    bags = flat_bags([1, 1], [2.0, 0.01])
    view = seen(bags, [0.3, -1.0], [[0.9, 0.1], [0.0, 1.4]])
    got = moments("moment", view)
    torch.testing.assert_close(got.log_mean, bags.weight.log() + view.projection.offset)
    torch.testing.assert_close(got.log_variance, torch.tensor([0.82, 1.96]).double())


@pytest.mark.parametrize("bound, link", [("moment", "exp"), ("taylor", "square")])
def test_mean_and_variance_of_a_bag(bound, link):
    view = regime("narrow")
    got, eta = moments(bound, view), simulated(view, link, draws=200_000)
    centred = np.square(eta - eta.mean(0))
    error = centred.std(0) / np.sqrt(len(eta))
    # ζ's variance is exact; the moment form's is first order in the log-variances of 0.02.
    slack = 0.0 if bound == "taylor" else 0.02 * got.variance.numpy()
    assert (np.abs(centred.mean(0) - got.variance.numpy()) < 4.5 * error + slack).all()


def test_taylor_against_monte_carlo_and_its_overshoot():
    for name, tolerance in (("narrow", 0.002), ("common", 0.5)):
        view = regime(name)
        values, error = monte_carlo(view, "square")
        gap = moments("taylor", view).log_mean.numpy() - values
        assert (np.abs(gap) < tolerance + 4.5 * error).all()
    # It is no bound: with one individual and a wide posterior ζ exceeds E log η.
    view = paper_case(1, 1.0)
    values, error = monte_carlo(view, "square")
    assert float(moments("taylor", view).log_mean) > values[0] + 10 * error[0]


@pytest.mark.parametrize("size", [1, 3, 50])
@pytest.mark.parametrize(
    "bound, link", [("moment", "exp"), ("jensen", "exp"), ("taylor", "square")])
def test_nugget_is_counted_once(bound, link, size):
    """White noise of variance 0.09 in f: E η and E log η of the bag it is in, by simulation.

    On log η of the bag it is the Gaussian effect of mean zero that the likelihood integrates out,
    so its share of E η must not be in the centre as well: E η = E exp(g + a).
    """
    nugget = 0.09
    view = seen(flat_bags([size]), np.linspace(1.9, 2.1, size), 0.01 * np.eye(size), nugget)
    got = moments(bound, view)
    eta = simulated(view, link, nugget=nugget, draws=100_000)[:, 0]
    logs = np.log(eta)
    slack = 0.003 if link == "square" else 3e-4
    assert float(got.mean) == pytest.approx(eta.mean(), abs=5 * eta.std() / len(eta) ** 0.5)
    assert float(got.log_mean) == pytest.approx(logs.mean(), abs=5 * logs.std() / 316 + slack)
    assert float(got.effect_variance) == pytest.approx(
        logs.var(), rel=0.15 if link == "square" else 0.05)
    total = got.log_mean + (got.log_variance + got.effect_variance) / 2
    assert float(total) == pytest.approx(np.log(eta.mean()), abs=3 * slack)


def test_area_effect_is_an_iid_effect_on_the_log_total():
    view = regime("narrow")
    with_effect = seen(view.operator.bags, view.projection.offset, view.projection.features,
                       effect=0.4)
    plain, got = moments("moment", view), moments("moment", with_effect)
    torch.testing.assert_close(got.log_mean, plain.log_mean)
    torch.testing.assert_close(got.effect_variance, torch.full((3,), 0.16).double())
    assert plain.effect_variance is None


def test_singleton_moment_is_the_exact_gaussian_poisson_expectation():
    """E log Poisson(y | e^v) = y m - e^{m + S/2} - log y! for v ~ N(m, S)."""
    m, s, y = 1.2, 0.5, 4.0
    view = seen(flat_bags([1]), [m], [[np.sqrt(s)]])
    got = Poisson().expected_log_prob(torch.tensor([y]).double(), moments("moment", view))
    z, weight = np.polynomial.hermite_e.hermegauss(60)
    expected = weight @ stats.poisson.logpmf(y, np.exp(m + np.sqrt(s) * z)) / np.sqrt(2 * np.pi)
    assert float(got) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("effect", [None, 0.3])
@pytest.mark.parametrize("nugget", [0.0, 0.05])
@pytest.mark.parametrize("link, bound", [key for key in BOUNDS if key[0] != "identity"])
def test_gradients_by_finite_differences(link, bound, nugget, effect):
    view = regime("common")
    rng, n = np.random.default_rng(0), len(view.projection.offset)
    bags = view.operator.bags
    y = torch.as_tensor([3.0, 20.0, 90.0]).double()
    features = torch.as_tensor(0.3 * rng.standard_normal((n, 3)))
    mean = torch.as_tensor(rng.normal(0, 0.3, 3)).requires_grad_()
    raw = torch.as_tensor(rng.normal(0, 0.3, (3, 3))).requires_grad_()
    std = None if effect is None else torch.tensor(effect).double().requires_grad_()
    variance = torch.tensor(nugget).double().requires_grad_(nugget > 0)

    def objective(mean, raw, *effects):
        effects = list(effects)
        base = seen(bags, view.projection.offset, features)
        at = View(base.projection, base.operator, base.residual,
                  effects.pop() if nugget > 0 else variance, effects.pop() if effect else None)
        covariance = raw @ raw.mT + torch.eye(3).double()
        return elbo(at, BOUNDS[link, bound], Poisson(), y, mean, covariance)

    extra = ([std] if effect else []) + ([variance] if nugget > 0 else [])
    # The quadrature of the effect keeps its nodes fixed in the gradient: exact to its own error.
    loose = effect is not None or nugget > 0
    assert torch.autograd.gradcheck(objective, (mean, raw, *extra), eps=1e-5,
                                    atol=2e-3 if loose else 1e-4, rtol=2e-3 if loose else 1e-5)


def test_names_of_bounds():
    assert bound_named("default", "exp") is bound_named(None, "exp") is BOUNDS["exp", "moment"]
    assert all(key in BOUNDS for key in DEFAULT_BOUND.items())
    with pytest.raises(InputError, match="did you mean 'jensen'"):
        bound_named("jenson", "exp")
    with pytest.raises(InputError, match="'taylor' is not for link 'exp'; use moment or"):
        bound_named("taylor", "exp")
    with pytest.raises(InputError, match="link 'expp' is unknown; did you mean 'exp'"):
        bound_named(None, "expp")
