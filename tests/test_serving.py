"""Serving: apps are found, a taken port and an open address are refused in words."""

import importlib
import os
import re
import signal
import socket
import time
import urllib.request
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from workbench.checks import InputError
from workbench.ui import serving

DOCS = Path(__file__).parents[1] / "docs"


def test_a_taken_port_is_named_with_the_way_out():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1:{port} .*--port"):
            serving.serve([], port, "127.0.0.1", [])


def test_other_machines_need_to_be_allowed():
    with pytest.raises(InputError, match="--origin HOST:PORT"):
        serving.serve([], 5006, "0.0.0.0", [])


def test_an_unknown_app_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'disaggregate'"):
        serving.serve(["disagregate"], 5006, "127.0.0.1", [])


def test_apps_of_the_repository_are_found():
    assert "disaggregate" in serving.apps()


def landing(monkeypatch, *places):
    from tornado.template import Template

    monkeypatch.setattr(serving, "PLACES", places)
    serving.documentation.cache_clear()
    items = [(f"/{name}", name) for name in serving.apps()]
    return Template(serving.LANDING.read_text(encoding="utf-8")).generate(items=items).decode()


def test_the_landing_page_leads_to_the_apps_and_the_documentation(monkeypatch, tmp_path):
    without = landing(monkeypatch, tmp_path)
    assert all(f'href="./{name}"' in without for name in serving.apps())
    assert "see the fine map and its calibration" in without
    assert "how sure is the map?" in without and 'href="./granularity?tab=map"' in without
    assert serving.HOW_TO_BUILD in without and "documentation/index.html" not in without
    page = tmp_path / serving.PAGE
    page.parent.mkdir(parents=True)
    page.write_text("<html></html>", encoding="utf-8")
    with_pages = landing(monkeypatch, tmp_path)
    assert "documentation/index.html" in with_pages and "://" not in with_pages
    assert with_pages.count("Open example: ") == with_pages.count("<em>") == len(serving.apps())
    headings = (DOCS / "howto" / "apps.md").read_text(encoding="utf-8").splitlines()
    for name in serving.apps():
        assert f'href="./documentation/howto/apps.html#{name}"' in with_pages
        assert f"## {name}" in headings and serving.about(name).audience in with_pages
    for link in re.findall(r"./documentation/([\w/]+)[.]html", with_pages):
        assert (DOCS / f"{link}.md").is_file(), link
    assert f"documentation={page.parent.resolve()}" in serving._settings(
        5006, "127.0.0.1", [], serving.about("granularity").picture.parent)


@pytest.mark.parametrize("name", serving.apps())
def test_the_moving_picture_of_an_app_moves(name):
    about = serving.about(name)
    with Image.open(about.picture) as still, Image.open(about.moving) as moving:
        assert still.size == moving.size == (640, 256)
        assert moving.n_frames > 1


@pytest.mark.ui
def test_a_card_moves_where_it_is_pointed_at_and_never_for_who_wants_none(page, apps_url):
    page.goto(apps_url)
    card = page.locator(".card:has(.moving)").first
    for motion, moves in (("no-preference", True), ("reduce", False)):
        page.emulate_media(reduced_motion=motion)
        page.mouse.move(1, 1)
        expect(card.locator(".still")).to_be_visible()
        expect(card.locator(".moving")).to_be_hidden()
        card.hover()
        expect(card.locator(".moving")).to_be_visible(visible=moves)
        expect(card.locator(".still")).to_be_visible(visible=not moves)
        if moves:
            page.wait_for_function("one => one.naturalWidth === 640",
                                   arg=card.locator(".moving").element_handle())


@pytest.mark.ui
def test_a_served_app_reaches_the_browser_and_stops_in_the_middle_of_a_fit(
        serve, port, page, record_property):
    server = serve("-m", "workbench", "serve", "--port", str(port))
    server.wait(lambda: server.url in server.printed and server.listens())
    page.goto(f"{server.url}/disaggregate", timeout=150_000)
    page.wait_for_selector("canvas >> visible=true", timeout=150_000)
    page.wait_for_function("Bokeh.documents[0].is_idle", timeout=150_000)
    seconds = time.monotonic() - server.begun
    record_property("seconds to the first page", seconds)
    print(f"first page after {seconds:.1f} s, 1-minute load {os.getloadavg()[0]:.1f}")
    page.get_by_role("button", name="Fit", exact=True).click()
    page.get_by_text(re.compile(r"fitting model.*step \d")).wait_for(timeout=150_000)
    assert server.stop(signal.SIGTERM) < 10
    assert server.process.returncode == 0
    assert "Traceback" not in server.printed


# Apps whose session begins work at once, so that a plain request sets them going.
FITTING = """
import torch
from workbench.ui.base import shell
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store

shell.prepare()
store = Store(State())
store.param.watch(lambda event: print("steps", len(event.new), "threads",
                                      torch.get_num_threads(), flush=True), "history")
store.fit()
"""
STUCK = """
import time
from workbench.ui.base.jobs import Job

def work(run):
    print("steps 1 threads 1", flush=True)
    time.sleep(300)

Job(print).start(work)
"""
SERVE = """
import pathlib, sys
from workbench.ui import serving

serving.apps = lambda: {"working": pathlib.Path(sys.argv[1])}
serving.serve([], int(sys.argv[2]), "127.0.0.1", [])
"""


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("app, how", [(FITTING, signal.SIGTERM), (STUCK, signal.SIGINT)],
                         ids=["fitting", "stuck"])
def test_a_server_ends_in_a_few_seconds_whatever_is_running(serve, port, tmp_path, app, how):
    (tmp_path / "working.py").write_text(
        app + "\nimport panel as pn\npn.pane.Str('working').servable()\n")
    server = serve("-c", SERVE, str(tmp_path / "working.py"), str(port))
    server.wait(server.listens)
    with urllib.request.urlopen(f"{server.url}/working", timeout=90) as answer:
        assert answer.status == 200
    server.wait(lambda: "steps 1 threads 1" in server.printed)     # one thread for each run
    assert server.stop(how) < 10
    assert server.process.returncode == 0
    assert "Traceback" not in server.printed


@pytest.mark.parametrize("name", serving.apps())
def test_every_card_of_the_first_page_has_a_question_a_picture_and_an_example_that_works(name):
    card = serving.about(name)
    assert card.question.endswith("?") and card.audience and card.picture.stat().st_size < 120_000
    page = importlib.import_module(f"workbench.ui.{name}.views.page")
    assert page.APP.state().read(card.example[0]) == []
    if card.own is not None:
        state = page.APP.state()
        assert state.read(card.own[0]) == [] and state.query() != page.APP.state().query()


def test_the_first_page_leads_to_the_dialog_for_own_data(monkeypatch, tmp_path):
    from workbench.ui.disaggregate.views.own import Own
    from workbench.ui.disaggregate.views.page import APP

    query, words = serving.about("disaggregate").own
    assert f'href="./disaggregate{query}">{words}</a>' in landing(monkeypatch, tmp_path)
    state = APP.state()
    state.read(query)
    assert Own(APP.store(state)).dialog.open


@pytest.mark.ui
def test_the_first_page_shows_pictures_and_asks_nothing_of_other_machines(serve, port, page):
    server = serve("-m", "workbench", "serve", "--port", str(port))
    server.wait(lambda: server.url in server.printed and server.listens())
    page.goto(server.url, timeout=150_000)
    widths = page.evaluate("""[...document.querySelectorAll('img.still')].map(
        image => image.naturalWidth)""")
    assert widths == [640] * len(serving.apps())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
