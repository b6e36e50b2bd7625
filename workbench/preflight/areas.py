"""What areas can carry: enough pixels, totals that agree with their parents', places in metres."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr
from scipy.special import betaincinv, gammaincinv

from workbench import schema
from workbench.bagging import bag_values
from workbench.bagging.degrees import NARROW, ratio_at
from workbench.bagging.findings import NOTE, WARNING, Finding
from workbench.bagging.tables import read_table
from workbench.bagging.warping import on_own_grid, reprojected
from workbench.checks import InputError, choose, option, package, require
from workbench.geo.grids import MOST_CELLS
from workbench.geo.ids import as_text
from workbench.geo.joining import made_one
from workbench.geo.points import POINT

SMALL = 2.0                 # pixels below which an area has no inside
FEW_EVENTS = 30             # below which even the overall rate is off by a third
_MANY = 0.1                 # share of small areas that is worth a warning
_EXACT, _CLOSE = 1e-6, 0.01     # relative differences of totals: rounding; another year, perhaps


def small(ds: xr.Dataset) -> list[Finding]:
    """Areas of one pixel, or of less than one, and areas of one individual that are no points.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    list of Finding
        A warning where they are a tenth of the areas or more, else a note.
    """
    areas, member = ds.sizes[schema.BAG], ds["membership"].values
    count = np.bincount(member, minlength=areas)
    if "coverage" in ds.coords:
        size = np.bincount(member, ds["coverage"].values, areas)
        kinds = (("sub-pixel", size < 1 - 1e-6, "smaller than one pixel"),
                 ("one-pixel", (size >= 1 - 1e-6) & ((size < SMALL) | (count == 1)),
                  f"of one pixel to {SMALL:g}"))
        fix = "take rasters of finer pixels"
        if on_own_grid(ds):
            side = min(2 * max(ds.attrs["grid_shape"]), MOST_CELLS)
            fix = f"take smaller pixels by {option('grid_size', side)}"
    elif ds.attrs.get("level") == POINT and (count == 1).all():
        return []                   # as points are
    else:
        kinds = (("one-individual", count == 1, "of one individual"),)
        fix = "take individuals of a finer level"
    found = []
    for code, which, told in kinds:
        if which.any():
            found.append(Finding(
                code, f"{int(which.sum())} of {areas} areas are {told}",
                f"{fix}, or join small areas to their neighbours by {option('areas', areas // 2)}",
                where=_ids(ds, which), count=int(which.sum()),
                severity=WARNING if which.mean() > _MANY and areas > 1 else NOTE,
                effect="their totals count, but the map has no detail inside them"))
    return found


def degrees(ds: xr.Dataset) -> list[Finding]:
    """Coordinates in degrees, of which one of longitude is shorter than one of latitude.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    list of Finding
        At most one.
    """
    if "y" not in ds.coords or not ds.attrs.get("crs"):
        return []
    crs = package("pyproj", extra="geo").CRS.from_user_input(ds.attrs["crs"])
    if not crs.is_geographic:
        return []
    ratio = ratio_at(ds["y"].values)
    reach = (f"{float(ds['x'].min()):.3g} to {float(ds['x'].max()):.3g}, latitude "
             f"{float(ds['y'].min()):.3g} to {float(ds['y'].max()):.3g}")
    return [Finding(
        "crs-degrees", f"coordinates are degrees (longitude {reach}): one of longitude is "
        f"{111.3 * ratio:.0f} km, one of latitude 111 km",
        f"use a projection of the place: {reprojected(ds, _projection(ds))}",
        where=(":".join(crs.to_authority() or ()) or crs.name,),
        severity=WARNING if ratio < NARROW else NOTE,
        effect=f"distances east to west count {1 / ratio:.2f} times what they should beside those "
               "north to south")]


def parents(ds: xr.Dataset, parent: str, given: object) -> list[Finding]:
    """Totals of areas beside those published for the larger areas that they belong to.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with values.
    parent : str
        Label of the areas that names the larger one.
    given : mapping, Series, table or path of a table
        Values of the larger areas: by id, or a table of two columns, id and value.

    Returns
    -------
    list of Finding
        Larger areas whose value differs, those without areas, and areas without one.
    """
    labels = [str(name) for name, one in ds.coords.items()
              if one.dims == (schema.BAG,) and one.dtype.kind in "UTO"
              and name not in schema.GEOMETRY]
    of = ds[choose("parent_label", parent, labels)].values.astype(str)
    names, member = np.unique(of, return_inverse=True)
    known = _published(given, str(ds["value"].attrs.get("long_name", "")))
    way = schema.aggregation(ds)
    weight = np.bincount(ds["membership"].values, ds["weight"].values, ds.sizes[schema.BAG])
    sums = dict(zip(names.tolist(), bag_values(
        ds["value"].values.astype(float), weight, member, names.size, way), strict=True))
    shared = [name for name in names.tolist() if name in known]
    require(bool(shared), f"none of the {len(known)} parents (first: {list(known)[:3]}) is among "
            f"the areas' labels {parent!r} (first: {names[:3].tolist()}); use the same ids in both")
    gap = {name: sums[name] - known[name] for name in shared}
    off = [n for n in shared if abs(gap[n]) > _EXACT * max(abs(known[n]), abs(sums[n]))]
    found = []
    if off:
        worst = max(off, key=lambda n: abs(gap[n]) / max(abs(known[n]), 1e-300))
        far = abs(gap[worst]) > _CLOSE * abs(known[worst])
        found.append(Finding(
            "parent-total", f"in {len(off)} of {len(shared)} parents ({parent}) the areas do not "
            f"give the published value (most: {worst!r} with {sums[worst]:,.6g} from its areas and "
            f"{known[worst]:,.6g} published)", "look for missing areas, another year or another "
            "definition, or correct the column", where=tuple(off), count=len(off),
            severity=WARNING if far else NOTE,
            effect="the map follows the areas' values; published ones are compared, and not kept"))
    alone = [name for name in names.tolist() if name not in known]
    without = [name for name in known if name not in sums]
    for left, told in ((without, "published for parents that have no areas here"),
                       (alone, "not published for these parents")):
        if left:
            found.append(Finding(
                "parent-unmatched", f"{len(left)} values are {told}", "use the same ids in both, "
                "or complete the table", where=tuple(left), count=len(left), severity=NOTE,
                effect="these were not compared"))
    return found


def few_events(ds: xr.Dataset) -> list[Finding]:
    """So few events in all that they give little more than the overall rate.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with values.

    Returns
    -------
    list of Finding
        At most one, of counts that add up and of positives out of trials; of these the negatives
        count where they are fewer.
    """
    if "trials" not in ds and not schema.counts_add_up(ds):
        return []
    value = ds["value"].values.astype(float)
    events, name = float(value.sum()), "events"
    if "trials" in ds:
        tested = float(ds["trials"].values.sum())
        events, name = min((events, "positives"), (tested - events, "negatives"))
    if not 0 < events < FEW_EVENTS:
        return []
    if "trials" in ds:          # Clopper and Pearson's, else Garwood's: exact
        low, high = betaincinv([events, events + 1], [tested - events + 1, tested - events],
                               [0.025, 0.975]) * tested / events
    else:
        low, high = gammaincinv([events, events + 1], [0.025, 0.975]) / events
    return [Finding(
        "few-events", f"{events:,.6g} {name} in all, in {value.size} areas", "add up several "
        "years or surveys; compare with one rate for all", count=int(events), severity=WARNING,
        effect=f"they give the overall rate of {name} within {low:.2g} and {high:.2g} times itself "
        "(95 %), and hardly where it is high")]


def inside(ds: xr.Dataset) -> list[Finding]:
    """Areas whose value is not what the known values inside add up to.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset; without ``individual_value`` there is nothing to compare.

    Returns
    -------
    list of Finding
        At most one.
    """
    if "individual_value" not in ds or "trials" in ds:
        return []
    sums = bag_values(ds["individual_value"].values.astype(float), ds["weight"].values,
                      ds["membership"].values, ds.sizes[schema.BAG], schema.aggregation(ds))
    value = ds["value"].values.astype(float)
    off = np.abs(sums - value) > _EXACT * np.maximum(np.abs(sums), np.abs(value))
    if not off.any():
        return []
    first = int(np.argmax(np.abs(sums - value)))
    return [Finding(
        "parent-total", f"in {int(off.sum())} of {off.size} areas the values of the individuals do "
        f"not give the area's (most: {str(ds[schema.BAG].values[first])!r} with {sums[first]:,.6g} "
        f"inside and {value[first]:,.6g} as a whole)", "look for missing individuals or another "
        "definition", where=_ids(ds, off), count=int(off.sum()), severity=WARNING,
        effect="scores against the known individuals will be off")]


def _ids(ds: xr.Dataset, which: np.ndarray) -> tuple[str, ...]:
    return tuple(ds[schema.BAG].values[which].astype(str).tolist())


def _published(given: object, value: str) -> dict[str, float]:
    """Values by id of whatever they were given as; those that are missing are not published."""
    if isinstance(given, str | Path):
        path = Path(given)
        given = read_table(path, text=read_table(path).columns[:1])     # ids keep their zeros
    if hasattr(given, "columns"):
        given = _by_id(given, value)
    require(isinstance(given, Mapping) or hasattr(given, "items"),
            "parents are a mapping of id to value, or a table with ids in its first column")
    known = {as_text(name): float(number) for name, number in given.items()}
    known = {name: number for name, number in known.items() if not np.isnan(number)}
    require(bool(known), "no parent has a value")
    return known


def _by_id(table, value: str):
    """The column of a table that has the parents' values, by id: as the areas' is called."""
    columns = [str(name) for name in table.columns[1:]]
    numeric = [name for name in columns if table[name].dtype.kind in "iuf"]
    if value in columns and value not in numeric:
        raise InputError(f"column {value!r} of the table of parents does not hold numbers (first: "
                         f"{table[value].iloc[0]!r}); write them without marks of thousands")
    require(bool(numeric), "the table of parents needs their ids in its first column and their "
            f"values, as numbers, in another one; it has {list(table.columns)}")
    require(value in numeric or len(numeric) == 1, f"the table of parents has several columns of "
            f"numbers, {', '.join(numeric)}; call that of the values {value!r}, as the areas' is")
    ids = table.iloc[:, 0]
    twice = ids[ids.duplicated()].unique().tolist()
    require(not twice, f"{len(twice)} parents have several rows (first: {twice[:3]})"
            + made_one(table, ids, ", one row for each"))
    return table.set_index(table.columns[0])[value if value in numeric else numeric[0]]


def _projection(ds: xr.Dataset) -> str:
    """A projection for the place: of UTM where that is wide enough, else an equal-area one."""
    x, y = ds["x"].values, ds["y"].values
    if np.ptp(x) <= 12:
        zone = int((float(x.mean()) + 180) % 360 // 6) + 1
        return f"EPSG:{32600 + zone if y.mean() >= 0 else 32700 + zone}"
    return (f"'+proj=laea +lat_0={float(y.mean()):.0f} +lon_0={float(x.mean()):.0f} "
            "+datum=WGS84 +units=m'")
