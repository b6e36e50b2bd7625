"""The fit that came with the app is the one that its page asks for first."""

import pytest

from workbench.labelled.source import data_hash
from workbench.ui.sources import city_models, messages, stored
from workbench.ui.sources.city import city
from workbench.ui.sources.state import CITY, State

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_stored_fit_is_that_of_the_preset_it_stands_for():
    """The page opens on it: same data, same model, converged, and near what it claims to cover."""
    key, data = State(tab=CITY).fit_key, city(*State(tab=CITY).fit_key.place)
    found, (name, options) = stored.fit(), city_models.options(key)
    assert key == stored.KEY and type(found.model).__name__ == name
    for option, value in options.items():
        assert getattr(found.model.options, option) == value, option
    for source, ds in found._parts().items():
        assert data_hash(ds) == data_hash(data.sources[source])
    fitted = city_models.from_store(key, data)
    assert fitted.stored and fitted.converged and not fitted.cancelled
    assert fitted.rmse < data.own_means
    assert messages.city_verdict(fitted)[1] == "success" and round(100 * fitted.coverage) == 96
    assert fitted.field_coverage < messages.ENOUGH
    said = messages.city_intervals(fitted)
    assert "cover 86 % of the truth" in said and "too narrow" not in said
    assert city_models.from_store(State(tab=CITY, reach=3.0).fit_key, data) is None
    path = stored.PLACES[-1] / stored.NAME
    assert path.stat().st_size < 300_000
