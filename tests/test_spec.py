"""A Spec survives JSON, is the same everywhere, and refuses what it does not know."""

import copy
import json
import pickle

import pytest

import workbench as wb
from workbench.checks import InputError
from workbench.pipeline.base import BaseSpec
from workbench.pipeline.run import model_of
from workbench.pipeline.settings import Settings
from workbench.pipeline.spec import CombineSpec, SmoothSpec, Spec

FULL = Spec(
    dataset="korea", dataset_options={"level": "district"}, areas=40, model="vbagg",
    options={"link": "exp", "inducing": 50, "initial": {"mean": -4.5}},
    hyperparameters={"matern32.lengthscale": 50.0}, quantiles=(0.1, 0.9), threshold=0.01,
    folds=5, seed=3,
)


@pytest.mark.parametrize("spec", [Spec("swiss-roll"), FULL])
def test_json_round_trip(spec):
    again = Spec.from_json(spec.to_json())
    assert again == spec
    assert hash(again) == hash(spec)
    assert again.key == spec.key
    assert Spec.from_json(spec.to_json(indent=None)) == spec


def test_key_is_the_same_on_every_machine():
    assert Spec("swiss-roll").key == (
        "af035f52a824899540463ade0f64d555e178673c6764c6c01d6b0d0931b1eb59")
    # The default before effects of areas were given their totals: such Specs keep their keys.
    assert Spec("swiss-roll", area_effect=False).key == (
        "4cb2828d03c9e57b8dd7a3c3e6dd72259dc2fe3ed144a309929495bd2d391a85")


def test_a_combine_spec_from_before_area_effects_keeps_its_meaning_and_key():
    now = CombineSpec(("a.nc",), model="mr-vbagg")
    text = json.loads(now.to_json())
    assert text.pop("area_effect") is True and BaseSpec.from_json(now.to_json()) == now
    former = BaseSpec.from_json(json.dumps(text))
    assert not former.area_effect and "area_effect" not in json.loads(former.to_json())
    assert former.key != now.key and BaseSpec.from_json(former.to_json()) == former


def test_key_ignores_the_order_of_options_and_notices_every_field():
    assert Spec("a", options={"x": 1, "y": 2}).key == Spec("a", options={"y": 2, "x": 1}).key
    content = json.loads(FULL.to_json())
    changes = dict(dataset="x", dataset_options={}, areas=41, model="constant", options={},
                   hyperparameters={}, quantiles=[0.5], threshold=None, area_effect=False, folds=0,
                   seed=4)
    keys = {Spec(**{k: v for k, v in (content | {name: value}).items() if k != "version"}).key
            for name, value in changes.items()}
    assert len(keys | {FULL.key}) == len(changes) + 1


def test_several_thresholds_have_one_order_and_a_single_one_its_former_key():
    several = Spec("a", threshold=[0.2, 0.1])
    assert several.threshold == (0.1, 0.2) == Spec("a", threshold=(0.1, 0.2)).threshold
    assert Spec.from_json(several.to_json()) == several
    assert json.loads(several.to_json())["threshold"] == [0.1, 0.2]
    assert Spec("a", threshold=[0.1]) == Spec("a", threshold=0.1)
    assert Spec("swiss-roll", threshold=4, area_effect=False).key == (
        "7fc4dc149cee9ce0bdc051ed6e73102287ce59b0841491639049dabd8d37e4c1"
    )


def test_a_spec_cannot_change():
    options = {"list": [1, 2], "inner": {"a": 1}}
    spec = Spec("a", options=options)
    before = spec.key
    options["list"].append(3)
    options["inner"]["a"] = 2
    assert spec.key == before
    with pytest.raises(TypeError):
        spec.options["list"] = 1
    with pytest.raises(AttributeError):
        spec.seed = 1
    plain = spec.options.plain()
    plain["inner"]["a"] = 7
    assert spec.options["inner"]["a"] == 1


def test_a_spec_can_be_copied_pickled_and_keyed_by():
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    assert copy.deepcopy(FULL) == FULL
    assert {FULL: 1}[Spec.from_json(FULL.to_json())] == 1
    assert Settings({"b": 1}) == {"b": 1}


