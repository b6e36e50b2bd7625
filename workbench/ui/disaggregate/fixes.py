"""What can be done about an error of the page, by one press: another setting, or where to look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.ui.disaggregate import labels, messages
from workbench.ui.disaggregate.state import AUTO, FIT_CHOICES

if TYPE_CHECKING:
    from workbench.ui.disaggregate.store import Store


@dataclass(frozen=True)
class Fix:
    """A press that does away with an error.

    Parameters
    ----------
    label : str
        On the button.
    settings : Mapping
        Choices of the state that are made.
    fit : bool
        Whether a fit is begun.
    """

    label: str
    settings: Mapping[str, object]
    fit: bool = False


def wrong(store: Store) -> str:
    """What is wrong at present; empty if nothing is."""
    if store.error:
        return store.error
    return messages.refused(store.blocked) if store.blocked else ""


def fix_of(store: Store) -> Fix | None:
    """What does away with the present error; None without one.

    Parameters
    ----------
    store : Store
    """
    state = store.state
    if not wrong(store):
        return None
    if not store.error:
        return Fix(labels.SEE_CHECK, {"step": "check"})
    if store.error.startswith(labels.NOT_SAVED):
        return Fix(labels.SEE_EXPORTS, {"step": "report"})
    if store.error.startswith(messages.NO_SUCH_FIT):
        return Fix(labels.FIT_AGAIN, {}, fit=True)
    if state.model != AUTO:
        return Fix(labels.TAKE_AUTO, {"model": AUTO})
    return Fix(labels.TAKE_DEFAULTS, {
        name: state.param[name].default for name in (*FIT_CHOICES, "lengthscale", "variance")
        if name not in ("dataset", "model")})


def apply(fix: Fix, store: Store) -> None:
    """Do what a fix says; where it changes no choice, the present ones are answered again.

    Parameters
    ----------
    fix : Fix
    store : Store
    """
    before = store.state.query()
    if fix.settings:
        with store.state.together():
            store.state.choose(fix.settings)
    if fix.fit:
        store.fit()
    elif "step" in fix.settings:
        store.error = ""            # it was read
    elif store.state.query() == before:
        store.refresh()
