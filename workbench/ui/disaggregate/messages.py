"""Every sentence that the disaggregation app shows, so that words can be read in one place."""

TITLE = "Disaggregate: from totals of areas to a fine map"
ABOUT = (
    "The model sees only one total per area, the population (weight) and the covariates of the "
    "individuals inside it, and infers the rate of every individual with its uncertainty."
)

MAPS = {
    "mean": ("Estimate (posterior mean)",
             "Look for detail inside areas: it comes from covariates and neighbours. Click a place "
             "to have it explained."),
    "known": ("Truth", "Compare with the estimate: same colours mean the same rate."),
    "observed": ("Observed areas", "All that the model sees: one total per area, as a rate."),
    "std": ("Uncertainty (posterior sd)",
            "Bright is uncertain: where rates are high or areas are big."),
    "exceedance": ("Exceedance", "Red is surely above the threshold, blue surely not, pale open."),
    "information": ("Information", ""),
    "components": ("Components", ""),
    "ranks": ("Among the highest areas", ""),
    "beyond": ("Extrapolation",
               "Bright: inputs of the model lie far beyond the range of area means, where no total "
               "tests the map."),
    "swiped": ("Estimate | population split",
               "Drag the divider, or move it by the arrow keys: estimate on its left, split of "
               "each total by population on its right, on one scale."),
    "split": ("Estimate | population split", ""),     # one title, wherever the divider is
    "difference": ("Estimate − population split",
                   "Red: the estimate is higher than the split; blue: lower."),
}
NO_TRUTH = (
    "No truth is known: only the areas' totals were published, and are shown here. Try the "
    "simulated country or Korea to see a map beside its truth."
)

CHARTS = {
    "coverage": "On the diagonal, coverage is as stated; below it intervals are too narrow.",
    "pit": "Flat within the band is calibrated; a valley means intervals too narrow, a hill too "
           "wide.",
    "training": "Climbs and levels off when learning is done; it can be stopped at any step.",
    "scores": "Lower CRPS and RMSE than the flat model (dashed) is skill; coverage should match "
              "its level.",
}


def reached(with_priors: float, objective: float, mixture: bool) -> str:
    """Where the training curve ends."""
    whose = "the model with most weight" if mixture else "the fit"
    return (f"Its last point is {whose} on all individuals, {with_priors:.3f}; without log priors "
            f"{objective:.3f}.")


TRAINED_ON = (
    "Areas were used in fitting, so their calibration is optimistic; fine values, where known, "
    "were not."
)

SCORES = "Scores"

KINDS = {
    "learnt": "hyperparameters learnt",
    "stopped": "cancelled: best state so far",
    "moved": "as fitted, but for the sliders",
    "start": "Preview, not fitted: hyperparameters at their starting values. Press Fit.",
    "stand-in": "Preview, not fitted: one model at its starting values. Press Fit.",
}
NO_CURVE = "Nothing learnt yet: press Fit."
OPENING = "opening the session"
LET_GO = "This comes when the slider is let go."
SUMMARY = "What was fitted: hyperparameters with units and priors"


NO_SUCH_FIT = "The fit in the address cannot be made"


def no_such_fit(reason: str) -> str:
    """A fit in the address that cannot be made."""
    return f"{NO_SUCH_FIT}: {reason}. This is a preview; press Fit."


def badge(exact: bool, kind: str, seconds: float, steps: int, area_effect: bool) -> str:
    """How the maps were come by: exact or approximate, and how long it took."""
    how = "exact" if exact else "approximate (variational)"
    took = f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
    learnt = f", {steps} steps" if steps else ""
    included = " · area effect included" if area_effect else ""
    return f"{how} · {took}{learnt} · {KINDS[kind]}{included}"


def data_line(areas: int, individuals: int) -> str:
    """The data in one sentence, before there is a map."""
    return f"{areas:,} areas → {individuals:,} individuals. No fine map yet."


def headline(areas: int, individuals: int, mean: float, low: float, high: float, sd: float,
             above: float, threshold: float, unit: str, outside: float) -> str:
    """The map in some sentences of numbers."""
    if outside > 0:
        beyond = (f" It extrapolates for {100 * outside:.3g} % of the individuals: some input that "
                  "the model uses lies outside the range of area means (map Extrapolation).")
    else:
        beyond = " The model extrapolates in none of the inputs that it uses."
    return (
        f"{areas:,} areas → {individuals:,} individuals. Mean rate {mean:.3g} {unit}; fine map "
        f"from {low:.3g} to {high:.3g} (1st to 99th percentile); typical sd {sd:.3g}; "
        f"{100 * above:.1f} % of the weight is more likely than not above {threshold:g}.{beyond}"
    )


PREVIEW = "Preview, not fitted. Press Fit: a verdict comes with the fit."
UNTESTED = "Not yet tested: nothing finer than the areas is known to compare with."
MOVED = "Moved away from the fit by a slider: this setting is not yet tested."
STOPPED_TEST = "Not tested: the test was stopped."
SCORING = "The verdict is on its way: the map is being scored."
NO_SCORES = "No verdict: the map and the simple maps could not all be scored."
WHERE = {
    "rate": "of the true rates", "individual": "of the fine values",
    "recovered": "of the areas, merged and found again from the totals of their groups",
}
TOO_NARROW = "its intervals are too narrow: do not rely on them"
WIDER = "its intervals are wider than need be"
MOSTLY_BEYOND = ("it extrapolates at more than half of the places, where no total tests it")
STOPPED = "learning was stopped early"
NOT_CONVERGED = "training has not converged"
NOT_WEIGHED = "its candidates were not tested, so that a simple map may be as good"
TEST, TEST_STOP = "Test it", "Stop the test"
TESTED_HOW = (
    "Known areas are merged into groups, and the model, with its hyperparameters as fitted, has to "
    "find them again from the groups' totals. Nothing below the areas is seen in this."
)


