"""Every sentence that the app shows, so that words can be read in one place."""

from __future__ import annotations

from workbench.ui.base.messages import resolution
from workbench.ui.base.state import short
from workbench.ui.granularity.observed import OBSERVED

TITLE = "Granularity: how coarse may summaries be?"
ABOUT = "One model sees all points, the other a mean and a count for each cell. Do they agree?"
COMPLETE, SUMMARY, TRUTH = "complete data", "summaries", "truth"
LEARN, NEW_DRAW = "Learn it", "New draw of the noise"
LEARN_NOTE = "Puts the sliders where the summaries are most probable."
LINE_NOTE = (
    "A cell is a bar over its interval, at its mean, ± one standard error. Drag a triangle to move "
    "a boundary; click a cell to choose it."
)
TOO_MANY = "Boundaries can be moved by hand, and cells chosen, up to 64 cells."
KERNEL_NOTE = "Within the shaded cell, the process should hardly change."
MAP_NOTE = ("Zoom and pan are linked. The difference is what is lost by seeing only the cells.")
PLANE_NOTE = "Click to go there."
CURVE_NOTE = ("η and η' are known before any data are seen, in prior sd, and bound the error up to "
              "a constant; the certificate η' is the sharper one.")
CALIBRATION_NOTE = (
    "On the diagonal, coverage is as stated; below it intervals are too narrow. In one data "
    "set neighbours are right or wrong together.")
DRAWS_NOTE = " Try new draws."
HELD_OUT_NOTE = " No truth is known here: held-out outputs, with their noise, stand in."
UPDATING, PLANE, THEORY = "updating", "plane: filling in", "theory: filling in"
LEARNING = "learning"
READY = "ready"


def count(number: int, one: str) -> str:
    """A number of things."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def calibration(known: bool) -> str:
    """Title of the chart of calibration."""
    return f"Calibration against {'the truth' if known else 'new outputs'}"


def ratio(value: float) -> tuple[str, str]:
    """The number that matters, and a colour for it."""
    verdict, colour = resolution(value, "the cells")
    return f"lengthscale = {value:.2g} cells: {verdict}", colour


def headline(cells: int, points: int, size: float, unit: str, error: float | None,
             against: tuple, covered: tuple | None, tolerance: float, known: bool,
             equal: bool = True) -> str:
    """The setting in numbers."""
    what, mean = "truth" if known else "held-out outputs", "" if equal else " on average"
    parts = [f"{count(cells, 'cell')} of {size:.3g} {unit}{mean} instead of "
             f"{count(points, 'point')}."]
    if error is not None:
        judged = "within" if error <= tolerance else "beyond"
        parts.append(f"Summaries differ from complete data by {error:.3f} of the data's sd, "
                     f"{judged} the tolerance of {tolerance:g}.")
        parts.append(f"Error against the {what}: complete {against[0]:.3f}, "
                     f"summaries {against[1]:.3f}.")
    if covered is not None:
        parts.append(f"90 % intervals cover {100 * covered[0]:.0f} % (complete) and "
                     f"{100 * covered[1]:.0f} % (summaries) of the {what}.")
    return " ".join(parts)


def advice(size: float, lengthscale: float, tolerance: float, unit: str, longest: float) -> str:
    """What the adviser says of a lengthscale."""
    return (f"Adviser, before any data: for lengthscale {lengthscale:g} {unit} and tolerance "
            f"{tolerance:g} of the prior sd, cells up to {longest:.2g} {unit} are fine enough "
            f"(now {size:.2g}).")


def tick(milliseconds: float, evaluations: int, likelihood: str) -> str:
    """How long the last event took on the server, and how good the numbers are."""
    return f"{OBSERVED[likelihood].how} · {milliseconds:.0f} ms · {count(evaluations, 'posterior')}"


def learnt(lengthscale: float, variance: float, noise: float | None, evidence: float,
           unit: str) -> str:
    """What was learnt from the summaries."""
    noisy = "" if noise is None else f", noise {noise:.3g}"
    return (f"Learnt from the summaries: lengthscale {lengthscale:.3g} {unit}, variance "
            f"{variance:.3g}{noisy}; log evidence {evidence:.1f}. The sliders are at the nearest "
            "stops.")


def chosen(cell: int, left: float, right: float, mean: float | None, number: int) -> str:
    """The chosen cell."""
    inside = "no points" if mean is None else f"mean {mean:.2f} of {count(number, 'point')}"
    return f"Cell {cell + 1}: {left:.2f} to {right:.2f} rad, {inside}."


def no_cell(text: str, cells: int) -> str:
    """A chosen cell that is not there."""
    return f"cell={short(text)} (0 to {cells - 1}, or -1 for none; none taken)"


def bad_edges(text: str) -> str:
    """Boundaries in the URL that cannot be."""
    return f"edges={short(text)} (no increasing boundaries; equal cells taken)"
