"""Training of a variational model: hyperparameters by L-BFGS on the objective at the best q.

Under the Normal likelihood and the identity link the best q has a closed form; elsewhere natural
gradients find it, starting from the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from workbench.gp.inference.annealing import powers, train_annealed
from workbench.gp.inference.collapsed import collapsed
from workbench.gp.optimisation.trails import Memory
from workbench.gp.optimisation.training import History, maximise

_RESTARTS = 5               # of L-BFGS, while a slope is left


def train(state, progress: bool, callback) -> History:
    """Maximise the objective at the best q plus log prior, from annealed starts where totals bind.

    Parameters
    ----------
    state : VariationalState
        Changed in place: on return at the best setting found.
    progress, callback
        As of ``fit``.
    """
    if state.likelihood.has_noise and state.link.linear:
        return ascend(state, progress, callback, evaluate=lambda pulse: closed_form(state))
    rising = powers(state) if state.hyperparameters.free else []
    if rising:
        return train_annealed(state, rising, ascend, progress, callback)
    return ascend(state, progress, callback)


def closed_form(state) -> Tensor:
    """The bound at the best q, which is kept, plus log prior; Normal and identity only."""
    value, mean, covariance = collapsed(
        state.project(state.learning), state.source.targets.value,
        state.likelihood.variance(), state.source.trust)
    state.field.set_q(mean, covariance)
    return value + state.hyperparameters.log_prior()


def ascend(state, progress: bool, callback, steps: int | None = None,
           tolerance: float | None = None, evaluate: Callable | None = None) -> History:
    """One ascent of the profiled objective, or of the one that ``evaluate`` gives.

    ``steps`` and ``tolerance`` replace the options'.
    """
    return maximise(
        evaluate or state.profile, state.hyperparameters,
        snapshot=lambda: (state.field.q_mean, state.field.q_covariance),
        restore=lambda q: state.field.set_q(*q),
        max_steps=steps or state.options.max_steps,
        tolerance=tolerance or state.options.tolerance,
        progress=progress, callback=callback, restarts=0 if tolerance else _RESTARTS,
        memory=Memory(lambda: _carried(state), lambda carried: _carry(state, carried)),
    )


def _carried(state) -> dict[str, Tensor]:
    found = {"mean": state.field.q_mean, "covariance": state.field.q_covariance}
    return found if state.scales is None else found | {"scales": state.scales}


def _carry(state, carried: Mapping[str, Tensor]) -> None:
    state.restart(carried["mean"], carried["covariance"])
    state.scales = carried.get("scales")
