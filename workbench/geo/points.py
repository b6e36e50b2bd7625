"""Points with values over rasters, and the pixels of rasters as places of their map."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging import assemble, looked_at
from workbench.bagging.findings import WARNING, counted, suspicious
from workbench.bagging.tables import numbers_of, require_columns
from workbench.checks import InputError, choose, option, package, require
from workbench.geo.areas import usable_values
from workbench.geo.attributes import texts
from workbench.geo.centres import place
from workbench.geo.child_rows import positive_rows
from workbench.geo.classes import with_classes, without_absent
from workbench.geo.derived import with_derived, with_distances
from workbench.geo.pixels import pixel_covariates
from workbench.geo.point_tables import names_of, points_table
from workbench.geo.rasters import read_rasters
from workbench.geo.resampling import aligned
from workbench.geo.shapes import coordinate_units, usable_crs
from workbench.geo.totals import survey_errors
from workbench.geo.treatments import CleaningOptions, Record, treatments_from

POINT = "point"             # level of a dataset whose areas are points


def bag_points(
    points: object,
    value: str,
    covariates: object = None,
    *,
    x: str | None = None,
    y: str | None = None,
    weight: str | None = None,
    trials: str | None = None,
    id: str | None = None,
    labels: Mapping[str, str] | None = None,
    kind: str = "continuous",
    value_units: str | None = None,
    points_crs: str | None = None,
    raster_crs: str | None = None,
    nodata: float | tuple[float, ...] | None = None,
    variable: str | tuple[str, ...] | None = None,
    classes: str | tuple[str, ...] | None = None,
    class_labels: Mapping[str, str] | None = None,
    distance_to: str | tuple[str, ...] | None = None,
    slope_of: str | None = None,
    layer: str | None = None,
    encoding: str | None = None,
    attrs: Mapping[str, str] | None = None,
    **treatments: str,
) -> xr.Dataset:
    """Values at points, with the covariates of the pixels they lie in: one bag for each point.

    Parameters
    ----------
    points : pandas.DataFrame, geopandas.GeoDataFrame, str or Path
        One row per point: CSV, Parquet, or a file of point features (GeoPackage, shapefile, ...).
    value : str
        Column with the value of each point.
    covariates : raster, sequence of rasters, or mapping of name to raster
        As of `workbench.bag_polygons`; others than the first are resampled to its grid. Without any
        the map follows place alone.
    x, y : str, optional
        Columns of the coordinates; those named x and y, lon and lat and the like if not given.
    weight : str, optional
        Column with the exposure behind a count, such as persons or years; one if not given.
    trials : str, optional
        Column with how many were tested at each point, of whom ``value`` were positive.
    id : str, optional
        Column that names the points; their row if not given.
    labels : mapping of coordinate to column, optional
        Labels kept of the points, e.g. ``{"region": "Name_1"}``.
    kind : {"continuous", "count"}
        What the values are. Counts add up over their exposure.
    value_units : str, optional
        Units of the values; of counts cases.
    points_crs : str, optional
        CRS of x and y; EPSG:4326 where the columns are called lon and lat. Files of features
        state their own.
    raster_crs, nodata, variable, classes, class_labels, slope_of
        As of `workbench.bag_polygons`.
    distance_to : GeoDataFrame, str, Path, or sequence of them, optional
        Features the distance of each point to which, in km, becomes a covariate each: see
        `workbench.distance_to`.
    layer : str, optional
        The layer of points in a file that has several.
    encoding : str, optional
        Of a CSV file that is not UTF-8, such as latin-1.
    attrs : mapping, optional
        Title, source, licence and the like.
    **treatments
        Choices for imperfect input, see `workbench.geo.CleaningOptions`: align, missing,
        missing_value, fractional and marks apply.

    Returns
    -------
    xr.Dataset
        A bagged dataset, one individual in each bag.

    Raises
    ------
    InputError
        For input that no treatment was chosen for; the message names the option to pass.

    Examples
    --------
    >>> import pandas as pd, workbench as wb
    >>> table = pd.DataFrame({"lon": [10.0, 10.1, 10.3], "lat": [50.0, 50.2, 50.1],
    ...                       "positive": [3, 0, 7], "tested": [20, 15, 30]})
    >>> ds = wb.bag_points(table, "positive", trials="tested")
    >>> ds["trials"].values.tolist()
    [20.0, 15.0, 30.0]
    """
    options, record = treatments_from(treatments), Record()
    choose("kind", kind, schema.KINDS)
    frame, x, y, crs, named = points_table(points, x, y, points_crs, encoding, layer,
                                           [*([id] if id else []), *(labels or {}).values()])
    if again := int(frame.duplicated().sum()):
        record.suspect(suspicious(
            "duplicate-row", f"{again} rows of {named} are the same as another in every column "
            f"(first: row {frame.index[frame.duplicated()][0]})", "remove them, unless each is a "
            "measurement of its own", [named], again, "they count twice", joint="; "))
    wanted = [value, *(c for c in (weight, trials, id) if c), *(labels or {}).values()]
    require_columns(frame, wanted, named)
    frame = numbers_of(frame, [x, y, *([weight] if weight else [])], named)
    names = names_of(frame, id, [x, y], named, record)
    column = numbers_of(frame[[value]].dropna(), [value], named)[value].reindex(frame.index)
    values, kept = usable_values(column.to_numpy(float), names, "count" if trials else kind,
                                 options, record)
    tested = None
    if trials:
        tested = numbers_of(frame[kept], [trials], named)[trials].reindex(frame.index).to_numpy()
        survey_errors(values, tested, kept, names, "count", (value, trials), record)
    layers, coded = _layers(covariates, record, options, classes, class_labels, slope_of,
                            crs=raster_crs, nodata=nodata, marks=options.marks, variable=variable)
    east, north, crs = _located(frame[x].to_numpy(), frame[y].to_numpy(), crs, layers, named,
                                record)
    exposure = frame[weight].to_numpy(float) if weight else np.ones(len(frame))
    kept &= positive_rows(exposure, names, options, record, "points")
    matrix, columns = np.zeros((len(frame), 0)), []
    if layers:
        cell, on = _cells(east, north, next(iter(layers.values())))
        kept = _on_rasters(on, kept, names, options, record)
        sampled, whole = pixel_covariates(layers, cell[kept], exposure[kept], options, record,
                                          "points")
        kept[np.flatnonzero(kept)[~whole]] = False
        columns, sampled = without_absent(list(layers), sampled[whole], coded, record)
        matrix = np.full((len(frame), len(columns)), np.nan)
        matrix[kept] = sampled
    count = int(kept.sum())
    counted(areas=len(frame), bagged=count)
    units = {"units": coordinate_units(crs) if crs else "1"}
    individuals = xr.Dataset(
        {"covariates": ((schema.INDIVIDUAL, schema.COVARIATE), matrix[kept]),
         "weight": (schema.INDIVIDUAL, exposure[kept], {
             "long_name": weight or "points", "units": "exposure" if weight else "points"})},
        coords={"individual": np.arange(count), "covariate": columns,
                "covariate_units": (schema.COVARIATE, [
                    str(layers[c].attrs.get("units", "1")) for c in columns]),
                "x": (schema.INDIVIDUAL, east[kept], units),
                "y": (schema.INDIVIDUAL, north[kept], units)})
    sums = kind == "count" and trials is None
    ds = assemble(
        individuals, np.arange(count), values[kept], names[kept],
        bag_coords={key: texts(frame[c], f"label {key!r} in column {c!r}", frame.index)[kept]
                    for key, c in (labels or {}).items()},
        value_attrs={"long_name": value, "units": "positives" if trials else (
                         value_units or schema.UNITS[kind]),
                     "aggregation": "sum" if sums else "mean",
                     "kind": "count" if trials else kind})
    if tested is not None:
        ds = schema.check(ds.assign(trials=(schema.BAG, tested[kept], {"units": "trials"})))
    ds = with_distances(place(ds, crs, y), distance_to, record)
    ds.attrs |= dict(attrs or {}) | {"treatments": str(record), "level": POINT}
    return looked_at(ds)


def raster_places(
    covariates: object,
    *,
    raster_crs: str | None = None,
    nodata: float | tuple[float, ...] | None = None,
    variable: str | tuple[str, ...] | None = None,
    classes: str | tuple[str, ...] | None = None,
    class_labels: Mapping[str, str] | None = None,
    distance_to: str | tuple[str, ...] | None = None,
    slope_of: str | None = None,
    **treatments: str,
) -> xr.Dataset:
    """Every pixel of rasters as a place to predict a map at, where all covariates are known.

    Parameters
    ----------
    covariates, raster_crs, nodata, variable, classes, class_labels, distance_to, slope_of
        As of `bag_points`, whose covariates must be the same.
    **treatments
        As of `bag_points`.

    Returns
    -------
    xr.Dataset
        Bagged dataset without ``value``, one bag per pixel, weights one; row, column and the
        grid's attributes, so that maps can be written as rasters.

    Raises
    ------
    InputError
        If rasters cannot be read or no pixel has all covariates.
    """
    options, record = treatments_from(treatments), Record()
    layers, _ = _layers(covariates, record, options, classes, class_labels, slope_of,
                        crs=raster_crs, nodata=nodata, marks=options.marks, variable=variable)
    require(bool(layers), "there are no rasters; use workbench.grid_places for place alone")
    grid = next(iter(layers.values()))
    table = np.stack([layer.values.ravel() for layer in layers.values()], 1)
    cell = np.flatnonzero(np.isfinite(table).all(1))
    require(cell.size > 0, "no pixel has all covariates: do the rasters lie in one place?")
    row, column = np.divmod(cell, grid.shape[1])
    transform, units = grid.rio.transform(), {"units": coordinate_units(grid.rio.crs)}
    individuals = xr.Dataset(
        {"covariates": ((schema.INDIVIDUAL, schema.COVARIATE), table[cell]),
         "weight": (schema.INDIVIDUAL, np.ones(cell.size))},
        coords={"individual": np.arange(cell.size), "covariate": list(layers),
                "covariate_units": (schema.COVARIATE, [
                    str(r.attrs.get("units", "1")) for r in layers.values()]),
                "x": (schema.INDIVIDUAL, transform.c + transform.a * (column + 0.5), units),
                "y": (schema.INDIVIDUAL, transform.f + transform.e * (row + 0.5), units),
                "row": (schema.INDIVIDUAL, row), "column": (schema.INDIVIDUAL, column)})
    ds = assemble(individuals, np.arange(cell.size), np.zeros(cell.size), np.arange(cell.size),
                  value_attrs={"aggregation": "mean", "kind": "continuous"})
    ds.attrs |= {"crs": grid.rio.crs.to_string(), "grid_shape": [int(n) for n in grid.shape],
                 "grid_transform": [float(v) for v in tuple(transform)[:6]]}
    ds = with_distances(ds, distance_to, record)
    return ds.drop_vars("value").assign_attrs(treatments=str(record))


def _layers(covariates, record: Record, options: CleaningOptions, classes, class_labels,
            slope_of: str | None, **reading) -> tuple[dict[str, xr.DataArray], list[str]]:
    """Covariates on the grid of the first, and which are shares of classes."""
    layers = {} if covariates is None else read_rasters(covariates, record, **reading)
    reading.pop("variable")
    layers, coded = with_classes(layers, classes, class_labels, record, **reading)
    layers = with_derived(layers, None, None, slope_of, record)
    if layers:
        layers = aligned(layers, next(iter(layers.values())), options, record, coded)
    return layers, coded


def _located(x: np.ndarray, y: np.ndarray, crs: str | None, layers: dict, named: str,
             record: Record) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Coordinates in the CRS of the rasters, and that CRS."""
    if crs is not None:
        usable_crs(crs, "points_crs")
    if not layers:
        if crs is None:
            record.note(f"the points of {named} have no CRS", severity=WARNING, code="crs-missing",
                        where=["points"], fix=f"state it with {option('points_crs', 'EPSG:...')}",
                        effect="distances between them are taken in the units of x and y, and "
                               "programs cannot lay their map over others")
        return x, y, crs
    require(crs is not None, f"{named} has no CRS; state it with "
            + option("points_crs", "EPSG:..."))
    pyproj = package("pyproj", extra="geo")
    own, theirs = pyproj.CRS.from_user_input(crs), next(iter(layers.values())).rio.crs
    if own != pyproj.CRS.from_user_input(theirs):
        x, y = pyproj.Transformer.from_crs(own, theirs, always_xy=True).transform(x, y)
        record.note(f"points were reprojected from {crs} to {theirs.to_string()}")
    return x, y, theirs.to_string()


def _cells(x: np.ndarray, y: np.ndarray, grid: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """The cell that each point lies in, and whether it lies on the grid."""
    west, south, east, north = grid.rio.bounds()
    rows, columns = grid.shape
    on = (x >= west) & (x <= east) & (y >= south) & (y <= north)
    column = np.clip((np.where(on, x, west) - west) / (east - west) * columns, 0, columns - 1)
    row = np.clip((north - np.where(on, y, north)) / (north - south) * rows, 0, rows - 1)
    return row.astype(np.int64) * columns + column.astype(np.int64), on


def _on_rasters(on: np.ndarray, kept: np.ndarray, names: np.ndarray, options: CleaningOptions,
                record: Record) -> np.ndarray:
    off = kept & ~on
    if off.any() and options.missing != "drop":
        raise InputError(f"{int(off.sum())} points lie off the covariates (first: "
                         f"{names[off][:3].tolist()}); give rasters that reach there, check the "
                         f"CRS ({option('points_crs')}), or pass {option('missing', 'drop')} to "
                         "leave these points out")
    if off.any():
        record.note(f"{int(off.sum())} points off the covariates were dropped")
    require(bool((kept & on).any()), "no point lies on the covariates: is the CRS right?")
    return kept & on
