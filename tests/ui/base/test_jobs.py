"""Jobs and the cache: cancelling lands, superseded results are dropped, errors surface."""

import queue
import subprocess
import sys
import threading
import time

import pytest

from tests.ui.kit import slow_imports
from workbench.checks import Cancelled
from workbench.ui.base.cache import Cache
from workbench.ui.base.jobs import Job


class Listener:
    """Collects what a job says and lets a test wait for it."""

    def __init__(self):
        self.events, self._arrived = [], threading.Condition()

    def __call__(self, event, *values):
        with self._arrived:
            self.events.append((event, *values))
            self._arrived.notify_all()

    def wait_for(self, event, count=1, seconds=10):
        with self._arrived:
            assert self._arrived.wait_for(
                lambda: sum(e[0] == event for e in self.events) >= count, seconds), self.events
        return [e for e in self.events if e[0] == event]


def endless(run, started):
    step = 0
    try:
        while True:
            step += 1
            run.tick(step, -1.0 / step, 0.5)
            started.set()
            time.sleep(0.005)
    except Cancelled:
        run.send("best", step)      # a fit returns its best state when its callback raises


def test_cancelling_lands_within_a_step_and_keeps_the_best_state():
    heard, started = Listener(), threading.Event()
    job = Job(heard)
    job.start(lambda run: endless(run, started))
    assert started.wait(10)
    job.cancel()
    assert heard.wait_for("received")[0][1] == "best"
    assert heard.wait_for("ended") == [("ended", True)]


def test_a_superseded_run_says_nothing_more():
    heard, started, release = Listener(), threading.Event(), threading.Event()

    def slow(run):
        started.set()
        release.wait(10)
        run.send("result", "old")

    job = Job(heard)
    job.start(slow)
    assert started.wait(10)
    job.start(lambda run: run.send("result", "new"))
    heard.wait_for("ended")
    release.set()
    time.sleep(0.1)
    assert [e for e in heard.events if e[0] == "received"] == [("received", "result", "new")]


def test_results_already_on_their_way_are_dropped_too():
    heard, queue, sent = Listener(), [], threading.Event()
    job = Job(heard, schedule=queue.append)

    def work(run):
        run.send("result", "old")
        sent.set()

    job.start(work)
    assert sent.wait(10)
    job.drop()
    for function in queue:
        function()
    assert heard.events == []


def test_of_many_starts_only_the_first_and_the_latest_are_done():
    heard, release, done = Listener(), threading.Event(), []

    def work(number):
        def inside(run):
            release.wait(10)
            done.append(number)
            run.send("result", number)
        return inside

    job = Job(heard, together=1)
    for number in range(20):
        job.start(work(number))
    release.set()
    heard.wait_for("ended")
    assert done[-1] == 19 and len(done) <= 2
    assert [e[2] for e in heard.wait_for("received")] == [19]


def test_resting_ends_as_soon_as_something_newer_is_asked_for():
    heard, started = Listener(), threading.Event()

    def patient(run):
        started.set()
        run.rest(60)
        run.send("result", "old")

    job = Job(heard, together=1)
    job.start(patient)
    assert started.wait(10)
    job.start(lambda run: run.send("result", "new"))
    heard.wait_for("ended")
    assert [e[2] for e in heard.wait_for("received")] == ["new"]


def test_errors_surface():
    heard = Listener()
    Job(heard).start(lambda run: 1 / 0)
    assert isinstance(heard.wait_for("failed")[0][1], ZeroDivisionError)


def test_progress_comes_at_most_ten_times_a_second():
    heard = Listener()

    def work(run):
        for step in range(200):
            run.tick(step, 0.0, 0.0)
            time.sleep(0.002)

    Job(heard).start(work)
    heard.wait_for("ended")
    ticks = [e for e in heard.events if e[0] == "ticked"]
    assert 2 <= len(ticks) <= 60


def test_spare_work_gives_way_and_ends_at_the_next_look():
    release, order, looked = threading.Event(), [], threading.Event()

    def urgent(run):
        release.wait(10)
        order.append("urgent")

    def spare(run):
        looked.set()
        run.give_way()
        order.append("spare")

    first, heard = Listener(), Listener()
    Job(first).start(urgent)
    job = Job(heard, spare=True)
    job.start(spare)
    assert looked.wait(10)
    time.sleep(0.3)
    assert order == []
    release.set()
    heard.wait_for("ended")
    assert order == ["urgent", "spare"]


def test_spare_work_takes_turns():
    at_once, most, lock, heard = [], [], threading.Lock(), Listener()

    def work(run):
        with lock:
            at_once.append(run)
            most.append(len(at_once))
        time.sleep(0.05)
        with lock:
            at_once.remove(run)

    for job in [Job(heard, spare=True) for _ in range(5)]:
        job.start(work)
    heard.wait_for("ended", 5)
    assert max(most) == 1


AT_THE_END = """
import threading, time
from workbench.ui.base import jobs

started = threading.Event()

def endless(run):
    while True:
        started.set()
        {step}
        run.tick(1, 0.0, 0.0)

jobs.Job(print).start(endless)
assert started.wait(60)
begun = time.monotonic()
print(jobs.shut_down(1.0), time.monotonic() - begun < 5, flush=True)
{end}
"""


@pytest.mark.parametrize("step, end, answer", [
    ("time.sleep(0.01)", "", "True True"),      # Python itself waits for its threads
    ("time.sleep(60)", "__import__('os')._exit(0)", "False True")])
def test_a_process_can_end_while_work_is_running(step, end, answer):
    done = subprocess.run([sys.executable, "-c", AT_THE_END.format(step=step, end=end)],
                          capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == answer


def test_a_server_can_listen_before_the_models_are_imported():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, workbench.ui.base.jobs, workbench.ui.warm_up, "
         "workbench.ui.serving; print({'torch', 'xarray', 'panel'} & set(sys.modules))"],
        capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stderr


def test_a_page_can_be_drawn_before_the_models_are_imported():
    assert slow_imports("import workbench.ui.base.shell\n"
                        "import workbench.ui.disaggregate.views.page") == ""


def test_work_that_nobody_waits_for_begins_when_what_was_sent_is_heard():
    page, order, sent = queue.Queue(), [], threading.Event()

    def work(run):
        run.send("maps", 1)
        sent.set()
        run.wait_for_page(0)
        order.append("scores")

    job = Job(lambda event, *_: order.append(event), schedule=page.put)
    job.start(work)
    assert sent.wait(10)
    time.sleep(0.2)
    assert order == []
    for _ in range(3):      # the maps, the mark that they were heard, and the end
        page.get(timeout=10)()
    assert order == ["received", "scores", "ended"]


def test_the_cache_makes_a_result_once_however_many_ask():
    cache, made = Cache(3), []

    def make():
        time.sleep(0.05)
        made.append(1)
        return "result"

    threads = [threading.Thread(target=cache.get, args=("key", make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_the_cache_forgets_the_least_recently_used_and_failures():
    cache = Cache(2)
    for key in "ab":
        cache.get(key, lambda key=key: key.upper())
    cache.peek("a")
    cache.get("c", lambda: "C")
    assert (cache.peek("a"), cache.peek("b"), cache.peek("c"), len(cache)) == ("A", None, "C", 2)
    with pytest.raises(ZeroDivisionError):
        cache.get("d", lambda: 1 / 0)
    assert cache.get("d", lambda: "D") == "D"
