"""The pictures that notebooks draw hold what they are given."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import workbench as wb
from workbench.papers.chau2021 import plots
from workbench.papers.chau2021.fields import interpolated, own_values, thinned
from workbench.papers.chau2021.line import NOISE, field, line_world, mean_field

GIVEN = {"mean": 1.25, "rbf.variance": 1.0, "rbf.lengthscale": 0.7, "noise.variance": NOISE**2,
         "mediator.rbf.lengthscale": 1.0, "ridge": 1e-4}


def test_the_mean_field_is_what_points_around_y_average_to():
    draws = 2.0 + 0.4 * np.random.default_rng(0).normal(size=200_000)
    assert field(draws).mean() == pytest.approx(mean_field(2.0), abs=0.01)


def test_a_world_on_a_line_has_bags_without_values_and_targets_elsewhere():
    world = line_world(seed=1, bags=20, targets=10)
    assert "value" not in world.bags and world.bags.sizes["bag"] == 20
    assert world.targets.sizes["target"] == 10 and not set(world.at) & set(world.y)
    points = list(plots.given(world))[0]
    assert len(points) == world.x.size


@pytest.mark.filterwarnings("ignore:.*lie where no bag is")
def test_posteriors_are_drawn_with_their_bands_and_the_truth():
    world = line_world()
    fit = wb.CMP(kernel="rbf").condition(world.bags, GIVEN, world.targets)
    g = fit.conditional_mean(pd.DataFrame({"y": world.line}))
    left, right = plots.posterior(world, fit.latent(world.places), g)
    assert [type(one).__name__ for one in left] == ["Area", "Curve", "Curve", "Points"]
    np.testing.assert_allclose(list(right)[1]["value"], fit.latent(world.places).mean)


def test_the_prior_is_drawn_as_given():
    world = line_world(bags=20)
    size = len(world.line)
    panels = list(plots.prior(world, np.array([3.0, 7.0]), np.ones((20, 2)), np.ones(size),
                                   np.ones((size, 2)), np.zeros((size, 3)), np.ones((size, 3))))
    assert [len(list(panel)) for panel in panels] == [2, 3, 6]


def test_seeds_are_dots_with_a_bar_at_the_median_and_basins_have_both_starts():
    runs = pd.DataFrame({"matching": "direct", "model": ["a", "a", "a", "b"],
                         "rmse": [0.1, 0.2, 0.9, 0.5]})
    _, cloud, bars = list(plots.seed_dots(runs, ["a", "b"], ("direct",)))[0]
    assert len(cloud) == 4 and sorted(bars["rmse"]) == [0.2, 0.5]
    held = pd.DataFrame({"log evidence": [4.0, 1.0], "RMSE": [0.1, 0.8]}, index=[0.1, 1.0])
    for panel in plots.basins(held, 0.07):
        assert [one.data for one in list(panel)[1:]] == [0.07, 1.0]


def test_splits_are_dots_in_their_world_beside_the_reference():
    runs = pd.DataFrame({"world": ["uk", "uk", "uk"], "model": ["cmp", "cmp", "bilinear"],
                         "rmse": [1.0, 2.0, 1.5], "coverage": [0.9, 0.8, np.nan]})
    cmp, other, _, reference = list(plots.splits(runs, ["cmp", "vbagg"], "bilinear"))[0]
    assert len(cmp) == 2 and np.isnan(other["rmse"]).all() and reference.data == 1.5
    grain = pd.DataFrame({"rmse": [0.2, 0.4, 0.3, 0.3], "coverage": [0.9, 0.8, np.nan, np.nan]},
                         index=pd.MultiIndex.from_product([["VBAgg", "bilinear"], [18, 45]]
                                                          ).swaplevel())
    covered, errors = plots.by_block(grain, 0.5)
    assert len(list(covered)) == 2 and len(list(errors)) == 3       # a mark in each


def test_a_field_is_thinned_and_its_targets_are_interpolated():
    ds = wb.load("simulated-climate", size=32, block=4)
    rasters = thinned(ds, "t", 2, "degree")
    assert isinstance(rasters, xr.Dataset) and rasters["t"].attrs["units"] == ds["truth"].units
    assert float(rasters["t"].mean()) == pytest.approx(float(ds["truth"].mean()))
    bags = own_values(ds)
    assert set(bags["bag"].values) == set(wb.unmatch(ds, 0.5, 2)[0]["bag"].values)
    off = np.sqrt(np.mean((interpolated(ds, slope=0.0) - ds["truth"].values) ** 2))
    assert off < ds["truth"].values.std()


def test_the_roll_is_drawn_with_the_cuts_between_its_bags():
    roll = wb.load("swiss-roll-heights", seed=42, points=400)
    fit = wb.CMP(kernel="ard-rbf", hyperparameters={"mean": 0.0}, starts=1, max_steps=30).fit(roll)
    panels = list(plots.roll_panel(roll, fit.at(roll)))
    assert len(panels) == 6 and len(list(panels[0])) == roll.sizes["bag"]     # points, and cuts
