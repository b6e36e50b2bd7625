"""The datasets by name; a new one is a module with ``load`` and one line here."""

from __future__ import annotations

import xarray as xr

from workbench.datasets.loaders import Loaders

_LOADERS = Loaders("dataset", {
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
})


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
    return _LOADERS.load(name, **options)


def datasets() -> dict[str, str]:
    """Return every dataset's name and a line on what it is."""
    return _LOADERS.summaries()


def options(name: str) -> dict[str, object]:
    """Return the options of a dataset with their defaults."""
    return _LOADERS.options(name)
