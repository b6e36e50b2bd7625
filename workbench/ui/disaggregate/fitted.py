"""Which fit is shown: its status and hyperparameters, as a URL carries them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

PREVIEW, FITTED, CANCELLED = "preview", "fitted", "cancelled"
STATUSES = {"Preview, not fitted": PREVIEW, "Fitted": FITTED, "Cancelled: best so far": CANCELLED}
MOST = 4_000        # characters
DIGITS = (9, 5)     # of a number, and where that would be too long
_ENTRY = re.compile(r"([^:!]{1,60}):([0-9eE.+/-]+)(!?)")


@dataclass(frozen=True)
class Fitted:
    """A fit by what makes it again: keys of caches, and two choices of the state.

    Parameters
    ----------
    status : str
        ``preview`` (nothing is learnt), ``fitted``, or ``cancelled`` (the best state by then).
    at : str
        Its hyperparameters as `written`, or those of a mixture's models as `written_mixture`;
        empty of a preview.
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


def written(hyperparameters: Mapping[str, Mapping], fixed: Mapping[str, float]) -> str:
    """Hyperparameters as text: ``name:value``, joined by commas; fixed ones end in ``!``.

    Parameters
    ----------
    hyperparameters : mapping
        As of a fit; values of one with several are joined by ``/``.
    fixed : mapping
        Those that sliders fixed.
    """
    entries = []
    for name, entry in hyperparameters.items():
        value = _numbers(fixed.get(name, entry["value"]), DIGITS[0])
        entries.append(f"{name}:{value}{'!' * (name in fixed)}")
    return ",".join(entries)


def read(text: str) -> dict[str, tuple[float | list[float], bool]] | None:
    """Values by name, and whether each was fixed, of a text by `written`; None if it is none.

    Parameters
    ----------
    text : str
        Of a URL; may be anything.
    """
    found = {}
    for part in filter(None, text[:MOST + 1].split(",")):
        match = _ENTRY.fullmatch(part)
        if match is None or len(text) > MOST or match[1] in found:
            return None
        try:
            values = [float(v) for v in match[2].split("/")]
        except ValueError:
            return None
        if not all(map(math.isfinite, values)):
            return None
        found[match[1]] = values[0] if len(values) == 1 else values, bool(match[3])
    return found


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
    for digits in DIGITS:
        entries = []
        for key, one in used.items():
            entries.append(f"{key}:{one['weight']:.{digits}g}")
            entries += [f"{key}/{name}:{_numbers(entry['value'], digits)}"
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


def _numbers(value: float | list[float], digits: int) -> str:
    """One or several numbers, with so many digits."""
    return "/".join(f"{v:.{digits}g}" for v in (value if isinstance(value, list) else [value]))
