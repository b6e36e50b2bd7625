"""`Spec`: what to load, how to bag it, which model to fit, what to report, as one hashable value.

The command line parses into a Spec, notebooks and apps build them, caches are keyed by them, and
every result carries its own, so a map can always be made again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from workbench.checks import InputError, choose, reject, require

SCHEMA_VERSION = 2
# Of Specs of version 1: what these models took where an option was not given.
_FORMER = {"overdispersion": "none", "nugget": 0.0}
# Fields that came later: left out where they say nothing new, so that former keys stay.
_LATER = {"folds_scheme": "random", "rescale_to_totals": False}
_FORMER_MODELS = ("vbagg", "centre-point", "constant")


class Settings(Mapping):
    """An immutable, hashable mapping of names to plain values (numbers, text, tuples, mappings).

    Parameters
    ----------
    items : Mapping or iterable of pairs
        Lists become tuples and nested mappings become Settings, so that nothing in it can change.
    """

    def __init__(self, items: Any = ()):
        plain = dict(items)
        for name in plain:
            require(isinstance(name, str), f"names of settings are text, got {name!r}")
        self._items = {name: _freeze(name, plain[name]) for name in sorted(plain)}

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def plain(self) -> dict[str, Any]:
        """The same as dictionaries and lists of the caller's own."""
        return _thaw(self)


@dataclass(frozen=True)
class Spec:
    """What to load, how to bag it, which model to fit and what to report: one hashable value.

    Parameters
    ----------
    dataset : str
        A name listed by ``workbench datasets``; ``"polygons"`` for files of polygons and rasters
        (``dataset_options`` are then the arguments of `workbench.bag_polygons`, with paths); or
        the path of a bagged dataset stored as NetCDF (``.nc``).
    dataset_options : Mapping
        Arguments of the dataset's loader.
    level : str, optional
        Merge the areas up to this administrative level before fitting.
    areas : int, optional
        Merge neighbouring areas until this many are left.
    model : str
        A name listed by ``workbench models``.
    options : Mapping
        Options of the model.
    hyperparameters : Mapping
        Hyperparameters held at a value, by name, in natural units; the others are learnt.
    quantiles : tuple of float
        Levels of the quantile maps, strictly between 0 and 1, ascending.
    threshold : float, optional
        Map the probability that the rate exceeds this value (units of the rate).
    area_effect : bool
        Whether the maps include what is particular to each area, see ``Fit.at``.
    folds : int
        Folds of held-out-area cross-validation; 0 for none.
    folds_scheme : str
        Which areas are held out together: "random", "blocks" (compact on the map), "stratified", or
        a label of the areas, see `workbench.evaluation.folds`.
    rescale_to_totals : bool
        Whether the map's values add up to the observed total of every area, see
        ``preserve_totals`` of ``Fit.to_dataset``.
    seed : int
        Seed of every random choice.

    Examples
    --------
    >>> spec = Spec(dataset="swiss-roll", options=dict(link="square"))
    >>> Spec.from_json(spec.to_json()) == spec
    True
    """

    dataset: str
    dataset_options: Mapping = field(default_factory=Settings)
    level: str | None = None
    areas: int | None = None
    model: str = "vbagg"
    options: Mapping = field(default_factory=Settings)
    hyperparameters: Mapping = field(default_factory=Settings)
    quantiles: tuple[float, ...] = (0.05, 0.5, 0.95)
    threshold: float | None = None
    area_effect: bool = False
    folds: int = 0
    folds_scheme: str = "random"
    rescale_to_totals: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("dataset_options", "options", "hyperparameters"):
            given = getattr(self, name)
            if not isinstance(given, Mapping):
                raise reject(f"{name} as a mapping of names to values", repr(given),
                             'write {"name": value}')
            object.__setattr__(self, name, Settings(given))
        for name in ("dataset", "model", "folds_scheme"):
            _is(name, getattr(self, name), (str,), "a name")
        _is("level", self.level, (str, type(None)), "the name of a level, or null")
        _is("areas", self.areas, (int, type(None)), "a whole number, or null")
        _is("area_effect", self.area_effect, (bool,), "true or false")
        _is("rescale_to_totals", self.rescale_to_totals, (bool,), "true or false")
        _is("folds", self.folds, (int,), "a whole number (0 for no cross-validation)")
        _is("seed", self.seed, (int,), "a whole number")
        _is("threshold", self.threshold, (int, float, type(None)), "a rate, or null")
        if self.threshold is not None:
            object.__setattr__(self, "threshold", _freeze("threshold", float(self.threshold)))
        require(self.areas is None or self.areas > 0, f"areas must be at least 1, got {self.areas}")
        require(self.level is None or self.areas is None,
                "level and areas both say how to merge; give one of them")
        require(self.folds == 0 or self.folds >= 2,
                f"folds must be 0 (none) or at least 2, got {self.folds}")
        require(self.seed >= 0, f"seed must be 0 or more, got {self.seed}")
        object.__setattr__(self, "quantiles", _levels(self.quantiles))

    def to_json(self, indent: int | None = 2) -> str:
        """The Spec as JSON text; `from_json` reads it back to an equal Spec."""
        content = {"version": SCHEMA_VERSION}
        content |= {f.name: _thaw(getattr(self, f.name)) for f in fields(self)
                    if (f.name, getattr(self, f.name)) not in _LATER.items()}
        return json.dumps(content, indent=indent, sort_keys=indent is None, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Spec:
        """Read a Spec from JSON text, refusing anything that it does not know.

        Raises
        ------
        InputError
            If the text is not JSON, a key is unknown, or the version is another one.
        """
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"the Spec is not valid JSON: {error}") from error
        if not isinstance(content, dict):
            raise reject("a JSON object", type(content).__name__, 'write {"dataset": ...}')
        found = content.pop("version", SCHEMA_VERSION)
        require(found in (1, SCHEMA_VERSION), f"the Spec has version {found!r}, this workbench "
                f"reads versions 1 and {SCHEMA_VERSION}; write it again with this version")
        names = [f.name for f in fields(cls)]
        for name in content:
            choose("Spec key", name, names)
        require("dataset" in content, 'the Spec lacks "dataset"')
        if found == 1 and content.get("model", "vbagg") in _FORMER_MODELS:
            given = content.get("options", {})
            # What is no mapping is refused below, in words.
            content["options"] = _FORMER | given if isinstance(given, dict) else given
        return cls(**content)

    @classmethod
    def read(cls, path: str | Path) -> Spec:
        """Read a Spec from a JSON file."""
        return cls.from_json(existing("Spec", path).read_text(encoding="utf-8"))

    @property
    def key(self) -> str:
        """The sha256 of the Spec's canonical JSON: equal Specs have equal keys on any machine."""
        return hashlib.sha256(self.to_json(indent=None).encode()).hexdigest()


