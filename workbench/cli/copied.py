"""A line of `workbench disaggregate` under another verb: what has no use there is named."""

from __future__ import annotations

import copy
import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo

MAPS = (".nc", ".tif", ".tiff", ".gpkg", ".parquet", ".csv")        # suffixes of maps


def line_of(other: Callable) -> Callable[[Callable], Callable]:
    """Let a command take the whole line of another: flags that it lacks are there, but hidden.

    Parameters
    ----------
    other : callable
        The other command, as `takes` returns it.

    Returns
    -------
    callable
        Decorates a command with an argument ``unused``, which gets those that were given, as text.
    """
    theirs = inspect.signature(other).parameters.values()

    def decorate(command: Callable) -> Callable:
        own = {name: one for name, one in inspect.signature(command).parameters.items()
               if name != "unused"}
        taken = {text for one in own.values() for text in _texts(one)}
        rest = {f"unused_{one.name}": one for one in theirs
                if _texts(one) and not taken.intersection(_texts(one))}

        @functools.wraps(command)
        def called(**given):
            values = {name: given.pop(name) for name in rest}
            return command(**given, unused=[text for name, value in values.items()
                                            for text in _written(rest[name], value)])

        hidden = [one.replace(name=name, annotation=_hidden(one)) for name, one in rest.items()]
        called.__signature__ = inspect.Signature([*own.values(), *hidden])
        called.__annotations__ = {one.name: one.annotation for one in (*own.values(), *hidden)}
        return called

    return decorate


def tell_unused(what: str, unused: list[str]) -> None:
    """Say in one line which options of a map are not used.

    Parameters
    ----------
    what : str
        What is made instead, such as ``a check``.
    unused : list of str
        The options as they were given.
    """
    if unused:
        typer.echo(f"{what} makes no map: {', '.join(unused)} not used", err=True)


def not_the_map(out: Path, what: str, formats: tuple[str, ...]) -> Path:
    """Where a result goes if the line that was copied names the file of a map.

    Parameters
    ----------
    out : Path
        As given.
    what : str
        The result in a word, such as ``comparison``.
    formats : tuple of str
        Suffixes of the result.

    Returns
    -------
    Path
        As given, if it is no map, nor has the suffix of one; else a file beside it.
    """
    suffix = out.suffix.lower()
    if not _is_map(out) if suffix in formats else suffix not in MAPS:
        return out
    ending = suffix if suffix in formats else formats[0]
    other = out.with_name(f"{out.stem.removesuffix('.cog')}.{what}{ending}")
    typer.echo(f"--out {out} is for a map: the {what} goes to {other}", err=True)
    return other


def _is_map(path: Path) -> bool:
    """Whether a file is there and holds a map, by what it says of itself."""
    from workbench.geo.tables import metadata_of  # loads xarray: help goes without

    if not path.is_file():
        return False
    if path.suffix.lower() != ".nc":
        return path.suffix.lower() == ".csv" and metadata_of(path).is_file()
    import h5netcdf

    try:
        with h5netcdf.File(path, "r") as file:
            spec = json.loads(file.attrs.get("spec", "{}"))
    except (OSError, ValueError):
        return False                    # another format of NetCDF, or none
    return isinstance(spec, dict) and bool(spec) and spec.get("command") != "rehearse"


def _texts(one: inspect.Parameter) -> tuple[str, ...]:
    """The flags of a parameter as typed; none of an argument or a context."""
    info = next((part for part in get_args(one.annotation) if isinstance(part, OptionInfo)), None)
    if info is None:
        return ()
    # typer keeps the first name of an annotated option where its default would be.
    told = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
    return tuple(text for pair in told for text in pair.split("/")) or (
        f"--{one.name.replace('_', '-')}",)


def _hidden(one: inspect.Parameter) -> Any:
    kind, info = get_args(one.annotation)
    secret = copy.copy(info)
    first, *more = _texts(one)
    secret.hidden = True
    secret.default = f"{first}/{_off(one)}" if kind is bool else first
    secret.param_decls = () if kind is bool else tuple(more)
    return Annotated[kind, secret]


def _off(one: inspect.Parameter) -> str:
    """The flag that switches off what is on by itself."""
    first, *more = _texts(one)
    return more[0] if more else f"--no-{first[2:]}"


def _written(one: inspect.Parameter, value: Any) -> list[str]:
    flag = _texts(one)[0]
    if value in (one.default, None, [], ()):
        return []
    if isinstance(value, bool):
        return [flag if value else _off(one)]
    return [f"{flag} {part}" for part in (value if isinstance(value, list) else [value])]
