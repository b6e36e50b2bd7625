"""Exact sources agree by any weights, with errors in common and with skewed scatter."""

import numpy as np
import pytest

from tests.labelled.test_disagreement import bagged, found
from workbench.gp.models.several_sources.coefficient import log_ratio, regression
from workbench.gp.models.several_sources.meeting import meeting
from workbench.labelled import to_sources

SIDE = 36
NODES = (np.arange(SIDE) + 0.5) / SIDE
GRID = np.stack(np.meshgrid(NODES, NODES, indexing="ij"), -1).reshape(-1, 2)


def town(places):
    return np.exp(-(((places * 6) % 1 - 0.5)**2).sum(1) / 0.05)


def truth(places):
    """Higher in towns, so that means over people are above means over places."""
    return 10 + 2 * places[:, 0] + 3 * town(places)


def people(places):
    return 1 + 50 * town(places)


def even(places):
    return np.ones(len(places))


def means(cells, seed, weight=people, given=None, bias=0.0):
    """Means over people of so many cells a side, exact but for noise; ``given`` are the weights."""
    of = np.minimum((GRID * cells).astype(int), cells - 1) @ [cells, 1]
    order = np.argsort(of, kind="stable")
    places, of = GRID[order], of[order]
    inside = weight(places)
    value = np.bincount(of, inside * truth(places)) / np.bincount(of, inside)
    noise = 0.05 * np.random.default_rng(seed).normal(size=cells**2)
    ds = bagged(places, of, value + noise + bias)
    ds["weight"].values[:] = inside if given is None else given(places)
    return ds


def stations(seed, count, of_people):
    rng = np.random.default_rng(seed)
    share = people(GRID) / people(GRID).sum() if of_people else None
    places = GRID[rng.choice(len(GRID), count, replace=False, p=share)]
    return bagged(places, np.arange(count), truth(places) + 0.2 * rng.normal(size=count))


@pytest.mark.parametrize(("weight", "given"), [
    (people, None), (people, lambda places: 1e-3 * people(places)), (people, even), (even, people),
    (even, None)])
def test_means_over_people_agree_with_finer_ones_and_a_bias_is_found(weight, given):
    """Whatever unit the finer one's weights have, or if they are not those of its means."""
    given = given or weight
    assert not found({"fine": means(18, 0, weight, given), "coarse": means(6, 1, weight)})
    for bias in (1.0, -1.0):
        one, = found({"fine": means(18, 0, weight, given, bias), "coarse": means(6, 1, weight)})
        assert one.of_level and not one.of_slope
        assert one.level == pytest.approx(bias, abs=0.05) or given is not weight


@pytest.mark.parametrize("of_people", [False, True])
def test_stations_of_a_lattice_and_those_of_towns_agree_with_means_over_people(of_people):
    for seed in range(8):
        fair = stations(seed, 100, of_people)
        assert not found({"stations": fair, "cells": means(6, seed)})
        for bias in (-2.0, 2.0):
            one, = found({"stations": fair, "cells": means(6, seed, bias=bias)})
            assert one.of_level and one.level * bias < 0


def hourly(seed, common, vary):
    """25 cells of 9 individuals for 12 hours, with a station each; one error is in common."""
    rng, cells, hours = np.random.default_rng(seed), 25, 12
    nodes = (np.arange(15) + 0.5) / 15
    places = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), -1).reshape(-1, 2)
    of = (places * 5).astype(int) @ [5, 1]
    places = places[np.argsort(of, kind="stable")]
    errors = {"hour": rng.normal(size=hours)[:, None], "place": rng.normal(size=cells)[None]}
    seen = 10 + rng.normal(size=cells) + 0.1 * rng.normal(size=(hours, cells))
    read = seen + errors[common] + 0.1 * rng.normal(size=(hours, cells))
    members = np.repeat(np.arange(cells * hours), 9)
    satellite = bagged(np.tile(places, (hours, 1)), members, seen.ravel())
    size = len(members) if vary else len(places)
    satellite["weight"].values[:] = np.resize(rng.uniform(1, 2, size), len(members))
    middle = np.tile(places.reshape(cells, 9, 2)[:, 4], (hours, 1))
    points = bagged(middle, np.arange(cells * hours), read.ravel())
    return {"stations": timed(points, np.repeat(np.arange(hours) + 0.1, cells)),
            "satellite": timed(satellite, np.repeat(np.arange(hours) + 0.1, 9 * cells))}


