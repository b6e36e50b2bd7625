"""Truth as a model: a simulator whose predictive distribution is known, and a world drawn from it.

The world: the rate of individual i is exp(m_i + s z_i) with z_i standard normal, m_i a covariate
that the model sees, and counts are Poisson(weight * rate). `TruthModel(spread=s)` is the exact
predictive distribution; any other spread is too sure (smaller) or too unsure (larger).
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import stats
from scipy.special import gammaln, xlogy


def country(bags=60, size=8, spread=0.5, seed=0) -> xr.Dataset:
    """Bagged dataset drawn from the world above, with its truth and fine counts."""
    rng = np.random.default_rng(seed)
    n = bags * size
    membership = np.repeat(np.arange(bags), size)
    x, y = rng.uniform(0, 100, (2, n))
    bag_x, bag_y = (np.bincount(membership, v) / size for v in (x, y))
    log_rate = 0.4 * np.sin(x / 15) + 0.3 * rng.normal(size=n)
    weight = rng.uniform(20, 80, n)
    rate = np.exp(log_rate + spread * rng.normal(size=n))
    fine = rng.poisson(weight * rate)
    ds = xr.Dataset(
        {
            "covariates": (("individual", "covariate"), log_rate[:, None]),
            "weight": ("individual", weight, {"units": "houses"}),
            "membership": ("individual", membership),
            "value": (
                "bag",
                np.bincount(membership, fine).astype(float),
                {"units": "cases", "long_name": "cases", "aggregation": "sum", "kind": "count"},
            ),
            "truth": ("individual", rate),
            "individual_value": ("individual", fine.astype(float)),
        },
        coords={
            "individual": [f"i{k}" for k in range(n)],
            "bag": [f"b{k}" for k in range(bags)],
            "covariate": ["log_rate"],
            "x": ("individual", x, {"units": "km"}),
            "y": ("individual", y, {"units": "km"}),
            "bag_x": ("bag", bag_x, {"units": "km"}),
            "bag_y": ("bag", bag_y, {"units": "km"}),
            "province": ("bag", [f"p{k % 7}" for k in range(bags)]),
        },
        attrs={"title": "a country drawn from a known distribution"},
    )
    return ds


def answers(fit, ds) -> xr.Dataset:
    """The map of a fit to the world, once it is finite and has its shapes, units and rate."""
    out = fit.to_dataset(ds, threshold=1.0)
    for variable in ("mean", "std", "bag_mean", "bag_std", "latent_mean", "exceedance"):
        assert np.isfinite(out[variable]).all(), variable
    for unit in ("bag", "individual"):
        assert fit.simulate(ds, unit, samples=4).shape == (4, ds.sizes[unit])
    observed = float(ds["value"].sum() / ds["weight"].sum())
    rate = float((out["mean"] * ds["weight"]).sum() / ds["weight"].sum())
    assert abs(rate / observed - 1) < 0.15          # any model gets the overall rate about right
    assert fit.at(ds).mean.attrs["units"] == "cases / houses"
    return out


class Rate:
    """Log-normal predictive distribution of the rate at individuals."""

    def __init__(self, ds, log_mean, spread):
        self.coords = {"individual": ds["individual"]}
        self.known = stats.lognorm(spread, scale=np.exp(log_mean))

    def _label(self, values, *leading):
        return xr.DataArray(values, dims=(*leading, "individual"), coords=self.coords)

    @property
    def mean(self):
        return self._label(self.known.mean())

    @property
    def std(self):
        return self._label(self.known.std())

    def cdf(self, t):
        return self._label(self.known.cdf(np.asarray(t)))

    def exceedance(self, t):
        return self._label(self.known.sf(np.asarray(t)))

    def quantile(self, levels):
        return self._label(self.known.ppf(np.asarray(levels)[:, None]), "quantile")

    def sample(self, count, seed=0):
        size = (count, self.coords["individual"].size)
        return self._label(self.known.rvs(size, random_state=seed), "sample")


class TruthModel:
    """The distribution of the world, with a spread of one's choice: right if it is its own."""

    def __init__(self, spread=0.5, shift=0.0, name="truth"):
        self.spread, self.shift, self.name, self.model = spread, shift, name, self

    def fit(self, ds, progress=False, callback=None):
        return self

    def at(self, ds, area_effect=False):
        return Rate(ds, ds["covariates"].values[:, 0] + self.shift, self.spread)

    def _expected(self, ds, unit, samples, seed):
        fine = self.at(ds).sample(samples, seed).values * ds["weight"].values
        if unit == "individual":
            return fine
        starts = np.flatnonzero(np.diff(ds["membership"].values, prepend=-1))
        return np.add.reduceat(fine, starts, axis=1)

    def simulate(self, ds, unit="bag", samples=1000, seed=0):
        counts = np.random.default_rng(seed + 1).poisson(self._expected(ds, unit, samples, seed))
        return xr.DataArray(counts, dims=("sample", unit), coords={unit: ds[unit]})

    def log_density(self, ds, unit="bag", samples=1000, seed=0):
        y = ds["value" if unit == "bag" else "individual_value"].values
        rate = self._expected(ds, unit, samples, seed)
        return xlogy(y, rate) - rate - gammaln(y + 1)


class FlatModel(TruthModel):
    """One rate everywhere, from the totals: total count over total weight, Gamma distribution."""

    def __init__(self):
        super().__init__(name="flat")

    def fit(self, ds, progress=False, callback=None):
        fitted = FlatModel()
        fitted.count, fitted.exposure = float(ds["value"].sum()), float(ds["weight"].sum())
        return fitted

    def at(self, ds, area_effect=False):
        flat = Rate(ds, np.zeros(ds.sizes["individual"]), 1.0)
        flat.known = stats.gamma(
            np.full(ds.sizes["individual"], self.count + 0.5), scale=1 / self.exposure
        )
        return flat


class FragileModel(TruthModel):
    """Right distribution, but it refuses training data that contain one named bag."""

    def __init__(self, bag, name="fragile"):
        super().__init__(name=name)
        self.bag = bag

    def fit(self, ds, progress=False, callback=None):
        if self.bag in ds["bag"].values:
            raise FloatingPointError(f"cannot digest {self.bag}")
        return self
