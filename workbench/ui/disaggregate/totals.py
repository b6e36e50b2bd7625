"""Whether an exported map adds up to the areas' totals, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.schema import counts_add_up
from workbench.ui.disaggregate import labels

if TYPE_CHECKING:
    from workbench.ui.disaggregate.engine import Answer, Scene

EQUAL = 1e-6        # difference relative to the largest total that is one of rounding


def farthest(answer: Answer, scene: Scene) -> tuple[str, float, float]:
    """The area whose expected count is farthest from its observed total.

    Parameters
    ----------
    answer, scene
        What is shown.

    Returns
    -------
    (str, float, float)
        Its name, what the map expects there, and its total.
    """
    data = scene.data
    observed = data["value"].values.astype(float)
    expected = np.bincount(data["membership"].values, minlength=observed.size,
                           weights=answer.mean * data["weight"].values)
    k = int(np.nanargmax(np.abs(expected - observed)))
    return str(data["bag"].values[k]), float(expected[k]), float(observed[k])


def said(answer: Answer | None, scene: Scene | None, rescale: bool) -> str:
    """Whether exported expected counts add up to the totals, and by how much at most they do not.

    Parameters
    ----------
    answer, scene
        What is shown.
    rescale : bool
        Whether exports are made to add up.

    Returns
    -------
    str
        Empty where there is no map, or values do not add up.
    """
    if answer is None or scene is None or not counts_add_up(scene.data):
        return ""
    if rescale:
        return labels.RESCALED
    area, expected, observed = farthest(answer, scene)
    largest = float(np.nanmax(scene.data["value"].values))
    if abs(expected - observed) <= EQUAL * max(largest, 1.0):
        return labels.ADDS_UP
    return labels.does_not_add_up(area, expected, observed)
