"""Every sentence that the app shows, so that words can be read in one place."""

from __future__ import annotations

from workbench.evaluation.evidence import NARROW, TOO_NARROW
from workbench.ui.base.messages import signed
from workbench.ui.base.state import short

TITLE = "Sources: one quantity, several observers"
ABOUT = {
    "line": "Every source observes one function f on a support of its own, as points or as means "
            "of points, with noise and bias of its own. How far can each of them be trusted?",
    "city": "Synthetic NO₂ over a city. Stations observe single places every hour of the first "
            "half; the satellite reports biased means of cells in both halves. The truth is known "
            "everywhere.",
}
WORK = {"learnt": "fitting hyperparameters", "estimate": "estimating composite weights",
        "experts": "fitting the mixture of deep GPs", "city": "simulating the city",
        "fit": "fitting", "hour": "predicting the map of this hour"}
ADD, REMOVE, NEW_DRAW = "Add a source", "Remove source", "New draw of the noise"
LINE_TITLE = "The function, the observations of each source, and posteriors (bands: 95 % intervals)"
LINE_SHORT = "Sources of one function on a line"
STRIP_TITLE = "Support of each source: drag a bar to move it, its ends to resize it"
DRAW_NOTE = "Drag in the plot to draw the function."
NAMES = {"alone": "source 1 alone", "product": "product likelihood",
         "composite": "composite likelihood", "experts": "mixture of deep GPs (MR-DGP)"}
CURVE_TITLE = "Posterior variance by composite weight"
CURVE_NOTE = ("Mean posterior variance of f where source 1 observes, relative to source 1 alone, "
              "by composite weight φ (φ = 1 is the product likelihood). Below 1 is justified only "
              "if the other sources are independent of source 1 and unbiased. Click to choose φ.")
EXPERTS_TITLE = ("Mixture of deep GPs (MR-DGP): every other source is mapped to source 1, and the "
                 "experts are mixed (band: 95 % intervals)")
WEIGHTS_TITLE = "Weights of the experts"
EXPERTS_OFF = ("Switch on “Fit deep GPs too (MR-DGP)” in the sidebar for deep GPs from every "
               "source to source 1.")
HEADS = ("posterior", "mean variance relative to source 1 alone", "RMSE of f", "95 % coverage")
TABLE_NOTE = ("Variance: where source 1 observes. RMSE and coverage: of f, wherever some source "
              "observes.")
MAP_TITLES = {"mean": "Prediction: posterior mean of NO₂ (µg/m³)",
              "width": "Width of 95 % prediction intervals (µg/m³, log)",
              "error": "Error: posterior mean − truth (µg/m³)",
              "satellite": "Satellite: NO₂ as reported (µg/m³)"}
TRUTH_TITLE = "Truth: NO₂ (µg/m³)"
MAP_NOTE = ("Main roads (white, width by traffic), river (blue), parks (dashed). Dots are "
            "stations, coloured by their reading, hollow where it is missing; click one for its "
            "time series. Prediction, truth and satellite share one colour scale, the same for "
            "every model and hour.")
SERIES_NOTE = ("Left half: training data of the stations (full dots). Right half, shaded: held out "
               "(hollow dots); there only the satellite observes, at the ticks along the bottom. "
               "Click to choose the hour.")
CALIBRATION = "Calibration of prediction intervals"
CALIBRATION_NOTE = ("On the diagonal, coverage is as stated; below it intervals are too narrow, "
                    "above it too wide. Pixels are compared with the truth, which has no noise.")
HELD_OUT, PIXELS = "readings, held out", "pixels, this hour"
CITY_HEADS = ("model", "sources", "cells", "kernel", "lengthscale over place",
              "RMSE, held-out half (µg/m³)", "95 % coverage", "RMSE of this hour's map (µg/m³)",
              "fit")
CITY_NOTE = ("Held out: all stations in the second half. RMSE is against the noise-free truth; "
             "coverage is of the readings, by prediction intervals. One row for each model "
             "fitted to this city, the current one in bold. Few inducing inputs keep fits short.")
MODELS = {"product": "One GP, product likelihood (MR-GP)",
          "composite": "One GP, composite likelihood (MR-GP)",
          "centre": "GP regression network on cell centres (centre-point GPRN)",
          "gprn": "GP regression network (MR-GPRN)", "dgp": "Mixture of deep GPs (MR-DGP)"}
PLAY, PAUSE = "Play the hours", "Pause"
TOO_MUCH = 0.985        # coverage of 95 % intervals that are wider than stated


def line_headline(scores: dict, weight: float, estimate) -> str:
    """What the line shows, in numbers."""
    product, composite = scores["product"], scores["composite"]
    told = (f"With the product likelihood the posterior variance is {product.variance:.2f} times "
            f"that of source 1 alone; 95 % intervals cover {100 * product.coverage:.0f} % of f. "
            f"With the composite likelihood at weight {weight:g} it is {composite.variance:.2f} "
            f"times, and they cover {100 * composite.coverage:.0f} %.")
    if estimate is not None:
        told += (f" Estimated weights: Ribatet {estimate.ribatet:.2f}, Lyddon "
                 f"{estimate.lyddon:.2f}.")
    return told


