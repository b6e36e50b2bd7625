import numpy as np
import pytest
from scipy import stats

from workbench.checks import InputError
from workbench.evaluation import covered, covered_by_pit, pit, pit_histogram, reliability
from workbench.evaluation.calibration import coverage

LEVELS = np.array([0.5, 0.8, 0.95])


def world(n=3000, spread=0.6, claimed=0.6, mean=20.0, seed=0):
    """Counts of a log-normal Poisson world, and draws of a law that claims a spread."""
    rng = np.random.default_rng(seed)
    y = rng.poisson(mean * np.exp(spread * rng.normal(size=n)))
    return y, rng.poisson(mean * np.exp(claimed * rng.normal(size=(999, n))))


def three_errors(n):
    return 3 * np.sqrt(LEVELS * (1 - LEVELS) / n)


def test_right_law_covers_at_the_nominal_level_and_a_shrunk_one_does_not():
    y, draws = world()
    share = covered_by_pit(pit(y, draws), LEVELS).mean(1)
    assert (np.abs(share - LEVELS) < three_errors(y.size)).all()
    share = covered_by_pit(pit(*world(claimed=0.2)), LEVELS).mean(1)
    assert (share < LEVELS - three_errors(y.size)).all()


def test_inclusive_intervals_of_small_counts_cover_more_and_randomised_ones_exactly():
    y, draws = world(mean=1.0, spread=0.3, claimed=0.3)
    inclusive = coverage(y, draws, LEVELS)
    by_pit = covered_by_pit(pit(y, draws), LEVELS)
    assert (inclusive >= LEVELS).all()
    assert inclusive[0] > LEVELS[0] + three_errors(y.size)[0]
    assert (np.abs(by_pit.mean(1) - LEVELS) < three_errors(y.size)).all()
    assert (covered(y, draws, LEVELS) | ~by_pit).mean() > 0.99


@pytest.mark.parametrize("mean", [0.5, 20.0])
def test_pit_is_uniform_for_the_right_law_only(mean):
    assert stats.kstest(pit(*world(mean=mean)), "uniform").pvalue > 0.01
    assert stats.kstest(pit(*world(mean=mean, spread=1.0, claimed=0.2)), "uniform").pvalue < 1e-6


def test_pit_is_reproducible_and_open():
    y, draws = world(n=50)
    np.testing.assert_array_equal(pit(y, draws, seed=3), pit(y, draws, seed=3))
    u = pit(np.array([-1.0, 1e9]), np.zeros((10, 2)))
    assert 0 < u[0] < 0.1 and 0.9 < u[1] < 1


def test_pit_histogram_is_a_density_with_a_band():
    u = np.random.default_rng(0).uniform(size=4000)
    flat = pit_histogram(u, bins=20)
    assert flat["density"].mean() == pytest.approx(1)
    outside = (flat["density"] < flat["lower"]) | (flat["density"] > flat["upper"])
    assert outside.sum() <= 4  # about one in twenty
    humped = pit_histogram(u / 2 + 0.25, bins=20)
    assert (humped["density"] > humped["upper"]).sum() == 10


def test_reliability_band_holds_the_right_law_and_not_the_shrunk():
    y, draws = world()
    right = reliability(covered_by_pit(pit(y, draws), LEVELS), LEVELS)
    assert (right["effective_n"] == y.size).all()
    np.testing.assert_allclose(right["upper"] - LEVELS, 2 * np.sqrt(LEVELS * (1 - LEVELS) / y.size))
    assert (np.abs(right["coverage"] - LEVELS) < 1.5 * (right["upper"] - LEVELS)).all()  # 3 errors
    shrunk = world(claimed=0.2)
    wrong = reliability(covered_by_pit(pit(*shrunk), LEVELS), LEVELS)
    assert (wrong["coverage"] < wrong["lower"]).all()


def test_effective_n_counts_groups_that_err_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), 10)
    together = (rng.uniform(size=200) < 0.5)[groups]
    apart = rng.uniform(size=2000) < 0.5
    assert reliability([together], [0.5], groups)["effective_n"].item() == pytest.approx(200)
    assert reliability([apart], [0.5], groups)["effective_n"].item() > 1500
    assert reliability([np.ones(2000)], [0.5], groups)["effective_n"].item() == 200


def test_reliability_names_both_shapes():
    with pytest.raises(InputError, match=r"\(3, n\).*\(2, 5\)"):
        reliability(np.ones((2, 5)), LEVELS)
