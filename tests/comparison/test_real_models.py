import numpy as np
import pytest

import workbench as wb
from workbench.datasets import load

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore::workbench.checks.ExtrapolationWarning")


@pytest.fixture(scope="module")
def roll():
    return load("swiss-roll", n_bags=24, mean_size=12, size_std=4)


@pytest.mark.slow
def test_the_aggregated_field_beats_the_constant_model_that_stands_beside_it(roll):
    fit = wb.VBAgg(kernel="rbf", inducing=15, max_steps=20).fit(roll)
    result = wb.evaluate(fit, roll, samples=200)
    assert result["model"].values.tolist() == ["vbagg", "constant", "own bag, by weight"]
    rmse = result["scores"].sel(score="rmse", target="rate")
    assert rmse.sel(model="vbagg") < rmse.sel(model="constant")
    assert np.isfinite(result["scores"].sel(score="crps")).all(["target"]).sel(model="vbagg")
    np.testing.assert_allclose(  # means come from the rate, so bags are sums of individuals
        result["bag_mean"].sel(model="vbagg"),
        np.bincount(roll["membership"], result["individual_mean"].sel(model="vbagg")),
    )


class Outline:
    """A polygon that refuses to be copied: thousands of them would take seconds."""

    def __deepcopy__(self, memo):
        raise AssertionError("an outline was copied")


def test_outlines_are_shared_never_copied(roll):
    def outlines(count):
        shapes = np.empty(count, dtype=object)
        shapes[:] = [Outline() for _ in range(count)]
        return shapes

    mapped = roll.assign_coords(
        bag_geometry=("bag", outlines(roll.sizes["bag"])),
        individual_geometry=("individual", outlines(roll.sizes["individual"])),
    )
    model = wb.Constant(max_steps=5)
    fit = model.fit(mapped)
    scored = wb.evaluate(fit, mapped, samples=50)
    assert scored["individual_mean"].sel(model="constant").notnull().all()
    crossed = wb.cross_validate(model, mapped, folds=2, samples=50)
    assert crossed["bag_mean"].notnull().all()
    for result in (scored, crossed):    # results are stored as they are; outlines cannot be
        assert not {"bag_geometry", "individual_geometry"} & set(result.coords)
    # The answers themselves still carry the outlines, the very same objects.
    assert fit.at(mapped).mean["individual_geometry"].values[3] is (
        mapped["individual_geometry"].values[3])
    rescaled = wb.rescale_to_totals(mapped, fit.at(mapped).mean)
    assert rescaled.sizes == {"individual": len(roll.weight)}


def test_cross_validation_runs_real_models_and_finds_the_constant_one_by_itself(roll):
    model = wb.VBAgg(kernel="rbf", inducing=15, max_steps=10)
    result = wb.cross_validate(model, roll, folds=2, samples=100)
    assert result["model"].values.tolist() == ["vbagg", "constant"]
    assert (result["error"] == "").all()
    flat = result["individual_mean"].sel(model="constant") / roll["weight"]
    fold = result["fold_of_bag"].values[roll["membership"].values]
    assert all(np.ptp(flat.values[fold == k]) < 1e-6 * flat.max() for k in (0, 1))
