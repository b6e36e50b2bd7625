"""Flags derived from options and signatures: conversion, suggestions, help."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from workbench.checks import InputError
from workbench.pipeline import flags
from workbench.pipeline.docstrings import parameters_said


@dataclass(frozen=True)
class Options:
    link: str = field(default="exp", metadata={"help": "the link", "choices": ("exp", "square")})
    inducing: int = field(default=100, metadata={"help": "how many", "bounds": (1, 10)})
    nugget: float | str = field(default=0.0, metadata={"unit": "link scale"})
    bound: str | None = None
    ard: bool = False
    sides: tuple[int, ...] = (1, 2)
    initial: Mapping = field(default_factory=dict)
    kernel: object = "rbf"
    missing: Literal["error", "drop"] = "error"


def converted(name: str, text: str) -> Any:
    return flags.convert(flags.of_options(Options)[name], text)


@pytest.mark.parametrize("name, text, value", [
    ("link", "square", "square"), ("link", "2", "2"), ("inducing", "7", 7), ("nugget", "0.2", 0.2),
    ("nugget", "learn", "learn"), ("bound", "none", None), ("bound", "jensen", "jensen"),
    ("ard", "true", True), ("ard", "false", False), ("sides", "3,4", (3, 4)),
    ("initial", "mean=-4,area.std=0.1", {"mean": -4, "area.std": 0.1}),
    ("kernel", "linear+matern32", "linear+matern32"), ("missing", "drop", "drop"),
])
def test_text_becomes_a_value(name, text, value):
    found = converted(name, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("name, text", [("inducing", "many"), ("inducing", "1.5"), ("ard", "2")])
def test_text_of_the_wrong_type(name, text):
    with pytest.raises(InputError, match=f"--{name} expects .*got '{text}'"):
        converted(name, text)


def test_pairs():
    arguments = ["--link", "exp", "--nugget=-0.5", "--ard", "--sides", "1,2", "--no-header"]
    assert flags.pairs(arguments) == {
        "link": "exp", "nugget": "-0.5", "ard": "true", "sides": "1,2", "no_header": "true"}
    with pytest.raises(InputError, match="unexpected argument 'stray'"):
        flags.pairs(["--link", "exp", "stray"])
    with pytest.raises(InputError, match="--link is given twice"):
        flags.pairs(["--link", "exp", "--link", "square"])


def test_pairs_of_a_name_and_one_or_several_numbers():
    read = flags.named_values("--fix", ["rbf.lengthscale=2.5,3", "mean = 1", "at=a,b"])
    assert read == {"rbf.lengthscale": (2.5, 3), "mean": 1, "at": "a,b"}
    assert converted("initial", "rbf.lengthscale=2.5,3,mean=1") == {
        "rbf.lengthscale": (2.5, 3), "mean": 1}
    with pytest.raises(InputError, match="--fix is given twice for 'mean'"):
        flags.named_values("--fix", ["mean=1", "mean=2"])


def test_assign_suggests_the_nearest():
    groups = {"options": flags.of_options(Options)}
    given = {"link": "square", "no_ard": "true"}
    assert flags.assign(given, groups, []) == {"options": {"link": "square", "ard": False}}
    with pytest.raises(InputError, match="'--inducin' is unknown; did you mean '--inducing'"):
        flags.assign({"inducin": "3"}, groups, [])
    with pytest.raises(InputError, match="did you mean '--polygons'"):
        flags.assign({"polygon": "3"}, groups, ["polygons"])
    # A name that several groups and the command share is listed once.
    shared = {"options": groups["options"], "dataset_options": groups["options"]}
    with pytest.raises(InputError) as error:
        flags.assign({"nothing": "3"}, shared, ["link", "polygons"])
    listed = str(error.value).split("choose from ")[1].split(", ")
    assert listed == sorted(set(listed)) and {"--link", "--inducing", "--polygons"} <= set(listed)


def test_of_many_options_the_nearest_are_named_and_not_all():
    many = {name: flags.Flag(name, (int,), None) for name in (
        "population", "resolution_x", "resolution_y", *(f"option_{k}" for k in range(40)))}
    with pytest.raises(InputError) as error:
        flags.assign({"resolution": "3"}, {"options": many}, ["link"])
    assert str(error.value) == (
        "option '--resolution' is unknown; did you mean '--resolution-y' or '--resolution-x' or "
        "'--population'? --help lists the usual options, --help-all every one")
    with pytest.raises(InputError, match="'--zzz' is unknown; --help lists the usual options"):
        flags.assign({"zzz": "3"}, {"options": many}, ["link"])


def test_signatures_and_defaults():
    def load(level: str = "district", *, year: int | None = None, **rest: str) -> None: ...

    found = flags.of_signature(load, without=["level"])
    assert list(found) == ["year"]
    assert flags.convert(found["year"], "2020") == 2020
    known = flags.of_defaults({"n": 10, "noise": 0.5, "path": None})
    assert flags.convert(known["n"], "20") == 20
    assert flags.convert(known["noise"], "1") == 1
    assert flags.convert(known["path"], "here") == "here"


def test_help_is_what_docstrings_say_first():
    class Base:
        """A base.

        Parameters
        ----------
        seed : int
            Seed of ``all``. More of it.
        """

    class Derived(Base):
        """Derived.

        Parameters
        ----------
        x, y : str, optional
            Columns, e.g. "lon", of the
            centre
        seed
            As of `Base`.

        Returns
        -------
        other : int
            No parameter.
        """

    assert parameters_said(Derived) == {
        "seed": "Seed of all", "x": 'Columns, e.g. "lon", of the centre',
        "y": 'Columns, e.g. "lon", of the centre'}
    assert parameters_said(lambda: None) == {}


def test_descriptions():
    found = flags.of_options(Options)
    assert found["link"].describe().split() == "--link [exp] the link; exp | square".split()
    assert "from 1 to 10" in found["inducing"].describe()
    assert "unit link scale" in found["nugget"].describe()
    assert "error | drop" in found["missing"].describe()
