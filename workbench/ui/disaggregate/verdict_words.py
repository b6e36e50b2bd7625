"""What the app says of how a map is tested, of totals and means or of shares of those tested."""

from workbench.ui.disaggregate.kinds import TESTED, in_words_of

UNTESTED = "Not yet tested on held-out areas."
UNDER_WAY = "Not yet tested: "
MOVED = "A slider was moved away from the fit: this setting is not yet tested."
STOPPED = "Not tested: the test was stopped."
TEST, STOP = "Test it", "Stop the test"
TO_COME = "Scores of held-out areas come with the test that follows a fit."
COVERAGE = "Coverage, held-out areas"
OTHER_TEST = ("Auto chose its model weights by an earlier, separate test; its errors are under "
              "\"What was fitted\".")
_NOTHING_INSIDE = "This tests nothing inside the areas."


def how(kind: str) -> str:
    """How the test goes.

    Parameters
    ----------
    kind : str
        What the values are, as of `kinds`; here and below.
    """
    if kind == TESTED:
        return ("Areas are held out in turns, and the model, with its fitted hyperparameters, "
                f"predicts their shares from the other areas. {_NOTHING_INSIDE}")
    return ("Neighbouring areas are merged into groups, and the model, with its fitted "
            "hyperparameters, predicts each area from its group's total. "
            f"{_NOTHING_INSIDE}")


def under_way(done: int, total: int, kind: str) -> str:
    """How far the test is."""
    known = "the other areas" if kind == TESTED else "merged groups"
    return f"{UNDER_WAY}predicting areas from {known}, {done} of {total} fits done."


def impossible(why: str) -> str:
    """Why there is no verdict."""
    return f"No verdict: {why}."


def scores(kind: str) -> str:
    """What is in the table of held-out areas."""
    if kind == TESTED:
        return ("Held out: areas predicted from the others, on the scale √n asin √share, on which "
                "noise is even; the test behind the verdict")
    return in_words_of(kind, "Held out: areas predicted from the totals of merged groups, the test "
                       "behind the verdict")


def weighed(kind: str) -> str:
    """That what a mixture was weighed by is another test."""
    errors, once, again = (
        ("errors of held-out areas", "by models learnt without them",
         "with its fitted hyperparameters") if kind == TESTED else
        ("recovery errors", "with areas merged in one way", "with areas merged in other ways"))
    return (f"The {errors} below are those by which Auto chose its model weights, {once}. The "
            f"verdict and the table of held-out areas test the finished map {again}, so their "
            "numbers differ.")
