"""What Theorem 4.2 prescribes, and the rate that it promises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.checks import require


@dataclass(frozen=True)
class Schedule:
    """Sizes and ridges as powers of M: N = M^points, λ = N^first, ε = M^second.

    ``error`` is the exponent of M in the promised excess risk, ``threshold`` the a from which it
    stays the same.
    """

    points: float
    first: float
    second: float
    error: float
    threshold: float

    def at(self, places: int) -> tuple[int, float, float]:
        """N, λ and ε for M places."""
        n = max(int(np.ceil(float(places) ** self.points)), 2)
        return n, float(n) ** self.first, float(places) ** self.second


def schedule(a: float, b: float, c: float, *, c_prime: float = 2.0, iota: float = 1.0,
             growth: float | None = None) -> Schedule:
    """The choices of Theorem 4.2.

    Parameters
    ----------
    a : float
        Balance between the two samples, positive.
    b, c : float
        Class of P_Y: decay of the spectrum (more than one; infinity is a finite rank) and
        smoothness (more than 1, at most 2).
    c_prime : float
        Smoothness of P_XY, more than 1, at most 2.
    iota : float
        Hölder exponent in (0, 1]; the operators here are linear in the embedding, so it is 1.
    growth : float, optional
        N = M^(growth a) instead of the theorem's (c' + 1)/(ι (c' - 1)), 3 at its best.

    Raises
    ------
    InputError
        On parameters outside these ranges.

    References
    ----------
    Chau et al. 2021, theorem D.4 (theorem 4.2 misprints ι as c in the exponent of N).
    """
    require(a > 0 and b > 1 and 1 < c <= 2 and 1 < c_prime <= 2 and 0 < iota <= 1,
            f"a = {a}, b = {b}, c = {c}, c' = {c_prime}, ι = {iota} are outside the theorem; give "
            "a > 0, b > 1, 1 < c <= 2, 1 < c' <= 2 and 0 < ι <= 1")
    inverse = 1 / b                       # zero for a finite rank
    threshold = (c + 1) / (c + inverse)
    few = a <= threshold
    if growth is None:
        growth = (c_prime + 1) / (iota * (c_prime - 1))
    require(growth > 0, f"growth {growth} is not positive; leave it out for the theorem's")
    return Schedule(growth * a, -1 / (c_prime + 1), -a / (c + 1) if few else -1 / (c + inverse),
                    -a * c / (c + 1) if few else -c / (c + inverse), threshold)
