"""Rasters of classes, such as land cover, as one covariate of ones and zeros for each class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import xarray as xr

from workbench.bagging.odd_covariates import whole_classes
from workbench.checks import InputError, option, require
from workbench.geo.rasters import read_rasters
from workbench.geo.treatments import Record

MOST_CLASSES = 30


def with_classes(
    layers: dict[str, xr.DataArray], classes: object, labels: Mapping[str, str] | None,
    record: Record, **reading,
) -> tuple[dict[str, xr.DataArray], list[str]]:
    """Covariates with each raster of classes replaced by one covariate for each class but one.

    The most frequent class is the reference: all shares together add up to one, and would say
    nothing more.

    Parameters
    ----------
    layers : dict of str to xr.DataArray
        Covariates as read.
    classes : str, Path, raster, or a sequence of them
        Names among the covariates, or further rasters.
    labels : mapping of code to label, optional
        Names of the classes; else those that the file holds, else the codes.
    record : Record
        Receives which class is the reference.
    **reading
        As of `workbench.geo.rasters.read_rasters`.

    Returns
    -------
    layers : dict of str to xr.DataArray
        Those of classes are named ``name=class``: 1 where a pixel is of the class, 0 elsewhere.
    names : list of str
        Of these.

    Raises
    ------
    InputError
        If a raster does not hold whole numbers, or more than 30 classes.
    """
    if classes is None:
        require(not labels, f"class_labels name classes; say of which raster: {option('classes')}")
        return layers, []
    several = isinstance(classes, Sequence) and not isinstance(classes, str)
    found, said = dict(layers), {}
    chosen = []
    for one in (classes if several else [classes]):
        if isinstance(one, str) and one in found:
            chosen.append(one)
            continue
        require(not isinstance(one, str) or Path(one).suffix != "", f"classes {one!r} is neither a "
                f"covariate ({', '.join(layers) or 'there are none'}) nor the name of a raster")
        more = read_rasters(one, record, **reading)
        twice = [name for name in more if name in found]
        require(not twice, f"raster {twice} is given as covariate and among the classes; name the "
                f"covariate: {option('classes', *twice)}")
        found |= more
        chosen += list(more)
        said |= {name: labels_of(one) for name in more} if isinstance(one, str | Path) else {}
    columns: dict[str, xr.DataArray] = {}
    for name, layer in found.items():
        if name not in chosen:
            columns[name] = layer
        else:
            columns |= indicators(layer, name, labels or said.get(name) or {}, record)
    return columns, [name for name in columns if name not in found]


def indicators(layer: xr.DataArray, name: str, labels: Mapping, record: Record
               ) -> dict[str, xr.DataArray]:
    """One raster of ones and zeros for each class but the most frequent.

    Parameters
    ----------
    layer : xr.DataArray
        Codes (y, x), NaN where missing.
    name : str
        Of the covariate.
    labels : mapping of code to label
        Names of classes; the code where there is none.
    record : Record
        Receives which class is the reference.

    Returns
    -------
    dict of str to xr.DataArray
        By ``name=class``, in order of the codes.

    Raises
    ------
    InputError
        If codes are not whole, are more than 30, or two have one label.
    """
    codes, counts = np.unique(layer.values[np.isfinite(layer.values)], return_counts=True)
    if (codes != np.round(codes)).any():
        raise InputError(f"raster {name!r} holds {codes[codes != np.round(codes)][0]:g}, which is "
                         "no code of a class; classes are whole numbers: leave it among the "
                         "covariates")
    require(codes.size <= MOST_CLASSES, f"raster {name!r} has {codes.size} classes, more than "
            f"{MOST_CLASSES}; join some before (reclassify), or take it as a covariate")
    require(codes.size > 1, f"raster {name!r} has one class only, and can tell no place from "
            "another; leave it out")
    given = {float(code): str(label) for code, label in labels.items()}
    told = [given.get(float(code), f"{code:g}") for code in codes]
    twice = {label for label in told if told.count(label) > 1}
    require(not twice, f"classes of {name!r} have one label: {sorted(twice)}; name them apart")
    common = int(np.argmax(counts))
    record.note(f"classes of {name!r}: {', '.join(told)}; {told[common]!r}, the most frequent, is "
                "the reference and no covariate")
    kept = [i for i in range(codes.size) if i != common]
    known = np.isfinite(layer.values)
    return {f"{name}={told[i]}": layer.copy(data=np.where(
        known, (layer.values == codes[i]).astype(np.float32), np.float32(np.nan)))
        for i in kept}


def labels_of(path: str | Path) -> dict[float, str]:
    """Labels of classes beside a raster, as GDAL keeps them in ``FILE.aux.xml``.

    Parameters
    ----------
    path : str or Path
        Of the raster.

    Returns
    -------
    dict of float to str
        By code; empty where there are none.
    """
    beside = Path(f"{path}.aux.xml")
    if not beside.is_file():
        return {}
    try:
        tree = ElementTree.fromstring(beside.read_text(encoding="utf-8"))
    except (ElementTree.ParseError, UnicodeDecodeError):
        return {}
    table = tree.find(".//GDALRasterAttributeTable")
    if table is None:
        names = [one.text for one in tree.findall(".//CategoryNames/Category")]
        return {float(code): name for code, name in enumerate(names) if name}
    usages = [int(one.findtext("Usage", "0")) for one in table.findall("FieldDefn")]
    value = next((i for i, usage in enumerate(usages) if usage in (3, 5)), 0)     # MinMax, Max
    text = next((i for i, usage in enumerate(usages) if usage == 2), None)        # Name
    if text is None:
        return {}
    rows = [[cell.text for cell in row.findall("F")] for row in table.findall("Row")]
    return {float(row[value]): row[text] for row in rows
            if row[text] and re.fullmatch(r"-?\d+(\.0*)?", row[value] or "")}


def without_absent(names: Sequence[str], matrix: np.ndarray, classes: Sequence[str],
                   record: Record) -> tuple[list[str], np.ndarray]:
    """Leave out classes that no individual has.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    matrix : array (individual, covariate)
        Covariates.
    classes : sequence of str
        Columns of classes.
    record : Record
        Receives which were left out.

    Returns
    -------
    names : list of str
    matrix : array (individual, covariate)
    """
    absent = [name in classes and not column.any()
              for name, column in zip(names, matrix.T, strict=True)]
    gone = [name for name, one in zip(names, absent, strict=True) if one]
    if gone:
        record.note(f"classes that no individual has were left out: {', '.join(gone)}")
    # It stays the reference, so that maps of other places of the raster have the same columns.
    for raster in whole_classes(matrix, [name if name in classes else "" for name in names]):
        record.note(f"no individual is of the most frequent class of {raster!r}, with which the "
                    "others are compared: the data show how these differ from each other, and the "
                    "map of places of that class rests on the prior")
    return [name for name in names if name not in gone], matrix[:, ~np.array(absent, bool)]
