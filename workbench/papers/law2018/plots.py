"""Charts of Law et al. 2018: the bound of appendix E.2 beside the approximation of section 3.3."""

from __future__ import annotations

import numpy as np
import pandas as pd

from workbench.checks import choose
from workbench.plots.still_charts import framed, whole
from workbench.plots.svg import element, path_of

#: What is drawn of the square link: colour, name, and sizes of bags with their dashes.
FORMS = {"jensen": ("#d55e00", "lower bound, appendix E.2"),
         "taylor": ("#0072b2", "approximation ζ, section 3.3")}
SIZES = {1: "2 3", 10: "7 4", 300: "none"}
WEIGHTS = {"even": 0.5, "heavy": 2.0}


def lower_bound_gaps(table: pd.DataFrame, weights: str = "even") -> str:
    """E log Σ p v² by both forms less the truth, in nats per count, against the sd of v, as SVG.

    Parameters
    ----------
    table : DataFrame
        Of ``data/results/bounds_gap.csv``, or rows of `workbench.papers.law2018.gaps.gaps`.
    weights : {"even", "heavy"}
        Of individuals: sd of their logarithms 0.5 or 2.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    InputError
        On other weights.

    Examples
    --------
    >>> import pandas as pd
    >>> from workbench.papers.law2018.gaps import SWEEP, gaps
    >>> chosen = {name: one for name, one in SWEEP.items() if "even" in name}
    >>> table = pd.DataFrame(gaps(chosen, links=["square"], draws=100))
    >>> lower_bound_gaps(table).startswith("<svg")
    True
    """
    spread = WEIGHTS[choose("weights", weights, WEIGHTS)]
    rows = table[(table["link"] == "square") & table["regime"].str.startswith("sd ")
                 & (table["weights"] == spread)]
    heights = rows.pivot_table(index="sd", columns=["bound", "size"], values="gap")
    at, frame = framed((0.0, float(heights.index.max())), (-1.05, 0.45),
                       "standard deviation of v", "less the truth, nats per count")
    parts = [element("path", d=path_of([at([0, heights.index.max()], [0, 0])]), fill="none",
                     stroke="#222222", stroke_width=1)]
    for bound, (colour, _) in FORMS.items():
        for size, dash in SIZES.items():
            line = np.vstack([at(0, 0), at(heights.index, heights[bound, size])])
            parts.append(element("path", d=path_of([line]), fill="none", stroke=colour,
                                 stroke_width=2, stroke_dasharray=dash))
    return whole(f"E log Σ p v², {weights} weights", frame, parts)
