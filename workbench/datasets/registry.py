"""The datasets by name; a new one is a module with ``load`` and one line here."""

from __future__ import annotations

import importlib
import inspect

import xarray as xr

from workbench.checks import choose

_MODULES = {
    "swiss-roll": "swiss_roll",
    "swiss-roll-heights": "swiss_roll_heights",
    "korea": "korea",
    "simulated-country": "simulated_country",
    "madagascar": "madagascar",
    "elevators": "elevators",
    "california-housing": "california",
    "uk-temperature": "climate.uk_temperature",
    "cmip6-temperature": "climate.cmip6",
    "simulated-climate": "climate.simulated_climate",
}


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
        If the name or an option is unknown.

    Examples
    --------
    >>> ds = load("swiss-roll", n_bags=50, seed=1)
    >>> ds.sizes["bag"]
    50
    """
    loader = _loader(name)
    known = _options(loader)
    for option in options:
        choose(f"option of dataset {name!r}", option, known)
    ds = loader(**options)
    ds.attrs.setdefault("dataset", name)
    return ds


def datasets() -> dict[str, str]:
    """Return every dataset's name and a line on what it is."""
    return {name: _summary(_loader(name)) for name in _MODULES}


def options(name: str) -> dict[str, object]:
    """Return the options of a dataset with their defaults."""
    return _options(_loader(name))


def _loader(name: str):
    choose("dataset", name, _MODULES)
    return importlib.import_module(f"workbench.datasets.{_MODULES[name]}").load


def _options(loader) -> dict[str, object]:
    return {p.name: p.default for p in inspect.signature(loader).parameters.values()}


def _summary(loader) -> str:
    return (inspect.getdoc(loader) or "").split("\n", 1)[0]
