"""Checks of numbers: what is taken, what is refused, and what the message says."""

import threading
import warnings

import numpy as np
import pytest

from workbench import checks
from workbench.checks import FewAreasWarning, FitWarning, InputError, number, whole


@pytest.mark.parametrize("value", [3, 3.0, np.int16(3), np.float32(3), np.uint8(3)])
def test_whole_numbers_of_any_type_become_ints(value):
    assert whole("n", value, 0, 3) == 3 and type(whole("n", value)) is int
    assert number("n", value) == 3.0 and type(number("n", value)) is float


@pytest.mark.parametrize("value", [True, "3", None, np.nan, np.inf, [3], 1j])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(InputError, match="n must be a whole number, got"):
        whole("n", value)
    with pytest.raises(InputError, match="n must be a finite number, got"):
        number("n", value)


@pytest.mark.parametrize("value,bounds,message", [
    (2.5, (), "n must be a whole number, got 2.5"),
    (0, (1,), "n must be a whole number of 1 or more, got 0"),
    (5, (None, 4), "n must be a whole number of 4 or less, got 5"),
    (5, (0, 4), "n must be a whole number from 0 to 4, got 5")])
def test_bounds_are_told(value, bounds, message):
    with pytest.raises(InputError, match=message):
        whole("n", value, *bounds)


def test_a_warning_points_at_the_line_that_called_the_package():
    inside = {"__name__": "workbench.deep", "warn": checks.warn, "kind": FewAreasWarning}
    exec("def deeper(): warn('few', kind)\ndef deep(): deeper()", inside)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inside["deep"]()
    assert caught[0].filename == __file__
    assert issubclass(caught[0].category, FitWarning)


def test_all_classes_of_warnings_can_be_filtered_by_one():
    kinds = [one for one in vars(checks).values()
             if isinstance(one, type) and issubclass(one, Warning) and one is not Warning]
    assert len(kinds) > 4 and all(issubclass(one, checks.WorkbenchWarning) for one in kinds)


def test_recorded_warnings_go_to_the_innermost_block_that_listens_to_their_class():
    with checks.recorded_warnings() as outer:
        with checks.recorded_warnings(FewAreasWarning) as few, checks.without_warnings(
                checks.ConvergenceWarning):
            for kind in (FewAreasWarning, checks.ConvergenceWarning, FitWarning):
                checks.warn(kind.__name__, kind)
        warnings.warn("of another package", RuntimeWarning, stacklevel=1)
    assert [str(w.message) for w in few] == ["FewAreasWarning"]
    assert [str(w.message) for w in outer] == ["FitWarning", "of another package"]
    assert all(w.filename == __file__ for w in few + outer)
    with pytest.warns(FitWarning, match="afterwards"):
        checks.warn("afterwards")


def test_blocks_of_two_threads_neither_see_nor_silence_each_other():
    """Filters of the process would: the block that ends last would leave the other's behind."""
    both, heard, before = threading.Barrier(2, timeout=30), {}, list(warnings.filters)

    def work(name: str, other_ends_first: bool) -> None:
        with checks.recorded_warnings() as issued:
            both.wait()
            checks.warn(name)
            both.wait()
            if other_ends_first:
                both.wait()
        if not other_ends_first:
            both.wait()
        heard[name] = [str(w.message) for w in issued]

    threads = [threading.Thread(target=work, args=(name, name == "one")) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {"one": ["one"], "two": ["two"]}
    assert warnings.filters == before


def test_what_other_threads_are_warned_of_during_a_block_is_shown_and_not_recorded():
    """As in a server, whose main thread answers pages while fits run in others."""
    def work() -> None:
        warnings.warn("of another thread", RuntimeWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with checks.recorded_warnings() as issued:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            warnings.warn("of this one", RuntimeWarning, stacklevel=1)
    assert [str(w.message) for w in issued] == ["of this one"]
    assert [str(w.message) for w in shown] == ["of another thread"]
