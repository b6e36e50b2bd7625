"""What is exported makes the page's posterior again: programs are run, files are read back."""

import io

import numpy as np
import pytest

from tests.ui.kit import layer, ran, ran_notebook
from workbench.ui.granularity import exporting
from workbench.ui.granularity.state import MAP, State
from workbench.ui.granularity.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


@pytest.fixture
def bundle():
    """What can be taken away of a setting; its session ends with the test."""
    stores = []

    def make(**given):
        stores.append(Store(State(**given)))
        stores[-1].refresh()
        return stores[-1], exporting.bundle(stores[-1])

    yield make
    for store in stores:
        store.close()


@pytest.mark.parametrize("given", [
    {}, {"kernel": "matern52", "edges": "1_2.5_4", "assumed": 0.5},
    {"tab": MAP, "kernel": "matern12", "shape": "voronoi", "reveal": True, "guess": "twice"},
    {"tab": MAP, "kernel": "matern32", "likelihood": "poisson", "side": 2.5}],
    ids=["line", "edges", "map", "counts"])
def test_the_program_makes_the_posterior(bundle, given):
    store, found = bundle(**given)
    names = ran_notebook(found) if store.state.tab == MAP else ran(found.program)
    table, page = names["table"], found.table()
    assert set(table) <= set(page)
    for name in table:
        np.testing.assert_allclose(table[name], page[name], rtol=0, atol=1e-7, err_msg=name)
    mean = store.answer.summary.mean[: len(page)]
    np.testing.assert_array_equal(page["mean"], mean)
    assert ("truth" in page) == (not store.state.hidden)
    assert (found.maps is None) == (store.state.tab != MAP)


@pytest.mark.filterwarnings("ignore:'crs' was not provided")
def test_maps_lie_where_the_page_draws_them(bundle):
    import rasterio

    _, found = bundle(tab=MAP)
    page = found.table()
    with rasterio.open(io.BytesIO(found.file(".tif").getvalue())) as file:
        band = file.read(list(file.descriptions).index("mean") + 1)
        rows, columns = rasterio.transform.rowcol(file.transform, page["x"], page["y"])
    np.testing.assert_allclose(band[rows, columns], page["mean"])
    assert len(layer(found, "pixels")) == len(page)
