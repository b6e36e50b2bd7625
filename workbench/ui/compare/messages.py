"""Every sentence that the app shows, so that words can be read in one place."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.ui.base.messages import true_minus
from workbench.ui.compare.catalogue import ENGINES

ENGINE_NAMES = {engine: label for label, engine in ENGINES.items()}
UNFINISHED, NOT_RUN = "not finished", "not run"
_SPOKEN = {r"VBAgg\([^)]*\)": "VBAgg with regression and a Matérn 3/2 map",
           r"at those of vi\b": "at those of the variational fit", r"\bvi\b": "variational",
           r"\bnuts\b": "Markov chains (NUTS)", r"^exact\b": "in closed form",
           r"; wb\.compare\(ds\) sets them": "; the tab Models sets them"}
_METHODS = {"vbagg": "VBAgg", "mr-dgp": "MR-DGP", "mr-gprn": "MR-GPRN", "mr-cascade": "MR-cascade",
            "var-cmp": "VarCMP", "var-gpr": "VarGPR", "log rho": "log ρ", "log sigma": "log σ",
            "log tau_u": "log τᵤ"}
TITLE = "Compare: models, engines, papers"
ABOUT = {
    "models": "Every model gets the same totals and predicts what was withheld. The simple map is "
              "the benchmark to beat.",
    "engines": "One model on twenty small areas, its posterior computed in two ways.",
    "papers": "The published numbers of four papers and a package beside those found here.",
}
OWN_DATA = ("Your own data: map them in <a href='disaggregate?step=data' target='_blank' "
            "style='color: inherit'>disaggregate</a>, then press “Compare models” there.")
NOT_SAVED = ("Data of your own came from the app disaggregate: save the session there. A file of "
             "this page cannot hold them.")
COMPARE, COMPUTE = "Compare", "Compute"
COMPARING, COMPUTING = "comparing", "computing"
NONE_YET = "Nothing has been compared with these settings yet: press Compare."
NO_PAIR = "Nothing has been computed with these settings yet: press Compute."
TOO_FEW = "There is no model besides the simple map: choose one."
ONE_ENGINE = "Both sides are the same engine: choose another for one of them."
STALE = ("What is shown was made with other settings; press Compare for these. Finished "
         "fits are reused.")
STALE_PAIR = "What is shown was made with other settings; press Compute for these."
CHART_NOTE = ("Left of the dashed line a model is better than the simple map ({base}), right of it "
              "worse; bars are 95 % intervals of the paired difference; hollow marks are within "
              "error. "
              "Coverage dots should lie on the dotted line of their colour.")
COVERAGE = "coverage (%)"
BEYOND = "Arrow: the difference lies beyond the chart; the number beside it is exact."
NO_MAP = "stopped before its map"
MAPS_NOTE = ("One colour scale for all maps, locked to what was observed and to the truth where it "
             "is known{kept}. Zoom and pan are linked; hover for the values of all models.")
KEPT = "; every map keeps the areas' totals"
OBSERVED, TRUTH = "Observed area rates", "Truth (withheld)"
SAME_SCALE = ("Means share one colour scale. The difference is in standard deviations of the "
              "second posterior: below about 0.1 it is negligible.")
NO_PAPERS = "The stored table of published numbers is missing."
PAPERS_NOTE = ("Published: as printed in the paper; what is computed or read from a figure says so "
               "and is not counted. Ours: from a stored run, which the command below the table "
               "repeats. The likely cause of a gap is our judgement.")


def left(what: str, seconds: float) -> str:
    """What is being done, and how long all of it will still take."""
    from workbench.labelled.timing import duration  # not before the page is drawn

    return f"{what}, about {duration(seconds)} left" if seconds > 0.5 else what


def badge(use: str, base: str, score: str, change: float, surely: bool) -> tuple[str, str]:
    """Whether the model to use beats the simple map, by how much of its score, and a colour.

    Parameters
    ----------
    use, base : str
        Models.
    score : str
        What decides, such as "CRPS of square roots".
    change : float
        Of the score, relative to that of the simple map.
    surely : bool
        Whether its interval excludes zero.
    """
    if not use:
        return "nothing to compare", "default"
    if use == base:
        return f"no model clearly beats the {base}", "warning"
    if surely:
        return f"{use} beats the {base}: {score} {percent(change)}", "success"
    return f"{use} not clearly better than the {base}: {score} {percent(change)}", "warning"


def percent(share: float) -> str:
    """A relative change with its sign."""
    return f"{100 * share:+.0f} %".replace("-", "−")


def gap(change: Mapping[str, float]) -> str:
    """A relative change and its interval."""
    low, high = (f"{100 * change[end]:+.0f}" for end in ("lower", "upper"))
    return f"{percent(change['difference'])} ({low} to {high})".replace("-", "−")


def failed(partial: str) -> str:
    """That a comparison was stopped, and where."""
    return f"Incomplete: {partial}. What is finished is shown, and kept for the next comparison."


def model_failed(name: str, why: str) -> str:
    """Why a model has no scores, and what can be done."""
    if why == NOT_RUN:
        return f"{name} has not been compared yet: press {COMPARE}; finished fits are reused."
    reason = f": {why.rstrip('.')}" if why else ""
    return (f"{name} failed{reason}. Leave it out, or choose another test, and press {COMPARE}; "
            "the other models' fits are reused.")


def spoken(line: str) -> str:
    """A line of the summary of `workbench.compare_engines`, engines and model in words."""
    for name, words in _SPOKEN.items():
        line = re.sub(name, words, line)
    return line


def method(name: str) -> str:
    """Text of a paper's table: methods and hyperparameters as papers write them, a true minus."""
    for one, words in _METHODS.items():
        name = re.sub(rf"\b{one}\b", words, name)
    return true_minus(name)


def engines_apart(one: str, other: str, seconds: float, apart: tuple[float, float],
                  ratio: tuple[float, float, float]) -> str:
    """How far two engines are from each other.

    Parameters
    ----------
    one, other : str
        Of `catalogue.ENGINES`.
    seconds : float
        That the first took.
    apart : (float, float)
        Median and largest difference of means, in standard deviations of the second.
    ratio : (float, float, float)
        Median, smallest and largest ratio of standard deviations.
    """
    first, second = ENGINE_NAMES[one], ENGINE_NAMES[other]
    return (f"{first[0].upper()}{first[1:]} ({seconds:.1f} s) against {second}: posterior means "
            f"differ by {apart[0]:.2f} sd (median; at most {apart[1]:.2f}), sds are "
            f"{ratio[0]:.2f} times as large ({ratio[1]:.2f} to {ratio[2]:.2f})")


def engines_done(names: list[str]) -> str:
    """Which engines are finished, while another is at work."""
    return f"finished: {', '.join(ENGINE_NAMES[name] for name in names)}"


def engines_stopped(names: list[str]) -> str:
    """Which engines were stopped before they were finished."""
    told = " and ".join(ENGINE_NAMES[name] for name in names)
    return (f"Incomplete: {told} stopped before the end. What is finished is shown, and kept for "
            "the next computation.")


def all_maps(count: int) -> str:
    """Of a button on a phone, which draws few maps at first."""
    return f"Show all {count} maps"


def papers(title: str, count: int, near: int, elsewhere: int) -> str:
    """How many published numbers are met."""
    if not count:
        return NO_PAPERS
    more = (f" {elsewhere} more are on other data: there the order of models can be compared, the "
            "numbers cannot." if elsewhere else "")
    numbers = "number is" if count == 1 else "numbers are"
    return f"{title}: {near} of {count} published {numbers} reproduced to within 5 %.{more}"
