"""Re-bagging and merging keep individuals, truth and totals."""

import numpy as np
import pandas as pd
import pytest
import shapely
import xarray as xr

from workbench import schema
from workbench.bagging import (
    add_mediators,
    bag_along,
    bag_grid,
    bag_sizes,
    from_table,
    merge,
    merge_to,
)
from workbench.checks import InputError

N = 300


def points(aggregation="sum", seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "a": rng.normal(size=N), "b": rng.normal(size=N), "people": rng.uniform(1, 9, N),
        "cases": rng.poisson(5, N), "east": rng.uniform(0, 10, N), "north": rng.uniform(0, 5, N),
        "rate": rng.uniform(0, 1, N), "tag": [f"t{i}" for i in range(N)],
    })
    return from_table(
        table, ["a", "b"], "cases", weight="people", x="east", y="north", truth="rate",
        labels=["tag"], units={"east": "km", "north": "km", "people": "persons"},
        aggregation=aggregation,
    )


def nested(aggregation="sum"):
    """A 8 x 4 grid of bags with two labels."""
    ds = bag_grid(points(aggregation), (8, 4))
    east = np.where(ds["bag_x"].values > 5, "east", "west")
    return ds.assign_coords(side=("bag", east), everywhere=("bag", np.full(east.size, "all")))


def by_tag(ds, variable):
    return pd.Series(ds[variable].values, index=ds["tag"].values).sort_index()


@pytest.mark.parametrize("rebag", [
    lambda p: bag_grid(p, 4), lambda p: bag_grid(p, (5, 2)),
    lambda p: bag_along(p, "a", 20, 10, seed=3), lambda p: merge(nested(), "side"),
    lambda p: merge_to(nested(), 5, seed=1), lambda p: bag_along(nested(), "x", 30, 8),
])
def test_every_bagging_is_valid_and_keeps_what_is_known_of_individuals(rebag):
    before, after = points(), rebag(points())
    schema.check(after)
    assert after["value"].sum() == before["individual_value"].sum()
    for variable in ("weight", "truth", "individual_value", "x", "y"):
        pd.testing.assert_series_equal(by_tag(after, variable), by_tag(before, variable))
    # a bag's value is what its own individuals add up to
    membership, value = after["membership"].values, after["individual_value"].values
    assert np.bincount(membership, value) == pytest.approx(after["value"].values)


def test_values_that_are_means_are_averaged_by_weight():
    fine = nested("mean")
    total = (fine["weight"] * fine["individual_value"]).sum() / fine["weight"].sum()
    assert merge(fine, "everywhere")["value"].item() == pytest.approx(total.item())
    merged = merge(fine, "side")
    for side in ("east", "west"):
        bags = np.flatnonzero(fine["side"].values == side)
        inside = np.isin(fine["membership"].values, bags)
        mean = np.average(fine["individual_value"].values[inside],
                          weights=fine["weight"].values[inside])
        assert merged["value"].sel(bag=side).item() == pytest.approx(mean)


def test_grid_cells_hold_the_points_that_lie_in_them():
    ds = bag_grid(points(), (5, 2))
    cells = ds["bag_geometry"].values[ds["membership"].values]
    assert shapely.intersects_xy(cells, ds["x"].values, ds["y"].values).all()
    assert shapely.area(ds["bag_geometry"].values) == pytest.approx(
        np.ptp(ds["x"].values) / 5 * np.ptp(ds["y"].values) / 2
    )


def test_a_single_number_of_cells_makes_them_about_square():
    ds = bag_grid(points(), 10)  # the extent is about 10 x 5
    assert ds.attrs["level"] == "grid of 10 x 5 cells"


@pytest.mark.parametrize("mean,std", [(150, 50), (50, 25), (100, 50), (300, 150)])
def test_sizes_have_the_moments_asked_for(mean, std):
    sizes = bag_sizes(40_000, mean, std, np.random.RandomState(1))
    assert sizes.min() >= 1
    assert sizes.mean() == pytest.approx(mean, abs=4 * std / np.sqrt(sizes.size))
    # the standard error of a standard deviation, from the sample's own fourth moment
    fourth = np.mean((sizes - sizes.mean()) ** 4)
    error = np.sqrt((fourth - std**4) / sizes.size) / (2 * std)
    assert sizes.std() == pytest.approx(std, abs=4 * error)


def test_impossible_moments_are_refused():
    with pytest.raises(InputError, match=r"std must be more than 9\.95"):
        bag_sizes(3, 100, 5, np.random.RandomState(0))
    with pytest.raises(InputError, match="whole mean"):
        bag_sizes(3, 2.5, 0, np.random.RandomState(0))


def test_bags_along_a_variable_do_not_overlap_in_it():
    ds = bag_along(points(), "a", 20, 10, seed=3)
    key = ds["covariates"].sel(covariate="a").values
    for bag in range(ds.sizes["bag"]):
        inside = key[ds["membership"].values == bag]
        assert inside.max() == ds["bag_from"].values[bag]
        assert inside.min() == ds["bag_to"].values[bag]
    assert (ds["bag_from"].values[1:] <= ds["bag_to"].values[:-1]).all()


