"""The map beside the split of each total by population: difference, its colours, and who wins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.evaluation import judgement_words as words
from workbench.evaluation.evidence import FLAT_MAP, FLAT_RATE, SPLIT, Evidence, surely
from workbench.plots import ColourScale, colour_scale
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.quantity import said
from workbench.ui.disaggregate.scenes import Scene

LABEL = "estimate − population split"


def difference(scene: Scene, mean: np.ndarray) -> np.ndarray:
    """A map minus the split, which gives all individuals the rate of their area.

    Parameters
    ----------
    scene : Scene
    mean : np.ndarray (individual,)
        Rates, natural units.

    Returns
    -------
    np.ndarray (individual,)
        Natural units.
    """
    return mean - scene.observed[scene.data["membership"].values]


def scale(scene: Scene, stretched: np.ndarray | None = None) -> ColourScale:
    """Colours of a difference, centred at zero: locked to half the span of the rates, or stretched.

    Parameters
    ----------
    scene : Scene
    stretched : np.ndarray, optional
        Differences, natural units, that the colours are to span.
    """
    if stretched is not None and np.ptp(stretched) > 0:
        return colour_scale(stretched, label=LABEL, unit=said(scene.unit), kind="difference",
                            factor=scene.factor)
    half = scene.spread.upper
    return replace(scene.spread, label=LABEL, kind="difference", lower=-half, upper=half,
                   source=f"half the span of the {scene.noun}s to either side of zero")


def sentence(found: Evidence) -> str:
    """Who wins, the map or the split, with the numbers that the verdict rests on.

    Beside values whose split has no score stand areas' own means or rates.

    Parameters
    ----------
    found : Evidence
        Of the verdict, see `verdict.judge`.

    Returns
    -------
    str
        One sentence for who wins, one for the numbers.
    """
    rival = next((one for one in (SPLIT, FLAT_MAP, FLAT_RATE) if one in found.rivals), SPLIT)
    theirs, error = found.rivals.get(rival, (np.nan, np.nan))
    if not np.isfinite(theirs) or not np.isfinite(found.ours):
        return labels.not_compared(rival)
    certain = surely(theirs - found.ours, error)
    said = labels.compared(rival, found.score, found.ours, theirs, found.where, certain)
    if certain and rival in found.maps and not surely(*found.maps[rival]):
        alone = words.maps_alone([rival])
        return f"{said} But {alone}."
    return said