def timed(ds, time):
    ds = ds.drop_vars(["covariates", "covariate", "covariate_units"])
    return ds.assign(covariates=(("individual", "covariate"), time[:, None])).assign_coords(
        covariate=["time"], covariate_units=("covariate", ["h"]))


@pytest.mark.parametrize("vary", [False, True])
@pytest.mark.parametrize("common", ["hour", "place"])
def test_errors_of_one_hour_or_place_count_once_whatever_the_weights(common, vary):
    finer, coarser = to_sources(hourly(0, common, vary))
    each, place, time = meeting(finer, coarser).groups
    assert [len(np.unique(one)) for one in (each, place, time)] == [300, 25, 12]
    for seed in range(8):
        assert not any(one.of_level for one in found(hourly(seed, common, vary)))


def test_skewed_scatter_inside_cells_is_no_difference_of_level():
    """Stations are lognormal about their cell's mean, with a standard deviation of logs of 1.5."""
    rng, alarms = np.random.default_rng(0), []
    for _ in range(400):
        coarse = np.exp(1 + 0.5 * rng.normal(size=20))
        fine = coarse * np.exp(1.5 * rng.normal(size=20) - 1.5**2 / 2)
        each, level = [np.arange(20)], fine - coarse
        _, _, clear = regression(level, [], each)
        by_ratio, _, enough = log_ratio(fine, coarse, [], each, np.ones(20))
        alarms.append((abs(level.mean()) > clear, abs(by_ratio) > enough))
    by_level, by_ratio = np.array(alarms).T
    assert by_level.mean() > 0.05 and (by_level & by_ratio).mean() < 0.01
    places, told = np.stack([np.arange(40.0), np.zeros(40)], -1), []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        cells = np.exp(1 + 0.5 * rng.normal(size=20))
        read = cells * np.exp(1.5 * rng.normal(size=20) - 1.5**2 / 2)
        given = {"stations": bagged(places[::2], np.arange(20), read),
                 "cells": bagged(places, np.repeat(np.arange(20), 2), cells)}
        told.append(any(one.of_level for one in found(given)))
    assert sum(told) <= 1      # five without a look at logarithms


def test_a_few_high_values_do_not_make_another_slope():
    """Scatter is larger where values are, which then draw the fit to themselves."""
    rng, alarms = np.random.default_rng(0), []
    for _ in range(1000):
        coarse = np.exp(1 + 0.5 * rng.normal(size=8))
        fine = coarse * np.exp(0.3 * rng.normal(size=8) - 0.3**2 / 2)
        for one, other in ((coarse, fine), (fine, coarse)):
            slope, _, clear = regression(one, [other - other.mean()], [np.arange(8)], 1)
            alarms.append(slope > 1 + max(clear, 0.2))
    assert 2 * np.mean(alarms) < 0.01       # 0.02 with errors of the values that were fitted


def test_sources_of_other_hours_meet_nowhere():
    def of_hour(ds, hour):
        hours = np.full((ds.sizes["individual"], 1), float(hour))
        return ds.drop_dims("covariate").assign(
            covariates=(("individual", "covariate"), hours)).assign_coords(
                covariate=["time"], covariate_units=("covariate", ["h"]))

    fine, coarse = means(18, 0), means(6, 1)
    assert found({"fine": of_hour(means(18, 0, bias=1.0), 0), "coarse": of_hour(coarse, 0)})
    assert not found({"fine": of_hour(fine, 0), "coarse": of_hour(coarse, 5)})
