"""Every sentence that the app shows, so that words can be read in one place."""

from __future__ import annotations

from workbench.ui.base.fitted import EVIDENCE
from workbench.ui.base.messages import signed
from workbench.ui.base.state import short
from workbench.ui.granularity.observed import OBSERVED

TITLE = "Granularity: how coarse may summaries be?"
ABOUT = ("One model sees all points, the other a mean and a count for each cell: do their "
         "posteriors agree?")
COMPLETE, SUMMARY, TRUTH = "complete data", "summaries", "truth"
LEARN, NEW_DRAW = "Fit hyperparameters (moves the sliders)", "New draw of the noise"
LEARN_NOTE = "Maximises the evidence of the summaries."
LINE_NOTE = (
    "A cell is a bar over its interval, at its mean, ± one standard error. Drag a triangle to move "
    "a boundary; click a cell to choose it."
)
TOO_MANY = "Boundaries can be moved by hand, and cells chosen, up to 64 cells."
KERNEL_NOTE = "Within the shaded cell, correlation should hardly fall."
STRIP_NOTE = "Within a cell, correlation should hardly fall; a strip is far longer than shaded."
BARS = {"difference": "difference of {}", "sd": "posterior sd of {}"}
MAP_NOTES = {
    "difference": "Zoom and pan are linked. The difference is what is lost by seeing only the "
                  "summaries.",
    "sd": "Dark: little uncertainty is left. The sd depends on where cells are, not on what they "
          "average away.",
    "draws": "Draws from the posterior, each turning slowly into the next, with no refit: "
             "what does not move is known. Click to pause.",
    "truth": "Detail shorter than the cells resolve cannot be recovered.",
}
SQUARES, STRIPS = "squares", "strips"
BY_SHAPE = {SQUARES: "squares", STRIPS: "strips", "voronoi": "Voronoi cells"}
SIDE, SIDE_OF_SQUARES = "Cell side", "Side of as many squares"
ASK = "How far from the truth is the map from summaries, compared with complete data?"
REVEAL, HIDE = "Reveal the truth", "Hide the truth"
NOT_GUESSED = "reveal=yes needs a guess (guess=hardly, twice or further); the truth stays hidden"
HIDDEN = "Guess, then reveal the truth, to see errors and coverage."
HIDDEN_NOTE = "Shown once the truth is revealed: choose Truth above the last map, and guess."
LECTURE, LEAVE_LECTURE = "Lecture mode (L)", "Leave lecture mode (Esc)"
MOVED_ON = "The controls no longer match this step."
PLANE_NOTE = "Click to go there."
CURVE_NOTE = ("η and η', in units of the prior sd, are known before any data are seen and bound "
              "the error up to a constant; the certificate η' is the sharper one.")
CALIBRATION_NOTE = (
    "On the diagonal, coverage is as stated; below it intervals are too narrow. In one data "
    "set neighbours are right or wrong together.")
DRAWS_NOTE = " Try new draws."
HELD_OUT_NOTE = " No truth is known here: held-out outputs, with their noise, stand in."
UPDATING, PLANE, THEORY = "updating", "computing the plane of errors", "computing the bounds"
LEARNING = "fitting hyperparameters"
HARDLY = 1.25           # times as far from the truth as complete data
NEARLY = 2.0            # times the tolerance, up to which an error is not yet red



def bar(shown: str, quantity: str) -> str:
    """Title of the colour bar of the last map.

    Parameters
    ----------
    shown : str
        What the map shows.
    quantity : str
        What is mapped, with its unit.

    Examples
    --------
    >>> bar("sd", "value"), bar("truth", "value")
    ('posterior sd of value', 'value')
    """
    return BARS.get(shown, "{}").format(quantity)

