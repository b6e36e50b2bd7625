"""What the flat map, which every model can be, explains of the data: no good fit explains less."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from workbench.checks import without_warnings
from workbench.gp.inference.annealing import powers
from workbench.gp.inference.coarse import coarser
from workbench.gp.inference.shards import alone
from workbench.gp.kernels.persistent import VARIANCE
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.numerics.recent import ResultCache

_RECENT = ResultCache(8)    # what is known of flat models, common to candidates of a mixture
# A search may yet gain so many times what its last evaluations gained together, and so many nats
# that priors cost where it is: the objective that is compared is without them.
_YET, _LAST, _PRIORS = 10.0, 3, 5.0


class Reached(NamedTuple):
    """An objective: of the whole search, or one that the search, stopped early, stays below."""

    objective: float
    exact: bool


class _Settled(Exception):
    """Ends a search whose end is in no doubt any more."""


def flat_objective(model, source, least: float) -> float | None:
    """Objective of the same model with a constant kernel, where it may be above a limit.

    Most searches stay far below the limit, and end after some evaluations.

    Parameters
    ----------
    model : VBAgg
        The model, which is not changed.
    source : Source
        What it was fitted to.
    least : float
        The limit, in nats.

    Returns
    -------
    float or None
        In nats, without priors; None of a model that is flat itself, whose flat one cannot be
        computed, or is below the limit.
    """
    options = model.options
    if options.kernel == "constant":
        return None
    own = ("mean", "area.std", "area.variance", "nugget.std", "dispersion", "noise.variance",
           VARIANCE)
    mapped = {entry: {name: value for name, value in getattr(options, entry).items()
                      if name in own} for entry in ("hyperparameters", "initial", "priors")}
    flat = type(model).__new__(type(model))
    flat.options = replace(options, kernel="constant", average=0, max_steps=100,
                           layout="additive", **mapped)
    try:
        with without_warnings(), alone():       # only its objective is wanted
            found = _RECENT.get(lambda: _searched(flat, source, least),
                                type(flat).__qualname__, flat.options, source)
            if not found.exact and found.objective >= least:    # stopped for a higher limit
                found = _searched(flat, source, least)
    except FactorisationError:
        return None
    return found.objective if found.exact and found.objective >= least else None


def _searched(flat, source, least: float) -> Reached:
    state, values = flat.state_type(flat, source), []
    priors = state.hyperparameters.log_prior

    def watch(step: int, objective: float, fraction: float) -> None:
        if step == len(values):         # a long evaluation repeats the last step
            return
        values.append(objective)
        if len(values) > _LAST and values[-1] == max(values):
            gained = values[-1] - max(values[:-_LAST])
            ceiling = values[-1] - float(priors().detach()) + _YET * gained + _PRIORS
            if ceiling < least:
                raise _Settled(ceiling)

    # Others begin with other objectives, annealed ones or those of less of the data, or somewhere
    # where the objective may be flat for a while.
    plain = (not flat.options.initial and coarser(state) is None
             and not (state.hyperparameters.free and powers(state)))
    try:
        history = state.train(False, watch if plain else None)
    except _Settled as settled:
        return Reached(settled.args[0], False)
    if history.cancelled:       # Ctrl-C is the user's, and what it stopped is not kept
        raise KeyboardInterrupt
    return Reached(flat.fit_type(flat, state, history).objective, True)
