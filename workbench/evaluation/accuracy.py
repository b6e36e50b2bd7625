"""How far point predictions are from what was observed; every score is a mean over units."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import gammaln, kl_div, xlogy

from workbench.checks import InputError, choose, require, warn
from workbench.schema import BAG, INDIVIDUAL, per_unit

CONVENTIONS = ("exact", "stirling")


def _pair(observed: ArrayLike, predicted: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    y, p = np.asarray(observed, dtype=float), np.asarray(predicted, dtype=float)
    require(y.shape == p.shape, f"observed has shape {y.shape} but the prediction has {p.shape}")
    require(y.size > 0, "there is nothing to score: the observed values are empty")
    return y, p


def poisson_nll(observed: ArrayLike, rate: ArrayLike, convention: str = "exact") -> float:
    r"""Mean negative Poisson log likelihood of counts at a plugged-in expected count.

    .. math:: \lambda - y \log\lambda + \log y!

    Parameters
    ----------
    observed : array (n,), counts
    rate : array (n,), expected counts in the same units
    convention : {"exact", "stirling"}
        How log y! is taken: by the gamma function, or by Stirling's formula with
        log y! = 0 for y in {0, 1}, as ``tf.nn.log_poisson_loss(compute_full_loss=True)`` does.

    Returns
    -------
    float
        Nats per unit.

    References
    ----------
    Law et al. 2018, figures 1 and 2 are printed in the Stirling convention.
    """
    y, rate = _pair(observed, rate)
    if choose("convention", convention, CONVENTIONS) == "exact":
        log_factorial = gammaln(y + 1)
    else:
        stirling = xlogy(y, y) - y + 0.5 * np.log(2 * np.pi * np.maximum(y, 1))
        log_factorial = np.where(y <= 1, 0.0, stirling)
    return float(np.mean(rate - xlogy(y, rate) + log_factorial))


def poisson_deviance(observed: ArrayLike, rate: ArrayLike) -> float:
    r"""Mean Poisson deviance per unit, :math:`2\,(y\log(y/\lambda) - y + \lambda)`.

    Parameters
    ----------
    observed : array (n,), counts
    rate : array (n,), expected counts in the same units

    Returns
    -------
    float
        Zero or more; infinite when an expected count of zero met an observed one.
    """
    return float(2 * np.mean(kl_div(*_pair(observed, rate))))


def rmse(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Root mean squared error.

    Parameters
    ----------
    observed, predicted : array (n,)
        Values and predictions.

    Returns
    -------
    float
        In the units of the values.
    """
    y, p = _pair(observed, predicted)
    return float(np.sqrt(np.mean((p - y) ** 2)))


def mae(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Mean absolute error.

    Parameters
    ----------
    observed, predicted : array (n,)
        In the same units.

    Returns
    -------
    float
        In the units of the values.
    """
    y, p = _pair(observed, predicted)
    return float(np.mean(np.abs(p - y)))


def bias(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Mean of predicted minus observed.

    Parameters
    ----------
    observed, predicted : array (n,)
        What is subtracted, and from what.

    Returns
    -------
    float
        Above zero where predictions are too high.
    """
    y, p = _pair(observed, predicted)
    return float(np.mean(p - y))


def correlation(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Pearson correlation.

    Parameters
    ----------
    observed, predicted : array (n,)
        Pairs of numbers; fewer than two have none.

    Returns
    -------
    float
        From -1 to 1; NaN where either side is constant.
    """
    y, p = _pair(observed, predicted)
    if y.size < 2 or np.ptp(y) == 0 or np.ptp(p) == 0:
        return float("nan")
    return float(np.corrcoef(y, p)[0, 1])


def rescale_to_totals(ds: xr.Dataset, expected: xr.DataArray | np.ndarray) -> xr.DataArray:
    """Scale each bag's individual expectations so that they add up to the bag's observed total.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset whose values are sums.
    expected : array (individual,)
        Expected totals of the individuals, in units of ``value``, zero or more.

    Returns
    -------
    xr.DataArray (individual,)
        Expectations in units of ``value``; their sum over each bag is the bag's value.

    Raises
    ------
    InputError
        If the values are means, if an expectation is negative, or if a bag with a positive
        total expects nothing anywhere.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> rescaled = wb.rescale_to_totals(ds, ds["weight"])
    >>> bool(abs(rescaled.groupby(ds["membership"]).sum().values - ds["value"]).max() < 1e-9)
    True
    """
    require(
        ds["value"].attrs.get("aggregation", "sum") == "sum",
        "only totals can be kept; the values of this dataset are means",
    )
    expected = per_unit(
        expected, ds[INDIVIDUAL].to_index(), INDIVIDUAL, "expectation").astype(float)
    require(bool((expected >= 0).all()), "expectations must be finite and zero or more")
    membership, total = ds["membership"].values, ds["value"].values
    predicted = np.bincount(membership, weights=expected, minlength=ds.sizes[BAG])
    hopeless = np.flatnonzero((predicted == 0) & (total > 0))
    if hopeless.size:
        raise InputError(
            f"{hopeless.size} bags have a positive total but expect nothing anywhere (first: "
            f"{ds[BAG].values[hopeless[:3]].tolist()}); give some individual a positive expectation"
        )
    factor = np.divide(total, predicted, out=np.zeros_like(predicted), where=predicted > 0)
    return xr.DataArray(
        expected * factor[membership],
        dims=INDIVIDUAL,
        attrs={"long_name": "expectation rescaled to the totals", **_units(ds)},
    ).assign_coords({INDIVIDUAL: ds[INDIVIDUAL]})  # shared: the constructor copies every polygon


def pin_to_totals(ds: xr.Dataset, expected: xr.DataArray | np.ndarray) -> xr.DataArray:
    """Deprecated name of `rescale_to_totals`."""
    warn("pin_to_totals is now called rescale_to_totals; the old name will be removed",
         DeprecationWarning)
    return rescale_to_totals(ds, expected)


def _units(ds: xr.Dataset) -> dict[str, str]:
    return {"units": ds["value"].attrs["units"]} if "units" in ds["value"].attrs else {}
