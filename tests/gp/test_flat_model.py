"""The flat model that fits are held against: its search ends early only where nothing is lost."""

import pytest

from tests.gp import made
from workbench.gp.models.base import Model
from workbench.gp.models.vbagg import flat
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.numerics.recent import ResultCache

SOURCES = {
    "counts": (made.counts(made.bags((4,) * 20)), {}),
    "area effects": (made.counts(made.bags((4,) * 20)), {"overdispersion": "area"}),
    "large counts": (made.counts(made.bags((4,) * 20), scale=1e3),
                     {"overdispersion": "none", "nugget": 0.0}),
    "a start of one's own": (made.counts(made.bags((4,) * 20)), {"initial": {"mean": 0.5}}),
    "means": (made.continuous(made.bags((4,) * 20)), {"link": "exp"}),
}


@pytest.fixture
def evaluations(monkeypatch):
    monkeypatch.setattr(flat, "_RECENT", ResultCache(4))
    counted, own = [], VariationalState.profile

    def profile(self, pulse=None):
        counted.append(1)
        return own(self, pulse)

    monkeypatch.setattr(VariationalState, "profile", profile)
    return counted


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("name", SOURCES)
def test_it_is_the_objective_of_a_fit_or_surely_below_the_limit(name, evaluations):
    source, options = SOURCES[name]
    model = VBAgg(inducing=10, **options)
    whole = Model.fit(VBAgg(**options | {"kernel": "constant"}), source).objective
    full = len(evaluations)
    evaluations.clear()
    for above in (1e4, 100.0, 30.0):
        assert flat.flat_objective(model, source, whole + above) is None
    early = len(evaluations)
    assert 0 < early
    # Not so from large counts, whose flat map is far from all, nor from a start of one's own.
    assert early == full if name in ("large counts", "a start of one's own") else early < full
    # Stopped for a higher limit it is searched for again, and then to the end.
    assert flat.flat_objective(model, source, whole - 1.0) == pytest.approx(whole, abs=1e-6)
    assert flat.flat_objective(VBAgg(kernel="constant"), source, whole - 1.0) is None


def test_a_search_that_was_stopped_is_not_taken_for_its_end(evaluations):
    source = SOURCES["counts"][0]
    first = flat._searched(VBAgg(kernel="constant"), source, 1e4)
    last = flat._searched(VBAgg(kernel="constant"), source, -1e4)
    assert not first.exact and last.exact
    assert last.objective < first.objective < 1e4


def test_searches_that_begin_with_other_objectives_are_not_stopped(evaluations, monkeypatch):
    """Annealed ones, and those of less of the data."""
    source, options = SOURCES["large counts"]
    assert flat._searched(VBAgg(kernel="constant", **options), source, 1e4).exact
    monkeypatch.setattr(flat, "coarser", lambda state: state)
    assert flat._searched(VBAgg(kernel="constant"), SOURCES["counts"][0], 1e4).exact


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_a_flat_stretch_at_the_start_is_not_taken_for_the_end(evaluations, seed):
    """From a tiny effect the objective hardly rises at first, and by hundreds of nats later."""
    source = made.counts(made.bags((4,) * 40, seed=seed), seed=seed, scale=100.0)
    options = {"initial": {"mean": 0.6, "area.std": 3e-4}, "overdispersion": "area", "nugget": 0.0}
    whole = Model.fit(VBAgg(kernel="constant", **options), source).objective
    found = flat.flat_objective(VBAgg(inducing=10, **options), source, whole - 50.0)
    assert found == pytest.approx(whole, abs=1e-6)
