"""What the values of dropped areas are: their column, what it holds, and what goes with that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import panel_material_ui as pmui

from workbench.ui.base.views.layout import wrapping
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.columns import beside, totals_first
from workbench.ui.disaggregate.kinds import COUNT, KINDS, guessed, options_of
from workbench.ui.disaggregate.remedies import Remedy
from workbench.ui.disaggregate.views.asking import ACROSS, Asking, select


def _offered(columns: int) -> dict[str, str]:
    """Kinds by label that so many columns of numbers can have."""
    return {one.label: name for name, one in KINDS.items() if columns > 1 or not one.needed}


class Values:
    """Choices of the column of values and of its kind.

    Parameters
    ----------
    asking : Asking
        Knows what was guessed.
    changed : callable
        Called with the event when somebody or a guess changes a choice.
    """

    def __init__(self, asking: Asking, changed: Callable):
        self._asking, self._numbers, self._surveys = asking, (), {}
        self.column = select(labels.COLUMN)
        self.kind = select(labels.KIND, options=_offered(0), value=COUNT)
        self.second = select("")
        self.unit = pmui.TextInput(label=labels.UNIT, width=ACROSS, visible=False)
        self.row = wrapping(self.column, self.kind, self.second, self.unit)
        for each, follow in ((self.column, self._guess), (self.kind, self._go_on)):
            each.param.watch(follow, "value")
        for each in (self.column, self.kind, self.second, self.unit):
            each.param.watch(changed, "value")

    def offer(self, numbers: Sequence[str], visible: bool, keys: Sequence[str] = (),
              surveys: Mapping[str, str] | None = None) -> None:
        """Ask about columns of numbers, or nothing where the areas have none.

        Parameters
        ----------
        numbers : sequence of str
        visible : bool
        keys : sequence of str
            Those by which a table may be joined.
        surveys : Mapping of str to str, optional
            Columns of positives, each with that of how many were tested.
        """
        self._surveys = dict(surveys or {})
        self._numbers = tuple(totals_first(numbers, keys)) if visible else ()
        before, first = self.column.value, next(iter(self._numbers), None)
        self._asking.ask(self.column, list(self._numbers), first, visible)
        if self.column.value == before:
            self._ask_kind(self.kind.value)

    def forget(self) -> None:
        """Take what comes next for counts, whatever was said of files that are gone."""
        self._ask_kind(COUNT)

    def take(self, remedy: Remedy) -> bool:
        """Choose the kind of values that a remedy stands for; whether it stands for one."""
        for name, one in KINDS.items():
            if one.options and set(one.options) == set(remedy.change):
                self.kind.value = name
                return True
        return False

    @property
    def options(self) -> dict[str, str]:
        """Options that the values are read with."""
        return options_of(self.kind.value, self.second.value or "", self.unit.value.strip())

    def _guess(self, *events) -> None:
        """Of another column another kind, and another unit."""
        self.unit.value = ""
        self._ask_kind(guessed(self.column.value, self._surveys) if self.column.value else COUNT)

    def _ask_kind(self, kind: str) -> None:
        offered = _offered(len(self._numbers))
        self.kind.param.update(options=offered, visible=bool(self.column.value),
                               value=kind if kind in offered.values() else COUNT)
        self._go_on()

    def _go_on(self, *events) -> None:
        """Ask what the kind of values needs besides."""
        one, here = KINDS[self.kind.value], self.kind.visible
        others = [name for name in self._numbers if name != self.column.value]
        likely = beside(others, one.column, self.column.value or "")
        if one.column == "trials" and self._surveys.get(self.column.value) in others:
            likely = [self._surveys[self.column.value], *likely]
        nothing = {} if one.needed else {labels.NONE_KNOWN: ""}
        first = next(iter(likely), others[0] if one.needed and others else "")
        self._asking.ask(self.second, nothing | {name: name for name in others}, first,
                         here and bool(one.column))
        self.second.label = one.asked
        self.unit.visible = here and one.measured
