"""Every sentence that the app shows, so that words can be read in one place."""

from __future__ import annotations

from workbench.ui.base.state import short

TITLE = "Sources: one quantity seen by several observers, some of them biased or copying"
ABOUT = {
    "line": "Every source observes one function f on a support of its own, as points or as means "
            "of points, with noise and bias of its own. How reliable is each of "
            "them?",
    "city": "NO₂ over a simulated city: stations know single places by the hour in the first half, "
            "the satellite reports biased means of 7 km cells in both. The truth is known "
            "everywhere.",
}
WORK = {"learnt": "learning hyperparameters", "estimate": "estimating composite weights",
        "experts": "learning MR-DGP", "city": "making the city", "fit": "learning",
        "hour": "mapping the hour"}
ADD, REMOVE, NEW_DRAW = "Add a source", "Remove it", "New draw of all noise"
LINE_TITLE = "The function, what sources show of it, and posteriors (bands: 95 %)"
STRIP_TITLE = "Where sources observe: drag a bar to move it, its ends to resize it"
DRAW_NOTE = "Drag in the plot to draw the function."
NAMES = {"alone": "source 1 alone", "product": "product likelihood",
         "composite": "composite likelihood", "experts": "MR-DGP"}
CURVE_TITLE = "Contract and recover"
CURVE_NOTE = ("Mean variance of f where source 1 observes, relative to the posterior from source 1 "
              "alone, by the composite weight φ (φ = 1: product). Below 1 is right only if the "
              "other sources are news and unbiased. Click to choose φ.")
EXPERTS_TITLE = "MR-DGP: every other source is mapped to source 1, and all are mixed (band: 95 %)"
WEIGHTS_TITLE = "Weights of the experts"
EXPERTS_OFF = ("Switch on “Learn MR-DGP too” in the sidebar for deep GPs from every source to "
               "the first.")
HEADS = ("posterior", "mean variance, relative to source 1 alone", "RMSE to f",
         "coverage of the 95 % band")
TABLE_NOTE = ("Variance where source 1 observes; RMSE and coverage of f wherever some source "
              "observes.")
MAP_TITLES = {"mean": "NO₂, predicted mean (µg/m³)",
              "width": "Width of the 95 % interval (µg/m³, log colours)",
              "error": "Error: predicted mean − truth (µg/m³)", "truth": "NO₂, truth (µg/m³)",
              "satellite": "NO₂ as the satellite shows it (µg/m³)"}
MAP_NOTE = ("Lines: main roads, thick where traffic is heavy, and parks (dashed); blue: river. "
            "Dots are stations, hollow where there is no reading in this hour, else in the colours "
            "of NO₂ as read, on maps of NO₂; click one for its series. All models and hours share "
            "one colour scale for each kind of map.")
SERIES_NOTE = ("Left half: stations train, full dots. Right half, shaded: held out, hollow dots; "
               "only the satellite still observes, at the ticks along the bottom. Click to choose "
               "the hour.")
CITY_HEADS = ("model", "sources", "RMSE, held-out half (µg/m³)", "coverage of the 95 % band",
              "RMSE of the map at this hour (µg/m³)", "learnt in")
CITY_NOTE = ("Held out are all stations in the second half, against the truth. One row for each "
             "model learnt on this city, the present one bold. Inducing inputs and steps are few, "
             "so that learning is quick: scores are those of such quick fits.")
MODELS = {"product": "MR-GP, product", "composite": "MR-GP, composite", "centre": "Centre-point",
          "gprn": "MR-GPRN", "dgp": "MR-DGP"}
PLAY, PAUSE = "Play", "Pause"


def line_headline(scores: dict, weight: float, estimate) -> str:
    """What the line shows, in numbers."""
    product, composite = scores["product"], scores["composite"]
    told = (f"The product of all likelihoods leaves {product.variance:.2f} of the variance that "
            f"source 1 alone leaves; its 95 % band covers {100 * product.coverage:.0f} % of f. "
            f"At weight {weight:g} the composite one leaves {composite.variance:.2f} and covers "
            f"{100 * composite.coverage:.0f} %.")
    if estimate is not None:
        told += (f" Estimated weights: Ribatet {estimate.ribatet:.2f}, Lyddon "
                 f"{estimate.lyddon:.2f}.")
    return told


def verdict(scores: dict, copies: bool, biased: bool) -> tuple[str, str]:
    """What is the matter with the product, and a colour for it."""
    covered = scores["product"].coverage
    if covered >= 0.88:
        return f"product: its band covers {100 * covered:.0f} %", "success"
    why = " and ".join(["a source is biased"] * biased + ["a source copies noise"] * copies)
    return f"product is too certain{f': {why}' if why else ''}", "error"


def cost(milliseconds: float) -> str:
    """How long the last answer took on the server."""
    return f"exact · {milliseconds:.0f} ms"


def learnt(model, objective: float, noise: bool) -> str:
    """Hyperparameters in words."""
    told = (f"Learnt (product likelihood): lengthscale {model.lengthscale:.3g}, sd "
            f"{model.variance**0.5:.3g}, mean {model.mean:.3g}")
    if noise:
        told += ", noise of an observation " + ", ".join(
            f"{value:.2g} (source {k})" for k, value in enumerate(model.noise, 1))
    return f"{told}; objective {objective:.1f}."


def mark(name: str, value: float | None, low: float, high: float) -> str:
    """What a button that takes an estimate says."""
    if value is None or value != value:
        return f"{name}: …"
    beyond = "" if low <= value <= high else " (beyond the slider)"
    return f"Use {name}'s {value:.2f}{beyond}"


def observer(k: int, design, chosen: bool) -> str:
    """One source in a few words."""
    what = "points" if design.size == 1 else f"means of {design.size}"
    bias = f", shows {design.scale:g} f{design.offset:+g}" if design.offset else (
        f", shows {design.scale:g} f")
    bias = bias if design.biased else ""
    copied = f", {100 * design.copied:.0f} % copied noise" if design.copied else ""
    return f"{'▸ ' if chosen else ''}Source {k}: {what}{bias}{copied}"


def city_headline(name: str, seen: str, rmse: float, coverage: float, hour: str) -> str:
    """What the city shows, in numbers."""
    return (f"{name} on {seen}: in the held-out half RMSE {rmse:.1f} µg/m³ at the stations, and "
            f"95 % bands cover {100 * coverage:.0f} % of the truth. The map is of {hour}.")


def learnt_in(seconds: float, stopped: bool, converged: bool) -> str:
    """How long learning took, and whether it came to an end."""
    how = "stopped early" if stopped else "" if converged else "out of steps"
    return f"{seconds:.0f} s{f', {how}' if how else ''}"


def bad_drawing(text: str) -> str:
    """A drawn function in the URL that cannot be."""
    return f"drawn={short(text)} (no 25 numbers from -2 to 7; the former function kept)"


def bad_sources(text: str) -> str:
    """Sources in the URL that cannot be."""
    return f"sources={short(text)} (no sources inside the line; the former kept)"


def no_source(text: str, count: int) -> str:
    """A chosen source in the URL that is not there."""
    return f"chosen={short(text)} (there are {count}; the first taken)"


def clock(hour: int) -> str:
    """An hour since midnight of the first day, as a date."""
    return f"{19 + hour // 24} February, {hour % 24:02d}:00"
