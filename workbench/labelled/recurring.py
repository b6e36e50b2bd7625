"""Areas that recur: whose labels bags of several periods share, and by what others are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from workbench.bagging.recurring import numbered_areas
from workbench.gp.data.bags import Bags
from workbench.schema import INDIVIDUAL


def numbered(ds: xr.Dataset) -> torch.Tensor | None:
    """Number of each individual's area, in the order of labels; None of data without periods."""
    found = numbered_areas(ds)
    return None if found is None else torch.as_tensor(found[1])


@dataclass(frozen=True)
class KnownAreas:
    """What recurring areas of a fit are known by in other data: labels, and where they lie.

    Parameters
    ----------
    labels : array of str (areas,)
        In the order of their numbers.
    lower, upper : array (areas, 2)
        Corners about the individuals of each, without columns where there are no coordinates.
    """

    labels: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, ds: xr.Dataset) -> KnownAreas | None:
        """Those of a dataset; None without any."""
        found = numbered_areas(ds)
        if found is None:
            return None
        (labels, which), places = found, _places(ds)
        corners = [np.full((labels.size, places.shape[1]), sign * np.inf) for sign in (1, -1)]
        np.minimum.at(corners[0], which, places)
        np.maximum.at(corners[1], which, places)
        return cls(labels, *corners)

    def numbers(self, ds: xr.Dataset) -> torch.Tensor | None:
        """Number among these of each individual's area, below zero of others; None without any."""
        given = numbered_areas(ds)
        if given is None:
            return None
        (labels, which), places = given, _places(ds)
        found = np.searchsorted(self.labels, labels).clip(max=self.labels.size - 1)
        known = self.labels[found] == labels
        if places.shape[1] == self.lower.shape[1]:
            count = np.bincount(which)
            centre = np.stack([np.bincount(which, column) / count for column in places.T], 1) if (
                places.shape[1]) else np.zeros((labels.size, 0))
            # Half an area about it, or half of what lies between areas: other pixels of the same
            # area lie a little elsewhere, and an area may be a pixel or a row of them.
            extent = self.upper.max(0) - self.lower.min(0) if self.labels.size else 0.0
            between = np.linalg.norm(extent) / np.sqrt(self.labels.size) / 4
            side = (self.upper - self.lower)[found].max(1, keepdims=True, initial=0.0)
            margin = np.where(side > between, side, between) / 2
            known &= ((centre >= self.lower[found] - margin)
                      & (centre <= self.upper[found] + margin)).all(1)
        return torch.as_tensor(np.where(known, found, -1 - np.arange(labels.size))[which])

    def seen(self, bags: Bags, ds: xr.Dataset) -> Bags:
        """Bags of a dataset with the numbers that their areas have among these."""
        return replace(bags, recurring=self.numbers(ds))


def _places(ds: xr.Dataset) -> np.ndarray:
    """Coordinates (individual, 2), or none (individual, 0)."""
    if "x" in ds:
        return np.stack([ds["x"].values, ds["y"].values], 1)
    return np.zeros((ds.sizes[INDIVIDUAL], 0))
