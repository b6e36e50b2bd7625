"""What models, their terms and the candidates of a mixture are called on screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.evaluation.evidence import SPLIT
from workbench.plots.theme import OWN_BAG

if TYPE_CHECKING:
    import xarray as xr

_MODELS = {"auto": "Auto", "vbagg": "VBAgg", "aggregated-gp": "Aggregated GP",
           "centre-point": "Centre-point GP", "constant": "One flat rate",
           OWN_BAG: "Own area's rate", SPLIT: "Population split", "one flat rate": "One flat rate",
           "share of all areas": "Share of all areas"}
EFFECTS = "flat_has_area_effects"       #: attribute of scores beside the flat model
WITH_EFFECTS = "One rate + area effects"
_KERNELS = {"matern12": "Matérn 1/2", "matern32": "Matérn 3/2", "matern52": "Matérn 5/2",
            "rbf": "RBF", "linear": "regression", "constant": "constant", "ard-": "ARD ",
            "(coordinates)": " of place", "(covariates)": " of covariates", "(time)": " of time",
            "*": " × ", "+": " + ", "area": "area effect", "nugget": "individual effect"}
_PARTS = re.compile("|".join(re.escape(part) for part in _KERNELS))
_CANDIDATES = {
    "flat": "one flat rate", "slopes": "regression", "place": "map", "place over time":
    "map over time", "covariates": "flexible covariates", "all at once":
    "joint function of covariates and place", "all at once, transformed":
    "joint function of power-transformed covariates and place"}


def model(name: str) -> str:
    """A model by its name on screen; one of another name keeps it.

    Parameters
    ----------
    name : str
        Of a model in scores.

    Examples
    --------
    >>> model("vbagg"), model("mine")
    ('VBAgg', 'mine')
    """
    return _MODELS.get(name, name)


def scored(name: str, scores: xr.Dataset) -> str:
    """A model by its name on screen, of scores of areas whose totals it has seen.

    Of counts the flat model has effects of areas, which reproduce these totals.

    Parameters
    ----------
    name : str
    scores : xr.Dataset
        From `engine.scores`.
    """
    return WITH_EFFECTS if name == "constant" and scores.attrs.get(EFFECTS) else model(name)


def term(name: str) -> str:
    """A term of a kernel in words.

    Parameters
    ----------
    name : str
        As in the names of hyperparameters.

    Examples
    --------
    >>> term("matern32(coordinates)"), term("rbf")
    ('Matérn 3/2 of place', 'RBF')
    """
    return _PARTS.sub(lambda found: _KERNELS[found[0]], name)


def candidate(name: str) -> str:
    """A model of a mixture in words.

    Parameters
    ----------
    name : str
        By which the mixture lists its weight.

    Examples
    --------
    >>> candidate("slopes + place")
    'regression + map'
    """
    return " + ".join(_CANDIDATES.get(part, part) for part in name.split(" + "))
