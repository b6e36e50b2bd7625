import numpy as np
import pytest
import scoringrules
from scipy import stats

from workbench.checks import InputError
from workbench.evaluation import (
    central_intervals,
    crps,
    interval_score,
    log_score,
    poisson_log_density,
    scoring,
    weighted_interval_score,
)
from workbench.evaluation.calibration import LEVELS


def test_crps_of_draws_meets_the_closed_form_of_the_normal():
    rng = np.random.default_rng(0)
    y = np.linspace(-2, 2, 9)
    repeats = np.array([crps(y, rng.normal(1.0, 2.0, (500, 9))) for _ in range(40)])
    closed = scoringrules.crps_normal(y, 1.0, 2.0)
    error = repeats.std(0, ddof=1) / np.sqrt(len(repeats))
    assert (np.abs(repeats.mean(0) - closed) < 4 * error).all()


def test_crps_is_unbiased_with_few_draws():
    rng = np.random.default_rng(1)
    y, draws = np.zeros(4000), rng.normal(size=(3, 4000))
    closed = scoringrules.crps_normal(0.0, 0.0, 1.0)
    fair = crps(y, draws)
    assert abs(fair.mean() - closed) < 4 * fair.std() / np.sqrt(y.size)
    pairs = scoringrules.crps_ensemble(y[:20], draws.T[:20], estimator="fair", backend="numpy")
    np.testing.assert_allclose(fair[:20], pairs, atol=1e-12)


def test_chunks_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    y, draws = rng.poisson(4, 101), rng.poisson(4, (30, 101))
    whole = crps(y, draws), central_intervals(draws, [0.5, 0.9])
    monkeypatch.setattr(scoring, "CHUNK", 100)
    assert len(scoring.chunks(30, 101)) == 34
    np.testing.assert_array_equal(crps(y, draws), whole[0])
    np.testing.assert_array_equal(central_intervals(draws, [0.5, 0.9]), whole[1])


def test_interval_score_is_width_plus_penalty():
    score = interval_score([0.0, 5.0, 12.0], [1.0] * 3, [11.0] * 3, 0.9)
    np.testing.assert_allclose(score, [10 + 20 * 1, 10, 10 + 20 * 1])
    stacked = interval_score([0.0], [[1.0], [2.0]], [[11.0], [9.0]], [0.9, 0.5])
    np.testing.assert_allclose(stacked, [[30.0], [7 + 4 * 2]])
    with pytest.raises(InputError, match="above"):
        interval_score([0.0], [2.0], [1.0], 0.9)


def test_weighted_interval_score_nears_the_crps():
    y, law = np.array([-1.0, 0.3, 2.5]), stats.norm()
    levels = np.linspace(0.005, 0.995, 199)
    tail = (1 - levels[:, None]) / 2 * np.ones((1, 3))
    wis = weighted_interval_score(y, np.zeros(3), law.ppf(tail), law.ppf(1 - tail), levels)
    np.testing.assert_allclose(wis, scoringrules.crps_normal(y, 0.0, 1.0), rtol=0.01)
    alone = weighted_interval_score(
        y[:1], np.zeros(1), law.ppf(tail[:, :1]), law.ppf(1 - tail[:, :1]), levels
    )
    np.testing.assert_allclose(alone, wis[:1])


def wis_of_normal(y, centre, levels):
    law, tail = stats.norm(centre), (1 - levels[:, None]) / 2
    ends = law.ppf(tail), law.ppf(1 - tail)
    return float(weighted_interval_score([y], [centre], *ends, levels)[0])


def test_weighted_interval_score_by_hand_and_wherever_zero_is():
    """The median counts by its distance from what was observed, not by its own size."""
    levels = np.array([0.5, 0.8, 0.95])
    score = wis_of_normal(-50.3, -50.0, levels)
    # 2/7 (0.15 + Σ α/2 of the widths), as -50.3 is inside all three intervals.
    widths = 2 * stats.norm.ppf((1 + levels) / 2)
    assert score == pytest.approx((0.15 + (1 - levels) @ widths / 2) / 3.5, rel=1e-12)
    assert wis_of_normal(-50.3, -50.0, np.asarray(LEVELS)) == pytest.approx(0.2635, abs=5e-5)
    for shift in (-1e4, 0.0, 50.0, 3e5):
        assert wis_of_normal(shift - 0.3, shift, levels) == pytest.approx(score, abs=1e-9)
    assert wis_of_normal(50.3, 50.0, levels) == pytest.approx(score)       # and mirrored
    closed, errors = scoringrules.crps_normal(-50.3, -50.0, 1.0), []
    for count in (9, 99, 999):
        filled = np.arange(1, count + 1) / (count + 1)
        errors.append(abs(wis_of_normal(-50.3, -50.0, filled) / closed - 1))
    assert errors[0] > errors[1] > errors[2] and errors[2] < 2e-3


def test_weighted_interval_score_refuses_ends_of_another_shape():
    with pytest.raises(InputError, match=r"\(2, 1\), got \(1, 1\) and \(2, 1\)"):
        weighted_interval_score([0.0], [0.0], [[-1.0]], [[1.0], [2.0]], [0.5, 0.9])


def test_log_score_of_a_gamma_mixture_is_the_negative_binomial():
    rng = np.random.default_rng(3)
    y, shape, scale = np.arange(12), 4.0, 1.5
    density = poisson_log_density(y, rng.gamma(shape, scale, (20_000, y.size)))
    exact = -stats.nbinom(shape, 1 / (1 + scale)).logpmf(y)
    mass = np.exp(density)
    error = mass.std(0) / mass.mean(0) / np.sqrt(len(mass))
    assert (np.abs(log_score(density) - exact) < 4 * error).all()


def test_draws_of_the_wrong_shape_are_refused_with_both_shapes():
    with pytest.raises(InputError, match=r"\(sample, 3\).*\(3, 10\)"):
        crps([1, 2, 3], np.ones((3, 10)))