def test_the_last_bag_is_named():
    kept = bag_along(points(), "a", 40, 0)
    assert np.bincount(kept["membership"]).tolist() == [40] * 7 + [20]
    assert kept.attrs["last_bag"] == "the last bag holds 20 individuals instead of 40"
    assert bag_along(points(), "a", 30, 0).attrs["last_bag"] == "complete"


def test_merging_by_a_label_unites_shapes_and_remembers_the_bags():
    fine = nested()
    fine.attrs["level"] = "cell"
    coarse = merge(fine, "side")
    assert coarse["bag"].values.tolist() == ["east", "west"]
    assert coarse.attrs["level"] == "side"
    area = shapely.area(coarse["bag_geometry"].values).sum()
    assert area == pytest.approx(shapely.area(fine["bag_geometry"].values).sum())
    # every individual still knows the cell it came from
    cell = dict(zip(fine["tag"].values, fine["bag"].values[fine["membership"].values], strict=True))
    assert all(cell[t] == c for t, c in zip(coarse["tag"].values, coarse["cell"].values,
                                            strict=True))


def test_merging_adds_noise_variances():
    fine = nested()
    fine["noise_variance"] = ("bag", np.arange(1.0, fine.sizes["bag"] + 1))
    assert merge(fine, "everywhere")["noise_variance"].item() == fine["noise_variance"].sum()


def test_merging_averages_mediators_by_weight():
    fine = nested()
    known = pd.DataFrame({"height": np.arange(1.0, fine.sizes["bag"] + 1), "rain": 2.0},
                         index=fine["bag"].values)
    fine = add_mediators(fine.assign(weight=fine["weight"] * (1 + np.arange(N) % 3)), known)
    weight = np.bincount(fine["membership"], fine["weight"])
    one = merge(fine, "everywhere")["mediators"]
    assert one["mediator"].values.tolist() == ["height", "rain"]
    assert one.values[0] == pytest.approx([np.average(known["height"], weights=weight), 2.0])
    east = merge(fine, "side").sel(bag="east")["mediators"]
    inside = fine["side"].values == "east"
    assert float(east[0]) == pytest.approx(
        np.average(known["height"][inside], weights=weight[inside]))


@pytest.mark.parametrize("areas", [1, 2, 7, 31])
def test_merging_to_a_number_gives_that_many_contiguous_areas(areas):
    merged = merge_to(nested(), areas)
    assert merged.sizes["bag"] == areas
    # cells of a full grid that were joined through neighbours make one piece
    assert (shapely.get_num_geometries(merged["bag_geometry"].values) == 1).all()


def test_grouping_changes_with_the_seed_and_with_it_alone():
    fine = nested()
    one, again, other = (merge_to(fine, 9, seed=s) for s in (1, 1, 2))
    xr.testing.assert_identical(one.drop_vars("bag_geometry"), again.drop_vars("bag_geometry"))
    assert one["bag_x"].values.tolist() != other["bag_x"].values.tolist()


def test_islands_are_joined_over_the_sea():
    fine = nested()
    shapes = fine["bag_geometry"].values.copy()
    far = fine["bag_x"].values > 5
    shapes[far] = shapely.transform(shapes[far], lambda c: c + [100, 0])
    apart = fine.assign_coords(bag_geometry=("bag", shapes))
    assert merge_to(apart, 1).sizes["bag"] == 1
    two = merge_to(apart.assign_coords(bag_x=("bag", fine["bag_x"].values + 100 * far)), 2)
    assert (shapely.get_num_geometries(two["bag_geometry"].values) == 1).all()


def test_without_shapes_neighbours_are_the_nearest():
    assert merge_to(nested().drop_vars("bag_geometry"), 6).sizes["bag"] == 6


@pytest.mark.parametrize("call,message", [
    (lambda: bag_along(points(), "aa"), "by 'aa' is unknown; did you mean 'a'"),
    (lambda: bag_along(points(), np.zeros(3)), r"shape \(3,\), expected \(300,\)"),
    (lambda: bag_along(points(), "a", sizes=[1, 2]), "add up to 300 individuals, got 3"),
    (lambda: bag_grid(points(), 0), "at least one cell"),
    (lambda: bag_grid(points().drop_vars(["x", "y"]), 3), "needs coordinates x and y"),
    (lambda: bag_grid(nested().drop_vars("individual_value"), 3), "not re-split"),
    (lambda: merge(nested(), "sides"), "by 'sides' is unknown; did you mean 'side'"),
    (lambda: merge(nested(), "tag"), "hold individuals of several 'tag'"),
    (lambda: merge(nested().assign_coords(side=("bag", [None, *["a"] * 31])), "side"),
     "1 of 32 bags have no 'side'"),
    (lambda: merge_to(nested(), 33), "between 1 and 32"),
    (lambda: merge_to(nested().drop_vars(["x", "y", "bag_x", "bag_y"]), 3), "needs coordinates"),
    (lambda: from_table(pd.DataFrame({"a": [1]}), ["a"], "y"), r"lacks columns \['y'\]"),
])
def test_what_cannot_be_done_is_said(call, message):
    with pytest.raises(InputError, match=message):
        call()
