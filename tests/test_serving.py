"""Serving: apps are found, a taken port and an open address are refused in words."""

import socket
import subprocess
import sys
import time

import pytest

from workbench import serving
from workbench.checks import InputError


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


@pytest.fixture
def served(tmp_path, port):
    """A server of the apps, as a user starts it, and its log."""
    with (tmp_path / "log.txt").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "workbench", "serve", "--port", str(port)],
            stdout=log, stderr=subprocess.STDOUT)
        yield server, tmp_path / "log.txt"
        server.terminate()
        server.wait(timeout=120)


@pytest.mark.ui
def test_a_served_app_reaches_the_browser(served, port, page):
    server, log = served
    deadline = time.monotonic() + 60
    while f"http://127.0.0.1:{port}" not in log.read_text() or not answers(port):
        assert server.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
    page.goto(f"http://127.0.0.1:{port}/disaggregate")
    page.wait_for_function("window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle",
                           timeout=150_000)
    assert "Traceback" not in log.read_text()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
