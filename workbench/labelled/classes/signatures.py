"""Writes the keywords of every model into its public class, and the names of packages into stubs.

``make signatures`` (``python -m workbench.labelled.classes.signatures``) does it after an option,
or an entry of the registry has changed. Of each file in ``labelled/classes`` it writes the section
Parameters of the class and ``__init__``; whatever else is in the file is written by hand and kept.
"""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from dataclasses import MISSING, Field, fields
from itertools import cycle
from pathlib import Path

from workbench.gp.models.registry import Entry
from workbench.labelled.classes.registry import PUBLIC, module_of

PACKAGE = Path(__file__).parents[2]
_WIDTH = 100
_KERNEL = "str or gpytorch.kernels.Kernel"
_NEW = '''"""`{cls}`: its keywords are written by ``make signatures``."""

from __future__ import annotations

{imports}from {inner} import {cls} as Inner
from workbench.labelled.classes.{module} import {base}


class {cls}({base}):
    """Written by ``make signatures``.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.{cls}()
    {cls}()
    """

    torch_model = Inner

    def __init__(self) -> None:
        self._set(locals())
'''


def main() -> None:
    """Write every file that is not up to date, and name it."""
    for path, text in written().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(PACKAGE.parent)}")


def written() -> dict[Path, str]:
    """What the files should hold.

    Returns
    -------
    dict of Path to str
        Text by file: the model classes and the stubs.
    """
    out = {}
    for entry in PUBLIC.values():
        path = PACKAGE.parent / f"{module_of(entry).replace('.', '/')}.py"
        text = path.read_text(encoding="utf-8") if path.is_file() else _new(entry)
        out[path] = with_signature(text, entry)
    return out | {PACKAGE / "__init__.pyi": stub("workbench"),
                  PACKAGE / "labelled" / "__init__.pyi": stub("workbench.labelled"),
                  PACKAGE / "evaluation" / "__init__.pyi": stub("workbench.evaluation")}


def _new(entry: Entry) -> str:
    module, base = (("several", "MultiSourceModel") if entry.several else
                    ("mediated", "MediatedModel") if entry.mediated else
                    ("base", "EarlyStoppedModel") if entry.stops_early else
                    ("base", "LabelledModel"))
    inner = entry.load()
    needed = " ".join(_annotation(one) for one in fields(inner.options_type))
    standard = ", ".join(name for name in ("Callable", "Mapping") if name in needed)
    imports = f"from collections.abc import {standard}\n\n" if standard else ""
    imports += "from gpytorch.kernels import Kernel\n\n" if "Kernel" in needed else ""
    return _NEW.format(cls=entry.cls, module=module, base=base, inner=inner.__module__,
                       imports=imports)


def with_signature(text: str, entry: Entry) -> str:
    """The source of a model's module with Parameters and ``__init__`` up to date.

    Parameters
    ----------
    text : str
        Source as it is.
    entry : Entry
        Of the model.

    Returns
    -------
    str
        Source as it should be.
    """
    options = [one for one in fields(entry.load().options_type) if one.init]
    node = next(one for one in ast.parse(text).body
                if isinstance(one, ast.ClassDef) and one.name == entry.cls)
    init = next(one for one in node.body
                if isinstance(one, ast.FunctionDef) and one.name == "__init__")
    lines = text.splitlines()
    lines[init.lineno - 1:init.end_lineno] = _init(options)
    doc = node.body[0]
    lines[doc.lineno - 1:doc.end_lineno] = _docstring(ast.get_docstring(node), options)
    return "\n".join(lines) + "\n"


def _init(options: list[Field]) -> list[str]:
    words = [f"{one.name}: {_annotation(one)} = {_literal(_default(one))}" for one in options]
    # A keyword is not broken over lines.
    words = ", ".join(word.replace(" ", "\0") for word in words)
    lines = textwrap.wrap(f"def\0__init__(self, *, {words})\0->\0None:", _WIDTH,
                          initial_indent="    ", subsequent_indent=" " * 17,
                          break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines] + ["        self._set(locals())"]


