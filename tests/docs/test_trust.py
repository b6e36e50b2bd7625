"""The page on trust names tests that there are."""

import ast
import re

import pytest

from tests.docs.pages import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
PAGE = ROOT / "docs" / "results" / "trust.md"


def rows():
    return [line for line in PAGE.read_text(encoding="utf-8").splitlines()
            if line.startswith("|") and not line.startswith(("|---", "| fault |", "| what "))]


def test_every_promise_names_one_test_that_is_there():
    for row in rows():
        (path, name), = NAMED.findall(row)
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {each.name for each in ast.walk(tree)
                        if isinstance(each, ast.FunctionDef)}, (path, name)


@pytest.mark.parametrize("room", ["tests/properties", "tests/gp/test_checkpoint.py",
                                  "tests/geo/test_globe.py", "tests/geo/test_flipped_bytes.py"])
def test_rooms_of_faults_are_on_the_page(room):
    assert room in PAGE.read_text(encoding="utf-8")
