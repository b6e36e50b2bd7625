"""Every sentence that the app shows, so that words can be read in one place."""

from __future__ import annotations

from workbench.ui.base.fitted import EVIDENCE
from workbench.ui.base.messages import STOPPED, plainly, signed
from workbench.ui.mediated.model import INDUCING, NAMES

TITLE = "Mediated: fine maps where covariates and targets belong to different areas"
ABOUT = ("Some blocks report their mean temperature, others only covariates of their pixels; the "
         "mediator, a field known for every block, says which are alike, and from all three the "
         "model draws one fine map.")
LEARN = "Fit hyperparameters (moves the sliders)"
LEARN_NOTE = ("Learns ℓ and λ of the mediators by leaving out bags, then k and the noise by the "
              "evidence of the targets, which may be less than under another ℓ and λ.")
FULL = "Full resolution"
LOADING, LEARNING = "preparing bags and targets", "fitting hyperparameters"
WHOLE = "predicting at full resolution"
WAITING = "Bags and targets are being prepared."
FORGET = "Clear this table"
UNKNOWN = "#88888855"

MAPS = {
    "target": "Data: means of the target blocks",
    "mean": "Estimate: posterior mean",
    "truth": "Truth (held out)",
    "covariate": "Bags:",
    "mediator": "Mediator:",
    "width": "95 % interval width",
    "error": "Squared error",
}
MAPS_NOTE = (
    "Grey: not observed. Data, estimate and truth share one colour scale, the same for every "
    "model; the scales of width and error are fixed, too. Zoom and pan are linked; point at a "
    "pixel for all its values.")
CALIBRATION = "Calibration"
CALIBRATION_NOTE = ("Calibration: on the diagonal, coverage is as stated; below it intervals are "
                    "too narrow.")
CURVES = "Similarity over distance"
SCORES = "Models compared"
SCORES_NOTE = ("One row for each model and data set, as last computed; the current one in bold, "
               "those of other data pale. Scores need the truth. Log evidence does not, but "
               "compares only models of the same observations: imputed values differ.")
HEADS = ("model", "blocks", "targets", "pixels", "lengthscale of k", "RMSE (K)", "MAE (K)",
         "correlation", "SSIM", "95 % coverage", "log evidence")
MORE, FEWER = "Advanced", "Hide advanced"
COVERED_WELL = 0.05     # that the coverage of 95 % intervals may be off
UNKNOWN_HERE = "not observed here"


def quantity(value: float, unit: str) -> str:
    """A number with its unit, degrees as a sign."""
    return f"{value:,g}°" if unit == "degree" else f"{value:,g} {unit}"


def setting(bags: int, targets: int, matched: bool, block: str, pixels: int, pixel: str) -> str:
    """Bags and targets in numbers."""
    what = (f"{bags} blocks of {block} are both bags and targets" if matched else
            f"{bags} bags report covariates, {targets} other blocks of {block} report temperature")
    return f"{what}; predictions at {pixels:,} pixels of {pixel}."


def scored(kind: str, rmse: float, coverage: float | None, baseline: float, matched: bool) -> str:
    """The answer in numbers, beside interpolation."""
    covered = "; no intervals" if coverage is None else (
        f"; 95 % intervals cover {100 * coverage:.0f} % of the truth")
    beside = "" if kind == "bilinear" else (
        f", interpolation {baseline:.3g} K" + (
            "" if matched else " (which also sees the covariates of the targets)"))
    return f"{NAMES[kind]}: RMSE {rmse:.3g} K{beside}{covered}."


def verdict(rmse: float, coverage: float | None, baseline: float) -> tuple[str, str]:
    """Whether the map is better than interpolation and its intervals are right, and a colour.

    Parameters
    ----------
    rmse, baseline : float
        Of the model and of interpolation, against the truth.
    coverage : float or None
        Of 95 % intervals; None where there are none.
    """
    if coverage is None:
        return "baseline: no intervals", "default"
    change = f"{abs(100 * (1 - rmse / baseline)):.0f} %"
    if rmse >= baseline:
        return f"interpolation beats this model, whose error is {change} larger", "error"
    doubted = f"better than interpolation, with doubts: error {change} smaller, but intervals too"
    if coverage < 0.95 - COVERED_WELL:
        return f"{doubted} narrow", "warning"
    if coverage > 0.95 + COVERED_WELL * 0.8:
        return f"{doubted} wide", "warning"
    return f"beats interpolation: error {change} smaller, 95 % intervals cover as stated", "success"


