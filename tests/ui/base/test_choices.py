"""What all states share: URLs in few words, several choices as one, the example again."""

import param
import pytest

from workbench.ui.base.messages import not_offered
from workbench.ui.base.notice import Notice
from workbench.ui.base.shell import follow
from workbench.ui.base.state import State


class Paint(State):
    colour = param.Selector(objects=["red", "blue", "green"])
    coats = param.Selector(objects=list(range(200)))
    glossy = param.Boolean(False)


def test_several_choices_are_heard_of_once():
    state, heard = Paint(), []
    state.listen(lambda *events: heard.append([e.name for e in events]), ["colour", "coats"])
    state.colour = "blue"
    assert heard == [["colour"]]
    with state.together():
        state.colour, state.coats = "red", 3
        with state.together():
            state.coats = 4
        assert len(heard) == 1
    assert heard[1:] == [[]]
    state.glossy = True                     # matters to nobody
    assert state.read("colour=green&coats=7&glossy=no") == [] and len(heard) == 3


def test_a_failure_inside_is_heard_of_too():
    state, heard = Paint(), []
    state.listen(lambda *events: heard.append(1), ["colour"])
    with pytest.raises(ZeroDivisionError), state.together():
        state.colour = "blue"
        raise ZeroDivisionError
    assert heard == [1]
    state.colour = "red"
    assert heard == [1, 1]


def test_values_that_cannot_be_used_take_one_short_line():
    state = Paint(colour="blue")
    query = f"?colour=mauve&coats=500&glossy=maybe&{'x' * 90}=1&y=2"
    problems = state.read(query)
    assert problems[:3] == ["colour=mauve (blue used)", "coats=500 (0 used)",
                            "glossy=maybe (no used)"]
    told = not_offered(problems)
    assert told == ("Not offered here: colour=mauve (blue used); coats=500 (0 used); "
                    "glossy=maybe (no used); and 2 more.")
    assert max(map(len, problems)) < 60
    assert not_offered(state.read("colour=" + "long" * 50)).count("long") <= 6


def test_the_example_comes_back_as_one_change():
    state, heard = Paint(colour="green", coats=9, glossy=True), []
    state.listen(lambda *events: heard.append(state.query()), state.names())
    state.reset()
    assert heard == ["colour=red&coats=0&glossy=no"] == [Paint().query()]


def test_what_an_address_could_not_have_is_forgotten_with_its_state():
    """After a session is opened the example is no longer what is shown."""
    state, notice = Paint(), Notice()
    follow(state, lambda: None, notice)
    notice.tell(["dataset=own-1 (the example is shown)"])
    state.colour = "green"
    assert notice.said.text                 # one choice more does not give what was asked for
    with state.together():              # as a fit is kept, and what goes with one choice
        state.colour, state.coats = "blue", 2
    assert notice.said.text
    state.read("colour=red&coats=0")    # as a session is opened
    assert not notice.said.text
    notice.tell(["dataset=own-1 (the example is shown)"])
    state.reset()
    assert not notice.said.text
