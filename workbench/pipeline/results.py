"""The result of a run on its way to a file, with the areas' own columns and the scores."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from workbench import geo
from workbench.geo.tables import metadata_of
from workbench.outputs import OutputError, deliver, reason_of, unfinished, write_bytes
from workbench.pipeline.base import BaseSpec
from workbench.pipeline.own_files import POLYGONS
from workbench.pipeline.scoring import is_scored, scores
from workbench.pipeline.spec import AggregateSpec, Spec

OUTPUTS = (".nc", ".tif", ".tiff", ".gpkg", ".parquet", ".csv")
_TABLES = (".parquet", ".csv")


def formats_of(spec: BaseSpec) -> tuple[str, ...]:
    """Suffixes that the result of a Spec may have: totals of polygons are no raster.

    Parameters
    ----------
    spec : BaseSpec
        Of any command.

    Returns
    -------
    tuple of str
    """
    if getattr(spec, "rasters", ()):
        return geo.BLOCK_FORMATS
    rasters = (".tif", ".tiff") if isinstance(spec, AggregateSpec) else ()
    return tuple(suffix for suffix in OUTPUTS if suffix not in rasters)


def own_columns(spec: BaseSpec, out: Path):
    """The columns of a Spec's polygon file, by area; None where the output does not hold them.

    Areas that were merged (``level``, ``areas``) have no columns of their own.

    Parameters
    ----------
    spec : BaseSpec
        Of any command.
    out : Path
        File to write.

    Returns
    -------
    pd.DataFrame or None
        Indexed by the areas' names.
    """
    if out.suffix.lower() != ".gpkg":
        return None
    at = getattr(spec, "at_options", None)
    if at:
        return _columns(at.plain())
    if not isinstance(spec, Spec) or spec.dataset != POLYGONS:
        return None
    if spec.level is not None or spec.areas is not None or spec.at is not None:
        return None
    options = spec.dataset_options.plain()
    if "time" in options or "value" not in options:     # areas of the map are areas at a period
        return None
    return _columns(options)


def _columns(options: dict):
    if "polygons" not in options or not Path(options["polygons"]).exists():
        return None                         # which the run itself will refuse, and say why
    return geo.area_columns(options["polygons"], options.get("value"), options)


def save(maps: xr.Dataset, out: Path, areas=None, progress: bool = False) -> list[Path]:
    """Write a result; one that cannot go to its file must not lose a long fit.

    Parameters
    ----------
    maps : xr.Dataset
        From `workbench.pipeline.run.run`.
    out : Path
        ``.nc`` holds everything. A raster or table has no place for scores: they go beside it as
        CSV. In a GeoPackage they are a table. Beside a table of individuals goes one of the areas,
        ``OUT.areas`` with the same suffix.
    areas : pd.DataFrame, optional
        From `own_columns`.
    progress : bool
        Of a lazy map, which is computed as it is written: show a bar.

    Returns
    -------
    list of Path
        The files written, the map first.

    Raises
    ------
    OutputError
        If it could not be written; the message says where the result is kept.
    """
    if maps.chunks:
        try:
            return [geo.write_blocks(maps, out, progress=progress)]
        except OSError as error:
            notes = "; ".join(getattr(error, "__notes__", []))
            raise OutputError(f"cannot write {out} ({reason_of(error)}); {notes}") from error
    suffix = out.suffix.lower()
    table = _score_rows(maps) if is_scored(maps) and suffix != ".nc" else None
    inside = {"scores": table} if table is not None and suffix == ".gpkg" else {}
    deliver(lambda path: geo.write(maps, path, areas=areas, tables=inside), out, spare=".nc")
    written = [out]
    if suffix in _TABLES and _has_areas(maps, suffix):
        own = _areas_of(out)
        deliver(lambda path: geo.write(maps, path, layer="bag"), own)
        written.append(own)
    if table is None or inside:
        return written
    deliver(lambda path: write_bytes(path, table.to_csv(index=False)), _scores_of(out))
    return [*written, _scores_of(out)]


def beside(out: Path) -> list[Path]:
    """Files that `save` may write with a result, whole or `unfinished`.

    Parameters
    ----------
    out : Path
        Of the result.

    Returns
    -------
    list of Path
        Areas, scores, and what columns of tables mean.
    """
    tables = [file for one in (out, unfinished(out)) for file in (
        one, _areas_of(one), _scores_of(one))]
    return [*tables[1:], *map(metadata_of, tables)]


def _areas_of(out: Path) -> Path:
    return out.with_name(f"{out.stem}.areas{out.suffix}")


def _scores_of(out: Path) -> Path:
    return out.with_name(f"{out.stem}.scores.csv")


def _has_areas(maps: xr.Dataset, suffix: str) -> bool:
    """Whether there are areas beside individuals, which a table of these does not hold."""
    both = "individual" in maps.dims and "mean" in maps and any(
        "bag" in maps[name].dims for name in maps.data_vars)
    return both and (suffix == ".csv" or "bag_geometry" in maps.coords)


def _score_rows(maps: xr.Dataset):
    """The scores of a result as a table: a row for each model and what it predicted."""
    found = scores(maps)["scores"].reset_coords(drop=True).to_series().unstack("score")
    return found.dropna(how="all").reset_index().rename_axis(columns=None)
