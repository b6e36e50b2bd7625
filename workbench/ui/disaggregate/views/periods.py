"""The choice of a period where a table has several rows for each area, and what that leads to."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from html import escape

import panel_material_ui as pmui

from workbench.ui.base.views.layout import stretched, wrapping
from workbench.ui.base.views.text import block
from workbench.ui.disaggregate import own
from workbench.ui.disaggregate.one_period import SUM, Periods, periods_in
from workbench.ui.disaggregate.views.asking import Asking, select

LOOK = ("border-left: 4px solid rgb(25, 118, 210); border-radius: 4px; padding: 8px 10px; "
        "margin: 4px 0 8px; font-size: 13px; line-height: 1.45; "
        "background: rgba(25, 118, 210, 0.10)")


class OnePeriod:
    """Asks which period of a table is mapped, and reads the table with the rows of that alone.

    Parameters
    ----------
    asking : Asking
        Knows what was guessed.
    again : callable
        Looks at the files again once another period is chosen.
    """

    def __init__(self, asking: Asking, again: Callable[[], None]):
        self._asking, self._again, self._looks = asking, again, False
        self._found: Periods | None = None
        self.choice = select("Period to map")
        self.table = pmui.FileDownload(callback=lambda: io.BytesIO(self._written), filename="t.csv",
                                       label="", variant="text",
                                       size="small", margin=(10, 5), visible=False)
        self.told, self._written = block(), b""
        self.row = stretched(self.told, wrapping(self.choice, self.table), visible=False)
        self.choice.param.watch(self._chosen, "value")

    @property
    def suffix(self) -> str:
        """What the period adds to the title of data."""
        return "" if self._found is None else f", {_label(self._found, self.choice.value)}"

    def read(self, contents: Mapping[str, bytes],
             keep: Callable[[dict[str, bytes]], own.Files]) -> own.Files:
        """Keep files; of a table with several periods the rows of one of them, or their sum.

        Parameters
        ----------
        contents : Mapping of str to bytes
            By file name.
        keep : callable
            Keeps files.
        """
        files = keep(dict(contents))
        self._found = found = periods_in(files.table)
        self.row.visible = self.table.visible = found is not None
        if found is None:
            return files
        options = {_label(found, one): one for one in reversed(found.periods)}
        if found.summed:
            options[_label(found, SUM)] = SUM
        self._looks = True
        try:
            self._asking.ask(self.choice, options, found.periods[-1], True)
        finally:
            self._looks = False
        chosen = self.choice.value
        name, self._written = found.called(chosen), found.table(chosen)
        self.table.param.update(label=f"Save {name}", filename=name)
        self.told.object = _told(found, chosen, files)
        others = {other: content for other, content in contents.items()
                  if other.lower() != found.file.lower()}
        return keep(others | {name: self._written})

    def forget(self) -> None:
        """Ask about nothing."""
        self._found, self.row.visible = None, False

    def _chosen(self, event) -> None:
        if not self._looks:
            self._again()


def _label(found: Periods, period: str) -> str:
    return period if period != SUM else (
        f"sum of {found.periods[0]} to {found.periods[-1]}")


def _told(found: Periods, chosen: str, files: own.Files) -> str:
    """A card that says what was found in a table, what is mapped, and how to map all of it."""
    one, many = found.periods[0], len(found.periods)
    said = [f"<b>{escape(found.file)} has several rows for each area.</b> Column "
            f"<b>{escape(found.column)}</b> looks like a period: {many} of them, {escape(one)} to "
            f"{escape(found.periods[-1])}, for {found.count:,} areas. This page maps one period, "
            "or the sum of all."]
    if chosen == SUM:
        left = [f"{name} ({why})" for name, why in found.left_out.items()]
        parts = [f"{what}: {', '.join(names)}" for what, names in (
            ("added up", found.summed), ("averaged over periods", found.averaged),
            ("kept, as the same in every period", found.kept), ("left out", left)) if names]
        said.append(f"Columns {escape('; '.join(parts))}.")
        if found.incomplete:
            said.append(f"{_areas(found.incomplete)} without a row in every period left out.")
        said += [f"<b>{escape(name)}</b> is missing for some period in {_areas(count)}, for which "
                 f"it has no {'sum' if name in found.summed else 'average'}."
                 for name, count in found.without.items()]
    join = next(key for key in files.table.keys if key[0] == found.areas)
    named = "" if join[0] == join[1] else f" --id {_quoted(join[1])}"
    command = (f"workbench disaggregate --polygons {_quoted(files.polygons.name)}{named} "
               f"--totals {_quoted(found.file)} --join {_quoted(join[0])} "
               f"--time {_quoted(found.column)} --value COLUMN --covariates cover.tif "
               "--weight people.tif --out map.nc")
    said.append(f"All periods in one model, from the shell: "
                f"<code style='font-size: 12px'>{escape(command)}</code>")
    return f"<div role='note' style='{LOOK}'>{' '.join(said)}</div>"


def _areas(count: int) -> str:
    return f"{count:,} area{'s' if count > 1 else ''}"


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name
