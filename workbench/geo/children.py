"""Polygons inside polygons: individuals that are themselves small areas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging import assemble, bag_values, looked_at
from workbench.bagging.findings import counted, refuse
from workbench.checks import choose, require
from workbench.geo.areas import read_areas, value_column
from workbench.geo.attributes import label_columns, numbers_in, numeric_column, require_column
from workbench.geo.child_rows import complete_rows, positive_rows, say_emptied
from workbench.geo.globe import centroids, note_wide
from workbench.geo.ids import as_text
from workbench.geo.nesting import say_elsewhere, say_scattered
from workbench.geo.parent_values import AGAIN, compared_with_own, parent_table, values_of_parents
from workbench.geo.parents import bag_labels, outlines, read_parents, weighed
from workbench.geo.shapes import coordinate_units
from workbench.geo.standard_errors import refuse_of_others, refuse_unusable, with_variances
from workbench.geo.treatments import Record, treatments_from

_ERROR, _SMALL = "standard_error", "small polygon"


def bag_children(
    fine_polygons: object,
    *,
    parent: str,
    covariates: Sequence[str] = (),
    weight: str | None = None,
    value: str | None = None,
    parent_values: Mapping[str, float] | None = None,
    trials: str | None = None,
    standard_error: str | None = None,
    totals: object = None,
    join: str | None = None,
    encoding: str | None = None,
    id: str | None = None,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    aggregation: str | None = None,
    kind: str | None = None,
    units: Mapping[str, str] | None = None,
    value_units: str | None = None,
    weight_units: str | None = None,
    parent_polygons: object | None = None,
    parent_id: str | None = None,
    parent_layer: str | None = None,
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
        Columns used as covariates. Without any the map follows place alone.
    weight : str, optional
        Column with the weights (population), or "area" (km² of each polygon, the default) or
        "uniform".
    value : str, optional
        Column with values known at the fine level: summed (or averaged) to the bags, and kept
        as individual_value, which no model uses in fitting. Where the small polygons have no such
        column it is one of ``totals``, or of ``parent_polygons``.
    parent_values : mapping, optional
        Values of the larger areas by their id, where nothing is known at the fine level.
    trials : str, optional
        Column, beside ``value``, with how many were tested in each larger area, of whom ``value``
        were positive.
    standard_error : str, optional
        Column, beside ``value``, with the standard error of each larger area's mean, as of
        `bag_polygons`.
    totals : pandas.DataFrame, str or Path, optional
        Table with the values of the larger areas, one row each (CSV or Parquet).
    join : str, optional
        Column of ``totals`` with the larger areas' ids.
    encoding : str, optional
        Of a CSV file of totals that is not UTF-8, such as latin-1.
    id, name : str, optional
        Columns with the individuals' ids (the index if not given) and names.
    labels : mapping of coordinate to column, optional
        Labels of the bags for merging and display; constant within each parent.
    aggregation, kind : {"sum", "mean"}, {"count", "continuous"}, optional
        Whether a value is the sum over the area or the weighted mean, and of what: as of
        `bag_polygons`.
    units : mapping of column to str, optional
        Units of covariates, weight and value.
    value_units, weight_units : str, optional
        Units of the value and of the weight, as of `bag_polygons`; or in ``units``.
    parent_polygons : geopandas.GeoDataFrame, str or Path, optional
        Outlines of the larger areas, indexed by id; dissolved from the small ones if not given.
    parent_id : str, optional
        Column of ``parent_polygons`` with their ids, where they are neither its index nor in a
        column of the same name as ``parent``.
    parent_layer : str, optional
        The layer of ``parent_polygons`` in a file that has several.
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
        For imperfect input without a treatment; the message names the option to pass. If most
        small polygons lie outside the larger one that they name; fewer are warned of.

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
    aggregation, kind = schema.meant(aggregation, kind, standard_error, trials)
    choose("aggregation", aggregation, schema.AGGREGATIONS)
    options, record = treatments_from(treatments), Record()
    unit = _units(units, {value or "value": value_units, weight or "area": weight_units})
    refuse_of_others(standard_error, kind, aggregation, trials)
    fine = read_areas(fine_polygons, id, value, options, record, polygon_crs, layer,
                      what=_SMALL)
    require_column(fine, parent, "parent")
    larger = read_parents(parent_polygons, parent_id, parent_layer, options, record, parent)
    beside = {role: c for role, c in (("trials", trials), (_ERROR, standard_error)) if c}
    known = parent_table(fine, larger, parent, value, parent_values, beside,
                         (totals, join, encoding), record)
    orphans = fine[parent].isna()
    if orphans.any():
        refuse(f"{int(orphans.sum())} polygons have no parent in column {parent!r}",
               "fill it in or remove them", code="parent-missing", where=fine.index[orphans],
               count=int(orphans.sum()))
        fine = fine[~orphans]
    parents = set(fine[parent].map(as_text)) | set(() if known is None else known.index)
    counted(individuals=len(fine), areas=len(parents))
    fine, weight, units_of_weight = weighed(
        fine, weight, unit, record, "mean" if trials else aggregation)
    require_column(fine, weight, "weight")
    counted(weight=np.nansum(numbers_in(fine[weight])), outside=0, twice=0)
    if known is not None:           # and not the column of that name that small polygons may have
        counted(value=np.nansum(known["value"]))
    else:
        observed, kept = value_column(fine, value, kind, options, record, _SMALL,
                                      AGAIN)
        lost = np.nansum(numbers_in(fine[weight])[~kept])
        if lost and options.missing_value == "drop":
            record.note(f"the small polygons that were dropped have {weight!r} adding up to "
                        f"{lost:,.6g}")
        fine, observed = fine[kept], observed[kept]
    names, of = np.unique(fine[parent].map(as_text).to_numpy(dtype=str), return_inverse=True)
    held = (np.bincount(of, observed, names.size) if known is None
            else known["value"].reindex(names).to_numpy())
    positive = positive_rows(numeric_column(fine, weight, "weight"), fine.index, options, record)
    fine = fine[positive]
    matrix, complete = complete_rows(fine, list(covariates), options, record)
    fine, matrix = fine[complete], matrix[complete]
    if known is None:
        lost = observed.sum()
        observed = observed[positive][complete]
        lost -= observed.sum()
        if lost:
            record.note(f"dropped individuals held values adding up to {lost:,.6g}")

    bags, membership = np.unique(fine[parent].map(as_text).to_numpy(dtype=str), return_inverse=True)
    weights = fine[weight].to_numpy(dtype=float)
    tested, left = None, bags
    if known is None:
        summed = bag_values(observed, weights, membership, bags.size, aggregation)
        compared_with_own(larger, value, bags, summed, (observed, membership), aggregation, record)
    else:
        summed, tested, kept = values_of_parents(known, bags, kind, options, record)
        inside = kept[membership]
        fine, matrix, weights = fine[inside], matrix[inside], weights[inside]
        membership = (np.cumsum(kept) - 1)[membership[inside]]
        bags, summed = bags[kept], summed[kept]
        tested = None if tested is None else tested[kept]
    say_emptied(names, held, left, aggregation == "sum" or bool(trials), record,
                None if known is None or not trials else known["trials"].reindex(names).to_numpy())

    counted(bagged=bags.size)
    shapes = outlines(fine, membership, bags, larger)
    if larger is None:
        say_scattered(fine, parent, membership, bags, record)
    else:
        say_elsewhere(fine, parent, membership, bags, shapes, record)
    note_wide(fine, "polygons", "have outlines that reach around it",
              "their areas are taken on the longer way around the globe, their centroids on the "
              "shorter one", record)
    x, y = centroids(fine)
    coordinate_attrs = {"units": coordinate_units(fine.crs)}
    individuals = xr.Dataset(
        {
            "covariates": ((schema.INDIVIDUAL, schema.COVARIATE), matrix),
            "weight": (schema.INDIVIDUAL, weights,
                       {"long_name": weight, "units": weight_units or units_of_weight}),
        },
        coords={
            "individual": fine.index.to_numpy(dtype=str),
            "covariate": list(covariates),
            "covariate_units": (schema.COVARIATE, [unit.get(c, "1") for c in covariates]),
            "x": (schema.INDIVIDUAL, x, coordinate_attrs),
            "y": (schema.INDIVIDUAL, y, coordinate_attrs),
            "individual_geometry": (schema.INDIVIDUAL, fine.geometry.to_numpy(dtype=object)),
        },
    )
    described = {"long_name": value or "value", "units": unit.get(value or "value",
                                                                 schema.UNITS[kind]),
                 "aggregation": aggregation, "kind": kind}
    if tested is not None:
        described |= {"aggregation": "mean", "units": unit.get(value, "positives")}
    if known is None:
        individuals["individual_value"] = (schema.INDIVIDUAL, observed, described)
    named = label_columns(fine, {"individual_name": name} if name else {})
    individuals = individuals.assign_coords(
        {coordinate: (schema.INDIVIDUAL, values) for coordinate, values in named.items()}
    )
    ds = assemble(
        individuals, membership, summed, bags,
        bag_coords=bag_labels(fine, membership, bags, labels or {})
        | {"bag_geometry": shapes},
        value_attrs=described,
    )
    if tested is not None:
        ds = schema.check(ds.assign(trials=(schema.BAG, tested, {"units": "trials"})))
    if standard_error is not None:
        errors = known.loc[bags, _ERROR].to_numpy()
        refuse_unusable(errors, bags, standard_error)
        ds = with_variances(ds, errors, standard_error)
    ds.attrs |= dict(attrs or {}) | {"crs": fine.crs.to_string(), "treatments": str(record)}
    return looked_at(ds)


def _units(units: Mapping[str, str] | None, more: Mapping[str, str | None]) -> dict[str, str]:
    """Units by column, with those that have an argument of their own."""
    unit = dict(units or {})
    for column, one in more.items():
        require(one is None or unit.get(column, one) == one, f"units of {column!r} are "
                f"{unit.get(column)!r} in units and {one!r} in an argument of its own; give one")
    return unit | {column: one for column, one in more.items() if one is not None}
