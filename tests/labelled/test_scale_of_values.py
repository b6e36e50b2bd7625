"""The scale that auto models values on which are no counts, and how much individuals differ."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import workbench as wb
from workbench.checks import InputError
from workbench.labelled import candidates, scale_of_values
from workbench.labelled.candidates import link_told, options_of_values
from workbench.labelled.classes import auto
from workbench.labelled.scale_of_values import (
    DECISIVE,
    few_individuals,
    individuals,
    local_std,
    log_scale_gain,
    smooth_limit,
)
from workbench.labelled.source import Converted, to_source
from workbench.ui.disaggregate.given import told

AREAS, SIZE = 40, 5


def made(values, inputs=None, aggregation="mean"):
    """Areas with these values; each has individuals of unequal weight."""
    rng = np.random.default_rng(1)
    columns = 0 if inputs is None else inputs.shape[1]
    covariates = np.zeros((AREAS * SIZE, 0)) if inputs is None else np.repeat(inputs, SIZE, 0)
    place = rng.uniform(size=(2, AREAS * SIZE))
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), covariates),
         "weight": ("individual", rng.uniform(1, 3, AREAS * SIZE)),
         "membership": ("individual", np.repeat(np.arange(AREAS), SIZE)),
         "value": ("bag", values, {"aggregation": aggregation, "kind": "continuous"})},
        coords={"covariate": [f"c{i}" for i in range(columns)], "x": ("individual", place[0]),
                "y": ("individual", place[1])})


def skewed(seed=0, sigma=0.7):
    return np.random.default_rng(seed).lognormal(1.0, sigma, AREAS)


def without_place(ds):
    return ds.drop_vars(["x", "y"])


def test_without_inputs_it_is_the_box_cox_likelihood_of_one_and_of_zero():
    y = skewed()
    expected = scipy.stats.boxcox_llf(0.0, y) - scipy.stats.boxcox_llf(1.0, y)
    assert log_scale_gain(to_source(without_place(made(y)))) == pytest.approx(float(expected))


def test_it_is_that_of_a_regression_on_the_areas_means():
    rng = np.random.default_rng(2)
    inputs = rng.normal(size=(AREAS, 2))
    y = np.exp(1 + inputs @ [0.5, -0.2] + 0.3 * rng.normal(size=AREAS))
    design = np.column_stack([np.ones(AREAS), inputs])

    def density(z, jacobian):
        left = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
        return scipy.stats.norm(0, left.std()).logpdf(left).sum() + jacobian

    expected = density(np.log(y), -np.log(y).sum()) - density(y, 0.0)
    found = log_scale_gain(to_source(without_place(made(y, inputs))))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_units_change_nothing(unit):
    assert log_scale_gain(to_source(made(unit * skewed()))) == pytest.approx(
        log_scale_gain(to_source(made(skewed()))))


def test_sums_are_divided_by_their_weights():
    means = made(skewed())
    totals = np.bincount(means["membership"], means["weight"])
    sums = made(skewed() * totals, aggregation="sum")
    assert log_scale_gain(to_source(sums)) == pytest.approx(log_scale_gain(to_source(means)))


def test_more_inputs_than_areas_allow_are_not_regressed_on():
    many = np.random.default_rng(3).normal(size=(AREAS, AREAS))
    assert log_scale_gain(to_source(without_place(made(skewed(), many)))) == pytest.approx(
        log_scale_gain(to_source(without_place(made(skewed())))))


@pytest.mark.parametrize("further", [lambda c: np.full(AREAS, 0.1), lambda c: 3 * c],
                         ids=["constant", "doubled"])
def test_columns_that_add_nothing_change_nothing(further):
    one = np.random.default_rng(5).normal(size=(AREAS, 1))
    both = np.column_stack([one, further(one[:, 0])])
    gains = [log_scale_gain(to_source(without_place(made(skewed(), inputs))))
             for inputs in (one, both)]
    assert gains[1] == pytest.approx(gains[0])


@pytest.mark.parametrize("values, link", [
    (skewed(), "exp"),
    (np.random.default_rng(0).normal(10, 2, AREAS), "identity"),
    (np.random.default_rng(0).normal(288, 1, AREAS), "identity"),
    (np.r_[0.0, skewed()[1:]], "identity"),
    (skewed() - 3, "identity"),
    (np.full(AREAS, 2.0), "identity"),
], ids=["skewed", "normal", "kelvin", "a zero", "both signs", "all alike"])
def test_which_link_values_get(values, link):
    data = Converted(made(values))          # areas of five individuals
    options = options_of_values(data)
    expected = few_individuals(data.source(), link)
    assert "hyperparameters" not in options
    if np.ptp(values) > 0:
        assert options.pop("noise") == "area" and expected > 0
        assert options.pop("initial") == {"nugget.std": expected}
        assert options.pop("priors") == {"nugget.std": f"lognormal:{expected:.6g}:0.4"}
    assert options == {"link": link, "likelihood": "normal", "nugget": "learn"}


def counts(values, inputs=None):
    ds = made(values, inputs, aggregation="sum")
    ds["value"].attrs["kind"] = "count"
    return ds


def test_counts_and_positives_out_of_trials_are_left_to_their_likelihood():
    ds = counts(np.arange(1.0, AREAS + 1), np.arange(AREAS)[:, None])
    assert options_of_values(Converted(ds)) == {}
    surveyed = counts(np.arange(1.0, AREAS + 1)).assign(trials=("bag", np.full(AREAS, 100.0)))
    assert options_of_values(Converted(surveyed)) == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.SimpleMapWarning")
def test_intervals_of_counts_without_covariates_cover_what_individuals_have_of_their_own():
    """Half of a std of 0.8 of the log rate is the areas', the rest the individuals' own."""
    rng = np.random.default_rng(0)
    ds, inside = counts(np.ones(AREAS)), {}
    own = 0.6 * rng.normal(size=AREAS)[ds["membership"]] + 0.6 * rng.normal(size=AREAS * SIZE)
    y = rng.poisson(50 * ds["weight"].values * np.exp(own)).astype(float)
    ds = ds.assign(value=ds["value"].copy(data=np.bincount(ds["membership"], y)))
    for name, options in (("by areas", {}), ("apart", {"priors": {"area.std": "pc:1:0.05"}})):
        with patch.object(auto, "options_of_values", lambda *_, given=options: given):
            fit = wb.Auto(effort="quick", workers=1).fit(ds)
        low, high = fit.sample(ds, 500, preserve_totals=True).quantile([0.025, 0.975], "sample")
        inside[name] = float(((low <= y) & (y <= high)).mean())
        by_areas = "and of areas that they differ by about 0.68 times as much" in fit.summary()
        assert by_areas == (name == "by areas")
        assert "totals tell little of how much they differ" in fit.summary()
    assert inside["by areas"] > 0.95 > 0.9 > inside["apart"]
    assert inside["by areas"] - inside["apart"] > 0.1


def test_noise_is_seldom_taken_for_skewed():
    """The threshold: normal values with the spread of rates are modelled as they are."""
    taken = [log_scale_gain(to_source(made(np.random.default_rng(seed).normal(10, 2, AREAS))))
             >= DECISIVE for seed in range(100)]
    assert np.mean(taken) <= 0.02


def test_fewer_than_five_areas_have_no_shape():
    few = made(skewed()).isel(bag=slice(4), individual=slice(4 * SIZE))
    assert log_scale_gain(to_source(few)) == 0.0
    assert local_std(to_source(few), "identity") == 0.0
    assert "hyperparameters" not in options_of_values(Converted(few))


def gridded(values, **extra):
    """A square of areas, each of one individual at its centre."""
    side = int(np.sqrt(len(values)))
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), np.zeros((side**2, 0))),
         "weight": ("individual", np.ones(side**2)),
         "membership": ("individual", np.arange(side**2)),
         "value": ("bag", values, {"aggregation": "mean", "kind": "continuous"}), **extra},
        coords={"covariate": [], "x": ("individual", x.ravel()), "y": ("individual", y.ravel())})


def hills(side=30):
    """Smooth: two areas that touch are nearly alike."""
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    return (np.sin(x / 5) * np.cos(y / 7)).ravel()


def test_what_areas_differ_by_from_those_about_them_is_noise_and_no_hill():
    """In the inside of a grid, the four neighbours are those that touch."""
    noise = np.random.default_rng(0).normal(0, 0.3, 900)
    assert local_std(to_source(gridded(noise)), "identity") == pytest.approx(0.3, rel=0.1)
    assert local_std(to_source(gridded(3 * hills() + noise)), "identity") == pytest.approx(
        0.3, rel=0.15)
    assert np.std(3 * hills()) > 1.2


@pytest.mark.parametrize("side", [3, 5])
def test_its_square_is_unbiased_for_independent_values(side):
    """Though residuals are of a regression on place, where there are areas enough, and of few."""
    rng = np.random.default_rng(8)
    found = [local_std(to_source(gridded(rng.normal(0, 2, side**2))), "identity")**2
             for _ in range(150)]
    assert np.mean(found) == pytest.approx(4, abs=3 * np.std(found) / np.sqrt(150))


def test_under_exp_it_is_that_of_the_logarithms():
    y = np.exp(hills() + np.random.default_rng(1).normal(0, 0.3, 900))
    found = local_std(to_source(gridded(y)), "exp")
    assert found == pytest.approx(local_std(to_source(gridded(np.log(y))), "identity"))
    assert found == pytest.approx(local_std(to_source(gridded(1e6 * y)), "exp"))


def test_without_coordinates_it_is_what_a_regression_leaves():
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(AREAS, 2))
    y = inputs @ [1.0, -2.0] + rng.normal(0, 0.5, AREAS)
    design = np.column_stack([np.ones(AREAS), inputs])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert local_std(to_source(without_place(made(y, inputs))), "identity") == pytest.approx(
        np.sqrt(left @ left / (AREAS - 3)))


def test_areas_with_one_centre_are_no_neighbours_of_themselves():
    """Five periods of one place: each beside the mean of the other four."""
    y = np.random.default_rng(4).normal(size=9)
    ds = gridded(y).isel(bag=slice(5), individual=slice(5))
    ds = ds.assign_coords(x=0 * ds["x"], y=0 * ds["y"])
    assert local_std(to_source(ds), "identity") == pytest.approx(y[:5].std(ddof=1))


@pytest.mark.parametrize("value", [0.0, 7.0, 1e9 / 7])
def test_areas_that_are_all_alike_tell_nothing(value):
    rng = np.random.default_rng(7)
    ds = made(np.full(AREAS, value), rng.normal(size=(AREAS, 2)))
    assert local_std(to_source(ds), "identity") == 0.0
    assert value == 0 or local_std(to_source(ds), "exp") == 0.0
    assert "hyperparameters" not in options_of_values(Converted(ds))


def test_an_area_is_beside_others_of_its_period_and_not_beside_itself_at_another_time():
    rng = np.random.default_rng(6)
    own = rng.normal(0, 0.5, 100)       # of the place, at any time
    ds = gridded(np.tile(own, 9))
    x, y = np.tile(np.arange(10), 90), np.tile(np.repeat(np.arange(10), 10), 9)
    ds = ds.assign_coords(x=("individual", x), y=("individual", y))
    period = np.repeat([f"t{k}" for k in range(9)], 100)
    assert local_std(to_source(ds), "identity") < 0.1
    assert local_std(to_source(ds), "identity", period) == pytest.approx(0.5, rel=0.15)


def divided(values, sizes, seed=9):
    """Areas of a grid, each of so many individuals of equal weight about its centre."""
    whole, sizes = gridded(values), np.asarray(sizes)
    member = np.repeat(np.arange(len(values)), sizes)
    shift = np.random.default_rng(seed).uniform(-0.2, 0.2, (2, member.size))
    return whole.isel(individual=member).assign(membership=("individual", member)).assign_coords(
        x=("individual", whole["x"].values[member] + shift[0]),
        y=("individual", whole["y"].values[member] + shift[1]))


def test_individuals_differ_by_twice_as_much():
    source = to_source(divided(np.random.default_rng(0).normal(0, 0.3, 900), [10] * 900))
    assert individuals(source, "identity") == pytest.approx(2 * local_std(source, "identity"))


def test_of_a_smooth_field_by_a_fifth_of_its_spread_or_what_lets_it_be_as_smooth():
    smooth = to_source(divided(hills(), [10] * 900))
    assert local_std(smooth, "identity") < 0.05 < 0.2 * hills().std()
    limit = smooth_limit(smooth, "identity")
    assert limit < 0.2 * min(0.2 * hills().std(), np.sqrt(10) * local_std(smooth, "identity"))
    assert individuals(smooth, "identity") == limit
    with patch.object(scale_of_values, "smooth_limit", lambda *_: np.inf):
        assert individuals(smooth, "identity") == pytest.approx(min(
            0.2 * hills().std(), np.sqrt(10) * local_std(smooth, "identity")))


def test_never_by_more_than_independent_individuals_could_make_areas_differ():
    """The mean of n keeps an n-th of their variance: of one all, of twenty a twentieth."""
    sizes = np.where(np.arange(900) % 3 == 0, 1, 20)
    source = to_source(divided(np.random.default_rng(0).normal(0, 0.3, 900), sizes))
    assert individuals(source, "identity") == pytest.approx(
        local_std(source, "identity") / np.sqrt(1 / 3 + 2 / 3 / 20))


def test_with_few_individuals_or_standard_errors_it_is_learnt():
    y = np.random.default_rng(0).normal(0, 0.3, 100)
    for ds in (divided(y, [7] * 100), divided(y, [30] * 100).assign(
            noise_variance=("bag", np.full(100, 0.01)))):
        assert individuals(to_source(ds), "identity") == 0.0
        assert "hyperparameters" not in options_of_values(Converted(ds))
    one_town = divided(y, [30] * 100)       # that has nearly all the people of its area
    weight = np.where(np.arange(3000) % 30 == 0, 1000.0, 1.0)
    source = to_source(one_town.assign(weight=("individual", weight)))
    assert individuals(source, "identity") == 0.0


@pytest.mark.slow
def test_a_map_of_a_smooth_truth_is_no_worse_for_it():
    """Where no individual has anything of its own, and areas are far apart."""
    errors = {"fixed": 0.0, "learnt": 0.0}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        centres, member = rng.uniform(0, 10, (40, 2)), np.repeat(np.arange(40), 12)
        place = centres[member] + rng.uniform(-0.6, 0.6, (480, 2))
        truth = 2 * np.sin(place[:, 0]) + np.cos(0.7 * place[:, 1])
        ds = divided(np.zeros(100), [5] * 100).isel(bag=slice(40), individual=slice(480))
        ds = ds.assign(membership=("individual", member), value=("bag", np.bincount(
            member, truth) / 12 + rng.normal(0, 0.05, 40), ds["value"].attrs)).assign_coords(
            x=("individual", place[:, 0]), y=("individual", place[:, 1]))
        for name, taken in (("fixed", individuals), ("learnt", lambda *_: 0.0)):
            with patch.object(candidates, "individuals", taken):
                found = wb.Auto(effort="quick", workers=1).fit(ds).at(ds).mean.values
            errors[name] += np.sqrt(np.mean((found - truth)**2))
    assert errors["fixed"] < 1.01 * errors["learnt"] < 1.1      # equal, and below 1.4 before


@pytest.mark.slow
def test_intervals_of_independent_individuals_are_too_narrow():
    """A limit: means of many do not tell what no neighbour is alike in; it is taken too small."""
    rng, count = np.random.default_rng(1), 1000
    own = rng.normal(0, 1.5, count)
    ds = divided(np.zeros(25), [40] * 25)
    place = np.sin(ds["x"].values) + own
    ds = ds.assign(value=ds["value"].copy(data=np.bincount(ds["membership"], place) / 40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = wb.Auto(effort="quick", workers=1).fit(ds).sample(ds, 300, preserve_totals=True)
    low, high = drawn.quantile([0.025, 0.975], "sample").values
    assert 0.4 < ((low <= place) & (place <= high)).mean() < 0.9


@pytest.fixture(scope="module")
def fitted():
    noise = np.random.default_rng(5).normal(0, 0.3, 100)
    return wb.Auto(effort="quick", workers=1).fit(divided(hills(10) + noise, [10] * 100))


def shown(fit):
    """The nugget of each candidate, whether it is fixed, and whether the summary speaks of it."""
    items = [one.inner.state.hyperparameters["nugget.std"] for one in fit.candidates.values()]
    return ({round(float(item.natural), 9) for item in items}, {item.fixed for item in items},
            "individuals: means do not tell" in fit.summary())


def test_auto_fixes_how_much_individuals_differ_and_says_so(fitted):
    std = individuals(to_source(fitted.data), "identity")
    assert shown(fitted) == ({round(std, 9)}, {True}, True)
    assert f"is taken as {std:.3g} on the link's scale" in fitted.summary()


def test_given_hyperparameters_are_fixed_again_and_not_said_to_be_taken(fitted):
    again = wb.Auto().condition(fitted.data, fitted.hyperparameters)
    assert shown(again) == (*shown(fitted)[:2], False)
    assert shown(told(again))[1] == {True}      # what a page shows of it, too
    assert again.at(fitted.data).mean.values == pytest.approx(fitted.at(fitted.data).mean.values)
    other = {name: {**one, "hyperparameters": {**one["hyperparameters"], "nugget.std": 0.01}}
             for name, one in fitted.hyperparameters.items()}
    assert shown(fitted.conditioned(other))[::2] == ({0.01}, False)


def noises(fit):
    return {one.model.options.noise for one in fit.candidates.values()}


def test_noise_is_the_areas_own_unless_variances_are_known(fitted):
    """Also of one candidate alone, all of which have the same nugget however it was found."""
    first = next(iter(fitted.hyperparameters))
    assert noises(fitted) == {"area"}
    assert noises(wb.Auto().condition(fitted.data, {first: fitted.hyperparameters[first]})) == {
        "area"}
    few = divided(hills(10) + np.random.default_rng(5).normal(0, 0.3, 100), [5] * 100)
    for ds, noise in ((few, "area"), (few.assign(noise_variance=("bag", np.full(100, 0.01))),
                                      "auto")):
        starting = wb.Auto().starting_values(ds)
        for given in (starting, dict([next(iter(starting.items()))])):
            assert noises(wb.Auto().condition(ds, given)) == {noise}


@pytest.mark.parametrize("members", [2, 4, 7])
def test_individuals_of_few_are_expected_to_differ_by_the_law(members):
    """Means of n neighbours vary by 1/√n of what individuals do."""
    rng, fall = np.random.default_rng(members), members**-0.5
    effect = np.sqrt((fall - 1 / members) / (1 - fall))     # beside individuals' own, of one
    values = effect * rng.normal(size=(900, 1)) + rng.normal(size=(900, members))
    assert values.mean(1).var() / values.var() == pytest.approx(fall, rel=0.1)
    ds = without_place(divided(values.mean(1), [members] * 900))
    assert few_individuals(to_source(ds), "identity") == pytest.approx(1, rel=0.07)


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_draws_of_individuals_are_no_wider_than_what_there_is():
    """Nine areas of 25, one of whom weighs most: noise of individuals was 25 times areas' own."""
    rng = np.random.default_rng(3)
    means = rng.normal(70, 6, 9)
    ds = divided(means, [25] * 9)
    ds["weight"] = ("individual", np.tile(np.r_[20.0, np.ones(24)], 9))
    fit = wb.Auto(effort="quick", workers=1).fit(ds)
    assert "of few of them say little of how much they differ" in fit.summary()
    for one in (fit, fit.candidates["flat"]):
        low, high = np.quantile(one.sample(ds, 300, seed=0).values, [0.025, 0.975], axis=0)
        assert 2 * means.std() < (high - low).mean() < 10 * means.std()


