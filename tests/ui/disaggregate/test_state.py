"""The state of the app: canonical values, URLs there and back, choices that depend on others."""

import math

import pytest

import workbench as wb
from tests.ui.kit import refused, restored
from workbench import plots
from workbench.labelled.candidates import CANDIDATES, OVER_TIME
from workbench.ui.disaggregate.catalogue import ALONE, LEARNT, choices, lengthscales, variances
from workbench.ui.disaggregate.state import State


def test_a_state_survives_its_url():
    state = State()
    state.param.update(dataset="korea")
    state.param.update(granularity="60", model="centre-point", kernel="linear+matern52",
                       lengthscale=50.0, nugget="learn", threshold=10, colours="auto",
                       log_colours=True, area_effect=False)
    again = State()
    assert again.read("?" + state.query()) == []
    assert again.query() == state.query()
    assert again.spec() == state.spec()


def test_bad_values_keep_the_default_and_are_named():
    problems = refused(State(), "?dataset=atlantis&lengthscale=-3&link=log&colour=red")
    assert [p.split(" ")[0] for p in problems] == [
        "dataset=atlantis", "link=log", "lengthscale=-3", "colour"]
    assert problems[0] == "dataset=atlantis (simulated-country used)"


def test_changing_the_dataset_resets_only_what_it_does_not_offer():
    state = State(dataset="korea", granularity="60", lengthscale=50.0, link="square")
    state.dataset = "swiss-roll"
    assert state.granularity in state.choice.granularities.values()
    assert state.lengthscale == LEARNT
    assert state.link == "square"


def test_another_dataset_starts_at_its_own_threshold():
    state = State(dataset="korea", threshold=5)
    state.dataset = "swiss-roll"            # which offers 5 as well, in another unit
    state.threshold = 4
    state.dataset = "korea"
    assert state.threshold == state.choice.threshold
    state.model = "constant"
    state.threshold = 5
    state.model = "vbagg"
    assert state.threshold == 5


def test_sliders_hold_the_last_term_of_the_kernel():
    state = State(model="vbagg", lengthscale=50.0, variance=0.1,
                  kernel="rbf(covariates)+matern32(coordinates)")
    assert state.fixed() == {"matern32.lengthscale": 50.0, "matern32.variance": 0.1}
    assert dict(state.spec().hyperparameters) == state.fixed()
    state.kernel = "linear"
    assert state.fixed() == {"linear.variance": 0.1}
    state.model = "constant"
    assert state.fixed() == {}


def test_what_has_no_effect_is_said_and_left_out_of_the_spec():
    state = State(model="aggregated-gp", link="exp")
    assert "identity" in state.inapplicable("link")
    assert set(state.spec().options) == {"kernel"}


def test_auto_is_the_default_and_chooses_for_itself():
    state = State(lengthscale=50.0, variance=0.1)
    assert state.model == "auto" and state.fixed() == {} and state.neighbours() == []
    for name in ("link", "likelihood", "overdispersion", "nugget", "kernel", "lengthscale",
                 "variance"):
        assert "Auto fits several kernels" in state.inapplicable(name)
    assert dict(state.spec().options) == {"effort": "quick", "workers": 1}
    state.model = "vbagg"                                   # what was chosen is still there
    assert len(state.fixed()) == 2 and state.inapplicable("kernel") == ""


def test_what_is_looked_at_is_in_the_address():
    state = State()
    given = {"summand": "area effect", "scored": "held-out", "scores_as": "bars", "place": "4711"}
    assert state.read("summand=area effect&scored=held-out&scores_as=bars&place=4711") == []
    spec = state.spec()
    assert restored(state, given).spec() == spec == State().spec()
    assert state.read("place=-1&summand=<b>&scored=x&scores_as=y") == [
        "summand=<b> (ignored)", "scored=x (held-out used)", "scores_as=y (bars used)",
        "place=-1 (ignored)"]
    state.place = "3"
    state.dataset = "korea"
    assert state.place == ""


