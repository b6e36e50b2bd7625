"""Choices about dropped files, each guessed from names until somebody chooses."""

from __future__ import annotations

import panel_material_ui as pmui

ACROSS = 250        # pixels of a choice, of which three are in a row


class Asking:
    """What was guessed for choices, so that what somebody chose is told from it."""

    def __init__(self):
        self._guessed: dict[pmui.Select, object] = {}

    def forget(self) -> None:
        """Take every choice for a guess: it was made about files that are gone."""
        self._guessed.clear()

    def ask(self, choice: pmui.Select, options: list | dict, guess: object, visible: bool) -> None:
        """Offer options; what was chosen of former ones stays, a guess gives way to the next.

        Parameters
        ----------
        choice : Select
        options : list or dict
            What is offered, by label where the label is another.
        guess : object
            Taken unless somebody chose otherwise.
        visible : bool
            Whether the choice is to be made.
        """
        chosen, offered = choice.value, options.values() if isinstance(options, dict) else options
        stays = chosen != self._guessed.get(choice, chosen) and chosen in offered
        self._guessed[choice] = guess
        value = chosen if stays else guess
        before = _label(choice.options, value)
        choice.param.update(options=options, visible=visible, value=value)
        if value == chosen and _label(options, value) != before:
            choice.param.trigger("value")       # else a browser shows what it was called before


def _label(options: list | dict, value: object) -> str:
    """What a choice calls one of its options."""
    named = options if isinstance(options, dict) else {}
    return next((label for label, one in named.items() if one == value), "")


def select(label: str, **options) -> pmui.Select:
    """A choice that is asked for later.

    Parameters
    ----------
    label : str
    **options
        Of the widget.
    """
    return pmui.Select(label=label, width=ACROSS, visible=False, **{"options": [], **options})
