"""The fit that came with the app is the one that its page asks for first."""

from types import SimpleNamespace

import pytest

from workbench.evaluation.evidence import NARROW
from workbench.labelled.identity import same_data
from workbench.ui.sources import city_models, messages, stored
from workbench.ui.sources.city import city
from workbench.ui.sources.state import CITY, State

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("ended, rmse, coverage, said, colour", [
    ((True, False), 8.0, 0.95, "Converged; intervals cover 95 % at 95 %", "success"),
    ((True, False), 8.0, 0.85, "Converged; intervals too narrow: 85 % at 95 %", "warning"),
    ((True, False), 8.0, 0.999, "Converged; intervals too wide: 100 % at 95 %", "warning"),
    ((True, False), 8.0, 0.60, "Converged; do not rely on its intervals: 60 % at 95 %", "error"),
    ((True, False), 12.0, 0.95, "Converged; each station's own mean predicts better", "error"),
    ((False, False), 8.0, 0.95, "Not converged", "warning"),
    ((False, False), 12.0, 0.48, "Not converged; each station's own mean predicts better", "error"),
    ((False, True), 8.0, 0.48,
     "Cancelled: best state so far, not converged; do not rely on its intervals: 48 % at 95 %",
     "error")])
def test_the_badge_of_the_city_is_as_good_as_its_worst_finding(ended, rmse, coverage, said, colour):
    fitted = SimpleNamespace(converged=ended[0], cancelled=ended[1], rmse=rmse, coverage=coverage,
                             data=SimpleNamespace(own_means=10.0))
    assert messages.city_verdict(fitted) == (said, colour)


def test_the_stored_fit_is_that_of_the_preset_it_stands_for():
    """The page opens on it: same data, same model, converged, and near what it claims to cover."""
    key, data = State(tab=CITY).fit_key, city(*State(tab=CITY).fit_key.place)
    found, (name, options) = stored.fit(), city_models.options(key)
    assert key == stored.KEY and type(found.model).__name__ == name
    for option, value in options.items():
        assert getattr(found.model.options, option) == value, option
    for source, ds in found._parts().items():
        assert same_data(ds, data.sources[source])      # bits differ between processors
    fitted = city_models.from_store(key, data)
    assert fitted.stored and fitted.converged and not fitted.cancelled
    assert fitted.rmse < data.own_means
    assert messages.city_verdict(fitted)[1] == "success" and round(100 * fitted.coverage) == 96
    assert fitted.field_coverage < NARROW
    said = messages.city_intervals(fitted)
    assert "cover 86 % of the truth" in said and "too narrow" not in said
    assert city_models.from_store(State(tab=CITY, reach=3.0).fit_key, data) is None
    path = stored.PLACES[-1] / stored.NAME
    assert path.stat().st_size < 300_000
