"""Rehearsals: exact posteriors are calibrated, wrong ones are caught, and nothing is lost."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import workbench as wb
from workbench.checks import InputError
from workbench.comparison import rehearsal_table, rehearsal_text, rehearse
from workbench.comparison.rehearsal import truths
from workbench.comparison.rehearsal.beside import set_beside
from workbench.comparison.rehearsal.resolutions import Resolution, resolutions, skill
from workbench.comparison.rehearsal.start import Kind, Start
from workbench.comparison.rehearsal.truths import LEVELS
from workbench.comparison.rehearsal.words import verdict
from workbench.evaluation import Interrupted
from workbench.evaluation.baselines import GLM, SPLIT, simple_maps
from workbench.labelled import candidates
from workbench.labelled.imagined import imagine, learnt, with_priors_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.ExtrapolationWarning",
    "ignore::workbench.checks.FitWarning")
FIXED = {"mean": 0.0, "rbf.variance": 1.0, "rbf.lengthscale": 3.0, "noise.variance": 0.5}


def roll(bags=8) -> xr.Dataset:
    """Areas with means of a continuous quantity."""
    ds = wb.load("swiss-roll", n_bags=bags, mean_size=8, size_std=3)
    ds["value"].attrs |= {"kind": "continuous", "aggregation": "mean"}
    return ds


def country() -> xr.Dataset:
    """Areas with counts, few enough for fits that take a moment."""
    return wb.load("simulated-country", pixels=200, districts=12, regions=4, provinces=2)


class Narrowed:
    """A fit whose draws lie 0.7 times as far from their mean as they should."""

    def __init__(self, fit):
        self.fit = fit

    def __getattr__(self, name):
        return getattr(self.fit, name)

    def at(self, ds, area_effect=False):
        self.predicted = self.fit.at(ds, area_effect)
        return self

    def sample(self, count, seed):
        drawn, mean = self.predicted.sample(count, seed), self.predicted.mean
        return (mean + 0.7 * (drawn - mean)).transpose(*drawn.dims)


class Narrow(wb.AggregatedGP):
    """An exact model that claims too much."""

    def fit(self, ds, **options):
        return Narrowed(super().fit(ds, **options))


def of_all_tests(result) -> float:
    p = result["p_value"].dropna("test")
    return min(1.0, float(p.min()) * p.size)


@pytest.mark.slow
def test_an_exact_posterior_is_calibrated_and_one_that_is_too_narrow_is_caught():
    ds = roll()
    exact = rehearse(ds, wb.AggregatedGP(kernel="rbf", hyperparameters=FIXED), 40)
    level = exact["level"]
    assert of_all_tests(exact) > 0.05
    np.testing.assert_allclose(exact["coverage"], [level, level], atol=0.06)
    assert bool((exact["coverage_upper"].sel(level=0.95) > 0.95).all())
    assert "uniform as far as 40 truths tell" in exact.attrs["sentence"]
    narrow = rehearse(ds, Narrow(kernel="rbf", hyperparameters=FIXED), 40)
    assert of_all_tests(narrow) < 1e-4
    assert bool((narrow["coverage_upper"] < level).all())
    expected = 2 * stats.norm.cdf(0.7 * stats.norm.ppf(0.5 + level / 2)) - 1
    np.testing.assert_allclose(narrow["coverage"].sel(unit="individuals"), expected, atol=0.05)
    said = narrow.attrs["sentence"]
    assert "too narrow" in said and "not uniform" in said and "width of individuals" in said


@pytest.mark.slow
def test_counts_under_a_known_model_are_covered():
    fixed = {"mean": -3.0, "rbf.variance": 0.3, "rbf.lengthscale": 2.0}
    model = wb.VBAgg(kernel="rbf", overdispersion="none", nugget=0.0, inducing=200,
                     hyperparameters=fixed)
    result = rehearse(country(), model, 10)
    assert of_all_tests(result) > 0.01
    np.testing.assert_allclose(result["coverage"].sel(level=[0.8, 0.9, 0.95]),
                               [[0.8, 0.9, 0.95]] * 2, atol=0.07)
    assert float(result["skill"].sel(resolution="areas")) > 0.5
    assert "at given hyperparameters" in result.attrs["about"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.DataWarning")
@pytest.mark.parametrize("truth", [0, 2])
def test_a_truth_of_a_steep_slope_is_found_from_several_starts(truth):
    fixed = {"mean": -4.0, "linear.variance": 4.0, "area.std": 0.1, "nugget.std": 0.1}
    model, seed = wb.VBAgg(kernel="linear", hyperparameters=fixed), np.random.SeedSequence(
        [0, truth]).generate_state(3)[0] >> 1
    imagined = imagine(model, country(), {}, int(seed))
    # From the prior's mean alone the search ends at -395.2 and -137.0, and nothing is covered.
    fit = model.fit(imagined)
    assert fit.inner.objective > {0: -107.5, 2: -127.5}[truth]
    low, high = fit.at(imagined, area_effect=True).quantile([0.025, 0.975]).values
    assert ((low < imagined["truth"].values) & (imagined["truth"].values < high)).mean() > 0.8


@pytest.mark.parametrize("kind", ["fitted", "prior", "posterior"])
def test_every_kind_of_truth_has_errors_of_what_is_learnt(kind):
    model = wb.AggregatedGP(kernel="rbf", max_steps=5, priors={
        "rbf.variance": "lognormal:0.02:0.3", "rbf.lengthscale": "lognormal:3:0.3"})
    ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
    result = rehearse(ds, model, 2, truth=kind, samples=50)
    assert result["hyperparameter"].values.tolist() == list(FIXED)
    assert not bool(result["on_log"].sel(hyperparameter="mean"))
    np.testing.assert_allclose(result["rmse"], np.sqrt((result["error"]**2).mean("truth")))
    drawn = [json.loads(one)["rbf.variance"] for one in result["true_hyperparameters"].values]
    assert (len(set(drawn)) == 2) == (kind == "prior")
    assert ("Ranks" in result.attrs["sentence"]) == (kind != "posterior")


def test_truths_keep_the_areas_and_are_drawn_where_they_are_told():
    ds, model = country(), wb.VBAgg(kernel="rbf")
    values = {"rbf.variance": 1e-8, "area.std": 1e-4, "nugget.std": 1e-4, "mean": np.log(0.5)}
    made = imagine(model, ds, values, seed=3)
    np.testing.assert_allclose(made["truth"], 0.5, rtol=0.01)
    expected = 0.5 * np.bincount(ds["membership"], weights=ds["weight"])
    assert (np.abs(made["value"] - expected) < 5 * np.sqrt(expected)).all()
    xr.testing.assert_identical(made["weight"], ds["weight"])
    assert json.loads(made["truth"].attrs["hyperparameters"])["area.std"] == pytest.approx(1e-4)
    assert imagine(model, ds, values, seed=3)["value"].identical(made["value"])
    assert not imagine(model, ds, values, seed=4)["value"].identical(made["value"])
    flat = imagine(wb.Constant(), ds, {"constant.variance": 1e-8, "area.std": 1e-4,
                                       "nugget.std": 1e-4, "mean": np.log(0.5)}, seed=3)
    np.testing.assert_allclose(flat["truth"], 0.5, rtol=0.01)


def test_draws_given_the_values_are_near_them_and_prior_ones_are_not():
    ds = roll(12)
    model = wb.AggregatedGP(kernel="rbf", hyperparameters=FIXED | {"noise.variance": 1e-4})
    near = [imagine(model, ds, seed=k, posterior=True)["value"] for k in range(3)]
    far = [imagine(model, ds, seed=k)["value"] for k in range(3)]
    assert max(float(np.abs(one - ds["value"]).max()) for one in near) < 0.5
    assert min(float(np.abs(one - ds["value"]).max()) for one in far) > 0.5


def test_refits_have_the_priors_that_truths_are_drawn_from():
    ds, model = country(), wb.VBAgg(kernel="rbf")
    assert learnt(model, ds) == {"mean": False, "rbf.variance": True, "rbf.lengthscale": True,
                                 "area.std": True, "nugget.std": True}
    pinned = with_priors_of(model, ds).options.priors
    assert set(pinned) == set(learnt(model, ds)) - {"mean"}
    free = wb.VBAgg(kernel="rbf", priors={"nugget.std": "none"})
    assert with_priors_of(free, ds).options.priors == pinned | {"nugget.std": "none"}


@pytest.mark.slow
def test_a_field_of_many_individuals_keeps_its_variance(monkeypatch):
    from workbench.gp.models.vbagg import model as module

    monkeypatch.setattr(module, "MOST_IMAGINED", 6)
    fixed = FIXED | {"rbf.lengthscale": 1.0}
    model, ds = wb.VBAgg(kernel="rbf", link="identity", hyperparameters=fixed), roll()
    drawn = np.stack([imagine(model, ds, seed=k)["truth"].values for k in range(200)])
    assert drawn.var(0).mean() == pytest.approx(1, abs=0.1)
    assert np.abs(drawn.mean()) < 0.1


def test_resolutions_are_nested_and_skill_is_that_over_the_simple_map():
    ds = country()
    found = resolutions(ds)
    assert [one.name for one in found][:1] == ["individuals"]
    assert "1/4 of an area" in [one.name for one in found]
    counts = [one.cell.max() + 1 for one in found]
    assert counts == sorted(counts, reverse=True) and counts[0] == ds.sizes["individual"]
    for fine, coarse in zip(found, found[1:], strict=False):
        pairs = np.unique(np.column_stack([fine.cell, coarse.cell]), axis=0)
        assert len(pairs) == fine.cell.max() + 1            # each fine cell lies in one coarse one
    area = ds["membership"].values
    total = np.bincount(area, weights=ds["weight"])
    flat = (ds["value"].values / total)[area]
    truth = flat * np.random.default_rng(0).uniform(0.5, 1.5, size=area.size)
    half, fine = (truth + flat) / 2, Resolution("individuals", np.arange(area.size), True)
    assert skill(fine, truth, truth, ds) == pytest.approx((1, 1))
    assert skill(fine, truth, flat, ds)[0] == pytest.approx(0)
    assert skill(fine, truth, half, ds)[0] == pytest.approx(0.75)
    whole = Resolution("areas", area, False)
    assert skill(whole, flat, np.full_like(flat, np.average(ds["value"] / total, weights=total)),
                 ds)[0] == pytest.approx(0)


def counted(monkeypatch) -> list:
    fits, real = [], truths.fitted

    def fitted(model, ds, outcome):
        fits.append(model)
        return real(model, ds, outcome)
    monkeypatch.setattr(truths, "fitted", fitted)
    return fits


def test_ctrl_c_keeps_what_is_finished_and_more_truths_go_on_from_fewer(monkeypatch, tmp_path):
    ds, model, fits = roll(), wb.AggregatedGP(kernel="rbf", hyperparameters=FIXED), counted(
        monkeypatch)

    def stop(done, total, what):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        rehearse(ds, model, 4, progress=stop, resume=tmp_path)
    assert stopped.value.partial["truth"].values.tolist() == [0, 1] and len(fits) == 2
    whole = rehearse(ds, model, 4, resume=tmp_path)
    assert len(fits) == 4
    more = rehearse(ds, model, 5, resume=tmp_path)
    assert len(fits) == 5
    xr.testing.assert_equal(more["rank"].isel(truth=slice(4)), whole["rank"])
    rehearse(ds, model, 4, seed=1, resume=tmp_path)
    assert len(fits) == 9


@pytest.mark.slow
def test_processes_change_nothing():
    ds, model = roll(), wb.AggregatedGP(kernel="rbf", hyperparameters=FIXED)
    one, two = (rehearse(ds, model, 3, samples=40, workers=n) for n in (1, 2))
    np.testing.assert_allclose(one["rank"], two["rank"])
    assert one.attrs["sentence"] == two.attrs["sentence"]


def test_truths_that_fail_are_told_and_left_out(monkeypatch):
    ds, model, real = roll(), wb.AggregatedGP(kernel="rbf", hyperparameters=FIXED), truths.fitted

    def fragile(model, ds, outcome):
        if outcome.number == 1:
            raise RuntimeError("no luck")
        return real(model, ds, outcome)
    monkeypatch.setattr(truths, "fitted", fragile)
    with pytest.warns(UserWarning, match="truth 1 failed and is left out: RuntimeError: no luck"):
        result = rehearse(ds, model, 3, samples=40)
    assert result["truth"].values.tolist() == [0, 2]
    assert "2 of 3 truths" in result.attrs["about"] and "no luck" in result.attrs["failed"]


def test_what_cannot_be_rehearsed_is_refused():
    ds = roll()
    with pytest.raises(InputError, match="no prior that truths could be drawn from; use vbagg"):
        rehearse(ds, "quasi-likelihood")
    for options, said in (({"truth": "prior"}, "auto has no prior over its candidates"),
                          ({"hyperparameters": {"mean": 1}}, "none of its own can be given")):
        with pytest.raises(InputError, match=said):
            rehearse(ds, "auto", **options)
    with pytest.raises(InputError, match=r"a rehearsal is of one source.*wb.rehearse\(sources"):
        rehearse({"a": ds, "b": ds})
    with pytest.raises(InputError, match="hyperparameter that is learnt 'rbf.varance'"):
        rehearse(ds, wb.AggregatedGP(kernel="rbf"), hyperparameters={"rbf.varance": 1})
    with pytest.raises(InputError, match="truth 'posteriro' is unknown; did you mean"):
        rehearse(ds, truth="posteriro")
    with pytest.raises(InputError, match="truths must be a whole number of 2 or more"):
        rehearse(ds, truths=1)
    with pytest.raises(InputError, match="threshold must lie strictly between"):
        rehearse(ds, threshold=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_truths_of_auto_come_from_its_candidates_by_weight(tmp_path, monkeypatch):
    few = tuple(one for one in candidates.CANDIDATES if one.name in ("flat", "slopes"))
    monkeypatch.setattr(candidates, "CANDIDATES", few)
    ds, auto = country(), wb.Auto(effort="quick", workers=1)
    result = rehearse(ds, auto, 2, samples=50, resume=tmp_path)
    weights = json.loads(result.attrs["values"])
    drawn = result["candidate"].values.tolist()
    assert all(weights[name]["weight"] > 0 for name in drawn)
    assert drawn[0] == max(weights, key=lambda name: weights[name]["weight"])   # at the middle
    assert result["model"].values.tolist() == list(auto.candidates(ds)) == ["flat", "slopes"]
    np.testing.assert_allclose(result["weight"].sum("model"), 1, atol=1e-6)
    assert result.sizes["hyperparameter"] == 0
    assert "of " + drawn[0] in result.attrs["about"]
    assert "got the most weight in " in result.attrs["sentence"]
    near = rehearse(ds, auto, 2, truth="posterior", samples=50, resume=tmp_path)
    assert near["candidate"].values.tolist() == drawn


def test_kinds_of_truths_come_as_often_as_they_weigh():
    kinds = [Kind("a", None, {}, 0.6), Kind("b", None, {}, 0.3), Kind("c", None, {}, 0.1)]
    start = Start(kinds, None, {}, False)
    of = [start.kind(k, seed=2).name for k in range(100)]
    assert np.abs(np.array([of.count(name) for name in "abc"]) - [60, 30, 10]).max() <= 1
    assert Start(kinds[:1], None, {}, False).kind(5, 1).name == "a"


def test_the_regression_finds_what_is_log_linear_and_the_split_what_is_flat():
    ds, jitter = country(), np.random.default_rng(0)
    x = ds["covariates"].values[:, 0]
    rate = 0.05 * np.exp(0.8 * (x - x.mean()) / x.std())
    total = np.round(np.bincount(ds["membership"], weights=1e3 * ds["weight"] * rate))
    made = ds.assign(truth=("individual", rate), weight=1e3 * ds["weight"],
                     value=ds["value"].copy(data=total))
    skills, covered = set_beside(made, resolutions(made), LEVELS, 50, 0, jitter)
    assert list(simple_maps(made)) == [SPLIT, GLM] and skills.shape == (2, len(resolutions(made)))
    assert abs(skills[0, 0]) < 0.3 and skills[1, 0] > 0.7
    assert ((covered >= 0) & (covered <= 1)).all() and (np.diff(covered, axis=1) >= 0).all()
    with pytest.warns(UserWarning, match="population split failed: all totals are zero"):
        nothing = set_beside(made.assign(value=0 * made["value"]), resolutions(made), LEVELS, 50,
                             0, jitter)
    assert np.isnan(nothing[0]).all()
    assert simple_maps(roll()) == {}


@pytest.mark.slow
def test_simple_maps_stand_beside_the_model():
    fixed = {"mean": -3.0, "linear.variance": 0.1}
    model = wb.VBAgg(kernel="linear", overdispersion="none", nugget=0.0, hyperparameters=fixed)
    result = rehearse(country(), model, 2, samples=100)
    assert result["map"].values.tolist() == [SPLIT, GLM]
    by_truth = result["beside_skill_by_truth"]
    np.testing.assert_allclose(result["nearer"], (result["skill_by_truth"] > by_truth).mean("truth")
                               .transpose("map", "resolution"))
    assert ((result["beside_coverage"] >= 0) & (result["beside_coverage"] <= 1)).all()
    tables = rehearsal_table(result)
    assert f"more than {GLM} (%)" in tables["beside"]
    assert f"individuals, {SPLIT}" in tables["coverage"]
    assert "is nearer to the truth than the population split in" in result.attrs["sentence"]
    lost = result.assign(nearer=result["nearer"] * 0 + 0.25)
    assert "there the population split and the GLM on totals will do" in verdict(lost)


def test_of_values_that_are_no_counts_there_are_no_simple_maps():
    result = rehearse(roll(), wb.AggregatedGP(kernel="rbf", hyperparameters=FIXED), 2, samples=40)
    assert "map" not in result and len(rehearsal_table(result)["beside"]) == 0
    assert "On truths of its own kind" not in result.attrs["sentence"]


def test_words_and_tables_say_what_the_numbers_say():
    result = rehearse(roll(), wb.AggregatedGP(kernel="rbf", hyperparameters=FIXED), 3, samples=40)
    tables = rehearsal_table(result)
    assert tables["coverage"].index.tolist() == ["50 %", "80 %", "90 %", "95 %"]
    assert len(tables["hyperparameters"]) == 0
    assert result.attrs["sentence"] in rehearsal_text(result)
    inside = result["inside"].values
    good = result.assign(reached=("resolution", np.where(inside, 0.2, 0.9)))
    assert "Trust rates of areas" in verdict(good) and "Do not trust detail" in verdict(good)
    none = result.assign(reached=("resolution", np.full(inside.size, 0.1)))
    assert "Do not trust any map" in verdict(none)
    fine = result.assign(reached=("resolution", np.full(inside.size, 1.0)))
    assert "Trust the map down to single individuals" in verdict(fine)
    assert "may turn out coarser" in verdict(fine)
    sure = fine.assign(reached_lower=("resolution", np.full(inside.size, 0.8)))
    assert "may turn out coarser" not in verdict(sure)


def told_of(result, cover, true, bias=None):
    """The verdict of a rehearsal whose individuals are covered so often."""
    changed = result.copy(deep=True)
    for name, value in (("coverage", cover), ("coverage_lower", cover), ("coverage_upper", cover)):
        changed[name].loc[{"unit": "individuals", "level": 0.95}] = value
    changed["true_hyperparameters"] = "truth", [json.dumps(true)] * changed.sizes["truth"]
    if bias is not None:
        changed["bias"].loc[{"hyperparameter": "nugget.std"}] = bias
    return verdict(changed)


def test_what_to_do_about_narrow_intervals_is_said_with_the_option():
    model = wb.VBAgg(kernel="linear", inducing=10, max_steps=2)
    result = rehearse(country(), model, 2, samples=39)
    true = {"area.std": 0.2, "nugget.std": 0.9, "linear.variance": 1.0}
    narrow = told_of(result, 0.6, true, np.log(0.4 / 0.9))
    assert "nugget.std, 0.9 in truth, is learnt as 0.4" in narrow
    assert "--fix nugget.std=0.9 " in narrow and "hyperparameters={'nugget.std': 0.9}" in narrow
    assert "--fix" not in told_of(result, 0.95, true, np.log(0.4 / 0.9))
    assert "--fix" not in told_of(result, 0.6, true, -0.1)
    bare = {"mean": -3.0, "linear.variance": 1.0, "matern32.lengthscale": 20.0}
    assert "raise --inducing" in told_of(result, 0.6, bare, 0.0)
    assert "--inducing" not in told_of(result, 0.6, bare | {"area.std": 0.2}, 0.0)
    assert "--inducing" not in told_of(result, 0.95, bare, 0.0)


def test_a_slope_beyond_numbers_is_refused_in_words():
    with pytest.raises(InputError, match="beyond what numbers can hold; fix variances"):
        imagine(wb.VBAgg(kernel="linear"), country(), {"linear.variance": 400.0, "mean": 0.0}, 2)
