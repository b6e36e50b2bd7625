"""What the verdict on a map says, and its doubts."""

from __future__ import annotations

WHERE = {"rate": "of the true rates", "individual": "of the fine values"}
TOO_NARROW = "its intervals are too narrow: do not rely on them"
WIDER = "its intervals are wider than they need to be"
MOSTLY_BEYOND = "it extrapolates at more than half of the places, where no total tests it"
STOPPED = "learning was stopped early"
FAILED = ("the optimisation failed: a simpler model, which this one includes, explains the data "
          "better")
NOT_CONVERGED = "training has not converged"
GIVEN = "its model weights come from the address: the test behind them was not repeated here"
NO_SCORES = "No verdict: the map and the simple maps could not all be scored."
NOT_WEIGHED = "its candidate models were not tested, so a simple map may be as good"


def few(areas: int) -> str:
    """That the areas are few."""
    return f"{areas} areas are a weak test"


def listed(maps: list[str]) -> str:
    """Names of simple maps in a sentence."""
    return " and ".join(one if one.startswith("one ") else f"the {one}" for one in maps)


def not_scored(rivals: list[str]) -> str:
    """That some simple maps are not compared."""
    return f"{listed(rivals)} could not be scored"


def better_when_weighed(rivals: list[str]) -> str:
    """That simple maps won the test by which a mixture was weighted."""
    return f"when its models were weighted, {listed(rivals)} predicted held-out areas better"


def no_better_when_weighed(rivals: list[str]) -> str:
    """That a mixture did not win the test by which it was weighted."""
    said = f"it was no better than {listed(rivals)} (difference within error)"
    return f"when its models were weighted, {said}"


def by_the_map_alone(rival: str) -> str:
    """A simple map that may be as good without its intervals."""
    return f"{rival} (by the maps alone)"


def may_be_chance_when_weighed(rivals: list[str]) -> str:
    """That a mixture did not surely win the test by which it was weighted."""
    return f"when its models were weighted, it was not clearly better than {listed(rivals)}"


def maps_alone(rivals: list[str]) -> str:
    """That maps without their intervals may be as good."""
    return f"by the posterior mean alone it is not clearly better than {listed(rivals)}"


def may_be_chance(rivals: list[str]) -> str:
    """That a difference is within error."""
    return f"its lead over {listed(rivals)} may be chance"


def beats(rival: str, score: str, change: str) -> str:
    """The map is surely better, and nothing speaks against it."""
    return f"Beats {listed([rival])}: {score} {change}."


def better(rival: str, score: str, change: str) -> str:
    """The map is surely better, but there are doubts."""
    return f"Better than {listed([rival])}, with doubts: {score} {change}."


def unsure(rival: str, score: str, change: str) -> str:
    """The map is better, but within error."""
    return f"Not clearly better than {listed([rival])}: {score} {change}, which may be chance."


def no_better(rival: str, score: str, change: str) -> str:
    """A simple map is as good or better, within error."""
    return f"No better than {listed([rival])} (difference within error): {score} {change}."


def as_good_within_error(rivals: list[str]) -> str:
    """That other simple maps are as good or better, within error."""
    return f"it is no better than {listed(rivals)} (difference within error)"


def as_good(rival: str, score: str, change: str) -> str:
    """A simple map is better."""
    name = listed([rival])
    return f"{name[0].upper()}{name[1:]} is better: {score} of this map {change}."


def unreliable(rival: str, score: str, change: str) -> str:
    """The map is surely better, but its intervals are far too narrow."""
    return f"Do not rely on its intervals. {score} {change} against {listed([rival])}."


def gap(ours: float, theirs: float) -> str:
    """A score relative to another, with its sign."""
    if ours == theirs:
        return "±0 %"
    if theirs <= 0:
        return "higher"
    change = 100 * (ours / theirs - 1)
    return f"{change:+.0f} %".replace("-", "−") if abs(change) >= 1 else (
        f"{change:+.1g} %".replace("-", "−"))


def covers(share: float, where: str) -> str:
    """What intervals cover."""
    return f"95 % intervals cover {100 * share:.0f} % {where}."


def beyond(share: float) -> str:
    """How much of the map is extrapolated."""
    return (f"The map extrapolates at {100 * share:.3g} % of the places." if share > 0
            else "The map extrapolates nowhere.")


def do_not_rely(fault: str) -> str:
    """The fit itself is at fault, whatever a test says."""
    return f"Do not rely on this map: {fault}."
