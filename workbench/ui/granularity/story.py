"""Six steps of a lecture: what each is called, what it says, and the setting that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_START = {"tab": "line", "known": "sine", "points": 400, "noise": 0.3, "draw": 1, "kernel": "rbf",
          "lengthscale": 1.0, "variance": 1.0, "assumed": "true", "edges": "", "cell": -1}
_MAP = {"tab": "map", "source": "made", "output": "both", "likelihood": "normal",
        "kernel": "rbf", "map_variance": 1.0, "map_noise": 0.3}


@dataclass(frozen=True)
class Step:
    """One step: its name, one sentence, and choices of the state."""

    name: str
    sentence: str
    setting: Mapping


STEPS = (
    Step("Complete data",
         "400 noisy points, cut so finely that nothing is lost: both posteriors lie on each other.",
         _START | {"cells": 64}),
    Step("Only summaries",
         "Of 400 points, 12 bars are left, a mean and a count each, and the curve hardly moves.",
         _START | {"cells": 12}),
    Step("Too coarse",
         "A bar's mean is read as the value at its centre, where the band is narrowest and now "
         "wrong; peaks are flattened.",
         _START | {"cells": 4}),
    Step("Rough functions need fine cells",
         "12 cells again: where half a wave fits into one, little is left of it, and the band "
         "is too sure.",
         _START | {"cells": 12, "known": "rougher", "lengthscale": 0.4}),
    Step("The rule",
         "Lengthscale per cell decides: on the plane, errors fade above the diagonal. Click to "
         "try.",
         _START | {"cells": 20, "known": "rougher", "lengthscale": 0.4}),
    Step("The same on a map",
         "Squares for intervals: what is finer than a cell is lost; the difference map shows "
         "where.",
         _MAP | {"side": 1.6, "map_lengthscale": 1.0}),
)
