"""Standardised inputs: the user passes natural units, the kernels see unit scales."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from workbench.checks import choose, reject
from workbench.gp.data.bags import Bags, Columns
from workbench.gp.data.recurring import numbers
from workbench.gp.numerics.shapes import Inputs

TRANSFORMS = ("standardise", "yeo-johnson")
EXTRAPOLATIONS = ("linear", "clamp")


@dataclass(frozen=True)
class InputTransform:
    """Training statistics of the inputs and the map from natural to standardised units.

    Covariates are centred and divided by their own standard deviation (after a Yeo-Johnson power
    transform if asked); coordinates are centred and divided by one common scale, so that distances
    on the map keep their shape.

    Parameters
    ----------
    shift, scale : Tensor (D,)
        ``standardised = (transformed - shift) / scale``.
    columns : Columns
        What the columns are.
    lower, upper : Tensor (D,)
        Range of the areas' weighted mean inputs: outside it a prediction extrapolates.
    powers : array (D,), optional
        Yeo-Johnson exponents; NaN for columns that are not transformed.
    extrapolation : {"linear", "clamp"}
        Whether covariates outside [lower, upper] are used as they are or moved to its edge.
    areas : bool
        Whether `of` adds the numbers of recurring areas as one more column.
    """

    shift: Tensor
    scale: Tensor
    columns: Columns
    lower: Tensor
    upper: Tensor
    powers: np.ndarray = field(repr=False)
    extrapolation: str = "linear"
    areas: bool = False

    def of(self, bags: Bags) -> Inputs:
        """The individuals' standardised inputs, and the number of the area of each if asked for."""
        x = self(bags.x)
        return torch.cat([x, numbers(bags).to(x)[:, None]], 1) if self.areas else x

    def __call__(self, x: Inputs) -> Inputs:
        """Natural units to standardised units (N, D).

        Raises
        ------
        InputError
            If the number of columns differs from training.
        """
        if x.shape[-1] != len(self.columns.names):
            raise reject(
                f"{len(self.columns.names)} input columns ({', '.join(self.columns.names)})",
                f"{x.shape[-1]}", "pass the columns the model was trained on",
            )
        if self.extrapolation == "clamp":
            covariates = list(self.columns.covariates)
            x = x.clone()
            x[..., covariates] = x[..., covariates].clamp(
                self.lower[covariates], self.upper[covariates]
            )
        return (_power(x, self.powers) - self.shift) / self.scale

    def outside(self, x: Inputs) -> Inputs:
        """How far each covariate lies beyond the range of area means, in between-area ranges.

        Zero inside the range; one means a whole range beyond its edge; infinite beyond a range of
        no width, as with a single area. Coordinates give zero.
        """
        # Area means carry rounding errors: a constant covariate must not seem to extrapolate.
        slack = 1e3 * torch.finfo(x.dtype).eps * torch.maximum(self.lower.abs(), self.upper.abs())
        beyond = torch.maximum(self.lower - slack - x, x - slack - self.upper).clamp_min(0)
        width = self.upper - self.lower
        width = torch.where(width > slack, width, torch.zeros_like(width))
        beyond = torch.where(beyond > 0, beyond / width, beyond)
        covariates = torch.zeros_like(self.lower, dtype=torch.bool)
        covariates[list(self.columns.covariates)] = True
        return beyond.where(covariates, 0)


def fit_inputs(
    bags: Bags, transform: str = "standardise", extrapolation: str = "linear"
) -> InputTransform:
    """Take the training statistics of ``bags.x``.

    Parameters
    ----------
    bags : Bags
        Training bags.
    transform : {"standardise", "yeo-johnson"}
        What is done to covariates; yeo-johnson makes skewed covariates near-symmetric first
        (exponents by maximum likelihood, scikit-learn's PowerTransformer).
    extrapolation : {"linear", "clamp"}
        See `InputTransform`.
    """
    choose("transform", transform, TRANSFORMS)
    choose("extrapolation", extrapolation, EXTRAPOLATIONS)
    columns, x = bags.columns, bags.x
    powers = np.full(x.shape[1], np.nan)
    if transform == "yeo-johnson" and columns.covariates:
        from sklearn.preprocessing import PowerTransformer

        chosen = [c for c in columns.covariates if len(x[:, c].unique()) > 1]
        if chosen:
            fitted = PowerTransformer(standardize=False).fit(x[:, chosen].cpu().numpy())
            powers[chosen] = fitted.lambdas_
    transformed = _power(x, powers)
    shift = transformed.mean(0)
    scale = transformed.std(0, unbiased=False)
    if columns.coordinates:
        where = list(columns.coordinates)
        scale[where] = scale[where].square().mean().sqrt()
    scale = torch.where(scale > 1e-12 * (1 + shift.abs()), scale, torch.ones_like(scale))
    means = bags.centres().x
    return InputTransform(
        shift, scale, columns, means.amin(0), means.amax(0), powers, extrapolation
    )


def _power(x: Tensor, powers: np.ndarray) -> Tensor:
    """Yeo-Johnson transform of the columns that have an exponent (Yeo and Johnson 2000)."""
    if np.isnan(powers).all():
        return x
    from scipy.stats import yeojohnson

    out = x.detach().cpu().numpy().copy()
    for column in np.flatnonzero(~np.isnan(powers)):
        out[..., column] = yeojohnson(out[..., column], lmbda=powers[column])
    return torch.as_tensor(out).to(x)
