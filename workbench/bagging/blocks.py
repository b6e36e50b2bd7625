"""Gridded fields into square blocks of pixels: coarse values above fine covariates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.assemble import assemble, bag_values
from workbench.bagging.grids import UNEVEN, Grid, crs_of, trimmed
from workbench.checks import choose, package, require

WEIGHTS = ("one", "cos-latitude")
MISSING = ("refuse", "drop")
COLLOCATIONS = ("same", "linear")
EDGES = ("refuse", "nearest")


def bag_blocks(
    fields: xr.Dataset,
    value: str | None,
    covariates: Sequence[str] = (),
    mediators: Sequence[str] = (),
    block: int = 17,
    *,
    weight: str = "one",
    missing: str = "refuse",
    coarse: xr.Dataset | None = None,
    collocate: str = "same",
    edges: str = "refuse",
    dims: tuple[str, str] | None = None,
) -> xr.Dataset:
    """Bag the pixels of gridded fields by square blocks, as downscaling experiments do.

    Parameters
    ----------
    fields : xr.Dataset
        Fields on one grid of two dimensions with 1-D, equally spaced coordinates (to a tenth of a
        pixel) in degrees or in projected units. Coordinates of fields say their ``units``.
    value : str or None
        Field whose block means are the values of the bags; itself it is the ``truth``. None for
        bags without values, whose targets are elsewhere (`workbench.targets_from_grid`).
    covariates : sequence of str
        Fields seen at every pixel.
    mediators : sequence of str
        Fields whose block means are known for every bag: of ``coarse`` where that has them, else
        of ``fields``; "x" and "y" are the centres of the blocks.
    block : int
        Side of a block in pixels. Rows and columns that do not fill one are trimmed at the end of
        each dimension as stored (360 x 720 leaves 357 x 714 for 17).
    weight : {"one", "cos-latitude"}
        Weight of a pixel in all means: one, or the cosine of its latitude in degrees (its area).
    missing : {"refuse", "drop"}
        Pixels that lack the value, a covariate or a mediator of ``fields``: an error, or left out;
        blocks without any pixel are then no bags.
    coarse : xr.Dataset, optional
        Mediating fields on another grid with the same names of dimensions.
    collocate : {"same", "linear"}
        The grid of ``coarse`` is that of the blocks, one pixel a block, or it is another and is
        interpolated linearly to the fine pixels, then averaged over blocks.
    edges : {"refuse", "nearest"}
        Fine pixels outside the centres of ``coarse`` when it is interpolated: an error, or the
        value at the nearest edge.
    dims : (str, str), optional
        Dimensions that run north and east, where names and attributes do not tell.

    Returns
    -------
    xr.Dataset
        Bags ``"r<row>c<column>"`` from the north-west with ``block_row``, ``block_column``, squares
        as ``bag_geometry``, and ``mediators`` (bag, mediator); individuals are pixels with row,
        column, the grid's attributes and the CRS of ``fields``, so that maps can be drawn and
        rasters written.
        ``ds.attrs["treatments"]`` says what was trimmed, dropped and interpolated.

    Raises
    ------
    InputError
        If fields, coordinates or a whole block are not there, the grid is not regular, pixels are
        missing and no treatment is named, or the grids do not match.

    References
    ----------
    Chau et al. 2021, section 5.2.

    Examples
    --------
    >>> import numpy as np, xarray as xr, workbench as wb
    >>> fields = xr.Dataset({name: (("lat", "lon"), np.random.default_rng(0).normal(size=(6, 8)))
    ...                      for name in ("temperature", "altitude", "pressure")},
    ...                     {"lat": np.arange(6.0), "lon": np.arange(8.0)})
    >>> ds = wb.bag_blocks(fields, "temperature", ["altitude"], ["pressure"], block=2)
    >>> ds.sizes["bag"], ds.sizes["individual"]
    (12, 48)
    """
    for name, given, known in (("weight", weight, WEIGHTS), ("missing", missing, MISSING),
                               ("collocate", collocate, COLLOCATIONS), ("edges", edges, EDGES)):
        choose(name, given, known)
    require(int(block) == block >= 1, f"block must be a whole number from 1, got {block}")
    covariates, mediators = _names(covariates), _names(mediators)
    given = () if coarse is None else tuple(str(n) for n in coarse.data_vars)
    own = [n for n in mediators if n not in ("x", "y") and n not in given]
    used = list(dict.fromkeys([*(() if value is None else (value,)), *covariates, *own]))
    require(bool(used), "name a value, or at least one covariate of bags without values")
    for name in used:
        choose("field", name, [str(n) for n in fields.data_vars])
    require(value not in (*covariates, *mediators),
            f"{value!r} is the value; it cannot be its own covariate or mediator")
    grid, done = trimmed(fields[used], int(block), dims)
    rows, columns = grid.shape
    row, column = np.divmod(np.arange(rows * columns), columns)
    place = row // grid.block * grid.blocks[1] + column // grid.block
    table = {name: grid.flat(name) for name in used}
    whole = np.isfinite(np.stack(list(table.values()))).all(0)
    occupied, done = _gaps(whole, place, grid, missing, done)
    membership = np.searchsorted(occupied, place[whole])
    weights = np.ones(rows * columns)
    if weight == "cos-latitude":
        require(grid.units == "degree" and bool((np.abs(grid.axis(0)) < 90).all()),
                "weight='cos-latitude' needs latitudes in degrees between -90 and 90 (exclusive), "
                f"got {grid.axis(0).min():g} to {grid.axis(0).max():g} in {grid.units!r}")
        weights = np.cos(np.deg2rad(grid.axis(0)))[row]

    def means(field: np.ndarray) -> np.ndarray:
        return bag_values(field[whole], weights[whole], membership, occupied.size, "mean")

    pixel, places, shown = schema.INDIVIDUAL, {"units": grid.units}, value or used[0]
    quantity = {"long_name": str(fields[shown].attrs.get("long_name", shown)),
                "units": _unit(fields, shown)}
    individuals = xr.Dataset(
        {"covariates": ((pixel, schema.COVARIATE),     # stacked on a field: there may be none
                        np.stack([table[n][whole] for n in (shown, *covariates)], 1)[:, 1:]),
         "weight": (pixel, weights[whole], {"units": "1", "long_name": {
             "one": "pixels", "cos-latitude": "cosine of latitude"}[weight]}),
         "truth": (pixel, table[shown][whole], quantity)},
        coords={"covariate": list(covariates),
                "covariate_units": (schema.COVARIATE, [_unit(fields, n) for n in covariates]),
                "x": (pixel, grid.axis(1)[column[whole]], places),
                "y": (pixel, grid.axis(0)[row[whole]], places),
                "row": (pixel, row[whole]), "column": (pixel, column[whole])})
    block_row, block_column = np.divmod(occupied, grid.blocks[1])
    ds = assemble(
        individuals, membership, means(table[shown]),
        np.array([f"r{r}c{c}" for r, c in zip(block_row, block_column, strict=True)]),
        bag_coords={"block_row": block_row, "block_column": block_column,
                    "bag_geometry": _squares(grid, block_row, block_column)},
        value_attrs={**quantity, "aggregation": "mean", "kind": "continuous"})
    ds = ds.assign_coords(individual=np.arange(ds.sizes[pixel]))
    ds = ds if value is not None else ds.drop_vars(["value", "truth"])
    found = {n: means(table[n]) for n in own}
    found |= {"x": grid.centres(1)[block_column], "y": grid.centres(0)[block_row]}
    if wanted := [n for n in mediators if n in given]:
        outer, done = _coarse_means(coarse[wanted], grid, collocate, edges, done)
        found |= {n: means(field) for n, field in outer.items()}
    if mediators:
        units = [grid.units if n in ("x", "y") else _unit(coarse if n in given else fields, n)
                 for n in mediators]
        ds["mediators"] = ((schema.BAG, "mediator"), np.stack([found[n] for n in mediators], 1))
        ds = ds.assign_coords(mediator=list(mediators), mediator_units=("mediator", units))
        lost = [n for n in mediators if not np.isfinite(found[n]).all()]
        require(not lost, f"mediators {lost} are missing in some blocks; fill them first")
    dx, dy = grid.step(1), grid.step(0)
    crs = crs_of(fields, used)
    ds.attrs |= ({"crs": crs} if crs else {}) | {
        "level": f"blocks of {block} x {block} pixels", "block": grid.block,
        "block_shape": list(grid.blocks), "grid_shape": [rows, columns],
        "grid_transform": [dx, 0.0, float(grid.axis(1)[0] - dx / 2),
                           0.0, dy, float(grid.axis(0)[0] - dy / 2)],
        "treatments": "\n".join(done) or "none"}
    return ds


def _names(names: Sequence[str] | str) -> tuple[str, ...]:
    names = (names,) if isinstance(names, str) else tuple(names)
    require(len(set(names)) == len(names), f"fields must be named once each, got {list(names)}")
    return names


def _unit(fields: xr.Dataset, name: str) -> str:
    return str(fields[name].attrs.get("units", "1"))


def _gaps(whole: np.ndarray, place: np.ndarray, grid: Grid, missing: str, done: list[str]):
    lost, occupied = int((~whole).sum()), np.unique(place[whole])
    require(lost == 0 or missing == "drop", f"{lost} of {whole.size} pixels lack the value, a "
            "covariate or a mediator; pass missing='drop' to leave them out, or fill them first")
    require(occupied.size > 0, "no pixel has the value and all covariates")
    empty = grid.blocks[0] * grid.blocks[1] - occupied.size
    part = np.unique(place[~whole]).size - empty
    return occupied, done + ([] if not lost else [
        f"{lost} of {whole.size} pixels with gaps were left out: {empty} blocks are not bags, "
        f"{part} have fewer pixels"])


def _coarse_means(coarse: xr.Dataset, grid: Grid, collocate: str, edges: str, done: list[str]):
    require(set(coarse.sizes) == set(grid.names), f"the coarse fields have dimensions "
            f"{list(coarse.sizes)}, the fine ones {list(grid.names)}; rename or choose with isel")
    north, east = grid.names
    coarse = coarse.sortby(north, ascending=False).sortby(east)
    if collocate == "same":
        for i, name in enumerate(grid.names):
            at, side = np.asarray(coarse[name].values, dtype=float), abs(grid.step(i)) * grid.block
            require(at.size == grid.blocks[i]
                    and np.abs(at - grid.centres(i)).max() <= UNEVEN * side,
                    f"coarse {name!r} ({at.size} from {at[0]:g} to {at[-1]:g}) is not that of the "
                    f"blocks ({grid.blocks[i]} from {grid.centres(i)[0]:g} to "
                    f"{grid.centres(i)[-1]:g}); pass collocate='linear' to interpolate")
        fine = coarse.isel({n: np.repeat(np.arange(grid.blocks[i]), grid.block)
                            for i, n in enumerate(grid.names)})
    else:
        at = {n: grid.axis(i) for i, n in enumerate(grid.names)}
        inside = {n: np.clip(v, float(coarse[n].min()), float(coarse[n].max()))
                  for n, v in at.items()}
        outside = {n: int((inside[n] != v).sum()) for n, v in at.items()}
        require(edges == "nearest" or not any(outside.values()),
                f"{outside[north]} rows and {outside[east]} columns of the fine grid lie outside "
                "the coarse one; pass edges='nearest' to continue its edge, or widen it")
        fine = coarse.interp(inside, method="linear")
        done = [*done, f"{', '.join(map(str, coarse.data_vars))}: interpolated linearly from "
                f"{coarse.sizes[north]} x {coarse.sizes[east]} to the fine pixels"
                + (f", its edge continued over {outside[north]} rows and {outside[east]} columns"
                   if any(outside.values()) else "")]
    return {str(n): np.asarray(f.transpose(*grid.names).values, dtype=float).ravel()
            for n, f in fine.data_vars.items()}, done


def _squares(grid: Grid, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    shapely = package("shapely", extra="geo")
    dx, dy, side = grid.step(1), grid.step(0), grid.block
    west = grid.axis(1)[0] + dx * (side * column - 0.5)
    north = grid.axis(0)[0] + dy * (side * row - 0.5)
    return shapely.box(west, north + dy * side, west + dx * side, north)
