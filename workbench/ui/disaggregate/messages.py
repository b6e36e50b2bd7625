"""Every sentence that the disaggregation app shows, so that words can be read in one place."""

TITLE = "Disaggregate: from totals of areas to a fine map"
ABOUT = (
    "The model sees only one total per area, the population (weight) and the covariates of the "
    "individuals inside it, and infers the rate of every individual with its uncertainty."
)

MAPS = {
    "observed": ("Observed areas", "All that the model sees: one total per area, as a rate."),
    "mean": ("Posterior mean",
             "Look for detail inside areas: it comes from covariates and neighbours."),
    "known": ("Truth", "Compare with the posterior mean: same colours mean the same rate."),
    "std": ("Posterior sd", "Bright is uncertain: where rates are high or areas are big."),
    "exceedance": ("Exceedance", "Red is surely above the threshold, blue surely not, pale open."),
    "beyond": ("Extrapolation",
               "Bright: inputs of the model lie far beyond the range of area means, where no total "
               "tests the map."),
}
NO_TRUTH = (
    "Not known: only the areas' totals were published, so nothing finer exists to compare with. "
    "Try the simulated country or Korea to see a map beside its truth."
)

CHARTS = {
    "coverage": "On the diagonal, coverage is as stated; below it intervals are too narrow.",
    "pit": "Flat within the band is calibrated; a valley means intervals too narrow, a hill too "
           "wide.",
    "training": "Climbs and levels off when learning is done; it can be stopped at any step.",
    "scores": "Lower CRPS and RMSE than the flat model (dashed) is skill; coverage should match "
              "its level.",
}
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
FIT = "Learns all hyperparameters that no slider fixes."
NO_CURVE = "Nothing learnt yet: press Fit."
OPENING = "opening the session"
SUMMARY = "What was fitted: hyperparameters with units and priors"


def no_such_fit(reason: str) -> str:
    """A fit in the address that cannot be made."""
    return f"The fit in the address cannot be made: {reason}. This is a preview; press Fit."


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
