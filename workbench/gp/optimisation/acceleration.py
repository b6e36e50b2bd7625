"""Anderson's acceleration of a search for a Gaussian q, or for the q of several functions.

A fixed point of steps θ → θ + r(θ) in natural parameters θ, precision times mean and precision, is
sought where a mixture of the last residuals r is least. The metric is Fisher's of the last q: in
that of the parameters themselves a precision of thousands would outweigh those of what the data
hardly determine, where plain steps go too far.

References
----------
Walker and Ni 2011, Anderson acceleration for fixed-point iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isqrt
from typing import NamedTuple

import torch
from torch import Tensor

DEPTH = 6       # positions that are mixed, the last among them
SHARES = (1.0, 0.3, 0.1)    # of the way to a mixture, which are tried until one gains
MOST = 5_000_000            # natural parameters, of which twelve vectors are kept

Q = list[tuple[Tensor, Tensor]]


def mixed(positions: Tensor, residuals: Tensor, whiten: Callable[[Tensor], Tensor]
          ) -> Tensor | None:
    """Natural parameters that the mixture of the last steps leads to.

    Parameters
    ----------
    positions : Tensor (k, n)
        The last natural parameters, the present ones last.
    residuals : Tensor (k, n)
        Where a plain step from each leads, less the position.
    whiten : callable
        Of rows of changes (j, n), rows whose squared lengths are those in the metric.

    Returns
    -------
    Tensor (n,), optional
        Natural parameters, which may be of no Gaussian; None where a single position is known, or
        the mixture cannot be found.
    """
    if len(positions) == 1:
        return None
    steps = residuals.diff(dim=0)
    whitened = whiten(torch.cat([steps, residuals[-1:]]))
    # Least squares by normal equations with a whisper of ridge: at most five columns, of which one
    # that is zero, as the same residual came twice, has no share.
    gram, precise = whitened[:-1] @ whitened.mT, torch.finfo(whitened.dtype)
    scale = gram.diagonal().sqrt().clamp_min(precise.tiny)
    ridge = max(1e-12, 4 * precise.eps) * torch.eye(len(scale)).to(scale)
    unit = gram[:, :-1] / scale / scale[:, None] + ridge
    shares, info = torch.linalg.solve_ex(unit, gram[:, -1] / scale)
    if info or not torch.isfinite(shares).all():
        return None
    return positions[-1] + residuals[-1] - (shares / scale) @ (positions.diff(dim=0) + steps)


def whitened(changes: Tensor, mean: Tensor, root: Tensor) -> Tensor:
    """Changes of natural parameters as rows whose squared length is that in the Fisher metric.

    Parameters
    ----------
    changes : Tensor (k, M + M²)
        Of precision times mean, and of the precision.
    mean, root : Tensor (M,), (M, M)
        Of the Gaussian, with any root of its covariance: ``root @ root.mT``.

    Returns
    -------
    Tensor (k, M + M²)
        The squared length is twice the Kullback-Leibler divergence, to second order.
    """
    size = len(mean)
    precisions = changes[:, size:].reshape(-1, size, size)
    means = (changes[:, :size] - precisions @ mean) @ root
    spreads = (root.mT @ precisions @ root).flatten(1) / 2**0.5
    return torch.cat([means, spreads], 1)


class Rounds:
    """Rounds of updates of the q of several functions, and where their mixture leads."""

    def __init__(self) -> None:
        self._history: list[tuple[Tensor, Tensor]] = []
        self._known: dict[int, _Known] = {}

    def proposals(self, before: Q, after: Q) -> Iterator[Q]:
        """Take up a round, and propose q between its end and where the mixture of rounds leads.

        Parameters
        ----------
        before, after : list of (Tensor (M,), Tensor (M, M))
            Mean and covariance of each function before and after the round.

        Yields
        ------
        list of (Tensor, Tensor)
            The whole way first, then shares of it; none where a single round is known, where they
            are of no Gaussians, and where q has so many entries that to keep rounds is too much.
        """
        sizes = [len(mean) + len(mean)**2 for mean, _ in after]
        if sum(sizes) > MOST:
            return
        start, end = self._all_known(before), self._all_known(after)
        if start is None or end is None:
            return
        self._known = {id(one.gaussian): one for one in end}
        origin, reached = (torch.cat([one.natural for one in side]) for side in (start, end))
        self._history = [*self._history[-(DEPTH - 1):], (origin, reached - origin)]
        positions, residuals = (torch.stack(one) for one in zip(*self._history, strict=True))

        def whiten(changes: Tensor) -> Tensor:
            return torch.cat([whitened(part, one.gaussian[0], one.root)
                              for part, one in zip(changes.split(sizes, 1), end, strict=True)], 1)

        found = mixed(positions, residuals, whiten)
        for share in SHARES if found is not None else ():
            moved = (reached + share * (found - reached)).split(sizes)
            proposed = [_gaussian(natural) for natural in moved]
            if all(one is not None for one in proposed):
                self._known |= {id(one.gaussian): one for one in proposed}
                yield [one.gaussian for one in proposed]

    def _all_known(self, q: Q) -> list[_Known] | None:
        """Each function's natural parameters, which most often are those of the last round."""
        out = []
        for gaussian in q:
            one = self._known.get(id(gaussian))
            if one is None or one.gaussian is not gaussian:
                one = _known(gaussian)
            if one is None:
                return None
            out.append(one)
        return out


class _Known(NamedTuple):
    gaussian: tuple[Tensor, Tensor]
    natural: Tensor
    root: Tensor            # lower triangular, of the covariance


def _known(gaussian: tuple[Tensor, Tensor]) -> _Known | None:
    """Natural parameters of a Gaussian; None where it is none."""
    mean, covariance = gaussian
    root, info = torch.linalg.cholesky_ex(covariance)
    if info:
        return None
    precision = torch.cholesky_inverse(root)
    return _Known(gaussian, torch.cat([precision @ mean, precision.reshape(-1)]), root)


def _gaussian(natural: Tensor) -> _Known | None:
    """The Gaussian of natural parameters; None where they, or rounding, make it none."""
    size = isqrt(1 + 4 * len(natural)) // 2
    precision = natural[size:].reshape(size, size)
    root, info = torch.linalg.cholesky_ex((precision + precision.mT) / 2)
    if info:
        return None
    covariance = torch.cholesky_inverse(root)
    root, info = torch.linalg.cholesky_ex(covariance)
    return None if info else _Known((covariance @ natural[:size], covariance), natural, root)
