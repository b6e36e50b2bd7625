"""Flags that several commands share, and flags that are the fields of a Spec."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from workbench.cli.helping import ADVANCED, DATA, MODEL, OUTPUT, HelpAll
from workbench.pipeline import flags
from workbench.pipeline.base import BaseSpec

_GROUPS = {
    "model": MODEL, "hyperparameters": MODEL, "seed": ADVANCED, "folds": MODEL,
    "folds_scheme": MODEL, "trust": MODEL, "quantiles": OUTPUT, "threshold": OUTPUT,
    "area_effect": OUTPUT, "rescale_to_totals": OUTPUT, "cells": OUTPUT, "at": OUTPUT,
    "task": OUTPUT, "information": OUTPUT, "components": OUTPUT, "draws": OUTPUT,
    "truths": MODEL, "truth": MODEL, "skill": OUTPUT, "samples": ADVANCED,
    "residuals": OUTPUT, "ranks": OUTPUT,
}
_NAMES = {"hyperparameters": "--fix", "folds": "--cv"}      # of flags that are called otherwise
_HELP_ALL = inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False,
                              annotation=HelpAll)


def takes(**groups: Callable) -> Callable[[Callable], Callable]:
    """Give a command flags that it shares with others, and ``--help-all``.

    Parameters
    ----------
    **groups : callable
        By argument of the command: a function whose parameters become flags of the command, which
        gets what the function makes of them.

    Returns
    -------
    callable
        Decorates the command.
    """
    flat = {name: inspect.signature(group, eval_str=True).parameters
            for name, group in groups.items()}

    def decorate(command: Callable) -> Callable:
        @functools.wraps(command)
        def called(help_all: bool, **given):
            made = {name: groups[name](**{flag: given.pop(flag) for flag in theirs})
                    for name, theirs in flat.items()}
            return command(**given, **made)

        own = inspect.signature(command, eval_str=True).parameters
        every = [flag for name, one in own.items()
                 for flag in flat.get(name, {name: one}).values()]
        spread = [flag.replace(kind=inspect.Parameter.KEYWORD_ONLY) for flag in (*every, _HELP_ALL)]
        called.__signature__ = inspect.Signature(spread)
        called.__annotations__ = {flag.name: flag.annotation for flag in spread}
        return called

    return decorate


def fields_of(kind: type[BaseSpec], arguments: Iterable[str] = (), without: Iterable[str] = ()
              ) -> Callable[..., dict[str, Any]]:
    """For `takes`: the fields of a Spec as flags, with the help of its docstring.

    Parameters
    ----------
    kind : type of BaseSpec
        Its fields become flags, but for the options of the model.
    arguments : iterable of str
        Fields that are given by position.
    without : iterable of str
        Further fields that are not flags.

    Returns
    -------
    callable
        Of the flags; returns the values of the fields by name.
    """
    found = flags.of_signature(kind, {"options", *without})
    required = [p.name for p in inspect.signature(kind).parameters.values() if p.default is p.empty]

    def read(**given):
        return {name: _value(found[name], value) for name, value in given.items()}

    read.__signature__ = inspect.Signature([
        _parameter(flag, name in required, name in arguments) for name, flag in found.items()])
    return read


def _parameter(flag: flags.Flag, required: bool, positional: bool) -> inspect.Parameter:
    """A field as typer wants it."""
    repeated, pairs = tuple[str, ...] in flag.types, Mapping in flag.types
    kind, default = typing.Union[flag.types], flag.default      # noqa: UP007
    if _several(flag):
        kind, default = list[float] | None, None
    elif tuple[float, ...] in flag.types:
        kind, default = str, ",".join(map(str, default))
    elif repeated or pairs:
        kind, default = list[str] if required else list[str] | None, None
    about = {"help": f"{flag.help}.", "rich_help_panel": _GROUPS.get(flag.name, DATA)}
    if positional:
        info = typer.Argument(**about)
    else:
        name = _NAMES.get(flag.name, f"--{flag.name.replace('_', '-')}")
        if flag.default is True:
            name += f"/--no-{name.removeprefix('--')}"
        info = typer.Option(name, **about,
                            metavar="NAME=VALUE" if pairs else "TEXT" if repeated else None)
    return inspect.Parameter(flag.name, inspect.Parameter.KEYWORD_ONLY,
                             default=inspect.Parameter.empty if required else default,
                             annotation=Annotated[kind, info])


def _value(flag: flags.Flag, value: Any) -> Any:
    if Mapping in flag.types:
        return flags.named_values(_NAMES.get(flag.name, f"--{flag.name}"), value or [])
    if _several(flag):
        return tuple(value) if value else None
    if tuple[float, ...] in flag.types:
        return flags.convert(flag, value)
    return (value or ()) if tuple[str, ...] in flag.types else value


def _several(flag: flags.Flag) -> bool:
    """Whether the flag is a number that may be given more than once."""
    return {float, tuple[float, ...]} <= set(flag.types)
