"""Every sentence that the app shows, so that words can be read in one place."""

from __future__ import annotations

from workbench.ui.base.messages import resolution
from workbench.ui.mediated.model import INDUCING, NAMES

TITLE = "Mediated: fine maps from bags and targets that do not lie together"
ABOUT = ("Some blocks report their covariates, others their mean temperature. A field that is "
         "known for all blocks, the mediator, says which are alike.")
LEARN, LEARN_NOTE = "Learn it", "Puts the sliders where the targets are most probable."
FITTED = "Hyperparameters fitted to the targets."
BY_HAND = "Preview, not fitted: hyperparameters are those of the sliders."
FULL = "Map in full"
LOADING, LEARNING, WHOLE = "preparing bags and targets", "learning", "map in full"
WAITING = "Bags and targets are being prepared."
FORGET = "Forget these rows"
UNKNOWN = "#88888855"

MAPS = {
    "target": "Targets: observed means",
    "covariate": "Bags:",
    "mediator": "Mediator:",
    "truth": "Truth, never seen",
    "mean": "Posterior mean",
    "width": "Width of the 95 % interval",
    "error": "Squared error",
}
MAPS_NOTE = (
    "Grey: not known there. Targets, posterior mean and truth share one colour scale, the same for "
    "every model; width and error have scales that stay, too. Zoom and pan are linked; pointing at "
    "a pixel shows all its values.")
CALIBRATION = "Calibration"
CALIBRATION_NOTE = ("On the diagonal, coverage is as stated; below it intervals are too "
                    "narrow.")
CURVES = "Which bags are similar?"
SCORES = "Models tried"
SCORES_NOTE = ("One row for each model on each set of bags and targets, as last seen; the present "
               "one is bold, those of other data are pale. Scores need the truth, log evidence "
               "does not, and can be compared between models of the same values alone: imputed "
               "values differ.")
HEADS = ("model", "blocks", "targets", "pixels", "lengthscale of k", "RMSE (K)", "MAE (K)",
         "correlation", "SSIM", "95 % coverage", "log evidence")
MORE, FEWER = "More settings", "Fewer settings"
COVERED_WELL = 0.05     # that the coverage of 95 % intervals may be off
UNKNOWN_HERE = "not known here"


def quantity(value: float, unit: str) -> str:
    """A number with its unit, degrees as a sign."""
    return f"{value:,g}°" if unit == "degree" else f"{value:,g} {unit}"


def setting(bags: int, targets: int, matched: bool, block: str, pixels: int, pixel: str) -> str:
    """Bags and targets in numbers."""
    what = (f"{bags} blocks of {block} are both bags and targets" if matched else
            f"{bags} bags report covariates, {targets} other blocks of {block} their temperature")
    return f"{what}; predicted are {pixels:,} pixels of {pixel}."


def scored(kind: str, rmse: float, coverage: float | None, baseline: float, matched: bool) -> str:
    """The answer in numbers, beside interpolation."""
    covered = "; it gives no intervals" if coverage is None else (
        f"; 95 % intervals cover {100 * coverage:.0f} % of the truth")
    beside = "" if kind == "bilinear" else (
        f", interpolation {baseline:.3g} K" + (
            "" if matched else " (which is told the targets' covariates, too)"))
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
        return "the baseline: no intervals", "default"
    change = f"{abs(100 * (1 - rmse / baseline)):.0f} %"
    if rmse >= baseline:
        return f"interpolation is better: this error is {change} larger", "error"
    better = f"error {change} below interpolation's"
    if coverage < 0.95 - COVERED_WELL:
        return f"{better}, but intervals are too narrow", "warning"
    if coverage > 0.95 + COVERED_WELL * 0.8:
        return f"{better}, but intervals are too wide", "warning"
    return f"{better}, intervals as stated", "success"


