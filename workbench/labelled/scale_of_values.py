"""On which scale values that are no counts are modelled, and how much individuals differ.

The areas' values per unit of weight are regressed on the areas' mean inputs, once as they are and
once as logarithms. The log-likelihoods of both, the second with the Jacobian of the logarithm, are
the Box-Cox profile at λ = 1 and λ = 0; a difference of `DECISIVE` nats and more for the logarithm
is taken as positive, skewed values, which a rate of exp(f) fits.

Means do not tell how much the individuals of an area differ. Averaging removes variance, so that
they differ by more than areas do from the areas about them: `MORE` times as much is taken, which is
typical of tables whose individuals are known.

References
----------
Box and Cox 1964, An analysis of transformations, equation 8.
"""

from __future__ import annotations

import math

import numpy as np

from workbench.gp.data.bags import Source
from workbench.gp.models.vbagg.own_noise import effects_in_nuggets
from workbench.labelled.noise_of_areas import upper_noise

DECISIVE = 2.0          # nats: half of what a likelihood-ratio test of 5 % asks for, and a little
# Root mean square error of auto's maps, divided by `local_std`: the geometric mean of eleven tables
# of known individuals is 1.8 (the column ratio of data/results/means.csv).
MORE = 2
_LEAST = 0.2            # std of individuals, in units of f: where a nugget that is learnt starts
_FEW_INDIVIDUALS = 8    # below so many, of equal weight, half of the areas show what each has
_NEIGHBOURS = 4         # areas whose mean a value is compared with
_AREAS_PER_INPUT = 3    # fewer areas for each input than that: no regression, the mean alone
_FEWEST_AREAS = 5       # fewer have no shape
_RANK = 1e-9            # what differs by less, relative to its size, is constant


def log_scale_gain(source: Source) -> float:
    """Nats by which the logarithms of the areas' values are nearer to normal than the values.

    Parameters
    ----------
    source : Source
        Observed means or sums, which are divided by their total weight.

    Returns
    -------
    float
        Minus infinity where a value is zero or negative; zero where all are alike, or fewer than
        five.

    Examples
    --------
    >>> import numpy as np, workbench as wb
    >>> from workbench.labelled.source import to_source
    >>> ds = wb.load("swiss-roll", n_bags=30)
    >>> means = ds["value"].assign_attrs(kind="continuous", aggregation="mean")
    >>> log_scale_gain(to_source(ds.assign(value=means.copy(data=np.linspace(9, 11, 30))))) > 2
    False
    """
    rates = source.as_rates()
    y = rates.targets.value.cpu().numpy().astype(float)
    if y.min() <= 0:
        return -math.inf
    if y.size < _FEWEST_AREAS:
        return 0.0
    basis = _basis(rates)
    y = y / y.max()
    logarithms = np.log(y)
    raw, logged = (float(np.sqrt(np.mean(_left(one, basis)**2))) for one in (y, logarithms))
    if min(raw, logged) <= np.finfo(float).eps:
        return 0.0          # nothing is left of either that would tell them apart
    return float(y.size * math.log(raw / logged) - logarithms.sum())


def individuals(source: Source, link: str, period: np.ndarray | None = None) -> float:
    """How much individuals are taken to differ: the std of what each has of its own.

    `MORE` times `local_std`, and no less than a fifth of the unit of f, where a nugget that is
    learnt starts; but never more than areas can differ by, were that all by individuals that are
    independent: by `local_std`, and by what a smooth map leaves of them (`smooth_limit`). Nothing
    is taken where areas have few individuals, as then what each has of its own is seen in the
    areas' values, and a fixed nugget could keep a map from following them: see `few_individuals`.
    Nor where variances of the values are known, beside which what areas differ by is learnt.

    Parameters
    ----------
    source, link, period
        As of `local_std`.

    Returns
    -------
    float
        The std on the link's scale, zero where nothing is taken, or all areas are alike.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.labelled.source import to_source
    >>> source = to_source(wb.load("swiss-roll", n_bags=20, likelihood="normal"))
    >>> round(individuals(source, "identity") / local_std(source, "identity"), 6)
    2.0
    """
    about = _of_areas_about(source, link, period)
    return min(about, smooth_limit(source, link, period)) if about > 0 else 0.0


def few_individuals(source: Source, link: str, period: np.ndarray | None = None) -> float:
    """How much the individuals of areas that have few are expected to differ: a prior's median.

    What areas differ by from those about them (`local_std`) is shared out between areas and
    individuals by the law of `workbench.gp.models.vbagg.own_noise`: means of n neighbours vary by
    1/√n of what these do. It is within the limits of `individuals`, which takes nothing here.

    Parameters
    ----------
    source, link, period
        As of `local_std`.

    Returns
    -------
    float
        The std on the link's scale; zero where areas have fewer than two individuals of equal
        weight in the median, or many, where variances of the values are known, and where all areas
        are alike.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.labelled.source import to_source
    >>> ds = wb.load("swiss-roll", n_bags=40, mean_size=4, size_std=0, likelihood="normal")
    >>> source = to_source(ds)
    >>> round(few_individuals(source, "identity") / local_std(source, "identity"), 3)
    1.155
    """
    kept = source.bags.noise_left
    ratio = effects_in_nuggets(kept)
    if ratio is None or not _unknown_and_few(source):
        return 0.0
    local = local_std(source, link, period)
    own = local / math.sqrt(ratio**2 + float(kept.median()))
    return min(_limited(own, local, source, link), smooth_limit(source, link, period)
               ) if local > 0 else 0.0


