"""One model of a fitted mixture taken for itself, so that its lengthscale can be moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.ui.base.fitted import CANCELLED, FITTED, written
from workbench.ui.disaggregate import messages, names
from workbench.ui.disaggregate.catalogue import ALONE, map_term
from workbench.ui.disaggregate.fitted import Fitted
from workbench.ui.disaggregate.mixtures import AUTO

if TYPE_CHECKING:
    from workbench.ui.disaggregate.engine import Answer
    from workbench.ui.disaggregate.state import State

_NAMED = ("link", "likelihood", "overdispersion", "nugget")


@dataclass(frozen=True)
class Alone:
    """A model of a mixture as a setting of its own.

    Parameters
    ----------
    choices : Mapping
        Of the state, by name.
    fitted : Fitted
        Its fit.
    told : str
        Which model it is, in words, and which one has more weight but no lengthscale.
    """

    choices: Mapping
    fitted: Fitted
    told: str


def best(answer: Answer | None, state: State) -> Alone | None:
    """The model of most weight that has one lengthscale; None if there is none.

    Parameters
    ----------
    answer : Answer or None
        What is shown.
    state : State
        Of the session; a model with choices that it does not offer is left out.
    """
    if answer is None or answer.spec.model != AUTO or answer.kind not in ("learnt", "stopped"):
        return None
    weights = {str(name): float(weight) for name, weight in zip(
        answer.fit.weights["model"].values, answer.fit.weights.values, strict=True) if weight > 0}
    order = sorted(weights, key=lambda name: -weights[name])
    for name in order:
        fit = answer.fit.candidates[name]
        choices = choices_of(fit)
        length = fit.hyperparameters.get(f"{map_term(choices['kernel'])}.lengthscale")
        if (choices["kernel"] not in ALONE or length is None or isinstance(length["value"], list)
                or _other_inducing(fit) or not _offered(choices, state)):
            continue
        status = FITTED if answer.kind == "learnt" else CANCELLED
        first = order[0]
        told = messages.alone(
            names.candidate(name), weights[name], names.candidate(first), weights[first])
        return Alone(choices, Fitted(status, written(fit.hyperparameters, {})), told)
    return None


def _other_inducing(fit) -> bool:
    """Whether a fit has another number of inducing inputs, so another map, than the app's own."""
    # With a fit at hand: a page can be drawn before the models are imported.
    from workbench.gp.models.options import VariationalOptions
    from workbench.gp.models.vbagg.design import with_inducing

    state = fit.inner.state
    usual = with_inducing(      # which has as many points as averages
        VariationalOptions(link=state.options.link, inducing_inputs="averages"),
        state.given.bags.sizes, state.likelihood.has_noise)
    return state.options.inducing != usual.inducing


def choices_of(fit) -> dict:
    """Choices of the app that make the model of a candidate.

    Parameters
    ----------
    fit : Fit
        Of one model.
    """
    options, state = fit.model.options, fit.inner.state
    found = {"model": "vbagg", "kernel": options.kernel, "transform": options.transform,
             "link": state.link.name, "likelihood": state.likelihood.name}
    kept = state.likelihood.name == "binomial" and state.options.persistence == "area"
    return found | {"overdispersion": "area" if kept else state.options.overdispersion,
                    "nugget": state.options.nugget}


def _offered(choices: Mapping, state: State) -> bool:
    """Whether the app has every choice, the kernel aside."""
    return all(choices[name] in state.param[name].names.values() for name in _NAMED)
