"""Whether sources that are taken to measure the same thing agree where they overlap.

No model is asked: observations of the finer source are averaged over those of the coarser one that
they lie in. Where both measure one quantity the averages differ from the coarser values by noise,
and by what few places say of a whole cell. The latter is nothing on average only if the places are
weighted as the cell's mean is, and what that takes depends on how they were chosen: those of towns
need no weight beside a mean over people, those of a lattice need that of the people there. So they
are averaged both by the coarser source's weights where they lie and by their own, and sources
disagree if they do so by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from workbench.gp.data.bags import Source
from workbench.gp.models.several_sources.coefficient import log_ratio, regression
from workbench.gp.models.several_sources.meeting import Meeting, extent, meeting, numpy_of

LEVEL = 0.25        # of the values' standard deviation
SLOPE = 0.2         # of one
_FEWEST = 8         # coarse observations that have finer ones inside them


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
    of_ratio : bool
        Whether the ratio of the two means is clearly off one to the same side, which skewed
        scatter does not pretend; True where a value is not positive, as there is no ratio then.
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
    of_ratio: bool
    slope: float
    slope_error: float
    slope_clear: float
    spread: float

    @property
    def of_level(self) -> bool:
        """Whether the levels differ clearly, and by a size that matters.

        Fair sources with lognormal scatter inside cells, at 8 to 100 of them, do so in less than
        0.1 % of cases where logarithms have a standard deviation of 0.3, in up to 0.4 % where it
        is 1, and in up to 0.8 % where it is 1.5 (2 and 8 % without the ratio).
        """
        large = abs(self.level) > max(self.level_clear, LEVEL * self.spread)
        return bool(large and self.of_ratio)

    @property
    def of_slope(self) -> bool:
        """Whether one source shows the other's changes clearly enlarged or reduced.

        Fair sources, as for `of_level`, do so in up to 0.5 % of cases, and in up to 0.9 % at eight
        observations with scatter of a gamma distribution as wide.
        """
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
            finer, coarser = sorted((one, other), key=extent)
            if found := compare(finer, coarser):
                yield found


def compare(finer: Source, coarser: Source) -> Disagreement | None:
    """Two sources where they overlap; None where they do so too little to say anything.

    Parameters
    ----------
    finer, coarser : Source
        With values per unit of weight.
    """
    met = meeting(finer, coarser)
    if met is None or len(met.met) < _FEWEST:
        return None
    found = [_weighted(finer, coarser, met, *one) for one in met.weightings]
    if None in found:
        return None
    level = min(found, key=lambda one: (one.of_level, abs(one.level)))
    slope = min(found, key=lambda one: (one.of_slope, abs(one.slope - 1)))
    # On different sides by one weighting and the other, sources agree between them.
    apart = len({one.level > 0 for one in found}) == 1
    scaled = len({one.slope > 1 for one in found}) == 1
    return replace(level, level=level.level if apart else 0.0,
                   slope=slope.slope if scaled else 1.0,
                   slope_error=slope.slope_error, slope_clear=slope.slope_clear)


def _weighted(finer: Source, coarser: Source, met: Meeting, weight: np.ndarray,
              shares: np.ndarray) -> Disagreement | None:
    """The comparison by one weighting: of finer observations, and of the coarser ones."""
    whole = np.bincount(met.cell, weight)

    def averaged(values: np.ndarray) -> np.ndarray:
        return np.bincount(met.cell, weight * values[met.rows]) / whole

    fine = averaged(numpy_of(finer.targets.value))
    coarse = numpy_of(coarser.targets.value)[met.met]
    theirs, centres = numpy_of(finer.bags.centres().x), numpy_of(coarser.bags.centres().x)[met.met]
    gaps = [averaged(theirs[:, c]) - centres[:, c] for c in met.others]
    gaps = [gap for gap in gaps if np.ptp(gap) > 0]
    if shares.sum()**2 / (shares**2).sum() < _FEWEST * (1 + len(gaps)):     # Kish's number
        return None
    level = regression(fine - coarse, gaps, met.groups, shares=shares)
    if level is None:
        return None
    of_ratio = True
    if (fine > 0).all() and (coarse > 0).all():
        ratio = log_ratio(fine, coarse, gaps, met.groups, shares)
        of_ratio = ratio is not None and ratio[0] * level[0] > 0 and abs(ratio[0]) > ratio[2]
    up = regression(fine, [coarse - coarse.mean(), *gaps], met.groups, 1, shares)
    down = regression(coarse, [fine - fine.mean(), *gaps], met.groups, 1, shares)
    slope = (1.0, 0.0, 0.0)
    if up and up[0] > 1:
        slope = up
    elif down and down[0] > 1:
        slope = 1 / down[0], down[1] / down[0]**2, down[2] / down[0]**2
    return Disagreement(finer.name, coarser.name, len(fine), *level, of_ratio, *slope,
                        float(fine.std()))
