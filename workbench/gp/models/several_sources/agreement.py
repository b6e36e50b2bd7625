"""Whether sources that are taken to measure the same thing agree where they overlap.

No model is asked: observations of the finer source are averaged over those of the coarser one that
they lie in. Where both measure one quantity the averages differ from the coarser values by noise,
and by what few places say of a whole cell, which is nothing on average.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.stats
from scipy.spatial import cKDTree

from workbench.gp.data.bags import Source

CLEAR = 4.0         # standard errors, at least
_CHANCE = 0.001     # of Student's t, with as many degrees of freedom as groups leave
LEVEL = 0.25        # of the values' standard deviation
SLOPE = 0.2         # of one
_FEWEST = 8         # coarse observations that have finer ones inside them
_PLACES = 4         # groups below which scatter between them is not known
_MOST = 20_000      # observations of the finer source that are looked at
_HALF = 0.51        # steps between individuals of a coarse observation, to its border


@dataclass(frozen=True)
class Disagreement:
    """How far the finer of two sources lies from the coarser where they overlap, in data units.

    Parameters
    ----------
    finer, coarser : str
        Names.
    pairs : int
        Coarse observations compared.
    level, level_error, level_clear : float
        Mean of finer minus coarser, its standard error, and the size from which it is clear.
    slope, slope_error, slope_clear : float
        By how much the finer changes while the coarser changes by one, or one where that is as
        it should be. Noise of the coarser source draws a regression's slope towards zero, and
        that of the finer source one the other way round: it is one of the two that is beyond one.
    spread : float
        Standard deviation of the finer source's averages.
    """

    finer: str
    coarser: str
    pairs: int
    level: float
    level_error: float
    level_clear: float
    slope: float
    slope_error: float
    slope_clear: float
    spread: float

    @property
    def of_level(self) -> bool:
        """Whether the levels differ clearly, and by a size that matters."""
        return bool(abs(self.level) > max(self.level_clear, LEVEL * self.spread))

    @property
    def of_slope(self) -> bool:
        """Whether one source shows the other's changes clearly enlarged or reduced."""
        return bool(abs(self.slope - 1) > max(self.slope_clear, SLOPE))

    def __bool__(self) -> bool:
        return self.of_level or self.of_slope


def disagreements(sources: Sequence[Source], links: Mapping[str, str]) -> Iterator[Disagreement]:
    """Pairs of sources that are taken to measure the same but clearly do not where they overlap.

    Parameters
    ----------
    sources : sequence of Source
        Of one task or several, which are not compared with each other. Positives out of trials are
        passed over, and so are pairs of counts and continuous values.
    links : mapping of str to str
        By source, where models have several: of two links values are not the same.
    """
    alike = {one.name: (one.task, one.kind, links.get(one.name)) for one in sources}
    known = [one.as_rates() for one in sources if one.bags.trials is None]
    for one, other in combinations(known, 2):
        if alike[one.name] == alike[other.name]:
            finer, coarser = sorted((one, other), key=_size)
            if found := compare(finer, coarser):
                yield found


def compare(finer: Source, coarser: Source) -> Disagreement | None:
    """Two sources where they overlap; None where they do so too little to say anything.

    Parameters
    ----------
    finer, coarser : Source
        With values per unit of weight.
    """
    x, of = _numpy(coarser.bags.x), _numpy(coarser.bags.membership)
    theirs = _numpy(finer.bags.centres().x)
    axes = _axes(coarser, x, of)
    step = _steps(x[:, axes], of, coarser.bags.count)
    rows = np.random.default_rng(0).permutation(len(theirs))[:_MOST]
    apart, nearest = cKDTree(x[:, axes] / step).query(theirs[np.ix_(rows, axes)] / step, p=np.inf)
    inside = apart <= _HALF
    rows, cell = rows[inside], of[nearest[inside]]
    met, cell = np.unique(cell, return_inverse=True)
    if len(met) < _FEWEST:
        return None
    shares = np.bincount(cell)

    def averaged(values: np.ndarray) -> np.ndarray:
        return np.bincount(cell, values[rows]) / shares

    fine, coarse = averaged(_numpy(finer.targets.value)), _numpy(coarser.targets.value)[met]
    centres = _numpy(coarser.bags.centres().x)[met]
    others = [c for c in range(x.shape[1]) if c not in axes]
    gaps = [averaged(theirs[:, c]) - centres[:, c] for c in others]
    gaps = [gap for gap in gaps if np.ptp(gap) > 0]
    if len(met) < _FEWEST * (1 + len(gaps)):
        return None
    groups = list(_groupings(centres[:, axes], np.isin(axes, coarser.bags.columns.coordinates)))
    level = _regression(fine - coarse, gaps, groups)
    if level is None:
        return None
    up = _regression(fine, [coarse - coarse.mean(), *gaps], groups, 1)
    down = _regression(coarse, [fine - fine.mean(), *gaps], groups, 1)
    slope = (1.0, 0.0, 0.0)
    if up and up[0] > 1:
        slope = up
    elif down and down[0] > 1:
        slope = 1 / down[0], down[1] / down[0]**2, down[2] / down[0]**2
    return Disagreement(finer.name, coarser.name, len(met), *level, *slope, float(fine.std()))


