"""How rasters and polygons are brought elsewhere outside the package: what fits which data."""

from __future__ import annotations

import xarray as xr

# gdalwarp takes the nearest pixel unless told otherwise. Pixels of another size or shape then hold
# the people of other pixels, some twice and some never: only sums keep a total. Sums are fractions,
# which the whole numbers of a file would round off.
RESAMPLING = ("-r sum -ot Float32 for people and other counts per pixel (it keeps their total), "
              "-r bilinear for covariates, -r near for codes of classes")
# In the record of a dataset, of the grid that was made where no raster gave one.
LAID = "pixels over the areas, as there are no covariates"


def of_polygons(ds: xr.Dataset) -> bool:
    """Whether individuals are small polygons."""
    return "individual_geometry" in ds.coords


def on_own_grid(ds: xr.Dataset) -> bool:
    """Whether individuals are pixels of a grid that was laid over the areas."""
    return LAID in str(ds.attrs.get("treatments", ""))


def reprojected(ds: xr.Dataset, to: str) -> str:
    """The command that brings data of this kind into another CRS.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    to : str
        The CRS, as GDAL reads it.

    Returns
    -------
    str
        A phrase without its full stop: of polygons where there are no rasters.

    Examples
    --------
    >>> reprojected(xr.Dataset(coords={"individual_geometry": []}), "EPSG:32633").split(",")[0]
    'ogr2ogr -t_srs EPSG:32633 NEW.gpkg OLD.gpkg'
    """
    if of_polygons(ds) or on_own_grid(ds):
        return f"ogr2ogr -t_srs {to} NEW.gpkg OLD.gpkg, or GeoDataFrame.to_crs in Python"
    return f"{gdalwarp(f'-t_srs {to}')}; polygons follow by themselves"


def gdalwarp(to: str) -> str:
    """The commands that bring rasters elsewhere, by what the rasters hold.

    Parameters
    ----------
    to : str
        Options of gdalwarp that say where to, such as ``-t_srs EPSG:32633``.

    Returns
    -------
    str
        A phrase without its full stop.

    Examples
    --------
    >>> gdalwarp("-t_srs EPSG:32633").split(" with ")[0]
    'gdalwarp -t_srs EPSG:32633'
    """
    return f"gdalwarp {to} with {RESAMPLING}"
