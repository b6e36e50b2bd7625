"""Rasters larger than memory bagged by polygons: some neighbouring areas at a time."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import xarray as xr
from tqdm import tqdm

from workbench import schema
from workbench.checks import (
    DataWarning,
    NothingLeft,
    option,
    package,
    require,
    warn,
    without_warnings,
)
from workbench.checks.values import whole
from workbench.labelled.condensing import MOST, condensed, told
from workbench.labelled.source import to_bags

AT_ONCE = 100       # areas whose pixels are in memory together
LOOKED_AT = 5       # windows that say on which scale covariates are compared
OVERLAP = 1e-3      # share of the areas: borders drawn twice overlap by as little
FAR = 20            # times its areas' own extents, beyond which a window is divided
#: Options of `bag_polygons` that look at all areas at once.
TOGETHER = ("time", "totals", "join", "classes", "class_labels", "duplicates")
DROPPING = ("missing_value", "empty", "missing")
_SHARE = r"of the weight \([\d.]+%\) lies "      # of a window's weight, which means nothing


def bag_in_parts(polygons: object, covariates: object = None, weight: object = None,
                 value: str | None = None, *, most: int = MOST, at_once: int = AT_ONCE,
                 progress: bool = False, **options) -> xr.Dataset:
    """Bag rasters larger than memory by polygons: some areas at a time, each condensed at once.

    `bag_polygons` reads the window around neighbouring areas alone, `condense` leaves clusters of
    their pixels, and these are put together.

    Parameters
    ----------
    polygons, covariates, weight, value
        As of `bag_polygons`; rasters as paths, so that no more of them is read than a window.
    most : int
        Most clusters of an area.
    at_once : int
        Areas that are bagged together; memory grows with the window around them.
    progress : bool
        Whether to show a bar.
    **options
        Others of `bag_polygons`, but for those that look at all areas at once: a table of totals,
        periods, classes, and polygons that share an id. What lies outside all areas cannot be told
        from a window. Where areas are to be dropped, a window may have none left.

    Returns
    -------
    xr.Dataset
        As of `condense`, areas in the order of the polygons; ``treatments`` says in how many parts
        each note was made.

    Raises
    ------
    InputError
        As `bag_polygons` and `condense`; for options that need all areas at once; and if no raster
        gives the pixels.

    Examples
    --------
    >>> import geopandas, numpy as np, rioxarray, shapely, xarray as xr, workbench as wb
    >>> areas = geopandas.GeoDataFrame(
    ...     {"cases": [3, 8]}, geometry=shapely.box([0, 2000], 0, [2000, 4000], 2000),
    ...     crs="EPSG:32633")
    >>> height = xr.DataArray(
    ...     np.random.default_rng(0).normal(size=(4, 8)), dims=("y", "x"), name="height",
    ...     coords={"y": 1750.0 - 500 * np.arange(4), "x": 250.0 + 500 * np.arange(8)})
    >>> ds = wb.bag_in_parts(areas, height.rio.write_crs("EPSG:32633"), "uniform", "cases",
    ...                      most=5, at_once=1)
    >>> ds.sizes["bag"], ds.sizes["individual"]
    (2, 10)
    """
    from workbench.geo import bag_polygons  # here: a fit alone needs no geospatial packages
    from workbench.geo.areas import read_polygons
    from workbench.geo.attributes import require_column
    from workbench.geo.cell_columns import named_in
    from workbench.geo.coverage import LEFT_OUT
    from workbench.geo.ids import as_text
    from workbench.geo.treatments import Record
    from workbench.geo.windows import windows_alone

    most, at_once = whole("most", most, 1), whole("at_once", at_once, 1)
    _refuse(covariates, weight, options)
    record = Record()
    areas = read_polygons(polygons, record, crs=options.pop("polygon_crs", None),
                          layer=options.pop("layer", None), nodata=options.get("nodata"),
                          columns=named_in({"value": value, **options}),
                          marks=options.get("marks", "error"))
    if options.get("id") is not None:
        require_column(areas, options["id"], "id")
    ids = areas.index if options.get("id") is None else areas[options["id"]]
    require(ids.is_unique, f"two areas have the same id ({np.asarray(ids)[ids.duplicated()][:1]}); "
            f"unite them first, or name another column: {option('id')}")
    _refuse_overlaps(areas, options.get("overlap"))
    options = {"outside": "report"} | options

    def bagged(window: np.ndarray) -> xr.Dataset:
        with windows_alone():
            return bag_polygons(areas.iloc[window], covariates, weight, value, **options)

    windows = _windows(areas, at_once)
    spread = _spread(windows, bagged, options)
    found, notes, empty = [], [str(record)], []
    for window in tqdm(windows, disable=not progress, desc="areas", unit="part"):
        try:
            part = bagged(window)
        except NothingLeft as error:
            if not _drops(options):
                raise
            empty.append((window, error))
            continue
        found.append((part.sizes[schema.INDIVIDUAL], condensed(part, to_bags(part), spread, most)))
        notes.append(part.attrs["treatments"])
    if not found:
        raise empty[0][1]
    if empty:
        left = np.concatenate([window for window, _ in empty])
        said = (f"{len(left)} areas were left out, with all that were read with them (first: "
                f"{np.asarray(ids)[left[0]]}): {empty[0][1]}")
        warn(said, DataWarning)
        notes.append(said)
    ds = _together(found, dict(zip(map(as_text, ids), range(len(ids)), strict=True)), notes)
    lost = sum(part.attrs.get("left_out_weight", 0.0) for _, part in found)
    if lost:                    # of windows without an area nobody has counted it
        ds.attrs |= {"treatments": f"{ds.attrs['treatments']}\n{'at least ' if empty else ''}"
                                   f"{lost:,.6g} of the weight {LEFT_OUT}"}
        ds.attrs |= {} if empty else {"left_out_weight": lost}
    return ds


def _refuse(covariates: object, weight: object, options: dict) -> None:
    """Refuse options that look at all areas at once, or make a grid of their own for each part."""
    given = [name for name in TOGETHER if options.get(name) not in (None, "error")]
    require(not given, f"{', '.join(map(option, given))} cannot be used in parts, as all areas are "
            "needed at once; join tables and unite polygons before, and give shares of classes "
            "as rasters")
    require(options.get("outside") != "error", "in parts nobody can tell what lies outside all "
            f"areas; leave out {option('outside', 'error')}")
    words = (None, "area", "uniform")
    require(covariates is not None or not (weight is None or isinstance(weight, str)
                                           and weight in words),
            "without a raster nothing is larger than memory, and each part would have a grid of "
            "its own: use bag_polygons")


def _refuse_overlaps(areas, overlap: str | None) -> None:
    """Refuse polygons that lie over each other, as far as it matters, unless that is asked for."""
    pairs = np.concatenate([areas.sindex.query(areas.geometry, predicate=how).T
                            for how in ("overlaps", "contains_properly")])
    first, second = pairs[pairs[:, 0] != pairs[:, 1]].T
    both = areas.geometry.to_numpy()
    shared = _shared(both[first], both[second]) if len(first) else np.zeros(0)
    # "overlaps" has each pair twice
    once = np.unique(np.sort(np.column_stack([first, second]), 1), axis=0, return_index=True)[1]
    share = shared[once].sum() / package("shapely", extra="geo").area(both).sum()
    require(share <= OVERLAP or overlap == "keep", f"{len(once)} pairs of areas overlap, by "
            f"{share:.1%} of their extent; correct the polygons, or pass "
            f"{option('overlap', 'keep')} to count what they share in each")


def _shared(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Area of what pairs of polygons share."""
    shapely = package("shapely", extra="geo")
    return shapely.area(shapely.intersection(one, other))


