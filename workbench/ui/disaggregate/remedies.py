"""What corrects a finding of a check: changes of the options that files are read with.

A finding names its remedies as options of `workbench.bag_polygons`, in the words of the command
line and of Python; here they are read back from it, so that what can be typed can be pressed.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.bagging.findings import ERROR, NOTE, WARNING
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.kinds import AMOUNT, KINDS, MEAN

if TYPE_CHECKING:
    from workbench.bagging.findings import Finding

_VALUE = r"(?:'[^']*'|\([^()]*\)|-?\d[\d.e+-]*)"
_OPTION = re.compile(rf"\b([a-z_]+)=({_VALUE}(?:(?:, | or ){_VALUE})*)")
_MORE = ("nodata", "classes", "layer", "variable", "weight_variable", "grid_size")
_REPEATED = ("constant", "collinear", "inseparable")      # of covariates that say nothing more
_ELSEWHERE = "covers-none"         # of a covariate that no other pixel can stand for
_IDS = ("duplicate-id", "id-missing")
_NO_MAP = "one-dimensional"         # said of a variable that is no map
_ROWS = ("row-unknown", "empty")    # whose option leaves out rows of a table, not areas
_MOST = 4                   # remedies of one finding
DEGREES = "EPSG:4326"
#: Of findings that are still told once they are treated: the option that treats them.
_TREATED = {"area-empty": "empty", "covariate-missing": "missing", "duplicate-id": "duplicates",
            "nodata-mark": "marks", "outside": "outside", "overlap": "overlap",
            "value-fractional": "fractional", "value-missing": "missing_value",
            "value-negative": "missing_value", "weight-zero": "zero_weight"}


@dataclass(frozen=True)
class Remedy:
    """A change of options that does away with a finding.

    Parameters
    ----------
    label : str
        What it does, on a button.
    code : str
        Of the finding.
    change : tuple of (str, object)
        Options by name, None for one that is left out.
    """

    label: str
    code: str
    change: tuple[tuple[str, object], ...]

    def applied(self, options: Mapping) -> dict:
        """Options with the change made.

        Parameters
        ----------
        options : Mapping
        """
        return {name: value for name, value in (dict(options) | dict(self.change)).items()
                if value is not None}


def remedies(found: Finding, options: Mapping, crs: str = "", people: tuple[str, ...] = (),
             columns: tuple[str, ...] = (), degrees: bool = True) -> list[Remedy]:
    """What can be pressed to correct a finding; none if somebody has to correct a file.

    Parameters
    ----------
    found : Finding
        Of a check.
    options : Mapping
        What the files were read with, as of `own.options_of`.
    crs : str
        CRS that the check took for the data.
    people : tuple of str
        Paths of rasters that look like a population.
    columns : tuple of str
        Columns of the areas that do.
    degrees : bool
        Whether the areas can lie in longitude and latitude.
    """
    if "polygons" not in options:       # bagged data have been read before
        return []
    made = [Remedy(labels.ROWS_OUT if (found.code, name) == _ROWS else labels.remedy(name, value),
                   found.code, ((name, value),))
            for name, value in _named(found) if options.get(name) != value]
    made += _of_another_kind(found, options)
    if found.code in _IDS and "id" in options:
        made.append(Remedy(labels.NUMBER_AREAS, found.code, (("id", None),)))
    if found.code == "crs-missing":
        made += [stated(found, one) for one in dict.fromkeys([crs, DEGREES if degrees else ""])
                 if one]
    if found.code == "raster":
        made = _left_out(found, options) + made
    if found.code in (*_REPEATED, _ELSEWHERE):
        made += _without(found, options)
    if "weight" not in options and found.what.startswith(labels.NO_WEIGHT):
        made += [_weighed(path, found.code, options) for path in people]
        made += [Remedy(labels.weigh_by(name), found.code, (("population", name),))
                 for name in columns]
    return made[:_MOST]


def corrections() -> tuple[str, ...]:
    """Options that remedies, a typed CRS and the kind of values give: none names a file."""
    from workbench.geo import CleaningOptions

    kinds = {name for kind in KINDS.values() for name, _ in kind.options}
    return (*(one.name for one in fields(CleaningOptions)), *_MORE, *sorted(kinds), "polygon_crs",
            "raster_crs", "value_units", "encoding")


def _of_another_kind(found: Finding, options: Mapping) -> list[Remedy]:
    """Take the values for what a finding says they are: means, or of what is no count either."""
    named = [MEAN] * ("aggregation='mean'" in found.fix)
    named = [MEAN, AMOUNT] if "kind='continuous'" in found.fix else named
    return [Remedy(labels.THESE_ARE.format(one.label), found.code, one.options)
            for one in (KINDS[name] for name in named)
            if any(options.get(name) != value for name, value in one.options)]


def settled(findings: list[Finding], options: Mapping) -> list[Finding]:
    """Findings of which those are notes that somebody has chosen a treatment for.

    Parameters
    ----------
    findings : list of Finding
        Of a check.
    options : Mapping
        What the files were read with.

    Returns
    -------
    list of Finding
        Notes last; errors are what no treatment has done away with. That nothing could be looked
        at without areas is none of its own where it is said why there are none.
    """
    from workbench.geo.grid_areas import UNREAD

    if sum(one.severity == ERROR for one in findings) > 1:
        findings = [replace(one, severity=NOTE, fix="", effect="") if one.what == UNREAD else one
                    for one in findings]
    made = [replace(one, severity=NOTE) if one.severity == WARNING
            and _TREATED.get(one.code) in options else one for one in findings]
    return sorted(made, key=lambda one: one.severity == NOTE)


def stated(found: Finding, crs: str) -> Remedy:
    """A CRS for what a finding says has none.

    Parameters
    ----------
    found : Finding
    crs : str
    """
    name = "polygon_crs" if "polygons" in found.where else "raster_crs"
    return Remedy(labels.take_crs(crs), found.code, ((name, crs),))


def _named(found: Finding) -> list[tuple[str, object]]:
    """Options that a finding names, each with every value that it offers."""
    from workbench.geo import CleaningOptions

    known = {one.name for one in fields(CleaningOptions)} | set(_MORE)
    made = []
    for name, values in _OPTION.findall(f"{found.what} {found.fix}"):
        if name in known:
            made += [(name, list(value) if isinstance(value, tuple) else value)
                     for value in map(literal_eval, re.findall(_VALUE, values))
                     if f"{value} ({_NO_MAP})" not in found.fix]
    return made


def _without(found: Finding, options: Mapping) -> list[Remedy]:
    """Leave out a covariate that has a file of its own."""
    files = {Path(path).stem: path for path in options.get("covariates", ())}
    last = found.where if found.code in ("constant", _ELSEWHERE) else found.where[1:]
    return [Remedy(labels.leave_out(name), found.code, ((
        "covariates", [path for path in files.values() if path != files[name]] or None),))
        for name in last if name in files]


def _left_out(found: Finding, options: Mapping) -> list[Remedy]:
    """Leave out a file of covariates that holds none."""
    paths = list(options.get("covariates", ()))
    return [Remedy(labels.leave_out(Path(path).name), found.code, ((
        "covariates", [one for one in paths if one != path] or None),))
        for path in paths if Path(path).name in found.where]


def _weighed(path: str, code: str, options: Mapping) -> Remedy:
    others = [one for one in options.get("covariates", ()) if one != path]
    return Remedy(labels.weigh_by(Path(path).name), code,
                  (("weight", path), ("covariates", others or None)))
