"""Pictures of residuals and ranks of areas, and of totals of new polygons."""

import geopandas
import numpy as np
import pytest
import shapely
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from tests.plots.test_stored import titles
from workbench import plots
from workbench.checks import InputError
from workbench.cli import app
from workbench.plots.intervals import ranks_of, totals_of
from workbench.plots.residuals import moran_line, residuals_of

pytestmark = [pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning"),
              pytest.mark.slow]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A map with residuals, ranks and draws, and its totals over two halves."""
    folder = tmp_path_factory.mktemp("areas")
    spec = wb.Spec("simulated-country", {"pixels": 600, "districts": 40, "regions": 4,
                                         "provinces": 2},
                   options={"kernel": "linear", "max_steps": 10}, residuals=True, ranks=True,
                   draws=60)
    maps = wb.run(spec)
    wb.write(maps, folder / "map.nc")
    west, south, east, north = shapely.total_bounds(maps["bag_geometry"].values)
    middle = (west + east) / 2
    halves = geopandas.GeoDataFrame(
        {"side": ["west", "east"]}, crs=maps.attrs["crs"],
        geometry=[shapely.box(west, south, middle, north), shapely.box(middle, south, east, north)])
    halves.to_file(folder / "halves.gpkg")
    done = CliRunner().invoke(app, [
        "aggregate", str(folder / "map.nc"), "--to", str(folder / "halves.gpkg"), "--id", "side",
        "--threshold", "100", "--out", str(folder / "halves.nc"), "--quiet"])
    assert done.exit_code == 0, (done.output, done.exception)
    return folder


def test_residuals_and_ranks_are_in_the_picture_of_a_map(made):
    maps = wb.read(made / "map.nc")
    found = titles(plots.map_picture(maps))
    assert found[found.index("Residuals of areas"):] == [
        "Residuals of areas", "Rank of areas (median)",
        str(maps["top_probability"].attrs["long_name"]), residuals_of(maps).tested,
        "Variogram of residuals", "The 30 highest of 40 areas"]


def test_the_line_of_moran_has_its_slope(made):
    maps = wb.read(made / "map.nc")
    it = residuals_of(maps)
    fitted = np.polyfit(it.residual, it.neighbours, 1)[0]
    assert fitted == pytest.approx(it.moran, abs=1e-8)
    ends = moran_line(it)
    assert (ends[1, 1] - ends[0, 1]) / (ends[1, 0] - ends[0, 0]) == pytest.approx(it.moran)
    assert f"{it.moran:.2f}" in plots.still_moran(maps) and "Moran" in maps.attrs["residual_check"]
    # The check by itself is drawn as the one in a map is.
    fit = wb.VBAgg(kernel="linear", max_steps=10).fit(wb.load(
        "simulated-country", pixels=600, districts=40, regions=4, provinces=2))
    alone = residuals_of(fit.residual_check(fit.data))
    np.testing.assert_allclose(alone.semivariance, it.semivariance)
    assert alone.unit == it.unit


def test_ranks_are_listed_from_the_highest(made):
    maps = wb.read(made / "map.nc")
    it = ranks_of(maps, most=5)
    assert len(it.names) == 5 and (np.diff(it.middle) >= 0).all()
    assert it.middle[0] == float(maps["rank_median"].min())
    assert (it.low <= it.middle).all() and (it.middle <= it.high).all()
    with pytest.raises(InputError, match="no ranks of areas"):
        plots.rank_intervals(maps.drop_vars("rank_median"))
    with pytest.raises(InputError, match="no residuals"):
        plots.residual_variogram(maps.drop_vars("residual"))


def test_totals_of_polygons_have_a_picture(made, tmp_path):
    found = wb.read(made / "halves.nc")
    it = totals_of(found)
    assert it.middle.tolist() == sorted(found["mean"].values.tolist(), reverse=True)
    names = titles(plots.map_picture(found))
    assert names[0].startswith("Posterior mean of the total") and "Exceedance" in names
    assert "Rate" in names
    done = CliRunner().invoke(app, ["plot", str(made / "halves.nc"), "--out",
                                    str(tmp_path / "halves.html")])
    assert done.exit_code == 0, (done.output, done.exception)
    assert "2 polygons" in (tmp_path / "halves.html").read_text(encoding="utf-8")


def test_a_report_has_what_is_known_of_areas(made):
    page = wb.report(made / "map.nc").to_html()
    for said in ("What the model leaves of the areas", "Variogram of residuals",
                 "Which areas are the highest", "The 30 highest of 40 areas"):
        assert said in page, said
    other = wb.report(made / "halves.nc").to_html()
    assert "Totals of the polygons" in other and "No map can be drawn" not in other
    bare = wb.read(made / "map.nc").drop_vars(["residual", "rank_median"])
    assert "Which areas are the highest" not in wb.report(bare).to_html()


def test_a_map_of_before_has_no_neighbours_and_is_drawn(made):
    maps = wb.read(made / "map.nc")
    before = maps.drop_vars("residual_neighbours")
    before["residual"] = xr.DataArray(before["residual"].values, dims="bag")
    assert len(plots.map_picture(before)) == len(plots.map_picture(maps)) - 1
    with pytest.raises(InputError, match="does not hold the residuals of neighbours"):
        plots.moran_scatter(before)
