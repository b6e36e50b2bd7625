"""What was fitted, in one line: lengthscales with their units, or the weights of a mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.ui.disaggregate import messages, names

if TYPE_CHECKING:
    from workbench.ui.disaggregate.engine import Answer

_WORTH = 0.05           # weight from which a candidate is worth a word
_LENGTH = ".lengthscale"


def facts(answer: Answer, judged: bool = False) -> str:
    """Lengthscales and the share that extrapolates, of a mixture with the weights of its models.

    Parameters
    ----------
    answer : Answer
    judged : bool
        Whether a verdict says which share extrapolates.

    Returns
    -------
    str
        A line.
    """
    given, parts = answer.fit.hyperparameters, []
    if all(isinstance(one, dict) and "weight" in one for one in given.values()):
        order = sorted(given, key=lambda name: -given[name]["weight"])
        for name in order:
            if given[name]["weight"] >= _WORTH:
                lengths = _lengths(given[name]["hyperparameters"])
                shown = names.candidate(name)
                parts.append(messages.candidate(shown, given[name]["weight"], lengths))
    else:
        parts += _lengths(given)
    return messages.facts(parts, None if judged else answer.fit.outside_share)


def _lengths(given: dict) -> list[str]:
    """Every lengthscale of a model, with its unit."""
    found = {names.term(name.removesuffix(_LENGTH)): one for name, one in given.items()
             if name.endswith(_LENGTH)}
    return [messages.lengthscale(term, one["value"], one.get("unit", ""))
            for term, one in found.items()]