def _numpy(values) -> np.ndarray:
    return values.detach().cpu().numpy()


def _size(source: Source) -> tuple[float, int]:
    """By which of two sources the finer one is told: extent of its observations, then number."""
    x, of = _numpy(source.bags.x), _numpy(source.bags.membership)
    low, high = _range(x, of, source.bags.count)
    places = list(source.bags.columns.coordinates) or list(range(x.shape[1]))
    return float((high - low)[:, places].sum(1).mean()), -source.bags.count


def _range(x: np.ndarray, of: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full((count, x.shape[1]), np.inf), np.full((count, x.shape[1]), -np.inf)
    np.minimum.at(low, of, x)
    np.maximum.at(high, of, x)
    return low, high


def _axes(coarser: Source, x: np.ndarray, of: np.ndarray) -> list[int]:
    """Columns of where observations are: coordinates, and what has one value in each, as time.

    Of the others the means may differ between observations that overlap: these are covariates.
    """
    columns = coarser.bags.columns
    low, high = _range(x, of, coarser.bags.count)
    alike = (high - low).max(0) == 0
    return [c for c in range(x.shape[1])
            if not columns.coordinates or c in columns.coordinates or alike[c]]


def _steps(x: np.ndarray, of: np.ndarray, count: int) -> np.ndarray:
    """Distance of neighbouring individuals by axis: inside observations, else between them.

    Where neither makes a grid it is next to nothing, so that only equal places overlap.
    """
    low, high = _range(x, of, count)
    extent = high - low
    wide = (extent > 0).sum(1)
    along = np.bincount(of, minlength=count) ** (1 / np.maximum(wide, 1)) - 1
    out = np.empty(x.shape[1])
    for axis in range(x.shape[1]):
        inside = extent[:, axis] > 0
        values = np.unique(low[:, axis])
        if inside.any():
            out[axis] = np.median(extent[inside, axis] / np.maximum(along[inside], 1))
        elif len(values) > 1 and len(values) <= count / 2:
            out[axis] = np.median(np.diff(values))
        else:
            out[axis] = 1e-9 * (np.ptp(values) or np.abs(values).max() or 1.0)
    return out


def _groupings(centres: np.ndarray, place: np.ndarray) -> Iterator[np.ndarray]:
    """Groups inside which differences may go together: nothing, then one place, then one time."""
    yield np.arange(len(centres))
    for chosen in (place, ~place):
        if chosen.any() and not chosen.all():
            yield np.unique(centres[:, chosen], axis=0, return_inverse=True)[1].reshape(-1)


def _regression(value: np.ndarray, columns: list[np.ndarray], groups: list[np.ndarray],
                of: int = 0) -> tuple[float, float, float] | None:
    """A coefficient of least squares with a constant, its standard error, and what is clear of it.

    Each is the largest over ways to group what may go together: errors of a group count as one.
    Clear are so many standard errors, and more where few groups say how large these are.
    """
    design = np.column_stack([np.ones(len(value)), *columns])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    inverse = np.linalg.pinv(design)
    weight = inverse[of]
    left = value - design @ (inverse @ value)
    errors, clear = [], []
    for group in groups:
        count = int(group.max()) + 1
        if count >= _PLACES + len(columns):
            sums = np.bincount(group, weight * left)
            free = count - design.shape[1]
            errors.append(np.sqrt((sums**2).sum() * count / free))
            clear.append(errors[-1] * max(CLEAR, scipy.stats.t.isf(_CHANCE / 2, free)))
    return (float(weight @ value), float(max(errors)), float(max(clear))) if errors else None