def few(areas: int) -> str:
    """That the areas are few."""
    return f"{areas} areas make a weak test"


def listed(maps: list[str]) -> str:
    """Names of simple maps in a sentence."""
    return " and ".join(one if one.startswith("one ") else f"the {one}" for one in maps)


def not_scored(rivals: list[str]) -> str:
    """That some simple maps are not compared."""
    return f"{listed(rivals)} could not be scored"


def as_good_when_weighed(rivals: list[str]) -> str:
    """That a mixture's own test was won by simple maps."""
    return f"when the mixture was weighed, {listed(rivals)} recovered the areas as well or better"


def may_be_chance_when_weighed(rivals: list[str]) -> str:
    """That a mixture's own test was not surely won."""
    return f"when the mixture was weighed, it was not surely better than {listed(rivals)}"


def maps_alone(rivals: list[str]) -> str:
    """That maps without their intervals may be as good."""
    return f"without its intervals, this map is not surely better than {listed(rivals)}"


def may_be_chance(rivals: list[str]) -> str:
    """That a difference is within error."""
    return f"that it is better than {listed(rivals)} may be chance"


def against(rival: str, score: str, ours: float, theirs: float) -> str:
    """The map beside a simple one, in one sentence."""
    name = listed([rival])
    much = gap(ours, theirs)
    if ours < theirs:
        return f"Beats {name}: {score} {much}."
    return f"{name[0].upper()}{name[1:]} is as good or better: {score} of this map {much}."


def gap(ours: float, theirs: float) -> str:
    """By how much a score is less than another."""
    return f"{100 * (ours / theirs - 1):+.0f} %".replace("-", "−") if theirs > 0 else "worse"


def covers(share: float, where: str) -> str:
    """What intervals cover."""
    return f"95 % intervals cover {100 * share:.0f} % {where}."


def beyond(share: float) -> str:
    """How much of the map is extrapolated."""
    return (f"{100 * share:.3g} % of the places extrapolate." if share > 0
            else "No place extrapolates.")


def testing(done: int, total: int) -> str:
    """How far the test is."""
    return f"Not yet tested: merging areas and finding them again, {done} of {total} fits done."


def cannot_test(why: str) -> str:
    """Why there is no verdict."""
    return f"No verdict: {why}."


INFORMATION = (
    "Share of f's prior variance that the data removed: near 0 the fine detail is what the model "
    "says of any place, near 1 the data determine it."
)
WORKING_LAYER = "This map is being made."


def no_layer(why: str) -> str:
    """Why a model has no map of a kind."""
    return f"This model has no such map: {why}."


def components(base: float, link: str) -> str:
    """How summands make the rate."""
    how = {"exp": "the exponential of their sum is the rate",
           "square": "the square of their sum is the rate"}.get(link, "their sum is the rate")
    return (f"Summands of f, which add up with the intercept {base:.3g}: {how}. Red adds, blue "
            "takes away. Rate times exposure is the count.")


def ranks(top: int, areas: int) -> str:
    """What the map of ranks shows."""
    which = "the one highest" if top == 1 else f"the {top} highest"
    return (f"Red: surely among {which} of {areas} areas by rate; blue: surely not. The pointer "
            "tells the rank, 1 the highest, with its 90 % interval.")


CHECKING = "Check of the data: under way"
SHOW_AREAS = "Show on the map"


def checked(summary: str) -> str:
    """What the check of the data found, in one line."""
    return f"Check of the data: {summary.rstrip('.')}"


def refused(why: str) -> str:
    """Why nothing can be fitted."""
    return f"Nothing can be fitted: {why}"


def not_checked(why: str) -> str:
    """Why files could not be checked."""
    return f"These files could not be checked: {why}"


SUMMAND_AXIS = "summand of f, with 90 % interval"
INFLUENCE = "Areas with most influence: what leaving each out takes off f"


def summands(link: str, there: bool) -> str:
    """How to read the bars of summands."""
    if not there:
        return "This model does not know its summands."
    if link == "exp":
        return ("On the scale of the log rate: +0.7 doubles the rate, −0.7 halves it. Grey: 90 % "
                "intervals.")
    return "On the scale of the link. Grey: 90 % intervals."


def place_of(coordinates: list[tuple[str, float]], area: str) -> str:
    """Which place is explained."""
    where = ", ".join(f"{name} {value:.5g}" for name, value in coordinates)
    return f"{where or 'One place'}{f' in area {area}' if area else ''}"




def left(seconds: float) -> str:
    """How long work will still take."""
    told = f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
    return f", about {told} left"


def lengthscale(term: str, value: float | list[float], unit: str) -> str:
    """The lengthscale of a term."""
    values = value if isinstance(value, list) else [value]
    shown = ", ".join(f"{float(f'{one:.3g}'):,g}" for one in values)
    return f"lengthscale of {term} {shown} {unit}".strip()


def candidate(name: str, weight: float, lengths: list[str]) -> str:
    """One model of a mixture."""
    inside = f" ({'; '.join(lengths)})" if lengths else ""
    return f"{100 * weight:.0f} % {name}{inside}"


def facts(parts: list[str], outside: float) -> str:
    """What was fitted, and how much of the map extrapolates."""
    fitted = "; ".join(parts)
    fitted = f"{fitted[0].upper()}{fitted[1:]}. " if fitted else ""
    return f"{fitted}{beyond(outside)}"
