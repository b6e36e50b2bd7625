"""The most that areas' values can differ by beside a smooth map, and what auto makes of it."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy.optimize
import xarray as xr
from scipy.spatial.distance import cdist

import workbench as wb
from workbench.evaluation import crps
from workbench.gp.models.vbagg.choosing import settled
from workbench.labelled import noise_of_areas, scale_of_values
from workbench.labelled.candidates import options_of_values
from workbench.labelled.noise_of_areas import CLEAR, upper_noise
from workbench.labelled.scale_of_values import individuals, smooth_limit
from workbench.labelled.source import Converted, to_source

ALONE = np.zeros(60)        # one period


def matern(place, length):
    apart = np.sqrt(3) * cdist(place, place) / length
    return (1 + apart) * np.exp(-apart)


def drawn(seed, noise, count=60, length=0.4):
    """Values at random places: a Matérn map of variance one, a constant and noise."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(size=(count, 2))
    root = np.linalg.cholesky(matern(place, length) + 1e-10 * np.eye(count))
    return place, 5 + root @ rng.normal(size=count) + noise * rng.normal(size=count)


def searched(place, y, basis):
    """The same limit by a search, with one dense restricted likelihood."""
    null = np.linalg.svd(basis, full_matrices=True)[0][:, basis.shape[1]:]
    left = null.T @ y

    def misfit(length, size, noise):
        if max(length, size) > 5:       # beyond, rounding errors lead it on without end
            return np.inf
        inside = null.T @ (np.exp(size) * matern(place, np.exp(length)) + noise * np.eye(len(y)))
        inside = inside @ null
        return 0.5 * (left @ np.linalg.solve(inside, left) + np.linalg.slogdet(inside)[1])

    def best(noise):
        starts = [(np.log(one), 0.0) for one in (0.1, 0.3, 1.0)]
        return min(scipy.optimize.minimize(lambda p: misfit(*p, noise), start, method="Nelder-Mead",
                                           options={"xatol": 1e-3, "fatol": 1e-5}).fun
                   for start in starts)

    least = scipy.optimize.minimize_scalar(
        lambda t: best(np.exp(t)), bounds=(-12, 1), method="bounded")
    end = scipy.optimize.brentq(
        lambda t: best(np.exp(t)) - least.fun - CLEAR, least.x, 3, xtol=0.01)
    return np.exp(end / 2)


@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_it_is_where_a_search_over_the_dense_likelihood_ends(noise):
    place, y = drawn(1, noise, count=40)
    basis = np.column_stack([np.ones(40), place])
    assert upper_noise(y, basis, place, ALONE[:40]) == pytest.approx(
        searched(place, y, basis), rel=0.04)


@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_it_is_above_the_noise_in_nearly_all_made_worlds(noise):
    found = []
    for seed in range(40):
        place, y = drawn(seed, noise)
        found.append(upper_noise(y, np.ones((60, 1)), place, ALONE))
    assert np.mean(np.array(found) > noise) >= 0.85         # of 95 %: 3 standard errors
    assert np.median(found) < 4 * noise


def test_units_and_an_offset_change_nothing():
    place, y = drawn(2, 0.2)
    basis = np.ones((60, 1))
    found = upper_noise(y, basis, place, ALONE)
    assert upper_noise(1e-7 * (y + 1e3), basis, 1e5 * place, ALONE) == pytest.approx(
        1e-7 * found, rel=1e-4)


def test_groups_are_taken_as_independent_and_say_less():
    place, y = drawn(3, 0.1, count=300, length=0.3)
    basis = np.ones((300, 1))
    one = upper_noise(y, basis, place, np.zeros(300))
    with patch.object(noise_of_areas, "_TOGETHER", 40):
        apart = upper_noise(y, basis, place, np.zeros(300))
    assert 0.1 < apart < 2 * one
    with patch.object(noise_of_areas, "_MOST", 100):
        assert 0.1 < upper_noise(y, basis, place, np.zeros(300)) < 1
    # periods are no neighbours: the same values at the same places need no smoothness over time
    order = np.random.default_rng(0).permutation(300)
    both, twice = np.concatenate([y, y[order]]), np.concatenate([place, place[order]])
    times = np.repeat([0, 1], 300)
    assert upper_noise(both, np.ones((600, 1)), twice, times) == pytest.approx(one, rel=0.3)


@pytest.mark.parametrize("y, place", [
    (np.full(30, 7.0), np.random.default_rng(0).uniform(size=(30, 2))),
    (np.random.default_rng(0).normal(size=30), np.zeros((30, 2))),
    (np.random.default_rng(0).normal(size=8), np.random.default_rng(0).uniform(size=(8, 2)))])
