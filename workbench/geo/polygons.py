"""Polygons over rasters: one individual per pixel and area, with its coverage fraction."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging import assemble, looked_at
from workbench.bagging.findings import counted, part
from workbench.checks import choose, option, require
from workbench.geo.areas import read_areas
from workbench.geo.attributes import label_columns, numeric_column
from workbench.geo.cell_columns import meant, named_in
from workbench.geo.classes import with_classes, without_absent
from workbench.geo.coverage import account, coverage_fractions, covered_by
from workbench.geo.cut_areas import note_cut
from workbench.geo.derived import with_derived
from workbench.geo.grid_areas import UNREAD
from workbench.geo.grids import CELLS, is_word, made_weight
from workbench.geo.grids import weight_units as units_of
from workbench.geo.joining import joined
from workbench.geo.meeting import crs_of, onto, without_empty
from workbench.geo.periods import bag_periods
from workbench.geo.pixels import pixel_covariates, weight_raster, weighted
from workbench.geo.rasters import read_rasters
from workbench.geo.resampling import aligned, grid_named, summed
from workbench.geo.shapes import coordinate_units
from workbench.geo.spreading import inhabited, spread
from workbench.geo.standard_errors import refuse_column, refuse_of_others, with_variances
from workbench.geo.totals import index_by, positives, require_joined, with_trials
from workbench.geo.treatments import treatments_from
from workbench.geo.windows import extent_of
from workbench.geo.zero_weight import extents, record_of


def bag_polygons(
    polygons: object,
    covariates: object = None,
    weight: object = None,
    value: str | None = None,
    *,
    trials: str | None = None,
    standard_error: str | None = None,
    population: str | None = None,
    totals: object = None,
    join: str | None = None,
    encoding: str | None = None,
    time: str | None = None,
    id: str | None = None,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    aggregation: str | None = None,
    kind: str | None = None,
    value_units: str | None = None,
    weight_units: str | None = None,
    polygon_crs: str | None = None,
    raster_crs: str | None = None,
    nodata: float | tuple[float, ...] | None = None,
    layer: str | None = None,
    variable: str | tuple[str, ...] | None = None,
    classes: str | tuple[str, ...] | None = None,
    class_labels: Mapping[str, str] | None = None,
    grid_of: str | None = None,
    distance_to: str | tuple[str, ...] | None = None,
    slope_of: str | None = None,
    weight_variable: str | None = None,
    grid_size: int = CELLS,
    attrs: Mapping[str, str] | None = None,
    **treatments: str,
) -> xr.Dataset:
    """Bag the pixels of rasters by polygons, with the fraction of each pixel that is covered.

    A pixel cut by a border becomes one individual in each area, with the pixel's weight times
    the fraction covered, so no weight is lost or counted twice.

    Parameters
    ----------
    polygons : geopandas.GeoDataFrame, str, Path or raster
        The areas with their values; of a raster they are its cells, see `workbench.grid_areas`.
    covariates : raster, sequence of rasters, or mapping of name to raster
        DataArrays, Datasets, or paths of GeoTIFF, VRT, NetCDF or Zarr, or of tables (CSV) with a
        row for each pixel: x, y and values. Without any the map follows place alone.
    weight : raster, "area", "uniform", optional
        Weight (population) per pixel; its grid is the grid of the individuals. Pixels without
        a weight are not individuals. "area" weighs the first covariate's pixels by square
        kilometres, "uniform" all alike; without covariates a grid of ``grid_size`` pixels along
        the longer side is laid over the areas. Not given, it is "area", and the record says so.
    value : str
        Column with the value of each area.
    trials : str, optional
        Column with how many were tested in each area, of whom ``value`` were positive (a survey):
        the likelihood is then binomial, and the map one of probabilities. Zero where nobody was.
    standard_error : str, optional
        Column with the standard error of each mean (``kind="continuous"``, ``aggregation="mean"``):
        models then know how precise each is, by its square, the dataset's ``noise_variance``.
    population : str, optional
        Column with the population of each area, where no raster has it: the weights of an area's
        pixels add up to it, evenly over the ground, or in proportion to ``weight`` if given.
    totals : pandas.DataFrame, str or Path, optional
        Table with the values, one row per area (CSV or Parquet), joined to the polygons by id.
    join : str, optional
        Column of ``totals`` with the areas' ids; of the polygons it is ``id``, or of this name.
    encoding : str, optional
        Of a CSV file of totals that is not UTF-8, such as latin-1.
    time : str, optional
        Column of ``totals`` with the period of each row, a number, a year or a date: every area and
        period is then a bag, its pixels individuals at that period, and ``time`` a covariate. A
        covariate or weight that changes has ``{time}`` in its path: ``"rain_{time}.tif"``.
    id, name : str, optional
        Columns with the areas' ids (the index if not given) and names.
    labels : mapping of coordinate to column, optional
        Labels by which areas can later be merged, e.g. ``{"region": "Name_1"}``.
    aggregation, kind : {"sum", "mean"}, {"count", "continuous"}, optional
        Whether a value is the sum over the area or the weighted mean, and of what. By default sums
        of counts; values with standard errors are means, and means are continuous.
    value_units, weight_units : str, optional
        Units, in attrs: a raster's own, or cases of counts; persons, or what "area" has.
    polygon_crs, raster_crs : str, optional
        The CRS of input that does not state its own.
    nodata : float or sequence of float, optional
        Marks of missing pixels that the rasters do not declare.
    layer : str, optional
        The layer of polygons in a file that has several.
    variable : str or sequence of str, optional
        Covariates to take from NetCDF files and Datasets; all variables on their grid if not given.
    classes : str, raster, or sequence of them, optional
        Rasters of whole codes, such as land cover: names of covariates, or further files. Each
        class but the most frequent becomes a covariate ``name=class``, its share of the pixel.
    class_labels : mapping of code to label, optional
        Names of classes, e.g. ``{1: "forest"}``; else those beside the file, else the codes.
    grid_of : str, optional
        Covariate whose pixels are the individuals, in the place of the weight's: the weight is
        then summed to them, none of it lost.
    distance_to : GeoDataFrame, str, Path, or sequence of them, optional
        Points, lines or polygons the distance to which, in km, becomes a covariate each: see
        `workbench.distance_to`.
    slope_of : str, optional
        Covariate that is an elevation in metres, of which a covariate ``slope`` is made.
    weight_variable : str, optional
        The weight in a NetCDF file or Dataset that holds more.
    grid_size : int
        Pixels along the longer side of the areas' extent, where no raster gives a grid.
    attrs : mapping, optional
        Title, source, licence and the like.
    **treatments
        Choices for imperfect input, see `workbench.geo.CleaningOptions`.

    Returns
    -------
    xr.Dataset
        A bagged dataset with row, column and coverage of the individuals, bag_geometry, and the
        attributes grid_transform, grid_shape, outside_weight, outside_share (of what lies in no
        area that was given), left_out_weight (in areas that were left out), area_pixels
        (extent of the areas), zero_weight_pixels (of it, what was dropped for that) and treatments.

    Raises
    ------
    InputError
        For input that no treatment was chosen for; the message names the option to pass.

    Examples
    --------
    >>> import geopandas, numpy as np, rioxarray, shapely, xarray as xr, workbench as wb
    >>> areas = geopandas.GeoDataFrame(
    ...     {"cases": [3, 8]}, geometry=shapely.box([0, 2000], 0, [2000, 4000], 2000),
    ...     crs="EPSG:32633")
    >>> height = xr.DataArray(
    ...     np.random.default_rng(0).normal(size=(4, 8)), dims=("y", "x"), name="height",
    ...     coords={"y": 1750.0 - 500 * np.arange(4), "x": 250.0 + 500 * np.arange(8)})
    >>> ds = wb.bag_polygons(areas, height.rio.write_crs("EPSG:32633"), "uniform", "cases")
    >>> ds.sizes["bag"], ds.sizes["individual"]
    (2, 32)
    """
    aggregation, kind, value_units, record = meant(dict(locals()))
    given = dict(locals())
    if time is not None:
        return bag_periods(bag_polygons, given)
    choose("aggregation", aggregation, schema.AGGREGATIONS)
    options = treatments_from(treatments)
    refuse_of_others(standard_error, kind, aggregation, trials, options.duplicates)
    require(value is not None, "name the column that was counted: value='...'")
    require(totals is not None or join is None, "there is no table to join; give "
            + option("totals", "FILE"))
    added = tuple(c for c in (trials, population, standard_error) if c)
    columns = (None if join else value, () if join else added)

    def areas_read(crs: str | None):
        found = read_areas(polygons, index_by(id, join), columns[0], options, record, crs, layer,
                           columns[1], nodata=nodata, columns=named_in(given))
        return found if totals is None else joined(found, totals, join, encoding, options, record)

    areas, layers, coded, grid, within, people = None, {}, (), None, None, None
    with part("polygons", "polygons"):
        areas = areas_read(polygon_crs)
        within = extent_of(areas)
    with part("raster", "covariates"):
        layers = {} if covariates is None else read_rasters(
            covariates, record, crs=raster_crs, nodata=nodata, marks=options.marks,
            variable=variable, within=within)
    with part("raster", "classes"):
        layers, coded = with_classes(
            layers, classes, class_labels, record, crs=raster_crs, nodata=nodata,
            marks=options.marks, within=within)
    with part("raster", "slope_of"):
        layers = with_derived(layers, None, None, slope_of, record)
    wanted = grid_named(grid_of, layers)
    if not is_word(weight):
        with part("raster", "weight"):
            grid = weight_raster(
                weight, record, raster_crs, nodata, options.marks, weight_variable, within)
            grid = grid if wanted is None else summed(grid, wanted, grid_of, record)
    if areas is None and (other := crs_of(grid, layers)):   # a check: perhaps it is theirs, too
        with part("polygons", "polygons"):
            areas = areas_read(polygon_crs or other)
    require(areas is not None, UNREAD)
    values, kept, tested = np.zeros(len(areas)), np.ones(len(areas), dtype=bool), None
    with part("value", value):
        values, kept = positives(areas, value, trials, kind, options, record, totals, join)
        tested = trials                     # None in a check of trials that cannot be used
    if population is not None:
        with part("value", population):
            require_joined(areas, population, "population", totals, join)
            kept = kept & inhabited(areas, population, options, record)
            require(bool(kept.any()), f"no area with a value has a population in {population!r}")
            people, persons = population, numeric_column(areas, population, "population")
        weight = "area" if weight is None else weight
    refuse_column(areas[kept], standard_error)
    dropped, areas, values = areas[~kept], areas[kept], values[kept]
    if grid is None:                        # a check goes on with areas where a raster is unusable
        named = layers if wanted is None else {grid_of: wanted}
        grid = made_weight(weight if is_word(weight) else "area", named, areas, record,
                           people, grid_size, "mean" if trials else aggregation)
    layers = aligned(layers, grid, options, record, coded)
    with part("raster", "distance_to"):
        layers = with_derived(layers, grid, distance_to, None, record)
    areas = onto(areas, grid, options, record)
    area, cell, coverage = coverage_fractions(areas, grid)
    outside = account(grid.values, cell, coverage, options, record, is_word(weight),
                      areas.index.to_numpy()[area], grid,
                      None if dropped.empty else covered_by(dropped, grid))
    counted(individuals=cell.size)
    note_cut(areas, grid, area, cell, coverage, aggregation == "sum" and not trials, record)
    sizes, given_ids = extents(grid.values, area, cell, coverage, len(areas)), areas.index
    area, cell, coverage = weighted(grid, area, cell, coverage, options, record)
    matrix, whole = pixel_covariates(layers, cell, grid.values.ravel()[cell] * coverage, options,
                                     record)
    area, cell, coverage, matrix = area[whole], cell[whole], coverage[whole], matrix[whole]
    held = grid.values.ravel()[cell] * coverage
    names, matrix = without_absent(list(layers), matrix, coded, record)
    areas, values, area = without_empty(areas, values, area, grid, options, record)
    held_of, held_in = str(grid.name), units_of(weight, weight_units)
    if people is not None:
        held = spread(numeric_column(areas, people, "population"), area, held)
        held_of, held_in = people, weight_units or "persons"
        counted(weight=np.nansum(persons), outside=0, twice=0)
        record.note(f"the population of each area, column {people!r}, was spread over its pixels "
                    f"{'evenly' if is_word(weight) else f'in proportion to {grid.name!r}'}")
    counted(bagged=len(areas))
    row, column = np.divmod(cell, grid.shape[1])
    transform = grid.rio.transform()
    units = {"units": coordinate_units(grid.rio.crs)}
    individuals = xr.Dataset(
        {"covariates": ((schema.INDIVIDUAL, schema.COVARIATE), matrix),
         "weight": (schema.INDIVIDUAL, held, {"long_name": held_of, "units": held_in})},
        coords={
            "individual": np.arange(cell.size),
            "covariate": names,
            "covariate_units": (schema.COVARIATE,
                                [str(layers[n].attrs.get("units", "1")) for n in names]),
            "x": (schema.INDIVIDUAL, transform.c + transform.a * (column + 0.5), units),
            "y": (schema.INDIVIDUAL, transform.f + transform.e * (row + 0.5), units),
            "row": (schema.INDIVIDUAL, row),
            "column": (schema.INDIVIDUAL, column),
            "coverage": (schema.INDIVIDUAL, coverage,
                         {"long_name": "fraction of the pixel inside the area", "units": "1"}),
        },
    )
    named = {"bag_name": name} if name else {}
    ds = assemble(
        individuals, area, values, areas.index.to_numpy(),
        bag_coords={"bag_geometry": areas.geometry.to_numpy(dtype=object),
                    **label_columns(areas, named | dict(labels or {}))},
        value_attrs={"long_name": value, "units": value_units or schema.UNITS[kind], "kind": kind,
                     "aggregation": "mean" if trials else aggregation},
    )
    if tested is not None:
        ds = with_trials(ds, areas, tested)
    if standard_error in areas:             # else a check has listed that it is not there
        ds = with_variances(ds, areas[standard_error], standard_error)
    ds["individual"] = np.arange(cell.size)
    ds.attrs |= dict(attrs or {}) | outside | record_of(sizes, given_ids.isin(areas.index)) | {
        "crs": grid.rio.crs.to_string(),
        "grid_transform": [float(v) for v in tuple(transform)[:6]],
        "grid_shape": [int(n) for n in grid.shape],
        "treatments": str(record),
    }
    return looked_at(ds)
