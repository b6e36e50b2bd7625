"""Bags along an ordering variable, with negative-binomial sizes."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.individuals import rebag
from workbench.checks import choose, require


def bag_sizes(
    bags: int, mean: float, std: float, random_state: np.random.RandomState
) -> np.ndarray:
    """Draw bag sizes ``1 + NB`` with the given mean and standard deviation.

    Parameters
    ----------
    bags : int
        How many sizes to draw.
    mean, std : float
        Moments of the sizes (individuals per bag); ``std**2 > mean - 1`` is needed, since a
        negative binomial is more dispersed than a Poisson. ``std=0`` gives equal sizes.
    random_state : np.random.RandomState
        Source of randomness; it is advanced.

    Returns
    -------
    np.ndarray
        ``bags`` sizes, each at least one.

    Raises
    ------
    InputError
        If the moments cannot be had.

    References
    ----------
    Law et al. 2018, section 4.1 (swiss roll).
    """
    require(bags >= 1, f"expected at least one bag, got {bags}")
    if std == 0:
        require(mean >= 1 and float(mean).is_integer(),
                f"equal bag sizes (std 0) need a whole mean of at least 1, got {mean}")
        return np.full(bags, int(mean))
    require(mean > 1, f"the mean bag size must be more than 1, got {mean}")
    require(
        std**2 > mean - 1,
        f"sizes with mean {mean} and standard deviation {std} cannot be negative-binomial: "
        f"std must be more than {np.sqrt(mean - 1):.4g}",
    )
    p = 1 - (mean - 1) / std**2
    r = (mean - 1) * (1 - p) / p
    return random_state.negative_binomial(r, 1 - p, size=bags) + 1


def bag_along(
    points: xr.Dataset,
    by: str | np.ndarray,
    mean_size: float = 50,
    size_std: float = 25,
    seed: int = 0,
    *,
    sizes: np.ndarray | None = None,
    descending: bool = True,
) -> xr.Dataset:
    """Sort individuals by a variable and cut them into consecutive bags of random sizes.

    Parameters
    ----------
    points : xr.Dataset
        Individuals (from `from_table`) or a bagged dataset, with individual_value.
    by : str or np.ndarray
        A covariate, a variable or coordinate of the individuals, or one number per individual.
    mean_size, size_std : float
        Moments of the negative-binomial bag sizes, in individuals.
    seed : int
        Seed of the sizes.
    sizes : np.ndarray, optional
        The sizes themselves, instead of drawing them; they must add up to the individuals.
    descending : bool
        Whether the first bag holds the largest entries.

    Returns
    -------
    xr.Dataset
        Bags labelled "0", "1", ... in order, with coordinates bag_from and bag_to giving the
        range of the variable. The last bag gets the individuals that are left; attribute
        ``last_bag`` says how many.

    Raises
    ------
    InputError
        If the variable is unknown, the moments are impossible or the sizes do not add up.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> along = wb.bag_along(ds, "angle", mean_size=20, size_std=0)
    >>> along.sizes["bag"] == -(-ds.sizes["individual"] // 20)
    True
    """
    key = _ordering(points, by)
    total = key.size
    if sizes is None:
        sizes, note = _sizes_up_to(total, mean_size, size_std, np.random.RandomState(seed))
    else:
        sizes, note = np.asarray(sizes), "sizes were given"
        require(sizes.sum() == total and (sizes >= 1).all(),
                f"sizes must be positive and add up to {total} individuals, got {sizes.sum()}")
    order = np.argsort(-key if descending else key, kind="stable")
    membership = np.empty(total, dtype=np.int64)
    membership[order] = np.repeat(np.arange(sizes.size), sizes)
    ends = np.cumsum(sizes) - 1
    ds = rebag(
        points, membership, [str(b) for b in range(sizes.size)],
        {"bag_from": key[order][ends - sizes + 1], "bag_to": key[order][ends]},
    )
    name = by if isinstance(by, str) else "a given variable"
    ds.attrs |= {"level": f"bags along {name}", "last_bag": note}
    return ds


def _ordering(points: xr.Dataset, by: str | np.ndarray) -> np.ndarray:
    count = points.sizes[schema.INDIVIDUAL]
    if isinstance(by, str):
        if by in points["covariate"].values:
            key = points["covariates"].sel(covariate=by).values
        else:
            known = [str(n) for n, v in points.variables.items()
                     if v.dims == (schema.INDIVIDUAL,) and np.issubdtype(v.dtype, np.number)]
            choose("by", by, [*points["covariate"].values.tolist(), *known])
            key = points[by].values
    else:
        key = np.asarray(by)
        require(key.shape == (count,), f"by has shape {key.shape}, expected ({count},)")
    key = np.asarray(key, dtype=float)
    require(np.isfinite(key).all(), "the ordering variable has entries that are not finite")
    return key


def _sizes_up_to(
    total: int, mean: float, std: float, random_state: np.random.RandomState
) -> tuple[np.ndarray, str]:
    """Sizes whose sum is exactly ``total``; the last is what is left."""
    draws = bag_sizes(2 * int(np.ceil(total / mean)) + 10, mean, std, random_state)
    while draws.sum() < total:
        draws = np.concatenate([draws, bag_sizes(draws.size, mean, std, random_state)])
    count = int(np.searchsorted(np.cumsum(draws), total)) + 1
    sizes = draws[:count].copy()
    cut = int(sizes.sum() - total)
    sizes[-1] -= cut
    if cut == 0:
        return sizes, "complete"
    return sizes, f"the last bag holds {sizes[-1]} individuals instead of {draws[count - 1]}"
