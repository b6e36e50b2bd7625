"""Searches that begin on fewer clusters: an optimum in fewer evaluations of all.

Here it is the one that a search on all reaches; where there are several it may be another.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

import workbench as wb
from tests.gp import made
from workbench.gp.fields.inducing import Aggregated
from workbench.gp.fields.projected import aggregated_data
from workbench.gp.inference import coarse
from workbench.gp.inference.collapsed import collapsed
from workbench.gp.inference.parts import part
from workbench.gp.inference.shards import Shard
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation import pilot
from workbench.labelled.source import to_source

CASES = {
    "effects": {"link": "exp", "overdispersion": "area", "nugget": "learn"},
    "square": {"link": "square", "overdispersion": "none", "nugget": 0.0},
    "clusters": {"link": "exp", "compress": 20},
    "closed form": {"link": "identity", "likelihood": "normal"},
}
GIVEN = {"kernel": "rbf", "inducing": 15}
SAID = "the search began on"

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Where few entries are many, and few individuals enough for clusters."""
    monkeypatch.setattr(coarse, "_LONG", 1)
    monkeypatch.setattr("workbench.gp.models.vbagg.design.SMALL", 10)
    monkeypatch.setattr("workbench.gp.models.vbagg.design.FEW_PAIRS", 10)


@pytest.fixture(scope="module")
def ds():
    return wb.load("swiss-roll", n_bags=30, mean_size=40, size_std=8)


@pytest.fixture
def source(ds):
    return to_source(ds)


def alone(monkeypatch, source, options, **also):
    """The fit that searches on all from the first."""
    with monkeypatch.context() as patched:
        patched.setattr("workbench.gp.inference.trainers.coarser", lambda state: None)
        return VBAgg(**GIVEN | options).fit(source, **also)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_the_same_and_is_reached_in_fewer_evaluations(source, name, monkeypatch):
    if name == "closed form":
        source = made.continuous(source.bags, aggregation="sum")
    whole, led = alone(monkeypatch, source, CASES[name]), VBAgg(**GIVEN | CASES[name]).fit(source)
    assert whole.history.converged and led.history.converged
    assert max(led.history.objective) >= max(whole.history.objective) - 2e-3     # with the prior
    assert len(led.history.objective) < 0.7 * len(whole.history.objective)
    assert any(note.startswith(SAID) for note in led.history.notes)
    torch.testing.assert_close(led.at(source.bags).mean, whole.at(source.bags).mean,
                               rtol=0.02, atol=1e-3)


@pytest.mark.slow
def test_sharp_totals_do_not_keep_the_search_from_moving_far(source):
    """The range is one of raw values, however short the steps of a metric are."""
    sharp = replace(source, targets=replace(
        source.targets, value=(1e5 * source.targets.value).round()))
    options = {"kernel": "linear", "link": "exp", "compress": 20, "overdispersion": "none",
               "nugget": 0.0}
    fit = VBAgg(**GIVEN | options).fit(sharp)
    assert any(note.startswith(SAID) for note in fit.history.notes)
    assert fit.history.converged and not any("end of the range" in n for n in fit.history.notes)


def test_clusters_are_a_few_of_an_area_and_keep_weights_and_white_noise(source):
    state = VariationalState(VBAgg(**GIVEN, compress=20), source)
    few, whole = coarse.coarser(state).learning, state.design.learning
    bags = few.operator.bags
    assert len(whole.x) == 30 * 20 and len(few.x) == 30 * 10
    torch.testing.assert_close(bags.totals, whole.operator.bags.totals)
    # What a nugget leaves in an area's mean is the same on either clusters.
    concentration = [torch.zeros(30).to(seen.x).index_add(
        0, seen.operator.bags.membership, seen.concentration * seen.operator.bags.weight.square())
        for seen in (few, whole)]
    torch.testing.assert_close(*concentration)


def test_quick_fits_and_clusters_that_save_little_are_left_alone(source, monkeypatch):
    state = VariationalState(VBAgg(**GIVEN, compress=5), source)
    assert coarse.coarser(state) is None            # four of five would save little
    fixed = VBAgg(**GIVEN, hyperparameters=made.values(VBAgg(**GIVEN, max_steps=1).fit(source)))
    assert coarse.coarser(VariationalState(fixed, source)) is None
    monkeypatch.setattr(coarse, "_LONG", 10**9)
    assert coarse.coarser(VariationalState(VBAgg(**GIVEN, compress=20), source)) is None


SMALL = {"exp": {"link": "exp", "likelihood": "normal", "nugget": "learn"},
         "identity": {"link": "identity", "likelihood": "normal", "nugget": "learn"},
         "known": {"link": "identity", "likelihood": "normal"}}


@pytest.fixture
def many(monkeypatch):
    """Sixty areas are many, and twenty of them are enough to begin on."""
    monkeypatch.setattr(coarse, "_MANY", 60)
    monkeypatch.setattr(coarse, "_ENOUGH", 20)
    bags = made.bags((1, 3, 2, 4) * 15, seed=4)
    known = np.random.default_rng(0).uniform(0.01, 0.05, 60)
    return {name: made.continuous(bags, known=known if name == "known" else None)
            for name in SMALL}


