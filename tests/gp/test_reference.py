"""The reference posterior against closed forms, quadrature and grids."""

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import trapezoid

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.models.exact.bagged_gp import AggregatedGP
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.papers.law2018 import reference

FIXED = {"mean": 1.5, "matern32.variance": 0.4, "matern32.lengthscale": 0.8}
FLAT = {"kernel": "constant", "inducing": 1}
PLAIN = {"overdispersion": "none", "nugget": 0.0}


def close(chain, wanted, errors=4.5):
    """Whether the mean of a chain (S, ...) is within some of its own Monte Carlo errors."""
    chain = torch.as_tensor(chain)
    error = chain.std(0) / reference.effective_size(chain).sqrt()
    off = (chain.mean(0) - torch.tensor(wanted)).abs() / error
    assert float(off.max()) < errors, f"off by {float(off.max()):.1f} Monte Carlo errors"


@pytest.fixture(scope="module")
def normal():
    """A Normal model of bag means, with a nugget, and its hyperparameters."""
    source = made.continuous(made.bags((3, 5, 1, 4, 2)), noise=0.3)
    model = VBAgg(likelihood="normal", link="identity", noise="constant", nugget=0.2)
    return model, source, FIXED | {"noise.variance": 0.05}


def gaussian(model, source, values):
    """Mean and covariance of f given bag values, and their log evidence, by textbook formulas."""
    state = VariationalState(model, source)
    state.hyperparameters.fix(values)
    with torch.no_grad():
        k = state.field.prior(state.x, state.x).numpy()
        a = state.operator.dense().numpy()
        noise = values["noise.variance"] + float(state.nugget_variance) * np.square(a).sum(1)
    gram, mean = a @ k @ a.T + np.diag(noise), np.full(len(k), values["mean"])
    gain = k @ a.T @ np.linalg.inv(gram)
    y = source.targets.value.numpy()
    evidence = stats.multivariate_normal(a @ mean, gram).logpdf(y)
    return mean + gain @ (y - a @ mean), k - gain @ a @ k, evidence


@pytest.mark.slow
def test_gaussian_posterior_in_closed_form(normal):
    mean, covariance, _ = gaussian(*normal)
    draws = reference.sample(*normal, steps=600, warmup=0, seed=1)
    assert draws.rates.shape == (600, 15) and draws.hyperparameters == {}
    close(draws.rates, mean)
    close((draws.rates - torch.as_tensor(mean)).square(), covariance.diagonal())
    lag = (draws.rates[:, 0] - mean[0]) * (draws.rates[:, 7] - mean[7])
    close(lag, covariance[0, 7])
    assert draws.effective["rates"] > 300


def one(value, trials=None, kind="count", individuals=1):
    """One bag."""
    bags = Bags(torch.arange(float(individuals)).double()[:, None],
                torch.zeros(individuals, dtype=torch.int64), torch.ones(individuals).double(), 1,
                Columns(("c",)), ("b",),
                None if trials is None else torch.tensor([float(trials)]).double())
    return Source(bags, Targets(torch.tensor([float(value)]).double()), "sum", kind)


