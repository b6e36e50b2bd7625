"""The scale that auto models values on which are no counts."""

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import workbench as wb
from workbench.checks import InputError
from workbench.labelled.candidates import link_told, options_of_values
from workbench.labelled.scale_of_values import DECISIVE, log_scale_gain
from workbench.labelled.source import Converted, to_source

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
    options = options_of_values(Converted(made(values)))
    assert options == {"link": link, "likelihood": "normal", "nugget": "learn"}


def test_counts_and_positives_out_of_trials_are_left_to_their_likelihood():
    ds = made(np.arange(1.0, AREAS + 1), aggregation="sum")
    ds["value"].attrs["kind"] = "count"
    assert options_of_values(Converted(ds)) == {}
    surveyed = ds.assign(trials=("bag", np.full(AREAS, 100.0)))
    assert options_of_values(Converted(surveyed)) == {}


def test_noise_is_seldom_taken_for_skewed():
    """The threshold: normal values with the spread of rates are modelled as they are."""
    taken = [log_scale_gain(to_source(made(np.random.default_rng(seed).normal(10, 2, AREAS))))
             >= DECISIVE for seed in range(100)]
    assert np.mean(taken) <= 0.02


def test_fewer_than_five_areas_have_no_shape():
    few = made(skewed()).isel(bag=slice(4), individual=slice(4 * SIZE))
    assert log_scale_gain(to_source(few)) == 0.0


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
