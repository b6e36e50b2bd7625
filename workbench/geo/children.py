"""Polygons inside polygons: individuals that are themselves small areas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging import assemble, bag_values, looked_at
from workbench.bagging.findings import counted, refuse
from workbench.checks import choose, option, package, require
from workbench.geo.areas import (
    label_columns,
    numeric_column,
    read_areas,
    read_polygons,
    require_column,
    usable_values,
    value_column,
)
from workbench.geo.shapes import coordinate_units
from workbench.geo.treatments import CleaningOptions, Record, must_stop, treatments_from


def bag_children(
    fine_polygons: object,
    *,
    parent: str,
    covariates: Sequence[str],
    weight: str,
    value: str | None = None,
    parent_values: Mapping[str, float] | None = None,
    id: str | None = None,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    aggregation: str = "sum",
    kind: str = "count",
    units: Mapping[str, str] | None = None,
    parent_polygons: object | None = None,
    polygon_crs: str | None = None,
    layer: str | None = None,
    attrs: Mapping[str, str] | None = None,
    **treatments: str,
) -> xr.Dataset:
    """Bag small polygons by the larger area each belongs to.

    Parameters
    ----------
    fine_polygons : geopandas.GeoDataFrame, str or Path
        The individuals; covariates and weights are columns.
    parent : str
        Column with the id of the larger area.
    covariates : sequence of str
        Columns used as covariates.
    weight : str
        Column with the weights (population).
    value : str, optional
        Column with values known at the fine level: summed (or averaged) to the bags, and kept
        as individual_value, which no model uses in fitting.
    parent_values : mapping, optional
        Values of the larger areas by their id, where nothing is known at the fine level.
    id, name : str, optional
        Columns with the individuals' ids (the index if not given) and names.
    labels : mapping of coordinate to column, optional
        Labels of the bags for merging and display; constant within each parent.
    aggregation : {"sum", "mean"}
        Whether a value is the sum over the area or the weighted mean.
    kind : {"count", "continuous"}
        What the values are.
    units : mapping of column to str, optional
        Units of covariates, weight and value.
    parent_polygons : geopandas.GeoDataFrame, str or Path, optional
        Outlines of the larger areas, indexed by id; dissolved from the small ones if not given.
    polygon_crs : str, optional
        The CRS of polygons that do not state their own.
    layer : str, optional
        The layer of small polygons in a file that has several.
    attrs : mapping, optional
        Title, source, licence and the like.
    **treatments
        Choices for imperfect input, see `workbench.geo.CleaningOptions`: missing, zero_weight,
        fractional, missing_value, empty, duplicates and (of exact copies) overlap apply.

    Returns
    -------
    xr.Dataset
        A bagged dataset with individual_geometry and bag_geometry; x and y are centroids.

    Raises
    ------
    InputError
        For imperfect input without a treatment; the message names the option to pass.

    Examples
    --------
    >>> import geopandas, shapely, workbench as wb
    >>> small = geopandas.GeoDataFrame(
    ...     {"district": ["A", "A", "B"], "people": [10, 20, 30], "age": [40.0, 35.0, 50.0],
    ...      "cases": [1, 0, 4]},
    ...     geometry=shapely.box([0, 1, 2], 0, [1, 2, 3], 1), crs="EPSG:32633")
    >>> ds = wb.bag_children(small, parent="district", covariates=["age"], weight="people",
    ...                      value="cases")
    >>> ds["value"].values.tolist()
    [1.0, 4.0]
    """
    require((value is None) != (parent_values is None),
            "give either value (a column known for the small areas) or parent_values")
    choose("aggregation", aggregation, schema.AGGREGATIONS)
    options, record, unit = treatments_from(treatments), Record(), dict(units or {})
    fine = read_areas(fine_polygons, id, value, options, record, polygon_crs, layer)
    require_column(fine, parent, "parent")
    orphans = fine[parent].isna()
    if orphans.any():
        refuse(f"{int(orphans.sum())} polygons have no parent in column {parent!r}",
               "fill it in or remove them", code="parent-missing", where=fine.index[orphans],
               count=int(orphans.sum()))
        fine = fine[~orphans]
    counted(individuals=len(fine), areas=fine[parent].nunique())
    if value is not None:
        observed, kept = value_column(fine, value, kind, options, record)
        fine, observed = fine[kept], observed[kept]
    positive = _positive(fine, weight, options, record)
    fine = fine[positive]
    matrix, complete = _complete(fine, list(covariates), options, record)
    fine, matrix = fine[complete], matrix[complete]
    if value is not None:
        lost = observed.sum()
        observed = observed[positive][complete]
        lost -= observed.sum()
        if lost:
            record.note(f"dropped individuals held values adding up to {lost:,.6g}")

    bags, membership = np.unique(fine[parent].map(str).to_numpy(dtype=str), return_inverse=True)
    weights = fine[weight].to_numpy(dtype=float)
    if value is not None:
        totals = bag_values(observed, weights, membership, bags.size, aggregation)
    else:
        totals, kept = _parent_values(parent_values, bags, kind, options, record)
        inside = kept[membership]
        fine, matrix, weights = fine[inside], matrix[inside], weights[inside]
        membership = (np.cumsum(kept) - 1)[membership[inside]]
        bags, totals = bags[kept], totals[kept]

    counted(bagged=bags.size)
    centroid = package("shapely", extra="geo").centroid(fine.geometry.to_numpy())
    coordinate_attrs = {"units": coordinate_units(fine.crs)}
    individuals = xr.Dataset(
        {
            "covariates": ((schema.INDIVIDUAL, schema.COVARIATE), matrix),
            "weight": (schema.INDIVIDUAL, weights,
                       {"long_name": weight, "units": unit.get(weight, "persons")}),
        },
        coords={
            "individual": fine.index.to_numpy(dtype=str),
            "covariate": list(covariates),
            "covariate_units": (schema.COVARIATE, [unit.get(c, "1") for c in covariates]),
            "x": (schema.INDIVIDUAL, [p.x for p in centroid], coordinate_attrs),
            "y": (schema.INDIVIDUAL, [p.y for p in centroid], coordinate_attrs),
            "individual_geometry": (schema.INDIVIDUAL, fine.geometry.to_numpy(dtype=object)),
        },
    )
    described = {"long_name": value or "value", "units": unit.get(value or "value", "cases"),
                 "aggregation": aggregation, "kind": kind}
    if value is not None:
        individuals["individual_value"] = (schema.INDIVIDUAL, observed, described)
    named = label_columns(fine, {"individual_name": name} if name else {})
    individuals = individuals.assign_coords(
        {coordinate: (schema.INDIVIDUAL, values) for coordinate, values in named.items()}
    )
    ds = assemble(
        individuals, membership, totals, bags,
        bag_coords=_bag_labels(fine, membership, bags, labels or {})
        | {"bag_geometry": _outlines(fine, membership, bags, parent_polygons, record)},
        value_attrs=described,
    )
    ds.attrs |= dict(attrs or {}) | {"crs": fine.crs.to_string(), "treatments": str(record)}
    return looked_at(ds)


def _positive(fine, weight: str, options: CleaningOptions, record: Record) -> np.ndarray:
    weights = numeric_column(fine, weight, "weight")
    counted(weight=np.nansum(weights))
    bad = ~(weights >= 0)
    if bad.any():
        refuse(f"{int(bad.sum())} weights are negative or missing (first: "
               f"{fine.index[bad][0]!r} with {weights[bad][0]:g})",
               "correct them or remove these polygons", code="weight-negative",
               where=fine.index[bad], count=int(bad.sum()))
    zero = weights == 0
    if zero.any():
        about = {"code": "weight-zero", "where": fine.index[zero], "count": int(zero.sum())}
        if options.zero_weight != "drop":
            refuse(f"{int(zero.sum())} polygons have zero weight (first: "
                   f"{fine.index[zero][0]!r})",
                   f"pass {option('zero_weight', 'drop')} to leave them out", **about)
        else:
            record.note(f"{int(zero.sum())} individuals of zero weight were dropped", **about)
    return ~zero & ~bad


def _complete(
    fine, covariates: list[str], options: CleaningOptions, record: Record
) -> tuple[np.ndarray, np.ndarray]:
    require(bool(covariates), "expected at least one covariate column")
    matrix = np.column_stack([numeric_column(fine, c, "covariate") for c in covariates])
    gaps = ~np.isfinite(matrix)
    if not gaps.any():
        return matrix, np.ones(len(matrix), bool)
    counts = {c: int(g) for c, g in zip(covariates, gaps.sum(axis=0), strict=True) if g}
    rows = gaps.any(axis=1)
    about = {"code": "covariate-missing", "where": counts, "count": int(rows.sum())}
    stop = must_stop(options.missing, rows.mean())
    if stop:
        refuse(f"covariates are missing for {int(rows.sum())} polygons ({counts}; first: "
               f"{fine.index[rows][0]!r})", f"pass {option('missing', 'nearest')} to take the "
               f"nearest polygon's, or {option('missing', 'drop')} to leave these polygons out",
               **about)
    if options.missing == "drop":
        record.note(f"{int(rows.sum())} individuals lacking covariates {counts} were dropped",
                    **about)
        return matrix, ~rows
    from scipy.spatial import cKDTree

    centroid = package("shapely", extra="geo").centroid(fine.geometry.to_numpy())
    points = np.array([(p.x, p.y) for p in centroid])
    for d in np.flatnonzero(gaps.any(axis=0)):
        gap = gaps[:, d]
        require(not gap.all(), f"covariate {covariates[d]!r} is missing everywhere")
        matrix[gap, d] = matrix[~gap, d][cKDTree(points[~gap]).query(points[gap])[1]]
        if not stop:
            record.note(f"covariate {covariates[d]!r}: {int(gap.sum())} gaps were filled from the "
                        f"nearest polygon ({', '.join(fine.index[gap][:5])})",
                        code="covariate-missing", where=[covariates[d]], count=int(gap.sum()))
    return matrix, np.ones(len(matrix), bool)


def _parent_values(
    given: Mapping[str, float], bags: np.ndarray, kind: str, options: CleaningOptions,
    record: Record,
) -> tuple[np.ndarray, np.ndarray]:
    values = {str(k): float(v) for k, v in dict(given).items()}
    childless = sorted(set(values) - set(bags.tolist()))
    if childless:
        about = {"code": "area-empty", "where": childless, "count": len(childless)}
        if options.empty == "error":
            refuse(f"{len(childless)} areas hold no polygon (first: {childless[:3]})",
                   f"pass {option('empty', 'drop')} to leave them out", **about)
        else:
            record.note(f"{len(childless)} areas without polygons were dropped, with values "
                        f"adding up to {sum(values[c] for c in childless):,.6g}", **about)
    found = np.array([values.get(b, np.nan) for b in bags])
    return usable_values(found, bags, kind, options, record)


def _bag_labels(
    fine, membership: np.ndarray, bags: np.ndarray, labels: Mapping[str, str]
) -> dict[str, np.ndarray]:
    first = np.unique(membership, return_index=True)[1]
    found = {}
    for coordinate, values in label_columns(fine, labels).items():
        varying = np.unique(membership[values != values[first][membership]])
        require(varying.size == 0, f"label {coordinate!r} varies within {varying.size} areas "
                                   f"(first: {bags[varying[:1]].tolist()})")
        found[coordinate] = values[first]
    return found


def _outlines(fine, membership: np.ndarray, bags: np.ndarray, given: object, record: Record):
    shapely = package("shapely", extra="geo")
    if given is not None:
        outlines = read_polygons(given, record).to_crs(fine.crs)
        outlines.index = outlines.index.map(str)
        missing = [b for b in bags if b not in outlines.index]
        require(not missing, f"parent_polygons lack {len(missing)} areas (first: {missing[:3]})")
        return outlines.geometry.loc[bags].to_numpy(dtype=object)
    shapes = fine.geometry.to_numpy()
    united = np.empty(bags.size, dtype=object)
    united[:] = [shapely.union_all(shapes[membership == b]) for b in range(bags.size)]
    return united
