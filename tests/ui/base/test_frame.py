"""What a page shows before it is loaded, and memory that is given back."""

import ast
import gc
import threading
import time
import weakref

import pytest

from workbench.ui.base import jobs
from workbench.ui.base.memory import Tidy
from workbench.ui.base.shell import purpose
from workbench.ui.serving import apps


@pytest.mark.parametrize("name", sorted(apps()))
def test_every_app_says_what_it_is_for_in_one_sentence(name):
    source = apps()[name].read_text(encoding="utf-8")
    sentence = purpose(ast.get_docstring(ast.parse(source)))
    assert sentence[0].isupper() and sentence.endswith(".")
    assert "show(APP, __doc__)" in source


def test_nothing_is_said_of_an_app_that_says_nothing():
    assert purpose(None) == purpose("no title") == ""


def test_memory_is_given_back_once_after_the_last_of_several_requests():
    given, times = threading.Event(), []

    class Counted(Tidy):
        def now(self):
            times.append(super().now())
            given.set()

    tidy = Counted(rest=0.2)
    if tidy._library is None:
        pytest.skip("the GNU C library alone keeps what is freed")
    for _ in range(5):
        tidy.soon()
    assert given.wait(30) and len(times) == 1


def test_what_can_be_made_again_is_let_go_of_with_it():
    forgotten, tidy = [], Tidy()
    for _ in range(2):
        tidy.also(forgotten.clear)
    forgotten.append("square roots")
    tidy.now()
    assert forgotten == []


def test_circles_are_looked_for_when_that_was_asked_for_alone():
    class Page:
        pass

    tidy, page = Tidy(rest=3600), Page()
    page.itself, left = page, weakref.ref(page)
    gc.collect()
    gc.disable()
    try:
        del page
        tidy.soon()
        tidy.now()
        assert left() is not None
        tidy.soon(circles=True)
        tidy.soon()
        tidy.now()
        assert left() is None
    finally:
        gc.enable()
        tidy._timer.cancel()


def test_circles_that_work_uses_are_looked_for_after_it(monkeypatch):
    """A fit notices late that its page has gone: it is the end of that which asks again."""
    class Page:
        pass

    begun, go_on, given = threading.Event(), threading.Event(), threading.Event()

    class Quick(Tidy):
        def now(self):
            super().now()
            given.set()

    tidy, page = Quick(rest=0.2, at_work=jobs.TIDY.at_work), Page()
    monkeypatch.setattr(jobs, "TIDY", tidy)
    page.itself, left = page, weakref.ref(page)
    job = jobs.Job(lambda *event: None)

    def work(run, page=page):
        begun.set()
        go_on.wait(30)

    gc.disable()
    try:
        job.start(work)
        assert begun.wait(30)
        del work, page
        job.drop()
        tidy.soon(circles=True)
        assert given.wait(30) and left() is not None
        go_on.set()
        deadline = time.monotonic() + 30
        while left() is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert left() is None
    finally:
        gc.enable()
