"""Which iid effects a model gets unless told: those that its observations call for."""

from dataclasses import replace

import pytest
import torch

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.data.bags import Targets
from workbench.gp.likelihoods import likelihood_for
from workbench.gp.models.options import VariationalOptions
from workbench.gp.models.registry import MODELS
from workbench.gp.models.vbagg.design import with_inducing
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState

BOTH, NEITHER = ("area", "learn"), ("none", 0.0)
GIVEN = {"mean": 2.5, "matern32.variance": 0.3, "matern32.lengthscale": 40.0}
KINDS = ("vbagg", "centre-point", "constant")


def resolved(model, source, given=None) -> VariationalOptions:
    """The model's options with ``auto`` replaced by what the source calls for."""
    return model.options.resolved(likelihood_for(model.options.likelihood, source), given)


def counts():
    return made.counts(made.bags((4, 3, 6, 2)), scale=2.0)


def survey():
    source = counts()
    bags = replace(source.bags, trials=source.targets.value + 7)
    return replace(source, bags=bags, aggregation="mean")


def waits():
    source = counts()
    return replace(source, targets=Targets(source.targets.value + 0.5), kind="continuous")


CASES = {
    "counts": (counts, {}, BOTH),
    "counts under the square link": (counts, {"link": "square"}, BOTH),
    "counts said to be Poisson": (counts, {"likelihood": "poisson"}, BOTH),
    "counts as negative binomial": (counts, {"likelihood": "negative-binomial"}, NEITHER),
    "counts as Normal": (counts, {"likelihood": "normal"}, NEITHER),
    "positives out of trials": (survey, {}, NEITHER),
    "exponential": (waits, {"likelihood": "exponential"}, NEITHER),
    "continuous": (lambda: made.continuous(made.bags((4, 3, 6, 2))),
                   {"likelihood": "normal", "link": "identity"}, NEITHER),
    "an area effect alone": (counts, {"nugget": 0.0}, ("area", 0.0)),
    "a nugget alone": (counts, {"overdispersion": "none"}, ("none", "learn")),
    "a nugget that is known": (counts, {"nugget": 0.3}, ("area", 0.3)),
    "plain Poisson": (counts, {"overdispersion": "none", "nugget": 0.0}, NEITHER),
    "asked for": (waits, {"likelihood": "exponential", "overdispersion": "area",
                          "nugget": "learn"}, BOTH),
}


def effects_of(state) -> tuple:
    """What is in the state: area effect or not, and a nugget learnt, known or zero."""
    names = {item.name for item in state.hyperparameters}
    nugget = 0.0
    if "nugget.std" in names:
        item = state.hyperparameters["nugget.std"]
        nugget = float(item.natural.detach()) if item.fixed else "learn"
    return "area" if "area.std" in names else "none", nugget


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_effects_follow_what_was_observed(case, kind):
    make, options, wanted = CASES[case]
    source, model = make(), MODELS[kind](**options)
    found = resolved(model, source)
    assert (found.overdispersion, found.nugget) == wanted
    state = VariationalState(model, source)
    assert effects_of(state) == (wanted[0], pytest.approx(wanted[1]))
    assert (state.area_std is not None) == (wanted[0] == "area")
    assert (float(state.nugget_variance.detach()) > 0) == (wanted[1] != 0.0)
    # What the user wrote stays what the model says of itself.
    assert model.options.overdispersion == options.get("overdispersion", "auto")


@pytest.mark.parametrize("given, wanted", [
    ({}, NEITHER), ({"area.std": 0.3}, ("area", 0.0)), ({"nugget.std": 0.2}, ("none", "learn")),
    ({"area.std": 0.3, "nugget.std": 0.2}, BOTH),
])
@pytest.mark.parametrize("kind", KINDS)
def test_given_hyperparameters_say_which_effects_there_are(kind, given, wanted):
    own = {"mean": 2.5, "constant.variance": 0.3} if kind == "constant" else GIVEN
    source, model = counts(), MODELS[kind]()
    found = resolved(model, source, own | given)
    assert (found.overdispersion, found.nugget) == wanted
    fit = model.condition(source, own | given)
    assert set(fit.hyperparameters) == set(own | given)
    for name, value in given.items():
        assert fit.hyperparameters[name]["value"] == pytest.approx(value)
    assert not fit.state.hyperparameters.free


def test_a_value_that_the_options_fix_says_so_too():
    model = VBAgg(hyperparameters={"area.std": 0.3})
    assert resolved(model, counts(), GIVEN).overdispersion == "area"
    assert model.condition(counts(), GIVEN).hyperparameters["area.std"]["value"] == (
        pytest.approx(0.3))


