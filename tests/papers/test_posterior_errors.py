"""Theorem 5.5 with constants: never below the difference, its rate, where it does not vanish."""

from pathlib import Path

import drawn
import numpy as np
import pytest
import torch

from workbench.checks import InputError
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.models.summaries.model import QuasiLikelihoodGP
from workbench.granularity.correlations import gram
from workbench.papers.shikuri2025.covariance_errors import covariance_error
from workbench.papers.shikuri2025.posterior_errors import (
    complete_error_bound,
    posterior_error_bound,
)

KERNELS = ("laplacian", "matern32", "matern52", "gaussian")


def problem(seed, each=3):
    """Cells of a random size, their points, new inputs, and a prior."""
    rng = np.random.default_rng(seed)
    d, m = rng.integers(1, 3), int(rng.choice([1, 2, 5]))
    z = rng.uniform(0, 3, (m, d))
    w = np.repeat(np.arange(m), each)
    x = z[w] + 10 ** rng.uniform(-1.3, 0) * rng.uniform(-1, 1, (m * each, d))
    prior = {"lengthscale": rng.uniform(0.3, 2), "variance": rng.uniform(0.5, 3)}
    return x, z, w, rng.uniform(-0.5, 3.5, (6, d)), prior, rng


def between(one, other):
    """The two cells at 0 and 1 on a line, two points each at a distance h."""
    return lambda h: (np.array([-h, h, 1 - h, 1 + h]), np.array([0.0, 1.0]), [0, 0, 1, 1],
                      [one, other])


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_difference_is_above_its_bound(kernel):
    checked = 0
    for seed in range(60):
        x, z, w, new, prior, rng = problem(seed)
        v, y = rng.uniform(0.02, 0.5, len(z)), rng.normal(size=len(x))
        found = [complete_error_bound(x, z, w, new, y, v, kernel=kernel, **prior)]
        try:
            found.append(posterior_error_bound(x, z, w, new, y[:len(z)], v, kernel=kernel, **prior))
            checked += 1
        except InputError as error:
            assert "no inverse in double precision" in str(error) and kernel != "laplacian"
        for bound in found:
            assert (np.abs(bound.mean_change) <= bound.mean).all()
            assert (np.abs(bound.covariance_change) <= bound.covariance).all()
            assert bound.beta <= covariance_error(x, z, w, kernel=kernel, new_points=new, **prior)
    assert checked >= 20


def by_hand(x, z, w, new, y, v, prior):
    """μ_p, Σ_p, μ_q, Σ_q as printed, with explicit inverses."""
    k_uu, k_ff, k_sf, k_su, k_ss = (gram(a, b, *prior) for a, b in (
        (z, z), (x, x), (new, x), (new, z), (new, new)))
    inv, big_w = np.linalg.inv, np.eye(len(z))[w]
    inner = inv(inv(np.diag(v)) + inv(k_uu))
    map_p = k_sf @ inv(k_ff) @ big_w
    outer = inv(k_uu + np.diag(v))
    return (map_p @ inner @ inv(np.diag(v)) @ y,
            k_ss - k_sf @ inv(k_ff) @ k_sf.T + map_p @ inner @ map_p.T,
            k_su @ outer @ y, k_ss - k_su @ outer @ k_su.T)


@pytest.mark.parametrize("kernel", ["laplacian", "matern32"])
def test_differences_are_those_of_the_printed_formulas(kernel):
    x, z, w, new, prior, rng = problem(4)
    v, y = rng.uniform(0.1, 0.5, len(z)), rng.normal(size=len(z))
    found = posterior_error_bound(x, z, w, new, y, v, kernel=kernel, **prior)
    mean_p, cov_p, mean_q, cov_q = by_hand(x, z, w, new, y, v, (kernel, *prior.values()))
    np.testing.assert_allclose(found.mean_change, mean_p - mean_q, atol=1e-9)
    np.testing.assert_allclose(found.covariance_change, cov_p - cov_q, atol=1e-9)


