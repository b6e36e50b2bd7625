"""Every sentence that the app shows, so that words can be read in one place."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.ui.compare.catalogue import ENGINES

ENGINE_NAMES = {engine: label for label, engine in ENGINES.items()}
UNFINISHED = "not finished"
TITLE = "Compare: models, engines, papers"
ABOUT = {
    "models": "Every model gets the same totals and is asked for what it was not told. The simple "
              "map is the rule to beat.",
    "engines": "One model on twenty small areas, its posterior computed in two ways.",
    "papers": "What four papers and a package print, beside what the experiments here found.",
}
COMPARE, COMPUTE = "Compare", "Compute"
COMPARING, COMPUTING = "comparing", "computing"
NONE_YET = "Nothing was compared with these settings yet: press Compare."
NO_PAIR = "Nothing was computed with these settings yet: press Compute."
TOO_FEW = "There is no model besides the simple map: choose one."
ONE_ENGINE = "Both sides are the same engine: choose another for one of them."
STALE = ("What is shown was made with other settings; press Compare for these. Fits that were "
         "finished before are not done again.")
STALE_PAIR = "What is shown was made with other settings; press Compute for these."
CHART_NOTE = ("Left of the rule a model is better than the simple map ({base}), right of it worse; "
              "bars are 95 % intervals of the paired difference, hollow marks are within error. "
              "Dots of coverage belong on the line of their colour.")
COVERAGE = "coverage (%)"
BEYOND = "An arrow: the difference is beyond the chart; the figure beside it is not cut."
MAPS_NOTE = ("One colour scale for all maps, locked to what was observed and to the truth where it "
             "is known{kept}. Zoom and pan are linked; point at a place for all models' values.")
KEPT = "; every map keeps the areas' totals"
OBSERVED, TRUTH = "Told: areas' rates", "Truth, not told"
SAME_SCALE = ("Means share one colour scale. The difference is in standard deviations of the "
              "posterior in the middle: below about 0.1 nobody would see it.")
NO_PAPERS = "The stored table of published numbers is not here."
PAPERS_NOTE = ("Every number on the left is what the paper prints, every number in the middle is "
               "from a stored run; the command that makes it again stands below the table. The "
               "cause is our judgement.")


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
        return f"no model surely beats the {base}", "warning"
    told = f"{use} beats the {base}: {score} {percent(change)}"
    return (told, "success") if surely else (f"{told}, within error", "warning")


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
    more = (f" {elsewhere} more are on other data, where models' order can be compared and numbers "
            "cannot." if elsewhere else "")
    return f"{title}: of {count} published numbers {near} are met within 5 %.{more}"
