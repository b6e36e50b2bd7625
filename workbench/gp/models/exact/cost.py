"""What an exact fit to bags costs in time and memory, said before anything is allocated."""

from __future__ import annotations

import os
from dataclasses import dataclass

from workbench.checks import InputError, option
from workbench.gp.data.bags import Bags
from workbench.gp.models.options import AggregatedOptions
from workbench.gp.models.options import option as option_of

#: Seconds for a pair of individuals in one evaluation with its gradient, on one core, as measured.
PER_PAIR = 1.8e-8
_COPIES = 4             # arrays of the pairs inside one bag that are held at once
_BLOCK = 4_000_000      # pairs of small bags that are worked on together


@dataclass(frozen=True)
class ExactOptions(AggregatedOptions):
    """Options of the exact aggregated GP."""

    hours: float = option_of(
        1.0, "hours that a fit may take by its estimate; one of more is refused before it starts",
        bounds=(0.0, 1e6))


def exact_cost(bags: Bags, pairs: int, options: AggregatedOptions) -> tuple[float, float]:
    """Roughly how many seconds and bytes a fit takes at most.

    Parameters
    ----------
    bags : Bags
        As the model sees them.
    pairs : int
        Of individuals, that one evaluation visits.
    options : AggregatedOptions
        ``kernel`` and ``max_steps`` apply.

    Returns
    -------
    seconds, bytes : float
    """
    terms = str(options.kernel).count("+") + 1
    largest, count = int(bags.sizes.max()), bags.count
    entries = _COPIES * max(_BLOCK, largest**2) + 3 * count**2 + 2 * len(bags.x) * count
    return PER_PAIR * pairs * terms * options.max_steps, 8.0 * entries


def refuse_beyond(name: str, bags: Bags, pairs: int, options: ExactOptions) -> None:
    """Refuse a fit that takes longer than asked for, or more memory than there is.

    Parameters
    ----------
    name : str
        Of the model.
    bags, pairs, options
        As of `exact_cost`.

    Raises
    ------
    InputError
        With the estimate, and what to use instead.
    """
    seconds, size = exact_cost(bags, pairs, options)
    hours, there = seconds / 3600, memory_there()
    if hours <= options.hours and size <= there:
        return
    long = hours > options.hours
    against = (f"more than the {options.hours:g} h of {option('hours', options.hours)}" if long
               else f"more than the {there / 2**30:.1f} GiB of this machine")
    wait = f", or pass {option('hours', float(f'{1.2 * hours:.1g}') + 1)} to wait" if long else ""
    raise InputError(
        f"{name} visits all {pairs:.2g} pairs of {len(bags.x):,} individuals, up to "
        f"{options.max_steps} times: about {hours:.1f} h and {size / 2**30:.1f} GiB, {against}; "
        f"use the model vbagg with {option('likelihood', 'normal')} and "
        f"{option('link', 'identity')}, which is the same by inducing inputs, rasters of larger "
        f"pixels, or fewer {option('max_steps')}{wait}")


def memory_there() -> float:
    """Bytes of memory of this machine; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
