"""Zipped shapefiles as people make them: in a folder, with what macOS adds, without an encoding."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path, PurePosixPath

from workbench.checks import require

PARTS = (".shx", ".dbf", ".prj", ".cpg")        # that belong to a .shp
NEEDED = (".shx", ".dbf")       # without which a .shp says nothing
PACKED = (".shp", *PARTS, ".sbn", ".sbx", ".qpj", ".xml")
_CLUTTER = (".ds_store", "thumbs.db", "desktop.ini")
_MACOS = "__MACOSX"


def parts_of(path: Path) -> dict[str, str]:
    """The parts of the one shapefile in a zip: name alone by name in the zip.

    Folders are left out, and so is what operating systems add.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If a name leads out of the zip, or there is anything but one shapefile.
    """
    with zipfile.ZipFile(path) as archive:
        names = [one.filename for one in archive.infolist() if not one.is_dir()]
    for name in names:
        require(not name.startswith("/") and "\\" not in name and ":" not in name
                and name.isprintable() and ".." not in PurePosixPath(name).parts,
                f"{path.name} holds {name!r}, which leads out of the zip; zip the parts of the "
                "shapefile in no folder, or in one")
    found = {name: PurePosixPath(name).name for name in names if not _is_clutter(name)}
    shapes = [name for name in found if name.lower().endswith(".shp")]
    require(len(shapes) == 1, f"{path.name} holds {len(shapes)} shapefiles"
            f"{' (' + ', '.join(shapes[:5]) + ')' if shapes else ''}; zip one of them alone")
    wrong = [name for name in found if PurePosixPath(name).suffix.lower() not in PACKED]
    require(not wrong, f"{path.name} holds {', '.join(wrong[:3])}; zip one shapefile alone: its "
            f"parts ({', '.join(PACKED)})")
    require(len({one.lower() for one in found.values()}) == len(found) == len(set(names)
            - {name for name in names if _is_clutter(name)}),
            f"{path.name} holds a part of its shapefile twice; zip each once")
    return found


def flatten(path: Path) -> None:
    """Write a zip again without folders and clutter, with the encoding of its texts.

    Parameters
    ----------
    path : Path
        After `parts_of`, and of a size that may be read.

    Raises
    ------
    InputError
        If the shapefile lacks a part that it needs.
    """
    found, flat = parts_of(path), path.with_suffix(".flat")
    there = {PurePosixPath(name).suffix.lower() for name in found}
    lacking = [one for one in NEEDED if one not in there]
    require(not lacking, f"{path.name} lacks {' and '.join(lacking)} of its shapefile, without "
            "which it cannot be read; zip the .shp together with its .shx, .dbf and .prj")
    with zipfile.ZipFile(path) as given, zipfile.ZipFile(
            flat, "w", zipfile.ZIP_DEFLATED) as made:
        for name, alone in found.items():
            with given.open(name) as source, made.open(alone, "w") as part:
                shutil.copyfileobj(source, part)
        suffixes = {Path(alone).suffix.lower(): name for name, alone in found.items()}
        if ".dbf" in suffixes and ".cpg" not in suffixes and is_utf8(
                given.read(suffixes[".dbf"])):
            made.writestr(f"{Path(found[suffixes['.dbf']]).stem}.cpg", "UTF-8")
    flat.replace(path)


def is_utf8(table: bytes) -> bool:
    """Whether the texts of a .dbf are UTF-8 beyond ASCII, where GDAL would take them for Latin-1.

    Parameters
    ----------
    table : bytes
        All of the file.
    """
    texts = table[int.from_bytes(table[8:10], "little"):]       # behind the header
    try:
        return not texts.decode("utf-8").isascii()
    except UnicodeDecodeError:
        return False


def _is_clutter(name: str) -> bool:
    path = PurePosixPath(name)
    return (_MACOS in path.parts or path.name.startswith("._")
            or path.name.lower() in _CLUTTER)
