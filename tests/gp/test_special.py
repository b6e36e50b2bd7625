"""Special functions against SciPy, quadrature and their own derivatives."""

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

from workbench.gp.numerics.special import (
    dawson,
    dawson_integral,
    expected_log_square,
    gamma_log_bias,
    logistic_centre,
    logistic_moments,
)


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_dawson_and_its_integral():
    u = torch.linspace(-70, 70, 14_001).double()
    np.testing.assert_allclose(dawson(u), special.dawsn(u.numpy()), rtol=1e-13, atol=1e-15)
    for end in (0.0, 0.3, 1.0, 5.5, 19.97, 20.0, 20.03, 45.0, -3.2):
        expected, _ = integrate.quad(special.dawsn, 0, abs(end), epsabs=0, epsrel=1e-13, limit=500)
        assert float(dawson_integral(t(end))) == pytest.approx(expected, abs=2e-13)
    u = t(-3.0, 0.0, 0.7, 6.0, 25.0).requires_grad_()
    for function in (dawson, dawson_integral):
        assert torch.autograd.gradcheck(function, (u,))
        assert torch.autograd.gradgradcheck(function, (u,))


# Law et al. 2018 notes, section 4.3: mean, variance, E log v².
VALUES = [
    (0.0, 1.0, -1.270362845461), (1.0, 1.0, -0.416991636869), (2.0, 0.5, 1.221238793359),
    (2.0, 0.1, 1.360266028789), (0.3, 2.0, -0.532551149626), (0.7, 0.3, -1.203561124256),
]


@pytest.mark.parametrize("m, s, expected", VALUES)
def test_expected_log_square(m, s, expected):
    assert float(expected_log_square(t(m), t(s))) == pytest.approx(expected, abs=1e-11)
    # The same by log(2S) + E ψ(1/2 + J), J ~ Poisson(m²/(2S)), which shares no code.
    j = np.arange(400)
    series = np.log(2 * s) + stats.poisson.pmf(j, m**2 / (2 * s)) @ special.digamma(0.5 + j)
    assert float(expected_log_square(t(m), t(s))) == pytest.approx(series, abs=1e-11)


def test_derivatives_of_the_expected_log_square():
    """dξ/dm = 2 √(2/S) D(u), dξ/dS = (1 - 2uD(u))/S, on both sides of the asymptotic series."""
    m = t(0.0, -1.0, 0.7, 3.0, 5.0, 40.0).requires_grad_()
    s = t(2.0, 0.5, 0.3, 0.01, 0.0313, 1.9).requires_grad_()
    by_m, by_s = torch.autograd.grad(expected_log_square(m, s).sum(), (m, s))
    mean, variance = m.detach().numpy(), s.detach().numpy()
    u = mean / np.sqrt(2 * variance)
    np.testing.assert_allclose(by_m, 2 * np.sqrt(2 / variance) * special.dawsn(u), rtol=1e-11)
    np.testing.assert_allclose(by_s, (1 - 2 * u * special.dawsn(u)) / variance, rtol=1e-9)
    assert torch.autograd.gradcheck(expected_log_square, (m, s))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_without_variance_it_is_the_log_of_the_square(dtype):
    m = torch.tensor([3.0, -0.2, 1e-3], dtype=dtype).requires_grad_()
    s = torch.full((3,), torch.finfo(dtype).tiny, dtype=dtype).requires_grad_()
    value = expected_log_square(m, s)
    torch.testing.assert_close(value, m.square().log())
    by_m, by_s = torch.autograd.grad(value.sum(), (m, s))
    torch.testing.assert_close(by_m, 2 / m)
    torch.testing.assert_close(by_s, -1 / m.square())
    assert value.dtype == dtype


def by_quadrature(function, m, s):
    # Trapezia are spectrally accurate on a smooth integrand that decays at both ends.
    z = np.linspace(-14, 14, 4001)
    return (z[1] - z[0]) * stats.norm.pdf(z) @ function(m + np.sqrt(s) * z)


@pytest.mark.parametrize("s, tolerance", [(1e-6, 1e-10), (0.2, 1e-10), (1.0, 1e-9), (2.25, 1e-6),
                                          (4.0, 1e-4), (9.0, 3e-3)])
@pytest.mark.parametrize("m", [-9.0, -4.0, -1.0, 0.0, 2.5])
def test_logistic_moments(m, s, tolerance):
    """Relative errors, so that small probabilities are right too."""
    value, slope, spread = (float(v) for v in logistic_moments(t(m), t(s)))
    mean = by_quadrature(special.expit, m, s)
    assert value == pytest.approx(mean, rel=tolerance)
    assert slope == pytest.approx(
        by_quadrature(lambda v: special.expit(v) * special.expit(-v), m, s), rel=20 * tolerance)
    assert spread == pytest.approx(
        by_quadrature(lambda v: np.square(special.expit(v) - mean), m, s), rel=100 * tolerance)


def test_derivatives_of_logistic_moments():
    m, s = t(-6.0, -1.0, 0.0, 3.0).requires_grad_(), t(1.0, 0.3, 2.0, 0.01).requires_grad_()
    assert torch.autograd.gradcheck(logistic_moments, (m, s))


def test_logistic_centre_inverts_the_mean():
    p, s = t(1e-6, 0.02, 0.5, 0.9, 0.999), t(2.0, 0.5, 4.0, 1e-9, 1.0)
    np.testing.assert_allclose(logistic_moments(logistic_centre(p, s), s)[0], p, rtol=1e-10)
    inner = [v[[1, 2, 4]].requires_grad_() for v in (p, s)]
    assert torch.autograd.gradcheck(logistic_centre, inner, eps=1e-7)


def test_gamma_log_bias():
    v = t(1e-14, 1e-4, 0.00999, 0.01001, 0.3, 2.0, 40.0).requires_grad_()
    k = 1 / v.detach().numpy()
    np.testing.assert_allclose(gamma_log_bias(v).detach(), special.digamma(k) - np.log(k),
                               rtol=1e-9, atol=1e-14)
    assert torch.autograd.gradcheck(gamma_log_bias, (v[2:].detach().requires_grad_(),))
    draws = np.random.default_rng(0).gamma(0.5, 2.0, 400_000)
    error = 4.5 * np.log(draws).std() / len(draws) ** 0.5
    assert abs(np.log(draws).mean() - float(gamma_log_bias(t(2.0)))) < error
