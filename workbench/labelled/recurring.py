"""Areas that keep an effect, in one period or in several, and what they are known by elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
import xarray as xr

from workbench.bagging.recurring import numbered_areas
from workbench.gp.data.bags import Bags
from workbench.schema import BAG, INDIVIDUAL

if TYPE_CHECKING:
    from workbench.labelled.recognition import Content
    from workbench.labelled.source import Converted


def areas_with_effects(ds: xr.Dataset) -> tuple[np.ndarray, np.ndarray] | None:
    """Labels of areas that keep an effect, and which of them each individual is in.

    Those of several periods, as `workbench.bagging.recurring.numbered_areas`; of positives out of
    trials of more than one person, whose effects are a term of the field, the bags themselves; else
    None.
    """
    found = numbered_areas(ds)
    tested = "trials" in ds and bool((ds["trials"] > 1).any())
    return _bags_of(ds) if found is None and tested else found


def numbered(ds: xr.Dataset) -> torch.Tensor | None:
    """Number of each individual's area, in the order of labels; None where none has an effect."""
    found = areas_with_effects(ds)
    return None if found is None else torch.as_tensor(found[1])


@dataclass(frozen=True)
class KnownAreas:
    """What areas of a fit that keep an effect are known by in other data.

    Those of several periods by label and place, as their pixels may be others in another period.
    Those of one period, which are bags, by label and content, as effects given totals are: a raster
    numbers its pixels, and merged areas are numbered, too.

    Parameters
    ----------
    labels : array of str (areas,)
        In the order of their numbers.
    lower, upper : array (areas, 2)
        Corners about the individuals of each, without columns where there are no coordinates.
    content : Content, optional
        Of areas of one period.
    order : array of int (areas,), optional
        Of areas of one period: the bag of each label.
    """

    labels: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    content: Content | None = None
    order: np.ndarray | None = None

    @classmethod
    def of(cls, data: Converted) -> KnownAreas | None:
        """Those of data; None without any."""
        found = areas_with_effects(data.ds)
        if found is None:
            return None
        (labels, which), places = found, _places(data.ds)
        corners = [np.full((labels.size, places.shape[1]), sign * np.inf) for sign in (1, -1)]
        np.minimum.at(corners[0], which, places)
        np.maximum.at(corners[1], which, places)
        if numbered_areas(data.ds) is not None:
            return cls(labels, *corners)
        return cls(labels, *corners, data.content, _order(data.ds))

    def numbers(self, data: Converted) -> torch.Tensor | None:
        """Number among these of each individual's area, below zero of others; None without any."""
        given = _bags_of(data.ds) if self.content is not None else numbered_areas(data.ds)
        if given is None:
            return None
        (labels, which), places = given, _places(data.ds)
        found = np.searchsorted(self.labels, labels).clip(max=self.labels.size - 1)
        known = self.labels[found] == labels
        if self.content is not None:
            if known.any():
                known[known] = self.content.same(
                    self.order[found[known]], data.content, _order(data.ds)[known])
        elif places.shape[1] == self.lower.shape[1]:
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

    def seen(self, data: Converted) -> Bags:
        """Bags of data with the numbers that their areas have among these."""
        return replace(data.bags, recurring=self.numbers(data))


def _bags_of(ds: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the bags in their order, and which of them each individual is in."""
    labels, of_bag = np.unique(ds[BAG].values.astype(str), return_inverse=True)
    return labels, of_bag.reshape(-1)[ds["membership"].values]


def _order(ds: xr.Dataset) -> np.ndarray:
    """The bags in the order of their labels."""
    return np.argsort(ds[BAG].values.astype(str), kind="stable")


def _places(ds: xr.Dataset) -> np.ndarray:
    """Coordinates (individual, 2), or none (individual, 0)."""
    if "x" in ds:
        return np.stack([ds["x"].values, ds["y"].values], 1)
    return np.zeros((ds.sizes[INDIVIDUAL], 0))
