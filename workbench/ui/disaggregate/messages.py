"""Sentences that the disaggregation app shows, but for those of tests (`verdict_words`)."""

from workbench.evaluation.judgement_words import beyond
from workbench.ui.base.messages import plainly, sentence, signed
from workbench.ui.disaggregate.quantity import with_unit

TITLE = "Disaggregate: from totals of areas to a fine map"
ABOUT = (
    "The model sees one value per area, a total or a mean, and the population (weight) and "
    "covariates of the individuals inside it. It infers the rate of every individual, with its "
    "uncertainty."
)

MAPS = {
    "mean": ("Estimate (posterior mean)",
             "Look for detail inside areas: it comes from covariates and neighbours. Click a place "
             "to have it explained."),
    "known": ("Truth", "Compare with the estimate: same colours mean the same rate."),
    "observed": ("Observed areas", "All that the model sees: one value per area, totals as rates."),
    "std": ("Uncertainty (posterior sd)",
            "Bright is uncertain: where rates are high or areas are large."),
    "exceedance": ("Exceedance",
                   "Red: probably above the threshold; blue: probably below; pale: undecided."),
    "information": ("Information", ""),
    "components": ("Components", ""),
    "ranks": ("Among the highest areas", ""),
    "beyond": ("Extrapolation",
               "Bright: model inputs far outside the range of the area means, where no total tests "
               "the map."),
    "swiped": ("Estimate | population split",
               "Drag the divider or use the arrow keys: left of it the estimate, right of it each "
               "total split by population, on one colour scale."),
    "split": ("Estimate | population split", ""),     # one title, wherever the divider is
    "difference": ("Estimate − population split",
                   "Red: the estimate is higher than the split; blue: lower."),
}
NO_TRUTH = (
    "The truth is not known: the observed areas are shown instead. The simulated country and "
    "Korea show a map beside its truth."
)

CHARTS = {
    "coverage": "On the diagonal, coverage is as stated; below it intervals are too narrow.",
    "pit": "Flat within the band is calibrated; a valley means intervals too narrow, a hill too "
           "wide.",
    "training": "The line rises and levels off as the fit converges; where it restarts, another "
                "start or model begins. With many individuals it is computed on clusters of them, "
                "the diamond on all.",
    "scores": "Lower CRPS and RMSE are better; coverage should equal its level. A model has skill "
              "where its CRPS and RMSE for held-out areas or fine values are lower than those of "
              "simple maps. Dashed in the bars: one rate everywhere. For counts its area effects "
              "reproduce the totals it has seen, so its low in-sample scores show no skill.",
}


def reached(with_priors: float, objective: float, mixture: bool) -> str:
    """Where the training curve ends."""
    whose = "this model" if mixture else "the fit"
    steps = "The steps are those of the model with most weight. " if mixture else ""
    told = signed(with_priors, ".3f"), signed(objective, ".3f")
    bare = f"; without log priors {told[1]}" if told[0] != told[1] else ""
    return f"{steps}The diamond is {whose} on all individuals, {told[0]}{bare}."


IN_SAMPLE = (
    "In-sample: the model has seen the totals of these areas. This is not validation; for "
    "that, look at held-out areas or, where they are known, fine values."
)
SCORED = {
    "bag": "In-sample: areas whose totals the model has seen",
    "individual": "Fine values, which the model has not seen",
    "rate": "True rate, which the model has not seen",
}


def charted(what: str, count: int, target: str) -> str:
    """The title of a chart of calibration."""
    kind = {"bag": "areas", "individual": "fine values", "rate": "true rates"}
    return f"{what}, {count:,} {kind[target]}"

SCORES = "Scores"

KINDS = {
    "learnt": "hyperparameters learnt",
    "stopped": "cancelled: best state so far",
    "moved": "as fitted, except where sliders were moved",
    "start": "Preview, not fitted: hyperparameters at their starting values. Press Fit.",
    "stand-in": "Preview, not fitted: one model at its starting values. Press Fit.",
}
NO_CURVE = "Nothing learnt yet: press Fit."
OPENING = "opening the session"
READING = "reading the data"
MAKING = "No verdict yet: it comes with the fit."
MAKING_MAPS = "Maps and scores follow."
READ = "The chosen data are being read; until then the previous ones are shown, dimmed."
FORMER = "Previous: "
LET_GO = "Shown when the slider is released."
SUMMARY = "What was fitted: hyperparameters with units and priors"


