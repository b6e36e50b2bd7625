"""Which fit a page shows: its status and hyperparameters, as a URL carries them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import ClassVar

import param

from workbench.ui.base import messages
from workbench.ui.base.state import State, short

PREVIEW, FITTED, CANCELLED = "preview", "fitted", "cancelled"
STATUSES = {"Preview, not fitted": PREVIEW, "Fitted": FITTED, "Cancelled: best so far": CANCELLED}
MOST = 4_000        # characters
DIGITS = 9          # of a number
EVIDENCE = "evidence"       # what the objective is called beside hyperparameters
LARGEST = 1e12      # that a page shows
_ENTRY = re.compile(r"([^:!]{1,60}):([0-9eE.+/-]+)(!?)")


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
        value = numbers(fixed.get(name, entry["value"]))
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


def numbers(value: float | list[float], digits: int = DIGITS) -> str:
    """One or several numbers, with so many digits."""
    return "/".join(f"{v:.{digits}g}" for v in (value if isinstance(value, list) else [value]))


class Learnt(State):
    """A state whose sliders a fit moves, and of which a URL says whether they were fitted.

    A subclass says in ``apart`` which choices a fit does not depend on, and in `stops` where
    sliders are that show it. Any other choice that changes, and the sliders are set by hand.
    """

    status = param.Selector(objects=STATUSES, doc="Whether the sliders show a fit.")
    at = param.String("", doc="Hyperparameters of the fit that the sliders are nearest to.")

    apart: ClassVar[tuple[str, ...]] = ()
    _keeping = False

    def __init__(self, **given):
        super().__init__(**given)
        self.param.watch(self._by_hand, [
            name for name in self.names() if name not in (*self.apart, "status", "at")])

    @classmethod
    def names(cls) -> list[str]:
        """The choices, those that others depend on first."""
        last = ["status", "at"]
        return [name for name in super().names() if name not in last] + last

    @property
    def learnable(self) -> tuple[str, ...]:
        """Names of what a fit of the present choices finds; empty where nothing is learnt."""
        raise NotImplementedError

    def stops(self, values: Mapping[str, float]) -> dict[str, float]:
        """Choices nearest to learnt values."""
        raise NotImplementedError

    def keep(self, values: Mapping[str, float], evidence: float, cancelled: bool = False) -> None:
        """Put the sliders on the stops nearest to a fit; one step back for all of it."""
        at = ",".join(f"{name}:{numbers(value)}"
                      for name, value in {**values, EVIDENCE: evidence}.items())
        with self.together():
            self._keeping = True
            try:
                self.param.update(**self.stops(values))
            finally:
                self._keeping = False
            self.param.update(status=CANCELLED if cancelled else FITTED, at=at)

    @property
    def fit(self) -> dict[str, float]:
        """Learnt values, and their evidence; empty where the sliders were set by hand."""
        return {name: value for name, (value, _) in (read(self.at) or {}).items()}

    def _by_hand(self, *events) -> None:
        if not self._keeping:
            self.param.update(status=PREVIEW, at="")

    def _read(self, name: str, text: str) -> list[str]:
        if name != "at":
            return super()._read(name, text)
        self.at = text if text == "" or read(text) else ""
        return [] if self.at == text else [f"at={short(text)} ({messages.NO_HYPERPARAMETERS})"]

    def _settle(self) -> list[str]:
        """A fit that the sliders do not show is none."""
        problems = super()._settle()
        if self.status != PREVIEW and not self._shown():
            problems.append(f"status={self.status} ({messages.NOT_THERE})")
            self.status = PREVIEW
        if self.status == PREVIEW:
            self.at = ""
        return problems

    def _shown(self) -> bool:
        """Whether there is a fit of just what can be learnt here, and the sliders are nearest."""
        found = read(self.at) or {}
        if set(found) != {*self.learnable, EVIDENCE} or self.learnable == () or any(
                fixed or isinstance(value, list) or abs(value) > LARGEST
                for value, fixed in found.values()):
            return False
        values = {name: value for name, (value, _) in found.items() if name != EVIDENCE}
        return all(getattr(self, name) == value for name, value in self.stops(values).items())
