"""What is exported makes the page's numbers again: programs are run, files are read back."""

import ast
import io
import json

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.ui.kit import layer, ran, settled
from workbench.ui.base.cache import Cache
from workbench.ui.base.views.bundle import PICTURES
from workbench.ui.sources import background, exporting
from workbench.ui.sources.state import CITY, State
from workbench.ui.sources.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


def opened(**given):
    store = Store(State(**given))
    store.refresh()
    settled(store.city if store.state.tab == CITY else store)
    return store


@pytest.fixture
def city(short_fits):
    """A city at once: few steps and inducing inputs."""
    store = opened(tab=CITY, city=1, model="product", reach=8.0, hour=7)
    yield store
    store.close()


@pytest.mark.parametrize("given", [
    {}, {"kernel": "matern32", "lengthscale": 0.8, "weight": 1.2, "span": "-10_20",
         "sources": "-8.5_3_40_4_0.6_-1.5_0.3_0~2_19.5_200_50_2_4_2_0.7"},
    {"sources": "0_10_30_1_1_0_0.5_0"}], ids=["two", "means", "one"])
def test_the_program_of_the_line_makes_its_table(given):
    store = opened(**given)
    found = exporting.bundle(store)
    table, page = ran(found.program)["table"], found.table()
    assert found.maps is None and set(table) == set(page) - {"truth"}
    for name in table:
        np.testing.assert_allclose(table[name], page[name], rtol=0, atol=2e-7, err_msg=name)
    np.testing.assert_allclose(page["composite"], store.answer.bands["composite"].mean)
    read = pd.read_csv(found.csv())
    np.testing.assert_allclose(read, page, rtol=1e-12)
    store.close()


@pytest.mark.filterwarnings("ignore:not converged")
def test_the_program_of_the_line_mixes_the_experts_of_the_page(monkeypatch):
    for name, value in {"STEPS": 4, "INDUCING": 10, "SAMPLES": 8}.items():
        monkeypatch.setattr(background, name, value)
    monkeypatch.setitem(background._KEPT, "experts", Cache(4))
    store = opened(experts=True)
    found = exporting.bundle(store)
    assert "wb.MRDGP(" in found.program and store.fresh
    table, page = ran(found.program)["table"], found.table()
    for name in ("mr_dgp", "mr_dgp_low", "mr_dgp_high", "composite"):
        np.testing.assert_allclose(table[name], page[name], rtol=0, atol=2e-7, err_msg=name)
    np.testing.assert_allclose(page["mr_dgp"], store.experts.band.mean)
    store.close()


@pytest.mark.filterwarnings("ignore:not converged")
def test_the_program_of_the_city_makes_its_map(city):
    found, hour = exporting.bundle(city), city.city.hour
    table = ran(found.program)["table"]
    np.testing.assert_allclose(table["mean"], hour.mean, rtol=1e-6)
    np.testing.assert_allclose(table["std"], hour.sd, rtol=1e-6)
    np.testing.assert_allclose(table["reading_std"], hour.total, rtol=1e-6)
    np.testing.assert_allclose(found.table()["reading_std"], hour.total, rtol=1e-6)
    np.testing.assert_allclose(found.table()["mean"], hour.mean, rtol=1e-8)
    np.testing.assert_allclose(found.table()["truth"], hour.truth)
    assert "not converged" in found.settings["fit"] and "Not converged" in found.told[1]


@pytest.mark.filterwarnings("ignore:not converged", "ignore:'crs' was not provided")
def test_maps_are_read_back_where_they_lie(city):
    import rasterio

    found, hour = exporting.bundle(city), city.city.hour
    with rasterio.open(io.BytesIO(found.file(".tif").getvalue())) as file:
        band = file.read(list(file.descriptions).index("mean") + 1)
        assert tuple(file.bounds) == (0, 0, 42, 35)
    np.testing.assert_allclose(band.ravel(), hour.mean, rtol=1e-6)
    frame = layer(found, "pixels")
    assert len(frame) == hour.mean.size and {"mean", "std", "truth"} <= set(frame)


def test_the_report_has_room_for_pictures_and_the_notebook_the_program():
    store = opened()
    found = exporting.bundle(store)
    page = found.report()
    assert page.count(PICTURES) == 1 and "<script" not in page
    assert "the posterior variance is 0.56 times" in page and "bag_boxes" in page
    assert "not fitted" in page and "The first 20 of 301 rows" in page
    book = json.loads(found.notebook())
    cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        ast.parse(cell)
    there = {}
    for cell in cells:
        exec(cell, there)
    np.testing.assert_allclose(there["table"]["composite"], found.table()["composite"], atol=2e-7)
    assert wb is there["wb"]
    store.close()