def test_it_is_amounts_that_add_up_under_the_identity_link():
    said = [one.told("identity") for one in (*candidates.CANDIDATES, *candidates.OVER_TIME)]
    assert not [text for text in said if "factor" in text or "times" in text]
    assert [one.told("exp") for one in candidates.CANDIDATES] == [
        one.says for one in candidates.CANDIDATES]


def test_means_of_counts_are_not_told_of_as_totals():
    ds = made(np.round(skewed() * 10) + 1)
    ds["value"].attrs["kind"] = "count"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = wb.Auto(effort="quick", workers=1).fit(ds).summary()
    assert "totals tell little" not in said


def test_a_stored_fit_says_it_too(fitted, tmp_path):
    fitted.save(tmp_path / "fit.wbfit")
    assert shown(wb.load_fit(tmp_path / "fit.wbfit")) == shown(fitted)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
@pytest.mark.filterwarnings("ignore::workbench.checks.SimpleMapWarning")
def test_positive_skewed_means_have_a_positive_map_with_differing_individuals():
    ds = made(skewed())
    fit = wb.Auto(effort="quick", workers=1).fit(ds)
    assert "link: exp" in fit.summary()
    assert {one.model.options.link for one in fit.candidates.values()} == {"exp"}
    assert all("nugget.std" in one.hyperparameters for one in fit.candidates.values())
    assert (fit.at(ds).interval(0.95)[0] > 0).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