def test_the_complete_posterior_is_that_of_regression_and_the_other_that_of_the_model():
    rng = np.random.default_rng(7)
    z, w, prior = np.arange(5.0)[:, None], np.repeat(np.arange(5), 3), dict(
        lengthscale=1.3, variance=0.7)
    x, new = z[w] + rng.uniform(-0.4, 0.4, (15, 1)), rng.uniform(0, 4, (6, 1))
    y, v = rng.normal(size=len(x)), 0.3
    found = complete_error_bound(x, z, w, new, y, v, kernel="rbf", **prior)
    g = ("rbf", *prior.values())
    k = np.linalg.inv(gram(x, x, *g) + v * np.eye(len(x)))
    cross, square = gram(new, x, *g), gram(new, new, *g)
    counts = np.bincount(w).astype(float)
    columns = Columns(("c",))
    bags = Bags(torch.as_tensor(z), torch.arange(5), torch.as_tensor(counts), 5, columns)
    means = torch.as_tensor(np.bincount(w, y) / counts)
    fit = QuasiLikelihoodGP(kernel="rbf", likelihood="normal", nugget=0.0).condition(
        Source(bags, Targets(means), "mean", "continuous"),
        {"mean": 0.0, "rbf.variance": prior["variance"], "rbf.lengthscale": prior["lengthscale"],
         "noise.variance": v})
    there = Bags(torch.as_tensor(new), torch.arange(len(new)), torch.ones(len(new)).double(),
                 len(new), columns)
    latent = fit.latent(there)
    np.testing.assert_allclose(cross @ k @ y - found.mean_change, latent.mean, atol=1e-4)
    variances = np.diag(square - cross @ k @ cross.T - found.covariance_change)
    np.testing.assert_allclose(variances, latent.std**2, atol=1e-4)


