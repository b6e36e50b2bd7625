"""Malaria in Madagascar 2016: cases in 109 districts over rasters of 5 km."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from workbench.bagging import merge
from workbench.checks import choose
from workbench.datasets.downloads import locate

LEVELS = ("district", "region")
COVARIATES = ("EVI", "Elevation", "LSTmean")
SHA256 = {
    "mdg_shapes.shp": "98b0b68b090fa5ccab7ae08d0cb1040a0365057a7d37644cc8c9b1e8a32d4ef6",
    "mdg_shapes.shx": "b59caca6ae3865dec7e3431941291c85bbd318f8b21610a0412efec3546877ac",
    "mdg_shapes.dbf": "79ee6f932d3460813e2b28a7f25b22057ba3f0f44b47ff070fe8f424e66af999",
    "mdg_shapes.prj": "a02a27b1d1982c8516d83398e85a3c8b1aef1713c13ef4d84d7bde17430c07c4",
    "population.tif": "962214064d446d3ad8fd5080ccde39dac0068e62e21114c9b85c6af482a3d542",
    "EVI.tif": "e6e725f027a9856508cabc8e024cebfcdc4b17abaf7490209e5a7b8f946eaa71",
    "Elevation.tif": "2c0d5760e83b89e67ef49c7cd70a6ed40837f89df0fc32925cd70a8decd0605f",
    "LSTmean.tif": "4d4a9d07d36e9fd7f997908ba183b770ab8e31646085ad6a6462e27db198e9c0",
}
_REPOSITORY = "https://raw.githubusercontent.com/aknandi/disaggregation_paper/master/data"
_FOLDERS = {"mdg_shapes": "shapes/", "population": ""}  # the rest lies in covariates/


def load(
    directory: str | Path | None = None,
    level: str = "district",
    download: bool = False,
    population_units: str = "persons",
    missing: str = "nearest",
) -> xr.Dataset:
    """Madagascar malaria (real): cases in 109 districts, population and three 5 km covariates.

    The counts are model-adjusted and hence fractional: they are kept as they are. Pixels
    without population are dropped; gaps in the covariates, which have other masks than the
    population, take the nearest valid pixel. ``ds.attrs["treatments"]`` has the numbers.

    Parameters
    ----------
    directory : str or Path, optional
        Folder with the files or the one above it; ``WORKBENCH_DATA`` if not given.
    level : {"district", "region"}
        109 districts or 22 regions.
    download : bool
        Fetch the files once from their public repository when there is no directory.
    population_units : {"persons", "thousands"}
        Unit of the weights: rates are cases a person, or cases a thousand persons.
    missing : {"nearest", "drop", "error"}
        What to do with weighted pixels that lack a covariate.

    Returns
    -------
    xr.Dataset
        Weights are persons, x and y degrees, covariates already standardised at the source.

    References
    ----------
    Nandi et al. 2023, Journal of Statistical Software 106(11).
    """
    from workbench.geo import bag_polygons  # needs the extra "geo"

    choose("level", level, LEVELS)
    choose("population_units", population_units, ("persons", "thousands"))
    urls = {f: f"{_REPOSITORY}/{_FOLDERS.get(Path(f).stem, 'covariates/')}{f}" for f in SHA256}
    folder = locate("madagascar", SHA256, directory, urls, download)
    ds = bag_polygons(
        folder / "mdg_shapes.shp",
        {name: folder / f"{name}.tif" for name in COVARIATES},
        folder / "population.tif",
        "inc",
        id="ID_2",
        name="Name_2",
        labels={"district": "Name_2", "region": "Name_1"},
        value_units="cases",
        fractional="keep",
        zero_weight="drop",
        missing=missing,
        attrs={
            "title": "Malaria cases in Madagascar, 2016",
            "source": "Nandi et al. 2023 (data of the R package disaggregation); NMCP 2016",
            "licence": "not stated by the source: for use, not for redistribution",
            "level": "district",
            "levels": "district,region",
        },
    )
    ds["value"].attrs["long_name"] = "malaria cases"
    ds["weight"].attrs["long_name"] = "population"
    if population_units == "thousands":
        ds["weight"] = (ds["weight"] / 1000).assign_attrs(
            ds["weight"].attrs | {"units": "thousand persons"}
        )
    return ds if level == "district" else merge(ds, "region")
