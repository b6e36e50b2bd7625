"""The commands and the Python that make a map again, written out from its Spec."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from workbench.gp.models.registry import AUTO, ENTRIES
from workbench.pipeline.base import BaseSpec
from workbench.pipeline.inputs import is_file
from workbench.pipeline.own_files import KINDS, POINTS, POLYGONS, Kind
from workbench.pipeline.settings import thaw
from workbench.pipeline.spec import Spec
from workbench.reporting.shell import flag_of, in_lines, numbers

_POSITIONAL = {"smooth": ("table",), "mediate": ("bags", "targets"), "combine": ("sources",),
               "predict": ("fit",), "aggregate": ("map",)}
_ONE_MODEL = ("smooth", "predict", "aggregate")         # whose model nobody chooses
_FLAGS = {"hyperparameters": "fix", "folds": "cv"}      # that are called otherwise
_REPEATED = ("hyperparameters", "trust")                # as NAME=VALUE
_ROOM = 88                                              # columns of a call in one line


@dataclass(frozen=True)
class Steps:
    """Python that makes a map again, in steps; each may be empty."""

    data: str
    model: str
    fit: str
    maps: str
    scores: str


def command_of(spec: BaseSpec, out: str = "map.nc") -> str:
    """The command line that makes the map of a Spec.

    Parameters
    ----------
    spec : BaseSpec
        Of any command.
    out : str
        File to write.

    Returns
    -------
    str
        In lines that a shell takes; empty for a Spec that flags cannot say, such as one with
        covariates that have names of their own, or a dataset with a seed.

    Examples
    --------
    >>> print(command_of(Spec("swiss-roll", options=dict(link="square"), folds=5)))
    workbench disaggregate --dataset swiss-roll --model vbagg --link square --cv 5 --out map.nc
    """
    words, own = [[]], {f.name: f for f in fields(spec)}
    for name in _POSITIONAL.get(spec.command, ()):
        value = getattr(spec, name)
        words[0] += list(value) if isinstance(value, tuple) else [value]
    flags: list[tuple[str, Any]] = []
    done = {*_POSITIONAL.get(spec.command, ()), "options", "model"}
    if isinstance(spec, Spec):
        options = spec.dataset_options.plain()
        if spec.dataset not in KINDS:
            flags.append(("dataset", spec.dataset))
        covariates = options.pop("covariates", [])
        if isinstance(covariates, dict):
            return ""
        flags += [(name, options.pop(name)) for name in ("polygons", "value") if name in options]
        flags += [("covariates", path) for path in
                  ([covariates] if isinstance(covariates, str) else covariates)]
        flags += options.items()
        done |= {"dataset", "dataset_options"}
        if any(name in own or name in _options(spec.model) for name in options):
            return ""           # the flag would be taken for one of the command, or the model
    if at := thaw(getattr(spec, "at_options", {})):
        done |= {"at", "at_options"}
        there = at.pop("covariates", [])
        named = [f"{k}={v}" for k, v in there.items()] if isinstance(there, dict) else there
        flags += [("at_covariates", one) for one in named]
        flags += [(f"at_{name}", value) for name, value in at.items()]
    flags += [("model", spec.model)] * (spec.command not in _ONE_MODEL)
    flags += spec.options.plain().items()
    for name, entry in own.items():
        value = getattr(spec, name)
        if name in done or _is_default(entry, value):
            continue
        if name in _REPEATED:
            told = {k: numbers(v) for k, v in thaw(value).items()}
            if None in told.values():
                return ""
            flags += [(_FLAGS.get(name, name), f"{k}={v}") for k, v in told.items()]
        elif isinstance(value, tuple) and entry.type == "tuple[str, ...]":
            flags += [(name, one) for one in value]
        else:           # of a switch that is on by itself: the other flag
            flags.append((f"no_{name}", True) if value is False
                         else (_FLAGS.get(name, name), thaw(value)))
    texts = [flag_of(name, value) for name, value in flags]
    if any(text is None for text in texts):
        return ""
    start = " ".join(["workbench", spec.command, *map(shlex.quote, words[0])])
    return in_lines([start, *texts, f"--out {shlex.quote(out)}"])


def _options(model: str) -> list[str]:
    from workbench.labelled import make_model

    return [entry.name for entry in fields(make_model(model).options)]


def steps_of(spec: BaseSpec, folder: Path | None = None) -> Steps:
    """The Python of a Spec: data, model, fit, maps and scores as explicit calls.

    Parameters
    ----------
    spec : BaseSpec
        Of any command. Those that learn from totals are written out; of the others the Spec is.
    folder : Path, optional
        Folder that the code will be run in: relative paths of files that are there are written
        as seen from it.

    Returns
    -------
    Steps
        With ``import workbench as wb`` taken for granted.

    Examples
    --------
    >>> print(steps_of(Spec("swiss-roll")).model)
    model = wb.VBAgg(seed=0)
    """
    def seen(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: seen(one) for name, one in value.items()}
        if isinstance(value, list):
            return [seen(one) for one in value]
        return _from(value, folder) if folder is not None and isinstance(value, str) else value

    if not isinstance(spec, Spec) or spec.dataset == POINTS:
        given = {f.name: seen(thaw(getattr(spec, f.name))) for f in fields(spec)
                 if not _is_default(f, getattr(spec, f.name))}
        return Steps("", f"spec = {call(f'wb.{type(spec).__name__}', given)}", "",
                     "maps = wb.run(spec)", "")
    options = spec.dataset_options.plain()
    if spec.dataset in KINDS:
        data = f"ds = {_bagged(KINDS[spec.dataset], options, seen)}"
    elif is_file(spec.dataset):
        data = f"ds = wb.read({seen(spec.dataset)!r})"
    else:
        data = f"ds = {call('wb.load', options, repr(spec.dataset))}"
    if spec.level is not None:
        data += (f"\nif ds.attrs.get('level') != {spec.level!r}:"
                 f"\n    ds = wb.merge(ds, {spec.level!r})")
    if spec.areas is not None:
        data += f"\nds = wb.merge_to(ds, {spec.areas})"
    where, own = "ds", spec.at_options.plain()
    if spec.at is not None:
        where = "there"
        data += "\nthere = " + (_bagged(KINDS[POLYGONS], own, seen) if own else (
            f"wb.read({seen(spec.at)!r})" if is_file(spec.at) else f"wb.load({spec.at!r})"))
    wanted = {"quantiles": thaw(spec.quantiles)}
    wanted |= {} if spec.threshold is None else {"threshold": thaw(spec.threshold)}
    wanted |= {"preserve_totals": True, "seed": spec.seed} if spec.rescale_to_totals else {}
    further = ("area_effect", "information", "components", "draws")
    wanted |= {f: getattr(spec, f) for f in further if getattr(spec, f) != getattr(Spec, f)}
    wanted |= {"seed": spec.seed} if spec.draws else {}
    fit = "fit = model.fit(ds)"
    if spec.mixture:
        fit = f"fit = model.condition(ds, {thaw(spec.hyperparameters)!r})"
    return Steps(data, f"model = {model_call(spec)}", fit,
                 f"maps = {call('fit.to_dataset', wanted, where)}", _scores(spec))


def _bagged(kind: Kind, options: dict, seen: Callable) -> str:
    """The call that bags files; of polygons without a value the one of places."""
    first = ("polygons", "children", "value", "covariates", "weight")
    files = {kind.renamed.get(name, name): seen(options[name]) if name != "value"
             else options[name] for name in first if name in options}
    rest = {kind.renamed.get(name, name): seen(value) if name in kind.files else value
            for name, value in options.items()}
    name = kind.reader(options).__name__ if "value" in options else "polygon_places"
    return call(f"wb.{name}", files | {k: v for k, v in rest.items() if k not in files})


def model_call(spec: BaseSpec) -> str:
    """The call that makes the model of a Spec.

    Parameters
    ----------
    spec : BaseSpec
        Of any command.

    Returns
    -------
    str
        Such as ``wb.VBAgg(kernel='linear+matern32', seed=0)``.
    """
    from workbench.gp.models.options import non_defaults
    from workbench.pipeline.problems import model_of

    options = {name: value for name, value in non_defaults(model_of(spec).options).items()}
    options = {"seed": spec.seed} | {name: thaw(v) for name, v in options.items()}
    flat = spec.model == "constant"
    return call(class_of(spec.model),
                {name: v for name, v in options.items() if not (flat and name == "kernel")})


def class_of(model: str) -> str:
    """The class of a model, as users write it: ``wb.VBAgg``."""
    return f"wb.{({AUTO.name: AUTO} | ENTRIES)[model].cls}"


def call(name: str, keywords: Mapping[str, Any], *first: str) -> str:
    """A call with its keywords, in one line or with one keyword to a line.

    Parameters
    ----------
    name : str
        What is called.
    keywords : Mapping
        Plain values by name.
    *first : str
        Positional arguments, as code.

    Returns
    -------
    str
        Code.
    """
    parts = [*first]
    parts += [f"{key}={value!r}" for key, value in keywords.items() if key.isidentifier()]
    others = {key: value for key, value in keywords.items() if not key.isidentifier()}
    parts += [f"**{others!r}"] if others else []
    line = f"{name}({', '.join(parts)})"
    if len(line) <= _ROOM:
        return line
    return f"{name}(\n    " + ",\n    ".join(parts) + ",\n)"


def _scores(spec: Spec) -> str:
    if not spec.folds:
        return ""
    from workbench.gp.models.options import non_defaults
    from workbench.pipeline.problems import model_of
    from workbench.pipeline.scoring import flat_beside

    flat = non_defaults(flat_beside(model_of(spec)).options)
    return call("wb.cross_validate", {
        "folds": spec.folds, "scheme": spec.folds_scheme, "seed": spec.seed}, "model", "ds",
        f"constant={call('wb.Constant', flat)}").join(("result = ", ""))


def _is_default(entry, value: Any) -> bool:
    if entry.default is not MISSING:
        return value == entry.default
    return entry.default_factory is not MISSING and value == entry.default_factory()


def _from(text: str, folder: Path) -> str:
    """A relative path of a file that is there, as seen from another folder."""
    name, given, path = text.rpartition("=")
    try:
        there = Path(path).exists() and not Path(path).is_absolute() and path not in ("", ".")
    except OSError:                     # a text too long for a name
        return text
    return f"{name}{given}{Path(os.path.relpath(path, folder)).as_posix()}" if there else text


