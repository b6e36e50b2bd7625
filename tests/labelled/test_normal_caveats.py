"""What models of Normal observations say of counts, and of variances that they do not look at."""

import numpy as np
import pytest

import workbench as wb
from workbench.checks import FitWarning, named_as_flags

QUICK = {"kernel": "rbf", "max_steps": 2}
COUNTS, VARIANCE = "are counts, but", "noise_variance"
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.ExtrapolationWarning",
    "ignore:the mediators hardly tell the bags apart")


@pytest.fixture(scope="module")
def counts():
    ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
    assert float(ds["value"].min()) < 100
    return wb.add_mediators(ds, ["z1"])


@pytest.fixture(scope="module")
def precise(counts):
    """Means of a continuous quantity whose variances are known."""
    return counts.assign(
        value=counts["value"].assign_attrs(kind="continuous", aggregation="mean"),
        noise_variance=("bag", np.full(12, 0.1)))


def said(fit, words):
    return [note for note in fit.notes if words in note]


@pytest.mark.parametrize(("model", "instead"), [
    (wb.AggregatedGP(**QUICK), "wb.VBAgg"), (wb.CMP(**QUICK, starts=1), "wb.VBAgg"),
    (wb.MRGP(**QUICK), "wb.MRVBAgg")], ids=lambda one: getattr(one, "name", ""))
def test_counts_under_a_normal_model_are_said(counts, model, instead):
    with pytest.warns(FitWarning, match=f"the values are counts, but.*negative.*use {instead}"):
        fit = model.fit(counts)
    assert said(fit, COUNTS)


def test_sources_of_counts_are_named(counts, precise):
    quick = wb.MRGP(**QUICK)
    with pytest.warns(FitWarning, match="values of 'cases' are counts"):
        quick.fit({"cases": counts, "means": precise.drop_vars("noise_variance")})


def test_large_counts_and_models_of_counts_need_no_word(counts, precise):
    large = counts.assign(value=counts["value"] * 0 + 101 + np.arange(12))
    for model, ds in ((wb.AggregatedGP(**QUICK), large), (wb.VBAgg(**QUICK), counts),
                      (wb.AggregatedGP(**QUICK), precise.drop_vars("noise_variance")),
                      (wb.CentroidGP(**QUICK), counts)):
        assert not said(model.fit(ds), COUNTS)


def test_known_variances_that_a_default_passes_over_are_said(precise):
    with pytest.warns(FitWarning, match="noise=.constant. does not look at.*noise='known'"):
        fit = wb.MRGP(**QUICK).fit(precise)
    assert said(fit, VARIANCE)
    with pytest.warns(FitWarning, match="--noise known"), named_as_flags():
        wb.MRGP(**QUICK).fit(precise)


def test_known_variances_that_a_default_uses_need_no_word(precise, counts):
    for model in (wb.VBAgg(**QUICK, link="identity"), wb.AggregatedGP(**QUICK)):
        assert not said(model.fit(precise), VARIANCE)
    # Variances of totals are not those of the rates that are made of them.
    stated = counts.assign(value=counts["value"] * 0 + 101 + np.arange(12),
                           noise_variance=precise["noise_variance"])
    with pytest.warns(FitWarning, match="noise=.size. does not look at"):
        wb.AggregatedGP(**QUICK).fit(stated)


@pytest.mark.filterwarnings("ignore:.* targets cannot say how")
def test_known_variances_of_one_source_and_of_targets_are_said(precise):
    both = {"one": precise.drop_vars("noise_variance"), "other": precise}
    with pytest.warns(FitWarning, match="of 'other' \\(noise_variance\\)"):
        wb.MRGP(**QUICK).fit(both)
    assert not said(wb.MRGP(**QUICK, noises={"other": "known"}).fit(both), VARIANCE)
    bags, targets = wb.unmatch(precise, 0.5)
    with pytest.warns(FitWarning, match="variance of each value \\(noise_variance\\)"):
        wb.CMP(**QUICK, starts=1).fit(bags, targets)


def test_who_chose_the_noise_is_not_told(counts, precise):
    told = {"noise.variance": 0.1}
    for options in ({"noise": "known"}, {"noise": "weight"}, {"hyperparameters": told}):
        assert not said(wb.AggregatedGP(**QUICK, **options).fit(precise), VARIANCE)
    stated = counts.assign(noise_variance=precise["noise_variance"])
    assert not said(wb.VBAgg(**QUICK).fit(stated), VARIANCE)     # Poisson: there is no noise
