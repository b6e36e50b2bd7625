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
_ENTRY = re.compile(r"([^:!]{1,60}):([0-9eE.+/-]+)(!?)")


@dataclass(frozen=True)
class Fitted:
    """A fit by what makes it again: keys of caches, and two choices of the state.

    Parameters
    ----------
    status : str
        ``preview`` (nothing is learnt), ``fitted``, or ``cancelled`` (the best state by then).
    at : str
        Its hyperparameters as `written`; empty of a preview, and of a mixture of models, which has
        none of its own and is learnt again.
    """

    status: str = PREVIEW
    at: str = ""

    @cached_property
    def values(self) -> dict[str, float | list[float]]:
        """Its hyperparameters by name, natural units."""
        return {name: value for name, (value, _) in (read(self.at) or {}).items()}

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
        value = fixed.get(name, entry["value"])
        listed = value if isinstance(value, list) else [value]
        entries.append(f"{name}:{'/'.join(f'{v:.9g}' for v in listed)}{'!' * (name in fixed)}")
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
