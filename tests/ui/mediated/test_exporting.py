"""What is exported makes the page's map again: programs are run, files are read back."""

import io

import numpy as np
import pandas as pd
import pytest

from tests.ui.kit import layer, ran, ran_notebook, settled
from workbench.ui.base.messages import BY_HAND
from workbench.ui.mediated import background, exporting
from workbench.ui.mediated.state import State
from workbench.ui.mediated.store import Store, setting_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


def opened(**given):
    store = Store(State(**given))
    assert exporting.bundle(store) is None
    store.refresh()
    return settled(store)


@pytest.mark.parametrize("given", [
    {"side": 8}, {"side": 12, "share": 0.0, "kernel": "place"},
    {"side": 12, "model": "aggregated-gp", "mediator": "place"},
    {"side": 12, "model": "gpr", "kernel": "matern32.linear"}, {"side": 8, "model": "bilinear"},
    {"source": "made", "side": 9, "model": "s-cmp", "noise": 1.0},
    {"side": 15, "model": "var-cmp", "joint": "product"}, {"side": 12, "model": "bagg-gp"}],
    ids=lambda given: "-".join(str(value) for value in given.values()))
def test_the_program_makes_the_map(given):
    store = opened(**given)
    found = exporting.bundle(store)
    table, page = ran(found.program)["table"], found.table()
    assert list(table) == list(page)
    for name in table:
        np.testing.assert_allclose(table[name], page[name], rtol=1e-6, atol=1e-6, err_msg=name)
    np.testing.assert_array_equal(page["mean"], store.answer.posterior.mean)
    assert (BY_HAND in found.told) == (given.get("model") != "bilinear")
    store.close()


def test_the_map_in_full_has_a_program_too():
    state = State(side=15, model="bilinear")
    setting = setting_of(state)
    answer = background.answer(setting, setting.build(fine=True), state.chosen)
    table = ran(exporting.program(answer, state))["table"]
    np.testing.assert_allclose(table["mean"], answer.posterior.mean, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:'crs' was not provided")
def test_files_and_the_notebook_hold_the_map():
    import rasterio

    store = opened(side=12)
    found, mean = exporting.bundle(store), store.answer.posterior.mean
    with rasterio.open(io.BytesIO(found.file(".tif").getvalue())) as file:
        band = file.read(list(file.descriptions).index("mean") + 1)
    np.testing.assert_allclose(np.sort(band[np.isfinite(band)]), np.sort(mean))
    frame = layer(found, "pixels")
    np.testing.assert_allclose(np.sort(frame["mean"]), np.sort(mean))
    np.testing.assert_allclose(pd.read_csv(found.csv())["mean"], mean)
    assert "wb.CMP(" in found.report()
    table, page = ran_notebook(found)["table"], found.table()
    assert list(table) == list(page) and len(table) == mean.size
    for name in table:
        np.testing.assert_allclose(table[name], page[name], rtol=1e-6, atol=1e-6, err_msg=name)
    store.close()
