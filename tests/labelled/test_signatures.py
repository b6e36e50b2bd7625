"""Public models in source: every keyword with default and meaning, up to date, with an example."""

import doctest
import importlib
import inspect
import subprocess
import sys
from dataclasses import fields

import pytest

import workbench as wb
from workbench.gp.models.registry import ENTRIES
from workbench.labelled import models
from workbench.labelled.classes import signatures
from workbench.labelled.classes.registry import PUBLIC


def test_the_source_is_up_to_date():
    stale = [path.name for path, text in signatures.written().items()
             if path.read_text(encoding="utf-8") != text]
    assert not stale, f"run `make signatures` for {stale}"


def test_an_option_that_is_new_is_written():
    text = (signatures.PACKAGE / "labelled/classes/constant.py").read_text(encoding="utf-8")
    older = text.replace("max_steps: int = 100, ", "").replace("max_steps : int", "gone : int")
    assert older != text and signatures.with_signature(older, PUBLIC["constant"]) == text


@pytest.mark.parametrize("name", models())
def test_help_shows_every_keyword(name):
    kind = models()[name]
    options = {one.name for one in fields(kind.torch_model.options_type)}
    shown = inspect.signature(kind).parameters
    assert set(shown) == options
    parts = signatures.sections(inspect.getdoc(kind))
    assert {"", "Parameters", "Examples"} <= set(parts)
    # tests/docs/test_examples.py runs them
    assert len(doctest.DocTestParser().get_examples(parts["Examples"])) >= 3
    told = [line.partition(" : ")[0] for line in parts["Parameters"].splitlines()
            if line[:1].strip()]
    assert told == list(shown)


@pytest.mark.parametrize("name", models())
def test_defaults_are_those_of_the_options(name):
    kind = models()[name]
    assert kind().options == kind.torch_model.options_type()
    assert getattr(wb, PUBLIC[name].cls) is kind


@pytest.mark.parametrize("name", ENTRIES)
def test_the_registry_says_what_the_class_is(name):
    entry, inner = ENTRIES[name], ENTRIES[name].load()
    assert (entry.name, entry.cls) == (inner.name, inner.__name__)
    assert (entry.several, entry.mediated, entry.stops_early) == (
        inner.several, inner.mediated, inner.stops_early)


def test_an_unknown_keyword_is_refused_with_the_nearest():
    with pytest.raises(wb.InputError, match="option of VBAgg 'kernal'.*did you mean 'kernel'"):
        wb.VBAgg(kernal="rbf")
    with pytest.raises(TypeError):
        wb.VBAgg("rbf")


def test_a_model_loads_its_own_family_alone():
    code = ("import sys, workbench as wb; wb.VBAgg; wb.Cancelled; print(*(name for name in "
            "sys.modules if name.startswith(('workbench.gp.models.', 'workbench.geo', "
            "'workbench.labelled.classes.', 'workbench.evaluation'))))")
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                            check=True).stdout.split()
    assert not [name for name in loaded if name.startswith(("workbench.geo", "workbench.ev"))]
    families = {name.split(".")[3] for name in loaded if name.count(".") == 4 and ".gp." in name}
    assert families == {"vbagg"}
    assert {name.rpartition(".")[2] for name in loaded if ".classes." in name} == {
        "registry", "base", "vbagg"}


@pytest.mark.parametrize("name", ["Cancelled", "InputError"])
def test_what_needs_no_torch_loads_none(name):
    code = f"import sys, workbench as wb; wb.{name}; print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


@pytest.mark.parametrize("package", ["workbench", "workbench.labelled"])
def test_every_lazy_name_is_there(package):
    module = importlib.import_module(package)
    assert len(module.__all__) > 30
    assert not [name for name in module.__all__ if not hasattr(module, name)]
