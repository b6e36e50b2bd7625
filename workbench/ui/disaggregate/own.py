"""Files of one's own as a dataset of the app: kept on this machine, checked, and then chosen."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.checks import InputError, require
from workbench.ui.base import leftovers
from workbench.ui.disaggregate.catalogue import Choice, kernels_for
from workbench.ui.disaggregate.engine import EXACT_LIMIT
from workbench.ui.disaggregate.uploads import (
    PARTS,
    bare,
    check_content,
    check_driver,
    check_parts,
    coarse,
    unpacked_size,
)

if TYPE_CHECKING:
    import xarray as xr
    from geopandas import GeoDataFrame, GeoSeries

    from workbench.pipeline.spec import Spec
    from workbench.preflight import Check

POLYGONS = (".gpkg", ".geojson", ".json", ".zip", ".shp")
RASTERS = (".tif", ".tiff", ".nc")
MOST = 15               # megabytes of all files together, which a browser sends in one message
MOST_KEPT = 60          # megabytes of all files that one session uses
MOST_READ = 512         # megabytes that a packed file may become when it is read
ALL = "all"
NAME = "own-"           # and a number: of datasets in addresses
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)


@dataclass(frozen=True)
class Files:
    """Files that were dropped, as they lie on this machine.

    Parameters
    ----------
    polygons : Path or None
        The areas.
    rasters : Mapping
        By name: paths of rasters, or of a bagged dataset.
    columns, names : tuple of str
        Columns of the areas: numeric ones, and texts that tell all areas apart.
    folder : tempfile.TemporaryDirectory
        What they lie in, with nothing else.
    outlines : geopandas.GeoDataFrame or None
        Coarse shapes of the areas, with ``names``, by row.
    """

    polygons: Path | None
    rasters: Mapping[str, Path]
    columns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    folder: tempfile.TemporaryDirectory | None = None
    outlines: GeoDataFrame | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(len(content) for content in self.contents().values())

    def contents(self) -> dict[str, bytes]:
        """The files as they were dropped, by name."""
        return {path.name: path.read_bytes() for path in sorted(Path(self.folder.name).iterdir())
                if path.suffix in POLYGONS + RASTERS + PARTS}

    def shapes(self, name: str = "") -> GeoSeries | None:
        """Coarse shapes of the areas by what a check calls them; None without areas.

        Parameters
        ----------
        name : str
            Column with the areas' names; empty for their numbers.
        """
        if self.outlines is None:
            return None
        found, rows = self.outlines.geometry, self.outlines.index
        names = self.outlines[name] if name else rows
        return found.set_axis([f"row {row}" if one is None else str(one)
                               for row, one in zip(rows, names, strict=True)])

    def remove(self) -> None:
        """Delete them."""
        self.folder.cleanup()


def kept(contents: Mapping[str, bytes]) -> Files:
    """Write files into a folder of this machine, and look what they are.

    Parameters
    ----------
    contents : Mapping of str to bytes
        By file name.

    Returns
    -------
    Files

    Raises
    ------
    InputError
        If there are too many bytes, or a file is of a kind that is not read here.
    """
    size = sum(map(len, contents.values())) / 1e6
    require(size <= MOST, f"these files have {size:.0f} MB together, more than {MOST}; use "
            "`workbench check` and `workbench disaggregate`, which have no such limit")
    plain = [Path(name.replace("\\", "/")) for name in contents]
    names = [path.stem + path.suffix.lower() for path in plain]     # GDAL knows small letters
    require(len(set(names)) == len(names), f"two files have one name: {', '.join(sorted(names))}")
    for name in names:
        require(Path(name).suffix in POLYGONS + RASTERS + PARTS, f"{name} is of a kind that is not "
                f"read here; drop areas ({', '.join(POLYGONS)}) and rasters ({', '.join(RASTERS)})")
    folder = leftovers.folder(leftovers.OWN)
    try:
        return _looked_at(folder, dict(zip(names, contents.values(), strict=True)))
    except BaseException:
        folder.cleanup()
        raise


def _looked_at(folder: tempfile.TemporaryDirectory, contents: Mapping[str, bytes]) -> Files:
    paths = {name: Path(folder.name) / name for name in contents}
    for name, content in contents.items():
        paths[name].write_bytes(content)
    areas = [path for path in paths.values() if path.suffix in POLYGONS]
    require(len(areas) <= 1, "drop one file of areas, got "
            f"{' and '.join(path.name for path in areas)}")
    check_parts(areas, [path for path in paths.values() if path.suffix in PARTS])
    for path in paths.values():
        _check(path)
    rasters = {name: path for name, path in paths.items() if path.suffix in RASTERS}
    if not areas:
        require(len(paths) == 1 and next(iter(paths)).endswith(".nc"), "the areas are missing: "
                f"drop polygons ({', '.join(POLYGONS)}) with the rasters, or one bagged .nc")
        return Files(None, rasters, folder=folder)
    columns, names, outlines = _columns(areas[0])
    return Files(areas[0], rasters, columns, names, folder, outlines)


def _check(path: Path) -> None:
    """Refuse what leads to other files, or is small as a file and far larger when it is read."""
    try:
        check_content(path)
        size = unpacked_size(path) / 1e6
        require(size <= MOST_READ, f"{path.name} would take {size:,.0f} MB when it is read, more "
                f"than {MOST_READ}; use the command line, which has no such limit")
        check_driver(path)
    except InputError:
        raise
    except Exception as error:      # whatever a broken file makes the readers raise
        told = bare(str(error), path.parent)
        raise InputError(f"{path.name} cannot be read: {told}") from error


def _columns(path: Path) -> tuple[tuple[str, ...], tuple[str, ...], GeoDataFrame]:
    import geopandas

    try:
        frame = geopandas.read_file(path)
    except Exception as error:      # whatever a broken file makes the readers raise
        told = bare(str(error), path.parent)
        raise InputError(f"{path.name} cannot be read as areas: {told}") from error
    require(isinstance(frame, geopandas.GeoDataFrame) and bool(frame.geometry.notna().any()),
            f"{path.name} is a table without shapes; join its columns to polygons, e.g. in QGIS, "
            "and drop these")
    numeric = tuple(map(str, frame.select_dtypes("number").columns))
    texts = frame.drop(columns=[frame.geometry.name, *numeric])
    names = tuple(str(name) for name in texts if texts[name].is_unique)
    shapes = coarse(frame.geometry)
    return numeric, names, geopandas.GeoDataFrame(frame[list(names)], geometry=shapes)


def options_of(files: Files, value: str, weight: str = "", name: str = ""
               ) -> tuple[str, dict]:
    """Dataset and dataset options of a `Spec` of these files.

    Parameters
    ----------
    files : Files
    value : str
        Column of the totals.
    weight : str
        Name of the raster of the population; empty for area.
    name : str
        Column with the areas' names; empty for their numbers.
    """
    if files.polygons is None:
        return str(next(iter(files.rasters.values()))), {}
    found = {"polygons": str(files.polygons), "value": value}
    covariates = [str(path) for name, path in files.rasters.items() if name != weight]
    found |= {"covariates": covariates} if covariates else {}
    found |= {"weight": str(files.rasters[weight])} if weight else {}
    found |= {"id": name} if name else {}
    return "polygons", found


def check(dataset: str, options: Mapping) -> Check:
    """`workbench.check` of the files, before anything is fitted.

    Parameters
    ----------
    dataset : str
    options : Mapping
        As of `options_of`.
    """
    from workbench.preflight import check

    given, folder = dict(options), Path(options.get("polygons", dataset)).parent
    try:
        found = check(given.pop("polygons", dataset), given.pop("covariates", None),
                      given.pop("weight", None), given.pop("value", None), **given)
    except InputError as error:
        raise InputError(bare(str(error), folder)) from error
    texts = ("what", "fix", "flag", "effect", "told", "joint")
    return replace(found, findings=[
        replace(one, **{name: bare(getattr(one, name), folder) for name in texts})
        for one in found.findings])


def title_of(files: Files) -> str:
    """What the app calls a dataset of these files.

    Parameters
    ----------
    files : Files
    """
    path = files.polygons or next(iter(files.rasters.values()))
    return f"Own: {path.name}"


def choice_of(ds: xr.Dataset, title: str, dataset: str, options: Mapping) -> Choice:
    """How the app offers a dataset of one's own.

    Parameters
    ----------
    ds : xr.Dataset
        As the check read it.
    title : str
        Its name for people.
    dataset : str
    options : Mapping
        As of `options_of`.

    Raises
    ------
    InputError
        If there is nothing to draw a map on, or no rate but zero.
    """
    from workbench.plots import observed_rate, rate_unit
    from workbench.plots.maps import map_unit

    require("x" in ds.coords and "y" in ds.coords, "these data have no coordinates x and y of "
            "their individuals, which the maps of this app need; use them from Python")
    areas, (factor, _) = ds.sizes["bag"], rate_unit(ds)
    rate = np.asarray(observed_rate(ds).values, dtype=float)
    rate = rate[np.isfinite(rate)]
    require(bool((rate != 0).any()), "the totals of all areas are zero or missing: there is "
            "nothing to disaggregate; choose another column")
    extent = max(float(np.ptp(ds[c].values)) for c in "xy")
    offered = sorted({_rounded(v * factor) for v in np.quantile(rate, _QUANTILES)} - {0.0})
    merged = {f"{k} merged areas": str(k) for k in (areas // 2, areas // 4) if k >= 10}
    return Choice(
        title, {f"{areas} areas, as they are": ALL} | merged,
        (_rounded(extent / 100), _rounded(extent)), map_unit(ds) or "unit",
        tuple(offered), offered[len(offered) // 2], factor, float(rate.std()) or 1.0,
        kernels=kernels_for(bool(ds.sizes["covariate"])), dataset=dataset, loader=dict(options),
        large=ds.sizes["individual"] > EXACT_LIMIT)


def portable(spec: Spec) -> Spec:
    """A Spec with own files by their names alone, as they lie with whoever dropped them.

    Parameters
    ----------
    spec : Spec
    """
    def name(value: object) -> object:
        if isinstance(value, str) and f"/{leftovers.OWN}" in value:
            return Path(value).name
        return [name(one) for one in value] if isinstance(value, list | tuple) else value

    options = {key: name(value) for key, value in spec.dataset_options.items()}
    return replace(spec, dataset=name(spec.dataset), dataset_options=options)


def _rounded(value: float) -> float:
    return round(value, 1 - math.floor(math.log10(abs(value)))) if value else 0.0
