import numpy as np
import pytest

from workbench.checks import InputError
from workbench.granularity import (
    CORRELATIONS,
    advise_cells,
    cell_rms,
    coarsening,
    input_error_bound,
    trusted_lengthscales,
)
from workbench.granularity.scales import lower_quantile


@pytest.mark.parametrize("kernel", [*CORRELATIONS, lambda r: np.exp(-r)])
@pytest.mark.parametrize("sides", [[0.7], [0.7, 2.0], [0.5, 1.0, 2.0], [8.0]])
def test_cell_rms_is_the_mean_over_the_box(kernel, sides):
    k = {1: 20_001, 2: 401, 3: 61}[len(sides)]
    t = (np.arange(k) + 0.5) / k - 0.5
    grid = np.stack(np.meshgrid(*[t] * len(sides), indexing="ij"), -1) * sides
    rho = kernel if callable(kernel) else CORRELATIONS[kernel]
    brute = np.sqrt(np.mean(2 - 2 * rho(np.linalg.norm(grid, axis=-1) / 1.3)))
    close = 3e-3 if len(sides) > 2 else 2e-4
    assert cell_rms(sides, 1.3, kernel) == pytest.approx(brute, rel=close)


def test_cell_rms_of_an_interval_in_closed_form():
    half = 0.45 / 2
    assert cell_rms([0.45], 1.0, "laplacian") ** 2 == pytest.approx(
        2 * (1 - -np.expm1(-half) / half), rel=1e-10)


@pytest.mark.parametrize("kernel", CORRELATIONS)
@pytest.mark.parametrize("domain", [(0, 5), [(0, 100), (20, 80)], [(0, 1), (0, 2), (0, 3)]])
def test_advised_cells_are_enough_and_not_much_too_fine(kernel, domain):
    advice = advise_cells(domain, 0.4, 3.0, kernel=kernel)
    extent = np.ptp(np.atleast_2d(domain), axis=1)
    np.testing.assert_allclose(np.multiply(advice.sides, advice.counts), extent)
    assert advice.error <= 0.4 and advice.areas == np.prod(advice.counts)
    if advice.areas > 1:
        side = extent.max() / (max(advice.counts) - 1)
        assert cell_rms(extent / np.ceil(extent / side - 1e-9), 3.0, kernel) > 0.4


def test_any_cell_will_do_where_everything_is_tolerated():
    assert advise_cells((0, 100), 1.5, 1.0).areas == 1


def test_shorter_lengthscales_rougher_kernels_and_smaller_tolerances_need_more_areas():
    domain = [(0, 10), (0, 10)]
    assert advise_cells(domain, 0.3, 1.0).areas > advise_cells(domain, 0.3, 2.0).areas
    assert advise_cells(domain, 0.2, 1.0).areas > advise_cells(domain, 0.3, 1.0).areas
    assert (advise_cells(domain, 0.3, 1.0, kernel="matern12").areas
            > advise_cells(domain, 0.3, 1.0, kernel="rbf").areas)


def test_a_prior_is_answered_at_its_lower_quantile():
    draws = np.arange(1.0, 101.0)
    assert lower_quantile(draws, 0.95) == 6.0
    assert lower_quantile((np.array([3.0, 1.0, 2.0]), [1, 1, 2]), 0.75) == 2.0
    assert lower_quantile(4.0, 0.95) == 4.0
    advice = advise_cells((0, 50), 0.3, draws, probability=0.9)
    assert advice.lengthscale == 11.0
    errors = np.array([cell_rms(advice.sides, s) for s in draws])
    assert (errors <= 0.3).mean() >= 0.9


@pytest.mark.parametrize("measure", ["certificate", "direct"])
def test_advice_by_certificate(measure):
    advice = advise_cells((0, 6), 0.4, 3.0, kernel="rbf", measure=measure, points=300)
    assert advice.error <= 0.4
    # A certificate asks for more than the root mean square does.
    assert advice.areas >= advise_cells((0, 6), 0.4, 3.0, kernel="rbf").areas
    half = np.arange(0.5, 60) / 10
    cells = advice.counts[0]
    found = input_error_bound(half, (np.arange(cells) + 0.5) * 6 / cells,
                              np.minimum((half * cells / 6).astype(int), cells - 1), kernel="rbf",
                              lengthscale=3.0)
    value = found.certificate if measure == "certificate" else found.direct_certificate
    assert value == pytest.approx(advice.error, rel=0.25)
    with pytest.raises(InputError, match="raise points"):
        advise_cells((0, 6), 0.01, 0.1, measure=measure, points=60)


