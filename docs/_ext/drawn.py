"""The directive ``drawn``: a chart from the functions of the package, drawn when the site is built.

```{drawn} posterior-errors
```
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from docutils import nodes
from docutils.parsers.rst import Directive
from tables import RESULTS

from workbench.papers.chau2021.ablation import SHAPES
from workbench.papers.chau2021.plots import operator_maps
from workbench.papers.law2018.plots import FORMS, WEIGHTS, lower_bound_gaps
from workbench.papers.shikuri2025.posterior_errors import (
    complete_error_bound,
    posterior_error_bound,
)
from workbench.plots.still_charts import framed, whole
from workbench.plots.svg import element, path_of

KERNELS = {"laplacian": ("Laplacian", "#0072b2"), "gaussian": ("Gaussian", "#d55e00")}
_BOX = "background: #fff; color: #222; padding: 0.5em; margin-bottom: 1em"


def narrowing(kernel: str) -> dict[str, np.ndarray]:
    """Four cells a lengthscale apart, two points in each, that move to their centroids.

    Parameters
    ----------
    kernel : str

    Returns
    -------
    dict
        Distances ``x`` in lengthscales; largest bound and largest difference of posterior means of
        theorem 5.5 (``bound``, ``change``) and of complete data (``complete bound``,
        ``complete change``).
    """
    distance, z = np.geomspace(0.3, 0.001, 14), np.arange(4.0)
    w, new = np.repeat(np.arange(4), 2), np.linspace(0, 3, 31)
    y = np.random.default_rng(0).normal(np.sin(1.5 * z[w]), 0.5)
    rows = []
    for h in distance:
        x = z[w] + np.tile([-h, h], 4)
        one = posterior_error_bound(x, z, w, new, y.reshape(4, 2).mean(1), 0.125, kernel=kernel)
        rows.append([*_largest(one), *_largest(complete_error_bound(
            x, z, w, new, y, 0.25, kernel=kernel))])
    return {"x": distance} | dict(zip(
        ("bound", "change", "complete bound", "complete change"), np.array(rows).T, strict=True))


def lengthening(kernel: str) -> dict[str, np.ndarray]:
    """Ten cells of side one, five points in each, by the lengthscale: complete data.

    Parameters
    ----------
    kernel : str

    Returns
    -------
    dict
        Lengthscales ``x`` in sides of a cell; ``complete bound`` and ``complete change``.
    """
    scale, z = np.geomspace(0.3, 100, 14), np.arange(10) + 0.5
    w, x, new = np.repeat(np.arange(10), 5), np.arange(50) / 5 + 0.1, np.linspace(0, 10, 101)
    y = np.random.default_rng(0).normal(np.sin(x / 2), 0.5)
    rows = [_largest(complete_error_bound(x, z, w, new, y, 0.25, kernel=kernel, lengthscale=one))
            for one in scale]
    return {"x": scale} | dict(zip(("complete bound", "complete change"), np.array(rows).T,
                                   strict=True))


def _largest(found) -> tuple[float, float]:
    return found.mean.max(), np.abs(found.mean_change).max()


def posterior_errors() -> str:
    """Bound and difference of posterior means as cells narrow, and by the lengthscale."""
    near = "points from their centroid, lengthscales"
    key = ", ".join(f'<b style="color: {colour}">{name}</b>' for name, colour in KERNELS.values())
    return "".join([chart("Theorem 5.5", narrowing, "", near),
                    chart("Complete data", narrowing, "complete ", near),
                    chart("Complete data, ten cells of side one", lengthening, "complete ",
                          "lengthscale, sides of a cell"),
                    f"<p>{key}; dashed: the bound, solid: the difference itself</p>"])


def chart(title: str, values: Callable[[str], dict], part: str, xlabel: str) -> str:
    """One chart with logarithmic axes: a line and a dashed bound for each kernel, as SVG.

    Parameters
    ----------
    title : str
    values : callable
        Of a kernel's name: `narrowing` or `lengthening`.
    part : str
        What the names of bound and change begin with.
    xlabel : str

    Returns
    -------
    str
    """
    found = {kernel: values(kernel) for kernel in KERNELS}
    heights = np.log10([one[part + name] for one in found.values() for name in ("bound", "change")])
    across = np.log10(found["laplacian"]["x"])
    at, frame = framed((across.min(), across.max()),
                       (np.floor(heights.min()), np.ceil(heights.max())), xlabel,
                       "largest difference of means", log=True)
    parts = []
    for kernel, one in found.items():
        for what, dash in (("bound", "5 4"), ("change", "none")):
            line = at(across, np.log10(one[part + what]))
            parts.append(element("path", d=path_of([line]), fill="none", stroke=KERNELS[kernel][1],
                                 stroke_width=2, stroke_dasharray=dash))
    return whole(title, frame, parts)


def lower_bound() -> str:
    """Appendix E.2 of Law et al. 2018 beside their approximation, from the stored gaps."""
    table = pd.read_csv(RESULTS / "bounds_gap.csv")
    key = "; ".join(f'<b style="color: {colour}">{name}</b>' for colour, name in FORMS.values())
    return "".join([*(lower_bound_gaps(table, weights) for weights in WEIGHTS),
                    f"<p>{key}; dotted: bags of one individual, dashed: of 10, solid: of 300</p>"])


def operators(ridge: str) -> str:
    """Figures 4 to 7 of Chau et al. 2021 in one reading of the ridge."""
    return "".join(operator_maps(bags, points, ridge=ridge, title=f"Figure {4 + k}, ")
                   for k, (bags, points) in enumerate(SHAPES))


CHARTS = {"posterior-errors": posterior_errors, "lower-bound": lower_bound,
          "operators": lambda: operators("unscaled"),
          "operators-scaled": lambda: operators("scaled")}


class Drawn(Directive):
    """Charts as SVG inside the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The charts, which say themselves what they show."""
        self.state.document.settings.env.note_dependency(__file__)
        shown = CHARTS[self.arguments[0]]()
        return [nodes.raw("", f'<div style="{_BOX}">{shown}</div>', format="html")]


def setup(app):
    """Register the directive."""
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True}
