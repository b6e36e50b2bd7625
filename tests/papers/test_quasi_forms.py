"""The forms of appendix C.4, the chain that they are compared on, and complete VI with probit."""

import numpy as np
import pytest
import torch
from scipy import differentiate
from scipy.special import expit, log_ndtr, ndtr
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.likelihoods.variance_functions import VARIANCE_FUNCTIONS
from workbench.gp.models.registry import MODELS
from workbench.papers.shikuri2025 import bernoulli, quasi_forms, statistics
from workbench.papers.shikuri2025.quasi_forms import (
    GRID,
    chain_posterior,
    information,
    log_likelihoods,
)


@pytest.mark.parametrize("case", quasi_forms.CASES)
def test_information_is_that_of_the_model_s_variance_function(case):
    f = torch.linspace(-3, 3, 13, dtype=torch.float64)
    v = VARIANCE_FUNCTIONS[case].function(f)
    np.testing.assert_allclose(information(case)(f.numpy()), 1 / v, rtol=1e-9)


@pytest.mark.parametrize("case, events, count", [("poisson", 20, 10), ("bernoulli", 13, 40)])
def test_forms_agree_to_second_order_and_differ_in_third_as_said(case, events, count):
    """n (w g''/g' - 2w'), -2n w' and 0."""
    mode = np.log(events / count) if case == "poisson" else float(
        torch.special.ndtri(torch.tensor(events / count, dtype=torch.float64)))
    h = 1e-3
    grid = mode + np.arange(-300, 301) * h
    found = log_likelihoods(case, events, count, grid)
    w = information(case)
    curve = float(w(mode))
    slope = float(differentiate.derivative(w, mode).df)
    bend = curve * (1 if case == "poisson" else -mode)
    middle, far = 300, 100          # differences over a tenth
    for form, third in (("likelihood", bend - 2 * slope), ("quasi", -2 * slope), ("sample", 0.0)):
        value = found[form] / count
        assert value[middle] == pytest.approx(0, abs=1e-10)
        step = far * h
        up, down = value[middle + far], value[middle - far]
        twice_up, twice_down = value[middle + 2 * far], value[middle - 2 * far]
        assert (up + down) / step**2 == pytest.approx(-curve, rel=0.01)
        got = (twice_up - 2 * up + 2 * down - twice_down) / (2 * step**3)
        assert got == pytest.approx(third, abs=0.03 * curve), form


def test_the_chain_s_posterior_is_that_of_gaussian_regression():
    rng = np.random.default_rng(0)
    m, rho = 6, 0.8
    y, v = rng.normal(size=m), rng.uniform(0.2, 1, m)
    evidence, mean, std = chain_posterior(-0.5 * (GRID - y[:, None]) ** 2 / v[:, None], rho)
    prior = rho ** np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
    total = prior + np.diag(v)
    np.testing.assert_allclose(mean, prior @ np.linalg.solve(total, y), atol=1e-9)
    np.testing.assert_allclose(
        std**2, np.diag(prior - prior @ np.linalg.solve(total, prior)), rtol=1e-9)
    exact = (-0.5 * y @ np.linalg.solve(total, y) - 0.5 * np.linalg.slogdet(total)[1]
             + 0.5 * np.log(v).sum())           # without (2π v)^-1/2 of each observation
    assert evidence == pytest.approx(exact, abs=1e-9)


def classifier(x, y, link):
    """Complete VI of zeros and ones at places on a line, mean zero and unit variance."""
    n = len(x)
    bags = Bags(torch.as_tensor(x)[:, None], torch.arange(n), torch.ones(n).double(), n,
                Columns(("c",)), trials=torch.ones(n).double())
    fit = MODELS["vbagg"](kernel="matern12", likelihood="binomial", link=link).condition(
        Source(bags, Targets(torch.as_tensor(y).double()), "mean"),
        {"mean": 0.0, "matern12.variance": 1.0, "matern12.lengthscale": 2.0})
    return fit, bags


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_complete_vi_is_near_the_exact_posterior_of_bernoulli_observations(link):
    """A Matérn-1/2 process on a line is the chain, whose posterior is exact up to its grid."""
    rng = np.random.default_rng(1)
    x = np.arange(0, 15, 0.5)
    y = rng.binomial(1, ndtr(np.sin(x))).astype(float)
    log_psi = {"probit": log_ndtr, "logit": lambda f: -np.logaddexp(0, -f)}[link]
    rows = np.where(y[:, None] == 1, log_psi(GRID), log_psi(-GRID))
    evidence, mean, std = chain_posterior(rows)
    fit, bags = classifier(x, y, link)
    latent = fit.latent(bags)
    np.testing.assert_allclose(latent.mean, mean, atol=0.07)
    np.testing.assert_allclose(latent.std, std, rtol=0.04)
    assert evidence - 0.5 < fit.objective < evidence
    psi = {"probit": ndtr, "logit": expit}[link]
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    predicted = psi(mean[:, None] + std[:, None] * nodes) @ weights / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(fit.at(bags).mean, predicted, atol=0.02)


def test_complete_vi_with_logit_is_near_a_laplace_classifier():
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 10, 40))
    y = rng.binomial(1, expit(2 * np.sin(x))).astype(float)
    fit, bags = classifier(x, y, "logit")
    peer = GaussianProcessClassifier(ConstantKernel(1.0, "fixed") * Matern(2.0, "fixed", nu=0.5),
                                     optimizer=None).fit(x[:, None], y)
    np.testing.assert_allclose(fit.at(bags).mean, peer.predict_proba(x[:, None])[:, 1], atol=0.02)


def test_observations_become_surveys_of_one():
    _, points = statistics.made("bernoulli, proportion", 30, 3, 0)
    found = bernoulli.surveys(points)
    assert found.sizes["bag"] == 30 and set(found["trials"].values) == {1.0}
    np.testing.assert_array_equal(found["value"], points["individual_value"])
    assert found["value"].attrs["kind"] == "count"


@pytest.mark.slow
def test_bernoulli_models_in_small():
    rows = {s["model"]: bernoulli.BERNOULLI.score(s) for s in bernoulli.BERNOULLI.runs("quick")}
    assert set(rows) == set(bernoulli.MODELS)
    assert all(row["rmse"] < 1.2 for row in rows.values())
    assert rows["complete VI"]["cover_95"] > rows["summaries"]["cover_95"]
