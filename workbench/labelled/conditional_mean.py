"""The conditional mean operator for users: what bags say of E[f(X) | Y = y] for any function f."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch
import xarray as xr

from workbench import schema
from workbench.checks import choose, reject, require
from workbench.gp.fields.mediated import MEANS
from workbench.gp.models.conditional_mean.mean_operator import EstimatedConditionalMean
from workbench.labelled.mediated import mediator_table
from workbench.labelled.predictive import coords_of, labelled
from workbench.labelled.source import to_bags


class ConditionalMean:
    """Conditional mean operator of individuals X given the covariates Y of their bag.

    A kernel ridge regression of individuals on the mediators of their bags, by one solve with as
    many equations as bags. No targets and no Gaussian process are needed: `wb.CMP` builds on it.
    (`workbench.papers.chau2021.theory.ConditionalMean` is the same over plain Gram matrices,
    by which theory and costs are tested.)

    Parameters
    ----------
    kernel : str or gpytorch.kernels.Kernel
        ℓ, on mediators; of a single term the variance is one, and the ridge relative to it.
    ridge : float, optional
        λ. By default it is learnt, with whatever of ℓ is not given, by how well the embedding of
        each bag is predicted from the mediators of the others.
    shrinkage : bool
        The estimator on bags' mean embeddings, ridge B λ for all; otherwise on all individuals,
        N λ / n_j, by which small bags weigh less.
    mean : {"known", "estimated"}
        Conditional mean of the overall mean of a function: known to be itself, or shrunk towards
        zero by the ridge with all else, which is the paper's operator.
    embedding : str or gpytorch.kernels.Kernel
        k, on individuals, in whose norm the error of left-out bags is measured, to learn by.
    hyperparameters : Mapping, optional
        By name in natural units: of ℓ ``mediator.rbf.lengthscale`` and so on, of k
        ``rbf.lengthscale`` (median distances where not given). Those of ℓ that are given are not
        learnt. Names are those of `wb.CMP`.
    seed : int
        Of starting values.

    References
    ----------
    Chau et al. 2021, eq. (1) and (9); section 4, stage 1.
    """

    def __init__(self, kernel: object = "rbf", ridge: float | None = None, *,
                 shrinkage: bool = False, mean: str = "known", embedding: object = "rbf",
                 hyperparameters: Mapping | None = None, seed: int = 0):
        self.mean = choose("mean", mean, MEANS)
        self.kernel, self.embedding, self.shrinkage = kernel, embedding, bool(shrinkage)
        self.given, self.seed = dict(hyperparameters or {}), seed
        if ridge is not None:
            require("ridge" not in self.given, "the ridge is given twice; give it once")
            self.given["ridge"] = ridge

    def fit(self, ds: xr.Dataset) -> ConditionalMeanFit:
        """Estimate the operator from bags.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset with ``mediators``; values of bags are ignored.

        Returns
        -------
        ConditionalMeanFit
            The estimated operator.

        Raises
        ------
        InputError
            Without mediators, on an unknown hyperparameter, or with too few bags to learn from.
        """
        bags = to_bags(schema.check(ds, valued=False))
        form = "shrinkage" if self.shrinkage else "per-point"
        return ConditionalMeanFit(
            EstimatedConditionalMean(bags, self.kernel, self.embedding, form,
                                     self.mean == "estimated", self.given, self.seed), ds)


class ConditionalMeanFit:
    """An estimated conditional mean operator; ``notes`` say what a user should know of it.

    Parameters
    ----------
    inner : EstimatedConditionalMean
        The operator in torch.
    ds : xr.Dataset
        Bags that it was estimated from.
    """

    def __init__(self, inner: EstimatedConditionalMean, ds: xr.Dataset):
        self.inner, self.notes = inner, inner.notes
        self._coords = {unit: coords_of(ds, unit) for unit in (schema.BAG, "individual")}

    @property
    def hyperparameters(self) -> dict[str, dict]:
        """``{name: {"value": ..., "unit": ...}}`` in natural units."""
        return {item.name: item.report() for item in self.inner.hyperparameters}

    @property
    def left_out(self) -> float | None:
        """Squared error of a left-out bag's embedding, of its square; None if nothing was learnt.

        One says that the other bags tell nothing of it.
        """
        return self.inner.left_out

    def weights(self, mediators: pd.DataFrame | xr.Dataset) -> xr.DataArray:
        """Weight of each bag's mean in the conditional mean at each y (bag, target).

        Parameters
        ----------
        mediators : DataFrame or xr.Dataset
            One row for each y with the mediators as columns; or bags or targets that have them.

        Returns
        -------
        xr.DataArray
            (bag, target), without unit.
        """
        values, dim, names = self._read(mediators)
        # A bag may meet itself: as a place to ask about it has another dimension.
        dim = f"{dim}_asked" if dim == schema.BAG else dim
        return labelled(self.inner.weights(values), (schema.BAG, dim),
                        {**self._coords[schema.BAG], dim: names},
                        {"units": "1", "long_name": "weight of a bag's mean"})

    def apply(self, values: xr.DataArray | np.ndarray, mediators: pd.DataFrame | xr.Dataset
              ) -> xr.DataArray:
        """E[f(X) | Y = y] for functions of which the values at the individuals are known.

        Parameters
        ----------
        values : xr.DataArray or np.ndarray (individual, ...)
            f at the individuals of the bags; further dimensions are further functions.
        mediators : DataFrame or xr.Dataset
            See `weights`.

        Returns
        -------
        xr.DataArray (target, ...)
            In the units of the values.

        Raises
        ------
        InputError
            On values that are not one finite number per individual.
        """
        if not isinstance(values, xr.DataArray):
            table = np.atleast_1d(np.asarray(values, dtype=float))
            values = xr.DataArray(table, dims=("individual", *(
                f"function_{i}" for i in range(1, table.ndim))))
        count = len(self.inner.operator.bags.x)
        if "individual" not in values.dims or values.sizes["individual"] != count:
            raise reject(f"values of {count} individuals", f"sizes {dict(values.sizes)}",
                         "give those of the bags that the operator was estimated from")
        ordered = values.transpose("individual", ...)
        flat = ordered.values.astype(float).reshape(count, -1)
        require(bool(np.isfinite(flat).all()), f"{int((~np.isfinite(flat)).sum())} values are not "
                "finite; fill them, or leave their individuals out of the bags")
        at, dim, names = self._read(mediators)
        found = self.inner.apply(torch.as_tensor(flat), at)
        others = [str(d) for d in ordered.dims[1:]]
        kept = {d: ordered[d].values for d in others if d in ordered.coords}
        return labelled(found.reshape(len(at), *ordered.shape[1:]), (dim, *others),
                        {dim: names, **kept}, {"units": values.attrs.get("units", ""),
                                               "long_name": "conditional mean"})

    def _read(self, mediators) -> tuple[torch.Tensor, str, np.ndarray]:
        return mediator_table(mediators, self.inner.mediators.transform.columns.names)
