"""Class dasymetric mapping: one rate for each class of covariates, then rescaled to the totals."""

from __future__ import annotations

import numpy as np
import xarray as xr
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from workbench.checks import require, whole
from workbench.evaluation.baselines.fit import BaselineFit
from workbench.evaluation.baselines.method import Baseline
from workbench.schema import BAG, COVARIATE, INDIVIDUAL

ITERATIONS, TOLERANCE = 20_000, 1e-9


class DasymetricClasses(Baseline):
    r"""Class dasymetric map: classes of covariates, a rate for each, totals kept.

    Individuals are put into classes by k-means on standardised covariates. The classes' rates are
    those of a Poisson regression of the totals on the classes' weights, with the identity link and
    no negative rate, by expectation-maximisation. A Gamma prior centred at the overall rate, worth
    ``prior`` average areas of exposure, keeps a class that the totals say nothing of at that rate,
    and no rate at zero.

    Parameters
    ----------
    classes : int
        Number of classes; at most a third of the areas and the number of individuals are used.
    prior : float
        Strength of the prior, in exposures of an average area a class.
    dispersion, log_sd
        As in `TotalsGLM`.
    seed : int
        Seed of k-means.

    References
    ----------
    Mennis and Hultgren 2006, Intelligent dasymetric mapping; Flowerdew and Green 1994 (the EM
    algorithm for areal interpolation).
    """

    def __init__(self, classes: int = 6, prior: float = 0.05, dispersion: str = "between",
                 log_sd: float | None = None, seed: int = 0) -> None:
        super().__init__(dispersion, log_sd)
        require(prior > 0, f"prior must be positive, got {prior}: without one a rate may be zero")
        self.classes, self.prior, self.seed = whole("classes", classes, least=1), prior, seed

    def _fit(self, ds: xr.Dataset) -> BaselineFit:
        require(ds.sizes[COVARIATE] > 0, "dasymetric classes are classes of covariates; this "
                "dataset has none: give it some, or use PopulationSplit")
        x, weight = ds["covariates"].values.astype(float), ds["weight"].values.astype(float)
        membership, value, bags = ds["membership"].values, ds["value"].values, ds.sizes[BAG]
        used = max(1, min(self.classes, bags // 3, ds.sizes[INDIVIDUAL], len(np.unique(x, axis=0))))
        scaler = StandardScaler().fit(x)
        groups = KMeans(used, n_init=10, random_state=self.seed).fit(scaler.transform(x))
        exposure = np.zeros((bags, used))
        np.add.at(exposure, (membership, groups.labels_), weight)
        rates = _rates(exposure, value, self.prior * weight.sum() / bags)

        def rate(new: xr.Dataset) -> np.ndarray:
            return rates[groups.predict(scaler.transform(new["covariates"].values.astype(float)))]

        sds = self._log_sds(ds, rates[groups.labels_] * weight, float(used))
        return BaselineFit("dasymetric classes", rate, *sds, {
            "classes": used, "their rates": ", ".join(f"{r:.3g}" for r in rates),
            "dispersion": self.dispersion})


def _rates(exposure: np.ndarray, value: np.ndarray, prior: float) -> np.ndarray:
    """Rates (class,) of the highest posterior density given exposures (bag, class) and totals.

    A Gamma prior with mode at the overall rate keeps every class above zero.
    """
    overall = value.sum() / exposure.sum()
    rates = np.full(exposure.shape[1], overall)
    total = exposure.sum(0)
    for _ in range(ITERATIONS):
        counts = rates * (exposure.T @ (value / (exposure @ rates)))
        new = (counts + prior * overall) / (total + prior)
        if np.abs(new / rates - 1).max() < TOLERANCE:
            return new
        rates = new
    return rates
