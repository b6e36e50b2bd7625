"""The matrix correction of composite likelihoods: the sandwich in closed form, limits, overlaps."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.gp.test_multisource import COLUMNS, X, noisy, points, random_q, source
from workbench.checks import InputError
from workbench.gp.data.bags import Bags
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.models.several_sources.curvature import Correction
from workbench.gp.models.several_sources.gprn import MRGPRN
from workbench.gp.models.several_sources.gprn_state import GPRNState
from workbench.gp.models.several_sources.magnitude import CompositeWarning, Weights
from workbench.gp.models.several_sources.overlap import overlap
from workbench.gp.models.several_sources.sandwich import sandwich

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
HELD = {"mean": 2.0, "f.rbf.variance": 1.5, "f.rbf.lengthscale": 1.0, "weight": 1.0}
NOISE = {"points.noise.variance": 0.25, "aggregates.noise.variance": 0.08}


def random_positive(rng, size, rank=None):
    root = rng.standard_normal((size, rank or size + 2))
    return torch.tensor(root @ root.T)


def same_noise(*sources):
    """An estimate by which common noise agrees entirely."""
    rng = np.random.default_rng(0)
    fine = rng.standard_normal(len(sources[0].targets.value))
    out = [fine, *(fine[:s.bags.count * 3].reshape(-1, 3).sum(1) / np.sqrt(3)
                   if s.bags.count < len(fine) else fine for s in sources[1:])]
    return Weights(torch.ones(len(sources)), residuals=out)


# --- the matrix -------------------------------------------------------------------------------


def test_the_matrix_maps_the_naive_covariance_to_the_sandwich():
    """Eq. (64), and the natural parameters that belong to it."""
    rng = np.random.default_rng(1)
    h, j, b = random_positive(rng, 5), random_positive(rng, 5), torch.randn(
        5, generator=torch.Generator().manual_seed(0)).double()
    found = sandwich(h, j, most=1e9)
    naive, target = h.inverse(), h.inverse() @ j @ h.inverse()
    torch.testing.assert_close(found.matrix @ naive @ found.matrix.mT, target)
    linear, precision = found.correct(b, h)
    torch.testing.assert_close(precision.inverse(), target)
    torch.testing.assert_close(torch.linalg.solve(precision, linear), torch.linalg.solve(h, b))


@pytest.mark.parametrize("rank", [5, 3])
def test_a_right_likelihood_is_left_alone_and_a_multiple_is_the_scalar(rank):
    rng = np.random.default_rng(2)
    h, b = random_positive(rng, 5, rank), torch.ones(5).double()
    b = h @ b
    for weight in (1.0, 0.5, 0.2):
        found = sandwich(h, h / weight)
        linear, precision = found.correct(b, h)
        torch.testing.assert_close(precision, weight * h)
        torch.testing.assert_close(linear, weight * b)
        naive = torch.linalg.pinv(h)
        torch.testing.assert_close(
            found.matrix @ naive @ found.matrix.mT, naive / weight, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_the_corrected_posterior_is_the_closed_form_of_the_gaussian_case():
    """Features, noise and its correlations written out; and what estimates really scatter by."""
    fine, coarse = source(X, noisy(0), 1, "points"), source(X, noisy(0), 3, "aggregates")
    state = GPRNState(MRGPRN(kernel="rbf", weights="constant", inducing=12,
                             hyperparameters=HELD | NOISE), [fine, coarse])
    correction = Correction(state, same_noise(fine, coarse))
    assert list(correction.correlations.values()) == pytest.approx([1.0])
    phi = state.fields[0].project(state.full[0].x).features.detach()
    a = torch.cat([torch.eye(90), torch.eye(30).repeat_interleave(3, 1) / 3]).double()
    scale = state.sources.scale[0]**2
    variance = torch.cat([torch.full((90,), 0.25), torch.full((30,), 0.08)]).double() / scale
    rows = a @ phi
    r = torch.eye(120).double()
    r[:90, 90:] = torch.eye(30).double().repeat_interleave(3, 0) / 3**0.5
    r[90:, :90] = r[:90, 90:].mT
    noise = variance.sqrt()[:, None] * r * variance.sqrt()
    weighted = rows / variance[:, None]
    h, j = rows.mT @ weighted, weighted.mT @ noise @ weighted
    correction.apply()
    mean, covariance = state.q[0]
    y = torch.cat([state.residual(seen) for seen in state.full]).detach()
    precision = h @ torch.linalg.solve(j, h)
    expected = (torch.eye(12) + precision).inverse()
    torch.testing.assert_close(covariance, expected)
    torch.testing.assert_close(
        mean, expected @ (h @ torch.linalg.solve(j, weighted.mT @ y)), rtol=1e-5, atol=1e-6)
    # Estimates without a prior, from 40,000 draws of the noise.
    rng = np.random.default_rng(0)
    values, vectors = torch.linalg.eigh(noise)
    draws = torch.tensor(rng.standard_normal((40_000, 120))) @ (
        vectors * values.clamp_min(0).sqrt()).mT
    estimates = torch.linalg.solve(h, weighted.mT @ draws.mT)
    root = torch.linalg.cholesky(precision)
    whitened = torch.cov(root.mT @ estimates)
    assert float((whitened - torch.eye(12)).abs().max()) < 5 * (2 / 40_000)**0.5
    naive = torch.cov(torch.linalg.cholesky(h).mT @ estimates)
    assert float(torch.linalg.eigvalsh(naive)[-1]) > 1.5


def test_cross_terms_average_over_the_other_factor():
    """Second moments of W between individuals of two sources, by loops."""
    rng = np.random.default_rng(6)
    x = np.linspace(0, 4, 12)
    fine = source(x, np.cos(x), 1, "points", weight=rng.uniform(0.5, 2, 12))
    coarse = source(x, np.cos(x), 3, "aggregates", weight=rng.uniform(0.5, 2, 12))
    state = GPRNState(MRGPRN(kernel="rbf", inducing=4), [fine, coarse])
    state.q = random_q(state, 4)
    correction = Correction(state, same_noise(fine, coarse))
    rho = next(iter(correction.correlations.values()))
    for g in (0, 1):
        other = state.fields[1 - g]
        phi, psi = (f.project(state.full[0].x).features for f in (state.fields[g], other))
        mean, covariance = state.q[1 - g]
        x_in = state.full[0].x
        second = (psi @ mean)[:, None] * (psi @ mean) + psi @ covariance @ psi.mT + (
            other.prior(x_in, x_in) - psi @ psi.mT)
        a, b = (seen.operator.coefficients() for seen in state.full)
        noise = [state.noise_variance(seen).sqrt() for seen in state.full]
        cross = torch.zeros(phi.shape[1], phi.shape[1]).double()
        for i in range(12):
            j = i // 3
            share = b[i] / b[3 * j:3 * j + 3].square().sum().sqrt()
            for k in range(3 * j, 3 * j + 3):
                cross += rho * share * a[i] * b[k] / (noise[0][i] * noise[1][j]) * (
                    second[i, k] * torch.outer(phi[i], phi[k]))
        square = 30 * torch.eye(phi.shape[1]).double()
        found = correction.of(g, square)
        variability = (found.root * found.excess) @ found.root.mT
        torch.testing.assert_close(variability.detach(), (square + cross + cross.mT).detach(),
                                   rtol=1e-6, atol=1e-6)


# --- the model --------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [
    "constant", pytest.param("gp", marks=pytest.mark.slow)])
def test_a_source_that_is_there_twice_counts_half(weights):
    """The scalar's limit: as the same source alone."""
    one = source(X, noisy(0), 3, "points")
    held = HELD if weights == "constant" else {
        "mean": 2.0, "f.rbf.lengthscale": 1.0, "w.rbf.variance": 1.2, "w.rbf.lengthscale": 4.0}
    model = MRGPRN(kernel="rbf", weights=weights, inducing=45, composite="curvature")
    fit = model.condition([one, replace(one, name="again")], {
        **held, "points.noise.variance": 0.1, "again.noise.variance": 0.1})
    alone = MRGPRN(kernel="rbf", weights=weights, inducing=45).condition(
        one, {**held, "noise.variance": 0.1})
    new = points(np.linspace(0, 10, 20))
    torch.testing.assert_close(fit.at(new).mean, alone.at(new).mean, rtol=1e-3, atol=2e-3)
    torch.testing.assert_close(fit.at(new).std, alone.at(new).std, rtol=1e-3, atol=1e-4)
    assert "weights 0.5 to 0.5 by direction" in fit.history.notes[0]


