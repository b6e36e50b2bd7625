"""What of a fit is kept, so that it can be recalled later or elsewhere without any training.

A model is assembled for its source again, which is deterministic; what training found is then put
back in: raw hyperparameters, inducing inputs, q, and what else a state says it has `learnt`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace

import torch
from torch import Tensor

from workbench.checks import InputError, require
from workbench.gp.data.bags import Bags
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.optimisation.training import History

_AVERAGING = ("membership", "weight")       # of an operator of averages that are inducing variables
_PROBED = 200       # individuals at which a recalled fit is compared with the one that was kept


@dataclass(frozen=True)
class Kept:
    """A fit as tensors and plain facts.

    Parameters
    ----------
    facts : dict
        Of what JSON knows: history, names of fixed hyperparameters, weights.
    tensors : dict of str to Tensor
        Numbers, by name.
    parts : dict of str to Kept
        Fits that it is made of, by name.
    """

    facts: dict
    tensors: dict[str, Tensor]
    parts: dict[str, Kept] = field(default_factory=dict)

    @property
    def given(self) -> dict[str, None]:
        """Names of the hyperparameters that there were, as of those given to a state."""
        return dict.fromkeys(name.removeprefix("hyperparameter/") for name in self.tensors)


class Recalled:
    """A state that can be put back as it was when its training had ended.

    Beside these methods it has ``hyperparameters``.
    """

    def inducing_fields(self) -> list[InducingField]:
        """Fields whose inducing inputs and q are kept."""
        return []

    def learnt(self) -> dict[str, Tensor]:
        """What training found beside hyperparameters and q, by name."""
        return {}

    def recall(self, learnt: Mapping[str, Tensor]) -> None:
        """Take up what was `learnt`, and compute what follows from it and the hyperparameters."""


def keep_state(state: Recalled, history: History) -> Kept:
    """A trained state as tensors and facts.

    Parameters
    ----------
    state : Recalled
        Of a fit.
    history : History
        Of its training.
    """
    tensors = {f"hyperparameter/{item.name}": item.raw for item in state.hyperparameters}
    for k, one in enumerate(state.inducing_fields()):
        tensors |= {f"field/{k}/inducing/{t}": z for t, z in enumerate(one.inducing)
                    if z is not None}
        tensors |= {f"field/{k}/averaging/{t}/{name}": getattr(averaging.bags, name)
                    for t, averaging in enumerate(one.averaging) if averaging is not None
                    for name in _AVERAGING}
        tensors |= {f"field/{k}/q_mean": one.q_mean, f"field/{k}/q_covariance": one.q_covariance}
    tensors |= {f"learnt/{name}": value for name, value in state.learnt().items()}
    known = {entry.name for entry in fields(History)}
    told = {name: value for name, value in asdict(history).items() if name in known}
    fixed = [item.name for item in state.hyperparameters if item.fixed]
    return Kept({"fixed": fixed, "history": told},
                {name: value.detach().clone() for name, value in tensors.items()})


@torch.no_grad()
def recall_state(state: Recalled, kept: Kept) -> History:
    """Put into an assembled state what was kept of a trained one; its history.

    Parameters
    ----------
    state : Recalled
        Of the same model, assembled for the same source.
    kept : Kept
        As of `keep_state`.

    Raises
    ------
    InputError
        If what was kept belongs to another model or other data.
    """
    given = dict(kept.tensors)
    for item in state.hyperparameters:
        item.raw.copy_(_taken(given, f"hyperparameter/{item.name}", item.raw))
        item.fixed = item.name in kept.facts["fixed"]
    for k, one in enumerate(state.inducing_fields()):
        one.inducing = [
            None if z is None else _taken(given, f"field/{k}/inducing/{t}", z, rows=False)
            for t, z in enumerate(one.inducing)]
        one.averaging = [
            None if averaging is None else _averaging(given, f"field/{k}/averaging/{t}/",
                                                      averaging, one.inducing[t])
            for t, averaging in enumerate(one.averaging)]
        width = sum(stop - start for start, stop in one.blocks().values())
        like = torch.empty(width, width).to(one.q_mean)
        one.set_q(_taken(given, f"field/{k}/q_mean", like[0]),
                  _taken(given, f"field/{k}/q_covariance", like))
    learnt = {name.removeprefix("learnt/"): given.pop(name) for name in list(given)
              if name.startswith("learnt/")}
    require(not given, f"what was kept of the fit has {', '.join(sorted(given))}, which its model "
            "does not know on these data")
    state.recall(learnt)
    try:
        return History(**kept.facts["history"])
    except TypeError as error:
        raise InputError(f"the history of the fit is not understood: {error}") from error


def _averaging(given: dict[str, Tensor], name: str, like: AggregationOperator, x: Tensor
               ) -> AggregationOperator:
    """An operator of averages over inducing inputs, by name."""
    found = {part: _taken(given, name + part, getattr(like.bags, part), rows=False)
             for part in _AVERAGING}
    return type(like)(replace(like.bags, x=x, count=int(found["membership"][-1]) + 1, **found))


def _taken(given: dict[str, Tensor], name: str, like: Tensor, rows: bool = True) -> Tensor:
    """A tensor by name, of the type and shape of another; the number of rows may differ."""
    require(name in given, f"what was kept of the fit lacks {name!r}, which its model needs on "
            "these data")
    value = given.pop(name)
    first = 0 if rows else 1
    require(value.dim() == like.dim() and value.shape[first:] == like.shape[first:],
            f"{name!r} has shape {tuple(value.shape)} where {tuple(like.shape)} was expected")
    return value.to(like)


@torch.no_grad()
def probe(fit, bags: Bags) -> tuple[Tensor, Tensor]:
    """Mean and sd (n,) of the rate at the first individuals a fit was trained on.

    Parameters
    ----------
    fit : ModelFit
        Any fit.
    bags : Bags
        The training bags, in the dtype and on the device of its options.
    """
    n = min(_PROBED, len(bags.x))
    membership = bags.membership[:n]
    count = int(membership.max()) + 1
    few = Bags(bags.x[:n], membership, bags.weight[:n], count, bags.columns,
               trials=None if bags.trials is None else bags.trials[:count],
               mediators=None if bags.mediators is None else bags.mediators[:count],
               mediator_columns=bags.mediator_columns,
               concentration=None if bags.concentration is None else bags.concentration[:n],
               recurring=None if bags.recurring is None else bags.recurring[:n])
    predicted = fit.at(few, torch.arange(count))
    return predicted.mean, predicted.std
