"""Exact conditional mean processes whose posterior is taken by random Fourier features."""

import numpy as np
import pytest
import torch

from tests.gp.test_cmp import F64, given, make, unmatched
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.kernels.operators import SegmentMean
from workbench.gp.numerics.linalg import NegativeVarianceWarning, left

BAGS, SIZE, SCALE, NOISE = 60, 15, 0.6, 0.02


def problem(seed=0):
    """A known Gaussian process in the plane, seen by noisy means over 60 small bags."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-2, 2, (BAGS, 1, 2))
    x = (middle + 0.15 * rng.standard_normal((BAGS, SIZE, 2))).reshape(-1, 2)
    k = np.exp(-((x[:, None] - x) ** 2).sum(-1) / (2 * SCALE**2))
    f = np.linalg.cholesky(k + 1e-8 * np.eye(len(x))) @ rng.standard_normal(len(x))
    y = f.reshape(BAGS, SIZE).mean(1) + NOISE**0.5 * rng.standard_normal(BAGS)
    places = torch.as_tensor(x.reshape(BAGS, SIZE, 2).mean(1))
    bags = Bags(torch.as_tensor(x), torch.arange(BAGS).repeat_interleave(SIZE),
                torch.ones(len(x), dtype=F64), BAGS, Columns(("a", "b")),
                tuple(map(str, range(BAGS))), None, places, Columns(("p", "q")))
    source = Source(bags, Targets(torch.as_tensor(y), None, None, places), "mean", "continuous")
    values = {"mean": 0.0, "rbf.variance": 1.0, "rbf.lengthscale": SCALE / float(x.std(0).mean()),
              "ridge": 1e-4, "mediator.rbf.lengthscale": 0.1, "noise.variance": NOISE}
    return source, values, f


@pytest.mark.parametrize("seed", [0, 1])
def test_spread_and_coverage_are_near_those_of_all_pairs(seed):
    """With A K Aᵀ of the kernel itself a tenth of these sds were zero, and two thirds covered."""
    source, values, f = problem(seed)
    exact = make("cmp").condition(source, values)
    near = make("cmp", features=1000).condition(source, values)
    law, ours = exact.latent(source.bags), near.latent(source.bags)
    ratio = (ours.std / law.std).numpy()
    assert 0.93 < ratio.min() and ratio.max() < 1.05
    assert abs(np.median(ratio) - 1) < 0.03

    def covered(law):
        return np.mean(np.abs(law.mean.numpy() - f) < 1.96 * law.std.numpy())

    assert covered(law) > 0.93 and abs(covered(ours) - covered(law)) < 0.02
    assert float((ours.mean - law.mean).square().mean().sqrt()) < 0.25 * float(law.std.mean())
    both = near.over(source.bags), exact.over(source.bags)
    np.testing.assert_allclose(both[0].std, both[1].std, rtol=0.05)
    y = source.bags.mediators
    both = near.conditional_mean(y), exact.conditional_mean(y)
    np.testing.assert_allclose(both[0].std, both[1].std, rtol=0.05)
    assert near.objective == exact.objective        # the evidence is the kernel's own


@pytest.mark.parametrize("kernel", ["rbf", "matern32+linear"])
def test_the_posterior_is_that_of_one_model_the_kernel_of_the_features(kernel):
    """Whatever the number of features: conditioned by hand with K̂ in place of K throughout."""
    source, new = unmatched(), unmatched((3, 5), targets=2, seed=9).bags
    values = given()
    if kernel != "rbf":
        values = {k: v for k, v in values.items() if not k.startswith("rbf")} | {
            "matern32.variance": 1.3, "matern32.lengthscale": 1.1, "linear.variance": 0.4}
    fit = make("cmp", kernel=kernel, features=5).condition(source, values)
    state = fit.state
    waves, x = state.operator._fourier(list(state.field.terms), state.x), state.x
    at, a = state.transform(new.x), state.operator.dense()
    known = a @ waves.prior(x, x) @ a.mT + 0.07 * torch.eye(len(a), dtype=F64)
    cross = waves.prior(at, x) @ a.mT
    gain = torch.linalg.solve(known, cross.mT).mT
    covariance = waves.prior(at, at) - gain @ cross.mT
    mean = 0.4 + gain @ (source.targets.value - state.operator.constant(state.field.mean))
    mean = mean.detach()
    law = fit.latent(new)
    torch.testing.assert_close(law.mean, mean)
    torch.testing.assert_close(law.variance, covariance.diagonal(), rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(state.field.joint(at)[1], covariance)
    means = SegmentMean(new)
    torch.testing.assert_close(fit.over(new).mean, means(mean))
    torch.testing.assert_close(fit.over(new).variance, means.rows(means.rows(covariance).mT).diag())
    prior = sum(term.diagonal(at) for term in state.field.terms).detach()
    torch.testing.assert_close(waves.prior(at, at).diagonal(), prior)


def test_a_negative_variance_is_reported_and_rounding_is_not(recwarn):
    prior = torch.ones(3, dtype=F64)
    torch.testing.assert_close(left(prior, prior + torch.tensor([0, 1e-12, -0.5], dtype=F64)),
                               torch.tensor([0, 0, 0.5], dtype=F64))
    assert not recwarn
    with pytest.warns(NegativeVarianceWarning, match="1 of 3 .* the worst -2.0e-01"):
        left(prior, torch.tensor([0.5, 1.2, 1.0], dtype=F64))


def test_another_number_of_features_needs_conditioning_anew():
    source, values, _ = problem()
    fit = make("cmp", features=100).condition(source, values)
    few = fit.latent(source.bags)
    fit.state.operator.features = 1000
    fit.state.compute_posterior()
    many, want = fit.latent(source.bags), make("cmp", features=1000).condition(source, values)
    torch.testing.assert_close(many.std, want.latent(source.bags).std)
    assert not torch.allclose(few.std, many.std)
