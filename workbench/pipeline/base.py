"""What the Specs of all commands have in common: checks, JSON, and a key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from workbench.checks import InputError, choose, reject, require
from workbench.gp.models.retired import without_retired
from workbench.pipeline.settings import Settings, checked, thaw

SCHEMA_VERSION = 2
FIRST = "disaggregate"              # the command of Specs that name none
REGION = "polygons"                 # where a map is wanted: files of another region
# How an app came by the hyperparameters, and which files belong beside it; nothing to be done.
REMARKS = ("status", "files")
# Of Specs of version 1: what these models took where an option was not given.
_FORMER = {"overdispersion": "none", "nugget": 0.0}
_FORMER_MODELS = ("vbagg", "centre-point", "constant")


@dataclass(frozen=True, kw_only=True)
class BaseSpec:
    """What the Specs of all commands say: the model, and what is mapped of its fit.

    Parameters
    ----------
    model : str
        The model, see `workbench models`.
    options : Mapping
        Options of the model.
    hyperparameters : Mapping
        Fix a hyperparameter at a value: NAME=VALUE, in natural units; repeat. The others are
        learnt.
    quantiles : tuple of float
        Levels of the quantile maps, strictly between 0 and 1, ascending.
    threshold : float or tuple of float, optional
        Map the probability that the field exceeds this value (in its units); repeat for more.
    seed : int
        Seed of every random choice.
    """

    model: str
    options: Mapping = field(default_factory=Settings)
    hyperparameters: Mapping = field(default_factory=Settings)
    quantiles: tuple[float, ...] = (0.05, 0.5, 0.95)
    threshold: float | tuple[float, ...] | None = None
    seed: int = 0

    command: ClassVar[str]
    # Fields that came later, with what was meant before: left out where that is said, so that
    # former keys stay, and taken where they are not there.
    later: ClassVar[Mapping[str, Any]] = {}

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = checked(entry.name, getattr(self, entry.name), entry.type)
            object.__setattr__(self, entry.name, value)
        require(self.seed >= 0, f"seed must be 0 or more, got {self.seed}")
        require(getattr(self, "level", None) is None or getattr(self, "areas", None) is None,
                "level and areas both say how to merge; give one of them")

    @property
    def mixture(self) -> bool:
        """Whether weights and hyperparameters of a mixture's models are given: none is learnt."""
        return self.model == "auto" and bool(self.hyperparameters) and all(
            isinstance(one, Mapping) for one in self.hyperparameters.plain().values())

    def _makes_no_map(self, what: str) -> None:
        require(self.threshold is None and self.quantiles == BaseSpec.quantiles,
                f"{what}; leave out quantiles and threshold")

    def to_json(self, indent: int | None = 2) -> str:
        """The Spec as JSON text; `from_json` reads it back to an equal Spec.

        Parameters
        ----------
        indent : int, optional
            Spaces of indentation; None for the canonical form in one line.

        Returns
        -------
        str
            With the command, unless it is ``disaggregate``.
        """
        content: dict[str, Any] = {"version": SCHEMA_VERSION}
        content |= {} if self.command == FIRST else {"command": self.command}
        content |= {f.name: thaw(getattr(self, f.name))
                    for f in sorted(fields(self), key=lambda f: f.kw_only)
                    if (f.name, getattr(self, f.name)) not in self.later.items()}
        return json.dumps(content, indent=indent, sort_keys=indent is None, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a Spec from JSON text, refusing anything that it does not know.

        Parameters
        ----------
        text : str
            As `to_json` writes it. Without a ``command`` it is of ``disaggregate``. A ``status``,
            which the apps write (preview, fitted, ...), is a remark.

        Returns
        -------
        BaseSpec
            Of the class that belongs to the command; of `BaseSpec` itself any command will do.

        Raises
        ------
        InputError
            If the text is not JSON, a key is unknown, or the version or command is another one.
        """
        try:
            content = json.loads(text, object_pairs_hook=_once)
        except json.JSONDecodeError as error:
            raise InputError(f"the Spec is not valid JSON: {error}") from error
        if not isinstance(content, dict):
            raise reject("a JSON object", type(content).__name__, 'write {"dataset": ...}')
        for remark in REMARKS:
            content.pop(remark, None)
        found = content.pop("version", SCHEMA_VERSION)
        require(found in (1, SCHEMA_VERSION), f"the Spec has version {found!r}, this workbench "
                f"reads versions 1 and {SCHEMA_VERSION}; write it again with this version")
        kinds = {kind.command: kind for kind in BaseSpec.__subclasses__()}
        kind = kinds[choose("command of a Spec", content.pop("command", FIRST), kinds)]
        require(issubclass(kind, cls), f"the Spec is one of `workbench {kind.command}`, which is "
                "not accepted here; give another, or use that command")
        content = {**kind.later, **content}
        for name in content:
            choose("Spec key", name, [f.name for f in fields(kind)])
        for f in fields(kind):
            require(f.name in content or (f.default, f.default_factory) != (MISSING, MISSING),
                    f'the Spec lacks "{f.name}"')
        if found == 1 and content.get("model", "vbagg") in _FORMER_MODELS:
            given = content.get("options", {})
            # What is no mapping is refused below, in words.
            content["options"] = _FORMER | given if isinstance(given, dict) else given
        if isinstance(content.get("options"), dict):
            model = content.get("model", getattr(kind, "model", ""))
            content["options"] = without_retired(model, content["options"])
        return kind(**content)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a Spec from a JSON file, see `from_json`.

        Parameters
        ----------
        path : str or Path
            As `to_json` writes it.

        Returns
        -------
        BaseSpec
            Of the class that belongs to the command.

        Raises
        ------
        InputError
            If the file is missing, no text, or no Spec.
        """
        try:
            text = existing("Spec", path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is no Spec, which is JSON; a map carries its own where it is "
                             "NetCDF (.nc)") from error
        return cls.from_json(text)

    @property
    def source(self) -> str:
        """What is read: the first field, as text."""
        first = getattr(self, next(f.name for f in fields(self) if not f.kw_only))
        return first if isinstance(first, str) else ", ".join(first)

    @property
    def key(self) -> str:
        """The sha256 of the Spec's canonical JSON: equal Specs have equal keys on any machine."""
        return hashlib.sha256(self.to_json(indent=None).encode()).hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object none of whose keys is there twice, of which one would be lost."""
    found = dict(pairs)
    for name in found:
        require(len(found) == len(pairs) or [key for key, _ in pairs].count(name) == 1,
                f'the Spec has "{name}" more than once in one object; leave one')
    return found


def check_region(at: str | None, options: Mapping) -> None:
    """Refuse options of another region's files where ``at`` names none."""
    require(not options or at == REGION, f"at_options are of files of polygons, at={REGION!r}; "
            f"got at={at!r}")


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

    Returns
    -------
    Path

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
