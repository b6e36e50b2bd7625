"""Hyperparameters and priors in words, and the data in figures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from workbench.checks.figures import figure

_MOST = 8           # values of one hyperparameter that are shown
_MEANINGS = (       # by the end of the name
    ("area.std", "τ: how much areas differ beyond what the map explains{of_a_rate}"),
    ("persistent.variance", "variance of what each area has of its own{of_a_rate}"),
    ("nugget.std", "ν: how much individuals of the same covariates differ{of_a_rate}"),
    ("area.variance", "τ²: variance of what areas differ by beyond the map and their own errors"),
    ("noise.variance", "σ²: variance of an observation around its expected value"),
    ("dispersion", "r: counts vary by η + η²/r; smaller is more"),
    (".lengthscale", "distance over which the function changes; shorter is more detail"),
    (".period", "length of a period"),
    (".variance", "size of the function on the link scale: its square root is its sd a priori"),
    (".alpha", "mixture of lengthscales: smaller mixes more"),
    ("mean", "μ: level of the map on the link scale"),
    ("ridge", "ridge of the regression of individuals on mediators"),
)
_PRIORS = (
    (re.compile(r"PC: P\(std > (\S+)\) = (\S+)"), "{0} or more has probability {1} (as a standard "
     "deviation): prefers small"),
    (re.compile(r"PC: P\(lengthscale < (\S+)\) = (\S+)"), "shorter than {0} has probability {1}: "
     "prefers long"),
    (re.compile(r"log-normal\(median (.+), sigma (\S+)\)"), "log-normal around {0}, within a "
     "factor of {factor} with probability 95 %"),
)


@dataclass(frozen=True)
class Learnt:
    """One hyperparameter as a row of a table."""

    name: str
    value: str
    unit: str
    meaning: str
    prior: str


def learnt(card: dict[str, Any]) -> list[Learnt]:
    """The hyperparameters of a model with values in natural units, meanings and priors.

    Parameters
    ----------
    card : dict
        From `workbench.labelled.card.card_of`.

    Returns
    -------
    list of Learnt
        In the order of the model.
    """
    rows = []
    for item in card.get("hyperparameters", ()):
        name, unit = str(item["name"]), str(item["unit"])
        rows.append(Learnt(name, _values(item["value"]), "" if unit == "1" else unit,
                           _meaning(name, card.get("link", "")), prior_told(item["prior"])))
    return rows


def prior_told(prior: str) -> str:
    """A prior in words.

    Parameters
    ----------
    prior : str
        As a fit's summary has it.

    Returns
    -------
    str
        The same, and what it means.

    Examples
    --------
    >>> prior_told("PC: P(std > 3) = 0.05")
    '3 or more has probability 0.05 (as a standard deviation): prefers small'
    """
    if prior == "fixed":
        return "fixed by the user: not learnt"
    if prior == "flat":
        return "none: every value alike"
    for pattern, text in _PRIORS:
        found = pattern.fullmatch(prior)
        if found:
            parts = found.groups()
            try:
                factor = f"{np.exp(1.96 * float(parts[-1])):.2g}"
            except (ValueError, OverflowError):
                factor = "?"
            return text.format(*parts, factor=factor)
    return prior


def _meaning(name: str, link: str) -> str:
    for end, text in _MEANINGS:
        if name == end or name.endswith(end):
            return text.format(of_a_rate="; of a rate about this share" if link in ("exp", "")
                               else ", on the link scale")
    return ""


def _values(value: float | list[float]) -> str:
    values = value if isinstance(value, list) else [value]
    shown = ", ".join(f"{v:.4g}" for v in values[:_MOST])
    return shown if len(values) <= _MOST else f"{shown}, … ({len(values)} values)"


def data_facts(maps: xr.Dataset, card: dict[str, Any]) -> list[tuple[str, str]]:
    """What was learnt from, as rows of a table.

    Parameters
    ----------
    maps : xr.Dataset
        A map.
    card : dict
        Of its model; may be empty.

    Returns
    -------
    list of (str, str)
        Name and text.
    """
    rows = [(name, str(maps.attrs[key])) for name, key in (
        ("title", "title"), ("source", "source"), ("licence", "licence"),
        ("coordinate system", "crs"), ("read from", "summaries"), ("targets", "targets"))
        if maps.attrs.get(key) not in (None, "", "none")]
    if {"value", "membership", "weight"} <= set(maps.variables) and maps["value"].dims == ("bag",):
        rows += _of_areas(maps)
    elif card.get("areas"):
        rows.append(("learnt from", f"{card['areas']:,} observations"))
    if "individual" in maps.sizes:
        rows.append(("individuals on the map", f"{maps.sizes['individual']:,}"))
    elif "bag" in maps.sizes:
        rows.append(("polygons", f"{maps.sizes['bag']:,}"))
    columns = list(dict.fromkeys(c for term in card.get("terms", ()) for c in term["columns"]))
    for one in card.get("candidates", ()):
        columns += [c for term in one.get("terms", ()) for c in term["columns"]
                    if c not in columns]
    if columns:
        rows.append(("the model looks at", ", ".join(columns)))
    return rows


def _of_areas(maps: xr.Dataset) -> list[tuple[str, str]]:
    value = maps["value"].values.astype(float)
    units = str(maps["value"].attrs.get("units", "")).replace("value units", "")
    sizes = np.bincount(maps["membership"].values, minlength=value.size)
    mean = maps["value"].attrs.get("aggregation", "sum") == "mean"
    rows = [("areas", f"{value.size:,}, of {sizes.min():,} to {sizes.max():,} individuals "
                      f"(median {np.median(sizes):,.0f})")]
    spread = (f"from {figure(value.min(), 6)} to {figure(value.max(), 6)}, "
              f"median {figure(np.median(value), 6)}")
    if "trials" in maps:
        trials = float(maps["trials"].sum())
        rows.append(("positives", f"{figure(value.sum(), 6)} of {figure(trials, 6)} trials "
                                  f"({value.sum() / trials:.2%}); by area {spread}"))
    else:
        rows.append((f"observed {'means' if mean else 'totals'}", " ".join(filter(None, (
            spread, units))) + ("" if mean else f"; together {figure(value.sum(), 8)}")))
    weight = float(maps["weight"].sum())
    unit = str(maps["weight"].attrs.get("units", ""))
    rows.append(("weights", f"{figure(weight, 8)} {unit if unit != '1' else ''} in all".replace(
        "  ", " ")))
    return rows
