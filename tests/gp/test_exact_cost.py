"""The exact aggregated GP tells what it costs, and refuses what would take too long."""

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from workbench.checks import InputError
from workbench.gp.models.exact import cost
from workbench.labelled.source import to_source
from workbench.labelled.timing import cost_told


def country(pixels: int, areas: int) -> xr.Dataset:
    """Pixels in equal areas, one covariate each; nothing of the size of all pairs."""
    rng = np.random.default_rng(0)
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), rng.normal(size=(pixels, 1))),
         "weight": ("individual", np.ones(pixels)),
         "membership": ("individual", np.repeat(np.arange(areas), pixels // areas)),
         "value": ("bag", rng.normal(size=areas),
                   {"aggregation": "mean", "kind": "continuous"})},
        coords={"covariate": ["height"], "bag": [f"a{i}" for i in range(areas)]})


def test_eighty_four_thousand_pixels_are_refused_with_an_estimate_and_a_remedy():
    ds = country(84_000, 84)
    told = cost_told(wb.AggregatedGP(), ds)
    assert "84,000 individuals in 84 areas: about 3.5 h and 0.2 GiB" in told
    with pytest.raises(InputError, match="7.1e.09 pairs of 84,000 individuals") as refused:
        wb.AggregatedGP().fit(ds)
    for words in ("about 3.5 h and 0.2 GiB", "hours=1", "likelihood='normal'", "max_steps",
                  "larger pixels", "hours=5 to wait"):
        assert words in str(refused.value)


def test_each_remedy_that_is_named_is_accepted():
    bags = to_source(country(84_000, 84)).bags
    for options in ({"hours": 5.0}, {"max_steps": 20}):
        cost.refuse_beyond("aggregated-gp", bags, 84_000**2, wb.AggregatedGP(**options).options)
    fewer = to_source(country(42_000, 84)).bags             # larger pixels
    cost.refuse_beyond("aggregated-gp", fewer, 42_000**2, wb.AggregatedGP().options)


def test_one_large_area_needs_the_memory_of_its_pairs(monkeypatch):
    ds = country(84_000, 1)
    monkeypatch.setattr(cost, "memory_there", lambda: 16.0 * 2**30)
    with pytest.raises(InputError, match="210.3 GiB, more than the 16.0 GiB of this machine"):
        wb.AggregatedGP(hours=1e3).fit(ds)


def test_few_pixels_are_fitted_as_before():
    ds = country(120, 12)
    assert wb.AggregatedGP(hours=0.01).fit(ds).at(ds).mean.sizes["individual"] == 120
    with pytest.raises(InputError, match="hours=0"):
        wb.AggregatedGP(hours=0.0).fit(ds)