def _docstring(written: str, options: list[Field]) -> list[str]:
    found = sections(written)
    told = "\n".join(line for one in options for line in _described(one))
    found = {"": found.pop(""), "Parameters": ""} | found | {"Parameters": told}
    parts = [f"{name}\n{'-' * len(name)}\n{text}" if name else text
             for name, text in found.items()]
    text = '"""' + "\n\n".join(parts) + '\n"""'
    if "\\" in text:
        text = f"r{text}"
    return [f"    {line}" if line else "" for line in text.splitlines()]


def sections(doc: str) -> dict[str, str]:
    """The sections of a numpy docstring.

    Parameters
    ----------
    doc : str
        Docstring without indentation.

    Returns
    -------
    dict of str to str
        Text by heading; what stands before the first heading has the empty one.
    """
    parts = re.split(r"^(\w+)\n-+\n", doc, flags=re.MULTILINE)
    return {name: text.strip("\n") for name, text in zip(["", *parts[1::2]], parts[0::2],
                                                        strict=True)}


def _described(one: Field) -> list[str]:
    default, about = _default(one), one.metadata
    if about["choices"] is not None:
        kind = "{" + ", ".join(f'"{choice}"' for choice in about["choices"]) + "}"
    elif _annotation(one) == "str | Kernel":
        kind = _KERNEL
    else:
        kind = _annotation(one).removesuffix(" | None").replace(" | ", " or ")
        kind = {"Mapping": "mapping", "Callable": "callable"}.get(kind, kind)
    shown = "optional" if default is None else "default " + (
        f"{default:g}" if isinstance(default, float) else _literal(default))
    head = f"{one.name} : {kind}, {shown}"
    lines = textwrap.wrap(head, _WIDTH - 4, subsequent_indent="    ", break_on_hyphens=False)
    if len(lines) > 1:          # numpydoc reads the type from one line
        lines = [f"{one.name} : {_annotation(one).removesuffix(' | None')}, {shown}"]
        told = f"{about['help']}; one of {kind[1:-1]}"
    else:
        told = about["help"]
    told = told.removeprefix(f"{one.name}: ")
    told = "``".join(part if code else re.sub(r"(?<!\S)\*", "``*``", part)   # no emphasis starts
                     for code, part in zip(cycle((False, True)), told.split("``"), strict=False))
    if about["bounds"] is not None:
        low, high = about["bounds"]
        told += f"; from {low:g} to {high:,}" if isinstance(high, int) else (
            f"; from {low:g} to {high:g}")
    if about["unit"]:
        told += f"; in {about['unit']}"
    told = told if re.match(r"[\w-]+[:,;]", told) else told[0].upper() + told[1:]
    return lines + textwrap.wrap(f"{told.rstrip('.')}.", _WIDTH - 4, initial_indent="    ",
                                 subsequent_indent="    ", break_on_hyphens=False)


def _annotation(one: Field) -> str:
    if one.type == "object" and one.metadata["choices"] is None:
        return "str | Kernel" if isinstance(one.default, str) else "Callable | None"
    if one.type == "object":
        return "str"
    return "Mapping | None" if one.default is MISSING else str(one.type)


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _default(one: Field) -> object:
    return None if one.default is MISSING else one.default


def stub(package: str) -> str:
    """The names that a package imports on first use, as a stub that editors read.

    Parameters
    ----------
    package : str
        A package with a table ``_HOME`` of modules by name.

    Returns
    -------
    str
        Text of its ``__init__.pyi``.
    """
    homes = importlib.import_module(package)._HOME
    folders = sorted(getattr(importlib.import_module(package), "_FOLDERS", ()))
    public = {entry.cls: module_of(entry) for entry in PUBLIC.values()}
    eager = {name: "workbench.labelled.classes.registry" for name in ("make_model", "models")} if (
        package.endswith("labelled")) else {}
    found = sorted((f"workbench.{public.get(name, home).removeprefix('workbench.')}", name)
                   for name, home in (eager | homes).items())
    lines = [f"from {home} import {name} as {name}"
             for home, name in [*((package, name) for name in folders), *found]]
    return '"""Names of the package for editors; written by ``make signatures``."""\n\n' + (
        "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
