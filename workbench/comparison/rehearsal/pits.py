"""Ranks of the truth among draws, which are made and counted some at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

_ENTRIES = 10_000_000           # draws x individuals that are held at once


def rate_draws(predicted, ds: xr.Dataset, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Joint draws of rates (s, N), as many at a time as are held easily.

    Parameters
    ----------
    predicted : object
        Has ``sample(count, seed)``.
    ds : xr.Dataset
        Of how many individuals.
    samples, seed : int

    Yields
    ------
    array (s, N)
    """
    most = max(1, _ENTRIES // ds.sizes["individual"])
    starts = range(0, samples, most)
    seeds = np.random.default_rng(seed).integers(2**31, size=len(starts))
    for start, own in zip(starts, seeds, strict=True):
        yield predicted.sample(min(most, samples - start), int(own)).values


def broken(below, equal, samples: int, jitter: np.random.Generator) -> np.ndarray:
    """PIT by how many draws lie below the truth; ties broken at random.

    As of `workbench.evaluation.pit`.

    Parameters
    ----------
    below, equal : array
        Draws below the truth, and equal to it.
    samples : int
        All draws.
    jitter : np.random.Generator
    """
    return (below + jitter.uniform(size=np.shape(below)) * (equal + 1)) / (samples + 1)


def among(draws: np.ndarray, truth: np.ndarray, jitter: np.random.Generator) -> np.ndarray:
    """PIT of a truth (unit,) among draws (sample, unit)."""
    return broken((draws < truth).sum(0), (draws == truth).sum(0), len(draws), jitter)
