"""A forecast of 1.5 km around the Irish Sea: potential temperature and orography."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import xarray as xr

from workbench.bagging import bag_blocks
from workbench.checks import require
from workbench.datasets.packaged import packaged_file

#: Heights of the model levels over flat ground, metres.
LEVELS = {1: 5, 4: 75, 7: 205, 10: 395, 13: 645, 16: 955, 19: 1325}
HOURS = (10, 11, 12)
_OROGRAPHY, _POTENTIAL_TEMPERATURE = 33, 4      # STASH items
_RADIUS_KM = 6371.229                           # the model's sphere
_INTEGERS, _REALS = 45, 19                      # of a PP header, 64 words
# The model's grid is regular in degrees about a pole at 37.5 N 177.5 E, on whose equator it lies:
# cylindrical kilometres are true to 0.13 % everywhere in it.
CRS_KM = ("+proj=ob_tran +o_proj=eqc +o_lon_p=0 +o_lat_p=37.5 +lon_0=357.5 +R=6371229 +units=km "
          "+no_defs")


def load(
    level: int = 1,
    hour: int = 10,
    block: int = 12,
    mediators: Sequence[str] = ("theta_19", "x", "y"),
    covariates: Sequence[str] = ("orography",),
) -> xr.Dataset:
    """UK temperature (model): potential temperature of 1.5 km pixels, seen as means of blocks.

    The mediator is potential temperature 1.3 km above ground, in block means: air above most of
    the boundary layer, of the scale that global analyses know everywhere. It shares the weather
    of the air below, but hardly its answer to the ground: at ten o'clock its block means have a
    correlation of 0.67 with those of the target, and of 0.22 with those of the orography.

    Parameters
    ----------
    level : int
        Model level of the target: 1, 4, 7, 10, 13, 16 or 19 (5 m to 1,325 m above flat ground);
        values are in steps of 1/8 K, as stored.
    hour : int
        10, 11 or 12 o'clock UTC on 19 November 2009.
    block : int
        Side of a block in pixels.
    mediators, covariates : sequence of str
        ``orography``, ``theta_<level>`` of the same hour; mediators also ``x``, ``y`` (centres of
        blocks). Other levels are covariates only where they are named here, as they tell nearly
        all about the target.

    Returns
    -------
    xr.Dataset
        Kelvin; orography in metres; x and y km on the rotated-pole plane of ``ds.attrs["crs"]``.

    Raises
    ------
    ImportError
        If the package iris-sample-data (extra "data") is not installed.

    References
    ----------
    Met Office, file uk_hires.pp of iris-sample-data 2.5.2, Open Government Licence.
    """
    require(level in LEVELS, f"level {level} is not in the file; choose from {list(LEVELS)}")
    require(hour in HOURS, f"hour {hour} is not in the file; choose from {list(HOURS)}")
    fields = _fields(hour)
    ds = bag_blocks(fields, f"theta_{level}", covariates, mediators, block)
    ds.attrs |= {
        "title": f"Potential temperature {LEVELS[level]} m above ground, {hour} UTC "
                 "19 November 2009",
        "source": "Met Office UK model, 1.5 km (uk_hires.pp of iris-sample-data 2.5.2)",
        "licence": "Open Government Licence (attribution: Met Office)",
        "model_level": int(level), "hour": int(hour),
    }
    return ds


def read_pp(path: str) -> list[tuple[dict[str, object], np.ndarray]]:
    """Fields of a PP file of 32-bit, unpacked records, with the parts of headers used here.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    list of (dict, array (rows, columns))
        ``stash``, ``level``, ``hour`` of validity, and rotated ``longitude`` and ``latitude`` in
        degrees.

    Raises
    ------
    InputError
        If records are cut, packed, or not in this layout.
    """
    with open(path, "rb") as file:
        raw = file.read()
    fields, at = [], 0
    while at < len(raw):
        header, at = _record(raw, at)
        data, at = _record(raw, at)
        require(len(header) == 4 * (_INTEGERS + _REALS), "a PP header has 64 words; this is not a "
                "32-bit PP file")
        whole = np.frombuffer(header, ">i4", _INTEGERS)
        real = np.frombuffer(header, ">f4", _REALS, 4 * _INTEGERS).astype(float)
        rows, columns, packing = int(whole[17]), int(whole[18]), int(whole[20])
        require(packing == 0, f"packed PP fields (LBPACK = {packing}) cannot be read")
        values = np.frombuffer(data, ">f4", rows * columns).reshape(rows, columns).astype(float)
        vectors = _vectors(data[4 * rows * columns:])
        # Words 60 to 63: origin and step of y, origin and step of x; a step of zero means a vector.
        y0, dy, x0, dx = real[13:17]
        along_y = vectors[2] if dy == 0 else y0 + dy * np.arange(1, rows + 1)
        along_x = vectors[1] if dx == 0 else x0 + dx * np.arange(1, columns + 1)
        fields.append(({"stash": int(whole[41]), "level": int(whole[32]), "hour": int(whole[3]),
                        "latitude": along_y, "longitude": along_x}, values))
    return fields


def _record(raw: bytes, at: int) -> tuple[bytes, int]:
    """One Fortran record: its length in bytes before and after it."""
    size = int.from_bytes(raw[at:at + 4], "big")
    end = at + 4 + size
    require(len(raw) >= end + 4 and raw[end:end + 4] == raw[at:at + 4],
            f"the PP file is cut or damaged at byte {at}")
    return raw[at + 4:end], end + 4


def _vectors(extra: bytes) -> dict[int, np.ndarray]:
    """Vectors after the field, each behind a word 1000 * length + code (1 is x, 2 is y)."""
    found, at = {}, 0
    while at < len(extra):
        length, code = divmod(int.from_bytes(extra[at:at + 4], "big"), 1000)
        found[code] = np.frombuffer(extra, ">f4", length, at + 4).astype(float)
        at += 4 + 4 * length
    return found


@lru_cache(maxsize=3)
def _fields(hour: int) -> xr.Dataset:
    found = {}
    for about, values in read_pp(packaged_file("iris_sample_data", "sample_data", "uk_hires.pp")):
        if about["stash"] == _OROGRAPHY:
            found["orography"] = values, {"long_name": "orography", "units": "m"}
        elif about["stash"] == _POTENTIAL_TEMPERATURE and about["hour"] == hour:
            height = LEVELS[about["level"]]
            found[f"theta_{about['level']}"] = values, {
                "long_name": f"potential temperature {height} m above ground", "units": "K"}
        else:
            continue
        latitude, longitude = about["latitude"], about["longitude"]
    # Single precision leaves the longitudes uneven by 2 % of a step.
    east = np.linspace(longitude[0], longitude[-1], longitude.size) - 360
    return xr.Dataset(
        {name: (("y", "x"), values, attrs) for name, (values, attrs) in found.items()},
        coords={axis: (axis, _RADIUS_KM * np.deg2rad(degrees), {"units": "km"})
                for axis, degrees in (("y", latitude), ("x", east))},
        attrs={"crs": CRS_KM})
