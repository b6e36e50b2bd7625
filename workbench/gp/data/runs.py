"""Runs of whole bags, so that no more individuals than that are worked on at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.gp.data.bags import Bags


def split(bags: Bags, most: int) -> Iterable[tuple[Bags, slice]]:
    """Runs of whole bags with at most ``most`` individuals each, and which bags they are.

    A bag with more than that is a run of its own; bags that fit together come as they are.
    """
    return [(bags, slice(0, bags.count))] if len(bags.x) <= most else _runs(bags, most)


def _runs(bags: Bags, most: int) -> Iterator[tuple[Bags, slice]]:
    ends = bags.sizes.long().cumsum(0).tolist()
    first = begin = 0
    while first < bags.count:
        last = first + 1
        while last < bags.count and ends[last] - begin <= most:
            last += 1
        end, which = ends[last - 1], slice(first, last)
        yield bags.run(which, slice(begin, end)), which
        first, begin = last, end