@pytest.mark.filterwarnings("ignore::workbench.checks.SimpleMapWarning")
def test_hyperparameters_that_say_their_link_are_used_under_it():
    auto = wb.Auto(effort="quick", workers=1)
    fit = auto.fit(made(skewed()))
    other = made(np.random.default_rng(0).normal(10, 2, AREAS))     # looks normal
    assert link_told(fit.hyperparameters) == "exp"
    again = auto.condition(other, fit.hyperparameters)
    assert {one.model.options.link for one in again.candidates.values()} == {"exp"}
    assert "link:" not in again.summary()       # whose reason would be another
    assert link_told({"flat": {"weight": 1, "hyperparameters": {"mean": 2.0}}}) == ""


def test_a_mixture_without_nuggets_can_be_conditioned():
    """As they were before individuals had one."""
    ds, given = made(np.random.default_rng(0).normal(10, 2, AREAS)), {"flat": {
        "weight": 1.0, "hyperparameters": {"mean": 10.0, "constant.variance": 1.0,
                                           "noise.variance": 2.0}}}
    fit = wb.Auto().condition(ds, given)
    assert "nugget.std" not in fit.candidates["flat"].hyperparameters
    with pytest.raises(InputError, match="needs a weight and hyperparameters"):
        wb.Auto().condition(ds, {"flat": {"weight": 1.0, "hyperparameters": 3}})


def test_candidates_of_values_that_cannot_be_used_are_refused():
    values = skewed()
    values[3] = np.nan
    with pytest.raises(InputError, match="NaN|finite|missing"):
        wb.Auto().candidates(made(values))
