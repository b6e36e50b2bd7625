"""Maps of neighbourhoods from districts' deaths, ours beside other libraries': cases of `peers`.

Each case is told as the peer's own documentation has it. The score is the relative error of the
neighbourhoods' deaths, the sum of absolute errors over all deaths; all maps are given the totals of
the districts, and theirs scaled to them where they do not keep them. Needs the packages of each
case, which no extra installs: ``pip install pyinterpolate tobler rasterio``.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import geopandas as gpd
import numpy as np
import xarray as xr

import workbench as wb
from workbench.evaluation.baselines import DasymetricClasses, PoissonKriging
from workbench.evaluation.folding import subset

CAPITAL = ("Seoul", "Incheon", "Gyeonggi-do")
CELL = 0.5          # km, of rasters that peers need
LAG, REACH = 20.0, 200.0        # km, of the variogram


def korea() -> xr.Dataset:
    """Deaths of the capital's 77 districts over 1,122 neighbourhoods, whose own are known.

    Of all Korea the peers would need minutes, and rasters of 500 million cells.
    """
    ds = wb.load("korea", level="district")
    return subset(ds, np.flatnonzero(np.isin(ds["province"].values, CAPITAL)))


def _told(ds: xr.Dataset) -> str:
    return f"{ds.sizes['bag']} districts to {ds.sizes['individual']:,} neighbourhoods"


def frames(ds: xr.Dataset) -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame]:
    """Districts with their deaths, and neighbourhoods with their people."""
    crs = ds.attrs["crs"]
    areas = gpd.GeoDataFrame({"code": ds["bag"].values, "deaths": ds["value"].values},
                             geometry=ds["bag_geometry"].values, crs=crs)
    places = gpd.GeoDataFrame({"people": ds["weight"].values},
                              geometry=ds["individual_geometry"].values, crs=crs)
    return areas, places


def error(ds: xr.Dataset) -> Callable[[np.ndarray], float]:
    """The score of expected deaths, once they are scaled to the districts' totals."""
    members, known = ds["membership"].values, ds["individual_value"].values

    def score(found: np.ndarray) -> float:
        found = np.nan_to_num(np.clip(found, 0, None)) + 1e-9
        total = np.bincount(members, found)
        kept = found * (ds["value"].values / total)[members]
        return float(np.abs(kept - known).sum() / known.sum())

    return score


def kriging() -> tuple[str, str, Callable, Callable, Callable]:
    """Area-to-point Poisson kriging: the variogram of points deconvolved, rates of points."""
    import pyinterpolate as pi

    ds = korea()
    areas, places = frames(ds)
    people = np.bincount(ds["membership"].values, ds["weight"].values)
    areas["rate"] = 1e5 * areas["deaths"] / people
    points = gpd.GeoDataFrame({"people": places["people"], "place": np.arange(len(places))},
                              geometry=gpd.points_from_xy(ds["x"].values, ds["y"].values),
                              crs=areas.crs)

    def ours() -> np.ndarray:
        fit = PoissonKriging().fit(ds)
        return fit.expected(ds, preserve_totals=False).values

    def theirs() -> np.ndarray:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            blocks = pi.Blocks(ds=areas, value_column_name="rate", geometry_column_name="geometry",
                               index_column_name="code")
            support = pi.PointSupport(blocks=blocks, points=points, points_value_column="people",
                                      points_geometry_column="geometry")
            model = pi.Deconvolution(verbose=False)
            model.fit_transform(blocks=blocks, point_support=support, step_size=LAG,
                                max_range=REACH, nugget=0)
            found = {}
            for code in areas["code"]:
                found |= pi.area_to_point_pk(
                    model.final_theoretical_model, support, code, number_of_neighbors=8,
                    raise_when_negative_prediction=False, raise_when_negative_error=False)
        table = np.concatenate(list(found.values()))
        at = {(round(x, 3), round(y, 3)): share for x, y, share, _ in table}
        return np.array([at.get((round(x, 3), round(y, 3)), np.nan)
                         for x, y in zip(ds["x"].values, ds["y"].values, strict=True)])

    return f"area-to-point kriging, {_told(ds)}", "pyinterpolate", ours, theirs, error(ds)


def smooth() -> tuple[str, str, Callable, Callable, Callable]:
    """Pycnophylactic interpolation beside class dasymetric mapping, both keep totals."""
    from tobler.pycno import pycno_interpolate

    ds = korea()
    areas, places = frames(ds)

    def theirs() -> np.ndarray:
        return pycno_interpolate(areas, places, ["deaths"], CELL)["deaths"].values

    return (f"maps that keep totals, {_told(ds)}", "tobler, pycnophylactic", lambda: _classes(ds),
            theirs, error(ds))


def masked() -> tuple[str, str, Callable, Callable, Callable]:
    """Dasymetric mapping on where people live densely, beside ours on covariates and people."""
    import rasterio
    from rasterio.features import rasterize
    from tobler.dasymetric import masked_area_interpolate

    ds = korea()
    areas, places = frames(ds)
    dense = places["people"] / places.geometry.area
    west, south, east, north = places.total_bounds
    transform = rasterio.Affine(CELL, 0, west, 0, -CELL, north)
    shape = int(np.ceil((north - south) / CELL)), int(np.ceil((east - west) / CELL))
    lived = rasterize(zip(places.geometry, 1 + (dense > dense.median()).astype(int), strict=True),
                      shape, transform=transform, fill=0, dtype="uint8")
    path = Path(tempfile.mkdtemp()) / "dense.tif"
    with rasterio.open(path, "w", driver="GTiff", height=shape[0], width=shape[1], count=1,
                       dtype="uint8", crs=areas.crs, transform=transform) as file:
        file.write(lived, 1)

    def theirs() -> np.ndarray:
        found = masked_area_interpolate(areas, places, str(path), [2],
                                        extensive_variables=["deaths"], n_jobs=1)
        return found["deaths"].values

    return (f"maps that keep totals, on a mask, {_told(ds)}", "tobler, dasymetric",
            lambda: _classes(ds), theirs, error(ds))


def _classes(ds: xr.Dataset) -> np.ndarray:
    return DasymetricClasses().fit(ds).expected(ds).values
