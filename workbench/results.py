"""The result of a run on its way to a file: the areas' own columns, scores, what is kept."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import xarray as xr

from workbench import geo
from workbench.checks import require
from workbench.outputs import deliver, write_bytes
from workbench.spec import Spec

OUTPUTS = (".nc", ".tif", ".tiff", ".gpkg")
CROSS_VALIDATION, COMPARISON = "cv_", "comparison"


def scores(maps: xr.Dataset) -> xr.Dataset:
    """The scores of cross-validation in a result, as `evaluation.table` reads them.

    Raises
    ------
    InputError
        If the run made none.
    """
    names = [str(n) for n in maps.data_vars if str(n).startswith(CROSS_VALIDATION)]
    require(bool(names), "this result has no scores; run its Spec with folds=10")
    return maps[names].rename({n: n.removeprefix(CROSS_VALIDATION) for n in names})


def input_files(spec: Spec) -> list[Path]:
    """The files that a Spec reads."""
    given = [Path(spec.dataset), *map(Path, _texts(spec.dataset_options.plain()))]
    return [path for path in given if _is_file(path)]


def own_columns(spec: Spec, out: Path):
    """The columns of a Spec's polygon file, by area; None where the output does not hold them.

    Areas that were merged (``level``, ``areas``) have no columns of their own.

    Returns
    -------
    pd.DataFrame or None
        Indexed by the areas' names.
    """
    if out.suffix.lower() != ".gpkg" or spec.dataset != "polygons":
        return None
    if spec.level is not None or spec.areas is not None:
        return None
    options = spec.dataset_options.plain()
    if not {"polygons", "value"} <= options.keys() or not Path(options["polygons"]).exists():
        return None                         # which the run itself will refuse, and say why
    return geo.area_columns(options["polygons"], options["value"], options)


def save(maps: xr.Dataset, out: Path, areas=None) -> list[Path]:
    """Write a result; one that cannot go to its file must not lose a long fit.

    Parameters
    ----------
    maps : xr.Dataset
        From `workbench.pipeline.run`.
    out : Path
        ``.nc`` holds everything. A raster has no place for scores: they go beside it as CSV. In a
        GeoPackage they are a table.
    areas : pd.DataFrame, optional
        From `own_columns`.

    Returns
    -------
    list of Path
        The files written, the map first.

    Raises
    ------
    OutputError
        If it could not be written; the message says where the result is kept.
    """
    scored = any(str(name).startswith(CROSS_VALIDATION) for name in maps.data_vars)
    table = score_rows(maps) if scored and out.suffix.lower() != ".nc" else None
    beside = out.with_name(f"{out.stem}.scores.csv")
    if table is not None and out.suffix.lower() in (".tif", ".tiff"):
        deliver(lambda path: geo.write(maps, path), out, spare=".nc")
        deliver(lambda path: write_bytes(path, table.to_csv(index=False)), beside)
        return [out, beside]
    tables = {} if table is None else {"scores": table}
    deliver(lambda path: geo.write(maps, path, areas=areas, tables=tables), out, spare=".nc")
    return [out]


def score_rows(maps: xr.Dataset):
    """The scores of a result as a table: a row for each model and what it predicted."""
    found = scores(maps)["scores"].reset_coords(drop=True).to_series().unstack("score")
    return found.dropna(how="all").reset_index().rename_axis(columns=None)


def resume_folder(out: Path) -> Path:
    """Where finished folds are kept until the scores are in the result."""
    return out.with_name(f"{out.name}.resume")


def kept_map(folder: Path, ds: xr.Dataset, model: object, spec: Spec) -> Path:
    """Where a finished map is kept: equal data, model, Spec and code have an equal name."""
    from workbench.evaluation.tasks import code_key, data_key
    from workbench.schema import GEOMETRY

    content = [data_key(ds.drop_vars(GEOMETRY, errors="ignore")), repr(model), spec.to_json(),
               code_key()]
    return folder / f"map-{hashlib.sha256(json.dumps(content).encode()).hexdigest()}.nc"


def clear(folder: Path | None) -> None:
    """Remove the maps and folds that were kept beside an output; files of other kinds stay."""
    if folder is None or not folder.is_dir():
        return
    for file in folder.glob("*.nc"):
        file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:                     # a text too long for a name
        return False
