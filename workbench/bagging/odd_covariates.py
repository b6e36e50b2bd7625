"""What looks wrong in covariates that can be used: constant, codes of classes, collinear."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.findings import Finding, suspicious
from workbench.bagging.warping import of_polygons
from workbench.checks import option

_CODES, _PER_CODE = 40, 20      # most class codes, and individuals for each of them
_COLLINEAR = 0.999              # correlation of covariates that are one
_DEPENDENT = 1e-6               # least eigenvalue of correlations where none depends on others
_DEPENDENCIES = 2       # most of them that are taken for a slip
_FINEST = 1e-9          # relative range of a covariate that is constant
_MOST = 20_000          # individuals that covariates are looked at by
_NAMED = 5              # names that a sentence lists
_ROUNDING = 1e-6        # of shares that are averaged in single precision


def odd_covariates(ds: xr.Dataset) -> list[Finding]:
    """Covariates that are constant, look like codes of classes, or say the same as others.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    list of Finding
        Warnings.
    """
    table = ds["covariates"].transpose(schema.INDIVIDUAL, schema.COVARIATE).values.astype(float)
    names = [str(name) for name in ds[schema.COVARIATE].values]
    if not names or len(table) < 3:
        return []
    step = -(-len(table) // _MOST)
    seen = table[::step]
    size = np.abs(table).max(0)
    constant = np.ptp(table, axis=0) <= _FINEST * size
    found = []
    if constant.any():
        found.append(suspicious(
            "constant", f"{_listed(names, constant)} the same everywhere, and can tell no place "
            "from another", "is it the right layer? If so, leave it out",
            np.array(names)[constant], int(constant.sum()), "it changes nothing in the map"))
    periods = ["individual_period" in ds.coords and name == "time" for name in names]
    codes = np.array([not known and class_coded(column)
                      for column, known in zip(seen.T, constant | periods, strict=True)])
    if codes.any():
        found.append(suspicious(
            "class-codes", f"{_listed(names, codes)} whole numbers of few kinds", "If they are "
            "codes of classes (land cover), their order and distances mean nothing: give one "
            f"covariate of zeros and ones for each class but one, {_made(ds, names, codes)}. If "
            "they are amounts, go on",
            np.array(names)[codes], int(codes.sum()), "they are taken for amounts", ". "))
    constant |= np.isin(names, list(whole_classes(table, names).values()))
    return found + _collinear(seen[:, ~constant], [n for n, flat in zip(names, constant,
                                                                       strict=True) if not flat])


def _made(ds: xr.Dataset, names: list[str], codes: np.ndarray) -> str:
    """How covariates of classes are made: of a raster by an option, not of columns of polygons."""
    first = names[int(np.argmax(codes))]
    if of_polygons(ds):
        return ("as columns of the polygons, in Python by pandas.get_dummies("
                f"polygons[{first!r}], drop_first=True, dtype=float)")
    return f"as {option('classes', first)} does of a raster"


def _listed(names: list[str], which: np.ndarray) -> str:
    chosen = [repr(name) for name, is_one in zip(names, which, strict=True) if is_one]
    more = f" and {len(chosen) - _NAMED} more" if len(chosen) > _NAMED else ""
    one = len(chosen) == 1
    return (f"covariate{'' if one else 's'} {', '.join(chosen[:_NAMED])}{more} "
            f"{'is' if one else 'are'}")


def whole_classes(table: np.ndarray, names: list[str]) -> dict[str, str]:
    """Rasters of classes whose shares add up to one everywhere, and one of the classes of each.

    The class that is the reference is then nowhere. These shares depend on each other as they
    should, and nobody can leave one of them out.

    Parameters
    ----------
    table : array (individual, covariate)
        Covariates.
    names : list of str
        Of them; those of classes are ``raster=class``.

    Returns
    -------
    dict of str to str
        By raster the name of the last of its classes.

    Examples
    --------
    >>> whole_classes(np.array([[1.0, 0.0, 3.0], [0.4, 0.6, 5.0]]), ["land=a", "land=b", "height"])
    {'land': 'land=b'}
    """
    of_raster: dict[str, list[int]] = {}
    for d, name in enumerate(names):
        if "=" in name and table[:, d].any():
            of_raster.setdefault(name.partition("=")[0], []).append(d)
    return {raster: names[of[-1]] for raster, of in of_raster.items()
            if len(of) > 1 and len(table)
            and (np.abs(table[:, of].sum(1) - 1) < _ROUNDING).all()}


def class_coded(column: np.ndarray) -> bool:
    """Whether numbers are whole and of so few kinds that they look like codes of classes.

    Parameters
    ----------
    column : array (n,)
    """
    if (column != np.round(column)).any():
        return False
    kinds = np.unique(column).size
    return 3 <= kinds <= _CODES and kinds * _PER_CODE <= column.size


def _collinear(table: np.ndarray, names: list[str]) -> list[Finding]:
    if table.shape[1] < 2 or len(table) <= table.shape[1] + 1:
        return []
    spread = table.std(0)
    moving = spread > 0
    table, names = table[:, moving], [n for n, m in zip(names, moving, strict=True) if m]
    correlation = np.corrcoef(table.T)
    pairs = np.argwhere(np.triu(np.abs(correlation) > _COLLINEAR, 1))
    if len(pairs):
        told = ", ".join(f"{names[i]!r} and {names[j]!r} ({correlation[i, j]:.5f})"
                         for i, j in pairs[:_NAMED])
        more = f" and {len(pairs) - _NAMED} more pairs" if len(pairs) > _NAMED else ""
        return [suspicious(
            "collinear", f"covariates are nearly the same, by their correlation: {told}{more}",
            "their slopes are not identifiable: leave one of each pair out",
            [names[d] for d in np.unique(pairs)], len(pairs), joint="; ",
            effect="which of them moves the map is left to the prior")]
    values, vectors = np.linalg.eigh(correlation)
    null = values <= _DEPENDENT
    # More dependencies than that are a surface in a space of more dimensions, and meant.
    if not 1 <= null.sum() <= _DEPENDENCIES:
        return []
    together = (np.abs(vectors[:, null]) > 0.05).any(1)
    return [suspicious(
        "collinear", f"{_listed(names, together)} together linearly dependent (as shares that add "
        "up to one are)", "their slopes are not identifiable; leave one of them out",
        np.array(names)[together], int(together.sum()),
        "which of them moves the map is left to the prior")]