@pytest.mark.parametrize("kernel", ["matern12", "rbf"])
def test_trusted_lengthscales_are_the_shortest(kernel):
    sides = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 1.0], [4.0, 4.0]])
    counts = [5, 1, 3, 0]
    found = trusted_lengthscales(sides, 0.3, counts=counts, kernel=kernel)
    for own, side in zip(found.per_area, sides, strict=True):
        assert cell_rms(side, own, kernel) == pytest.approx(0.3, rel=1e-6)
    overall = np.average(cell_rms(sides, found.shortest, kernel) ** 2, weights=counts)
    assert np.sqrt(overall) == pytest.approx(0.3, rel=1e-6)
    assert found.per_area[0] == found.per_area[2] < found.shortest < found.per_area[1]
    prior = trusted_lengthscales(sides, 0.3, counts=counts, kernel=kernel,
                                 lengthscale=([found.shortest / 2, found.shortest * 2], [1, 3]))
    assert prior.share == pytest.approx(0.75)


def test_advice_and_trust_are_inverse():
    advice = advise_cells([(0, 10), (0, 10)], 0.3, 2.0)
    assert trusted_lengthscales([advice.sides], 0.3).shortest <= 2.0
    assert trusted_lengthscales([advice.sides], advice.error).shortest == pytest.approx(2.0)


def test_trust_by_certificate():
    z = np.arange(8.0)
    found = trusted_lengthscales(1.0, 0.4, centroids=z, kernel="rbf", measure="certificate",
                                 points=120)
    x = (z[:, None] + (np.arange(15) + 0.5) / 15 - 0.5).ravel()
    at = input_error_bound(x, z, np.repeat(np.arange(8), 15), kernel="rbf",
                           lengthscale=found.shortest)
    assert at.certificate == pytest.approx(0.4, rel=0.02)
    assert found.per_area is None and found.share is None


def test_every_lengthscale_is_trusted_where_everything_is_tolerated():
    assert trusted_lengthscales(1.0, 1.5).shortest == 0


@pytest.mark.parametrize("measure", ["rms", "direct"])
def test_coarsening_until_the_map_is_lost(measure):
    found = coarsening((0, 12), 0.5, 0.4, 4.0, kernel="rbf", measure=measure, points=200)
    assert (np.diff(found.errors) >= 0).all() and found.areas.tolist() == [24, 12, 6, 3, 2, 1]
    last = found.factors.tolist().index(found.largest_factor)
    assert found.survives[:last + 1].all() and not found.survives[last + 1]
    np.testing.assert_allclose(found.sides[:, 0], 12 / found.areas)


def test_a_map_that_is_too_coarse_already():
    found = coarsening([(0, 12), (0, 6)], [2.0, 1.0], 0.1, 1.0)
    assert found.largest_factor is None and not found.survives.any()


@pytest.mark.parametrize("call", [
    lambda: advise_cells((1, 0), 0.3, 1.0),
    lambda: advise_cells([(0, 1)] * 4, 0.3, 1.0),
    lambda: advise_cells((0, 1), 0.0, 1.0),
    lambda: advise_cells((0, 1), 0.3, -1.0),
    lambda: advise_cells((0, 1), 0.3, ([1.0, 2.0], [0.0, 0.0])),
    lambda: advise_cells((0, 1), 0.3, ([1.0, 2.0], [1.0])),
    lambda: advise_cells((0, 1), 0.3, ([1.0], [1.0], [1.0])),
    lambda: advise_cells((0, 1), 0.3, 1.0, measure="mean"),
    lambda: advise_cells((0, 1), 0.3, 1.0, probability=0.0),
    lambda: trusted_lengthscales([1.0, -1.0], 0.3),
    lambda: trusted_lengthscales([1.0, 1.0], 0.3, counts=[1.0]),
    lambda: trusted_lengthscales(1.0, 0.3, measure="certificate"),
    lambda: trusted_lengthscales([1.0, 1.0], 0.3, measure="direct", centroids=[0.0, 1.0, 2.0]),
    lambda: coarsening((0, 1), 0.1, 0.3, 1.0, factors=(2, 1)),
    lambda: coarsening((0, 1), -0.1, 0.3, 1.0),
    lambda: coarsening((0, 1), 0.001, 0.3, 1.0, measure="direct", points=100),
])
def test_bad_input_is_named(call):
    with pytest.raises(InputError):
        call()
