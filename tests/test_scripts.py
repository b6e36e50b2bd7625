"""Scripts beside the package, which no other test runs: the names they take from it exist."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
SCRIPTS = sorted(script for folder in ("benchmarks", "docs")
                 for script in (REPOSITORY / folder).rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda one: str(one.relative_to(REPOSITORY)))
def test_a_script_takes_from_the_package_what_is_there(script):
    missing = [name for name in _wanted(ast.parse(script.read_text(encoding="utf-8")))
               if not _there(name)]
    assert not missing, f"{script.name} asks for {', '.join(missing)}"


def _wanted(tree: ast.AST) -> list[str]:
    """Dotted names of the package that are imported anywhere, or looked up in its modules."""
    names, modules = [], {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "workbench":
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            ours = [alias for alias in node.names if alias.name.split(".")[0] == "workbench"]
            names += [alias.name for alias in ours]
            modules |= {alias.asname or alias.name: alias.name for alias in ours}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules:
                names.append(f"{modules[node.value.id]}.{node.attr}")
    return names


def _there(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    home, _, attribute = name.rpartition(".")
    try:
        if not home or hasattr(import_module(home), attribute):
            return True
        import_module(name)
    except ImportError:
        return False
    return True
