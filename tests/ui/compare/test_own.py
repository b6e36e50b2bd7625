"""Data of one's own in the comparison: taken once, by one session, and gone with it."""

from pathlib import Path

import pytest

import workbench as wb
from tests.ui.kit import settled
from workbench.checks import InputError
from workbench.ui.base import handover
from workbench.ui.base.handover import Handed
from workbench.ui.compare import background, comparing, own
from workbench.ui.compare.exporting import of_board
from workbench.ui.compare.state import State
from workbench.ui.compare.store import Store


@pytest.fixture(scope="module")
def small():
    """A country that the catalogue does not have."""
    return wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)


@pytest.fixture
def name(small):
    data = small.drop_vars(["truth", "individual_value"])
    given = handover.offer(Handed("Own: k.gpkg", data, "ds = 1", "put k"))
    yield given
    handover.withdraw(given)
    own.forget(given)


def test_the_name_opens_the_data_once_and_in_one_session(name, small):
    first, second = State(), State()
    assert first.read(f"?dataset={name}&test=recovered") == []
    assert first.data.title == "Own: k.gpkg" and first.data.counts and not first.data.fine
    assert "individuals" not in first.param.test.names.values()
    assert first.data.handed.data.sizes["bag"] == 12
    told = second.read(f"?dataset={name}")
    assert len(told) == 1 and second.dataset == "country" and second.handed == []
    assert name not in State().param.dataset.names.values()
    assert first.read(first.query()) == [] and first.dataset == name       # Back, and Reset


def test_what_was_withdrawn_or_guessed_is_not_there(small):
    gone = handover.offer(Handed("Own: k.gpkg", small))
    handover.withdraw(gone)
    for guess in (gone, handover.PREFIX, handover.PREFIX + "0" * 32):
        assert len(State().read(f"?dataset={guess}")) == 1
    assert len(gone) > len(handover.PREFIX) + 30


@pytest.mark.slow
def test_models_are_compared_on_own_data_which_no_cache_of_others_keeps(name, one_thread):
    state = State()
    assert state.read(f"?dataset={name}&test=random&folds=3&auto=no&vbagg=no&centre=no"
                      "&kriging=no&classes=no") == []
    store = Store(state)
    store.refresh()
    assert store.board is None and store.unsaved and store.subject == "Own: k.gpkg"
    boards, maps = len(background._BOARDS), len(comparing._MAPS)
    store.compare()
    settled(store, 200)
    board = store.board
    assert "GLM on totals" in board.maps and board.truth is None and not store.stale
    assert (len(background._BOARDS), len(comparing._MAPS)) == (boards, maps)
    made = of_board(board)
    assert "Own-k" in made.stem and ".tif" in made.kinds and "\nds = 1\n" in made.program
    assert name not in made.program and name not in str(made.settings)
    with pytest.raises(InputError, match="save the session there"):
        store.save()
    folder = Path(store._folder.name)
    assert list(folder.iterdir())
    store.leave()
    assert not folder.exists() and not own.is_taken(name) and state.handed == []
