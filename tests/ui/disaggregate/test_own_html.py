"""HTML in names of files, columns and areas of one's own is text on the page, never part of it."""

import geopandas as gpd
import numpy as np
import pytest
import shapely

from tests.ui.disaggregate.test_own import checked
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.own import Own

pytestmark = pytest.mark.usefixtures("removed")
EVIL = "<img src=x onerror=alert(1)>"


def evil(folder, height):
    """Areas with a column, names and a note that hold HTML; one of them beyond the raster."""
    shapes = [shapely.box(100 * k, 0, 100 * k + 100, 300) for k in range(11)]
    shapes.append(shapely.box(9e5, 0, 9.1e5, 300))
    frame = gpd.GeoDataFrame(
        {EVIL: np.arange(1, 13), "code": [f"{EVIL}{k}" for k in range(12)]}, geometry=shapes,
        crs="EPSG:32638")
    frame.to_file(folder / "evil.gpkg")
    return {"evil.gpkg": (folder / "evil.gpkg").read_bytes(), "people.tif": height}


def texts(view):
    """What the panes of the dialog put on the page as HTML."""
    panes = [*view.dialog.select(), *view.corrections.column.select()]
    found = [getattr(pane, name, None) for pane in panes for name in ("object", "html")]
    return [text for text in found if isinstance(text, str)]


def test_html_in_names_is_escaped_on_the_page(tmp_path):
    from tests.kit import write_kit

    (tmp_path / "kit").mkdir()
    raster = (write_kit(tmp_path / "kit") / "people.tif").read_bytes()
    store = Store(State())
    view = Own(store)
    checked(view, evil(tmp_path, raster), EVIL)
    said = texts(view)
    assert any("onerror" in text for text in said)      # it is said, and escaped
    assert not [text for text in said if "<img" in text]
    view.drop.param.update(filename=[f"{EVIL}.gpkg"], value=[b"x"])
    said = texts(view)
    assert any("onerror" in text for text in said)
    assert not [text for text in said if "<img" in text]
    store.leave()
