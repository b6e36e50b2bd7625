"""Files of one's own as a dataset of the app: kept on this machine, checked, and then chosen."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.bagging.findings import NOTE, Finding
from workbench.checks import InputError, require
from workbench.ui.base import leftovers
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.catalogue import OWN
from workbench.ui.disaggregate.columns import is_number_of_row, is_place
from workbench.ui.disaggregate.offering import choice_of
from workbench.ui.disaggregate.portable import needed, portable
from workbench.ui.disaggregate.remedies import settled
from workbench.ui.disaggregate.roles import (
    layers_of,
    not_names,
    not_numbers,
    options_of,
    require_numbers,
)
from workbench.ui.disaggregate.surveys import surveys_in
from workbench.ui.disaggregate.tables import TABLES, Table, alone, is_grid, table_of
from workbench.ui.disaggregate.uploads import (
    bare,
    broken,
    check_content,
    check_driver,
    check_parts,
    coarse,
    read_areas,
    unpacked_size,
    unreadable,
)
from workbench.ui.disaggregate.zips import PARTS, flatten, is_utf8

if TYPE_CHECKING:
    from geopandas import GeoDataFrame, GeoSeries

    from workbench.preflight import Check

__all__ = ["Files", "check", "choice_of", "kept", "needed", "options_of", "portable",
           "require_room", "title_of", "unused"]

POLYGONS = (".gpkg", ".geojson", ".json", ".zip", ".shp")
RASTERS = (".tif", ".tiff", ".nc")
KINDS = (*POLYGONS, *RASTERS, *TABLES, *PARTS)
MOST = 15               # megabytes of all files together, which a browser sends in one message
MOST_KEPT = 60          # megabytes of all files that one session uses
MOST_READ = 512         # megabytes that a packed file may become when it is read
NAME = OWN              # and a number: of datasets in addresses


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
    table : tables.Table or None
        Totals that are joined to the areas.
    folder : tempfile.TemporaryDirectory
        What they lie in, with nothing else.
    outlines : geopandas.GeoDataFrame or None
        Coarse shapes of the areas, with ``names``, by row.
    texts : tuple of str
        What is said of columns that only look like numbers, or like names of the areas.
    layers : Mapping
        By name of a CSV of pixels: its rasters, where there are several.
    surveys : Mapping of str to str
        Columns of positives, each with that of how many were tested (`surveys.surveys_in`).
    """

    polygons: Path | None
    rasters: Mapping[str, Path]
    columns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    table: Table | None = None
    folder: tempfile.TemporaryDirectory | None = None
    outlines: GeoDataFrame | None = field(default=None, repr=False, compare=False)
    texts: tuple[str, ...] = ()
    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    surveys: Mapping[str, str] = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns of numbers: those of the table, where there is one, come first."""
        return tuple(dict.fromkeys([*(self.table.columns if self.table else ()), *self.columns]))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(len(content) for content in self.contents().values())

    def contents(self) -> dict[str, bytes]:
        """The files as they were dropped, by name."""
        return {path.name: path.read_bytes() for path in sorted(Path(self.folder.name).iterdir())
                if path.suffix in KINDS}

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
    require_room(contents)
    plain = [Path(name.replace("\\", "/")) for name in contents]
    names = [path.stem + path.suffix.lower() for path in plain]     # GDAL knows small letters
    require(len(set(names)) == len(names), f"two files have one name: {', '.join(sorted(names))}")
    for name in names:
        require(Path(name).suffix in KINDS, f"{name} is of a kind that is not read here; drop "
                f"areas ({', '.join(POLYGONS)}), rasters ({', '.join(RASTERS)}) and tables (.csv)")
    for name, content in zip(names, contents.values(), strict=True):
        require(len(content) > 0, f"{name} has no content (0 bytes); export or copy it again")
    folder = leftovers.folder(leftovers.OWN)
    try:
        return _looked_at(folder, dict(zip(names, contents.values(), strict=True)))
    except BaseException:
        folder.cleanup()
        raise


def require_room(contents: Mapping[str, bytes]) -> None:
    """Refuse files that are too large together.

    Parameters
    ----------
    contents : Mapping of str to bytes
        By file name.

    Raises
    ------
    InputError
        With how large they may be.
    """
    size = sum(map(len, contents.values())) / 1e6
    require(size <= MOST, f"these files have {size:.0f} MB together, more than {MOST}; use "
            "`workbench check` and `workbench disaggregate`, which have no such limit")


def _looked_at(folder: tempfile.TemporaryDirectory, contents: Mapping[str, bytes]) -> Files:
    paths = {name: Path(folder.name) / name for name in contents}
    for name, content in contents.items():
        paths[name].write_bytes(content)
    areas = [path for path in paths.values() if path.suffix in POLYGONS]
    require(len(areas) <= 1, "drop one file of areas, got "
            f"{' and '.join(path.name for path in areas)}; remove one, or all to start anew")
    check_parts(areas, [path for path in paths.values() if path.suffix in PARTS])
    for path in paths.values():
        _check(path)
    tables = [path for path in paths.values() if path.suffix in TABLES]
    grids = [path for path in tables if is_grid(path, MOST_READ)]
    rasters = {name: path for name, path in paths.items()
               if path.suffix in RASTERS or path in grids}
    totals = [path for path in tables if path not in grids]
    if not areas:
        if totals:
            raise InputError(alone(totals[0]))
        require(len(paths) == 1 and next(iter(paths)).endswith(".nc"),
                f"{broken(rasters)}the areas are missing: drop polygons ({', '.join(POLYGONS)}) "
                "with the rasters, or one bagged .nc")
        return Files(None, rasters, folder=folder)
    require(len(totals) <= 1, "drop one table of values, got "
            f"{' and '.join(path.name for path in totals)}: remove what is too many")
    frame = read_areas(areas[0])
    numeric = tuple(map(str, frame.select_dtypes("number").columns))
    texts = frame.drop(columns=[frame.geometry.name, *numeric])
    names = tuple(str(name) for name in texts if texts[name].is_unique)
    table = table_of(totals[0], frame) if totals else None
    known = list(dict.fromkeys([*names, *(other for _, other, _ in table.keys)] if table
                               else names))
    import geopandas

    outlines = geopandas.GeoDataFrame(frame[known], geometry=coarse(frame.geometry))
    said = (*not_numbers(texts, areas[0].name), *not_names(texts, areas[0].name),
            *(table.texts if table else ()))
    found = Files(areas[0], rasters, numeric, names, table, folder, outlines, said,
                  layers_of(grids),
                  {**surveys_in(frame), **(table.surveys if table else {})})
    require_numbers(found)
    return found


def _check(path: Path) -> None:
    """Refuse what leads to other files, or is small as a file and far larger when it is read."""
    try:
        check_content(path)
        size = unpacked_size(path) / 1e6
        require(size <= MOST_READ, f"{path.name} would take {size:,.0f} MB when it is read, more "
                f"than {MOST_READ}; use the command line, which has no such limit")
        if path.suffix == ".zip":
            flatten(path)
        elif path.suffix == ".dbf" and not path.with_suffix(".cpg").exists() and is_utf8(
                path.read_bytes()):
            path.with_suffix(".cpg").write_text("UTF-8")
        check_driver(path)
    except InputError:
        raise
    except Exception as error:      # whatever a broken file makes the readers raise
        raise unreadable(path, error) from error


def unused(files: Files, options: Mapping) -> tuple[str, ...]:
    """Columns of numbers that no option names: no map can learn from them.

    Parameters
    ----------
    files : Files
    options : Mapping
        As of `options_of`.
    """
    named = {options.get(one) for one in (
        "value", "population", "id", "join", "standard_error", "trials")}
    return tuple(name for name in files.numbers
                 if name not in named and not is_number_of_row(name) and not is_place(name))


def check(dataset: str, options: Mapping, columns: tuple[str, ...] = ()) -> Check:
    """`workbench.check` of the files, before anything is fitted.

    Parameters
    ----------
    dataset : str
    options : Mapping
        As of `options_of`.
    columns : tuple of str
        Columns of the areas that are not used, which the check says with the reason.
    """
    from workbench.preflight import check

    given, folder = dict(options), Path(options.get("polygons", dataset)).parent
    try:
        found = check(given.pop("polygons", dataset), given.pop("covariates", None),
                      given.pop("weight", None), given.pop("value", None), **given)
    except InputError as error:
        raise InputError(bare(str(error), folder)) from error
    texts = ("what", "fix", "flag", "effect", "told", "joint")
    idle = [Finding("column-unused", labels.unused(columns), labels.UNUSED_FIX, severity=NOTE)
            ] if columns else []
    said = [replace(one, **{name: bare(getattr(one, name), folder) for name in texts})
            for one in found.findings]
    return replace(found, findings=settled(said, options) + idle)


def title_of(files: Files) -> str:
    """What the app calls a dataset of these files.

    Parameters
    ----------
    files : Files
    """
    path = files.polygons or next(iter(files.rasters.values()))
    return f"Own: {path.name}"
