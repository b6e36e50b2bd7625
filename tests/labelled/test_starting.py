"""Where learning starts, as users ask for it, of all kinds of models."""

import numpy as np
import pytest

import workbench as wb
from tests.labelled.conftest import FEW_STEPS
from tests.reference import country
from workbench.labelled.weighing import equal_weights

pytestmark = FEW_STEPS


def stop(*_):
    raise wb.Cancelled


@pytest.mark.filterwarnings("ignore:the values are counts, but aggregated-gp")
@pytest.mark.parametrize("model", [
    wb.VBAgg(inducing=20), wb.VBAgg(inducing=20, likelihood="normal", average=4),
    wb.AggregatedGP(), wb.CentroidGP(), wb.Nystrom(inducing=20)], ids=repr)
def test_a_preview_is_the_fit_that_was_stopped_at_its_start(model, ds):
    start = model.starting_values(ds)
    found = model.fit(ds, callback=stop).hyperparameters
    before = {name: found[name] for name in start}      # without weights that condition() finds
    assert start == before
    ours, theirs = (model.condition(ds, values).at(ds) for values in (start, before))
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-5)


def test_auto_starts_with_all_that_it_would_weigh(ds):
    model = wb.Auto(effort="quick", workers=1)
    start, alone = model.starting_values(ds), model.candidates(ds)
    for name, one in alone.items():
        assert start[name]["hyperparameters"] == one.starting_values(ds)
    fit = model.condition(ds, start)
    assert fit.weights.to_series().to_dict() == pytest.approx(
        equal_weights(list(alone)).weights)
    assert fit.at(ds).mean.sizes["individual"] == ds.sizes["individual"]


def test_targets_that_belong_to_no_bag_scale_the_start_too():
    parts = wb.unmatch(wb.load("swiss-roll-heights", points=300, bags=20, seed=1), 0.5, seed=0)
    model = wb.CMP(kernel="ard-rbf")
    start = model.starting_values(*parts)
    assert start == model.fit(*parts, callback=stop).hyperparameters
    assert model.condition(parts[0], start, parts[1]).hyperparameters == start


def test_several_sources_have_a_start_with_the_trust_given():
    sources = {name: country(bags=12, size=4, seed=seed) for name, seed in (("a", 0), ("b", 1))}
    model = wb.MRVBAgg(inducing=20)
    start = model.starting_values(sources, trust={"b": 0.5})
    fit = model.fit(sources, trust={"b": 0.5}, callback=stop)
    assert start == fit.hyperparameters
    again = model.condition(sources, start, trust={"b": 0.5})
    np.testing.assert_allclose(again.at(sources["a"]).mean, fit.at(sources["a"]).mean, rtol=1e-5)
