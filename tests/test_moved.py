"""Names that went elsewhere: the old home names the new one, which is there."""

import importlib
import re

import pytest

from workbench import datasets, evaluation, geo, granularity, plots

OLD = [(evaluation, name) for name in (
    "compare", "cross_validate", "evaluate", "score_individuals", "Comparison")] + [
    (plots, name) for name in ("contraction", "convergence_rates", "full_bayes")] + [
    (granularity, name) for name in (
        "zeta_one", "zeta_two", "covariance_error", "covariance_error_bound", "largest_change",
        "trust_region_kappa")] + [
    (datasets, name) for name in ("source_datasets", "source_options")]


@pytest.mark.parametrize("home,name", OLD, ids=lambda one: getattr(one, "__name__", one))
def test_a_name_that_moved_is_found_where_the_message_says(home, name):
    with pytest.raises(AttributeError, match=f"{name} has moved: it is now workbench") as raised:
        getattr(home, name)
    for told in re.findall(r"workbench[.\w]+", str(raised.value).partition("it is now ")[2]):
        module, _, attribute = told.rpartition(".")
        assert callable(getattr(importlib.import_module(module), attribute))


def test_an_alias_in_the_same_folder_still_works_and_warns():
    with pytest.warns(DeprecationWarning, match="now called workbench.geo.CleaningOptions"):
        assert geo.Treatments is geo.CleaningOptions


def test_other_names_are_unknown_as_ever():
    with pytest.raises(AttributeError, match="module 'workbench.plots' has no attribute 'nothing'"):
        plots.nothing  # noqa: B018
