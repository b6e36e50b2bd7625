"""The datasets by name; a new one is a module with a function ``load`` and one line here."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping

import xarray as xr

from workbench.bagging.findings import unlisted
from workbench.checks import choose, number, whole

_DATASETS = {
    "swiss-roll": "swiss_roll",
    "swiss-roll-heights": "swiss_roll_heights",
    "korea": "korea",
    "simulated-country": "simulated_country",
    "madagascar": "madagascar",
    "elevators": "elevators",
    "california-housing": "california",
    "california-households": "california_households",
    "us-unemployment": "us_unemployment",
    "italy": "italy",
    "uk-temperature": "climate.uk_temperature",
    "cmip6-temperature": "climate.cmip6",
    "simulated-climate": "climate.simulated_climate",
}
_SEVERAL_SOURCES = {
    "dependent-sources": "several_sources.dependent_sources",
    "biased-sources": "several_sources.biased_sources",
    "marylebone": "several_sources.marylebone",
    "simulated-city": "several_sources.simulated_city",
}
_KINDS = {False: "dataset", True: "dataset of several sources"}


def load(name: str, **options: object) -> xr.Dataset:
    """Load a dataset by name as a bagged dataset.

    Parameters
    ----------
    name : str
        One of the names in `datasets`.
    **options
        Options of that dataset; `options` lists them with their defaults.

    Returns
    -------
    xr.Dataset
        A bagged dataset of the caller's own: changing it changes no other.

    Raises
    ------
    InputError
        If the name or an option is unknown, or an option that is a number is given anything else.

    Examples
    --------
    >>> ds = load("swiss-roll", n_bags=50, seed=1)
    >>> ds.sizes["bag"]
    50
    """
    return _load(name, False, options)


def load_sources(name: str, **options: object) -> xr.DataTree:
    """Load a dataset of several sources by name.

    Parameters
    ----------
    name : str
        One of the names in ``datasets(several=True)``.
    **options
        Options of that dataset; `options` lists them with their defaults.

    Returns
    -------
    xr.DataTree
        Bagged datasets ``sources/<name>``, all with the same covariates, each with the quantity
        it observes in ``value.attrs["task"]``; and ``target``, singletons where predictions are
        wanted, with what a perfect observer would have read as ``value`` and, where it is known,
        the noise-free ``truth``. Attributes: title, dataset, notes (how it departs from the
        paper), settings (JSON of the options).

    Raises
    ------
    InputError
        As of `load`.

    Examples
    --------
    >>> tree = load_sources("dependent-sources", seed=0)
    >>> tree["sources/aggregates"].sizes["bag"]
    33
    """
    return _load(name, True, options)


def datasets(several: bool = False) -> dict[str, str]:
    """The datasets that can be loaded.

    Parameters
    ----------
    several : bool
        Whether those of several sources, for `load_sources`, instead of those for `load`.

    Returns
    -------
    dict of str to str
        A description in one line, by name.
    """
    return {name: (inspect.getdoc(_loader(name, several)) or "").split("\n", 1)[0]
            for name in _table(several)}


def options(name: str) -> dict[str, object]:
    """The options of a dataset.

    Parameters
    ----------
    name : str
        Of one source or of several.

    Returns
    -------
    dict of str to object
        Default values by name.

    Raises
    ------
    InputError
        If the name is unknown.
    """
    return {p.name: p.default for p in _parameters(name, name in _SEVERAL_SOURCES).values()}


def _load(name: str, several: bool, options: dict[str, object]):
    known = _parameters(name, several)
    for option, value in options.items():
        choose(f"option of dataset {name!r}", option, known)
        kind, told = str(known[option].annotation), f"{option} of dataset {name!r}"
        if kind == "int":
            options[option] = whole(told, value)
        elif kind == "float":
            number(told, value)
    with unlisted():                    # loaders keep what they made
        found = _loader(name, several)(**options)
    found.attrs.setdefault("dataset", name)
    return found


def _table(several: bool) -> dict[str, str]:
    return _SEVERAL_SOURCES if several else _DATASETS


def _parameters(name: str, several: bool) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(_loader(name, several)).parameters


def _loader(name: str, several: bool) -> Callable:
    table = _table(several)
    choose(_KINDS[several], name, table)
    return importlib.import_module(f"workbench.datasets.{table[name]}").load