def _unknown_and_few(source: Source) -> bool:
    """Whether areas have few individuals, and no known variances."""
    few = float(1 / source.bags.noise_left.median()) < _FEW_INDIVIDUALS
    return source.targets.noise_variance is None and few


def _limited(own: float, local: float, source: Source, link: str) -> float:
    """No less than where a nugget that is learnt starts, and no more than areas differ by."""
    unit = 1.0 if link == "exp" else float(_observed(source, link).std())
    return min(max(own, _LEAST * unit), local / math.sqrt(float(source.bags.noise_left.mean())))


def _of_areas_about(source: Source, link: str, period: np.ndarray | None) -> float:
    """What is taken by what areas differ by from those about them."""
    if source.targets.noise_variance is not None or _unknown_and_few(source):
        return 0.0
    local = local_std(source, link, period)
    return _limited(MORE * local, local, source, link)


def smooth_limit(source: Source, link: str, period: np.ndarray | None = None) -> float:
    """The most that independent individuals can differ by, as smooth as the areas' values are.

    `upper_noise` of the areas' values divided by the share of individuals' noise that is left in
    them. Of a smooth field that is far less than what areas differ by from those about them, most
    of which is the field's own slope.

    Parameters
    ----------
    source, link, period
        As of `local_std`.

    Returns
    -------
    float
        On the link's scale; infinite without coordinates, and where it is not known.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.labelled.source import to_source
    >>> source = to_source(wb.load("swiss-roll", n_bags=20, likelihood="normal"))
    >>> smooth_limit(source, "identity") == float("inf")      # it has no coordinates
    True
    """
    columns = list(source.bags.columns.coordinates)
    if not columns:
        return math.inf
    place = source.bags.centres().x.cpu().numpy().astype(float)[:, columns]
    times = np.zeros(len(place)) if period is None else np.asarray(period)
    noise = upper_noise(_observed(source, link), _basis(source), place, times)
    return noise / math.sqrt(float(source.bags.noise_left.mean()))


def local_std(source: Source, link: str, period: np.ndarray | None = None) -> float:
    """How far an area's value lies from those about it, beside a regression on mean inputs.

    Residuals are compared with the mean of those of the four areas, of the same period, whose
    centres are nearest; where there are no more than four, or no coordinates, they are taken as
    they are. The sum of squares is divided by what it is for independent values of variance one.

    Parameters
    ----------
    source : Source
        Observed means or sums, which are divided by their total weight.
    link : str
        ``exp`` for logarithms of the values, which are then positive, and their own scale else.
    period : array (bag,), optional
        The period of each area, of areas over time.

    Returns
    -------
    float
        On the link's scale; zero where all are alike, or there are fewer than five.
    """
    return _local_std(_observed(source, link), source, period)


def _local_std(y: np.ndarray, source: Source, period: np.ndarray | None) -> float:
    if y.size < _FEWEST_AREAS:
        return 0.0
    basis, columns = _basis(source), list(source.bags.columns.coordinates)
    both, square = np.column_stack([_left(y, basis), basis]), np.ones(y.size)
    if columns:
        place = source.bags.centres().x.cpu().numpy().astype(float)[:, columns]
        times = np.zeros(y.size) if period is None else np.asarray(period)
        for rows in (np.flatnonzero(times == time) for time in np.unique(times)):
            if rows.size > _NEIGHBOURS:
                both[rows] -= _about(place[rows], both[rows])
                square[rows] += 1 / _NEIGHBOURS
    # Contrasts C of residuals I - QQ' have a sum of squares of |C|² - |CQ|² times the variance.
    found = math.sqrt((both[:, 0] @ both[:, 0]) / (square.sum() - np.sum(both[:, 1:]**2)))
    return found if found > _RANK * np.abs(y).max() else 0.0        # else it is rounding


def _observed(source: Source, link: str) -> np.ndarray:
    """Values on the link's scale."""
    y = source.as_rates().targets.value.cpu().numpy().astype(float)
    return np.log(y) if link == "exp" else y


def _about(place: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means of the columns of values over the nearest other places, for each."""
    from scipy.spatial import KDTree

    nearest = KDTree(place).query(place, k=_NEIGHBOURS + 1)[1]
    own = nearest == np.arange(len(place))[:, None]
    own[~own.any(1), -1] = True         # where more areas than those have one centre
    return values[nearest[~own].reshape(len(place), _NEIGHBOURS)].mean(1)


def _basis(source: Source) -> np.ndarray:
    """Orthonormal columns: a constant and, where there are areas enough, the mean inputs."""
    inputs = source.bags.centres().x.cpu().numpy().astype(float)
    areas, columns = inputs.shape
    constant = np.full((areas, 1), 1 / math.sqrt(areas))
    if areas < _AREAS_PER_INPUT * (columns + 1):
        return constant
    spread = np.ptp(inputs, axis=0)
    varying = spread > _RANK * np.abs(inputs).max(0)
    scaled = ((inputs - inputs.mean(0)) / np.where(varying, spread, 1))[:, varying]
    basis, size, _ = np.linalg.svd(np.column_stack([constant, scaled]), full_matrices=False)
    return basis[:, size > _RANK * size[0]]


def _left(y: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """What a regression on the columns leaves."""
    return y - basis @ (basis.T @ y)