def _drops(options: dict) -> bool:
    return any(options.get(name) == "drop" for name in DROPPING)


def _windows(areas, at_once: int) -> list[np.ndarray]:
    """Positions of neighbouring areas, at most so many together and none far from the others."""
    order = np.argsort(areas.hilbert_distance().to_numpy(), kind="stable")
    bounds = areas.bounds.to_numpy()
    own = np.prod(bounds[:, 2:] - bounds[:, :2], axis=1)

    def divided(window: np.ndarray) -> list[np.ndarray]:
        around = bounds[window, 2:].max(0) - bounds[window, :2].min(0)
        if len(window) == 1 or np.prod(around) <= FAR * own[window].sum():
            return [window]
        half = len(window) // 2
        return divided(window[:half]) + divided(window[half:])

    return [part for start in range(0, len(order), at_once)
            for part in divided(order[start:start + at_once])]


def _spread(windows: list[np.ndarray], bagged: Callable, options: dict):
    """Of each input, over windows from all over the map: clusters are made on one scale."""
    chosen = np.unique(np.linspace(0, len(windows) - 1, LOOKED_AT).round().astype(int))
    count, origin, total, squares, wrong = 0, 0.0, 0.0, 0.0, None
    for k in chosen:
        try:
            with without_warnings():    # all are bagged again, and say it then
                x = to_bags(bagged(windows[k])).x
        except NothingLeft as error:
            if not _drops(options):
                raise
            wrong = error
            continue
        # Squares of what is far from zero would be lost to rounding.
        origin = x.mean(0) if count == 0 else origin
        count, total = count + len(x), total + (x - origin).sum(0)
        squares = squares + (x - origin).square().sum(0)
    if not count:
        raise wrong
    return ((squares - total.square() / count).clamp_min(0) / max(count - 1, 1)).sqrt()


