"""Conditioning on known covariances: against scikit-learn, the models, and itself."""

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from workbench.checks import ConvergenceWarning
from workbench.gp.models.exact.closed_form import condition, condition_alone, condition_on_counts
from workbench.gp.models.exact.tempered import condition_tempered, covariance_of_means


def rbf(distance):
    return np.exp(-(distance**2) / 2)


@pytest.fixture
def line():
    rng = np.random.default_rng(2)
    points, places = np.sort(rng.uniform(0, 9, 24)), np.linspace(0, 9, 31)
    return points, places, rng.standard_normal(24), rng.uniform(0.05, 0.3, 24)


def test_the_posterior_is_that_of_scikit_learn(line):
    points, places, values, noise = line
    found = condition(rbf(points[:, None] - points) + np.diag(noise), values)
    cross = rbf(places[:, None] - points)
    other = GaussianProcessRegressor(RBF(1.0), alpha=noise, optimizer=None).fit(
        points[:, None], values)
    mean, sd = other.predict(places[:, None], return_std=True)
    np.testing.assert_allclose(found.mean(cross), mean, atol=1e-10)
    np.testing.assert_allclose(found.std(cross, 1.0), sd, atol=1e-10)
    assert found.evidence == pytest.approx(other.log_marginal_likelihood_value_)


def test_observations_of_sums_over_bags_are_seen_through_their_weights(line):
    points, places, values, noise = line
    weights = np.random.default_rng(3).uniform(size=(24, 5))
    gram, cross = rbf(points[:, None] - points), rbf(places[:, None] - points)
    found = condition(weights.T @ gram @ weights + np.diag(noise[:5]), values[:5])
    mean, sd = found.through(weights, cross, np.ones(31))
    np.testing.assert_allclose(mean, found.mean(cross @ weights), atol=1e-12)
    np.testing.assert_allclose(sd, found.std(cross @ weights, 1.0), atol=1e-9)


def test_an_indefinite_covariance_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="add noise"):
        condition(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))


def test_counts_are_conditioned_on_at_the_mode(line):
    points, *_ = line
    gram = rbf(points[:, None] - points)
    counts = np.random.default_rng(4).poisson(6.0, 24).astype(float)
    found = condition_on_counts(gram, counts, 1.5)
    f = 1.5 + found.mean(gram)
    # there, K⁻¹ (f - constant) is the slope of the log likelihood
    np.testing.assert_allclose(found.coefficients, counts - np.exp(f), atol=1e-6)
    assert not hasattr(found, "evidence")


def test_counts_far_from_the_constant_are_conditioned_on_at_their_mode(line):
    points, *_ = line
    gram = 400 * rbf(points[:, None] - points)
    counts = np.random.default_rng(4).poisson(2e4, 24).astype(float)
    found = condition_on_counts(gram, counts, -90.0)        # 50 steps of two away
    f = -90.0 + found.mean(gram)
    np.testing.assert_allclose(found.coefficients, counts - np.exp(f), atol=1e-3)


def test_a_mode_that_is_not_found_is_warned_of():
    with pytest.warns(ConvergenceWarning, match="not found in 200 Newton steps"):
        condition_on_counts(np.array([[1e4]]), np.array([5.0]), -900.0)


def test_bags_alone_are_conditioned_on_one_by_one(line):
    points, places, values, noise = line
    cross, bag = rbf(places[:, None] - points), np.r_[np.arange(24), np.full(7, -1)]
    mean, sd, evidence = condition_alone(cross, np.ones(24), np.ones(31), values, 0.2, bag)
    ones = [condition(np.array([[1.2]]), values[k:k + 1]) for k in range(24)]
    for k, one in enumerate(ones):
        assert mean[k] == pytest.approx(one.mean(cross[k:k + 1, k:k + 1]).item())
        assert sd[k] == pytest.approx(one.std(cross[k:k + 1, k:k + 1], 1.0).item())
    assert (mean[24:] == 0).all() and (sd[24:] == 1).all()
    assert evidence == pytest.approx(sum(one.evidence for one in ones))


@pytest.mark.parametrize("power", [0.05, 0.5, 1.0, 1.5])
def test_a_tempered_posterior_is_that_under_noise_over_the_power(line, power):
    points, places, values, noise = line
    gram, cross = rbf(points[:, None] - points), rbf(places[:, None] - points)
    tempered = condition_tempered(gram, np.sqrt(noise), values, cross, 1.0)
    plain = condition(gram + np.diag(noise / power), values)
    mean, sd = tempered.at(power)
    np.testing.assert_allclose(mean, plain.mean(cross), atol=1e-9)
    np.testing.assert_allclose(sd, plain.std(cross, 1.0), atol=1e-9)
    np.testing.assert_allclose(tempered.variances(np.array([power]))[:, 0], sd**2, atol=1e-12)


def test_means_over_bags_are_those_of_the_packages_operator(line):
    from workbench.gp.data.bags import Bags, Columns
    from workbench.gp.kernels.operators import SegmentMean

    points, places, *_ = line
    sizes = np.array([5, 1, 10, 8])
    bags = Bags(torch.as_tensor(points[:, None]),
                torch.arange(4).repeat_interleave(torch.as_tensor(sizes)),
                torch.ones(24, dtype=torch.float64), 4, Columns(("x",)))
    a = SegmentMean(bags).dense().numpy()
    gram, cross = covariance_of_means(rbf, points, sizes, places)
    np.testing.assert_allclose(gram, a @ rbf(points[:, None] - points) @ a.T, atol=1e-12)
    np.testing.assert_allclose(cross, rbf(places[:, None] - points) @ a.T, atol=1e-12)