def test_models_of_auto_can_be_explored_alone_where_the_data_allow_them():
    alone = {one.kernel for one in (*CANDIDATES, *OVER_TIME)
             if "matern" in one.kernel and "*" not in one.kernel}
    assert set(ALONE) == alone
    offered = {name: {kernel for kernel in ALONE if kernel in one.kernels_with(kernel).values()}
               for name, one in choices().items()}
    assert offered["simulated-country"] == alone
    assert offered["swiss-roll"] == {"matern32", "matern32(covariates)"}
    state = State()
    assert state.read("model=vbagg&kernel=matern32&transform=yeo-johnson") == []
    assert dict(state.spec().options)["transform"] == "yeo-johnson"
    assert restored(state, {"kernel": "matern32"}).spec() == state.spec()
    state.dataset = "korea"
    assert state.kernel == "linear+matern32" and len(state.param.kernel.names) == 7
    state.dataset = "swiss-roll"
    assert state.read("kernel=matern32(coordinates)") == [
        "kernel=matern32(coordinates) (rbf used)"]


def test_watchers_see_all_changes_of_a_dataset_at_once():
    state, seen = State(), []
    state.param.watch(lambda *events: seen.append(state.spec()), ["granularity", "threshold"])
    state.dataset = "swiss-roll"
    assert {s.dataset_options["n_bags"] for s in seen} == {50}
    assert len(seen) == 1


@pytest.mark.parametrize("choice", choices().values(), ids=list(choices()))
def test_sliders_are_logarithmic_with_three_digits(choice):
    for grid in (lengthscales(choice), variances(choice, "exp"), variances(choice, "identity")):
        ratios = [b / a for a, b in zip(grid, grid[1:], strict=False)]
        assert max(ratios) / min(ratios) < 1.02
        assert all(float(f"{v:.3g}") == v for v in grid)
    assert choice.threshold in choice.thresholds


@pytest.mark.parametrize("name", ["simulated-country", "swiss-roll", "korea"])
def test_the_catalogue_describes_the_data(name):
    choice = choices()[name]
    for granularity in list(choice.granularities.values())[:2]:
        loader, level, areas = choice.options(granularity)
        ds = wb.load(name, **loader, **({"level": level} if level else {}))
        label = next(k for k, v in choice.granularities.items() if v == granularity)
        assert int(label.split(" ")[0]) == (areas or ds.sizes["bag"])
    factor, _ = plots.rate_unit(ds)
    rates = plots.observed_rate(ds).values * factor
    assert factor == choice.factor
    assert rates.min() < choice.threshold < 2 * rates.max()
    if "x" in ds:
        extent = max(float(ds[c].max() - ds[c].min()) for c in "xy")
        low, high = choice.lengthscales
        assert low < extent / 20 and extent / 4 < high < 3 * extent
        assert ds["x"].attrs["units"] == choice.unit
    assert math.isclose(choice.spread, float(plots.observed_rate(ds).std()), rel_tol=0.8)


@pytest.mark.parametrize("choices, offered", [
    ({}, True),
    ({"overdispersion": "none"}, True),                     # nuggets are learnt by default
    ({"overdispersion": "none", "nugget": 0.0}, False),
    ({"overdispersion": "none", "nugget": 0.2}, True),
    ({"overdispersion": "none", "nugget": "learn"}, True),
    ({"likelihood": "negative-binomial"}, True),
    ({"likelihood": "negative-binomial", "nugget": 0.0}, True),     # it has multipliers
    ({"link": "identity", "likelihood": "normal"}, False),
    ({"model": "aggregated-gp"}, False),
    ({"model": "auto"}, True),
    ({"model": "auto", "overdispersion": "none", "nugget": 0.0}, True),
    ({"model": "constant"}, False)])
def test_the_area_effect_is_offered_where_there_is_one(choices, offered):
    state = State(**{"model": "vbagg", "area_effect": False} | choices)
    assert (state.inapplicable("area_effect") == "") is offered
    flat = choices.get("model") == "constant"       # shown as one rate everywhere
    assert state.spec().area_effect is not (offered or flat)
    state.area_effect = True
    assert state.spec().area_effect is not flat
