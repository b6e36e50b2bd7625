"""Identities between models: limits in which one must be the other, or a formula."""

import gpytorch
import numpy as np
import pytest
import torch
from scipy import integrate, stats

from tests.gp import made
from workbench.checks import NotExact
from workbench.gp.data.bags import Bags, Source, Targets
from workbench.gp.models.registry import MODELS
from workbench.gp.models.vbagg.model import Constant
from workbench.gp.numerics import linalg

SMOOTH = {"mean": 0.4, "matern32.variance": 0.6, "matern32.lengthscale": 30.0,
          "noise.variance": 0.05}
COUNTS = {"mean": 3.0, "matern32.variance": 0.3, "matern32.lengthscale": 40.0}


def model(name="vbagg", **options):
    return MODELS[name](**options)


def close(law, other, rtol=1e-6, atol=1e-7):
    torch.testing.assert_close(law.mean, other.mean, rtol=rtol, atol=atol)
    torch.testing.assert_close(law.variance, other.variance, rtol=rtol, atol=atol)


def test_singleton_bags_are_ordinary_gp_regression():
    source = made.continuous(made.bags((1,) * 14))
    fit = model("aggregated-gp", noise="constant").condition(source, SMOOTH)
    x, new = (fit.state.transform(b.x) for b in (source.bags, made.bags((1,) * 5, seed=9)))
    # Natural lengthscales refer to the coordinates; columns of unequal scale make ours isotropic
    # in standardised units only, so GPyTorch gets the standardised lengthscale.
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = torch.tensor(0.05, dtype=torch.float64)
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5)).double()
    kernel.outputscale = torch.tensor(0.6, dtype=torch.float64)
    kernel.base_kernel.lengthscale = fit.state.field.terms[0].kernel.base_kernel.lengthscale

    class Exact(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(x, source.targets.value, likelihood)
            self.mean_module = gpytorch.means.ConstantMean().double()
            self.mean_module.constant.data.fill_(0.4)
            self.covar_module = kernel

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x))

    exact = Exact()
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, exact)
    expected = evidence(exact(x), source.targets.value) * len(x)
    assert fit.objective == pytest.approx(expected.item(), abs=1e-8)
    exact.eval()
    with torch.no_grad():
        law = exact(new)
    close(fit.latent(made.bags((1,) * 5, seed=9)), law, rtol=1e-8, atol=1e-9)


def dense_formula(state, source, bags):
    """Evidence, and mean and covariance of f at ``bags``, by dense matrices."""
    a, x = state.field.operator.dense(), state.field.x
    new = state.transform(bags.x)
    with torch.no_grad():
        prior = state.field.prior
        gram = a @ prior(x, x) @ a.mT + torch.diag(state.noise())
        cross = prior(new, x) @ a.mT
        mean = float(state.field.mean)
        residual = source.targets.value - mean * a.sum(1)
        law = torch.distributions.MultivariateNormal(torch.zeros_like(residual), gram)
        return (float(law.log_prob(residual)), mean + cross @ torch.linalg.solve(gram, residual),
                prior(new, new) - cross @ torch.linalg.solve(gram, cross.mT))


