"""Examples of the pages and of public docstrings run; names, commands and options in them exist."""

import ast
import doctest
import importlib
import inspect
import re
import warnings
from functools import cache
from unittest.mock import patch

import generated
import pytest
from typer.testing import CliRunner

import workbench as wb
from tests.docs.pages import DOCS, README, ROOT, blocks, pages
from workbench.cli import app

PAGES = [README, *pages()]
RUN = [path for path in pages() if blocks(path.read_text(encoding="utf-8"), "pycon")]
PUBLIC = ("workbench", *generated.MODULES)


def _name(path):
    return str(path.relative_to(ROOT))


def _refuse(message, category, *where):
    # the package warns by this call; a filter would be lost where a dependency sets its own
    if issubclass(category, DeprecationWarning):
        raise category(message)


def _run(test: doctest.DocTest) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    with warnings.catch_warnings(), patch.object(warnings, "warn_explicit", _refuse):
        warnings.simplefilter("ignore")         # small examples are not fitted to convergence
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_an_example_with_a_deprecated_name_is_refused():
    code = """>>> import workbench as wb
>>> wb.separate(wb.load("swiss-roll", n_bags=12, mean_size=10, size_std=4)).sizes["bag"]
112
"""
    _run(doctest.DocTestParser().get_doctest(
        code.replace("separate", "as_singleton_bags"), {}, "new", "new", 0))
    with pytest.raises(AssertionError):
        _run(doctest.DocTestParser().get_doctest(code, {}, "old", "old", 0))


@pytest.mark.parametrize("path", RUN, ids=_name)
def test_examples_of_a_page_run(path):
    code = "\n".join(blocks(path.read_text(encoding="utf-8"), "pycon"))
    _run(doctest.DocTestParser().get_doctest(code, {}, path.stem, str(path), 0))


@cache
def _docstrings() -> dict[str, doctest.DocTest]:
    finder, found = doctest.DocTestFinder(exclude_empty=True), {}
    for module in map(importlib.import_module, PUBLIC):
        things = {module.__name__: module} | {
            f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
        for name, thing in things.items():
            if not (inspect.ismodule(thing) or callable(thing)):
                continue
            names = vars(inspect.getmodule(thing))
            for test in finder.find(thing, name, module=False, globs=dict(names)):
                if test.examples:
                    found.setdefault(test.docstring, test)
    return {test.name: test for test in found.values()}


@pytest.mark.parametrize("name", sorted(_docstrings()))
def test_examples_of_public_docstrings_run(name):
    _run(_docstrings()[name])


def test_there_are_examples():
    assert len(RUN) >= 10 and {"workbench", "workbench.granularity"} <= set(_docstrings())


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_names_of_the_package_exist(path):
    text = path.read_text(encoding="utf-8")
    for code in blocks(text, "python"):
        ast.parse(code)
    known = {*generated.documented(wb), "bagging"}
    assert not set(re.findall(r"\bwb\.([A-Za-z_]+)", text)) - known
    options = {name for name in re.findall(r"\bfit\.([a-z_]+)\(", text)}
    some = {"fit", "expert_weights", "conditional_mean", "draw"}  # of fits of one family of models
    assert not {name for name in options - some if not hasattr(wb.Fit, name)
                or generated.deprecated(getattr(wb.Fit, name))}


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_no_page_has_a_deprecated_name(path):
    old = {name for module in map(importlib.import_module, PUBLIC)
           for name in set(module.__all__) - set(generated.documented(module))}
    old |= {f"Fit.{name}" for name in vars(wb.Fit) if generated.deprecated(getattr(wb.Fit, name))}
    assert {"separate", "pin_to_totals", "Fit.move"} <= old
    code = re.findall(r"```.*?```|`[^`]+`", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    spans = " ".join(code).replace("fit.", "Fit.")
    assert not {name for name in old if re.search(rf"(?<![\w-]){re.escape(name)}\b", spans)}


@cache
def _help(command: str) -> str:
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0, f"no such command: workbench {command}"
    every = CliRunner().invoke(app, [command, "--help-all"])    # options of data and models, too
    return shown.output + (every.output if every.exit_code == 0 else "")


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_commands_and_their_options_exist(path):
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for command in re.findall(r"`workbench ([a-z]+)", text):
        _help(command)
    for block in blocks(text, "bash"):
        for command, rest in re.findall(r"^workbench ([a-z]+)(.*)$", block, flags=re.MULTILINE):
            for option in re.findall(r" (--[a-z-]+)", rest.partition("#")[0]):
                assert option in _help(command), f"workbench {command} {option}"


def test_modules_named_in_the_notation_exist():
    text = (DOCS / "concepts" / "notation.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:gp|papers)\.[A-Za-z0-9_.]+)`", text)
    assert len(names) > 20
    for name in names:
        where, rest = f"workbench.{name}".split("."), []
        while True:
            try:
                found = importlib.import_module(".".join(where))
                break
            except ModuleNotFoundError:
                rest.insert(0, where.pop())
        for part in rest:
            assert hasattr(found, part), name
            found = getattr(found, part)