def test_sources_apart_are_the_product():
    left, right = source(X[:45], noisy(0)[:45], 1, "points"), source(
        X[45:], noisy(0)[45:], 3, "aggregates")
    model = {"kernel": "rbf", "weights": "constant", "inducing": 12}
    with pytest.warns(CompositeWarning, match="corrects nothing"):
        fit = MRGPRN(**model, composite="curvature").condition([left, right], HELD | NOISE)
    peer = MRGPRN(**model).condition([left, right], HELD | NOISE)
    new = points(np.linspace(-2, 15, 20))
    torch.testing.assert_close(fit.at(new).std, peer.at(new).std)
    torch.testing.assert_close(fit.at(new).mean, peer.at(new).mean)


def test_only_what_overlaps_is_corrected():
    """Aggregates of the left half of the points: one weight widens the right half too."""
    fine, coarse = source(X, noisy(0), 1, "points"), source(X[:45], noisy(0)[:45], 3, "aggregates")
    noise = {"points.noise.variance": 0.25, "aggregates.noise.variance": 0.25 / 3}

    def variances(found, **options):
        fit = MRGPRN(kernel="rbf", weights="constant", inducing=40, **options).condition(
            found, HELD | (noise if len(found) > 1 else {"noise.variance": 0.25}))
        return [fit.at(points(np.linspace(*ends, 30))).variance for ends in ((-1, 5), (8, 14))]

    alone, matrix = variances([fine]), variances([fine, coarse], composite="curvature")
    scalar = variances([replace(fine, trust=0.5), replace(coarse, trust=0.5)])
    assert 0.8 < float((matrix[0] / alone[0]).mean()) < 1.05
    torch.testing.assert_close(matrix[1], alone[1], rtol=0.01, atol=1e-5)
    assert float((scalar[1] / alone[1]).mean()) > 1.5


