"""The flat model of values that are no counts: what areas differ by is theirs, not individuals'."""

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from workbench.comparison.assessment import flat_model
from workbench.comparison.line_up import line_up
from workbench.labelled.candidates import candidates_for, effort_named, options_of_values
from workbench.labelled.source import Converted
from workbench.pipeline.scoring import flat_beside

AREAS, SIZE = 40, 50


@pytest.fixture(scope="module")
def means():
    """Means of fifty individuals each, and what these are: both levels differ by a std of one."""
    rng = np.random.default_rng(0)
    of = np.repeat(np.arange(AREAS), SIZE)
    own = 20 + rng.normal(size=AREAS)[of] + rng.normal(size=AREAS * SIZE)
    place = rng.uniform(size=(2, AREAS * SIZE))
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), np.zeros((AREAS * SIZE, 0))),
         "weight": ("individual", np.ones(AREAS * SIZE)), "membership": ("individual", of),
         "value": ("bag", np.bincount(of, own) / SIZE,
                   {"aggregation": "mean", "kind": "continuous"})},
        coords={"covariate": np.array([], str), "x": ("individual", place[0]),
                "y": ("individual", place[1])}), own


def test_individuals_are_as_wide_as_they_differ(means):
    ds, own = means
    scores = {}
    for name, model in {"flat": wb.Constant(), "noise of individuals": wb.Constant(
            noise="size")}.items():
        draws = model.fit(ds).sample(ds, 200, preserve_totals=True, seed=0)
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        scores[name] = (float(wb.evaluation.crps(own, draws.values).mean()), (high - low).mean())
    assert scores["flat"][0] < 0.75 * scores["noise of individuals"][0]
    assert scores["flat"][1] < 12 and scores["noise of individuals"][1] > 20     # of some four


def test_it_is_the_flat_candidate_of_auto(means):
    ds, _ = means
    flat = wb.Constant().fit(ds)
    one = next(c for c in candidates_for(ds, effort_named("normal")) if c.name == "flat")
    same = wb.VBAgg(kernel=one.kernel, **options_of_values(Converted(ds))).fit(ds)
    for name, item in same.hyperparameters.items():
        assert flat.hyperparameters[name]["value"] == pytest.approx(item["value"], rel=1e-4)
    xr.testing.assert_allclose(flat.at(ds).mean, same.at(ds).mean, rtol=1e-5)
    xr.testing.assert_allclose(flat.at(ds).variance, same.at(ds).variance, rtol=1e-3)


def test_its_options_are_settled_once_and_kept(means, tmp_path):
    ds, _ = means
    flat = wb.Constant().fit(ds)
    assert flat.model.options.noise == "area" and flat.model.options.likelihood == "normal"
    assert "nugget.std" in flat.hyperparameters
    again = wb.Constant().condition(ds, flat.hyperparameters)
    assert again.model == flat.model
    flat.save(tmp_path / "flat.wbfit")
    assert wb.load_fit(tmp_path / "flat.wbfit").model == flat.model
    assert set(wb.Constant().starting_values(ds)) == set(flat.hyperparameters)


@pytest.mark.parametrize("options", [
    {"noise": "size"}, {"link": "square"}, {"nugget": 0.0}, {"hyperparameters": {"mean": 20.0}},
    {"likelihood": "exponential"}])
def test_what_is_chosen_is_kept(means, options):
    ds, _ = means
    fitted = wb.Constant(**options).fit(ds).model.options
    assert all(getattr(fitted, name) == value for name, value in options.items())
    assert fitted.noise != "area"


@pytest.mark.parametrize("nugget", [0.8, "learn"])
def test_beside_a_nugget_areas_differ_by_their_own(means, nugget):
    ds, _ = means
    fit = wb.Constant(nugget=nugget).fit(ds)
    assert fit.model.options.noise == "area" and fit.model.options.nugget == nugget
    assert not fit.model.options.hyperparameters and not fit.model.options.priors


def test_known_variances_are_looked_at_beside_a_nugget(means):
    ds, _ = means
    known = ds.assign(noise_variance=("bag", np.full(AREAS, 0.1)))
    for nugget in ("auto", 0.8, "learn"):
        fit = wb.Constant(nugget=nugget).fit(known)
        assert "area.variance" in fit.hyperparameters           # beside those that are known


def test_values_that_have_no_logarithm_are_left_to_the_exp_link(means):
    ds, _ = means
    zero = ds.assign(value=ds["value"] - ds["value"].min())
    zero["value"].attrs = ds["value"].attrs
    fit = wb.Constant(link="exp").fit(zero)
    assert fit.model.options.noise != "area"
    assert np.isfinite(fit.at(zero).mean).all()


@pytest.mark.parametrize("scored", [
    wb.VBAgg(), wb.VBAgg(nugget="learn"), wb.VBAgg(noise="area", nugget=1.0, likelihood="normal"),
    wb.Auto()])
def test_the_flat_model_beside_another_is_no_straw_man(means, scored):
    ds, _ = means
    draws = flat_beside(scored).fit(ds).sample(ds, 200, preserve_totals=True, seed=0)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert (high - low).mean() < 12


@pytest.mark.parametrize("link", ["exp", "identity"])
def test_a_link_is_kept_and_the_rest_goes_by_the_values(means, link):
    options = wb.Constant(link=link).fit(means[0]).model.options
    assert options.link == link and options.noise == "area"


def test_counts_are_left_to_their_likelihood():
    ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
    assert wb.Constant().fit(ds).model == wb.Constant()


def test_it_stands_beside_other_values_in_comparisons(means):
    ds, _ = means
    assert line_up(ds, None, "quick", 0)[0]["constant"] == flat_model() == wb.Constant()