def _together(found: list[tuple[int, xr.Dataset]], positions: dict[str, int], notes: list[str]
              ) -> xr.Dataset:
    """Parts as one dataset, bags by their positions."""
    parts = [part for _, part in found]
    first = parts[0]
    for part in parts[1:]:
        require(part["covariate"].equals(first["covariate"]), "areas of one window have the "
                f"covariates {first['covariate'].values.tolist()}, those of another "
                f"{part['covariate'].values.tolist()}")
    bags = xr.concat([part.drop_dims(schema.INDIVIDUAL) for part in parts], schema.BAG,
                     combine_attrs="override")
    rank = np.argsort(np.argsort([positions[name] for name in bags[schema.BAG].values.astype(str)]))
    starts = np.cumsum([0, *(part.sizes[schema.BAG] for part in parts)])
    members = np.concatenate([rank[part["membership"].values + start]
                              for part, start in zip(parts, starts, strict=False)])
    individuals = xr.concat([part.drop_dims(schema.BAG).drop_vars("membership") for part in parts],
                            schema.INDIVIDUAL, combine_attrs="override")
    ordered = individuals.isel({schema.INDIVIDUAL: np.argsort(members, kind="stable")})
    ds = xr.merge([bags.isel({schema.BAG: np.argsort(rank)}),
                   ordered.assign_coords(individual=np.arange(len(members)))],
                  compat="override", combine_attrs="override")
    ds["membership"] = schema.INDIVIDUAL, np.sort(members)
    lost = re.search(r", without (.*)", first.attrs["condensed"])
    ds.attrs = {name: value for name, value in first.attrs.items()
                if not name.startswith(("outside_", "left_out_"))} | {
        "condensed": told(sum(count for count, _ in found), len(members),
                          lost[1].split(", ") if lost else []),
        "treatments": _noted(notes, len(parts))}
    return schema.check(ds)


def _noted(notes: list[str], parts: int) -> str:
    """Notes of all parts, those that differ in their numbers alone as one, with an example."""
    kinds: dict[str, list[str]] = {}
    for note in (one for text in notes for one in text.split("\n")):
        if note and note != "none" and not re.search(_SHARE, note):
            kinds.setdefault(re.sub(r"[\d.,%]+", "#", note), []).append(note)
    told_of = [same[0] if len(same) == 1 else f"{same[0]} (and so in {len(same)} of {parts} parts)"
               for same in kinds.values()]
    return "\n".join([f"bagged in {parts} parts", *told_of])