def count(number: int, one: str) -> str:
    """A number of things."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def calibration(known: bool) -> str:
    """Title of the chart of calibration."""
    return f"Calibration against {'the truth' if known else 'held-out outputs'}"


def ratio(lengthscale: float, size: float, shape: str = SQUARES,
          strip: tuple[float, float] = (1.0, 1.0)) -> str:
    """The lengthscale against the cells: numbers that judge nothing.

    Parameters
    ----------
    lengthscale, size : float
        The second of the cells, or of as many squares.
    shape : str
    strip : (float, float)
        Width and length of a strip, which are far from those of a square.

    Examples
    --------
    >>> ratio(1.0, 1.6)
    'lengthscale = 0.62 × cell size'
    >>> ratio(1.0, 1.6, "strips", (0.2, 10.0))
    'lengthscale = 5 × width, 0.1 × length of a strip'
    """
    if shape == STRIPS:
        wide, long = strip
        return f"lengthscale = {lengthscale / wide:.2g} × width, {lengthscale / long:.2g} × " \
               "length of a strip"
    return f"lengthscale = {lengthscale / size:.2g} × {size_of(shape).lower()}"


def shaded(shape: str, unit: str) -> str:
    """Label of the axis of distances, over which a size of the cells is shaded."""
    what = {SQUARES: "one cell", STRIPS: "strip width"}.get(shape, "one square")
    return f"distance ({unit}); shaded: {what}"


def size_of(shape: str) -> str:
    """What the size of cells of a shape is the size of."""
    return "Cell size" if shape == SQUARES else SIDE_OF_SQUARES


def verdict(error: float | None, tolerance: float) -> tuple[str, str]:
    """What the measured error is against the tolerance, and a colour for it."""
    if error is None:
        return "computing the error of summaries", "default"
    if error <= tolerance:
        return f"fine enough: error {error:.3f}, tolerance {tolerance:g} sd", "success"
    times = error / tolerance
    return (f"too coarse: error {error:.3f}, {times:.2g} × the tolerance of {tolerance:g} sd",
            "warning" if times <= NEARLY else "error")


def headline(cells: int, points: int, size: float, unit: str, error: float | None,
             against: tuple, covered: tuple | None, tolerance: float, known: bool,
             equal: bool = True, hidden: bool = False, shape: str = SQUARES,
             brief: bool = False, wide: float = 0.0) -> str:
    """The setting in numbers; `wide` is the width of strips."""
    what, mean = "truth" if known else "held-out outputs", "" if equal else " on average"
    sized = f" of {size:.3g} {unit}{mean}"
    if brief:
        kind = "cell" if shape == SQUARES else BY_SHAPE[shape].removesuffix("s")
        return (f"{count(cells, kind)}{sized if shape == SQUARES else ''} instead of "
                f"{count(points, 'point')}.")
    if shape != SQUARES:
        own = f" {wide:.3g} {unit} wide" if shape == STRIPS else ""
        sized = f" ({BY_SHAPE[shape]}{own}, as many as squares{sized})"
    parts = [f"{count(cells, 'cell')}{sized} instead of {count(points, 'point')}."]
    if error is not None:
        judged = "within" if error <= tolerance else "beyond"
        parts.append(f"Summaries differ from complete data by {error:.3f} of the data's sd, "
                     f"{judged} the tolerance of {tolerance:g}.")
    if hidden:
        return " ".join([*parts, HIDDEN])
    if error is not None:
        parts.append(f"Error against the {what}: complete {against[0]:.3f}, "
                     f"summaries {against[1]:.3f}.")
    if covered is not None:
        parts.append(f"90 % intervals cover {100 * covered[0]:.0f} % (complete) and "
                     f"{100 * covered[1]:.0f} % (summaries) of the {what}.")
    return " ".join(parts)


def axes(unit: str) -> tuple[str, str]:
    """Labels of a map's axes."""
    east, north = ("longitude", "latitude") if unit == "degrees" else ("east", "north")
    return f"{east} ({unit})", f"{north} ({unit})"


def maps(show: str, lengthscale: float, second: float | None, unit: str) -> dict[str, str]:
    """Titles of the maps."""
    names = {"cells": "Cells: all that is observed", "summary": "Posterior mean, summaries",
             "complete": "Posterior mean, complete data"}
    last = {"difference": "Summaries − complete data", "sd": "Posterior sd, summaries",
            "draws": "Posterior draws, moving", "truth": "The truth"}
    if second is not None:
        names |= {"summary": f"A: lengthscale {lengthscale:.3g} {unit}",
                  "complete": f"B: lengthscale {second:.3g} {unit}"}
        last |= {"difference": "B − A", "sd": "sd under A", "draws": "Draws under A, moving"}
    return names | {"last": last[show]}