@pytest.mark.slow
def test_the_posterior_is_nearer_to_that_of_the_points_alone():
    """Figure 2, left, hyperparameters learnt: means over three data sets."""
    new, wide = points(np.linspace(3, 10, 60)), {"none": [], "ribatet": [], "curvature": []}
    for seed in range(3):
        pair = [source(X, noisy(seed), 1, "points"), source(X, noisy(seed), 3, "aggregates")]
        model = {"kernel": "rbf", "weights": "constant", "inducing": 40, "max_steps": 40}
        alone = MRGPRN(**model).fit(pair[0]).at(new).variance.mean()
        for name, found in wide.items():
            fit = MRGPRN(**model, composite=name).fit(pair)
            found.append(float(fit.at(new).variance.mean() / alone))
    assert np.mean(wide["none"]) < 0.6
    assert np.mean(wide["none"]) < np.mean(wide["ribatet"]) < np.mean(wide["curvature"]) < 1.1


def test_an_exponent_is_refused():
    with pytest.raises(InputError, match="quadratic in the weights"):
        MRGPRN(composite="curvature", weights="exp")


# --- overlaps ---------------------------------------------------------------------------------


def seen(x, size=1):
    x = torch.as_tensor(np.asarray(x, dtype=float))[:, None]
    bags = Bags(x, torch.arange(len(x)) // size, torch.ones(len(x)).double(), len(x) // size,
                COLUMNS)
    return x, OPERATORS["mean"](bags)


def test_overlaps_of_points_and_means():
    x = np.arange(12.0)
    found = overlap(seen(x), seen(x, 3))
    assert found.first.tolist() == list(range(12))
    assert found.second.tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    torch.testing.assert_close(found.share, torch.full((12,), 3**-0.5).double())
    whole = overlap(seen(x, 3), seen(x + 0.3, 3))
    torch.testing.assert_close(whole.share, torch.ones(4).double())
    assert len(overlap(seen(x), seen(x + 100)).share) == 0


def test_repeated_places_find_their_partners():
    x = [0.0, 0.0, 1.0, 1.0, 1.0]
    found = overlap(seen(x), seen(x))
    assert found.first.tolist() == found.second.tolist() == [0, 1, 2, 3, 4]


def test_correlation_of_common_noise():
    rng, x = np.random.default_rng(0), np.arange(6000.0)
    common, own = rng.standard_normal((2, 6000))
    found = overlap(seen(x), seen(x, 3))
    means = common.reshape(-1, 3).sum(1) / 3**0.5
    assert found.correlation(common, means) == pytest.approx(1)
    mixed = 0.6 * means + 0.8 * own[:2000]
    assert found.correlation(common, mixed) == pytest.approx(0.6, abs=0.06)
    assert abs(found.correlation(common, own[:2000])) < 0.08
    nothing = overlap(seen(x), seen(x + 1e6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nothing.correlation(common, common) == 0
