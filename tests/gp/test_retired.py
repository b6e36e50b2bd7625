"""Options that were removed: read where they ask for today's behaviour, answered elsewhere."""

import json
import re
from dataclasses import fields

import pytest

import workbench as wb
from workbench.checks import InputError
from workbench.gp.models.registry import ENTRIES
from workbench.gp.models.retired import RETIRED, without_retired
from workbench.pipeline import flags
from workbench.pipeline.spec import Spec

EVERY = [(one, model) for one in RETIRED for model in one.models]
NAMES = [f"{model}-{one.option}" for one, model in EVERY]
# Values of the options whose rule is a function: as today, and otherwise.
SAME = {("epochs", "nystrom"): 450, ("objective", "quasi-likelihood"): "likelihood"}


def same_values(one, model):
    return one.same if isinstance(one.same, tuple) else [SAME.get((one.option, model), 450)]


def stored(model, options):
    return json.dumps({"version": 2, "dataset": "x.nc", "model": model, "options": options})


@pytest.mark.parametrize("one,model", EVERY, ids=NAMES)
def test_a_stored_spec_that_asks_for_today_is_the_spec_without_it(one, model):
    for value in same_values(one, model):
        read = Spec.from_json(stored(model, {"seed": 3, one.option: value}))
        assert read == Spec.from_json(stored(model, {"seed": 3}))


@pytest.mark.parametrize("one,model", EVERY, ids=NAMES)
def test_anything_else_is_answered_with_what_replaces_it(one, model):
    other = one.values[0] if one.values else "another"
    told = rf"^option {one.option}\S* of {model} was removed: {re.escape(one.instead)}$"
    if one.values or not one.changes_nothing(other, {}):
        with pytest.raises(InputError, match=told):
            Spec.from_json(stored(model, {one.option: other}))
    with pytest.raises(InputError, match=told):
        getattr(wb, ENTRIES[model].cls)(**{one.option: other})
    with pytest.raises(InputError, match=told):
        ENTRIES[model].load()(**{one.option: other})
    if not one.values:
        with pytest.raises(InputError, match=told):
            flags.assign({one.option: str(other)}, {"options": {}}, [], [model])


@pytest.mark.parametrize("one,model", EVERY, ids=NAMES)
def test_only_what_is_gone_is_retired(one, model):
    named = {each.name: each for each in fields(ENTRIES[model].load().options_type)}
    assert (one.option in named) == bool(one.values)
    if one.values:
        assert not set(one.values) & set(named[one.option].metadata["choices"])


def test_rules_look_at_other_options():
    assert without_retired("nystrom", {"epochs": 50, "max_steps": 50}) == {"max_steps": 50}
    with pytest.raises(InputError, match="write max_steps"):
        without_retired("nystrom", {"epochs": 50})
    counts = {"likelihood": "poisson"}
    assert without_retired("quasi-likelihood", {"objective": "quasi", **counts}) == counts
    with pytest.raises(InputError, match="objective of quasi-likelihood was removed"):
        without_retired("quasi-likelihood", {"objective": "quasi"})


def test_other_unknown_options_still_get_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'transform'"):
        wb.VBAgg(transfrom="standardise")
