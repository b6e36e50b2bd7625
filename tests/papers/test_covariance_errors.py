import numpy as np
import pytest

from tests.granularity.toys import scattered
from workbench.checks import InputError
from workbench.granularity import CORRELATIONS
from workbench.granularity.correlations import gram, rbf
from workbench.papers.shikuri2025.covariance_errors import (
    covariance_error,
    covariance_error_bound,
    largest_change,
    zeta_one,
    zeta_two,
)

PRINTED = ("laplacian", "gaussian")


def moved(rng, d, alpha, distance, count=4000):
    """Pairs x, x' within alpha of z = 0 and z' at a distance, and their distances."""
    z = np.zeros(d)
    z[0] = distance
    steps = rng.normal(size=(2, count, d))
    steps *= alpha * rng.uniform(0, 1, (2, count, 1)) ** 0.2 / np.linalg.norm(
        steps, axis=-1, keepdims=True)
    return (np.linalg.norm(steps[0] - z - steps[1], axis=1),        # |x - x'|
            np.linalg.norm(steps[0] - z, axis=1))                   # |x - x*|, x* = z'


@pytest.mark.parametrize("kernel", PRINTED)
@pytest.mark.parametrize("d", [1, 2])
def test_printed_bounds_hold(kernel, d):
    rng = np.random.default_rng(1)
    rho = CORRELATIONS[{"laplacian": "matern12", "gaussian": "rbf"}[kernel]]
    for alpha in (0.01, 0.1, 0.5, 1.0, 2.0):
        for distance in (0.0, 0.05, 0.5, 1.0, 2.0, 4.0):
            both, one = moved(rng, d, alpha, distance)
            assert np.abs(rho(both) - rho(distance)).max() <= zeta_one(alpha, distance, kernel)
            change = np.abs(rho(one) - rho(distance)).max()
            assert change <= zeta_two(alpha, distance, kernel)
            # The Gaussian's 3/2 α may be 1/2 α.
            assert change <= zeta_two(alpha, distance, kernel, printed=False) + 1e-12


@pytest.mark.parametrize("kernel", CORRELATIONS)
def test_largest_change_is_the_supremum(kernel):
    for shift in (0.02, 0.3, 2.0):
        for distance in (0.0, 0.1, 1.0, 3.0):
            r = np.linspace(max(distance - shift, 0), distance + shift, 5001)
            rho = CORRELATIONS[kernel]
            brute = np.abs(rho(r) - rho(np.float64(distance))).max()
            assert largest_change(shift, distance, kernel) == pytest.approx(brute, rel=1e-9)


def test_largest_change_of_a_function_that_rises_and_falls():
    cosine = largest_change(2.0, 1.0, lambda r: np.cos(3 * r))
    assert cosine == pytest.approx(1 - np.cos(3), rel=1e-3)


def test_the_supremum_is_never_above_the_printed_bounds_and_far_below_for_distant_gaussians():
    alpha, distance = np.meshgrid(np.linspace(0.01, 2, 30), np.linspace(0, 6, 30))
    for kernel in PRINTED:
        sharp = largest_change(2 * alpha, distance, kernel)
        assert (sharp <= zeta_one(alpha, distance, kernel) + 1e-12).all()
        sharp = largest_change(alpha, distance, kernel)
        assert (sharp <= zeta_two(alpha, distance, kernel, printed=False) + 1e-12).all()
    assert zeta_one(0.1, 6.0, "gaussian") > 0.7
    assert largest_change(0.2, 6.0, "gaussian") < 1e-6


@pytest.mark.parametrize("kernel", [*CORRELATIONS, rbf])
def test_beta_is_reached_and_bounded_by_the_table(kernel):
    x, z, w = scattered(3)
    new = np.random.default_rng(0).uniform(0, 3, (11, 2))
    beta = covariance_error(x, z, w, kernel=kernel, lengthscale=0.8, variance=2.0, new_points=new)
    k = (kernel, 0.8, 2.0)
    changes = [gram(x, x, *k) - gram(z[w], z[w], *k), gram(x, z, *k) - gram(z[w], z, *k),
               gram(x, new, *k) - gram(z[w], new, *k)]
    assert beta == pytest.approx(max(np.abs(c).max() for c in changes))
    distance = np.linalg.norm(x - z[w], axis=1)
    radii = np.array([distance[w == j].max(initial=0) for j in range(len(z))])
    without = covariance_error(x, z, w, kernel=kernel, lengthscale=0.8, variance=2.0)
    sharp = covariance_error_bound(z, radii, kernel=kernel, lengthscale=0.8, variance=2.0)
    assert without <= sharp * (1 + 1e-9) <= 2.0
    if kernel == "rbf":
        printed = covariance_error_bound(z, radii, kernel=kernel, lengthscale=0.8, variance=2.0,
                                         printed=True)
        assert sharp <= printed


@pytest.mark.parametrize("call", [
    lambda: zeta_one(0.1, 1.0, "matern32"),
    lambda: zeta_two(-0.1, 1.0, "gaussian"),
    lambda: covariance_error_bound([0.0, 1.0], [0.1, 0.2, 0.3]),
    lambda: covariance_error_bound([0.0, 1.0], 0.1, kernel=rbf, printed=True),
    lambda: covariance_error([0.0, 1.0], [0.0], [0, 1]),
])
def test_bad_input_is_named(call):
    with pytest.raises(InputError):
        call()
