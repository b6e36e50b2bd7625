"""The edge of the command line: one message, an exit code, and a log of what nobody foresaw."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workbench.cli import app
from workbench.pipeline import run as pipeline
from workbench.pipeline.spec import Spec

COMMAND = ["disaggregate", "--dataset", "swiss-roll", "--model", "constant", "--quiet", "--out"]


def run(monkeypatch, error: BaseException, out: Path):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(pipeline, "run", fail)
    return CliRunner().invoke(app, [*COMMAND, str(out)])


def test_what_nobody_foresaw_leaves_a_log_and_no_bare_traceback(tmp_path, monkeypatch):
    result = run(monkeypatch, ZeroDivisionError("division\nby zero"), tmp_path / "map.nc")
    assert result.exit_code == 1 and "Traceback" not in result.output
    assert "error: unexpected ZeroDivisionError: division by zero" in result.output
    log = Path(re.search(r"The log (\S+\.log)", result.output)[1])
    told = log.read_text(encoding="utf-8")
    log.unlink()
    assert "Traceback (most recent call last)" in told and "torch " in told


def test_too_little_memory_is_said_with_what_helps(tmp_path, monkeypatch):
    result = run(monkeypatch, MemoryError("Unable to allocate 19 GiB"), tmp_path / "map.nc")
    assert result.exit_code == 1 and "not enough memory (Unable to allocate 19 GiB)" in (
        result.output)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name, text", [("covariates", "--covariates"), ("level", "--level")])
def test_messages_of_the_command_line_name_its_flags(name, text):
    from workbench.checks import named_as_flags, option

    assert option(name, "a") == f"{name}='a'"
    with named_as_flags():
        assert option(name, "a").startswith(text)


def test_bad_input_is_one_line_and_exit_code_two(tmp_path):
    spec = Spec(dataset=str(tmp_path / "none.nc"))
    (tmp_path / "spec.json").write_text(spec.to_json())
    result = CliRunner().invoke(app, ["run", str(tmp_path / "spec.json")])
    assert result.exit_code == 2 and "error: " in result.output
