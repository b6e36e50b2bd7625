"""Any data that can be read: a fit gives right, finite answers, or says by name what is wrong."""

import json
import warnings

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.properties.worlds import bagged
from workbench.checks import InputError, WorkbenchWarning
from workbench.gp.numerics.linalg import RoundingWarning

# Without shrinking, which takes minutes of fits: the blob that is printed makes the case again.
FITS = settings(max_examples=12, deadline=None, derandomize=True, print_blob=True,
                phases=(Phase.explicit, Phase.generate),
                suppress_health_check=list(HealthCheck))
KERNELS = st.sampled_from(["matern32", "rbf", "linear + matern32", "ard-rbf", "rq"])
DTYPES = st.sampled_from(["float64", "float64", "float32"])
LENGTHSCALES = st.sampled_from([None, None, 1e-6, 1e6])


def answers(model, ds):
    """The map, or None where the model says by name why there is none, or that it is rounded.

    Warnings have our classes; any other is an error.

    Raises
    ------
    Exception
        Any other error, which is a fault.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", WorkbenchWarning)
        try:
            maps = model.fit(ds).to_dataset(ds, threshold=1.0)
        except InputError as error:
            assert len(str(error)) > 30, "an error says what to do"
            return None
    return None if any(one.category is RoundingWarning for one in told) else maps


def check(maps, ds, adds_up: bool = True) -> None:
    """Finite wherever a mean exists; spreads not negative; quantiles in order; totals add up."""
    latent = [name for name in ("latent_mean", "latent_std") if name in maps]
    for name in (*latent, "rate_quantile", "bag_quantile", "exceedance"):
        assert np.isfinite(maps[name]).all(), name
    # A mean may be infinite in double precision, with a warning: then only quantiles exist.
    for name in ("mean", "std", "bag_mean", "bag_std", "extrapolation"):
        assert not np.isnan(maps[name]).any(), name
    for name in (*latent[1:], "std", "bag_std", "extrapolation"):
        assert (maps[name] >= 0).all(), name
    for name in ("rate_quantile", "bag_quantile"):
        assert (maps[name].diff("quantile") >= 0).all(), name
    assert maps["exceedance"].min() >= 0 and maps["exceedance"].max() <= 1
    if not adds_up or not np.isfinite(maps["mean"]).all():
        return
    total = np.bincount(ds["membership"], ds["weight"] * maps["mean"])
    sums = ds["value"].attrs["aggregation"] == "sum"
    if not sums:
        total = total / np.bincount(ds["membership"], ds["weight"])
    # A rate is a sum of terms as large as the prior: what they cancel to is no better than they.
    exposure = np.bincount(ds["membership"], ds["weight"]) if sums else np.ones(len(total))
    card = json.loads(maps.attrs["model_card"])
    terms = sum(one["value"] for one in card["hyperparameters"]
                if one["name"].endswith(".variance"))
    size = (float(np.abs(maps["mean"]).max()) + terms**0.5) * exposure
    share = 2e-3 if card["options"].get("dtype") == "float32" else 1e-6
    gap = np.abs(total - maps["bag_mean"].values)
    assert (gap <= 2e-3 * np.abs(total) + share * size).all()


@pytest.mark.slow
@FITS
@given(bagged(), KERNELS, DTYPES, LENGTHSCALES, st.sampled_from([1, 10, 100]),
       st.sampled_from(["auto", "exp", "square", "identity"]))
def test_the_variational_model(ds, kernel, dtype, lengthscale, inducing, link):
    fixed = {} if lengthscale is None or kernel not in ("matern32", "rbf") else {
        f"{kernel}.lengthscale": lengthscale}
    maps = answers(wb.VBAgg(kernel=kernel, dtype=dtype, inducing=inducing, link=link, max_steps=4,
                            hyperparameters=fixed), ds)
    assume(maps is not None)
    check(maps, ds)


@pytest.mark.slow
@FITS
@given(bagged("continuous"), KERNELS, DTYPES, LENGTHSCALES)
def test_the_exact_model(ds, kernel, dtype, lengthscale):
    fixed = {} if lengthscale is None or kernel not in ("matern32", "rbf") else {
        f"{kernel}.lengthscale": lengthscale}
    maps = answers(wb.AggregatedGP(kernel=kernel, dtype=dtype, max_steps=4,
                                   hyperparameters=fixed), ds)
    assume(maps is not None)
    check(maps, ds)


@pytest.mark.slow
@FITS
@given(bagged(), st.sampled_from([
    wb.Constant, wb.BagConstant, wb.CentrePointGP, wb.Nystrom, wb.BagPixel, wb.NeuralNetwork,
    wb.QuasiLikelihoodGP, wb.CentroidGP, wb.IndependentBagsGP, wb.MRVBAgg]))
def test_the_other_models(ds, model):
    maps = answers(model(max_steps=4), ds)
    assume(maps is not None)
    check(maps, ds, adds_up=model not in (wb.CentrePointGP, wb.BagPixel, wb.QuasiLikelihoodGP,
                                          wb.CentroidGP, wb.IndependentBagsGP))


@pytest.mark.parametrize("places", [False, True])
def test_a_single_area_has_a_map_and_what_differs_from_its_mean_extrapolates(places):
    ds = one_area(places)
    maps = answers(wb.VBAgg(max_steps=3), ds)
    at_mean = ds["covariates"][:, 0] == ds["covariates"].mean()
    assert (maps["extrapolation"] == np.where(at_mean, 0, np.inf)).all()


def one_area(places: bool) -> xr.Dataset:
    """Three individuals in one area, the middle one at its mean."""
    ds = xr.Dataset(
        {"covariates": (("individual", "covariate"), [[0.0], [1.0], [2.0]]),
         "weight": ("individual", np.ones(3)), "membership": ("individual", np.zeros(3, int)),
         "value": ("bag", [7.0], {"kind": "count", "aggregation": "sum"})},
        coords={"bag": ["a"], "covariate": ["height"]})
    where = {one: ("individual", [0.0, 1.0, 2.0], {"units": "km"}) for one in "xy"}
    return ds.assign_coords(where) if places else ds


def link_of(maps) -> str:
    """The link that a map's record says was used."""
    return json.loads(maps.attrs["model_card"])["link"]


@pytest.mark.parametrize("aggregation", ["sum", "mean"])
def test_negative_values_need_no_option(aggregation):
    """Without options the link is the identity where a value is negative, else exp.

    That of the flat model goes by whether values are nearer to log-normal: one is not.
    """
    ds = one_area(True)
    values = ("bag", [-3.0], {"kind": "continuous", "aggregation": aggregation})
    for model in (wb.VBAgg, wb.Constant, wb.CentrePointGP):
        below = answers(model(max_steps=3), ds.assign(value=values))
        assert below["bag_mean"] < 0 and link_of(below) == "identity"
        above = answers(model(max_steps=3), ds.assign(value=(*values[:1], [3.0], values[2])))
        wanted = "identity" if model is wb.Constant else "exp"
        assert above["bag_mean"] > 0 and link_of(above) == wanted
    counts = answers(wb.VBAgg(max_steps=3), ds)
    assert link_of(counts) == "exp"
