"""What was fitted, in one line: lengthscales with their units, or the weights of a mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.ui.base.messages import true_minus
from workbench.ui.disaggregate import messages, names, verdict_words
from workbench.ui.disaggregate.verdict import weighed_here

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


def took(answer: Answer) -> float:
    """Seconds of learning where something was learnt, as in the fit's summary; else of the maps.

    Parameters
    ----------
    answer : Answer
    """
    return float(answer.fit.elapsed) if answer.history else answer.seconds


def in_words(answer: Answer, kind: str) -> tuple[str, str]:
    """The fit in words, as the page and all that is taken away from it have them.

    Parameters
    ----------
    answer : Answer
    kind : str
        What the values are, as of `kinds`.

    Returns
    -------
    (str, str)
        Of a mixture, which test its own numbers are of, else empty; and the summary of the fit,
        without the Python of it, with a true minus.
    """
    return verdict_words.weighed(kind) if weighed_here(answer.fit) else "", said(answer.summary)


def said(summary: str) -> str:
    """The summary of a fit as a page says it: without the Python of the fit, with a true minus."""
    first, _, rest = summary.partition("\n")
    return true_minus(rest if first.startswith("<") else summary)


def _lengths(given: dict) -> list[str]:
    """Every lengthscale of a model, with its unit."""
    found = {names.term(name.removesuffix(_LENGTH)): one for name, one in given.items()
             if name.endswith(_LENGTH)}
    return [messages.lengthscale(term, one["value"], one.get("unit", ""))
            for term, one in found.items()]
