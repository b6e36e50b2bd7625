"""Unbagged individuals from a table, and their bagging by a regular grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.assemble import assemble, bag_values
from workbench.bagging.tables import require_columns
from workbench.checks import InputError, choose, package, require


def from_table(
    table: object,
    covariates: Sequence[str],
    value: str,
    *,
    weight: str | None = None,
    x: str | None = None,
    y: str | None = None,
    truth: str | None = None,
    labels: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
    aggregation: str = "sum",
    kind: str = "count",
) -> xr.Dataset:
    """Turn a table with one row per individual into individuals ready to be bagged.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per individual.
    covariates : sequence of str
        Columns used as covariates.
    value : str
        Column with the observation of each individual.
    weight : str, optional
        Column with positive weights (population); one each if not given.
    x, y : str, optional
        Columns with coordinates; both or neither.
    truth : str, optional
        Column with the true rate, where it is known.
    labels : sequence of str
        Further columns kept as coordinates of the individuals.
    units : mapping of str to str, optional
        Units of any column.
    aggregation : {"sum", "mean"}
        How values of individuals make the value of a bag.
    kind : {"count", "continuous"}
        What the values are.

    Returns
    -------
    xr.Dataset
        Individuals without bags: covariates, weight, individual_value, coordinates.
    """
    choose("aggregation", aggregation, schema.AGGREGATIONS)
    choose("kind", kind, schema.KINDS)
    used = [*covariates, value, *labels, *(c for c in (weight, x, y, truth) if c)]
    require_columns(table, used)
    require((x is None) == (y is None), "give both x and y, or neither")
    unit = dict(units or {})

    def column(name: str) -> tuple:
        return schema.INDIVIDUAL, table[name].to_numpy(float), {"units": unit.get(name, "1")}

    ds = xr.Dataset(
        {
            "covariates": (
                (schema.INDIVIDUAL, schema.COVARIATE), table[list(covariates)].to_numpy(float)
            ),
            "weight": column(weight) if weight else (schema.INDIVIDUAL, np.ones(len(table))),
            "individual_value": column(value),
        },
        coords={
            "individual": np.arange(len(table)),
            "covariate": list(covariates),
            "covariate_units": (schema.COVARIATE, [unit.get(c, "1") for c in covariates]),
        },
    )
    ds["individual_value"].attrs |= {"long_name": value, "aggregation": aggregation, "kind": kind}
    if truth:
        ds["truth"] = column(truth)
    if x and y:
        ds = ds.assign_coords(x=column(x), y=column(y))
    return ds.assign_coords({c: (schema.INDIVIDUAL, table[c].to_numpy()) for c in labels})


def bag_grid(
    points: xr.Dataset,
    cells: int | tuple[int, int] | None = None,
    *,
    size: float | None = None,
    extent: tuple[tuple[float, float], tuple[float, float]] | None = None,
) -> xr.Dataset:
    """Bag individuals with known values by the cells of a regular grid.

    Parameters
    ----------
    points : xr.Dataset
        Individuals (from `from_table`) or a bagged dataset, with x, y and individual_value.
    cells : int or (int, int), optional
        Cells along x, or along x and along y; a single number makes cells about square.
    size : float, optional
        Instead of ``cells``: side of square cells, in units of x and y, laid from the south-west
        corner; the last ones may reach beyond the extent.
    extent : ((float, float), (float, float)), optional
        Ends of the grid along x and along y; those of the individuals if not given.

    Returns
    -------
    xr.Dataset
        One bag per cell that holds individuals, labelled ``"r<row>c<column>"`` from the
        south-west, with the cell as bag_geometry. Cells without individuals make no bag.

    Raises
    ------
    InputError
        If coordinates or individual values are not known, ``cells`` is below one, not one of
        ``cells`` and ``size`` is given, or individuals lie outside the extent.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> cells = wb.bag_grid(ds, size=40.0)
    >>> float(cells["value"].sum()) == float(ds["value"].sum())
    True
    """
    shapely = package("shapely", extra="geo")
    require("x" in points.coords and "y" in points.coords,
            "bag_grid needs coordinates x and y on the individuals; this dataset has none, "
            "bag it along a covariate with bag_along")
    x, y = points["x"].values, points["y"].values
    require((cells is None) != (size is None), "give either cells or size")
    (west, east), (south, north) = extent or ((x.min(), x.max()), (y.min(), y.max()))
    outside = int(((x < west) | (x > east) | (y < south) | (y > north)).sum())
    require(outside == 0, f"{outside} individuals lie outside the extent of the grid; widen it")
    if size is None:
        columns, rows = _grid_shape(cells, east - west, north - south)
        column_edges = np.linspace(west, east, columns + 1)
        row_edges = np.linspace(south, north, rows + 1)
    else:
        require(size > 0, f"the size of cells must be positive, got {size}")
        columns, rows = (max(1, math.ceil((high - low) / size - 1e-9))
                         for low, high in ((west, east), (south, north)))
        column_edges = west + size * np.arange(columns + 1)
        row_edges = south + size * np.arange(rows + 1)
    column = np.clip(np.searchsorted(column_edges, x, side="right") - 1, 0, columns - 1)
    row = np.clip(np.searchsorted(row_edges, y, side="right") - 1, 0, rows - 1)
    occupied, membership = np.unique(row * columns + column, return_inverse=True)
    row, column = np.divmod(occupied, columns)
    boxes = shapely.box(
        column_edges[column], row_edges[row], column_edges[column + 1], row_edges[row + 1]
    )
    ds = rebag(
        points, membership, [f"r{r}c{c}" for r, c in zip(row, column, strict=True)],
        {"bag_geometry": boxes},
    )
    ds.attrs["level"] = f"grid of {columns} x {rows} cells"
    return ds


def rebag(
    points: xr.Dataset,
    membership: np.ndarray,
    bags: Sequence[str],
    bag_coords: Mapping[str, np.ndarray] | None = None,
) -> xr.Dataset:
    """Bag individuals again by a known membership, from their individual values.

    Parameters
    ----------
    points : xr.Dataset
        Individuals or a bagged dataset, with individual_value.
    membership : np.ndarray
        Position of each individual's new bag in ``bags``.
    bags : sequence of str
        Labels of the new bags.
    bag_coords : mapping, optional
        Coordinates of the new bags.

    Returns
    -------
    xr.Dataset
        The bagged dataset; with aggregation "sum" the total of the values is kept.
    """
    if "individual_value" not in points:
        raise InputError(
            "expected individuals with known values (individual_value), got totals of bags only; "
            "these can be merged into larger bags with merge or merge_to, not re-split"
        )
    described = points["value"] if "value" in points else points["individual_value"]
    attrs = {"aggregation": "sum", "kind": "count"} | dict(described.attrs)
    value = bag_values(
        points["individual_value"].values, points["weight"].values, membership, len(bags),
        attrs["aggregation"],
    )
    return assemble(points, membership, value, np.asarray(bags), bag_coords=bag_coords,
                    value_attrs=attrs)


def _grid_shape(cells: int | tuple[int, int], width: float, height: float) -> tuple[int, int]:
    if np.ndim(cells) == 0:
        rows = 1 if width == 0 else max(1, round(int(cells) * height / width))
        cells = (int(cells), rows)
    columns, rows = (int(c) for c in cells)
    require(columns >= 1 and rows >= 1, f"expected at least one cell each way, got {cells}")
    return columns, rows
