"""The five CMIP6 fields of Chau et al. 2021 from files that the user has from ESGF."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.checks import choose, reading, require
from workbench.datasets.climate.months import months
from workbench.datasets.downloads import VARIABLE
from workbench.geo.netcdf import netcdf_engine

#: Variable: CF standard name, table, and source, experiment, member and grid label of its file.
VARIABLES = {
    "ttop": ("air_temperature_at_cloud_top", "AERmon", "CNRM-CM6-1-HR_hist-1950_r1i1p1f2_gr"),
    "clt": ("cloud_area_fraction", "Amon", "HadGEM3-GC31-HM_hist-1950_r1i1p1f1_gn"),
    "albisccp": ("cloud_albedo", "CFmon", "HadGEM3-GC31-HM_hist-1950_r1i1p1f1_gn"),
    "pctisccp": ("air_pressure_at_cloud_top", "CFmon", "HadGEM3-GC31-HM_hist-1950_r1i1p1f1_gn"),
    "orog": ("surface_altitude", "fx", "HadGEM3-GC31-HM_hist-1950_r1i1p1f1_gn"),
}
NAMES = {"ttop": "temperature", "clt": "cloud_cover", "albisccp": "cloud_albedo",
         "pctisccp": "pressure", "orog": "altitude"}
LATITUDES, LONGITUDES = 360, 720


def file_pattern(variable: str) -> str:
    """Name of a variable's file as ESGF writes it, with ``*`` for the years.

    Parameters
    ----------
    variable : str
        One of `VARIABLES`.

    Returns
    -------
    str
        File name.
    """
    _, table, rest = VARIABLES[variable]
    return f"{variable}_{table}_{rest}{'' if table == 'fx' else '_*'}.nc"


def read_fields(directory: str | Path | None, date: str) -> xr.Dataset:
    """One month of the five fields on one grid of 360 x 720.

    The grid is that of ``ttop`` where it has this size, else a regular one of half a degree; the
    other fields are interpolated to it linearly, across the date line, and continued to the poles
    by their nearest row. Gaps stay gaps.

    Parameters
    ----------
    directory : str or Path, optional
        Folder with the NetCDF files, or the one above its subfolder ``cmip6``; ``WORKBENCH_DATA``
        if not given. Variables are found by standard name, else by name.
    date : str
        Month, ``"1950-03"``.

    Returns
    -------
    xr.Dataset (lat, lon)
        temperature, cloud_cover, cloud_albedo, pressure, altitude in the files' units.

    Raises
    ------
    InputError
        If a variable or the month is missing, or found in several files; the message names the
        ESGF file that has it.
    """
    given = directory or os.environ.get(VARIABLE)
    require(given is not None, f"the CMIP6 fields are the user's own; pass directory=... or set "
            f"{VARIABLE} to a folder with {', '.join(map(file_pattern, VARIABLES))} from ESGF")
    folder = Path(given)
    require(folder.is_dir(), f"{str(folder)!r} is not a directory")
    paths = sorted({*folder.glob("*.nc"), *(folder / "cmip6").glob("*.nc")})
    fields = {name: _month(name, paths, date, folder) for name in VARIABLES}
    target = fields["ttop"]
    own = target.shape == (LATITUDES, LONGITUDES)
    if own:
        grid = target["lat"].values, target["lon"].values
    else:
        step = 180 / LATITUDES
        grid = -90 + step * (np.arange(LATITUDES) + 0.5), step * (np.arange(LONGITUDES) + 0.5)
    return xr.Dataset({NAMES[name]: on_globe(field, *grid) for name, field in fields.items()},
                      attrs={"grid": "of ttop" if own else "regular, half a degree"})


def on_globe(field: xr.DataArray, north: np.ndarray, east: np.ndarray) -> xr.DataArray:
    """A field on longitudes that go round the globe, interpolated linearly to another grid.

    Parameters
    ----------
    field : xr.DataArray (lat, lon)
        Longitudes in degrees, ascending within one turn, with at most a few missing at the seam.
    north, east : array (rows,), (columns,)
        Latitudes and longitudes of the new grid; beyond the field's last latitudes its nearest
        row holds.

    Returns
    -------
    xr.DataArray (lat, lon)
        On the new grid.
    """
    field = field.assign_coords(lon=field["lon"] % 360).sortby("lon").sortby("lat")
    last, first = field.isel(lon=[-1]), field.isel(lon=[0])
    closed = xr.concat([last.assign_coords(lon=last["lon"] - 360), field,
                        first.assign_coords(lon=first["lon"] + 360)], "lon")
    low, high = float(field["lat"].min()), float(field["lat"].max())
    found = closed.interp(lat=np.clip(north, low, high), lon=np.asarray(east) % 360,
                          method="linear")
    return found.assign_coords(lat=("lat", north, {"units": "degrees_north"}),
                               lon=("lon", east, {"units": "degrees_east"}))


def _month(name: str, paths: list[Path], date: str, folder: Path) -> xr.DataArray:
    """The variable's field in the month, from the one file that has it."""
    standard, table, _ = VARIABLES[name]
    wanted = f"{name} (standard name {standard}, table {table}; ESGF file {file_pattern(name)})"
    found, seen = [], []
    for path in paths:
        with reading(path, "NetCDF", "to download it again, or take it out of the folder"):
            # Models' calendars of 360 days need no further package when read as plain numbers.
            opened = xr.open_dataset(path, engine=netcdf_engine(path), decode_times=False)
        with opened as ds:
            hits = [n for n, v in ds.data_vars.items() if v.attrs.get("standard_name") == standard]
            hits = hits or [n for n in ds.data_vars if n == name]
            if not hits:
                continue
            field = ds[choose(f"variable {name} in {path.name}", name, hits) if len(hits) > 1
                       else hits[0]]
            seen.append(path.name)
            if "time" in field.dims:
                time = ds["time"].attrs
                there = months(ds["time"].values, time.get("units", ""),
                               time.get("calendar", "standard"))
                if date not in there:
                    continue
                field = field.isel(time=there.index(date), drop=True)
            found.append((path.name, _plain(field, path.name).load()))
    require(bool(seen), f"no file in {str(folder)!r} has {wanted}")
    require(bool(found), f"{', '.join(seen)} in {str(folder)!r} do not have the month {date} of "
            f"{wanted}")
    require(len(found) == 1, f"several files have {name} of {date}: {[n for n, _ in found]}; keep "
            "one of them in the folder")
    return found[0][1]


def _plain(field: xr.DataArray, file: str) -> xr.DataArray:
    """The field with dimensions lat and lon alone."""
    field = field.squeeze(drop=True)
    field = field.rename({d: str(d)[:3] for d in field.dims if d in ("latitude", "longitude")})
    require(set(field.dims) == {"lat", "lon"}, f"{field.name} in {file} has dimensions "
            f"{field.dims}; expected latitude and longitude")
    kept = {k: v for k, v in field.attrs.items() if k in ("units", "long_name", "standard_name")}
    return field.transpose("lat", "lon").astype(float).assign_attrs(kept).drop_vars(
        [c for c in field.coords if c not in ("lat", "lon")])