def test_what_is_asked_for_must_be_given():
    with pytest.raises(InputError, match="missing: area.std"):
        VBAgg(overdispersion="area").condition(counts(), GIVEN)
    with pytest.raises(InputError, match="area.std"):
        VBAgg(overdispersion="none").condition(counts(), GIVEN | {"area.std": 0.3})
    with pytest.raises(InputError, match="is not available for these positives out of trials"):
        VBAgg().condition(survey(), GIVEN | {"area.std": 0.3})


def test_effects_of_a_fit_are_in_its_predictions():
    """An effect that is there widens the rate of a place beyond that of f."""
    source = counts()
    plain = VBAgg().condition(source, GIVEN)
    own = {"area.std": 0.3, "nugget.std": 0.2}
    wide = VBAgg().condition(source, GIVEN | own)
    for fit, extra in ((plain, 0.0), (wide, 0.3**2 + 0.2**2)):
        f, rate = fit.latent(source.bags), fit.at(source.bags)
        torch.testing.assert_close(rate.scale.square(), f.variance + extra)


def test_moving_a_fit_keeps_its_effects():
    fit = VBAgg(max_steps=30, tolerance=1e-3).fit(counts())
    moved = fit.with_hyperparameters({"matern32.lengthscale": 30.0})
    assert set(moved.hyperparameters) == set(fit.hyperparameters) >= {"area.std", "nugget.std"}


def test_a_word_that_is_none_is_refused():
    with pytest.raises(InputError, match="nugget a number, 'learn' or 'auto', got 'aut'"):
        VariationalOptions(nugget="aut")
    with pytest.raises(InputError, match="did you mean 'auto'"):
        VariationalOptions(overdispersion="aut")


@pytest.mark.parametrize("sizes, asked, taken", [
    ((1,) * 250, "auto", 100), ((1,) * 500, "auto", 200), ((3,) * 500, "auto", 200),
    ((1,) * 2_000, "auto", 400), ((1,) * 500, 30, 30),
    ((40,) * 400, "auto", 125), ((80,) * 400, "auto", 125),     # of these on 40 clusters each
    ((50,) * 1_000, "auto", 100),
    ((1,) * 330 + (40_000,) * 10, "auto", 124)])    # so that q is found on all
def test_inducing_inputs_of_many_bags(sizes, asked, taken):
    options = VariationalOptions(inducing=asked)
    assert with_inducing(options, torch.tensor(sizes)).inducing == taken


def test_inducing_inputs_of_centres_and_of_the_square_link():
    source = made.counts(made.bags((50,) * 1_000))
    centres = VariationalState(MODELS["centre-point"](kernel="rbf"), source)
    assert len(centres.bags.x) == 1_000 and centres.options.inducing == 400
    few = made.counts(made.bags((1,) * 500))
    for link, taken in (("square", 100), ("exp", 200)):
        state = VariationalState(VBAgg(kernel="rbf", link=link), few)
        assert state.options.inducing == taken == len(state.field.inducing[0])


@pytest.mark.parametrize("model, options, expected", [
    ("vbagg", {}, ("averages", 100)), ("vbagg", {"inducing": 7}, ("held", 7)),
    ("vbagg", {"inducing_inputs": "held"}, ("held", 100)),
    ("vbagg", {"inducing_inputs": "learnt"}, ("learnt", 100)),
    ("vbagg", {"inducing_inputs": "averages", "inducing": 3}, ("averages", 3)),
    ("vbagg", {"likelihood": "exponential"}, ("held", 100)),
    ("centre-point", {}, ("held", 100)), ("constant", {}, ("held", 1))])
def test_averages_stand_for_inducing_inputs_where_noise_is_normal(model, options, expected):
    options = options if model == "constant" else {"kernel": "rbf", **options}
    state = VariationalState(MODELS[model](**options), waits())
    assert (state.options.inducing_inputs, state.options.inducing) == expected


def test_averages_of_normal_values_are_exact_under_the_identity_link():
    """A field whose lengthscale is short, which few points cannot follow."""
    source = made.continuous(made.bags((3,) * 150))
    given = {"mean": 0.1, "rbf.variance": 1.0, "rbf.lengthscale": 0.05, "noise.variance": 0.1}
    own, exact = (MODELS[name](kernel="rbf", **more).condition(source, given)
                  for name, more in (("vbagg", {"link": "identity"}), ("aggregated-gp", {})))
    held = MODELS["vbagg"](kernel="rbf", link="identity", inducing_inputs="held").condition(
        source, given)
    far = [float((one.at(source.bags).mean - exact.at(source.bags).mean).abs().max())
           for one in (own, held)]
    assert far[0] < 1e-6 < 1e-2 < far[1]


@pytest.mark.parametrize("wrong", [0, 2.5, True, "many", None])
def test_a_number_of_inducing_inputs_is_whole(wrong):
    with pytest.raises(InputError, match="inducing .*got"):
        VariationalOptions(inducing=wrong)
