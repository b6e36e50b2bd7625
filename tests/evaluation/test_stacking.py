import itertools

import numpy as np
import pytest
import scoringrules

from workbench.checks import InputError
from workbench.evaluation import cross_scores, stack


def world(groups, bias, spread, size=4, samples=200, seed=0):
    """Draws of models (sd of errors common to a group, spread) of a standard normal truth."""
    rng = np.random.default_rng(seed)
    units = groups * size
    error = np.repeat(rng.normal(size=(groups, len(bias))) * bias, size, axis=0)
    y = rng.normal(size=units)
    draws = [error[:, k] + spread[k] * rng.normal(size=(samples, units)) for k in range(len(bias))]
    return draws, y, np.repeat(np.arange(groups), size)


def simplex(models, steps):
    """All weights on a grid."""
    for parts in itertools.product(range(steps + 1), repeat=models - 1):
        if sum(parts) <= steps:
            yield np.array([*parts, steps - sum(parts)]) / steps


def empirical_crps(y, draws):
    """CRPS of the draws' own empirical distributions."""
    return scoringrules.crps_ensemble(y, draws.T, estimator="qd", backend="numpy")


def test_the_quadratic_form_is_the_crps_of_the_mixture():
    draws, y, _ = world(5, [0, 0.5, 1.0], [1, 0.6, 1.5], samples=40)
    forms = cross_scores(draws, y)
    for k, x in enumerate(draws):
        np.testing.assert_allclose(forms[:, k, k], empirical_crps(y, x))
    mixture = np.concatenate([draws[0], draws[0], draws[1], draws[2]])      # weights 2 : 1 : 1
    w = np.array([0.5, 0.25, 0.25])
    np.testing.assert_allclose(w @ forms @ w, empirical_crps(y, mixture))
    left, right = draws[0][:, 3], draws[2][:, 3]                            # and as defined
    between = np.abs(left[:, None] - right).mean()
    expected = 0.5 * (np.abs(left - y[3]).mean() + np.abs(right - y[3]).mean() - between)
    assert forms[3, 0, 2] == pytest.approx(expected)
    unequal = [draws[0], draws[1][:7]]
    np.testing.assert_allclose(cross_scores(unequal, y)[:, 1, 1], empirical_crps(y, draws[1][:7]))


@pytest.mark.parametrize("shrink", [0, 1, "auto"])
def test_weights_are_the_optimum_of_brute_force(shrink):
    draws, y, groups = world(30, [0.3, 0.6, 0.9], [0.8, 1.0, 1.0])
    w = stack(draws, y, groups, shrink)
    form = cross_scores(draws, y).mean(0)
    if shrink == 0:
        best = min(v @ form @ v for v in simplex(3, 200))
        assert best - 1e-4 * best < w @ form @ w <= best + 1e-9
        return
    # the strength as the module states it, from scratch
    even, units = np.full(3, 1 / 3), cross_scores(draws, y)
    slopes = np.array([2 * units[groups == g].mean(0) @ even for g in range(30)])
    project = np.eye(3) - 1 / 3
    noise = np.trace(project @ np.cov(slopes.T) @ project)
    tau = 3 * (2 * 3 / 2) / 30 * noise / np.trace(project @ (2 * form) @ project)
    own = np.array([np.diag(units[groups == g].mean(0)) for g in range(30)])
    worse = own - own[:, [own.mean(0).argmin()]]
    with np.errstate(invalid="ignore"):
        t = np.nan_to_num(worse.mean(0) / (worse.std(0, ddof=1) / 30**0.5))
    target = np.maximum((1 + t**2 / 29) ** (-30 / 4), 1e-3)
    target /= target.sum()

    def objective(v):
        return v @ form @ v - tau * target @ np.log(v)

    best = min(objective(v) for v in simplex(3, 300) if v.min() > 0)
    assert best - 1e-4 * abs(best) < objective(w) <= best + 1e-9


def learn(groups, errors, seed, shrink="auto"):
    """Weight of the first of two models whose errors common to a group have these sds."""
    draws, y, g = world(groups, errors, [1, 1], seed=seed)
    return stack(draws, y, g, shrink)[0]


def test_the_right_model_is_found_with_many_units_and_equal_ones_stay_equal_with_few():
    assert learn(1000, [0, 0.7], 0) > 0.95
    few = np.array([learn(5, [0.6, 0.6], seed) for seed in range(40)])
    free = np.array([learn(5, [0.6, 0.6], seed, shrink=0) for seed in range(40)])
    assert abs(few.mean() - 0.5) < 3 * few.std() / 40**0.5
    assert np.abs(few - 0.5).mean() < 0.15 < 0.2 < np.abs(free - 0.5).mean()
    right = np.array([learn(5, [0, 0.7], seed) for seed in range(40)])
    assert 0.6 < right.mean() < 0.9         # towards the right one, with caution


