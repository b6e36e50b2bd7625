"""Totals of bags shared out over their individuals: in proportion, or by independent noise."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.checks import InputError, reject


def allocate(expected: Tensor, members: Tensor, totals: Tensor, generator: np.random.Generator
             ) -> tuple[Tensor, Tensor]:
    """Totals shared out in proportion, and multinomial draws of them (samples, N) each.

    A total that is not whole is drawn as the next larger whole number of units, each worth a
    little less than one, so that the draws add up to it.

    Parameters
    ----------
    expected : Tensor (samples, N)
        Expected counts, positive.
    members : Tensor (N,)
        Bag of each individual, ascending.
    totals : Tensor (B,)
        Counts of bags, zero or more.
    generator : Generator
    """
    bad = ((totals < 0) | ~torch.isfinite(totals)).nonzero()
    if len(bad):
        raise reject("totals of zero or more", f"{float(totals[bad[0]]):g} at bag {int(bad[0])}",
                     "give counts")
    parts = shares(expected, members, len(totals))
    p, y = parts.detach().cpu().numpy().astype(float), totals.cpu().numpy().astype(float)
    ends, out, start = np.cumsum(np.bincount(members.cpu().numpy(), minlength=len(y))), [], 0
    for stop, total in zip(ends, y, strict=True):
        cells = p[:, start:stop]
        cells = cells / cells.sum(1, keepdims=True)
        units = int(np.ceil(total))
        drawn = generator.multinomial(units, cells).astype(float)
        out.append(drawn if units == total else drawn * (total / units))
        start = stop
    return parts * totals[members], torch.as_tensor(np.concatenate(out, 1)).to(expected)


def shares(expected: Tensor, members: Tensor, count: int) -> Tensor:
    """Share of each individual in its bag's expectation (samples, N)."""
    top = torch.zeros(len(expected), count).to(expected)
    total = top.index_add(1, members, expected)[:, members]
    bad = ~(torch.isfinite(total) & (total > 0))
    if bool(bad.any()):
        raise InputError(f"{int(bad.any(0).sum())} individuals are in bags where nothing is "
                         "expected, or more than a number can hold: no total can be shared out; "
                         "look at the rates of the fit")
    return expected / total


def absorb(drawn: Tensor, towards: Tensor, into: Tensor, members: Tensor, totals: Tensor
           ) -> Tensor:
    """Draws moved so that Σ into drawn is the total: conditioning of Normal noise.

    ``towards`` (N,) is the covariance of each individual's noise with that of its bag's total.
    """
    count = len(totals)
    norm = torch.zeros(count).to(drawn).index_add(0, members, into * towards)
    # Without any noise nothing tells where a gap should go: it goes evenly then.
    even = torch.zeros(count).to(drawn).index_add(0, members, into.square())
    gain = torch.where(norm[members] > 0, towards / norm.clamp_min(1e-300)[members],
                       into / even[members])
    reached = torch.zeros(len(drawn), count).to(drawn).index_add(1, members, drawn * into)
    return drawn + gain * (totals - reached)[:, members]