def verdict(scores: dict, copies: bool, biased: bool) -> tuple[str, str]:
    """What is the matter with the product, and a colour for it."""
    covered = scores["product"].coverage
    if covered >= 0.88:
        return f"product likelihood: 95 % intervals cover {100 * covered:.0f} %", "success"
    why = " and ".join(["a source is biased"] * biased + ["a source copies noise"] * copies)
    return f"product likelihood is overconfident{f': {why}' if why else ''}", "error"


def cost(milliseconds: float) -> str:
    """How long the last answer took on the server."""
    return f"exact · {milliseconds:.0f} ms"


def learnt(model, objective: float, noise: bool) -> str:
    """Hyperparameters in words."""
    told = (f"Fitted (product likelihood): lengthscale {model.lengthscale:.3g}, sd "
            f"{model.variance**0.5:.3g}, mean {signed(model.mean, '.3g')}")
    if noise:
        told += ", noise of an observation " + ", ".join(
            f"{value:.2g} (source {k})" for k, value in enumerate(model.noise, 1))
    return f"{told}; objective {signed(objective, '.1f')}."


def mark(name: str, value: float | None, low: float, high: float) -> str:
    """What a button that takes an estimate says."""
    if value is None or value != value:
        return f"{name}: …"
    beyond = "" if low <= value <= high else " (beyond the slider)"
    return f"Use {name}'s {value:.2f}{beyond}"


def observer(k: int, design, chosen: bool) -> str:
    """One source in a few words."""
    what = "points" if design.size == 1 else f"means of {design.size}"
    bias = f", shows {design.scale:g} f{signed(design.offset, '+g')}" if design.offset else (
        f", shows {design.scale:g} f")
    bias = bias if design.biased else ""
    copied = f", {100 * design.copied:.0f} % copied noise" if design.copied else ""
    return f"{'▸ ' if chosen else ''}Source {k}: {what}{bias}{copied}"


def city_headline(name: str, seen: str, fitted, hour: str) -> str:
    """What the city shows, in numbers."""
    return (f"{name}, fitted to {seen}: at the stations in the held-out half RMSE "
            f"{fitted.rmse:.1f} µg/m³ (each station's own mean: {fitted.data.own_means:.1f}); 95 % "
            f"intervals cover {100 * fitted.coverage:.0f} % of the readings. Map: {hour}.")


def city_verdict(fitted) -> tuple[str, str]:
    """Whether the fit beats the stations' means and its intervals are as stated, and a colour."""
    ended = ("Cancelled: best state so far, not converged" if fitted.cancelled else
             "Converged" if fitted.converged else "Not converged")
    covered = f"{100 * fitted.coverage:.0f} % at 95 %"
    if fitted.rmse >= fitted.data.own_means:
        return f"{ended}; each station's own mean predicts better", "error"
    if fitted.coverage < TOO_NARROW:
        return f"{ended}; do not rely on its intervals: {covered}", "error"
    if fitted.coverage < NARROW:
        return f"{ended}; intervals too narrow: {covered}", "warning"
    if fitted.coverage > TOO_MUCH:
        return f"{ended}; intervals too wide: {covered}", "warning"
    if ended != "Converged":
        return ended, "warning"
    return f"Converged; intervals cover {covered}", "success"


def city_intervals(fitted) -> str:
    """What intervals are of, how narrow they would be without noise, and what to do then."""
    told = (f"Intervals are prediction intervals of a reading: they include the fitted noise, sd "
            f"{fitted.later_noise:.1f} µg/m³, which also stands for detail finer than the model "
            f"resolves. Intervals of the field alone cover {100 * fitted.field_coverage:.0f} % of "
            "the truth.")
    if fitted.coverage >= NARROW:
        return told
    return (f"{told} Here both are too narrow: the model extrapolates in time from the first half, "
            "which does not show how different the second is. Take the RMSE, not the intervals, as "
            "the error to expect.")


def learnt_in(fitted) -> str:
    """Whether a fit came to an end, and how long it took."""
    how = "cancelled" if fitted.cancelled else "converged" if fitted.converged else "not converged"
    return f"{how}, {'stored' if fitted.stored else f'{fitted.seconds:.0f} s'}"


def last_source(name: str) -> str:
    """Why a source cannot be switched off."""
    other = "satellite" if name == "stations" else "stations"
    return (f"A model needs at least one source: switch on the {other} before you switch off the "
            f"{name}")


def bad_drawing(text: str) -> str:
    """A drawn function in the URL that cannot be."""
    return f"drawn={short(text)} (expected 25 numbers from -2 to 7; the previous function kept)"


def bad_sources(text: str) -> str:
    """Sources in the URL that cannot be."""
    return f"sources={short(text)} (no valid sources inside the line; the previous ones kept)"


def no_source(text: str, count: int) -> str:
    """A chosen source in the URL that is not there."""
    return f"chosen={short(text)} (there are {count}; the first is used)"


def clock(hour: int) -> str:
    """An hour since midnight of the first day, as a date."""
    return f"{19 + hour // 24} February, {hour % 24:02d}:00"