def test_weights_are_never_expected_to_be_worse_than_the_worst_model_nor_than_chance():
    """Out of sample, over many draws of five or ten groups: better than equal weights or the same,
    and better than taking the model that did best."""
    draws, y, groups = world(3000, [0.4, 0.8, 0.8], [1, 1, 1], samples=100)
    forms = np.concatenate([cross_scores([x[:, i:i + 2000] for x in draws], y[i:i + 2000])
                            for i in range(0, y.size, 2000)])
    whole = forms.mean(0)
    rng = np.random.default_rng(0)
    for count in (5, 10):
        stacked, chosen = [], []
        for _ in range(60):
            mine = np.isin(groups, rng.choice(3000, count, replace=False))
            w = stack([x[:, mine] for x in draws], y[mine], groups[mine])
            one = forms[mine].mean(0).diagonal().argmin()
            stacked.append(w @ whole @ w)
            chosen.append(whole[one, one])
            assert w @ whole @ w < whole.diagonal().max()
        error = np.std(np.subtract(stacked, chosen)) / 60**0.5
        assert np.mean(stacked) < np.mean(chosen) + 2 * error
        assert np.mean(stacked) < 1.005 * whole.mean()      # equal weights


def test_weights_follow_the_order_of_models_and_the_scale_of_values():
    draws, y, groups = world(20, [0.2, 0.6, 1.0], [1, 0.7, 1.3])
    w = stack(draws, y, groups)
    for order in itertools.permutations(range(3)):
        np.testing.assert_allclose(stack([draws[k] for k in order], y, groups), w[list(order)],
                                   atol=1e-5)
    np.testing.assert_allclose(stack([1e3 * x for x in draws], 1e3 * y, groups), w, atol=1e-5)
    assert w.sum() == pytest.approx(1) and (w > 0).all()


def test_alike_models_share_and_too_little_gives_equal_weights():
    draws, y, groups = world(20, [0.2, 0.6], [1, 1])
    for shrink in (0, "auto"):
        w = stack([draws[0], draws[0]], y, groups, shrink)
        np.testing.assert_allclose(w, 0.5, atol=1e-3)
    np.testing.assert_allclose(stack(draws, y, np.zeros(y.size)), 0.5)
    np.testing.assert_allclose(stack(draws[:1], y, groups), 1)


def test_the_same_areas_in_several_groupings_do_not_count_as_more_groups():
    draws, y, groups = world(20, [0.2, 0.8], [1, 1])
    once = stack(draws, y, groups)
    twice = [np.concatenate([x, x], axis=1) for x in draws]
    both, replicate = np.concatenate([groups, groups]), np.repeat([0, 1], y.size)
    again = stack(twice, np.concatenate([y, y]), both, replicates=replicate)
    np.testing.assert_allclose(again, once, atol=1e-5)
    naive = stack(twice, np.concatenate([y, y]), np.concatenate([groups, groups + 20]))
    assert naive[0] > once[0] + 0.02


def test_bad_input_says_what_is_wrong():
    draws, y, groups = world(5, [0, 1], [1, 1], samples=10)
    with pytest.raises(InputError, match="model 1 must be"):
        stack([draws[0], draws[1][:, :3]], y)
    with pytest.raises(InputError, match="not all finite"):
        stack([draws[0], draws[1] * np.nan], y)
    with pytest.raises(InputError, match="one per unit"):
        stack(draws, y, groups[:4])
    with pytest.raises(InputError, match="shrink"):
        stack(draws, y, groups, shrink="much")


def test_infinite_shrinkage_leaves_out_what_is_certainly_bad_and_keeps_what_is_alike():
    rng = np.random.default_rng(8)
    y = rng.normal(size=300)
    alike, other = (rng.normal(size=(200, 300)) for _ in range(2))
    bad = 3 + rng.normal(size=(200, 300))
    weights = stack([alike, other, bad], y, shrink=np.inf)
    assert weights[2] < 0.01 and weights[:2].min() > 0.3
    few = stack([x[:, :4] for x in (alike, other, bad)], y[:4], np.arange(4), shrink=np.inf)
    assert few[2] > weights[2]                                  # four units tell less
