"""How long an evaluation of an objective takes, for estimates before a fit starts."""

from __future__ import annotations

import time

from workbench.bags import Source
from workbench.models.state import VariationalState


def evaluation_seconds(model, source: Source) -> float:
    """Seconds of one evaluation of a variational model's objective, with its gradient in q.

    Parameters
    ----------
    model : VBAgg
        The torch model.
    source : Source
        What it would be fitted to.
    """
    state = VariationalState(model, source)
    seen = state.view_of(state.learning).detach()
    mean, covariance = (part.requires_grad_() for part in state.narrow())
    state.objective(seen, mean, covariance).backward()      # what is loaded once is not counted
    started = time.perf_counter()
    state.objective(seen, mean, covariance).backward()
    return time.perf_counter() - started
