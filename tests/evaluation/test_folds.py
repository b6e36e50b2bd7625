import numpy as np
import pytest

from tests.reference import country
from workbench.checks import InputError
from workbench.evaluation import folds, subset
from workbench.schema import check


@pytest.mark.parametrize("scheme", ["random", "blocks", "stratified"])
def test_folds_are_balanced_and_reproducible(scheme):
    ds = country(bags=63)
    fold = folds(ds, 10, scheme, seed=1)
    assert set(np.bincount(fold.values)) == {6, 7}
    assert fold.identical(folds(ds, 10, scheme, seed=1))
    assert fold.dims == ("bag",)


def test_blocks_are_compact_and_random_folds_are_not():
    ds = country(bags=100, size=2)

    def spread(fold):
        x, y = ds["bag_x"].values, ds["bag_y"].values
        return np.mean([x[fold == k].var() + y[fold == k].var() for k in range(5)])

    assert spread(folds(ds, 5, "blocks").values) < 0.5 * spread(folds(ds, 5, "random").values)


def test_stratified_folds_have_alike_rates_and_labels_stay_together():
    ds = country(bags=100)
    rate = ds["value"].values / np.bincount(ds["membership"], weights=ds["weight"])
    quintile = np.argsort(np.argsort(rate)) // 20
    fold = folds(ds, 10, "stratified").values
    assert all(np.bincount(quintile[fold == k], minlength=5).min() == 2 for k in range(10))
    labelled = folds(ds, 3, "province").values
    for label in np.unique(ds["province"]):
        assert np.unique(labelled[ds["province"].values == label]).size == 1


def test_bad_schemes_say_what_there_is():
    ds = country(bags=6)
    with pytest.raises(InputError, match="province"):
        folds(ds, 3, "provnce")
    with pytest.raises(InputError, match="2 to 6"):
        folds(ds, 7)
    with pytest.raises(InputError, match="need x and y"):
        folds(ds.drop_vars(["bag_x", "bag_y", "x", "y"]), 3, "blocks")
    half = np.array(["a", "b", None, *["c"] * 17], dtype=object)
    with pytest.raises(InputError, match="1 of 20 bags have no 'half'"):
        folds(country(bags=20).assign_coords(half=("bag", half)), 3, "half")
    with pytest.raises(InputError, match="too few"):
        folds(country(bags=20).assign_coords(half=("bag", ["a", "b"] * 10)), 3, "half")


def test_places_of_individuals_are_enough_for_blocks():
    bare = country(bags=12).drop_vars(["bag_x", "bag_y"])
    weight, area = bare["weight"].values, bare["membership"].values
    centres = {f"bag_{axis}": ("bag", np.bincount(area, weight * bare[axis].values)
                               / np.bincount(area, weight)) for axis in ("x", "y")}
    np.testing.assert_array_equal(folds(bare, 3, "blocks"),
                                  folds(bare.assign_coords(centres), 3, "blocks"))


def test_centres_may_be_data_variables():
    ds = country(bags=12)
    loose = ds.reset_coords(["bag_x", "bag_y"]).drop_vars(["x", "y"])
    np.testing.assert_array_equal(folds(loose, 3, "blocks"), folds(ds, 3, "blocks"))


def test_subset_renumbers_and_keeps_every_individual():
    ds = country(bags=9, size=4)
    part = check(subset(ds, [7, 2, 5]))
    assert part["bag"].values.tolist() == ["b7", "b2", "b5"]
    for position, old in enumerate([7, 2, 5]):
        mine = part["individual"].values[part["membership"].values == position]
        theirs = ds["individual"].values[ds["membership"].values == old]
        assert mine.tolist() == theirs.tolist()
    again = np.bincount(part["membership"], weights=part["individual_value"])
    np.testing.assert_array_equal(again, part["value"])
    mask = np.arange(9) == 3
    assert subset(ds, mask).identical(subset(ds, [3]))


@pytest.mark.parametrize("bags", [[], [1, 1], [9], [-1], [0.5], [True, False]])
def test_subset_refuses_bad_positions(bags):
    with pytest.raises(InputError):
        subset(country(bags=9), np.array(bags))
