"""Where the search for q starts after hyperparameters have moved."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.gp.fields.inducing import scale_of
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.inference.parts import Parts

# Scales that change by less leave q where it is: to look which start is better takes longer then
# than what it saves, in evaluations of q's objective by a fifth.
_SMALL = 0.03


def carried(state, seen: ProjectedData | Parts) -> tuple[Tensor, Tensor]:
    """The present q, or the same function f where scales of terms have changed under it.

    In whitened coordinates a term that the data determine moves with its scale.

    Parameters
    ----------
    state : VariationalState
        Its ``scales`` are brought up to date.
    seen : ProjectedData or Parts
        What tells which of the two is better.

    Returns
    -------
    (Tensor, Tensor)
        Mean (M,) and covariance (M, M).
    """
    field = state.field
    scales = torch.cat([
        scale_of(term).to(state.x).expand(stop - start)
        for term, (start, stop) in zip(field.terms, field.blocks().values(), strict=True)
    ])
    before, state.scales = state.scales, scales
    q = field.q_mean, field.q_covariance
    if before is None or torch.equal(before, scales):
        return q
    ratio = before / scales
    if float((ratio - 1).abs().max()) < _SMALL:
        return q
    moved = ratio * q[0], ratio[:, None] * q[1] * ratio
    with torch.no_grad():
        values = [float(state.objective(seen, *one)) for one in (q, moved)]
    return moved if values[1] > values[0] else q
