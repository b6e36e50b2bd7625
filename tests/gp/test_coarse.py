"""Searches that begin on fewer clusters: the same optimum in fewer evaluations of all."""

from dataclasses import replace

import pytest
import torch

import workbench as wb
from tests.gp import made
from workbench.gp.inference import coarse
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
    assert led.objective >= whole.objective - 2e-3
    assert len(led.history.objective) < 0.7 * len(whole.history.objective)
    assert any(note.startswith(SAID) for note in led.history.notes)
    torch.testing.assert_close(led.at(source.bags).mean, whole.at(source.bags).mean,
                               rtol=0.02, atol=1e-3)


def test_clusters_are_a_few_of_an_area_and_keep_weights_and_white_noise(source):
    state = VariationalState(VBAgg(**GIVEN, compress=20), source)
    few, whole = coarse.coarser(state), state.design.learning
    bags = few.operator.bags
    assert len(whole.x) == 30 * 20 and len(few.x) == 30 * 5
    torch.testing.assert_close(bags.totals, whole.operator.bags.totals)
    # What a nugget leaves in an area's mean is the same on either clusters.
    concentration = [torch.zeros(30).to(seen.x).index_add(
        0, seen.operator.bags.membership, seen.concentration * seen.operator.bags.weight.square())
        for seen in (few, whole)]
    torch.testing.assert_close(*concentration)


def test_quick_fits_and_clusters_that_save_little_are_left_alone(source, monkeypatch):
    state = VariationalState(VBAgg(**GIVEN, compress=6), source)
    assert coarse.coarser(state) is None            # a third less would be four of six
    fixed = VBAgg(**GIVEN, hyperparameters=made.values(VBAgg(**GIVEN, max_steps=1).fit(source)))
    assert coarse.coarser(VariationalState(fixed, source)) is None
    monkeypatch.setattr(coarse, "_LONG", 10**9)
    assert coarse.coarser(VariationalState(VBAgg(**GIVEN, compress=20), source)) is None


def test_processes_that_share_the_bags_share_the_few_clusters(source):
    state = VariationalState(VBAgg(**GIVEN, compress=20), source)
    few, whole = coarse.coarser(state), state.learning
    q = state.narrow()
    with torch.no_grad():
        together = float(state.objective(state.project(few), *q))
        halves = []
        for bags in (slice(0, 13), slice(13, 30)):
            state.shard, state.learning = Shard(bags, 2, torch.device("cpu")), part(whole, bags)
            own = coarse.coarser(state)
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
    def broken(*given):
        raise FactorisationError("indefinite")

    options = CASES["effects"] | {"max_steps": 8 if fails == "search" else 100}
    monkeypatch.setattr(pilot, "_hessian", broken)      # of a search that ends, as it is then
    whole = alone(monkeypatch, source, options)
    fit = VBAgg(**GIVEN | options).fit(source)
    assert not any(note.startswith(SAID) for note in fit.history.notes)
    assert fit.history.objective == whole.history.objective
    assert torch.equal(fit.state.field.q_mean, whole.state.field.q_mean)


@pytest.mark.parametrize("fraction", [0.0, 1 / 3])
def test_a_fit_can_be_cancelled_while_it_begins(source, fraction):
    """In the search on few, and while their Hessian is found."""
    told = []

    def callback(step, objective, share):
        told.append(share)
        if step >= 3 and share >= fraction - 1e-12:
            raise wb.Cancelled("enough")

    fit = VBAgg(**GIVEN | CASES["effects"]).fit(source, callback=callback)
    assert fit.history.cancelled and max(told) <= 1 / 3 + 1e-12
    assert told == sorted(told)
    learning = fit.state.learning
    assert learning is fit.state.design.learning        # not the few
    assert torch.isfinite(fit.at(source.bags).mean).all()
