"""Split by weight: the same rate everywhere, rescaled to each area's total where that is known."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.evaluation.baselines.fit import BaselineFit
from workbench.evaluation.baselines.method import Baseline
from workbench.schema import INDIVIDUAL


class PopulationSplit(Baseline):
    """Each area's total, split in proportion to weight: the map to beat.

    Where totals are unknown it is the overall rate. `OwnBag` has the same point map, but says that
    individuals of an area do not differ; this one has intervals.

    Parameters
    ----------
    dispersion : {"area", "individual"}
        How the variation between areas' rates tells that of individuals, see
        `workbench.evaluation.baselines.dispersion.log_sds`. With ``"area"``, individuals of an area
        are taken to vary about its rate as much as areas vary about the overall rate.
    log_sd : float, optional
        Standard deviation of individuals' log rates, instead of an estimate.
    """

    def __init__(self, dispersion: str = "area", log_sd: float | None = None) -> None:
        super().__init__(dispersion, log_sd)

    def _fit(self, ds: xr.Dataset) -> BaselineFit:
        weight = ds["weight"].values
        rate = float(ds["value"].values.sum() / weight.sum())
        sds = self._log_sds(ds, rate * weight, 1.0)
        return BaselineFit(
            "population split", lambda new: np.full(new.sizes[INDIVIDUAL], rate), *sds,
            {"overall rate": f"{rate:.4g}", "dispersion": self.dispersion})
