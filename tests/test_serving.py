"""Serving: apps are found, a taken port and an open address are refused in words."""

import socket

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