def shapes(errors: dict[str, float], chosen: str) -> str:
    """The error by shape of the cells."""
    told = ", ".join(f"{BY_SHAPE[name]} {error:.3f}" + (" (shown)" if name == chosen else "")
                     for name, error in errors.items())
    return f"Error by shape of as many cells: {told}."


def clinic(first: tuple, second: tuple, unit: str, hidden: bool) -> str:
    """Two lengthscales on the same summaries.

    Parameters
    ----------
    first, second : (lengthscale, evidence, error, coverage or None)
    unit : str
    hidden : bool
        Whether error and coverage are not to be shown yet.
    """
    told = []
    for name, (length, evidence, error, covered) in (("A", first), ("B", second)):
        text = f"{name}: lengthscale {length:.3g} {unit}, log evidence {signed(evidence, '.1f')}"
        if not hidden:
            text += f", error {error:.3f}"
            text += "" if covered is None else f", 90 % intervals cover {100 * covered:.0f} %"
        told.append(text)
    better = "A" if first[1] >= second[1] else "B"
    by = abs(first[1] - second[1])
    return (f"{told[0]}. {told[1]}. The summaries are more probable under {better}, by "
            f"{by:.1f} in log evidence.")


def further(guess: str, guesses: dict, against: tuple) -> str:
    """The guess, and how much further from the truth summaries are than complete data."""
    times = against[1] / against[0]
    right = "hardly" if times < HARDLY else "twice" if times <= 2 else "further"
    said = next((label for label, name in guesses.items() if name == guess), "nothing")
    return (f"You said: {said}. {'Right' if guess == right else 'Not quite'}: complete data are "
            f"{against[0]:.2f} sd from the truth, summaries {against[1]:.2f}, {times:.1f} times as "
            "far.")


def advice(size: float, lengthscale: float, tolerance: float, unit: str, longest: float,
           shape: str = SQUARES) -> str:
    """What the adviser says of a lengthscale; it knows of squares alone."""
    which, now = ("cells", "now") if shape == SQUARES else ("squares", "as many as now:")
    return (f"Before any data: for lengthscale {lengthscale:g} {unit} and tolerance "
            f"{tolerance:g} of the prior sd, {which} up to {longest:.2g} {unit} are fine enough "
            f"({now} {size:.2g}).")


def tick(milliseconds: float, evaluations: int, likelihood: str) -> str:
    """How long the last event took on the server, and how good the numbers are."""
    return f"{OBSERVED[likelihood].how} · {milliseconds:.0f} ms · {count(evaluations, 'posterior')}"


def learnt(found: dict[str, float], shown: dict[str, float], unit: str) -> str:
    """Fitted hyperparameters, and those at which all is computed that is shown.

    Parameters
    ----------
    found, shown : dict of str to float
        By name; `found` with the evidence of the fit, `shown` of the sliders.
    unit : str
        Of the lengthscale.
    """
    def told(values: dict[str, float]) -> str:
        noisy = f", noise {values['noise']:.3g}" if "noise" in found else ""
        return (f"lengthscale {values['lengthscale']:.3g} {unit}, variance "
                f"{values['variance']:.3g}{noisy}")

    return (f"Fitted to the summaries: {told(found)}; log evidence "
            f"{signed(found[EVIDENCE], '.1f')}. Shown and exported: the nearest stops of the "
            f"sliders, {told(shown)}.")


def chosen(cell: int, left: float, right: float, mean: float | None, number: int) -> str:
    """The chosen cell."""
    inside = "no points" if mean is None else (
        f"mean {signed(mean, '.2f')} of {count(number, 'point')}")
    return f"Cell {cell + 1}: {left:.2f} to {right:.2f} rad, {inside}."


def no_cell(text: str, cells: int) -> str:
    """A chosen cell that is not there."""
    return f"cell={short(text)} (0 to {cells - 1}, or -1 for none; none chosen)"


def bad_edges(text: str) -> str:
    """Boundaries in the URL that cannot be."""
    return f"edges={short(text)} (boundaries must increase; equal cells used)"
