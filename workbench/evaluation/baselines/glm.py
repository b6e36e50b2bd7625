"""Log-linear regression on totals: by the likelihood of the totals, or on the areas' means."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.special import kl_div
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import KFold

from workbench.checks import require
from workbench.evaluation.baselines.aggregated import Totals, solve
from workbench.evaluation.baselines.fit import BaselineFit
from workbench.evaluation.baselines.method import Baseline
from workbench.schema import BAG, COVARIATE

RIDGES = np.logspace(1.5, -5, 14)       # strongest first, so that each start is near its optimum
FOLDS, ALL_LEFT_OUT, FEWEST = 10, 30, 6


class TotalsGLM(Baseline):
    r"""Poisson regression whose data are totals: :math:`Y_b \sim` sum of :math:`w_i e^{x_i'\beta}`.

    The expected total is the sum of the individuals' expectations (the aggregated likelihood), not
    the expectation at the area's mean covariates: the two differ where covariates vary within
    areas. It is a quasi-likelihood: the dispersion does not change the coefficients.

    Parameters
    ----------
    ridge : float, optional
        Penalty on half the squared slopes of standardised covariates, per count (the objective is
        divided by the sum of all counts). If not given: the strongest of 14 from 10^1.5 to 10^-5
        whose Poisson deviance of held-out totals is within one standard error (of the paired
        difference) of the least, in a cross-validation over areas (ten folds; each area on its own
        with 30 areas or fewer, where random folds would decide much). With fewer than 6 areas
        nothing can be validated: the strongest of all.
    mean_covariates : bool
        Regress rates on the areas' mean covariates instead, by scikit-learn. Its ridge, not
        cross-validated, is 0 where there are more than five areas a covariate, else 1e-3; it
        depends on the unit of the weights, as `PoissonRegressor` penalises per weight.
    dispersion : {"between", "individual", "area"}
        What the residuals of totals say of individuals, see
        `workbench.evaluation.baselines.dispersion.log_sds`.
    log_sd : float, optional
        Standard deviation of individuals' log rates, instead of an estimate.
    seed : int
        Seed of the folds.
    """

    def __init__(self, ridge: float | None = None, mean_covariates: bool = False,
                 dispersion: str = "between", log_sd: float | None = None,
                 seed: int = 0) -> None:
        super().__init__(dispersion, log_sd)
        require(ridge is None or ridge >= 0, f"ridge must be zero or more, got {ridge}")
        self.ridge, self.mean_covariates, self.seed = ridge, mean_covariates, seed

    def _fit(self, ds: xr.Dataset) -> GLMFit:
        x, weight = ds["covariates"].values.astype(float), ds["weight"].values.astype(float)
        counted = np.ones_like(weight) if self.mean_covariates else weight
        centre = np.average(x, axis=0, weights=counted)
        scale = np.sqrt(np.average((x - centre) ** 2, axis=0, weights=counted))
        scale[scale < 1e-12 * np.maximum(np.abs(centre), 1e-300)] = 1.0      # constant covariates
        totals = Totals((x - centre) / scale, weight, ds["membership"].values, ds["value"].values)
        ridge = self.ridge
        if self.mean_covariates:
            few = ds.sizes[BAG] <= 5 * x.shape[1]
            ridge = (1e-3 if few else 0.0) if ridge is None else ridge
            beta, parameters = _on_means(totals, ridge), 1.0 + x.shape[1]
        else:
            ridge = self._validated(totals) if ridge is None else ridge
            beta, parameters = solve(totals, ridge)
        sds = self._log_sds(ds, totals.expected(beta), parameters)
        name = "GLM on area means" if self.mean_covariates else "GLM on totals"
        slopes = beta[1:] / scale
        return GLMFit(name, beta[0] - slopes @ centre, slopes, ds, sds,
                      {"ridge": f"{ridge:.3g}", "effective parameters": f"{parameters:.3g}",
                       "dispersion": self.dispersion})

    def _validated(self, totals: Totals) -> float:
        areas = totals.value.size
        if areas < FEWEST:
            return float(RIDGES[0])
        folds = KFold(FOLDS if areas > ALL_LEFT_OUT else areas, shuffle=True,
                      random_state=self.seed)
        loss = np.zeros((len(RIDGES), areas))
        for learnt, held in folds.split(np.arange(areas)):
            train, test = totals.part(learnt), totals.part(held)
            if train.value.sum() == 0:
                continue
            beta = None
            for k, ridge in enumerate(RIDGES):
                beta, _ = solve(train, ridge, beta)
                with np.errstate(over="ignore"):
                    predicted = test.totals(beta)
                loss[k, held] = kl_div(test.value, predicted)
        best = np.argmin(loss.sum(1))
        error = (loss - loss[best]).std(1) * np.sqrt(areas)     # of the difference to the best
        return float(RIDGES[np.flatnonzero(loss.sum(1) <= loss[best].sum() + error)[0]])


class GLMFit(BaselineFit):
    """A fitted log-linear regression, with ``intercept`` and ``coefficients``.

    Parameters
    ----------
    method : str
        Name for tables.
    intercept : float
        Log rate where all covariates are zero.
    slopes : array (covariate,)
        Change of the log rate a unit of each covariate.
    ds : xr.Dataset
        The dataset fitted to, for the names of its covariates.
    sds : (float, float)
        Log standard deviations of individuals and of areas.
    notes : dict
        For the summary.
    """

    def __init__(self, method: str, intercept: float, slopes: np.ndarray, ds: xr.Dataset,
                 sds: tuple[float, float], notes: dict[str, object]) -> None:
        self.intercept = float(intercept)
        self.coefficients = xr.DataArray(
            slopes, dims=COVARIATE, coords={COVARIATE: ds[COVARIATE].values},
            attrs={"long_name": "change of the log rate a unit of the covariate"})
        super().__init__(method, self._predict, *sds, notes)

    def _predict(self, ds: xr.Dataset) -> np.ndarray:
        require(ds[COVARIATE].values.tolist() == self.coefficients[COVARIATE].values.tolist(),
                f"fitted on covariates {self.coefficients[COVARIATE].values.tolist()}, asked to "
                f"predict with {ds[COVARIATE].values.tolist()}; give the same in the same order")
        return np.exp(self.intercept + ds["covariates"].values @ self.coefficients.values)


def _on_means(totals: Totals, ridge: float) -> np.ndarray:
    """Coefficients (1 + covariate,) of rates on the areas' mean covariates."""
    exposure = np.bincount(totals.membership, totals.weight)
    means = np.stack([np.bincount(totals.membership, totals.weight * c) for c in totals.x.T], 1)
    model = PoissonRegressor(alpha=ridge, max_iter=10_000, tol=1e-10)
    model.fit(means / exposure[:, None], totals.value / exposure, sample_weight=exposure)
    return np.concatenate([[model.intercept_], model.coef_])
