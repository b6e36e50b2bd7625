"""Command-line flags that are derived, not written by hand: from options and from signatures.

A model's options are a dataclass, a loader's are the keywords of a function; each name becomes a
flag ``--name value``, and a flag that nobody knows is answered with the nearest that somebody does.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from workbench.checks import InputError, choose, require
from workbench.gp.models.retired import refuse_retired
from workbench.pipeline.docstrings import parameters_said


@dataclass(frozen=True)
class Flag:
    """One flag: its name, the types it may take, its default and what it is for."""

    name: str
    types: tuple[Any, ...]
    default: Any
    help: str = ""
    unit: str = ""
    bounds: tuple[Any, ...] = ()
    choices: tuple[Any, ...] = ()

    def describe(self) -> str:
        """Help on it: flag, default, meaning, unit, bounds and choices, in lines of 100 columns."""
        notes = [self.help.rstrip(".")] if self.help else []
        notes += [f"unit {self.unit}"] if self.unit else []
        notes += [f"from {self.bounds[0]} to {self.bounds[1]}"] if self.bounds else []
        notes += [" | ".join(str(c) for c in self.choices)] if self.choices else []
        flag = f"--{self.name.replace('_', '-')}"
        text = f"  {flag:<22} [{_show(self.default)}]  {'; '.join(notes)}".rstrip()
        return textwrap.fill(text, 100, subsequent_indent=" " * 25, break_on_hyphens=False)


def of_options(options: type) -> dict[str, Flag]:
    """The flags of an options dataclass, with the help, bounds, unit and choices of its fields.

    Parameters
    ----------
    options : type
        The dataclass.

    Returns
    -------
    dict
        Flags by name.
    """
    hints = typing.get_type_hints(options)
    return {f.name: _of_field(f, hints[f.name]) for f in fields(options) if f.init}


def of_signature(function: Callable, without: Iterable[str] = ()) -> dict[str, Flag]:
    """The flags of a function's arguments, with the help of its docstring.

    Parameters
    ----------
    function : callable
        With type hints and a numpy docstring.
    without : iterable of str
        Arguments that are not flags.

    Returns
    -------
    dict
        By name.
    """
    parameters = inspect.signature(function).parameters.values()
    hints, said = typing.get_type_hints(function), parameters_said(function)
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        p.name: Flag(p.name, _members(hints.get(p.name, str)),
                     None if p.default is inspect.Parameter.empty else p.default,
                     said.get(p.name, ""))
        for p in parameters if p.kind in named and p.name not in set(without)
    }


def of_defaults(defaults: Mapping[str, Any]) -> dict[str, Flag]:
    """The flags of arguments of which only the defaults are known.

    Parameters
    ----------
    defaults : Mapping
        Defaults by name.

    Returns
    -------
    dict
        Flags by name.
    """
    return {name: Flag(name, (Any,) if value is None else (type(value),), value)
            for name, value in defaults.items()}


def pairs(arguments: Iterable[str]) -> dict[str, str]:
    """Read ``--name value``, ``--name=value``, ``--name`` and ``--no-name`` into names and text.

    Parameters
    ----------
    arguments : iterable of str
        As typed.

    Returns
    -------
    dict
        Text by name, with underscores.

    Raises
    ------
    InputError
        On an argument that belongs to no flag, or a flag that is given twice.
    """
    found: dict[str, str] = {}
    waiting = None
    for argument in arguments:
        if argument.startswith("--"):
            name, given, value = argument[2:].partition("=")
            name = name.replace("-", "_")
            require(name not in found, f"--{argument[2:]} is given twice; give it once")
            found[name] = value if given else "true"
            waiting = None if given else name
        elif waiting is not None:
            found[waiting], waiting = argument, None
        else:
            raise InputError(f"unexpected argument {argument!r}; every value needs a --flag")
    return found


def assign(
    given: Mapping[str, str], groups: Mapping[str, Mapping[str, Flag]], known: Iterable[str],
    models: Iterable[str] = ()
) -> dict[str, dict[str, Any]]:
    """Give every flag to the first group that knows it, with its value converted.

    Parameters
    ----------
    given : Mapping
        Names and texts from `pairs`.
    groups : Mapping
        Flags by name, for each group.
    known : iterable of str
        Flags of the command itself, for suggestions.
    models : iterable of str
        Models whose options they may be, for what replaces an option that one of them had.

    Returns
    -------
    dict
        For each group, values by name.

    Raises
    ------
    InputError
        If no group knows a flag (the nearest is named), or its value cannot be converted.
    """
    values: dict[str, dict[str, Any]] = {group: {} for group in groups}
    for name, text in given.items():
        if name.startswith("no_") and text == "true":
            name, text = name.removeprefix("no_"), "false"
        group = next((g for g, flags in groups.items() if name in flags), None)
        if group is None:
            for model in models:
                refuse_retired(model, {name: text})
            every = {n for flags in groups.values() for n in flags} | set(known)
            choose("option", f"--{name.replace('_', '-')}",
                   sorted(f"--{n.replace('_', '-')}" for n in every),
                   "--help lists the usual options, --help-all every one")
        else:
            values[group][name] = convert(groups[group][name], text)
    return values


def convert(flag: Flag, text: str) -> Any:
    """Turn the text of a flag into the first of its types that can hold it.

    Parameters
    ----------
    flag : Flag
        What is known of it.
    text : str
        As typed.

    Returns
    -------
    object
        A number, truth value, tuple, mapping, text or None.

    Raises
    ------
    InputError
        If none can.
    """
    if type(None) in flag.types and text.lower() in ("none", "null"):
        return None
    if bool in flag.types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        if number in flag.types:
            try:
                return number(text)
            except ValueError:
                continue
    if any(typing.get_origin(t) in (tuple, list) or t in (tuple, list) for t in flag.types):
        return tuple(_scalar(part.strip()) for part in text.split(","))
    if any(typing.get_origin(t) is Mapping or t in (dict, Mapping) for t in flag.types):
        # Commas stand between pairs, and between the numbers of one.
        return named_values(f"--{flag.name}", re.split(r",(?=[^,=]*=)", text))
    if str in flag.types:
        return text
    if not set(flag.types) - {type(None), Any, object}:
        return _scalar(text)
    wanted = " or ".join(getattr(t, "__name__", str(t)) for t in flag.types)
    raise InputError(f"--{flag.name.replace('_', '-')} expects {wanted}, got {text!r}; change it")


def named_values(flag: str, texts: Iterable[str]) -> dict[str, Any]:
    """Read ``name=value`` texts: numbers, several with commas, where they look like numbers.

    Parameters
    ----------
    flag : str
        For messages: the flag they were given to.
    texts : iterable of str
        As typed.

    Returns
    -------
    dict
        Values by name, several of one as a tuple.

    Raises
    ------
    InputError
        On a text of another form, or a name that is given twice.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, given, value = (part.strip() for part in text.partition("="))
        require(bool(given and name and value), f"{flag} expects name=value, got {text!r}; write "
                "the name, an equals sign and the value without spaces, several numbers with "
                "commas between them")
        require(name not in found, f"{flag} is given twice for {name!r}; give it once, several "
                f"numbers as {flag} {name}=NUMBER,NUMBER")
        several = tuple(_scalar(part.strip()) for part in value.split(","))
        numbers = len(several) > 1 and not any(isinstance(one, str) for one in several)
        found[name] = several if numbers else _scalar(value)
    return found


def _of_field(f: Any, hint: Any) -> Flag:
    default = f.default
    if default is MISSING:
        default = None if f.default_factory is MISSING else f.default_factory()
    meta = f.metadata
    return Flag(f.name, _members(hint), default, meta.get("help", ""), meta.get("unit") or "",
                tuple(meta.get("bounds") or ()), tuple(meta.get("choices") or _literals(hint)))


def _members(hint: Any) -> tuple[Any, ...]:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return tuple(m for part in typing.get_args(hint) for m in _members(part))
    if origin is typing.Literal:
        return tuple({type(value) for value in typing.get_args(hint)})
    return (hint,)


def _literals(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()


def _scalar(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _show(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(str(v) for v in value) or "none"
    return "none" if value is None or value == {} else str(value)
