"""What a page says of own data: widgets, addresses, headline and steps agree with the state."""

from workbench.ui.base.views.controls import widget
from workbench.ui.disaggregate.state import State


def test_the_widget_of_the_threshold_shows_the_state_of_every_dataset():
    state = State()
    select = widget(state, "threshold", "Threshold")
    model = select.get_root()           # as on a page: without a model it keeps any value
    for name in ("korea", "swiss-roll", "simulated-country"):
        state.dataset = name
        assert state.threshold == state.choice.threshold == select.value
        assert float(model.data.value) == state.threshold
    state.read("dataset=korea&threshold=3")
    assert state.threshold == select.value == 3
