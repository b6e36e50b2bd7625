"""Fits that know conditional means, and targets given to bags by a regression on mediators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
import xarray as xr

from workbench import schema
from workbench.checks import require
from workbench.gp.data.bags import Bags, Source, Targets
from workbench.gp.models.registry import MODELS
from workbench.labelled.fit import Fit
from workbench.labelled.predictive import LabelledPredictive
from workbench.labelled.source import Converted, to_source


class MediatedFit(Fit):
    """A fitted conditional mean process; see `Fit`, and `conditional_mean`.

    Parameters
    ----------
    inner, model, data, targets
        As of `Fit`.
    """

    def __init__(self, inner, model, data: Converted, targets: xr.Dataset | None = None):
        super().__init__(inner, model, data, targets)
        self._matched = targets is None

    def __repr__(self) -> str:
        return super().__repr__() if self._matched else (
            super().__repr__().replace(" bags>", " targets>"))

    def log_density(self, ds: xr.Dataset, unit: str = "bag", samples: int = 1000, seed: int = 0
                    ) -> xr.DataArray:
        """As of `Fit`; what is scored must be what was learnt, means or sums.

        Parameters
        ----------
        ds, unit, samples, seed
            As of `Fit.log_density`.

        Returns
        -------
        xr.DataArray
            (sample, unit), in nats.

        Raises
        ------
        InputError
            If it is not.
        """
        require(unit != "bag" or "value" not in ds or schema.aggregation(ds) == self._aggregation,
                f"the fit learnt a {self._aggregation}, the dataset's values are a "
                f"{schema.aggregation(ds) if 'value' in ds else ''}; make means of them first")
        return super().log_density(ds, unit, samples, seed)

    def conditional_mean(self, mediators: pd.DataFrame | xr.Dataset) -> LabelledPredictive:
        """Distribution of g(y) = E[f(X) | Y = y], the mean of the field over a bag given y.

        Parameters
        ----------
        mediators : DataFrame or xr.Dataset
            The places y, as of `workbench.labelled.ConditionalMeanFit.weights`.

        Returns
        -------
        LabelledPredictive
            Along ``target``, or along the dimension of the Dataset.

        References
        ----------
        Chau et al. 2021, definition 3.1.
        """
        values, dim, names = mediator_table(
            mediators, self.inner.state.mediators.transform.columns.names)
        predictive = self.inner.conditional_mean(values)
        return LabelledPredictive(predictive, {dim: names}, dim, self.rate_units,
                                  "conditional mean")


def mediator_table(mediators: pd.DataFrame | xr.Dataset, columns: tuple[str, ...]
                   ) -> tuple[torch.Tensor, str, np.ndarray]:
    """Mediators by column (n, E), the dimension they lie along, and its labels.

    Raises
    ------
    InputError
        If some are missing or not finite.
    """
    if isinstance(mediators, xr.Dataset):
        require("mediators" in mediators, "the dataset has no mediators")
        array = mediators["mediators"]
        dim = next(str(d) for d in array.dims if d != schema.MEDIATOR)
        table = pd.DataFrame(array.transpose(dim, schema.MEDIATOR).values,
                             columns=[str(m) for m in array[schema.MEDIATOR].values],
                             index=array[dim].values)
    else:
        dim, table = schema.TARGET, mediators
    missing = [name for name in columns if name not in table]
    require(not missing, f"the mediators lack {missing}; the model knows {list(columns)}")
    values = table[list(columns)].to_numpy(dtype=float, copy=True)
    bad = int((~np.isfinite(values).all(1)).sum())
    require(bad == 0, f"{bad} rows of mediators are not finite; fill them or leave them out")
    return torch.as_tensor(values), dim, table.index.to_numpy()


def impute(ds: xr.Dataset, targets: xr.Dataset, kernel: object = "rbf", **options) -> xr.Dataset:
    """Give bags the values that a GP regression of the targets on the mediators predicts.

    What models for matched data need; the regression's uncertainty is lost on the way, which a
    conditional mean process (`workbench.CMP`) avoids.

    Parameters
    ----------
    ds, targets : xr.Dataset
        Bags and targets with the same mediators.
    kernel : str
        Kernel on the mediators.
    **options
        Further options of the regression, those of `workbench.CentroidGP`.

    Returns
    -------
    xr.Dataset
        The bags with ``value``, and ``value_std``, the regression's standard deviation. Variances
        of values that the bags had are dropped with their values.

    References
    ----------
    Chau et al. 2021, section 5.1.2.
    """
    source = to_source(ds, targets)
    bags, columns = source.bags, source.bags.mediator_columns
    given = Source(_points(source.targets.mediators, columns),
                   Targets(source.targets.value, source.targets.noise_variance), "mean",
                   "continuous")
    regression = MODELS["gpr"](kernel=kernel, **options).fit(given)
    predictive = regression.latent(_points(bags.mediators, columns))
    attrs = {"units": targets["value"].attrs.get("units", ""),
             "long_name": "standard deviation of the imputed value"}
    out = ds.drop_vars(["noise_variance", "sample_variance", "trials"], errors="ignore").assign(
        value=(schema.BAG, predictive.mean.numpy(force=True), dict(targets["value"].attrs)),
        value_std=(schema.BAG, predictive.std.numpy(force=True), attrs))
    out["value"].attrs |= {"aggregation": "mean", "kind": "continuous"}
    out.attrs["imputed"] = f"values by {regression.model!r} on {', '.join(columns.names)}"
    return out


def _points(values: torch.Tensor, columns) -> Bags:
    count = len(values)
    return Bags(values, torch.arange(count), torch.ones(count).to(values), count, columns)
