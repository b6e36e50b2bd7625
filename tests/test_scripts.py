"""Names that scripts beside the package take from it exist, also where no test runs the script."""

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[1]
SCRIPTS = sorted(script for folder in ("benchmarks", "docs")
                 for script in (REPOSITORY / folder).rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda one: str(one.relative_to(REPOSITORY)))
def test_a_script_takes_from_the_package_what_is_there(script):
    missing = _missing(script.read_text(encoding="utf-8"))
    assert not missing, f"{script.name} asks for {', '.join(missing)}"


@pytest.mark.parametrize(("code", "missing"), [
    ("from workbench import nothing", ["workbench.nothing"]),
    ("def f():\n    from workbench.geo.nowhere import a", ["workbench.geo.nowhere.a"]),
    ("import workbench as wb\nwb.VBAgg\nwb.nope()", ["workbench.nope"]),
    ("import workbench.papers\nworkbench.nope", ["workbench.nope"]),
    ("from workbench import plots as p\np.nope\np.notebook", ["workbench.plots.nope"]),
    ("import numpy as np\nnp.nope\nfrom workbench.checks import Cancelled\nCancelled.nope", []),
])
def test_names_that_are_not_there_are_found(code, missing):
    assert _missing(code) == missing


def _missing(code: str) -> list[str]:
    """Dotted names of the package that a script imports, or looks up in a module, in vain."""
    names, modules, tree = [], {}, ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "workbench":
            for alias in node.names:
                names.append(f"{node.module}.{alias.name}")
                modules[alias.asname or alias.name] = names[-1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                home = alias.name.split(".")[0]
                if home == "workbench":
                    names.append(alias.name)
                    modules[alias.asname or home] = alias.name if alias.asname else home
    missing = [name for name in names if _found(name) is None]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            if module and module not in missing and isinstance(_found(module), ModuleType):
                name = f"{module}.{node.attr}"
                missing += [name] if _found(name) is None else []
    return missing


def _found(name: str) -> object:
    """What a dotted name stands for: a module or an attribute of one; None where there is none."""
    home, _, attribute = name.rpartition(".")
    try:
        if home and hasattr(import_module(home), attribute):
            return getattr(import_module(home), attribute)
        return import_module(name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("workbench"):      # an extra that is not installed
            pytest.skip(str(error))
        return None