@pytest.mark.parametrize("aggregation", ["mean", "sum"])
@pytest.mark.parametrize("noise", ["constant", "size", "weight", "known"])
def test_aggregated_gp_is_the_dense_block_formula(aggregation, noise):
    source = made.continuous(made.bags(), aggregation, known=[0.1, 0.2, 0.05, 0.3])
    given = {k: v for k, v in SMOOTH.items() if noise != "known" or not k.startswith("noise")}
    fit = model("aggregated-gp", noise=noise).condition(source, given)
    new = made.bags((2, 3), seed=4)
    evidence, mean, covariance = dense_formula(fit.state, source, new)
    assert fit.objective == pytest.approx(evidence, abs=1e-8)
    torch.testing.assert_close(fit.latent(new).mean, mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(fit.at(new).variance, covariance.diagonal(), rtol=1e-5, atol=1e-6)
    a = type(fit.state.field.operator)(new).dense()
    over = fit.over(new)
    torch.testing.assert_close(over.mean, a @ mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(over.variance, (a @ covariance @ a.mT).diagonal(), rtol=1e-5,
                               atol=1e-6)


def variational(source, inducing, **options):
    return model(likelihood="normal", link="identity", inducing=inducing, **options).condition(
        source, SMOOTH)


@pytest.mark.parametrize("aggregation", ["mean", "sum"])
def test_vbagg_normal_with_all_inducing_inputs_is_the_aggregated_gp(aggregation, monkeypatch):
    # The relative jitter of 1e-8 that K(Z, Z) usually gets is all that stands between the two.
    monkeypatch.setattr(linalg, "JITTER", 1e-14)
    source = made.continuous(made.bags((3, 5, 1, 4, 8)), aggregation)
    exact = model("aggregated-gp").condition(source, SMOOTH)
    fit = variational(source, 1000)
    assert fit.objective == pytest.approx(exact.objective, abs=1e-8)
    new = made.bags((2, 3), seed=4)
    close(fit.latent(new), exact.latent(new))
    close(fit.over(source.bags), exact.over(source.bags))


def test_elbo_rises_to_the_evidence_with_inducing_inputs():
    source = made.continuous(made.bags((6, 9, 4, 10, 8)))
    evidence = model("aggregated-gp").condition(source, SMOOTH).objective
    values = [variational(source, m).objective for m in (2, 5, 15, 37)]
    assert (np.diff(values) > -1e-6).all()
    assert values[0] < evidence - 1e-3
    assert max(values) <= evidence + 1e-9
    assert values[-1] == pytest.approx(evidence, abs=1e-4)      # the jitter of K(Z, Z)


def test_linear_term_is_bayesian_linear_regression():
    source = made.continuous(made.bags((4, 3, 6, 2, 5, 3), covariates=2, coordinates=False))
    given = {"mean": 0.2, "linear.variance": 0.8, "noise.variance": 0.05}
    fit = model(kernel="linear", likelihood="normal", link="identity",
                noise="constant").condition(source, given)
    design = fit.state.operator.dense() @ fit.state.x
    precision = design.mT @ design / 0.05 + torch.eye(2) / 0.8
    mean = torch.linalg.solve(precision, design.mT @ (source.targets.value - 0.2) / 0.05)
    got_mean, got_std = fit.coefficients()["linear"]
    torch.testing.assert_close(got_mean, mean)
    torch.testing.assert_close(got_std, torch.linalg.inv(precision).diagonal().sqrt())
    for name, options in (("aggregated-gp", {"noise": "constant"}), ("gpr", {})):
        exact = model(name, kernel="linear", **options).condition(source, given)
        torch.testing.assert_close(exact.coefficients()["linear"], (got_mean, got_std))
    with pytest.raises(NotExact, match="bagg-gp does not keep the weights of its terms linear"):
        model("bagg-gp", kernel="linear").condition(source, given).coefficients()
    gram = design @ design.mT * 0.8 + 0.05 * torch.eye(6, dtype=torch.float64)
    law = torch.distributions.MultivariateNormal(torch.full((6,), 0.2, dtype=torch.float64), gram)
    assert fit.objective == pytest.approx(float(law.log_prob(source.targets.value)), abs=1e-8)


@pytest.mark.parametrize("likelihood, link", [("normal", "identity"), ("poisson", "exp")])
def test_joint_and_additive_layouts_agree_when_inducing_inputs_are_all_the_data(likelihood, link):
    bags = made.bags((3, 5, 4, 2), covariates=1)
    source = made.continuous(bags) if likelihood == "normal" else made.counts(bags)
    given = {"mean": 0.5 if likelihood == "normal" else 3.0, "linear.variance": 0.3,
             "matern32.variance": 0.4, "matern32.lengthscale": 25.0, "noise.variance": 0.05}
    if likelihood == "poisson":
        given.pop("noise.variance")
    fits = [model(kernel="linear+matern32", likelihood=likelihood, link=link, layout=layout,
                  inducing=500).condition(source, given) for layout in ("additive", "joint")]
    assert fits[0].objective == pytest.approx(fits[1].objective, abs=1e-4)
    close(fits[0].latent(bags), fits[1].latent(bags), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("likelihood", ["normal", "poisson"])
def test_centre_point_on_singleton_bags_is_vbagg(likelihood):
    bags = made.bags((1,) * 9)
    source = made.counts(bags) if likelihood == "poisson" else made.continuous(bags)
    link = "exp" if likelihood == "poisson" else "identity"
    given = COUNTS if likelihood == "poisson" else SMOOTH
    fits = [model(name, link=link, likelihood=likelihood).condition(source, given)
            for name in ("vbagg", "centre-point")]
    assert fits[0].objective == pytest.approx(fits[1].objective, abs=1e-10)
    close(fits[0].at(bags), fits[1].at(bags), rtol=1e-9)


def test_centre_point_sees_the_centres_only():
    source = made.counts(made.bags())
    centres = Source(source.bags.centres(), source.targets)
    fits = [model("centre-point").condition(source, COUNTS),
            model("centre-point").condition(centres, COUNTS)]
    # The same points, but standardised by other statistics: natural units make them agree, up to
    # the inducing inputs, which are all centres in one and individuals in the other.
    assert fits[0].state.x.shape == fits[1].state.x.shape == (4, 3)
    torch.testing.assert_close(
        fits[0].state.operator.coefficients(), source.bags.totals)


VARIANTS = {
    "normal": ({"likelihood": "normal", "link": "identity"}, SMOOTH),
    "moment": ({}, COUNTS),
    "jensen": ({"bound": "jensen"}, COUNTS),
    "taylor": ({"link": "square"}, {**COUNTS, "mean": 4.0, "matern32.variance": 1.0}),
    "area": ({"overdispersion": "area"}, {**COUNTS, "area.std": 0.2}),
    "negative binomial": ({"likelihood": "negative-binomial"}, {**COUNTS, "dispersion": 20.0}),
    "float area square": ({"link": "square", "overdispersion": "area"},
                          {**COUNTS, "mean": 4.0, "area.std": 0.3}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_duplicating_an_individual_and_splitting_its_weight_changes_nothing(name):
    bags = made.bags()
    source = made.continuous(bags, "sum") if name == "normal" else made.counts(bags)
    index = torch.tensor([0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 11, 12])
    split = bags.weight[index].clone()
    split[1] *= 0.3
    split[2] *= 0.7
    split[11:14] *= torch.tensor([0.5, 0.25, 0.25])
    doubled = Bags(bags.x[index], bags.membership[index], split, 4, bags.columns, bags.names)
    options, given = VARIANTS[name]
    if name == "normal":
        options = {**options, "noise": "constant"}
    fits = [
        model(inducing=100, kernel="matern32(coordinates)", **options).condition(
            Source(b, source.targets, "sum", source.kind), given) for b in (bags, doubled)
    ]
    # Natural lengthscales: the statistics of standardisation differ, what is computed does not.
    assert fits[0].objective == pytest.approx(fits[1].objective, abs=1e-5)
    close(fits[0].latent(bags), fits[1].latent(bags), rtol=1e-4, atol=1e-5)
    close(fits[0].over(bags), fits[1].over(doubled), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
def test_permuting_individuals_and_bags_changes_nothing(name):
    bags = made.bags((3, 5, 1, 4, 6))
    source = made.continuous(bags) if name == "normal" else made.counts(bags)
    order = torch.cat([torch.arange(8, 9), torch.tensor([6, 3, 7, 5, 4]),
                       torch.tensor([2, 0, 1]), torch.tensor([18, 13, 14, 16, 15, 17]),
                       torch.tensor([9, 12, 10, 11])])
    moved = made.take(source, order)
    # As many inducing inputs as data: k-means++ seeds depend on the order of rows by design.
    options, given = VARIANTS[name]
    fits = [model(inducing=100, **options).condition(s, given) for s in (source, moved)]
    assert fits[0].objective == pytest.approx(fits[1].objective, abs=1e-5)
    first, second = (f.latent(bags) for f in fits)
    close(first, second, rtol=1e-4, atol=1e-5)
    bag_order = [moved.bags.names.index(n) for n in bags.names]
    over = fits[1].over(moved.bags)
    torch.testing.assert_close(fits[0].over(bags).mean, over.mean[bag_order], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bound", ["moment", "jensen"])
@pytest.mark.parametrize("extra", [{}, {"overdispersion": "area"}])
def test_scaling_weights_under_exp_is_lowering_the_mean(bound, extra):
    source, factor = made.counts(made.bags()), 37.0
    heavy = Source(
        Bags(source.bags.x, source.bags.membership, factor * source.bags.weight, 4,
             source.bags.columns, source.bags.names), source.targets)
    given = {**COUNTS, **({"area.std": 0.2} if extra else {})}
    plain = model(bound=bound, **extra).condition(source, given)
    scaled = model(bound=bound, **extra).condition(
        heavy, {**given, "mean": given["mean"] - np.log(factor)})
    assert plain.objective == pytest.approx(scaled.objective, abs=1e-6)
    torch.testing.assert_close(plain.latent(source.bags).mean - np.log(factor),
                               scaled.latent(source.bags).mean, rtol=1e-5, atol=1e-6)
    close(plain.over(source.bags), scaled.over(heavy.bags), rtol=1e-5)


@pytest.mark.parametrize("scale", [0.05, 10.0])
def test_constant_kernel_against_quadrature_in_one_dimension(scale):
    """One unknown: f ~ N(mean, variance) with Poisson counts; q is the best Gaussian, here good."""
    source = made.counts(made.bags(), scale=scale)
    prior_mean, prior_std = 2.0, 0.8
    fit = Constant().condition(source, {"mean": prior_mean, "constant.variance": prior_std**2})
    y, weight = source.targets.value.numpy(), source.bags.totals.numpy()

    def log_joint(f):
        return (stats.poisson.logpmf(y, weight * np.exp(f)).sum()
                + stats.norm.logpdf(f, prior_mean, prior_std))

    # ELBO of a Gaussian q in closed form, maximised; then its distance to the exact posterior.
    top = np.log(y.sum() / weight.sum())
    width = 1 / np.sqrt(y.sum() + prior_std**-2)
    grid = np.linspace(top - 12 * width, top + 12 * width, 4001)
    log_values = np.array([log_joint(f) for f in grid])
    peak = log_values.max()
    density = np.exp(log_values - peak)
    evidence = peak + np.log(integrate.trapezoid(density, grid))
    density /= density.sum()
    mean = density @ grid
    std = np.sqrt(density @ np.square(grid - mean))
    law = fit.latent(source.bags)
    # A Gaussian q misses the skewness: of order 1/sqrt(total count) of a standard deviation.
    skew = 1 / np.sqrt(y.sum())
    assert float(law.mean[0]) == pytest.approx(mean, abs=0.1 * std * skew + 1e-6)
    assert float(law.std[0]) == pytest.approx(std, rel=0.6 * skew**2 + 1e-6)
    assert fit.objective <= evidence + 1e-9
    assert fit.objective == pytest.approx(evidence, abs=skew**2)


def test_poisson_elbo_is_below_the_evidence_by_importance_sampling():
    """Singleton bags: the moment form is exact, so the objective is a true lower bound."""
    bags = made.bags((1, 1, 1, 1))
    source = made.counts(bags, scale=1.0)
    fit = model().condition(source, {**COUNTS, "mean": 1.0})
    x = fit.state.x
    with torch.no_grad():
        gram = fit.state.field.prior(x, x).numpy()
    rng, field = np.random.default_rng(0), fit.state.field
    features = fit.state.project().projection.features.detach().numpy()
    centre = float(field.mean) + features @ field.q_mean.numpy()
    spread = 1.3**2 * features @ field.q_covariance.numpy() @ features.T   # wider than q
    f = rng.multivariate_normal(centre, spread, 100_000)
    log_w = (stats.poisson.logpmf(source.targets.value.numpy(),
                                  bags.weight.numpy() * np.exp(f)).sum(1)
             + stats.multivariate_normal.logpdf(f, np.full(4, 1.0), gram)
             - stats.multivariate_normal.logpdf(f, centre, spread))
    weight = np.exp(log_w - log_w.max())
    evidence = log_w.max() + np.log(weight.mean())
    error = weight.std() / weight.mean() / np.sqrt(len(weight))
    assert fit.objective <= evidence + 4.5 * error
    assert fit.objective == pytest.approx(evidence, abs=0.05)


def test_targets_of_the_wrong_length_are_refused_by_models():
    bags = made.bags()
    with pytest.raises(ValueError, match="value per bag"):
        model().fit(Source(bags, Targets(torch.ones(3).double())))