def test_where_nothing_is_known_there_is_no_limit(y, place):
    assert upper_noise(y, np.ones((len(y), 1)), place, np.zeros(len(y))) == np.inf


def test_of_fields_smoother_than_the_map_it_is_about_the_noise():
    """The map is rough enough to follow some of it, so that it is no limit there."""
    ratio = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        place, waves = rng.uniform(size=(60, 2)), rng.normal(0, 4, (4, 2))
        y = np.cos(place @ waves.T + rng.uniform(0, 6, 4)).sum(1) + 0.1 * rng.normal(size=60)
        ratio.append(upper_noise(y, np.ones((60, 1)), place, ALONE) / 0.1)
    assert min(ratio) > 0.4 and 0.8 < np.median(ratio) < 1.5


def smooth(own=0.0, side=36, block=3):
    """Means of square blocks of a smooth field, whose pixels have something of their own, too."""
    rng = np.random.default_rng(5)
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    waves, phases = rng.normal(size=(40, 2)) / 6, rng.uniform(0, 2 * np.pi, 40)
    field = np.cos(np.stack([x.ravel(), y.ravel()], 1) @ waves.T + phases).sum(1) / np.sqrt(20)
    truth = 15 + field + own * rng.normal(size=side**2)
    members = (y // block * (side // block) + x // block).ravel()
    order = np.argsort(members, kind="stable")
    value = np.bincount(members, truth) / block**2
    ds = xr.Dataset(
        {"covariates": (("individual", "covariate"), np.zeros((side**2, 0))),
         "weight": ("individual", np.ones(side**2)), "membership": ("individual", members[order]),
         "value": ("bag", value, {"aggregation": "mean", "kind": "continuous"})},
        coords={"covariate": [], "x": ("individual", x.ravel()[order].astype(float)),
                "y": ("individual", y.ravel()[order].astype(float))})
    return ds, truth[order]


def test_smooth_areas_limit_what_their_individuals_are_taken_to_differ_by():
    """Which then is what they have of their own, and not the slope of the field."""
    ds, _ = smooth()
    source = to_source(ds)
    assert individuals(source, "identity") == smooth_limit(source, "identity")
    options = options_of_values(Converted(ds))
    assert options["hyperparameters"]["nugget.std"] == smooth_limit(source, "identity") < 0.15
    for one in wb.Auto(effort="quick").candidates(ds).values():     # exact under the identity link
        own = settled(one._inner, source).options
        assert (own.inducing_inputs, own.link) == ("averages", "identity")
        assert own.inducing == max(100, ds.sizes["bag"])
    rough = to_source(smooth(own=1.0)[0])
    assert 0.9 < smooth_limit(rough, "identity") < 1.6


@pytest.mark.filterwarnings("ignore::workbench.checks.SimpleMapWarning")
def test_maps_of_smooth_means_are_sharper_for_it_and_still_cover():
    ds, truth = smooth()
    found = {}
    for name, limit in (("limited", smooth_limit), ("before", lambda *_: np.inf)):
        with patch.object(scale_of_values, "smooth_limit", limit):
            fit = wb.Auto(effort="quick", workers=1).fit(ds)
        predicted = fit.at(ds)
        low, high = (end.values for end in predicted.interval(0.95))
        found[name] = (float(np.mean(crps(truth, predicted.sample(200, seed=0).values))),
                       float(((low <= truth) & (truth <= high)).mean()))
    assert found["limited"][0] < 0.6 * found["before"][0]
    assert 0.9 < found["limited"][1] <= found["before"][1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.SimpleMapWarning")
@pytest.mark.parametrize("own, error", [(0.6, 0.0), (0.0, 0.2)])
def test_intervals_of_areas_cover_their_means_whether_values_have_errors_or_not(own, error):
    """Both leave the same of the values beside a map, and nothing in them says which it is."""
    covered = []
    for seed in range(2):
        ds, truth = smooth(own)
        true = np.bincount(ds["membership"], truth) / 9
        seen = true + error * np.random.default_rng(seed).normal(size=true.size)
        ds = ds.assign(value=ds["value"].copy(data=seen))
        fit = wb.Auto(effort="quick", workers=1).fit(ds)
        low, high = (end.values for end in fit.over(ds).interval(0.95))
        covered.append(((low <= true) & (true <= high)).mean())
        assert np.abs(fit.over(ds).mean.values - seen).mean() > 0.01     # values are not all
    assert np.mean(covered) > 0.88, covered