def seen(kind: str, matched: bool, weights, spacing: str, slope: str) -> str:
    """What the present setting shows."""
    imputed = "" if matched else (
        "Targets were first carried over to the bags by a regression on the mediators (imputed), "
        "as if known exactly. ")
    if kind == "bilinear":
        more = "" if matched else " It sees the covariates of the observed blocks, unlike models."
        return f"Interpolation between blocks, corrected by {slope}; no uncertainty.{more}"
    if kind == "aggregated-gp":
        return imputed + "Bags are related by the means of k over all their pairs of pixels."
    if kind == "gpr":
        return imputed + "Every bag is taken for one point at its mean place and covariates."
    if kind == "bagg-gp":
        return imputed + ("Bags share no information: pixels outside a valued bag keep "
                          "what was assumed, and borders show.")
    more = {"s-cmp": " All bags are of one size, so that S-CMP and CMP are the same.",
            "var-cmp": f" Each term of k is seen through {INDUCING} inducing inputs, which smooths "
                       "what is finer than they lie; the evidence is a lower bound."}
    return _mediated(matched, weights, spacing) + more.get(kind, "")


def _mediated(matched: bool, weights, spacing: str) -> str:
    if weights.total < 0.3 and matched:
        return ("λ is so large that little is left of what was observed: most of the map is what "
                "was assumed.")
    if weights.total < 0.3:
        return (f"No bag is like any target: the lengthscales of ℓ are short beside the spacing of "
                f"bags ({spacing}), or λ is large. Bags share no information, and unmatched "
                "targets cannot be used: what they show is put down to noise, or read into the "
                "map wrongly.")
    count = max(1, round(weights.partners))
    if matched and weights.own > 0.9:
        return ("Every target draws on its own bag alone: the lengthscales of ℓ are short beside "
                f"the spacing of bags ({spacing}), and CMP is the aggregated GP.")
    if matched:
        return (f"Every target draws on about {count} bags, its own with "
                f"{100 * weights.own:.0f} % of the weight: mediation smooths what was matched.")
    return (f"Every target draws on about {count} {'bag' if count == 1 else 'bags'} like it; "
            "detail inside blocks comes from covariates, by k.")


def ratio(value: float) -> str:
    """What k's lengthscale in blocks means."""
    return f"Lengthscale of k: {value:.2g} blocks, {resolution(value, 'blocks')[0]}."


def cost(milliseconds: float, evaluations: int, kind: str) -> str:
    """How long the last answer took on the server, and how good the numbers are."""
    how = {"bilinear": "interpolated", "var-cmp": f"{INDUCING} inducing inputs"}.get(kind, "exact")
    took = (f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s")
    if kind == "bilinear":
        return f"{how} · {took}"
    new = (f"{evaluations / 1e6:.1f} million" if evaluations >= 1e5 else
           f"{evaluations:,}" if evaluations else "no new")
    return f"{how} · {took} · {new} values of k"


def learnt(values: dict, units: dict, evidence: float, notes: bool, beyond: list[str]) -> str:
    """What was learnt from the targets, and which values lie beyond their sliders' ends."""
    names = {"lengthscale": "lengthscale of k", "spread": "sd by place", "detail": "of covariates",
             "detail_spread": "sd by covariates", "noise": "noise", "far": "ℓ over places",
             "near": "ℓ over the mediator", "share_of_place": "share of place", "ridge": "λ"}
    told = ", ".join(f"{names[name]} {values[name]:.3g} {units.get(name, '')}".strip()
                     for name in names if name in values)
    ends = "" if not beyond else (
        f" Beyond the end of the slider, which cannot follow: "
        f"{', '.join(names[name] for name in beyond)}; the targets hardly tell "
        f"{'it' if len(beyond) == 1 else 'them'}, and the map is that of the slider's end.")
    return (f"Learnt from the targets: {told}; log evidence with priors {evidence:.1f}. The "
            f"sliders are at the nearest stops.{ends}{' Stopped early.' if notes else ''}")
