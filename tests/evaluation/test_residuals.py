"""Residuals of areas: their law, Moran's I beside esda, islands, and what is told of them."""

import numpy as np
import pytest
import shapely
import xarray as xr
from scipy import stats

import workbench as wb
from workbench.checks import FitWarning, InputError
from workbench.evaluation import quantile_residuals, residuals, spatial_check
from workbench.pipeline.run import run
from workbench.pipeline.spec import Spec

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.FewAreasWarning",
    "ignore::workbench.checks.ExtrapolationWarning")
SIDE = 8


@pytest.fixture(scope="module")
def squares() -> xr.Dataset:
    """A chess board of areas, each with one individual, and an island far to the east."""
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    east = np.where(row * SIDE + column == SIDE * SIDE - 1, 40, 0)
    shapes = shapely.box(column + east, row, column + east + 1, row + 1)
    boxes = np.empty(len(shapes), dtype=object)
    boxes[:] = shapes
    return xr.Dataset(
        {"value": ("bag", np.ones(SIDE * SIDE)), "weight": ("individual", np.ones(SIDE * SIDE)),
         "membership": ("individual", np.arange(SIDE * SIDE))},
        coords={"bag": np.arange(SIDE * SIDE).astype(str), "bag_geometry": ("bag", boxes),
                "x": ("individual", column + east + 0.5), "y": ("individual", row + 0.5)})


def test_moran_is_that_of_esda_and_of_the_formula(squares):
    import esda
    from libpysal.weights import WSP

    z = np.random.default_rng(0).normal(size=SIDE * SIDE)
    graph, islands = residuals.neighbours(squares, residuals.centres_of(squares))
    assert islands == 1 and (graph.sum(1) > 0).all()
    assert (graph != graph.T).nnz == 0 and graph.diagonal().sum() == 0
    found = spatial_check(squares, z, permutations=999, seed=1)
    theirs = esda.Moran(z, WSP(graph).to_W(silence_warnings=True), permutations=0)
    own = residuals._moran(graph, z[None])[0]
    assert found.attrs["moran_i"] == pytest.approx(theirs.I) == pytest.approx(own)
    assert found.attrs["moran_expected"] == pytest.approx(-1 / (SIDE * SIDE - 1))
    normal = 2 * stats.norm.sf(abs(theirs.z_rand))      # by the law of permutations, to its error
    assert found.attrs["moran_p"] == pytest.approx(normal, abs=4 * np.sqrt(normal / 999) + 0.01)
    again = spatial_check(squares, z, permutations=999, seed=1)
    xr.testing.assert_identical(found, again)
    assert "1 areas touch no other" in found.attrs["verdict"]


def test_p_values_are_uniform_without_a_pattern(squares):
    rng = np.random.default_rng(3)
    found = [spatial_check(squares, rng.normal(size=SIDE * SIDE), permutations=99, seed=i
                           ).attrs["moran_p"] for i in range(60)]
    assert stats.kstest(found, "uniform").pvalue > 0.01


def test_a_gradient_and_a_chess_board_are_found(squares):
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    slope = spatial_check(squares, row.astype(float))
    assert slope.attrs["moran_p"] <= 0.002 and "are alike" in slope.attrs["verdict"]
    inside = slope["semivariance"][:2] < slope["lower"][:2]
    assert inside.all()                              # near areas differ less than any two
    shapes = np.array([s.buffer(-0.01) for s in squares["bag_geometry"].values], dtype=object)
    apart = squares.assign_coords(bag_geometry=("bag", shapes))
    assert residuals.neighbours(apart, residuals.centres_of(apart))[1] == SIDE * SIDE
    bare = squares.drop_vars("bag_geometry")
    assert residuals.neighbours(bare, residuals.centres_of(bare))[1] == 0
    rook = spatial_check(bare, ((row + column) % 2).astype(float))
    assert rook.attrs["moran_i"] < 0


def test_the_variogram_of_noise_is_its_variance(squares):
    z = np.random.default_rng(5).normal(size=SIDE * SIDE)
    found = spatial_check(squares.isel(bag=slice(0, -1), individual=slice(0, -1)), z[:-1])
    assert float(found["semivariance"].weighted(found["pairs"]).mean()) == pytest.approx(
        z[:-1].var(ddof=1), rel=0.15)
    assert found["pairs"].values.max() - found["pairs"].values.min() < found["pairs"].sum() / 3
    assert (found["lower"] < found["upper"]).all()


def test_quantile_residuals_of_the_models_own_draws_are_normal():
    rng = np.random.default_rng(2)
    rate = rng.gamma(2, 3, size=400)
    left = quantile_residuals(rng.poisson(rate), rng.poisson(rate, size=(1000, 400)))
    assert stats.kstest(left, "norm").pvalue > 0.01


def test_too_few_or_equal_residuals_are_refused(squares):
    few = squares.isel(bag=slice(0, 5), individual=slice(0, 5))
    with pytest.raises(InputError, match="at least 8 areas, got 5"):
        spatial_check(few, np.arange(5.0))
    with pytest.raises(InputError, match="one finite residual"):
        spatial_check(squares, np.full(SIDE * SIDE, np.nan))
    with pytest.raises(InputError, match="all residuals are equal"):
        spatial_check(squares, np.ones(SIDE * SIDE))
    with pytest.raises(InputError, match="nothing says where"):
        spatial_check(squares.drop_vars(["bag_geometry", "x", "y"]), np.arange(SIDE * SIDE))


def test_a_flat_map_leaves_the_pattern_that_a_smooth_one_takes():
    """Totals of a rate that doubles from south to north."""
    ds = wb.load("simulated-country", pixels=400, districts=40, regions=4, provinces=2, seed=2)
    y = ds["y"].values
    rate = 0.2 * np.exp(1.5 * (y - y.mean()) / np.ptp(y))
    total = np.bincount(ds["membership"], rate * ds["weight"].values)
    ds = ds.assign(value=ds["value"].copy(data=np.random.default_rng(0).poisson(total)))
    flat = wb.Constant(overdispersion="area").fit(ds)
    found = flat.residual_check(ds, samples=400)
    assert found.attrs["moran_p"] < 0.01 and found.attrs["moran_i"] > 0
    smooth = wb.VBAgg(kernel="matern52(coordinates)", inducing=15, max_steps=10,
                      overdispersion="area").fit(ds).residual_check(ds, samples=400)
    assert smooth.attrs["moran_p"] > 0.01
    assert smooth.attrs["moran_i"] < found.attrs["moran_i"] - 0.2


def test_a_run_says_it_if_asked(tmp_path):
    spec = Spec("simulated-country", {"pixels": 200, "districts": 12, "regions": 3, "provinces": 2},
                model="constant", residuals=True, ranks=True)
    maps = run(spec)
    assert maps["rank_median"].dims == maps["top_probability"].dims == ("bag",)
    assert maps.attrs["residual_check"].startswith("residuals of areas: Moran's I")
    assert maps["residual"].dims == ("bag",)
    assert maps["variogram"].dims == ("variogram_distance",)
    back = wb.read(wb.write(maps, tmp_path / "map.nc"))
    np.testing.assert_array_equal(back["residual"], maps["residual"])
    with pytest.warns(FitWarning, match="not checked: a spatial check needs at least 8"):
        few = run(Spec("simulated-country", {"pixels": 200, "districts": 12, "regions": 3,
                                             "provinces": 2}, areas=5, model="constant",
                       residuals=True))
    assert "mean" in few and few.attrs["residual_check"].startswith("not made")