NO_SUCH_FIT = "The fit in the address cannot be made"


def no_such_fit(reason: str) -> str:
    """A fit in the address that cannot be made."""
    return f"{NO_SUCH_FIT}: {reason}. This is a preview; press Fit."


UNEQUAL = 0.02          # relative difference of sums that is worth a sentence


def badge(exact: bool, kind: str, seconds: float, steps: int, area_effect: bool,
          models: int = 0) -> str:
    """How the maps were come by: exact or approximate, and how long what was done took.

    Examples
    --------
    >>> badge(False, "learnt", 12.3, 34, True)
    'approximate (variational) · 34 steps in 12.3 s · hyperparameters learnt'
    >>> badge(False, "learnt", 12.3, 34, True, 8)
    'approximate (variational) · 8 models fitted in 12.3 s · hyperparameters learnt'
    """
    how = "exact" if exact else "approximate (variational)"
    took = f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
    if steps:       # those of one model say nothing of the time of several
        took = f"{f'{models} models fitted' if models else f'{steps} steps'} in {took}"
    without = "" if area_effect else " · area effect left out"
    return f"{how} · {took} · {KINDS[kind]}{without}"


def individuals(count: int, pixels: int | None = None) -> str:
    """What a map is of: pixels where it has some, also as parts of pixels that areas share."""
    if pixels is None or pixels == count:
        return f"{count:,} individuals" if pixels is None else f"{count:,} pixels"
    return (f"{pixels:,} pixels ({count:,} individuals: each area has its own part of a pixel that "
            "areas share)")


def data_line(areas: int, individuals: str) -> str:
    """The data in one sentence, before there is a map."""
    return f"{areas:,} areas → {individuals}. No fine map yet."


def headline(areas: int, individuals: str, mean: float, low: float, high: float, sd: float,
             above: float, threshold: float, unit: str, noun: str = "rate") -> str:
    """The map in some sentences of numbers."""
    return (
        f"{areas:,} areas → {individuals}. Mean {noun} {with_unit(plainly(mean), unit)}; fine map "
        f"from {plainly(low)} to {plainly(high)} (1st to 99th percentile); typical sd "
        f"{plainly(sd)}; for {100 * above:.1f} % of the weight the {noun} is more likely than not "
        f"above {threshold:,g}."
    )


def adds_up(mapped: float, observed: float, area_effect: bool) -> str:
    """What the map adds up to, where that is not what the areas report."""
    if observed <= 0 or abs(mapped / observed - 1) < UNEQUAL:
        return ""
    why = "" if area_effect else (": the areas' own effects are left out of the map (Include area "
                                  "effect adds them)")
    return f" The map adds up to {mapped:,.0f}, the areas report {observed:,.0f}{why}."


PREVIEW = "Preview, not fitted. Press Fit: a verdict comes with the fit."
NO_SCORES_YET = "Calibration and scores of these data follow their map."
SCORING = "Verdict to follow: the map is being scored."
INFORMATION = (
    "Share of f's prior variance that the data removed: near 0 the fine detail is that of the "
    "prior, near 1 the data determine it."
)
WORKING_LAYER = "This map is being made."


def no_layer(why: str) -> str:
    """Why a model has no map of a kind."""
    return f"This model has no such map: {why}."


def components(base: float, link: str, adds_up: bool = True) -> str:
    """How summands make the rate."""
    how = {"exp": "the exponential of their sum is the rate",
           "square": "the square of their sum is the rate",
           "logit": "their sum is the log odds of the share",
           "probit": "their sum is the probit of the share"}.get(link, "their sum is the rate")
    counted = " Rate times exposure is the expected count." if adds_up else ""
    return (f"Components of f, which add up with the intercept {base:.3g}: {how}. Red adds, blue "
            f"subtracts.{counted}")


