"""What effects of areas are expected to be, by what individuals have of their own."""

import json

import numpy as np
import pytest
import torch
import xarray as xr

import workbench as wb
from tests.gp import made
from workbench.checks import InputError
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.own_noise import prior_of_effects
from workbench.gp.optimisation.priors import Multiple, PCStd
from workbench.labelled.imagined import imagine

APART = {"priors": {"area.std": "pc:1:0.05"}}


def known(sizes, **options):
    model = VBAgg(kernel="rbf", inducing=10, **options)
    return model.hyperparameters(made.counts(made.bags(sizes)))


def test_variances_of_means_fall_by_the_law():
    """Nuggets and effects together: of n times as many individuals 1/√n of the variance is left."""
    nugget, options = known((4,) * 9)["nugget.std"], VBAgg(kernel="rbf").options
    found = {members: prior_of_effects(nugget, torch.full((9,), 1 / members), 1.0, options)
             for members in (4, 16, 64, 100, 1e6)}
    for members in (4, 16, 64):
        assert found[members].others == ("nugget.std",)
        effect = found[members].factor**2
        assert effect + 1 / members == pytest.approx((effect + 1) * members**-0.5)
        assert effect == pytest.approx(members**-0.5)
    assert found[1e6] == found[100]         # it is not carried on beyond what was looked at
    assert prior_of_effects(nugget, torch.zeros(9), 1.0, options) == PCStd(1.0, 0.05)


def test_it_goes_by_the_nugget_where_that_is_learnt_and_areas_have_individuals():
    def prior(sizes, **options):
        return known(sizes, **options)["area.std"].prior

    sizes, alone = (4,) * 9, PCStd(1.0, 0.05)
    assert isinstance(prior(sizes), Multiple)
    assert prior((1,) * 9) == prior(sizes, nugget=0.0) == alone
    assert prior(sizes, nugget=0.3) == prior(sizes, hyperparameters={"nugget.std": 0.3}) == alone
    assert prior(sizes, priors={"area.std": "pc:2:0.05"}) == PCStd(2.0, 0.05)
    found, options = known(sizes)["nugget.std"], VBAgg(kernel="rbf").options
    left = torch.full((9,), 0.25)
    assert isinstance(prior_of_effects(found, left, 1.0, options), Multiple)
    for unknown in (None, found):       # no nugget, and no area that is known
        assert prior_of_effects(unknown, left[:0], 1.0, options) == alone
    # It is the number of most areas that counts.
    assert prior((4,) * 8 + (40,)).factor == pytest.approx(prior(sizes).factor, rel=0.1)


def test_a_prior_by_what_is_not_there_is_refused():
    with pytest.raises(InputError, match=r"hyperparameter 'nugget.std' is unknown"):
        known((4,) * 9, nugget=0.0, priors={"area.std": Multiple(("nugget.std",), 0.5, 0.4)})


def observed(seed, effect, own, areas=60, size=16):
    """Counts of areas on a line, and the rate of each individual."""
    rng = np.random.default_rng(seed)
    x, members = np.arange(areas * size) / size, np.repeat(np.arange(areas), size)
    weight = rng.lognormal(7, 0.3, x.size)
    f = 0.4 * np.sin(x / 8) - 4 + effect * rng.normal(size=areas)[members]
    rate = np.exp(f + own * rng.normal(size=x.size))
    counts = rng.poisson(np.bincount(members, rate * weight)).astype(float)
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), np.zeros((x.size, 0))),
         "weight": ("individual", weight), "membership": ("individual", members),
         "value": ("bag", counts, {"kind": "count", "aggregation": "sum"})},
        coords={"x": ("individual", x), "y": ("individual", 0 * x),
                "covariate": np.array([], dtype=str)}), rate


def test_imagined_effects_go_by_a_nugget_that_is_given():
    ds, model = observed(0, 0.2, 0.4, areas=12)[0], wb.VBAgg(inducing=10)
    found = {value: json.loads(imagine(model, ds, {"nugget.std": value}, seed=1)["truth"].attrs[
        "hyperparameters"]) for value in (0.02, 0.5)}
    assert [found[value]["nugget.std"] for value in found] == pytest.approx([0.02, 0.5])
    ratio = [found[value]["area.std"] / value for value in found]
    assert ratio[0] == pytest.approx(ratio[1]) and 0.1 < ratio[0] < 1.7


@pytest.mark.slow
def test_a_held_effect_leaves_the_nugget_where_it_was():
    ds = observed(0, 0.2, 0.4)[0]
    both = wb.VBAgg(inducing=40).fit(ds).hyperparameters
    held = wb.VBAgg(inducing=40, hyperparameters={
        "area.std": both["area.std"]["value"]}).fit(ds).hyperparameters
    assert held["nugget.std"]["value"] == pytest.approx(both["nugget.std"]["value"], rel=0.03)


@pytest.mark.slow
def test_intervals_of_individuals_cover_what_they_have_of_their_own():
    """And where they have nothing, the map is no worse for it."""
    covered, errors = {}, {}
    for name, options in (("by nugget", {}), ("apart", APART)):
        for seed in range(2):
            for own in (0.4, 0.0):
                ds, rate = observed(seed, 0.2, own)
                found = wb.VBAgg(inducing=40, **options).fit(ds).at(ds, area_effect=True)
                low, high = (end.values for end in found.interval(0.95))
                covered[name, seed, own] = ((low <= rate) & (rate <= high)).mean()
                errors[name, seed, own] = np.mean(np.log(found.mean.values / rate)**2)**0.5
    for seed in range(2):
        assert covered["by nugget", seed, 0.4] > 0.85 > 0.7 > covered["apart", seed, 0.4]
        for own in (0.4, 0.0):
            assert errors["by nugget", seed, own] < 1.03 * errors["apart", seed, own]
