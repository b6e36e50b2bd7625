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

from collections.abc import Callable
from math import isqrt

import torch
from torch import Tensor

DEPTH = 6       # positions that are mixed, the last among them


def mixed(positions: Tensor, residuals: Tensor, whiten: Callable[[Tensor], Tensor]
          ) -> Tensor | None:
    """Where the mixture of the last steps leads.

    Parameters
    ----------
    positions : Tensor (k, n)
        The last natural parameters, the present ones in the end.
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

    def proposal(self, before: list[tuple[Tensor, Tensor]], after: list[tuple[Tensor, Tensor]]
                 ) -> list[tuple[Tensor, Tensor]] | None:
        """Take up a round, and propose the q that the mixture of the last rounds leads to.

        Parameters
        ----------
        before, after : list of (Tensor (M,), Tensor (M, M))
            Mean and covariance of each function before and after the round.

        Returns
        -------
        list of (Tensor, Tensor), optional
            None where there is none yet, or where it is of no Gaussians.
        """
        start, end = _natural(before), _natural(after)
        if start is None or end is None:
            return None
        self._history = [*self._history[-(DEPTH - 1):], (start, end - start)]
        positions, residuals = (torch.stack(one) for one in zip(*self._history, strict=True))
        sizes = [len(mean) + len(mean)**2 for mean, _ in after]

        def whiten(changes: Tensor) -> Tensor:
            return torch.cat([
                whitened(part, mean, torch.linalg.cholesky_ex(covariance).L)
                for part, (mean, covariance) in zip(changes.split(sizes, 1), after, strict=True)
            ], 1)

        found = mixed(positions, residuals, whiten)
        return None if found is None else _gaussians(found.split(sizes))


def _natural(q: list[tuple[Tensor, Tensor]]) -> Tensor | None:
    """Natural parameters of all functions, one after the other."""
    out = []
    for mean, covariance in q:
        root, info = torch.linalg.cholesky_ex(covariance)
        if info:
            return None
        precision = torch.cholesky_inverse(root)
        out += [precision @ mean, precision.reshape(-1)]
    return torch.cat(out)


def _gaussians(naturals: tuple[Tensor, ...]) -> list[tuple[Tensor, Tensor]] | None:
    """Mean and covariance of each function; None where one is no Gaussian."""
    out = []
    for natural in naturals:
        size = isqrt(1 + 4 * len(natural)) // 2
        precision = natural[size:].reshape(size, size)
        root, info = torch.linalg.cholesky_ex((precision + precision.mT) / 2)
        if info:
            return None
        covariance = torch.cholesky_inverse(root)
        out.append((covariance @ natural[:size], covariance))
    return out
