"""The datasets of several sources by name; a new one is a module with ``load`` and a line here."""

from __future__ import annotations

import importlib
import inspect

import xarray as xr

from workbench.checks import choose

_MODULES = {
    "dependent-sources": "dependent_sources",
    "biased-sources": "biased_sources",
    "marylebone": "marylebone",
    "simulated-city": "simulated_city",
}


def load_sources(name: str, **options: object) -> xr.DataTree:
    """Load a dataset of several sources by name.

    Parameters
    ----------
    name : str
        One of the names in `source_datasets`.
    **options
        Options of that dataset; `source_options` lists them with their defaults.

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
        If the name or an option is unknown.

    Examples
    --------
    >>> tree = load_sources("dependent-sources", seed=0)
    >>> tree["sources/aggregates"].sizes["bag"]
    33
    """
    loader = _loader(name)
    known = source_options(name)
    for option in options:
        choose(f"option of dataset {name!r}", option, known)
    tree = loader(**options)
    tree.attrs["dataset"] = name
    return tree


def source_datasets() -> dict[str, str]:
    """Return every name of a dataset of several sources and a line on what it is."""
    return {name: (inspect.getdoc(_loader(name)) or "").split("\n", 1)[0] for name in _MODULES}


def source_options(name: str) -> dict[str, object]:
    """Return the options of a dataset of several sources with their defaults."""
    return {p.name: p.default for p in inspect.signature(_loader(name)).parameters.values()}


def _loader(name: str):
    choose("dataset of several sources", name, _MODULES)
    return importlib.import_module(f"workbench.datasets.networks.{_MODULES[name]}").load
