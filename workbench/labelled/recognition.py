"""Areas that a fit was made of, recognised in other data: in any order, and but for rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
import xarray as xr

from workbench.checks import DataWarning, warn
from workbench.schema import BAG

if TYPE_CHECKING:
    from workbench.labelled.source import Converted

#: A step of single precision, in which compressed files keep numbers, relative to each of them; and
#: rounding of other processors, relative to the largest of a column, as where terms cancel.
ROUNDING, _CANCELLED = 2.0**-23, 1e-12


class Content:
    """Inputs and weights of the individuals of each bag, by which bags are the same or not.

    Names and small counts recur between datasets, so that they alone tell no area from another.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset; it is kept, not copied.

    Attributes
    ----------
    marks : ndarray (bag,)
        A number for each bag: a sum of hashes of its rows, so that neither the order of
        individuals nor that of bags matters; two different bags have one with probability 2⁻⁶⁴.
    sizes : ndarray (bag,)
        Individuals of each bag.
    """

    def __init__(self, ds: xr.Dataset):
        self._ds = ds
        self.sizes = np.bincount(ds["membership"].values, minlength=ds.sizes[BAG])
        self.marks = np.zeros(ds.sizes[BAG], dtype=np.uint64)
        hashed = pd.util.hash_pandas_object(pd.DataFrame(_table(ds)), index=False)
        np.add.at(self.marks, ds["membership"].values, hashed.to_numpy(np.uint64))

    def same(self, ours: np.ndarray, other: Content, theirs: np.ndarray) -> np.ndarray:
        """Whether bags here are bags there, to the bit in any order or to rounding in this one.

        Parameters
        ----------
        ours : ndarray of int (n,)
            Bags of this dataset.
        other : Content
            Of the other dataset.
        theirs : ndarray of int (n,)
            Bags of it, each beside one of ours.

        Returns
        -------
        ndarray of bool (n,)
            Where they are the same.
        """
        found = self.marks[ours] == other.marks[theirs]
        if not found.all():
            found[~found] = self._rounded(ours[~found], other, theirs[~found])
        return found

    def _rounded(self, ours: np.ndarray, other: Content, theirs: np.ndarray) -> np.ndarray:
        """Whether rows are the same but for `ROUNDING`, in the order in which they are there."""
        if not np.array_equal(Content(self._ds).marks, self.marks):     # changed in place since
            return np.zeros(ours.shape, dtype=bool)
        (here, starts), (there, their_starts) = self._rows(), other._rows()
        same = (self.sizes[ours] == other.sizes[theirs]) & (self.sizes[ours] > 0)
        if here.shape[1] != there.shape[1] or not same.any():
            return np.zeros(ours.shape, dtype=bool)
        ours, theirs = ours[same], theirs[same]
        count = self.sizes[ours]
        begin = np.cumsum(count) - count
        within = np.arange(count.sum()) - np.repeat(begin, count)
        mine = here[np.repeat(starts[ours], count) + within]
        gap = np.abs(mine - there[np.repeat(their_starts[theirs], count) + within])
        allowed = ROUNDING * np.abs(mine) + _CANCELLED * np.abs(here).max(0)
        alike = (gap <= allowed).all(1)
        same[same] = np.logical_and.reduceat(alike, begin)
        return same

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of all bags, one bag after the other, and where each begins."""
        rows = _table(self._ds)[np.argsort(self._ds["membership"].values, kind="stable")]
        return rows, np.cumsum(self.sizes) - self.sizes


def _table(ds: xr.Dataset) -> np.ndarray:
    """Inputs and weight of each individual (individual, column), without negative zeros."""
    places = [ds["x"].values, ds["y"].values] if "x" in ds else []
    covariates = ds["covariates"].transpose("individual", "covariate").values
    return np.column_stack([covariates, *places, ds["weight"].values]).astype(float) + 0.0


@dataclass(frozen=True)
class TrainingBags:
    """Bags that a fit was trained on, recognised by name, value and content.

    Parameters
    ----------
    names : list of str
        Names of the bags.
    values : ndarray
        Their values.
    content : Content, optional
        What they hold; None where targets alone were observed.
    """

    names: list[str]
    values: np.ndarray
    content: Content | None

    @classmethod
    def of(cls, data: Converted) -> TrainingBags:
        """The bags of a dataset.

        Parameters
        ----------
        data : Converted
            With ``value``.
        """
        return cls([str(name) for name in data.ds[BAG].values], data.ds["value"].values.copy(),
                   data.content)

    def positions(self, data: Converted) -> torch.Tensor:
        """Position of each bag of a dataset among these, -1 for others.

        Parameters
        ----------
        data : Converted
            Any bagged dataset.

        Warns
        -----
        DataWarning
            If most bags have name and value of these, and few of those their individuals, too;
            not of summaries at one point, of which a map is always one of other individuals.

        Returns
        -------
        Tensor (bag,)
            Whole numbers.
        """
        ds = data.ds
        if "value" not in ds or self.content is None:
            return torch.full((ds.sizes[BAG],), -1)
        where = {name: i for i, name in enumerate(self.names)}
        found = np.array([where.get(str(b), -1) for b in ds[BAG].values], dtype=np.int64)
        named = (found >= 0) & np.isclose(self.values[found], ds["value"].values, rtol=ROUNDING,
                                          atol=0.0)
        same = named.copy()
        if named.any():
            same[named] = self.content.same(found[named], data.content, np.flatnonzero(named))
        if self.content.sizes.max() == 1 or data.warned:
            return torch.as_tensor(np.where(same, found, -1))
        if 2 * same.sum() < named.sum() > ds.sizes[BAG] / 2:
            data.warned = True          # once for all that one call asks
            warn(f"{int((named & ~same).sum())} of {ds.sizes[BAG]} areas have the name and the "
                 "value of areas that the fit was made of, but other individuals (covariates, "
                 "places or weights), so that they are taken for areas without a known total, "
                 "as a scenario should be; pass the data of the fit for its own map", DataWarning)
        return torch.as_tensor(np.where(same, found, -1))
