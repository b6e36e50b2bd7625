"""A posterior where it is drawn: its mean, its standard deviation, and whether that is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEVELS = np.round(np.arange(0.05, 1.0, 0.05), 2)    # of central intervals that are checked
HALF_90, HALF_95 = 1.645, 1.959964                  # of an interval, in standard deviations


@dataclass(frozen=True, eq=False)
class Band:
    """Posterior mean and standard deviation of a process, None where that is not known.

    Parameters
    ----------
    mean, sd : array (n,)
    """

    mean: np.ndarray
    sd: np.ndarray | None = None

    def columns(self, half: float, names: tuple[str, str, str] = ("mean", "low", "high")) -> dict:
        """Mean and ends of an interval, so many standard deviations to either side, by name."""
        off = np.full(self.mean.shape, np.nan) if self.sd is None else half * self.sd
        return dict(zip(names, (self.mean, self.mean - off, self.mean + off), strict=True))

    def coverage(self, truth: np.ndarray) -> np.ndarray:
        """Share of the truth (n,) inside central intervals, at each of `LEVELS`."""
        from scipy.special import ndtri  # not before the page is drawn

        off = np.abs(truth - self.mean) / np.maximum(self.sd, 1e-150)
        return np.mean(off[:, None] <= ndtri((1 + LEVELS) / 2), axis=0)
