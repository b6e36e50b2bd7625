"""The sampler against covariances, closed forms and variational posteriors."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.kernels.grammar import build
from workbench.gp.models.exact.bagged_gp import AggregatedGP
from workbench.gp.models.vbagg.model import VBAgg

jax = pytest.importorskip("jax")
pytest.importorskip("numpyro")

from workbench.gp.optimisation.priors import LogNormal, PCLengthscale, PCStd  # noqa: E402
from workbench.gp.sampling import kernels  # noqa: E402
from workbench.gp.sampling.density import Density  # noqa: E402
from workbench.gp.sampling.nuts import sample, seconds  # noqa: E402


@pytest.mark.parametrize("text", [
    "rbf", "ard-matern32", "linear+matern12", "rq*rbf", "constant+matern52(coordinates)"])
def test_covariances_are_those_of_torch(text):
    bags = made.bags()
    x = bags.x / 50
    terms = build(text, bags.columns, x)
    with jax.enable_x64(True):
        found = kernels.covariance(terms, x.numpy())(lambda p: p.detach().numpy().reshape(-1))
    expected = sum(term(x, x) for term in terms).detach().numpy()
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-8)
    with pytest.raises(InputError, match="knows no PeriodicKernel"):
        kernels.covariance(build("periodic", bags.columns, x), x.numpy())


@pytest.mark.parametrize("prior", [LogNormal(2.0, 0.7), PCLengthscale(0.3, 0.1, 2), PCStd(1.5),
                                   PCStd(1.5, of_variance=True)])
def test_priors_are_those_of_torch_up_to_a_constant(prior):
    at = np.array([0.2, 0.9, 3.0])
    with jax.enable_x64(True):
        ours = [float(kernels.log_prior(prior, jax.numpy)(jax.numpy.asarray([v]))) for v in at]
    theirs = prior.log_density(torch.as_tensor(at)).numpy()
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize(("name", "others", "periods"), [
    ("area.std", ("nugget.std",), 1), ("nugget.std", ("persistent.variance", "area.std"), 3)])
def test_priors_of_effects_and_nuggets_by_another_are_those_of_torch(name, others, periods):
    state = VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(counts(periods=periods)).state
    assert state.hyperparameters[name].prior.others == others
    ours, theirs, z = [], [], 0.0
    with jax.enable_x64(True):
        density = Density(state)
        z = np.zeros(density.width)
        for seed in range(2):
            raws = density.start + np.random.default_rng(seed).normal(size=len(density.start))
            start = 0
            for item in density.items:
                stop = start + item.raw.numel()
                item.raw.data = torch.as_tensor(raws[start:stop]).reshape(item.raw.shape)
                start = stop
            theirs.append(float(state.hyperparameters.log_prior()))
            ours.append(float(density.log_density(raws, z) - density.log_likelihood(raws, z)))
    assert ours[1] - ours[0] == pytest.approx(theirs[1] - theirs[0], rel=1e-9)


def counts(areas=12, periods=1):
    """Of areas in one period, or of a third of them in three."""
    bags = made.bags((4,) * areas)
    if periods > 1:
        bags = replace(bags, recurring=bags.membership % (areas // periods))
    return made.counts(bags, scale=5)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("options", [
    {}, {"link": "square", "overdispersion": "none", "nugget": 0.0}, {"layout": "joint",
     "kernel": "linear+rbf"}])
def test_likelihoods_of_draws_are_those_of_the_model(options):
    """The density at any place of the field is that of the likelihood in torch."""
    source = counts()
    state = VBAgg(**{"kernel": "rbf", "inducing": 10, "max_steps": 5} | options).fit(source).state
    with jax.enable_x64(True):
        density = Density(state)
        z = np.random.default_rng(0).standard_normal((2, density.width))
        ours = [float(density.log_likelihood(density.start, one)) for one in z]
        etas = [np.array(density.parameter(density.start, one)) for one in z]
        v = [np.array(density.fields(density.start, one)[1]) for one in z]
    by_hand = [np.bincount(source.bags.membership, source.bags.weight.numpy()
                           * state.link.psi(torch.as_tensor(one)).numpy()) for one in v]
    np.testing.assert_allclose(etas, by_hand, rtol=1e-10)
    theirs = [float(torch.distributions.Poisson(torch.as_tensor(eta)).log_prob(
        source.targets.value).sum()) for eta in etas]
    assert ours[1] - ours[0] == pytest.approx(theirs[1] - theirs[0], rel=1e-9)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("noise", ["known", "fay-herriot", "size"])
def test_variances_of_observations_are_those_of_the_model(noise):
    source = made.continuous(made.bags((4, 3, 6)), noise=0.1)
    stated = torch.tensor([0.1, 0.4, 2.0], dtype=torch.float64)
    source = replace(source, targets=replace(source.targets, noise_variance=stated))
    state = VBAgg(kernel="rbf", likelihood="normal", noise=noise, max_steps=2).fit(source).state
    with jax.enable_x64(True):
        density = Density(state)
        found = np.asarray(density.variance(density.start))
    np.testing.assert_allclose(found, state.noise().detach(), rtol=1e-12)
    assert ("area.variance" in state.hyperparameters) == (noise == "fay-herriot")


@pytest.mark.slow
def test_draws_are_those_of_the_closed_form():
    """Monte Carlo error of 800 draws: means within 0.15 sd, standard deviations within 12 %."""
    source = made.continuous(made.bags((4, 3, 6, 2, 5, 4)), noise=0.1)
    exact = AggregatedGP(kernel="rbf").fit(source)
    fit = VBAgg(kernel="rbf", link="identity", likelihood="normal").condition(
        source, exact.hyperparameters)
    found = sample(fit.state, draws=400, warmup=200, chains=2, fixed=True)
    expected = exact.at(source.bags)
    std = expected.std.numpy()
    assert found.divergences == 0 and not found.hyperparameters
    assert np.abs((found.rate.mean((0, 1)) - expected.mean.numpy()) / std).max() < 0.15
    np.testing.assert_allclose(found.rate.std((0, 1)), std, rtol=0.12)
    bags = exact.over(source.bags)
    np.testing.assert_allclose(found.total.mean((0, 1)), bags.mean.numpy(), atol=0.02)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_vi_is_near_the_draws_on_counts():
    """At the same hyperparameters: means within 0.25 sd, standard deviations within 20 %."""
    source = counts()
    fit = VBAgg(kernel="rbf", inducing=60).fit(source)
    found = sample(fit.state, draws=400, warmup=200, chains=2, fixed=True)
    vi = fit.at(source.bags, torch.arange(source.bags.count), True)
    std = found.rate.std((0, 1))
    assert np.abs((found.rate.mean((0, 1)) - vi.mean.numpy()) / std).max() < 0.25
    np.testing.assert_allclose(vi.std.numpy(), std, rtol=0.2)


def test_large_problems_are_refused_with_an_estimate():
    model = VBAgg(kernel="rbf", inducing=5, nugget=0.0, overdispersion="none")
    state = model.condition(
        counts(), {"mean": 1.0, "rbf.variance": 1.0, "rbf.lengthscale": 1.0}).state
    with pytest.raises(InputError, match=r"48 individuals in 12 areas for 4,000,000 steps .* "
                       r"about [\d,]+ minutes, more than the limit of 1: .*fewer draws"):
        sample(state, draws=999_500, limit=1.0)
    with pytest.raises(InputError, match="whole number of 4 or more"):
        sample(state, draws=2)
    assert seconds(1_000, 0, 1_000, False) > 50 * seconds(100, 0, 1_000, False)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_other_likelihoods_are_refused():
    state = VBAgg(likelihood="negative-binomial", inducing=5, max_steps=1, tolerance=1.0).fit(
        counts()).state
    with pytest.raises(InputError, match="no negative-binomial likelihood"):
        Density(state)
