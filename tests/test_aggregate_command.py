"""`workbench aggregate`: a stored map over new polygons, from its draws or by fitting again."""

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from tests.geo import files
from tests.kit import kit_inputs, write_kit
from workbench.checks import InputError
from workbench.cli import app
from workbench.pipeline.spec import AggregateSpec

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.FewAreasWarning",
    "ignore::workbench.checks.ExtrapolationWarning")


def workbench(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def mapped(folder, name, *further):
    out = folder / name
    result = workbench("disaggregate", *kit_inputs(folder), "--model", "vbagg", "--max-steps", 5,
                       "--inducing", 8, *further, "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_kit(tmp_path_factory.mktemp("kit"))
    geopandas.GeoDataFrame(
        {"zone": ["west", "east"]}, crs="EPSG:32638",
        geometry=[shapely.box(0, 0, 155, 300), shapely.box(155, 0, 400, 300)]
    ).to_file(folder / "zones.gpkg")
    mapped(folder, "map.nc", "--draws", 400)
    return folder


@pytest.fixture(scope="module")
def table(folder):
    result = workbench("aggregate", folder / "map.nc", "--to", folder / "zones.gpkg", "--id",
                       "zone", "--threshold", 200, "--out", folder / "zones.csv", "--quiet")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "west" in result.output and "5 % to 95 %" in result.output
    return pd.read_csv(folder / "zones.csv")


def test_totals_of_zones_from_the_draws_of_a_map(folder, table):
    assert table["bag"].tolist() == ["west", "east"]
    draws = wb.aggregate(wb.read(folder / "map.nc"), folder / "zones.gpkg", id="zone")
    np.testing.assert_allclose(table["mean"], draws["mean"])
    np.testing.assert_allclose(table["value_quantile_0.05"], draws["value_quantile"][0])
    assert set(table) >= {"std", "rate", "weight", "covered", "exceedance"}
    with pytest.raises(InputError, match="no numbers|unknown|choose"):
        wb.write(draws, folder / "zones.tif")


@pytest.mark.slow
def test_a_map_without_draws_is_fitted_again(folder, table):
    plain = mapped(folder, "plain.nc")
    result = workbench("aggregate", plain, "--to", folder / "zones.gpkg", "--id", "zone",
                       "--samples", 400, "--out", folder / "again.nc")
    assert result.exit_code == 0, (result.output, result.exception)
    again = wb.read(folder / "again.nc")
    error = again["std"].values / np.sqrt(200)
    assert (abs(again["mean"].values - table["mean"].values) < 4.5 * error).all()
    repeated = workbench("run", folder / "again.nc", "--out", folder / "third.nc", "--quiet")
    assert repeated.exit_code == 0, repeated.output
    np.testing.assert_array_equal(wb.read(folder / "third.nc")["draw"], again["draw"])
    areas = geopandas.read_file(folder / "areas.gpkg")
    changed = areas.assign(cases=areas["cases"] + 1)
    changed.to_file(folder / "areas.gpkg", layer="areas")
    try:
        refused = workbench("aggregate", plain, "--to", folder / "zones.gpkg", "--out",
                            folder / "no.nc", "--quiet")
        assert refused.exit_code == 2 and "have changed since it was made" in refused.output
    finally:
        areas.to_file(folder / "areas.gpkg", layer="areas")


def test_rasters_and_other_files_are_refused(folder):
    zones = folder / "zones.gpkg"
    raster = workbench("aggregate", folder / "map.nc", "--to", zones, "--out", folder / "z.tif")
    assert raster.exit_code == 2 and "'.tif' cannot hold this result" in raster.output
    missing = workbench("aggregate", folder / "map.nc", "--to", folder / "no.gpkg", "--out",
                        folder / "z.csv", "--quiet")
    assert missing.exit_code == 2 and "no.gpkg' does not exist" in missing.output
    help_all = workbench("aggregate", "--help-all")
    assert help_all.exit_code == 0 and "--samples" in help_all.output


def test_what_the_map_was_made_from_is_not_replaced(folder):
    """Without draws it is fitted again, from the same files."""
    areas, _ = folder / "areas.gpkg", mapped(folder, "again.nc")
    before = areas.read_bytes()
    done = workbench("aggregate", folder / "again.nc", "--to", folder / "zones.gpkg",
                     "--id", "zone", "--out", areas)
    assert done.exit_code == 2 and "would overwrite the input" in done.output
    assert areas.read_bytes() == before


def test_a_zone_without_a_name_is_refused(folder):
    zones = geopandas.read_file(folder / "zones.gpkg").assign(zone=["west", None])
    with pytest.raises(InputError, match="id in column 'zone' is missing in 1 of 2 rows"):
        wb.aggregate(wb.read(folder / "map.nc"), zones, id="zone")


@pytest.mark.filterwarnings("ignore:'crs' was not provided")
def test_unknown_options_are_named_and_a_crs_may_be_stated(folder):
    asked = ("aggregate", folder / "map.nc", "--id", "zone", "--out", folder / "z.csv", "--quiet")
    done = workbench(*asked, "--to", folder / "zones.gpkg", "--treshold", 3)
    assert done.exit_code == 2 and "'--treshold' is unknown; did you mean '--thresh" in done.output
    zones = geopandas.read_file(folder / "zones.gpkg")
    zones.set_crs(None, allow_override=True).to_file(folder / "bare.gpkg")
    bare = workbench(*asked, "--to", folder / "bare.gpkg")
    assert bare.exit_code == 2 and "--polygon-crs EPSG:..." in bare.output
    stated = workbench(*asked, "--to", folder / "bare.gpkg", "--polygon-crs", "EPSG:32638")
    assert stated.exit_code == 0, stated.output


def test_a_spec_has_no_model_of_its_own():
    spec = AggregateSpec("map.nc", "zones.gpkg", id="zone", threshold=3.0)
    assert AggregateSpec.from_json(spec.to_json()) == spec
    with pytest.raises(InputError, match="model is that of the map"):
        AggregateSpec("map.nc", "zones.gpkg", model="vbagg")
    with pytest.raises(InputError, match="at least 2"):
        AggregateSpec("map.nc", "zones.gpkg", samples=1)


def test_a_period_of_a_map_over_time_is_added_up(tmp_path, monkeypatch):
    """From draws and from the model fitted again; without a period the error was on rasters."""
    monkeypatch.chdir(files.kit(tmp_path))
    table, years = files.table(), (2019, 2020)
    pd.concat([table.assign(year=y, cases=table["cases"] + y - 2019) for y in years]).to_csv(
        "years.csv", index=False)
    files.areas(region=table["region"]).dissolve("region").reset_index().to_file("to.gpkg")
    line = ["--polygons", "areas.gpkg", "--totals", "years.csv", "--join", "code", "--time",
            "year", "--value", "cases", "--covariates", "height.tif", "--weight", "people.tif"]
    maps = files.mapped(tmp_path / "map.nc", *line, "--draws", 100)
    files.mapped(tmp_path / "plain.nc", *line)
    ask = ["--to", "to.gpkg", "--id", "region", "--quiet", "--out", "to.csv"]
    for name in ("map.nc", "plain.nc"):
        none, wrong = (workbench("aggregate", name, *ask, *more) for more in (
            [], ["--period", "2022"]))
        assert none.exit_code == wrong.exit_code == 2
        assert f"{name} has 2 (2019, 2020); choose one with --period 2020" in none.stderr
        assert "period '2022' is unknown" in wrong.stderr
        done = workbench("aggregate", name, *ask, "--period", "2020")
        assert done.exit_code == 0, (done.output, done.exception)
        found = pd.read_csv("to.csv").set_index("bag")
        drawn = wb.aggregate(wb.at_period(maps, 2020), tmp_path / "to.gpkg", id="region")
        assert found["mean"].to_numpy() == pytest.approx(drawn["mean"].values, rel=0.2)
    with pytest.raises(InputError, match=r"has 2 \(2019, 2020\); take one with workbench.at_per"):
        wb.aggregate(maps, tmp_path / "to.gpkg", id="region")
    # Of a map of one period that is it, with draws or fitted again.
    for name, more in (("map.nc", []), ("plain.nc", []), ("plain.nc", ["--period", "2020"])):
        wb.write(wb.at_period(wb.read(name), 2020), tmp_path / "one.nc")
        alone = workbench("aggregate", "one.nc", *ask, *more)
        assert alone.exit_code == 0, (alone.output, alone.exception)
        assert pd.read_csv("to.csv").set_index("bag")["mean"].to_numpy() == pytest.approx(
            drawn["mean"].values, rel=0.2)
    other = workbench("aggregate", "one.nc", *ask, "--period", "2019")
    assert other.exit_code == 2 and "period '2019' is unknown" in other.stderr
    files.mapped(tmp_path / "still.nc", "--polygons", "full.gpkg", "--id", "code", "--value",
                 "cases", "--covariates", "height.tif", "--weight", "people.tif", "--draws", 10)
    none = workbench("aggregate", "still.nc", *ask, "--period", "2020")
    assert none.exit_code == 2 and "has no periods; leave --period 2020 out" in none.stderr


def test_maps_of_points_by_people(tmp_path, monkeypatch):
    """From draws and fitted again; of a map that has weights it is refused."""
    monkeypatch.chdir(tmp_path)
    files.kit(tmp_path)
    rng = np.random.default_rng(0)
    x, y = 500_500 + 1000 * rng.integers(0, 12, (2, 30))
    pd.DataFrame({"x": x, "y": y + 4_500_000, "n": 20, "positive": rng.integers(0, 20, 30)}
                 ).drop_duplicates(["x", "y"]).to_csv("sites.csv", index=False)
    geopandas.GeoDataFrame({"zone": ["all"]}, crs=files.CRS, geometry=[
        shapely.box(500_000, 5_000_000, 512_000, 5_012_000)]).to_file("all.gpkg")
    some = np.where(np.arange(24)[:, None] < 4, 0.0, 5.0) * np.ones(24)
    some[23, 23] = -7                       # beside three pixels that are known
    xr.DataArray(some, dims=("y", "x"), coords={
        "y": 5_012_000 - 500 * (np.arange(24) + 0.5), "x": 500_000 + 500 * (np.arange(24) + 0.5)}
        ).rio.write_crs(files.CRS).rio.to_raster("some.tif")
    found = {}
    for name, draws in (("drawn.nc", ["--draws", 300]), ("plain.nc", [])):
        made = workbench("disaggregate", "--points", "sites.csv", "--points-crs", files.CRS,
                         "--value", "positive", "--trials", "n", "--covariates", "height.tif",
                         "--model", "vbagg", "--kernel", "linear", "--max-steps", 5, *draws,
                         "--out", name)
        assert made.exit_code == 0, (made.output, made.exception)
        result = workbench("aggregate", name, "--to", "all.gpkg", "--id", "zone", "--weight",
                           "some.tif", "--nodata", -7, "--samples", 300, "--out", "out.nc")
        assert result.exit_code == 0, (result.output, result.exception)
        assert "weight 'some' was summed from 24 x 24 pixels" in result.output
        found[name] = wb.read("out.nc")
        assert "was summed" in found[name].attrs["treatments"]
    maps = wb.read("drawn.nc")
    each = wb.with_weight(maps, "some.tif", nodata=-7)["weight"].values
    assert (each == 0).sum() == 24          # nobody lives in the first two rows
    np.testing.assert_allclose(
        found["drawn.nc"]["draw"].values[:, 0],
        np.average(maps["draw"].values, axis=1, weights=each), rtol=1e-5)
    drawn, again = (found[name] for name in ("drawn.nc", "plain.nc"))
    apart = abs(drawn["mean"].item() - again["mean"].item())
    assert apart < 4 * drawn["std"].item() / np.sqrt(150)
    files.mapped(tmp_path / "areas.nc", "--polygons", "full.gpkg", "--id", "code", "--value",
                 "cases", "--covariates", "height.tif", "--weight", "people.tif", "--draws", 10)
    refused = workbench("aggregate", "areas.nc", "--to", "all.gpkg", "--weight", "people.tif",
                        "--out", "out.nc")
    assert refused.exit_code == 2 and "have weights, by which they were learnt" in refused.stderr
