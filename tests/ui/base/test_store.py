"""What all stores share: work is heard of, errors are put in words and logged, choices watched."""

import logging
import time
from contextlib import contextmanager

import param
import pytest

from workbench.checks import Cancelled, InputError
from workbench.ui.base.state import State
from workbench.ui.base.store import Store, in_words
from workbench.ui.base.views.layout import View


class Numbers(State):
    number = param.Selector(objects=[1, 2, 0], default=1)
    colour = param.Selector(objects=["red", "blue"], default="red")


class Halves(Store):
    """Half of a number, until cancelled if it is 2; nothing is half of 0."""

    half = param.Number(None, allow_None=True)
    watched = ("number",)

    def _changed(self, *events):
        number = self.state.number
        self.param.update(work="halving", error="")
        self._job.start(lambda run: self._halve(number, run))

    def _halve(self, number, run):
        if not number:
            raise InputError("0 has no half")
        run.tick(1, 0.0, 0.25)
        try:
            while number == 2:
                run.check()
                time.sleep(0.01)
        except Cancelled:
            pass
        run.send("half", number / 2)

    def _receive(self, name, result):
        self.param.update(**{name: result})


def waited(until, seconds=10):
    deadline = time.monotonic() + seconds
    while not until() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert until()


def test_work_is_heard_of_and_can_be_cancelled():
    held, fractions = [], []

    @contextmanager
    def together():
        held.append(store.half)
        yield
        held.append(store.half)

    store = Halves(Numbers(), together=together)
    store.param.watch(lambda event: fractions.append(event.new), "fraction")
    store.refresh()
    waited(lambda: not store.work)
    assert store.half == 0.5 and held == [None, 0.5] and fractions == [0.25, 0.0]
    store.state.colour = "blue"         # is not watched
    assert not store.work
    store.state.number = 2
    waited(lambda: store.fraction == 0.25)
    assert store.work == "halving" and store.half == 0.5
    store.cancel()
    waited(lambda: not store.work)
    assert store.half == 1.0 and not store.error
    store.close()


def test_errors_are_logged_and_put_in_words(caplog):
    store = Halves(Numbers())
    with caplog.at_level(logging.WARNING):
        store.state.number = 0
        waited(lambda: not store.work)
    assert store.error == "0 has no half"
    record, = caplog.records
    assert record.name == Halves.__module__ and isinstance(record.exc_info[1], InputError)


@pytest.mark.parametrize(("error", "text"), [
    (InputError("too many"), "too many"), (ImportError("needs rasterio"), "needs rasterio"),
    (RuntimeError("lost"), "RuntimeError: lost"), (ValueError(), "ValueError"),
])
def test_users_errors_need_no_type(error, text):
    assert in_words(error) == text


def test_a_view_draws_what_is_new_and_not_what_is_set_again():
    class Shown(Halves):
        answer = param.Parameter()

    store, drawn, found = Shown(Numbers()), [], object()
    View(store).follow(lambda *events: drawn.append(store.answer), "answer")
    store.answer = found
    store.param.update(answer=found, error="")
    assert drawn == [None, found]
    store.param.trigger("answer")
    store.answer = object()
    assert drawn == [None, found, found, store.answer]
