"""What a check found, as text, HTML, a table, or JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields

import pandas as pd
import xarray as xr

from workbench.bagging.findings import ERROR, NOTE, WARNING, Finding
from workbench.labelled.timing import duration
from workbench.preflight import page, text

COLUMNS = tuple(f.name for f in fields(Finding) if f.repr)


@dataclass(frozen=True, repr=False)
class Check:
    """What was found in data before anything was fitted.

    Parameters
    ----------
    title : str
        What was checked.
    findings : list of Finding
        Errors first, then warnings, then notes.
    totals : pd.DataFrame or None
        What of value, weight, areas and individuals was read, lies outside, was left out and kept;
        None if the data could not be read that far.
    estimates : dict
        model, seconds, bytes and the like; empty if there is nothing to fit.
    data : xr.Dataset or None
        The bagged dataset as far as it could be made; with errors, by makeshift treatments: not
        for fitting.
    """

    title: str
    findings: list[Finding]
    totals: pd.DataFrame | None
    estimates: dict[str, object]
    data: xr.Dataset | None

    @property
    def ok(self) -> bool:
        """Whether there is no error: whether a fit would start."""
        return not self.of(ERROR)

    def of(self, severity: str) -> list[Finding]:
        """The findings of one severity.

        Parameters
        ----------
        severity : {"error", "warning", "note"}
            Which.

        Returns
        -------
        list of Finding
        """
        return [finding for finding in self.findings if finding.severity == severity]

    def table(self) -> pd.DataFrame:
        """The findings as a table.

        Returns
        -------
        pd.DataFrame
            A row for each; columns severity, code, what, where (a tuple of ids or names), count,
            effect, fix (as in Python) and flag (as on the command line).
        """
        order = ["severity", "code", "what", "where", "count", "effect", "fix", "flag"]
        rows = [{name: getattr(finding, name) for name in order} for finding in self.findings]
        frame = pd.DataFrame(rows, columns=order)
        return frame.astype({"count": "Int64"})

    def summary(self) -> str:
        """How many findings there are of each severity, and what that means.

        Returns
        -------
        str
            A sentence.
        """
        many = [f"{len(self.of(s))} {s}{'' if len(self.of(s)) == 1 else 's'}"
                for s in (ERROR, WARNING, NOTE)]
        told = ("a fit would start" if self.ok else
                "nothing can be fitted before the errors are corrected")
        return f"{', '.join(many)}: {told}."

    def cost(self) -> str:
        """Time and memory of a fit.

        Returns
        -------
        str
            A sentence; empty if nobody knows.
        """
        if not self.estimates:
            return ""
        known = self.estimates
        there = float(known["machine_bytes"])
        of = f" of {there / 2**30:.1f} GiB" if math.isfinite(there) else ""
        more = (f" {known['folds']} folds take about "
                f"{duration(float(known['folds_seconds']))} more." if "folds" in known else "")
        return (f"A fit of {known['model']} to {known['individuals']:,} individuals in "
                f"{known['areas']:,} areas takes about {duration(float(known['seconds']))} and "
                f"{float(known['bytes']) / 2**30:.1f} GiB{of} of memory.{more}")

    def __str__(self) -> str:
        return text.as_text(self)

    __repr__ = __str__

    def to_html(self, whole: bool = True) -> str:
        """The same as HTML.

        Parameters
        ----------
        whole : bool
            A page of its own, which needs no other file; else a part of one.

        Returns
        -------
        str
            HTML.
        """
        return page.as_html(self, whole)

    def _repr_html_(self) -> str:
        return self.to_html(whole=False)

    def to_json(self) -> str:
        """Findings, totals and estimates as JSON.

        Returns
        -------
        str
            An object with title, ok, findings, totals and estimates; null where nobody knows.
        """
        totals = None if self.totals is None else {
            row: {column: _plain(value) for column, value in values.items()}
            for row, values in self.totals.to_dict("index").items()}
        return json.dumps({
            "title": self.title, "ok": self.ok,
            "findings": [{name: getattr(one, name) for name in COLUMNS} for one in self.findings],
            "totals": totals,
            "estimates": {name: _plain(value) for name, value in self.estimates.items()},
        }, indent=2, allow_nan=False)


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