def existing(role: str, path: str | Path, directory: bool = False) -> Path:
    """The path if there is a file, else an error that names its role.

    Parameters
    ----------
    role : str
        What the file is for.
    path : str or Path
        Its path.
    directory : bool
        Whether a directory will do, as of a FileGDB.

    Raises
    ------
    InputError
        If there is no such file, or it is a directory and none will do.
    """
    path = Path(path)
    require(path.exists(), f"the {role} file {str(path)!r} does not exist; "
            "check the name and the folder you run from")
    require(directory or path.is_file(), f"the {role} {str(path)!r} is a directory; name the file "
            "in it")
    return path


def _freeze(name: str, value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return Settings(value)
    if isinstance(value, list | tuple):
        return tuple(_freeze(name, v) for v in value)
    if isinstance(value, float) and not math.isfinite(value):
        raise reject(f"a finite number for {name}", str(value), "leave it out, or use null")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise reject(f"a number, text, list or mapping for {name}", type(value).__name__,
                 "a Spec holds only what JSON can")


def _thaw(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _thaw(v) for name, v in value.items()}
    return [_thaw(v) for v in value] if isinstance(value, tuple) else value


def _is(name: str, value: Any, types: tuple[type, ...], expected: str) -> None:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise reject(f"{name} as {expected}", repr(value), "change it in the Spec")


def _levels(quantiles: Any) -> tuple[float, ...]:
    if not isinstance(quantiles, list | tuple):
        raise reject("quantiles as a list of levels", repr(quantiles), "write [0.05, 0.5, 0.95]")
    for level in quantiles:
        _is("quantiles", level, (int, float), "numbers between 0 and 1")
    inside = all(0 < level < 1 for level in quantiles)
    require(inside and list(quantiles) == sorted(set(quantiles)),
            f"quantiles must lie strictly between 0 and 1 and ascend, got {list(quantiles)}")
    return tuple(float(level) for level in quantiles)
