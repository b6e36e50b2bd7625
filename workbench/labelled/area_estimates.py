"""Estimates of areas whose means have standard errors: between their own value and the map.

The model of Fay and Herriot with a map in the place of their regression: y_a = θ_a + e_a with the
known variance V_a, and θ_a = η_a + u_a, where η_a is what the map says of the area and u_a ~
N(0, τ_a²). Given the map, θ_a ~ N(γ_a y_a + (1 - γ_a) η_a, γ_a V_a) with γ_a = τ_a²/(τ_a² + V_a);
over the posterior of the map the variance is that and (1 - γ_a)² var η_a.

References
----------
Fay and Herriot 1979, doi:10.1080/01621459.1979.10482505; Rao and Molina 2015, Small area
estimation, section 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
import xarray as xr

from workbench.checks import require
from workbench.gp.data.bags import Bags
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.models.vbagg.persistent import with_kept_noise
from workbench.labelled.predictive import coords_of

if TYPE_CHECKING:
    from workbench.labelled.fit import Fit
    from workbench.labelled.source import Converted

_NAMES = ("synthetic", "synthetic_std", "estimate", "estimate_std", "shrinkage")
_SAYS = {
    "direct": "value of the area", "direct_std": "standard error of the value",
    "synthetic": "what the map says of the area", "synthetic_std": "its standard deviation",
    "estimate": "estimate of the area", "estimate_std": "its standard deviation",
    "shrinkage": "share of the value in the estimate"}


def area_estimates(parts: Mapping[Fit, float], data: Converted, units: str) -> xr.Dataset:
    """The estimates of areas by a model, or by a mixture of models.

    Parameters
    ----------
    parts : mapping of Fit to float
        Models and their weights, which sum to one.
    data : Converted
        Areas; those of the training data are given their value.
    units : str
        Of values.

    Returns
    -------
    xr.Dataset (bag)
        See `Fit.area_estimates`.

    Raises
    ------
    InputError
        If a model knows no standard errors.
    """
    found = [(weight, _estimates(fit, data)) for fit, weight in parts.items() if weight > 0]
    mean = {name: sum(weight * one[name] for weight, one in found) for name in _NAMES}
    for name in ("synthetic", "estimate"):
        square = sum(weight * (one[f"{name}_std"]**2 + (one[name] - mean[name])**2)
                     for weight, one in found)
        mean[f"{name}_std"] = np.sqrt(square)
    known = {"direct": data.ds["value"].values.astype(float), "direct_std": found[0][1]["error"]}
    every = known | mean
    return xr.Dataset({
        name: ("bag", every[name], {"long_name": says,
                                    "units": "1" if name == "shrinkage" else units})
        for name, says in _SAYS.items()}, coords=coords_of(data.ds, "bag"))


def _estimates(fit: Fit, data: Converted) -> dict[str, np.ndarray]:
    """Those of one model."""
    state, bags = fit.inner.state, fit._bags(data)
    noise, trained = getattr(state, "noise", None), fit._trained(data)
    require(noise is not None and noise.knows,
            "estimates of areas need the standard errors of their values: a dataset with a positive"
            " noise_variance (standard_error of wb.bag_polygons), and noise='auto' or "
            "'fay-herriot'")
    error = noise.stated_variance(bags)
    white, synthetic = _white(state, bags), fit.inner.over(bags, trained, False)
    if fit.inner.keeps_effects:      # what areas keep is of the map
        white = _white(state, with_kept_noise(state, bags))
        synthetic = fit.inner.over(bags, torch.full_like(trained, -1), True)
    around = synthetic.variance - white             # what was learnt of the map
    between = noise.learnt(bags) + white
    seen = torch.zeros_like(error, dtype=torch.bool) if trained is None else trained >= 0
    share = torch.where(seen, between / (between + error), torch.zeros_like(error))
    value = torch.as_tensor(data.ds["value"].values.copy()).to(error)
    value = torch.where(seen, value, synthetic.mean)
    within = torch.where(seen, share * error, between)
    found = {
        "synthetic": synthetic.mean, "synthetic_std": (around + between).sqrt(),
        "estimate": share * value + (1 - share) * synthetic.mean,
        "estimate_std": ((1 - share).square() * around + within).sqrt(),
        "shrinkage": share, "error": error.sqrt()}
    return {name: one.detach().cpu().numpy().astype(float) for name, one in found.items()}


def _white(state, bags: Bags) -> torch.Tensor:
    """Variance of the individuals' nuggets in each area's value (B,): an area's own, as u_a is."""
    nugget = getattr(state, "nugget_variance", None)
    if nugget is None or not state.link.linear:
        return torch.zeros(bags.count).to(bags.weight)
    return nugget.detach() * OPERATORS[state.source.aggregation](bags).white_variance()
