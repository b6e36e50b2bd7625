"""The steps of a lecture: what each is called, what it says, and the setting that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_START = {"tab": "line", "known": "sine", "points": 400, "noise": 0.3, "draw": 1, "kernel": "rbf",
          "lengthscale": 1.0, "variance": 1.0, "assumed": "true", "edges": ""}
_MAP = {"tab": "map", "source": "made", "output": "both", "likelihood": "normal",
        "kernel": "rbf", "map_variance": 1.0, "map_noise": 0.3, "shape": "squares", "side": 1.6,
        "map_lengthscale": 1.0, "second": 0}
#: What a step begins with, and leaves to be changed: nothing chosen, the truth of a map hidden.
BEGIN = {"cell": -1, "guess": "none", "reveal": False}


@dataclass(frozen=True)
class Step:
    """One step: its name, one sentence, choices of the state, and a chart to look at."""

    name: str
    sentence: str
    setting: Mapping
    chart: str = ""


STEPS = (
    Step("Complete data",
         "400 noisy points in cells so fine that nothing is lost: both posteriors coincide.",
         _START | {"cells": 64}),
    Step("Only summaries",
         "400 points become 12 cells with a mean and a count each, and the curve hardly changes.",
         _START | {"cells": 12}),
    Step("Too coarse",
         "The mean of a cell is taken as the value at its centre, and peaks are flattened. "
         "Coverage does not show it: the band is wide, and misses the truth near centres alone.",
         _START | {"cells": 4}),
    Step("Rough functions need fine cells",
         "12 cells again: where half a wave fits into one, it is averaged away, and the band is "
         "overconfident.",
         _START | {"cells": 12, "known": "rougher", "lengthscale": 0.4}),
    Step("The rule",
         "Lengthscale relative to cell size decides: where it is five cells or more, the error is "
         "within 0.1 sd all over the plane. Click to try.",
         _START | {"cells": 20, "known": "rougher", "lengthscale": 0.4}, chart="plane"),
    Step("The same on a map",
         "Detail shorter than the cells resolve is lost. How much worse is the map? Guess, then "
         "reveal the truth.",
         _MAP | {"show": "truth"}),
    Step("The shape of cells",
         "About as many strips as there were squares: the same amount of data gives another map, "
         "here a worse one (the modifiable areal unit problem).",
         _MAP | {"shape": "strips", "show": "difference"}),
    Step("Two lengthscales",
         "The same summaries under two lengthscales. Which map would you trust? Compare their "
         "evidence, then reveal the truth.",
         _MAP | {"side": 1.0, "second": 0.5, "show": "sd"}),
)
