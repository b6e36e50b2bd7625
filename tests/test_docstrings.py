"""Every public callable says what goes in and what comes out, in numpy's sections."""

import importlib
import inspect

import pytest
from generated import MODULES, documented

import workbench as wb
from workbench import labelled
from workbench.labelled.classes import signatures

OURS = "workbench"


# What users have in their hands without having named it.
ANSWERS = {"AutoFit", "ConditionalMeanFit", "LabelledPredictive", "MediatedFit", "SourcesFit"}


def callables(name: str):
    """A public name and, of a class, its public methods."""
    module, _, name = name.rpartition(".")
    home = importlib.import_module(module) if module else labelled if name in ANSWERS else wb
    value = getattr(home, name)
    yield name, value
    if inspect.isclass(value):
        for method, _ in inspect.getmembers(value, inspect.isfunction):
            if not method.startswith("_"):
                yield f"{name}.{method}", getattr(value, method)


def lacking(value) -> list[str]:
    """Sections that a callable's docstring should have and has not."""
    text = inspect.getdoc(value) or ""
    if text.startswith("Deprecated name of"):       # its other name is documented
        return []
    found = signatures.sections(text)
    if not found[""].strip():
        return ["docstring"]
    if inspect.isclass(value) and issubclass(value, BaseException):
        return []
    signature = inspect.signature(value)
    names = [one for one in signature.parameters if one not in ("self", "cls")]
    returns = not inspect.isclass(value) and signature.return_annotation not in ("None", None)
    return [section for section, wanted in (("Parameters", names), ("Returns", returns))
            if wanted and section not in found]


def described(text: str) -> set[str]:
    """Names that a Parameters section describes; several may share an entry."""
    heads = [line.partition(":")[0] for line in text.splitlines() if line[:1].strip()]
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def names() -> list[str]:
    """Those of the reference: of `workbench`, its answers, and the functions of its modules."""
    return sorted({*wb.__all__, *ANSWERS, *(
        f"{module}.{name}" for module in MODULES
        for name in documented(importlib.import_module(module))
        if callable(getattr(importlib.import_module(module), name)) and name not in wb.__all__)})


@pytest.mark.parametrize("name", names())
def test_parameters_and_returns_are_described(name):
    assert not {where: missing for where, one in callables(name)
                if one.__module__.startswith(OURS) and (missing := lacking(one))}


@pytest.mark.parametrize("name", names())
def test_every_parameter_is_named(name):
    wrong = {}
    for where, one in callables(name):
        text = signatures.sections(inspect.getdoc(one) or "").get("Parameters")
        if text is None or not one.__module__.startswith(OURS):
            continue
        names = set(inspect.signature(one).parameters) - {"self", "cls"}
        if names - described(text):
            wrong[where] = sorted(names - described(text))
    assert not wrong