@pytest.mark.parametrize("text, message", [
    ('{"dataset": "a", "modle": "vbagg"}', "'modle' is unknown; did you mean 'model'"),
    ('{"dataset": "a", "version": 3}', "version 3, this workbench reads versions 1 and 2"),
    ('{"model": "vbagg"}', 'lacks "dataset"'),
    ("{", "not valid JSON"),
    ("[]", "expected a JSON object, got list"),
    ('{"dataset": 3}', "expected dataset as a name, got 3"),
    ('{"dataset": "a", "folds": 1}', "folds must be 0 (none) or at least 2, got 1"),
    ('{"dataset": "a", "folds": 2.0}', "expected folds as a whole number"),
    ('{"dataset": "a", "seed": true}', "expected seed as a whole number"),
    ('{"dataset": "a", "seed": -1}', "seed must be 0 or more"),
    ('{"dataset": "a", "areas": 0}', "areas must be at least 1"),
    ('{"dataset": "a", "areas": 3, "level": "b"}', "give one of them"),
    ('{"dataset": "a", "quantiles": [0.5, 0.1]}', "strictly between 0 and 1 and ascend"),
    ('{"dataset": "a", "quantiles": [0.5, 1]}', "strictly between 0 and 1 and ascend"),
    ('{"dataset": "a", "quantiles": 0.5}', "quantiles as a list"),
    ('{"dataset": "a", "threshold": "high"}', "threshold as a number"),
    ('{"dataset": "a", "threshold": NaN}', "finite number for threshold"),
    ('{"dataset": "a", "threshold": []}', "threshold is an empty list"),
    ('{"dataset": "a", "threshold": [1, 1.0]}', "threshold has a number twice"),
    ('{"dataset": "a", "threshold": [1, true]}', "threshold as a number"),
    ('{"dataset": "a", "options": {"nugget": Infinity}}', "finite number for nugget"),
    ('{"dataset": "a", "options": ["link"]}', "options as a mapping"),
    ('{"dataset": "a", "version": 1, "options": ["link"]}', "options as a mapping"),
])
def test_strictness(text, message):
    with pytest.raises(InputError) as error:
        Spec.from_json(text)
    assert message in str(error.value)


FORMER = {"overdispersion": "none", "nugget": 0.0}


@pytest.mark.parametrize("model", [None, "vbagg", "centre-point", "constant"])
def test_version_1_keeps_the_defaults_it_was_written_under(model):
    content = {"version": 1, "dataset": "a", "options": {"link": "exp"}}
    content |= {} if model is None else {"model": model}
    spec = Spec.from_json(json.dumps(content))
    assert spec.options == {"link": "exp", **FORMER}
    now = Spec.from_json(json.dumps(content | {"version": 2}))
    assert now.options == {"link": "exp"}
    # What a version says nothing of is new, as of Specs made in Python.
    del content["version"]
    assert Spec.from_json(json.dumps(content)) == now
    assert now == Spec("a", model=model or "vbagg", options={"link": "exp"})
    # Written again it is of version 2, and still the same model.
    again = spec.to_json()
    assert json.loads(again)["version"] == 2
    assert Spec.from_json(again) == spec


@pytest.mark.parametrize("given", [{"overdispersion": "area"}, {"nugget": "learn"},
                                   {"overdispersion": "auto", "nugget": 0.3}])
def test_version_1_with_options_of_its_own(given):
    text = json.dumps({"version": 1, "dataset": "a", "options": given})
    assert Spec.from_json(text).options == FORMER | given
    assert Spec.from_json(json.dumps({"version": 1, "dataset": "a"})).options == FORMER


def test_version_1_of_models_without_these_options_is_unchanged():
    spec = Spec.from_json('{"version": 1, "dataset": "a", "model": "aggregated-gp"}')
    assert spec.options == {}


def test_version_1_fits_the_model_it_was_written_for():
    """By the pipeline: hyperparameters of a fit under each version."""
    content = {"dataset": "swiss-roll", "options": {"kernel": "constant"}}
    old, new = (model_of(Spec.from_json(json.dumps(content | {"version": version})))
                for version in (1, 2))
    ds = wb.load("swiss-roll", n_bags=6, mean_size=5, size_std=3)
    assert not {"area.std", "nugget.std"} & set(old.fit(ds).hyperparameters)
    assert {"area.std", "nugget.std"} <= set(new.fit(ds).hyperparameters)


def test_only_plain_values_are_taken():
    with pytest.raises(InputError, match="a Spec holds only what JSON can"):
        Spec("a", options={"kernel": object()})


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="Spec file .*absent.json' does not exist"):
        Spec.read(tmp_path / "absent.json")


def test_a_spec_of_another_command_is_refused_where_one_is_named():
    text = SmoothSpec("a.csv", "m", "n", "x", "y", options={"kernel": "rbf"}).to_json()
    assert BaseSpec.from_json(text) == SmoothSpec.from_json(text)
    with pytest.raises(InputError, match="the Spec is one of `workbench smooth`"):
        Spec.from_json(text)
    assert '"command"' not in Spec("korea").to_json()


def test_later_fields_leave_former_keys_alone():
    plain = Spec("korea", folds=3)
    assert "folds_scheme" not in plain.to_json() and "rescale_to_totals" not in plain.to_json()
    changed = Spec("korea", folds=3, folds_scheme="blocks", rescale_to_totals=True)
    assert changed.key != plain.key and Spec.from_json(changed.to_json()) == changed
    assert Spec("korea", folds=3, information=False, components=False, draws=0).key == plain.key
    assert len({Spec("korea", folds=3, **one).key for one in (
        {"information": True}, {"components": True}, {"draws": 5})} | {plain.key}) == 4
    with pytest.raises(InputError, match="draws must be 0"):
        Spec("korea", draws=-1)
    with pytest.raises(InputError, match="rescale_to_totals as true or false"):
        Spec("korea", rescale_to_totals=1)
