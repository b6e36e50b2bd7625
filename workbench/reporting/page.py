"""The report of a map: everything that is known of it on one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import xarray as xr

from workbench import geo
from workbench.checks import package, require
from workbench.evaluation.judgement import Verdict as Judged
from workbench.outputs import check_output, write_bytes
from workbench.pipeline.base import existing
from workbench.reporting.content import content_of
from workbench.reporting.verdict import Verdict


class Report:
    """A report of one map, as HTML.

    Parameters
    ----------
    html : str
        The page.
    verdict : Verdict
        What it says of the map.
    title : str
        Of the page.
    """

    def __init__(self, html: str, verdict: Verdict, title: str) -> None:
        self._html, self.verdict, self.title = html, verdict, title

    def __repr__(self) -> str:
        points = "\n".join(f"{point.mark} {point.text}" for point in self.verdict.points)
        return f"<Report on {self.title}>\n{self.verdict.sentence}\n{points}"

    def _repr_html_(self) -> str:
        return (f'<iframe sandbox srcdoc="{escape(self._html)}" style="width:100%;height:40rem;'
                'border:1px solid #ddd"></iframe>')

    def to_html(self, path: str | Path | None = None) -> str:
        """The page, also written to ``path`` if given.

        Parameters
        ----------
        path : path, optional
            File to write, ``.html``.

        Returns
        -------
        str
            One page without scripts, that asks no network for anything.
        """
        if path is not None:
            check_output(Path(path), (".html",))
            write_bytes(path, self._html)
        return self._html


def report(maps: xr.Dataset | str | Path, path: str | Path | None = None, *, check=None,
           compare=None, recover: xr.Dataset | None = None,
           sections: Mapping[str, Any] | None = None, log: bool = False,
           axes: tuple[str, str] = ("x", "y"), title: str | None = None,
           verdict: Judged | None = None) -> Report:
    """Everything that is known of a map on one page: data, model, convergence, maps, scores, code.

    Parameters
    ----------
    maps : xr.Dataset or path
        From ``fit.to_dataset``, `workbench.run`, or the ``.nc`` that one of them was stored in.
    path : path, optional
        The ``.html`` to write.
    check : object, optional
        What a pre-flight check of the data found: anything with ``_repr_html_`` or ``to_html()``,
        or plain text.
    compare : Comparison, optional
        From `workbench.compare`.
    recover : xr.Dataset, optional
        From `workbench.recover`.
    sections : mapping of str to object, optional
        Further sections by title, each as of ``check``.
    log : bool
        Logarithmic colours of the rate.
    axes : (str, str)
        Coordinates that make the map, for data without geography.
    title : str, optional
        Of the page; by default that of the data.
    verdict : workbench.evaluation.judgement.Verdict, optional
        What was said of the map before, such as by the app: the report says the same.

    Returns
    -------
    Report
        Its ``verdict`` says in words whether the map can be relied on; ``to_html(path)`` writes it.

    Raises
    ------
    InputError
        If the dataset is no map, or the file cannot be written.
    ImportError
        If the packages of the extra "plots" are not installed.

    Notes
    -----
    The page has no scripts and loads nothing: pictures are inside it. Text from files is escaped;
    what an object gives as HTML of its own (``check``, ``sections``) is trusted.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=4)
    >>> maps = wb.Constant(max_steps=20).fit(ds).to_dataset(ds)
    >>> page = wb.report(maps).to_html()
    >>> page.startswith("<!DOCTYPE html>"), "<script" in page
    (True, False)
    """
    jinja2 = package("jinja2", extra="plots")
    package("holoviews", extra="plots")
    if path is not None:
        check_output(Path(path), (".html",), [maps if isinstance(maps, str | Path) else None])
    if not isinstance(maps, xr.Dataset):
        maps = geo.read(existing("map", maps))
    require("mean" in maps or "bag_mean" in maps, "the dataset is no map: it has neither 'mean' "
            "nor 'bag_mean'; give what `workbench disaggregate` or fit.to_dataset made")
    content = content_of(maps, check, compare, recover, sections or {}, log, axes, title,
                         verdict)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made = Report(environment.get_template("page.html").render(content).lstrip(),
                  content["verdict"], content["title"])
    if path is not None:
        made.to_html(path)
    return made
