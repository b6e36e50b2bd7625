"""What notebooks check against is right by other means."""

import numpy as np
import pytest
from scipy.special import erf

from workbench.labelled import MRVBAgg
from workbench.papers.hamelijnck2019.by_hand import composite_variance, mean_variance, rule_error
from workbench.papers.hamelijnck2019.counts import counts_and_measurements
from workbench.papers.hamelijnck2019.plots import rate_bands


@pytest.mark.parametrize("h", [1.0, 4.0])
def test_variance_of_a_mean_is_the_closed_form(h):
    closed = 2 / h**2 * (h * np.sqrt(np.pi / 2) * erf(h / np.sqrt(2)) - 1 + np.exp(-(h**2) / 2))
    assert mean_variance("rbf", h) == pytest.approx(closed, rel=1e-10)
    assert rule_error("rbf", h, "gauss-legendre", 10) < 1e-9


def test_means_of_points_with_the_noise_they_induce_add_nothing_at_half_power_far_from_the_prior():
    x = np.linspace(0, 30, 300)
    alone = composite_variance(x, x, 1.0, 1e9)
    twice = composite_variance(x, x, 1.0, 0.25 / 3)
    half = composite_variance(x, x, 0.5, 0.25 / 3)
    assert twice < 0.7 * alone and half == pytest.approx(alone, rel=0.05)


@pytest.mark.slow
def test_measurements_narrow_the_rates_that_are_drawn():
    line = counts_and_measurements()
    fit = MRVBAgg(kernel="rbf", inducing=15,
                  links={"cases": "exp", "measured": "identity"},
                  likelihoods={"measured": "normal"}).fit(line)
    dist = fit.at(line["cases"])
    panel = list(rate_bands(**line, rates={"both": dist}))[0]
    kinds = [type(one).__name__ for one in panel]
    assert kinds == ["Area", "Curve", "Curve", "Segments", "Points"]
    assert len(list(panel)[3]) == 6 and len(list(panel)[4]) == 6