@pytest.mark.parametrize("name", SMALL)
def test_small_areas_begin_on_some_of_them_and_end_at_the_same_optimum(many, name, monkeypatch):
    source = many[name]
    if name == "exp":
        source = replace(source, targets=replace(source.targets, value=source.targets.value.exp()))
    whole, led = alone(monkeypatch, source, SMALL[name]), VBAgg(**GIVEN | SMALL[name]).fit(source)
    assert any(note.startswith(f"{SAID} 20 of the areas") for note in led.history.notes)
    assert whole.history.converged and led.history.converged
    assert max(led.history.objective) >= max(whole.history.objective) - 2e-3
    assert len(led.history.objective) < 0.8 * len(whole.history.objective)
    assert led.state.source.bags.count == 60 and led.state.likelihood.variance().shape == (60,)
    torch.testing.assert_close(led.at(source.bags).mean, whole.at(source.bags).mean,
                               rtol=0.02, atol=1e-3)


def test_some_areas_are_these_areas_alone(many):
    """Their objective is that of a fit to them, given the same inducing inputs and noise."""
    state = VariationalState(VBAgg(**GIVEN | SMALL["known"]), many["known"])
    less = coarse.coarser(state)
    names = [state.source.bags.names.index(one) for one in less.source.bags.names]
    assert names == sorted(names) and len(names) == 20 and less.share == pytest.approx(1 / 3)
    rows = np.isin(state.source.bags.membership, names)
    torch.testing.assert_close(less.source.bags.x, state.source.bags.x[rows])
    torch.testing.assert_close(less.learning.x, state.x[rows])
    torch.testing.assert_close(less.source.targets.value, state.source.targets.value[names])
    torch.testing.assert_close(less.learning.operator.bags.totals,
                               state.source.bags.totals[names])
    torch.testing.assert_close(less.likelihood.variance(), state.likelihood.variance()[names])
    seen = state.project()
    with torch.no_grad():
        value = collapsed(aggregated_data(state.field, less.learning),
                          less.source.targets.value, less.likelihood.variance())[0]
        wanted = seen.aggregated()
        wanted = collapsed(Aggregated(*(part[names] for part in (
            wanted.rows, wanted.residual, wanted.offset))), state.source.targets.value[names],
            state.likelihood.variance()[names])[0]
    assert float(value) == pytest.approx(float(wanted), rel=1e-10)


def test_counts_and_few_areas_begin_on_all(many, monkeypatch):
    counts = made.counts(many["known"].bags)
    assert coarse.coarser(VariationalState(VBAgg(**GIVEN), counts)) is None
    monkeypatch.setattr(coarse, "_MANY", 61)
    state = VariationalState(VBAgg(**GIVEN | SMALL["known"]), many["known"])
    assert coarse.coarser(state) is None


def test_processes_that_share_the_bags_share_the_few_clusters(source):
    state = VariationalState(VBAgg(**GIVEN, compress=20), source)
    few, whole = coarse.coarser(state).learning, state.learning
    q = state.narrow()
    with torch.no_grad():
        together = float(state.objective(state.project(few), *q))
        halves = []
        for bags in (slice(0, 13), slice(13, 30)):
            state.shard, state.learning = Shard(bags, 2, torch.device("cpu")), part(whole, bags)
            own = coarse.coarser(state).learning
            state.shard = None
            torch.testing.assert_close(own.operator.bags.totals, few.operator.bags.totals[bags])
            y = state.source.targets.value[bags]
            half = replace(state.source, bags=own.operator.bags,
                           targets=replace(state.source.targets, value=y))
            state.source, before = half, state.source
            halves.append(float(state.objective(state.project(own), *q)))
            state.source = before
    both = sum(halves) + 0.5 * float(torch.trace(q[1]) - len(q[0]) - torch.logdet(q[1]))
    assert both == pytest.approx(together, rel=1e-10)


@pytest.mark.parametrize("fails", ["search", "hessian"])
def test_where_the_few_cannot_be_fitted_the_search_is_as_without_them(source, fails, monkeypatch):
    options, profile = CASES["effects"], VariationalState.profile
    whole = alone(monkeypatch, source, options)

    def failing(state, pulse=None):
        if state.learning is not state.design.learning:
            raise FactorisationError("indefinite")
        return profile(state, pulse)

    def broken(*given):
        raise torch.linalg.LinAlgError("no eigenvalues")

    if fails == "search":
        monkeypatch.setattr(VariationalState, "profile", failing)
    else:
        monkeypatch.setattr(pilot, "_hessian", broken)
    fit = VBAgg(**GIVEN | options).fit(source)
    assert not any(note.startswith(SAID) for note in fit.history.notes)
    assert fit.history.objective == whole.history.objective
    assert torch.equal(fit.state.field.q_mean, whole.state.field.q_mean)


@pytest.mark.parametrize("fraction", [0.0, 1 / 3])
@pytest.mark.parametrize("name", ["effects", "closed form"])
def test_a_fit_can_be_cancelled_while_it_begins(source, name, fraction, monkeypatch):
    """In the search on few, and while their Hessian is found."""
    monkeypatch.setattr(coarse, "PULSE_SECONDS", 0.0)
    source = made.continuous(source.bags) if name == "closed form" else source
    told = []

    def callback(step, objective, share):
        told.append(share)
        if step >= 3 and share >= fraction - 1e-12:
            raise wb.Cancelled("enough")

    fit = VBAgg(**GIVEN | CASES[name]).fit(source, callback=callback)
    assert fit.history.cancelled and max(told) <= 1 / 3 + 1e-12
    assert not fit.history.converged
    assert any("cancelled after" in note for note in fit.history.notes)
    clusters = [note for note in fit.history.notes if "learnt on" in note]
    assert clusters and not any(str(len(fit.state.design.learning.x)) in note for note in clusters)
    assert told == sorted(told)
    learning = fit.state.learning
    assert learning is fit.state.design.learning        # not the few
    assert torch.isfinite(fit.at(source.bags).mean).all()
