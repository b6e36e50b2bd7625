"""Own data and what is said of them: widgets, addresses, headline and steps agree with the state."""

from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.controls import Controls


def test_the_widget_of_the_threshold_shows_the_state_of_every_dataset():
    state = State()
    controls = Controls(Store(state))
    controls._panel.get_root()          # as on a page: without models widgets keep any value
    widget = controls.widgets["threshold"]
    (model, _), = widget._models.values()
    for name in ("korea", "swiss-roll", "simulated-country"):
        state.dataset = name
        assert state.threshold == state.choice.threshold == widget.value
        assert float(model.data.value) == state.threshold
    state.read("dataset=korea&threshold=3")
    assert state.threshold == widget.value == 3
