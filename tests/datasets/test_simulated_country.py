"""The simulated country: nested areas, known rate, rivers that reach the sea."""

import numpy as np
import pytest
import shapely

from workbench import schema
from workbench.bagging import bag_grid
from workbench.datasets import load
from workbench.datasets.country.borders import area_mass, without_fragments
from workbench.datasets.country.terrain import make_terrain
from workbench.geo import to_raster


@pytest.fixture(scope="module")
def country():
    return load("simulated-country")


def test_a_country_has_the_shape_asked_for(country):
    schema.check(country)
    assert dict(country.sizes) == {"individual": 10_000, "covariate": 5, "bag": 120}
    sizes = np.bincount(country["membership"])
    assert sizes.min() >= 8 and sizes.max() <= 600
    assert sizes.max() > 20 * sizes.min()  # towns are small, the wilderness is large


def test_counts_are_draws_from_the_true_rate(country):
    expected = np.bincount(country["membership"], country["weight"] * country["truth"])
    deviation = (country["value"].values - expected) / np.sqrt(expected)
    # Poisson at every pixel: standardised totals have variance one
    assert np.mean(deviation**2) == pytest.approx(1, abs=4 * np.sqrt(2 / 120))
    rate = country["value"].sum() / country["weight"].sum()
    assert rate == pytest.approx(0.05, abs=4 * np.sqrt(0.05 / country["weight"].sum().item()))


def test_levels_nest_and_keep_the_total(country):
    for level, bags in (("region", 24), ("province", 6)):
        coarse = load("simulated-country", level=level)
        assert coarse.sizes["bag"] == bags
        assert coarse["value"].sum() == country["value"].sum()
    for label in ("region", "province"):
        assert np.unique(country[label]).size == {"region": 24, "province": 6}[label]
    pairs = set(zip(country["region"].values, country["province"].values, strict=True))
    assert len(pairs) == 24  # no region in two provinces


def test_outlines_are_the_outlines_of_the_pixels(country):
    areas = shapely.area(country["bag_geometry"].values)
    assert areas == pytest.approx(np.bincount(country["membership"]) * 25.0)
    shapes = country["bag_geometry"].values[country["membership"].values]
    assert shapely.contains_xy(shapes, country["x"], country["y"]).all()


def test_most_districts_are_in_one_piece(country):
    pieces = shapely.get_num_geometries(country["bag_geometry"].values)
    assert np.mean(pieces == 1) > 0.85


def test_the_rate_rises_along_rivers():
    ds = load("simulated-country", covariates=7)
    near = (ds["covariates"].sel(covariate="river_distance") <= 5).values
    rate, people = ds["truth"].values, ds["weight"].values
    assert np.average(rate[near], weights=people[near]) > 1.5 * np.average(
        rate[~near], weights=people[~near])


def test_water_runs_downhill_to_the_sea_and_none_is_lost():
    terrain = make_terrain(3000, 2.0, np.random.default_rng(4))
    assert terrain.land.sum() == 3000
    drained = np.where(terrain.land, terrain.drained, 0) / 4
    assert drained[terrain.land].min() == 1
    assert drained.max() > 100  # there are rivers
    # The heaviest pixel of every basin lies by the sea: a river's mouth is on the coast.
    mouth = np.unravel_index(drained.argmax(), drained.shape)
    around = terrain.land[mouth[0] - 1:mouth[0] + 2, mouth[1] - 1:mouth[1] + 2]
    assert not around.all()


def test_a_seed_is_a_country_and_the_rate_does_not_depend_on_borders(country):
    assert load("simulated-country").drop_vars("bag_geometry").identical(
        country.drop_vars("bag_geometry"))
    other = load("simulated-country", seed=1)
    assert not np.array_equal(other["weight"], country["weight"])
    finer = load("simulated-country", districts=200, regions=30, smallest=5)
    np.testing.assert_array_equal(to_raster(finer, "truth"), to_raster(country, "truth"))


def test_pixels_can_be_bagged_anew(country):
    grid = bag_grid(country, 6)
    assert grid["value"].sum() == country["value"].sum()
    np.testing.assert_array_equal(to_raster(grid, "truth"), to_raster(country, "truth"))


def test_all_covariates_vary_and_have_units():
    ds = load("simulated-country", pixels=2000, districts=40, regions=8, covariates=18, seed=2)
    assert ds.sizes["covariate"] == 18
    assert (ds["covariates"].std("individual") > 0).all()
    assert (ds["covariate_units"] != "").all()


def test_mass_is_bounded_and_adds_up():
    population = np.random.default_rng(0).lognormal(3, 2, 5000)
    mass = area_mass(population, 50, 10, 900)
    assert mass.sum() == pytest.approx(50)
    assert 1 / mass.max() >= 10 and 1 / mass.min() <= 900


def test_detached_pieces_go_to_the_neighbour_they_border_most():
    grid = np.zeros((6, 9), dtype=int)
    grid[:, 3:6], grid[:, 6:] = 1, 2
    grid[2:4, 7] = 0          # a piece of 0 inside 2
    grid[0, 0] = -1           # sea
    joined = without_fragments(grid, 1, 100)
    assert (joined[2:4, 7] == 2).all()
    assert (joined == -1).sum() == 1
    assert np.array_equal(joined[:, :6], grid[:, :6])
    # moving it would take district 0 below its smallest size
    assert np.array_equal(without_fragments(grid, 19, 100), grid)


@pytest.mark.slow
def test_the_shape_of_the_malaria_data_can_be_had():
    """With a tenth of the pixels, which are its 1,044,683, and of the largest district."""
    ds = load("simulated-country", pixels=104_468, districts=957, regions=150, provinces=18,
              smallest=13, largest=667, covariates=18, cell_km=1)
    assert dict(ds.sizes) == {"individual": 104_468, "covariate": 18, "bag": 957}
    sizes = np.bincount(ds["membership"])
    assert sizes.min() >= 13 and sizes.max() <= 667
