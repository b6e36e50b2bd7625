"""What fitted baselines share: they take totals of counts, and estimate a dispersion."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import xarray as xr

from workbench.evaluation.baselines.dispersion import log_sds
from workbench.evaluation.baselines.fit import BaselineFit
from workbench.evaluation.baselines.given_totals import check_counts


class Baseline(ABC):
    """A method to be fitted to totals of counts.

    Parameters
    ----------
    dispersion : {"between", "individual", "area"}
        What the residuals of totals say of individuals, see
        `workbench.evaluation.baselines.dispersion.log_sds`.
    log_sd : float, optional
        Standard deviation of individuals' log rates, instead of an estimate.
    """

    def __init__(self, dispersion: str, log_sd: float | None) -> None:
        self.dispersion, self.log_sd = dispersion, log_sd

    def fit(self, ds: xr.Dataset) -> BaselineFit:
        """Estimate rates and dispersion from the totals.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset; fine values are not used.

        Returns
        -------
        BaselineFit
            Predicts any dataset with the same covariates.

        Raises
        ------
        InputError
            If the values are not totals of counts, or the method cannot use the dataset.
        """
        return self._fit(check_counts(ds))

    @abstractmethod
    def _fit(self, ds: xr.Dataset) -> BaselineFit:
        """Fit to a dataset that was checked."""

    def _log_sds(self, ds: xr.Dataset, expected: np.ndarray, parameters: float
                 ) -> tuple[float, float]:
        """Log standard deviations of individuals and areas about expected counts (individual,)."""
        return log_sds(ds["value"].values, expected, ds["membership"].values, parameters,
                       self.dispersion, self.log_sd)