def test_the_mean_s_bound_is_reached_by_errors_of_the_worst_signs():
    """The largest |((E₂ - M W⁺ E₁) A u₀)| over all entries within β is the bound."""
    x, z, w, new, prior, rng = problem(4)
    y, v = rng.normal(size=len(z)), rng.uniform(0.1, 0.5, len(z))
    found = posterior_error_bound(x, z, w, new, y, v, kernel="matern32", **prior)
    g = ("matern32", *prior.values())
    k_uu, k_su = gram(z, z, *g), gram(new, z, *g)
    weights, big_w = k_su @ np.linalg.inv(k_uu), np.eye(len(z))[w]
    seen = np.linalg.solve(gram(x, x, *g), big_w @ k_uu @ np.linalg.solve(k_uu + np.diag(v), y))
    for i, row in enumerate(weights):
        second = found.beta * np.sign(seen)
        first = -found.beta * np.outer(np.sign(row)[w], np.sign(seen))
        reached = second @ seen - row @ (np.linalg.pinv(big_w) @ first @ seen)
        assert reached == pytest.approx(found.mean[i], rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_bound_for_complete_data_falls_with_beta_whatever_the_kernel(kernel):
    at = between(0.5, 1.7)
    found = [complete_error_bound(*at(h), [1.0, 0.5, 1.2, 0.9], 0.1, kernel=kernel)
             for h in (1e-2, 1e-3, 1e-4)]
    for part in ("mean", "covariance"):
        ratio = [getattr(one, part).max() / one.beta for one in found]
        assert ratio == pytest.approx([ratio[-1]] * 3, rel=0.1)
    assert found[-1].beta < 0.02 * found[0].beta
    assert np.abs(found[-1].mean_change).max() < 0.03 * np.abs(found[0].mean_change).max()


def test_the_theorem_s_bound_falls_with_beta_for_the_laplacian_on_a_line():
    at = between(0.5, 1.7)
    found = [posterior_error_bound(*at(h), [1.0, 0.4], 0.1, kernel="laplacian")
             for h in (1e-2, 1e-3, 1e-4)]
    for part in ("mean", "covariance", "mean_change"):
        ratio = [np.abs(getattr(one, part)).max() / one.beta for one in found]
        assert ratio == pytest.approx([ratio[-1]] * 3, rel=0.1)


def test_the_theorem_fails_for_a_smooth_kernel():
    """β falls like h; μ_p and Σ_p tend to the posterior given f' = 0 at the centroids as well."""
    place, v = np.array([0.5, 1.7]), 0.1
    at = between(*place)
    z = np.array([0.0, 1.0])

    def k(a, b):
        return np.exp(-0.5 * np.subtract.outer(a, b) ** 2)

    away = np.subtract.outer(z, z)
    slopes = np.block([[k(z, z), away * k(z, z)], [-away * k(z, z), (1 - away**2) * k(z, z)]])
    cross = np.hstack([k(place, z), np.subtract.outer(place, z) * k(place, z)])
    u = k(z, z) @ np.linalg.solve(k(z, z) + v * np.eye(2), [1.0, 1.0])
    limit = (cross @ np.linalg.inv(slopes))[:, :2] @ u - k(place, z) @ np.linalg.solve(k(z, z), u)
    betas = []
    for h, close in ((3e-2, 5e-2), (3e-3, 1e-3)):
        found = posterior_error_bound(*at(h), [1.0, 1.0], v, kernel="gaussian")
        np.testing.assert_allclose(found.mean_change, limit, rtol=close)
        assert (np.abs(found.mean_change) <= found.mean).all()
        betas.append(found.beta)
    assert betas[1] < 0.11 * betas[0] and abs(limit[0]) > 0.09
    assert limit[0] / u[0] == pytest.approx(-0.106, abs=5e-4)


@pytest.mark.parametrize("kernel", ["laplacian", "matern32"])
def test_what_the_theorem_supposes_of_the_inverse_never_holds_with_two_points_in_a_cell(kernel):
    for h in (0.3, 0.03, 0.003):
        x, z, w, _ = between(0.5, 1.7)(h)
        k_ff = gram(x, x, kernel, 1.0)
        change = k_ff - gram(z, z, kernel, 1.0)[np.ix_(w, w)]
        v = np.array([1.0, -1.0, 0.0, 0.0])
        np.testing.assert_allclose(np.linalg.solve(k_ff, change @ v), v, atol=1e-7)
        assert np.linalg.eigvalsh(k_ff)[0] <= 2 * np.abs(change).max() + 1e-12


@pytest.mark.parametrize("changed, told", [
    ({"statistics": [1.0]}, "2 finite numbers as statistics"),
    ({"variances": [0.1, 0.0]}, "variances are not all positive"),
    ({"assignment": [0, 0, 0]}, "1 centroids have no points"),
    ({"points": [0.1, 0.1, 0.9]}, "no inverse in double precision"),
    ({"new_points": [[0.5, 0.5]]}, "2 of the others")])
def test_bad_input_is_refused(changed, told):
    given = {"points": [0.1, 0.2, 0.9], "centroids": [0.1, 0.9], "assignment": [0, 0, 1],
             "new_points": [0.5], "statistics": [1.0, 2.0], "variances": 0.1}
    assert posterior_error_bound(**given).beta > 0
    with pytest.raises(InputError, match=told):
        posterior_error_bound(**given | changed)


def test_the_chart_shows_what_the_page_says_of_it():
    ratios = []
    for kernel in drawn.KERNELS:
        near, long = drawn.narrowing(kernel), drawn.lengthening(kernel)
        ratios += [*(near["complete bound"] / near["complete change"]),
                   *(long["complete bound"] / long["complete change"])]
        fall = near["change"][-1] / near["change"][0]
        assert fall > 0.5 if kernel == "gaussian" else fall < 0.01
        assert (np.diff(near["complete bound"]) < 0).all() and (
            np.diff(long["complete bound"]) < 0).all()
    low, high = (float(f"{value:.1g}") for value in (min(ratios), max(ratios)))
    assert f"The bound is {low:.0f} to {high:.0f} times the difference in the charts" in " ".join(
        (Path(__file__).parents[2] / "docs" / "results" / "shikuri2025.md").read_text(
            encoding="utf-8").split())
    markup = drawn.posterior_errors()
    assert markup.count("<svg") == 3 and "nan" not in markup