def seen(kind: str, matched: bool, weights, spacing: str, slope: str) -> str:
    """What the present setting shows."""
    imputed = "" if matched else (
        "Values of the bags were first imputed from the targets by a regression on the mediators, "
        "and are treated as exact. ")
    if kind == "bilinear":
        more = "" if matched else " Unlike the models, it sees covariates of the observed blocks."
        return f"Interpolation between blocks, corrected by {slope}; no uncertainty.{more}"
    if kind == "aggregated-gp":
        return imputed + "The covariance of two bags is the mean of k over pairs of their pixels."
    if kind == "gpr":
        return imputed + "Every bag is one point at its centroid, with its mean covariates."
    if kind == "bagg-gp":
        return imputed + ("Bags share no information: pixels outside bags with a value keep "
                          "the prior, and the borders of bags show.")
    more = {"s-cmp": " All bags have the same size, so that S-CMP and CMP coincide.",
            "var-cmp": f" Each term of k has {INDUCING} inducing inputs, which smooths detail "
                       "finer than their spacing; the evidence is a lower bound."}
    return _mediated(matched, weights, spacing) + more.get(kind, "")


def _mediated(matched: bool, weights, spacing: str) -> str:
    if weights.total < 0.3 and matched:
        return "λ is so large that the map is close to the prior."
    if weights.total < 0.3:
        return (f"No bag is similar to any target: the lengthscales of ℓ are short relative to the "
                f"spacing of bags ({spacing}), or λ is large. Bags share no information, and "
                "unmatched targets are explained as noise, or distort the map.")
    count = max(1, round(weights.partners))
    if matched and weights.own > 0.9:
        return ("Each target uses its own bag alone: the lengthscales of ℓ are short relative to "
                f"the spacing of bags ({spacing}), and CMP equals the aggregated GP.")
    if matched:
        return (f"Each target borrows strength from ~{count} similar bags, its own with "
                f"{100 * weights.own:.0f} % of the weight: mediation smooths matched data.")
    return (f"Each target borrows strength from ~{count} similar bag{'' if count == 1 else 's'}; "
            "detail inside blocks comes from the covariates through k.")


def ratio(value: float) -> str:
    """k's lengthscale in blocks: a number that judges nothing."""
    return f"Lengthscale of k: {value:.2g} blocks."


def cost(milliseconds: float, evaluations: int, kind: str) -> str:
    """How long the last answer took on the server, and how good the numbers are."""
    how = {"bilinear": "interpolated", "var-cmp": f"{INDUCING} inducing inputs"}.get(kind, "exact")
    took = (f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s")
    if kind == "bilinear":
        return f"{how} · {took}"
    new = (f"{evaluations / 1e6:.1f} million" if evaluations >= 1e5 else
           f"{evaluations:,}" if evaluations else "no new")
    return f"{how} · {took} · {new} kernel evaluations"


def learnt(values: dict, shown: dict, units: dict, cancelled: bool, beyond: list[str]) -> str:
    """Fitted hyperparameters, and which values lie beyond the ends of their sliders.

    Parameters
    ----------
    values, shown : dict of str to float
        Of the fit, and of the map: of the sliders, with their evidence where it is known.
    units : dict of str to str
    cancelled : bool
    beyond : list of str
    """
    names = {"lengthscale": "lengthscale of k", "spread": "prior sd over place",
             "detail": "lengthscale over covariates",
             "detail_spread": "prior sd over covariates", "noise": "noise", "far": "ℓ over places",
             "near": "ℓ over the mediator", "share_of_place": "share of place", "ridge": "λ"}
    told = ", ".join(
        f"{names[name]} {plainly(values[name])} ({plainly(shown[name])}) {units.get(name, '')}"
        .strip() for name in names if name in values)
    its_own = f" ({signed(shown[EVIDENCE], '.1f')})" if EVIDENCE in shown else ""
    ends = "" if not beyond else (
        f" Beyond the range of the slider: "
        f"{', '.join(names[name] for name in beyond)}; the targets hardly identify "
        f"{'it' if len(beyond) == 1 else 'them'}, and the map is that of the end of the slider.")
    return (f"Fitted to the targets: {told}; log evidence "
            f"{signed(values[EVIDENCE], '.1f')}{its_own}. Shown, scored and exported: the nearest "
            f"stops of the sliders, in brackets.{ends}{STOPPED if cancelled else ''}")