def ranks(top: int, areas: int) -> str:
    """What the map of ranks shows."""
    which = "the single highest" if top == 1 else f"the {top} highest"
    return (f"Probability of being among {which} of {areas} areas by rate: red near 1, blue near "
            "0. Hover for the rank (1 is the highest) with its 90 % interval.")


CHECKING = "Check of the data: under way"
SHOW_AREAS = "Show on the map"


def checked(summary: str) -> str:
    """What the check of the data found, in one line."""
    none = "0 errors, 0 warnings, 0 notes: "
    return f"Check of the data: {summary.rstrip('.').replace(none, 'no findings; ')}"


def refused(why: str) -> str:
    """Why nothing can be fitted."""
    return f"Nothing can be fitted: {why}"


def data_not_checked(why: str) -> str:
    """Why the data on the page could not be checked."""
    return f"Check of the data: not made, {why}"


def not_checked(why: str) -> str:
    """Why files could not be checked."""
    return f"These files could not be checked: {why}"


SUMMAND_AXIS = "component of f (90 % interval)"
INFLUENCE = "Most influential areas: how much f falls if one is left out"


def summands(link: str, there: bool) -> str:
    """How to read the bars of summands."""
    if not there:
        return "This model has no separate components."
    if link == "exp":
        return ("On the scale of the log rate: +0.7 doubles the rate, −0.7 halves it. Grey: 90 % "
                "intervals.")
    return "On the scale of the link. Grey: 90 % intervals."


def place_of(coordinates: list[tuple[str, float]], area: str) -> str:
    """Which place is explained."""
    where = ", ".join(f"{name} {plainly(value, 5)}" for name, value in coordinates)
    return f"{where or 'One place'}{f' in area {area}' if area else ''}"


LEARNING = "learning hyperparameters"


def stage(what: str, done: int, total: int, name: str) -> str:
    """Which part of a mixture's fit is under way; ``name`` is that of the model, if there is one.

    Examples
    --------
    >>> stage("fitting", 2, 8, "regression"), stage("weighing", 3, 20, "")
    ('fitting model 3 of 8: regression', 'testing the models: 3 of 20 done')
    """
    if what == "weighing":
        return f"testing the models: {done} of {total} done"
    return f"fitting model {done + 1} of {total}: {name}" if name else (
        f"{done} of {total} models fitted")


def left(seconds: float) -> str:
    """How long work will still take."""
    told = f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
    return f", about {told} left"


def lengthscale(term: str, value: float | list[float], unit: str) -> str:
    """The lengthscale of a term."""
    values = value if isinstance(value, list) else [value]
    shown = ", ".join(f"{float(f'{one:.3g}'):,g}" for one in values)
    return f"{term} lengthscale {shown} {unit}".strip()


EXPLORE = "Explore its best model"
MIXED = "Auto is a weighted mixture of models, so there is no single lengthscale to move."
NONE_ALONE = "No model in this mixture has a single lengthscale to move."
FIT_FIRST = "Press Fit; then its best model can be explored on its own."


def alone(name: str, weight: float, first: str, most: float) -> str:
    """Which model of a mixture can be explored on its own."""
    which = (f"The model with the highest weight is “{name}” ({100 * weight:.0f} %)"
             if name == first else
             f"Of the models with a lengthscale, “{name}” has the highest weight "
             f"({100 * weight:.0f} %; “{first}” has {100 * most:.0f} %, but no lengthscale)")
    return f"{which}. Explore it on its own, as already fitted; Undo returns to auto."


def candidate(name: str, weight: float, lengths: list[str]) -> str:
    """One model of a mixture."""
    inside = f" ({'; '.join(lengths)})" if lengths else ""
    return f"{100 * weight:.0f} % {name}{inside}"


def facts(parts: list[str], outside: float | None) -> str:
    """What was fitted and, unless it is said elsewhere, how much of the map extrapolates."""
    fitted = "; ".join(parts)
    fitted = f"{sentence(fitted)}. " if fitted else ""
    return fitted if outside is None else f"{fitted}{beyond(outside)}"
