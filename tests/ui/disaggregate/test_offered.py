"""What is offered works: models whose errors do not fit counts are scored right, or not offered."""

import numpy as np
import pytest

from tests.ui.disaggregate.sessions import Session
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.views.scores import SCORES

COUNTS = "dataset=swiss-roll&granularity=10&kernel=linear&scored=bag&model="


def shown(query):
    state = State()
    assert state.read(COUNTS + query) == []
    session = Session(state)
    store = session.settled()
    assert store.error == ""
    return store


@pytest.mark.slow
@pytest.mark.parametrize("query", ["aggregated-gp", "vbagg&link=identity&likelihood=normal"])
def test_normal_errors_are_scored_right_on_counts(one_thread, query):
    store = shown(query)
    answer, data = store.answer, store.scene.data
    found = store.scores["scores"].sel(model=answer.fit.model.name, target="rate")
    values = {name: float(found.sel(score=name)) for name in SCORES}
    assert np.isfinite(list(values.values())).all()
    error = answer.mean - data["truth"].values
    assert values["rmse"] == pytest.approx(float(np.sqrt(np.mean(error**2))), rel=1e-6)
    inside = 100 * np.mean(np.abs(error) < 1.959964 * answer.std)
    assert values["coverage_95"] == pytest.approx(inside, abs=3)    # from draws
    assert np.isfinite(np.asarray(store.exceedance)).all()
    store.close()


@pytest.mark.slow
def test_the_flat_model_is_flat_and_the_exact_one_is_not_offered_where_it_cannot_be(one_thread):
    store = shown("constant")
    assert np.ptp(store.answer.mean) < 1e-9 * store.answer.mean[0] and store.answer.mean[0] > 0
    store.close()
    large = State(dataset="simulated-country")
    assert "too many" in large.impossible("model")["aggregated-gp"]
    assert "aggregated-gp" not in State(dataset="swiss-roll").impossible("model")
