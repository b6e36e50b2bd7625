"""Each of several sources recognises its own areas, whatever the others are."""

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from workbench.labelled.predictive import DISTRIBUTIONS

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
PRIOR, GIVEN = DISTRIBUTIONS[False], DISTRIBUTIONS[True]


def source(areas: int, seed: int, task: str) -> xr.Dataset:
    """Counts of areas on a line that vary by more than Poisson."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, 6 * areas))
    member = np.repeat(np.arange(areas), 6)
    rate = np.exp(2 + np.sin(x) + 0.8 * rng.normal(size=areas)[member])
    value = rng.poisson(np.bincount(member, rate)).astype(float)
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), x[:, None]),
         "weight": ("individual", np.ones(x.size)), "membership": ("individual", member),
         "value": ("bag", value, {"kind": "count", "aggregation": "sum", "task": task})},
        coords={"bag": [f"{task}{k}" for k in range(areas)], "covariate": ["t"]})


def test_totals_are_those_of_the_source_that_is_asked_for():
    both = {"first": source(12, 0, "a"), "second": source(8, 1, "b")}
    fit = wb.MRVBAgg(kernel="rbf", inducing=10, overdispersion="area", max_steps=5).fit(both)
    for task, name in (("a", "first"), ("b", "second")):
        ds, other = both[name], both["second" if name == "first" else "first"]
        value = ds["value"].values
        given, prior = fit.over(ds, task=task), fit.over(ds, area_effect=False, task=task)
        assert (given.distribution, prior.distribution) == (GIVEN, PRIOR)
        off = [np.abs(np.log(one.mean.values / value)).max() for one in (given, prior)]
        assert off[0] < 0.5 * off[1]
        rate = fit.at(ds, task=task)
        np.testing.assert_allclose(
            np.bincount(ds["membership"].values, rate.mean.values), given.mean, rtol=1e-3)
        drawn = rate.sample(2000, seed=0).mean("sample").values
        np.testing.assert_allclose(drawn, rate.mean, rtol=0.15)
        # Areas of the other source are not known to this one, however many there are.
        elsewhere = fit.over(other, task=task)
        assert elsewhere.distribution == PRIOR
        np.testing.assert_array_equal(
            elsewhere.mean, fit.over(other, area_effect=False, task=task).mean)


@pytest.mark.parametrize("model, said", [
    (wb.VBAgg(kernel="rbf", inducing=8, max_steps=3), GIVEN),
    (wb.VBAgg(kernel="rbf", inducing=8, max_steps=3, likelihood="negative-binomial"), GIVEN),
    (wb.VBAgg(kernel="rbf", inducing=8, max_steps=3, overdispersion="none", nugget=0.0), PRIOR),
    (wb.VBAgg(kernel="rbf", inducing=8, max_steps=3, likelihood="normal", nugget=0.3), PRIOR)])
def test_maps_say_that_totals_are_given_only_where_they_are(model, said):
    ds = source(12, 0, "a")
    fit = model.fit(ds)
    given, prior = fit.to_dataset(ds), fit.to_dataset(ds, area_effect=False)
    assert given.attrs["distribution"] == given["mean"].attrs["distribution"] == said
    assert prior.attrs["distribution"] == PRIOR
    assert np.allclose(given["mean"], prior["mean"]) is (said == PRIOR)
