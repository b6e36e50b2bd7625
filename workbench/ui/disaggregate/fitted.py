"""Which fit is shown, of one model or of a mixture, as a URL carries it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from workbench.ui.base.fitted import DIGITS, MOST, PREVIEW, numbers, read

FEWER = 5           # digits of a number of a mixture that would be too long


@dataclass(frozen=True)
class Fitted:
    """A fit by what makes it again: keys of caches, and two choices of the state.

    Parameters
    ----------
    status : str
        ``preview`` (nothing is learnt), ``fitted``, or ``cancelled`` (the best state by then).
    at : str
        Its hyperparameters as `workbench.ui.base.fitted.written`, or those of a mixture's models
        as `written_mixture`; empty of a preview.
    """

    status: str = PREVIEW
    at: str = ""

    @cached_property
    def values(self) -> dict[str, float | list[float]]:
        """Its hyperparameters by name, natural units."""
        return {name: value for name, (value, _) in (read(self.at) or {}).items()}

    @cached_property
    def mixture(self) -> dict[str, dict]:
        """Of a mixture weight and hyperparameters of its models, by their keys; else empty."""
        return read_mixture(self.at) or {}

    @cached_property
    def fixed(self) -> dict[str, float | list[float]]:
        """Those of them that sliders fixed while the others were learnt."""
        return {name: value for name, (value, fixed) in (read(self.at) or {}).items()
                if fixed}


#: Of settings of which nothing is learnt.
UNFITTED = Fitted()


def key_of(candidate: str) -> str:
    """The name of a mixture's model without what an address has another use for.

    Parameters
    ----------
    candidate : str

    Examples
    --------
    >>> key_of("all at once, transformed"), key_of("slopes + place")
    ('all-at-once-transformed', 'slopes-place')
    """
    return re.sub(r"\W+", "-", candidate)


def written_mixture(candidates: Mapping[str, Mapping]) -> str:
    """Weights and hyperparameters of a mixture's models as text; those of no weight are left out.

    ``model:weight``, followed by its hyperparameters as ``model/name:value``, as `written`. Long
    ones have fewer digits; of one that is too long even then the text is empty.

    Parameters
    ----------
    candidates : mapping
        As of the hyperparameters of a fitted mixture.
    """
    used = {key_of(name): one for name, one in candidates.items() if one["weight"] > 0}
    for digits in (DIGITS, FEWER):
        entries = []
        for key, one in used.items():
            entries.append(f"{key}:{one['weight']:.{digits}g}")
            entries += [f"{key}/{name}:{numbers(entry['value'], digits)}"
                        for name, entry in one["hyperparameters"].items()]
        if len(text := ",".join(entries)) <= MOST:
            return text
    return ""


def read_mixture(text: str) -> dict[str, dict] | None:
    """Weight and hyperparameters by model, of a text by `written_mixture`; None if it is none.

    Parameters
    ----------
    text : str
        Of a URL; may be anything.
    """
    found: dict[str, dict] = {}
    for name, (value, fixed) in (read(text) or {}).items():
        key, inside, hyperparameter = name.partition("/")
        if fixed or inside and key not in found:
            return None
        if inside:
            found[key]["hyperparameters"][hyperparameter] = value
        elif isinstance(value, list) or not 0 < value <= 1:
            return None
        else:
            found[key] = {"weight": value, "hyperparameters": {}}
    return found or None
