"""The lengthscale of the map beside the width of the areas: what the slider starts at and says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely
import xarray as xr

from workbench.granularity.correlations import CORRELATIONS
from workbench.ui.base.messages import plainly
from workbench.ui.disaggregate.catalogue import LEARNT, map_term
from workbench.ui.disaggregate.state import State

if TYPE_CHECKING:
    from workbench.ui.disaggregate.engine import Answer

SWITCH = "Fix the lengthscale"
CURVE = "Correlation over distance"
BY_AUTO, NONE = "chosen by Auto", "none"       # in the place of a number where there is none
WAITING = "There is a lengthscale once there is a map."
FITTED, FIXED, START = "fitted", "fixed in the fit", "start"


@dataclass(frozen=True)
class Scale:
    """A lengthscale, and what it is compared with.

    Parameters
    ----------
    value : float
        Of the setting, in ``unit``.
    reference : float
        That of the fit or, where nothing is fitted, that which learning starts at.
    mark : str
        What the reference is.
    fixed : bool
        Whether the setting fixes it.
    kernel : str
        Name of the correlation function.
    width : float
        Of a typical area, in ``unit``; NaN where areas have no extent.
    unit : str
    """

    value: float
    reference: float
    mark: str
    fixed: bool
    kernel: str
    width: float
    unit: str

    @property
    def ratio(self) -> float:
        """ρ: lengthscale over the width of a typical area."""
        return self.value / self.width

    @property
    def reach(self) -> float:
        """Distance up to which the correlation is drawn; the setting does not move it."""
        return 4 * max(self.reference, np.nan_to_num(self.width))

    def correlation(self, distance: np.ndarray, lengthscale: float) -> np.ndarray:
        """Correlation of the map term between two places so far apart."""
        return CORRELATIONS[self.kernel](distance / lengthscale)

    @property
    def told(self) -> str:
        """Lengthscale, where it comes from, and ρ, in words."""
        here, there = (
            f"{plainly(length)} {self.unit}" for length in (self.value, self.reference))
        if not self.fixed:
            said = {FITTED: f"Fitted: {here}.", START: f"Not learnt yet: starts at {here}.",
                    FIXED: f"{here}, as fixed in the fit; press Fit to learn it."}[self.mark]
        elif here == there:
            said = f"Fixed at {here}{', as fitted' if self.mark == FITTED else ''}."
        else:
            said = f"Fixed at {here}{'' if self.mark == START else f'; the fit has {there}'}."
        if not self.width > 0:
            return said
        return (f"{said} ρ = {self.ratio:.2g}: lengthscale over the width of a typical area, "
                f"{plainly(self.width)} {self.unit}.")


def scale_of(state: State, answer: Answer | None, width: float) -> Scale | None:
    """The lengthscale of a setting, of the answer that is shown; None if there is none.

    Parameters
    ----------
    state : State
    answer : Answer or None
        What is shown.
    width : float
        Of a typical area, as of `width_of`.
    """
    if answer is None or state.inapplicable("lengthscale"):
        return None
    term = map_term(state.kernel)
    name = f"{term}.lengthscale"
    fitted = state.fitted.values.get(name)
    shown = answer.fit.hyperparameters.get(name, {}).get("value")
    fixed = state.lengthscale != LEARNT
    reference = fitted if fitted is not None else shown
    if not isinstance(reference, float) or term not in CORRELATIONS:
        return None             # of another model, whose maps are still shown
    mark = START if fitted is None else FIXED if name in state.fitted.fixed else FITTED
    return Scale(state.lengthscale if fixed else reference, reference, mark, fixed, term,
                 width, state.choice.unit)


def width_of(data: xr.Dataset) -> float:
    """Width of a typical area: the median over areas of the side of a square of the same size.

    The size is that of the outline. Areas without one are as wide as a cube in which points
    scatter as their individuals do: on the map, or without one among standardised covariates.

    Parameters
    ----------
    data : xr.Dataset
        Bagged dataset.

    Returns
    -------
    float
        In the unit of coordinates, or in standard deviations; NaN if every area is one place.
    """
    if "bag_geometry" in data.coords:
        return float(np.median(np.sqrt(shapely.area(data["bag_geometry"].values))))
    if {"x", "y"} <= set(data.coords):
        places = np.column_stack([data["x"].values, data["y"].values])
    else:
        places = data["covariates"].transpose("individual", "covariate").values
        places = places / places.std(axis=0)
    member, count = data["membership"].values, data.sizes["bag"]
    number = np.bincount(member, minlength=count)
    several = number > 1
    if not several.any():
        return float("nan")
    spread = np.zeros(count)
    for column in places.T:
        mean = np.bincount(member, column, count) / np.maximum(number, 1)
        spread += np.bincount(member, (column - mean[member]) ** 2, count)
    variance = spread[several] / (number[several] - 1) / places.shape[1]
    return float(np.median(np.sqrt(12 * variance)))
