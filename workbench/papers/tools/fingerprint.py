"""A short hash of a run: of its settings, and of the code in `workbench.papers` that scores it.

The code is every definition that the experiment's ``score`` reaches by name in its own module and
in others of `workbench.papers`, as a syntax tree without comments, docstrings, annotations and line
numbers. Of a dictionary with a setting's value among its keys (a list of models by name) the entry
under that key counts alone, so that a further model leaves the runs of the others as they are. A
table, a note, or a module that no run uses changes no hash. What the rest of `workbench` does is
not in it: that changes daily, and the file carries the package's version.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from workbench.papers.tools.base import Experiment, Settings

SCOPE = "workbench.papers"
LENGTH = 12
_SKIPPED = {"ctx", "kind", "type_comment", "type_ignores", "type_params"}
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Place = tuple[str, str]            # a module, and a name in it; "" is the whole module


def fingerprint(experiment: Experiment, settings: Settings) -> str:
    """The hash that a run of these settings is stored with.

    Parameters
    ----------
    experiment : Experiment
    settings : dict
        Of one run, as ``experiment.runs`` gives them.

    Returns
    -------
    str
        Twelve hexadecimal digits; empty where Python has no source of the code.

    Examples
    --------
    >>> from workbench.papers import experiment_named
    >>> roll = experiment_named("swiss-roll-bags")
    >>> one, other, *_ = roll.runs("quick")
    >>> len(fingerprint(roll, one)), fingerprint(roll, one) == fingerprint(roll, other)
    (12, False)
    """
    told = json.dumps({k: str(v) for k, v in settings.items()}, sort_keys=True)
    code = code_of(experiment.score.__module__, experiment.score.__qualname__,
                   frozenset(v for v in settings.values() if isinstance(v, str)))
    if not code:
        return ""
    return hashlib.sha256(f"{code}\n{told}".encode()).hexdigest()[:LENGTH]


@lru_cache(maxsize=1024)
def code_of(module: str, qualname: str, values: frozenset[str] = frozenset()) -> str:
    """Hash of all definitions that a function reaches.

    Parameters
    ----------
    module : str
        Its module.
    qualname : str
        Its qualified name; of a nested function the outermost one counts.
    values : frozenset of str
        Of the settings that are text.

    Returns
    -------
    str
        Hexadecimal; empty if the module has no source.
    """
    if _source(module) is None:
        return ""
    found: dict[_Place, str] = {}
    todo: list[_Place] = [(module, qualname.split(".")[0])]
    while todo:
        place = todo.pop()
        if place in found:
            continue
        known = _read(place[0])
        if place[1] not in known.defined and place[1] in known.imported:
            todo.append(known.imported[place[1]])
            continue
        keys = values & known.keys.get(place[1], frozenset())
        found[place], uses = _entry(*place, module, keys)
        todo += uses
    text = "\n".join(f"{place} {code}" for place, code in sorted(found.items()))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class _Known:
    """A module: its tree, what defines each name, where imports are from, keys of dictionaries."""

    name: str
    tree: ast.Module
    defined: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, _Place] = field(default_factory=dict)
    keys: dict[str, frozenset[str]] = field(default_factory=dict)


@lru_cache(maxsize=128)
def _read(module: str) -> _Known:
    tree = _Bare().visit(ast.parse(_source(module).read_text(encoding="utf-8")))
    known = _Known(module, tree)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            known.imported |= dict(_bindings(node))
            continue
        for name in _stored(node):
            known.defined.setdefault(name, []).append(node)
            known.keys[name] = known.keys.get(name, frozenset()) | _keys(node)
    return known


@lru_cache(maxsize=1024)
def _entry(module: str, name: str, home: str, keys: frozenset[str]) -> tuple[str, list[_Place]]:
    """A definition as text, of a dictionary the entries of these keys alone, and what it uses."""
    known = _read(module)
    nodes = known.defined.get(name, known.tree.body)
    if keys:
        nodes = [_narrowed(node, keys) for node in nodes]
    return ("\n".join(map(_canonical, nodes)),
            [used for node in nodes for used in _uses(known, node, home)])


def _narrowed(node: ast.stmt, keys: frozenset[str]) -> ast.stmt:
    if not _keys(node) & keys:
        return node
    kept = [(key, value) for key, value in zip(node.value.keys, node.value.values, strict=True)
            if isinstance(key, ast.Constant) and key.value in keys]
    narrow = copy.copy(node)
    narrow.value = ast.Dict(keys=[key for key, _ in kept], values=[value for _, value in kept])
    return narrow


def _keys(node: ast.stmt) -> frozenset[str]:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Dict):
        return frozenset()
    return frozenset(key.value for key in node.value.keys
                     if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _stored(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines or changes."""
    if isinstance(node, _DEFINING):
        return {node.name}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _bindings(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, _Place]]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            inner = f"{node.module}.{alias.name}"
            whole = inner.startswith(SCOPE) and _source(inner) is not None
            yield alias.asname or alias.name, (inner, "") if whole else (node.module, alias.name)
        elif alias.asname:
            yield alias.asname, (alias.name, "")


def _uses(known: _Known, node: ast.AST, home: str) -> Iterator[_Place]:
    """Places in scope that a definition reads."""
    names = dict(known.imported)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import | ast.ImportFrom):
            names |= dict(_bindings(inner))
    inside = {id(n.value) for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    for inner in ast.walk(node):
        attribute = inner.attr if isinstance(inner, ast.Attribute) else ""
        name = inner.value if attribute else inner
        if not isinstance(name, ast.Name) or (id(inner) in inside and not attribute):
            continue
        module, of = names.get(name.id, (known.name, name.id))
        if module == known.name and of not in known.defined:        # a local name, or a builtin
            continue
        if module == home or f"{module}.".startswith(f"{SCOPE}."):
            yield module, of or attribute


@lru_cache(maxsize=512)
def _source(module: str) -> Path | None:
    loaded = sys.modules.get(module)
    path = getattr(loaded, "__file__", None)
    if path is None and loaded is None:
        try:
            found = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            found = None
        path = None if found is None else found.origin
    return Path(path) if path and path.endswith(".py") else None


class _Bare(ast.NodeTransformer):
    """Without docstrings and annotations."""

    def visit(self, node: ast.AST) -> ast.AST:
        """A node without what does not run."""
        if isinstance(node, (ast.Module, *_DEFINING)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        return self.generic_visit(node)


def _canonical(node: object) -> str:
    """A tree as text, the same in every version of Python that parses it."""
    if isinstance(node, ast.AST):
        parts = (f"{name}={_canonical(value)}" for name, value in ast.iter_fields(node)
                 if name not in _SKIPPED and value not in (None, []))
        return f"{type(node).__name__}({', '.join(parts)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_canonical, node))}]"
    return repr(node)
