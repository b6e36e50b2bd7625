"""Files of the page on serving: a command that exists, no rights, a demanded origin."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from tests.docs.pages import DOCS
from workbench.checks import InputError
from workbench.cli import app
from workbench.ui import serving

FOLDER = DOCS / "howto" / "deploy"


def test_the_container_runs_a_command_that_exists_without_rights():
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    command = re.search(r'"exec (.+)"\]', text)[1].replace('\\"', '"')
    program, name, *given = shlex.split(command)
    shown = CliRunner().invoke(app, [name, "--help"]).output
    assert program == "workbench" and {one for one in given if one.startswith("--")} == {
        "--address", "--origin"}
    assert all(one in shown for one in given if one.startswith("--"))
    assert "${ORIGIN:?" in text
    assert text.index("-c constraints.txt") < text.index("USER workbench")


def test_other_machines_need_an_origin():
    with pytest.raises(InputError, match="say with --origin"):
        serving.serve([], 5006, "0.0.0.0", [])
    assert "--allow-websocket-origin=maps.example.org" in serving._settings(
        5006, "127.0.0.1", ["maps.example.org"], FOLDER)


def test_the_proxy_passes_websockets_and_asks_for_passwords_everywhere():
    text = (FOLDER / "nginx.conf").read_text(encoding="utf-8")
    assert text.count("{") == text.count("}") == 3
    assert text.index("auth_basic ") < text.index("location /")     # of the whole server
    for needed in ("Upgrade $http_upgrade", 'Connection "upgrade"', "proxy_read_timeout 1h",
                   "proxy_pass http://127.0.0.1:5006", "return 301 https://"):
        assert needed in text
