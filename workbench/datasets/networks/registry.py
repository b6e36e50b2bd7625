"""The datasets of several sources by name; a new one is a module with ``load`` and a line here."""

from __future__ import annotations

import xarray as xr

from workbench.datasets.loaders import Loaders

_LOADERS = Loaders("dataset of several sources", {
    "dependent-sources": "networks.dependent_sources",
    "biased-sources": "networks.biased_sources",
    "marylebone": "networks.marylebone",
    "simulated-city": "networks.simulated_city",
})


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
    return _LOADERS.load(name, **options)


def source_datasets() -> dict[str, str]:
    """Return every name of a dataset of several sources and a line on what it is."""
    return _LOADERS.summaries()


def source_options(name: str) -> dict[str, object]:
    """Return the options of a dataset of several sources with their defaults."""
    return _LOADERS.options(name)
