"""A stored map as a notebook that makes it again, step by step, and checks the numbers."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from workbench import geo
from workbench.checks import package, require
from workbench.outputs import check_output, write_bytes
from workbench.pipeline.base import BaseSpec, existing
from workbench.pipeline.scoring import is_scored
from workbench.reporting.code import command_of, steps_of

_CHECK = '''stored = wb.read({name!r})
worst = {{}}
for name in ("mean", "std", "rate_quantile", "exceedance", "bag_mean", "bag_std"):
    if name in stored:
        found, kept = maps[name].values, stored[name].values
        np.testing.assert_allclose(found, kept, rtol=1e-3, atol=1e-6 * np.abs(kept).max())
        worst[name] = float(np.abs(found - kept).max())
worst'''
_SCORED = '''np.testing.assert_allclose(result["scores"], stored["cv_scores"], rtol=1e-2)
wb.table(result).T'''
_STILL = ("Still pictures; `workbench.plots.map_picture(maps)` has the same with zoom and hover.")
_UNDRAWN = ("The data have no geography. To draw them, name two coordinates of the individuals: "
            "`workbench.plots.map_picture(maps, axes=(..., ...))`.")
_MAPS = '''HTML("".join(one.svg for one in still_maps(maps)))'''


def notebook(maps: str | Path, out: str | Path | None = None):
    """A notebook that makes a stored map again and compares the numbers with the stored ones.

    It loads the data, builds the model with every option written out, fits, draws the maps, scores
    them where the map has scores, and stops with an error where a number is another one.

    Parameters
    ----------
    maps : path
        A map stored as ``.nc`` by a map command or by `workbench.write`, with its Spec.
    out : path, optional
        The ``.ipynb`` to write. Relative paths of the Spec are written as seen from its folder.

    Returns
    -------
    nbformat.NotebookNode
        The notebook, not run.

    Raises
    ------
    InputError
        If the file is missing, carries no Spec, or the notebook cannot be written.
    ImportError
        If nbformat is not installed.

    Notes
    -----
    The same Spec on the same machine and versions gives the same numbers to the last digit; other
    versions or processors may differ in the last digits of an optimum, so that the notebook allows
    one part in a thousand.

    Examples
    --------
    >>> import tempfile
    >>> import workbench as wb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     maps = wb.run(wb.Spec("swiss-roll", options=dict(max_steps=3)))
    ...     wb.write(maps, f"{folder}/map.nc")
    ...     len(wb.notebook(f"{folder}/map.nc").cells) > 5
    True
    """
    nbformat = package("nbformat", extra="notebooks")
    path = existing("map", maps)
    stored = geo.read(path)
    require("spec" in stored.attrs, f"{path} carries no Spec, so that nothing says how it was made;"
            " make it with `workbench disaggregate`, or wb.run(wb.Spec(...)) in Python")
    if out is not None:
        out = Path(out)
        check_output(out, (".ipynb",), [path])
    book = _written(nbformat.v4, stored, path, Path.cwd() if out is None else out.parent)
    if out is not None:
        write_bytes(out, nbformat.writes(book) + "\n")
    return book


def _written(v4, stored: xr.Dataset, path: Path, folder: Path):
    import os

    spec = BaseSpec.from_json(stored.attrs["spec"])
    steps = steps_of(spec, folder)
    title = _plain(stored.attrs.get("title", "") or path.stem)
    name = Path(os.path.relpath(path, folder)).as_posix()
    command = command_of(spec, path.name)
    told = f"\n\nOn the command line:\n\n```sh\n{command}\n```" if command else ""
    scored = is_scored(stored) and bool(steps.scores)
    drawn = _drawable(stored)
    parts: list[tuple[str, str]] = [
        ("markdown", f"# {title}\n\nThis notebook makes the map in `{_plain(name)}` again, and "
                     f"stops where a number is another one.{told}"),
        ("code", "import numpy as np\nfrom IPython.display import HTML\n\nimport workbench as wb\n"
                 "from workbench.plots import still_maps"),
    ]
    if steps.data:
        parts += [("markdown", "## Data\n\nAreas with their totals, and the individuals inside "
                   "them with covariates and weights. What was done to the files is in "
                   "`ds.attrs['treatments']`."),
                  ("code", f"{steps.data}\nprint(ds.attrs.get('treatments', 'none'))\nds")]
    parts += [("markdown", "## Model\n\nEvery option that is not the default; "
               "`workbench models NAME` lists all of them."), ("code", steps.model)]
    if steps.fit:
        parts += [("markdown", "## Fit\n\nHyperparameters with units and priors, and notes on "
                   "convergence."), ("code", f"{steps.fit}\nprint(fit.summary())")]
    parts += [
        ("markdown", f"## Maps\n\n{_STILL if drawn else _UNDRAWN}"),
        ("code", f"{steps.maps}\n{_MAPS if drawn else 'maps'}"),
        ("markdown", "## The same numbers?\n\nThe largest difference from the stored map of each "
                     "variable; an error where one is beyond a thousandth."),
        ("code", _CHECK.format(name=name))]
    if scored:
        parts += [("markdown", "## Scores\n\nEach area predicted while held out, beside a flat "
                   "map."), ("code", f"{steps.scores}\n{_SCORED}")]
    cells = []
    for k, (kind, text) in enumerate(parts):
        cell = v4.new_markdown_cell(text) if kind == "markdown" else v4.new_code_cell(text)
        cell["id"] = f"cell-{k}"
        cells.append(cell)
    return v4.new_notebook(cells=cells, metadata={
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"}})


def _drawable(stored: xr.Dataset) -> bool:
    """Whether anything says where the individuals are."""
    return "individual_geometry" in stored.coords or "row" in stored.coords or (
        "x" in stored and "y" in stored)


def _plain(text: str) -> str:
    """Text of a file inside Markdown: no markup of its own."""
    from html import escape

    return escape(" ".join(str(text).split()), quote=False).replace("`", "'")