CASES = {
    "poisson": (one(4), dict(link="exp"), {}, 0.5, lambda r: stats.poisson.logpmf(4, r)),
    "square": (one(4), dict(link="square"), {}, 1.4, lambda r: stats.poisson.logpmf(4, r)),
    "effects": (one(1), dict(link="exp", overdispersion="area", nugget=0.4),
                 {"area.std": 0.5, "nugget.std": 0.4}, 0.5, lambda r: stats.poisson.logpmf(1, r)),
    "negative binomial": (one(9), dict(likelihood="negative-binomial"), {"dispersion": 3.0}, 0.5,
                          lambda r: stats.nbinom.logpmf(9, 3.0, 3.0 / (3.0 + r))),
    "exponential": (one(7.0, kind="continuous"), dict(likelihood="exponential"), {}, 0.5,
                    lambda r: stats.expon.logpdf(7.0, scale=r)),
    "binomial": (one(2, trials=9), {}, {}, -0.3, lambda r: stats.binom.logpmf(2, 9, r)),
    "normal": (one(3.0, kind="continuous"), dict(link="exp", noise="constant"),
               {"noise.variance": 0.5}, 0.5, lambda r: stats.norm.logpdf(3.0, r, 0.5**0.5)),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_one_individual_by_quadrature(case):
    source, options, values, centre, log_density = CASES[case]
    model = VBAgg(**FLAT, **PLAIN | options)
    # An area effect and a nugget are further parts of f's prior variance.
    effects = values.get("area.std", 0.0)**2 + values.get("nugget.std", 0.0)**2
    values = values | {"mean": centre, "constant.variance": 0.6}
    f = np.linspace(-9, 9, 20_001)
    psi = VariationalState(model, source).link.psi
    rate = psi(torch.as_tensor(f)).numpy()
    prior = stats.norm.logpdf(f, centre, (0.6 + effects)**0.5)
    log = np.where(rate > 0, log_density(np.maximum(rate, 1e-300)), -np.inf) + prior
    density = np.exp(log - log.max())
    density /= trapezoid(density, f)
    draws = reference.sample(model, source, values, steps=400, warmup=40, seed=2)
    # The sign of f is open under the square link, but not of interest.
    close(draws.rates[:, 0], trapezoid(rate * density, f))
    close(draws.rates[:, 0].log(), trapezoid(np.log(np.maximum(rate, 1e-300)) * density, f))
    close(draws.log_likelihood, trapezoid(log_density(np.maximum(rate, 1e-300)) * density, f))


@pytest.mark.slow
def test_any_pseudo_observations_will_do():
    """Without warm-up they are those at the prior mean, far from the count."""
    model, values = VBAgg(**FLAT, **PLAIN), {"mean": 0.0, "constant.variance": 2.0}
    f = np.linspace(-8, 8, 20_001)
    density = np.exp(stats.poisson.logpmf(40, np.exp(f)) + stats.norm.logpdf(f, 0, 2**0.5))
    draws = reference.sample(model, one(40), values, steps=400, warmup=0)
    close(draws.rates[:, 0].log(), trapezoid(f * density, f) / trapezoid(density, f))


@pytest.mark.slow
def test_a_lengthscale_against_a_grid(normal):
    model, source, values = normal
    held = {name: value for name, value in values.items() if "length" not in name}
    name, grid = "matern32.lengthscale", np.exp(np.linspace(np.log(0.005), np.log(300), 300))
    prior = VariationalState(model, source).hyperparameters[name].prior
    logs = np.array([gaussian(model, source, values | {name: float(ell)})[2] for ell in grid])
    logs += prior.log_density(torch.as_tensor(grid)).numpy()
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    draws = reference.sample(model, source, held, steps=350, warmup=100, seed=3)
    chain = draws.hyperparameters[name].log()
    wanted = weights @ np.log(grid)
    close(chain, wanted)
    close((chain - wanted).square(), weights @ np.square(np.log(grid) - wanted))


def test_a_flat_mean_by_generalised_least_squares(normal):
    model, source, values = normal
    held = {name: value for name, value in values.items() if name != "mean"}
    at = np.array([0.0, 1.0, 2.0])
    # The log evidence is quadratic in the mean.
    a, b, _ = np.polyfit(at, [gaussian(model, source, values | {"mean": m})[2] for m in at], 2)
    chain = reference.sample(model, source, held, steps=400, warmup=50).hyperparameters["mean"]
    close(chain, -b / (2 * a))
    close((chain + b / (2 * a)).square(), -1 / (2 * a))


@pytest.mark.slow
def test_a_variance_of_counts_against_a_grid():
    model, held = VBAgg(**FLAT, **PLAIN), {"mean": 0.5}
    f, v = np.linspace(-9, 9, 2001), np.exp(np.linspace(-14, 6, 400))
    prior = VariationalState(model, one(12)).hyperparameters["constant.variance"].prior
    each = trapezoid(np.exp(stats.poisson.logpmf(12, np.exp(f))
                            + stats.norm.logpdf(f, 0.5, np.sqrt(v)[:, None])), f, axis=1)
    weights = each * np.exp(prior.log_density(torch.as_tensor(v)).numpy())
    # A variance near zero is missed by the grid of f; there the likelihood is that at the mean.
    narrow = v < 1e-3
    weights[narrow] *= stats.poisson.pmf(12, np.exp(0.5)) / each[narrow]
    weights /= weights.sum()
    draws = reference.sample(model, one(12), held, steps=350, warmup=60, seed=4)
    close(draws.hyperparameters["constant.variance"].log(), weights @ np.log(v))


def test_same_seed_same_draws():
    model, source = VBAgg(overdispersion="area", nugget=0.0), made.counts(made.bags((2, 3)))
    one, two = (reference.sample(model, source, steps=5, warmup=8, seed=7) for _ in range(2))
    torch.testing.assert_close(one.rates, two.rates, rtol=0, atol=0)
    assert set(one.hyperparameters) == {
        "mean", "matern32.variance", "matern32.lengthscale", "area.std"}
    assert all(torch.equal(one.hyperparameters[n], two.hyperparameters[n])
               for n in one.hyperparameters)
    other = reference.sample(model, source, steps=5, warmup=8, seed=8)
    assert not torch.equal(one.rates, other.rates)


def test_effective_size_of_an_autoregression():
    rng, x = np.random.default_rng(0), np.zeros((20_000, 2))
    for t in range(1, len(x)):
        x[t] = np.array([0.8, 0.0]) * x[t - 1] + rng.standard_normal(2)
    got = reference.effective_size(torch.as_tensor(x))
    assert got[0] == pytest.approx(20_000 * 0.2 / 1.8, rel=0.15)
    assert got[1] == pytest.approx(20_000, rel=0.1)


@pytest.mark.parametrize("given, complaint", [
    (dict(steps=1), "steps"), (dict(steps=10.0), "steps"), (dict(warmup=-1), "warmup"),
    (dict(seed=0.5), "seed"), (dict(hyperparameters={"lengthscale": 1.0}), "lengthscale"),
])
def test_bad_input(given, complaint):
    with pytest.raises(InputError, match=complaint):
        reference.sample(VBAgg(), made.counts(made.bags((2, 3))), **given)


def test_what_it_is_not_for():
    with pytest.raises(InputError, match="AggregatedGP"):
        reference.sample(AggregatedGP(), made.continuous(made.bags((2, 3))))
    with pytest.raises(InputError, match="at most 2000"):
        reference.sample(VBAgg(), made.counts(made.bags((2001,))))


def test_a_chain_that_never_moved_has_no_effective_draws():
    moving = torch.randn(500, generator=torch.manual_seed(0))
    sizes = reference.effective_size(torch.stack([torch.full((500,), 3.0), moving], 1))
    assert sizes[0] == 0 and sizes[1] > 300
