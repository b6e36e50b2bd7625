"""A coarse raster of observed values is areas: each of its cells is one, with a mean."""

import shlex

import numpy as np
import pandas as pd
import pytest
import rasterio
import rioxarray  # noqa: F401  (the accessor .rio)
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from tests.docs.pages import DOCS, blocks
from workbench.checks import DataWarning, InputError
from workbench.cli import app


def coarse(shape=(6, 6), size=4000.0) -> xr.DataArray:
    rows, columns = shape
    values = np.add.outer(10.0 - np.arange(rows), 0.5 * np.arange(columns))
    return xr.DataArray(values, dims=("y", "x"), name="temperature", coords={
        "y": size * (rows - 0.5 - np.arange(rows)), "x": size * (np.arange(columns) + 0.5),
    }).rio.write_crs("EPSG:32633")


def fine(shape=(24, 24), size=1000.0) -> xr.DataArray:
    found = coarse(shape, size).rename("height")
    return found.copy(data=np.random.default_rng(0).uniform(0, 900, shape))


def test_cells_are_areas_in_their_places():
    raster = coarse()
    areas = wb.grid_areas(raster)
    assert areas["cell"].tolist()[:2] == ["row 1, column 1", "row 1, column 2"]
    middle = areas.geometry.centroid
    at = raster.sel(x=xr.DataArray(middle.x.to_numpy()), y=xr.DataArray(middle.y.to_numpy()),
                    method="nearest")
    np.testing.assert_array_equal(areas["temperature"], at)
    np.testing.assert_allclose(areas.area, 16e6)
    assert areas.union_all().equals(areas.union_all().envelope)


@pytest.mark.parametrize("suffix", [".tif", ".nc"])
def test_a_path_of_a_raster_is_taken_for_its_cells_whose_values_are_means(tmp_path, suffix):
    path = tmp_path / f"temperature{suffix}"
    raster = coarse()
    raster[2, 3] = np.nan
    raster.rio.to_raster(path) if suffix == ".tif" else raster.to_netcdf(path)
    options = dict(covariates=fine(), value="temperature", weight="uniform")
    with pytest.raises(InputError, match="missing"):         # as of polygons
        wb.bag_polygons(path, **options)
    ds = wb.bag_polygons(path, **options, missing_value="drop")
    assert ds.sizes["bag"] == 35 and ds.sizes["individual"] == 35 * 16
    assert ds["value"].attrs["aggregation"] == "mean" and ds["value"].attrs["kind"] == "continuous"
    assert "each of its 36 cells is an area" in ds.attrs["treatments"]
    assert ds["value"].sel(bag="row 1, column 1") == 10.0
    assert "row 3, column 4" not in ds["bag"]
    sums = wb.bag_polygons(path, **options, missing_value="drop", aggregation="sum")
    assert sums["value"].attrs["aggregation"] == "sum"


@pytest.mark.filterwarnings("ignore::workbench.checks.DataWarning")    # of counts in halves
@pytest.mark.parametrize("suffix", [".tif", ".nc"])
def test_values_are_in_the_units_of_their_raster(tmp_path, suffix):
    """Temperatures were in value units, whatever their file said."""
    path, raster = tmp_path / f"temperature{suffix}", coarse().assign_attrs(units="K")
    raster.rio.to_raster(path) if suffix == ".tif" else raster.to_netcdf(path)
    options = dict(covariates=fine(), value="temperature", weight="uniform")
    cells = wb.grid_areas(path)
    table = pd.DataFrame(cells.drop(columns="geometry")).assign(temperature=cells["temperature"])
    own = wb.bag_polygons(path, **options, join="cell", totals=table.assign(
        temperature=table["temperature"] - 273.15))
    assert own["value"].attrs["units"] == "value units"     # of a table that nobody says more of
    table.attrs = cells.attrs
    for areas, more in ((path, {}), (raster, {}), (cells, {}), (path, {"kind": "count"}), (
            path, {"totals": table, "join": "cell"})):
        ds = wb.bag_polygons(areas, **options, **more)
        assert ds["value"].attrs["units"] == "K", more
        assert ds.attrs["treatments"].count("temperature is in K, as its raster says") == 1
    years = pd.concat([table.assign(year=year) for year in (2019, 2020)])
    over_time = wb.bag_polygons(path, **options, totals=years, join="cell", time="year")
    assert over_time["value"].attrs["units"] == "K"
    assert wb.bag_polygons(path, **options, value_units="°C")["value"].attrs["units"] == "°C"
    plain = wb.bag_polygons(raster.assign_attrs(units="1"), **options, kind="count")
    assert plain["value"].attrs["units"] == "cases"


def test_bands_have_units_of_their_own(tmp_path):
    other = coarse().copy(data=coarse().values[:, ::-1])
    xr.concat([coarse(), other], "band").rio.to_raster(tmp_path / "two.tif")
    with rasterio.open(tmp_path / "two.tif", "r+") as file:
        file.units, file.descriptions = ("K", "1"), ("temperature", "share")
    for value, units in (("temperature", "K"), ("share", "1")):
        ds = wb.bag_polygons(tmp_path / "two.tif", fine(), "uniform", value)
        assert ds["value"].attrs["units"] == units
    ds = wb.bag_polygons(coarse(), tmp_path / "two.tif", "uniform", "temperature")
    assert ds["covariate_units"].values.tolist() == ["K", "1"]


def test_the_command_line_maps_a_coarse_grid(tmp_path):
    coarse().rio.to_raster(tmp_path / "temperature.tif")
    fine().rio.to_raster(tmp_path / "height.tif")
    given = ["--polygons", str(tmp_path / "temperature.tif"), "--value", "temperature",
             "--covariates", str(tmp_path / "height.tif"), "--weight", "uniform"]
    result = CliRunner().invoke(app, ["check", *given])
    assert "36 cells is an area" in " ".join(result.output.split())
    out = tmp_path / "map.nc"
    result = CliRunner().invoke(app, ["disaggregate", *given, "--model", "vbagg", "--out", str(out),
                                      "--quiet"])
    assert result.exit_code == 0, result.output
    maps = wb.read(out)
    assert maps.sizes["individual"] == 576 and 5 < float(maps["mean"].mean()) < 11


def test_what_is_no_grid_of_areas_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "monthly.nc"
    coarse().expand_dims(time=[0, 1]).to_netcdf(path)
    with pytest.raises(InputError, match=r"time \(2\) .*isel\(time=0\)"):
        wb.grid_areas(path, crs="EPSG:32633")
    both = {"a": coarse(), "b": fine()}
    with pytest.raises(InputError, match="'b' lies on another grid than 'a'"):
        wb.grid_areas(both)


def test_longitudes_beyond_180_are_said_to_be_that():
    there = coarse(size=0.5).rio.write_crs("EPSG:4326").assign_coords(
        x=250.25 + 0.5 * np.arange(6), y=39.0 - 0.5 * np.arange(6))
    height = fine(size=0.125).rio.write_crs("EPSG:4326").assign_coords(
        x=-109.95 + 0.125 * np.arange(24), y=39.2 - 0.125 * np.arange(24))
    with pytest.raises(InputError, match="longitudes run from 0 to 360.*take 360 off"):
        wb.bag_polygons(wb.grid_areas(there), height, "uniform", "temperature", aggregation="mean")
    areas = wb.grid_areas(there)
    with pytest.raises(InputError, match=r"areas.assign\(geometry=areas.translate\(-360\)\)"):
        wb.bag_polygons(areas, height, "uniform", "temperature")
    moved = areas.assign(geometry=areas.translate(-360))
    assert wb.bag_polygons(moved, height, "uniform", "temperature").sizes["bag"] == 36


DEGREES = 0.1       # pixels of heights(), four along a cell of temperatures()


def heights() -> xr.DataArray:
    north, east = np.mgrid[:16, :24]
    return xr.DataArray(
        800 + 300 * np.sin(north / 3) + 20.0 * east, dims=("y", "x"), name="height",
        coords={"y": 46.95 - DEGREES * np.arange(16), "x": 7.05 + DEGREES * np.arange(24)},
    ).rio.write_crs("EPSG:4326")


def temperatures() -> xr.DataArray:
    """Of 4 x 6 cells, from south to north and without a CRS, as files of climate often are."""
    found = (290 - 0.0065 * heights()).drop_vars("spatial_ref").coarsen(y=4, x=4).mean()
    found = found.rename(y="lat", x="lon").rename("tas").isel(lat=slice(None, None, -1))
    found["lat"].attrs["units"], found["lon"].attrs["units"] = "degrees_north", "degrees_east"
    return found


def test_the_array_the_files_and_the_cells_are_the_same_areas(tmp_path):
    temperatures().to_netcdf(tmp_path / "coarse.nc")
    plain = temperatures().rename(lat="y", lon="x").rio.write_crs("EPSG:4326")
    plain.rio.to_raster(tmp_path / "tas.tif")
    whole = wb.bag_polygons(temperatures(), heights(), value="tas")
    assert whole["value"].attrs["aggregation"] == "mean"
    assert "the mean over its cell, unless aggregation='sum'" in whole.attrs["treatments"]
    inside = np.bincount(whole["membership"].values, whole["covariates"].values[:, 0]) / 16
    assert whole["value"].values == pytest.approx(290 - 0.0065 * inside)
    for polygons in (tmp_path / "coarse.nc", tmp_path / "tas.tif",
                     wb.grid_areas(temperatures()).set_index("cell", drop=False)):
        again = wb.bag_polygons(polygons, heights(), value="tas")
        assert again["value"].values == pytest.approx(whole["value"].values, rel=1e-6)
        assert again["value"].attrs["aggregation"] == "mean"
        assert again["bag"].values.tolist() == whole["bag"].values.tolist()
    parts = wb.bag_in_parts(tmp_path / "coarse.nc", heights(), "uniform", "tas", at_once=12)
    assert parts.sizes["bag"] == 24 and parts["value"].attrs["aggregation"] == "mean"


def test_a_file_is_checked_as_areas_where_a_value_is_named(tmp_path):
    temperatures().to_netcdf(tmp_path / "coarse.nc")
    for polygons in (tmp_path / "coarse.nc", temperatures()):
        found = wb.check(polygons, heights(), value="tas")
        assert found.ok and found.totals.loc["areas", "kept"] == 24
        assert any("unless" in one.what for one in found.findings)


def test_marks_of_missing_cells_are_those_of_rasters():
    marked = temperatures().where(temperatures()["lat"] < 46.7, -9999.0)
    with pytest.raises(InputError, match="pass nodata=-9999"):
        wb.bag_polygons(marked, heights(), value="tas", missing_value="drop")
    kept = wb.bag_polygons(marked, heights(), value="tas", missing_value="drop", nodata=-9999)
    assert kept.sizes["bag"] == 18
    assert int(wb.grid_areas(marked, marks="mask")["tas"].isna().sum()) == 6


def test_a_time_is_refused_and_periods_go_into_a_table():
    steps = xr.concat([temperatures(), temperatures() + 2.0], pd.Index([1990, 1991], name="time"))
    ds = steps.to_dataset().assign(land=temperatures())
    for polygons in (steps, ds):
        with pytest.raises(InputError, match=r"time \(2\) .*isel\(time=0\).* table with a row for"):
            wb.bag_polygons(polygons, heights(), value="tas")
    assert list(wb.grid_areas(ds).columns) == ["cell", "land", "geometry"]
    each = [wb.grid_areas(ds.isel(time=k), "tas").assign(year=1990 + k) for k in range(2)]
    bags = wb.bag_polygons(each[0], heights(), value="tas", join="cell", time="year",
                           totals=pd.concat(each).drop(columns="geometry"))
    assert bags.sizes["bag"] == 48 and "row 4, column 6 1991" in bags["bag"].values
    assert bags["value"].attrs["aggregation"] == "mean"
    assert bags.attrs["treatments"].count("each is taken for the mean over its cell") == 1


def test_a_raster_that_gives_no_areas_is_refused_with_what_to_do(tmp_path):
    bare = temperatures().drop_attrs()
    with pytest.raises(InputError, match="no CRS; state it with crs="):
        wb.grid_areas(bare)
    with pytest.raises(InputError, match="no CRS; state it with polygon_crs="):
        wb.bag_polygons(bare, heights(), value="tas")
    with pytest.raises(InputError, match=r"no variables \['pr'\]; it has \['tas'\]"):
        wb.grid_areas(temperatures(), "pr")
    temperatures().rename(lat="y", lon="x").rio.to_raster(tmp_path / "t2m_2019.tif")
    with pytest.raises(InputError, match=r"no column 'tas' .* they have \['cell', 't2m_2019'\]"):
        wb.bag_polygons(tmp_path / "t2m_2019.tif", heights(), value="tas", polygon_crs="EPSG:4326")
    assert "tas" in wb.grid_areas(tmp_path / "t2m_2019.tif", "tas", crs="EPSG:4326")
    with pytest.raises(InputError, match="there is no file"):
        wb.grid_areas(tmp_path / "none.nc")
    with pytest.raises(InputError, match="layer=.* of a raster value="):
        wb.bag_polygons(temperatures(), heights(), value="tas", layer="tas")
    large = xr.DataArray(np.ones((501, 500)), dims=("y", "x"), name="fine",
                         coords={"y": np.arange(501.0), "x": np.arange(500.0)})
    with pytest.raises(InputError, match="250,500 cells, more than .* give it as a covariate"):
        wb.grid_areas(large, crs="EPSG:32633")


def test_cells_at_a_pole_end_there():
    cap = xr.DataArray(np.arange(12.0).reshape(3, 4), dims=("lat", "lon"), name="t", coords={
        "lat": [90.0, 89.5, 89.0], "lon": [0.0, 0.5, 1.0, 1.5]})
    assert wb.grid_areas(cap, crs="EPSG:4326").total_bounds[3] == 90.0


def test_only_columns_of_the_raster_are_taken_for_means_which_is_said(tmp_path):
    cells = wb.grid_areas(temperatures())
    cells["cases"] = np.arange(len(cells))
    given = dict(covariates=heights(), id="cell")
    said = "tas has the values of the cells of the grid 'tas': each is taken for the mean"
    means = wb.bag_polygons(cells, value="tas", **given)
    assert means["value"].attrs["aggregation"] == "mean" and said in means.attrs["treatments"]
    table = cells[["cell", "cases"]].copy()
    table.attrs = {}
    temperatures().to_netcdf(tmp_path / "coarse.nc")
    of_table = dict(covariates=heights(), value="cases", totals=table, join="cell")
    for counts in (wb.bag_polygons(cells, value="cases", **given),
                   wb.bag_polygons(tmp_path / "coarse.nc", **of_table),
                   wb.bag_polygons(temperatures(), **of_table)):
        assert counts["value"].attrs["aggregation"] == "sum"
        assert "taken for the mean" not in counts.attrs["treatments"]
    own = wb.bag_polygons(tmp_path / "coarse.nc", heights(), value="tas", join="cell",
                          totals=table.assign(tas=2.5))
    assert own["value"].attrs["aggregation"] == "mean" and (own["value"] == 2.5).all()
    assert "tas is called as a variable of coarse.nc, whose" in own.attrs["treatments"]


def test_values_in_thirds_whose_origin_is_lost_are_said_to_look_like_means():
    merged = wb.grid_areas((3 * temperatures()).round() / 3).dissolve("cell").reset_index()
    assert 0.5 < (merged["tas"] % 1 > 0).mean() < 0.9
    with pytest.warns(DataWarning, match="look like rates .* say aggregation='mean'"):
        wb.bag_polygons(merged, heights(), value="tas", id="cell")
    found = wb.check(merged, heights(), value="tas", id="cell")
    (kept,) = [one for one in found.findings if one.code == "value-fractional"]
    assert "aggregation='mean' if they are means" in kept.fix


@pytest.mark.parametrize("name", ["cell", "geometry"])
def test_variables_called_as_the_cells_own_columns_are_refused_and_the_remedy_works(name, tmp_path):
    other = f"{name}_value"
    raster, ds = coarse().rename(name), xr.Dataset({name: coarse()})
    ds.to_netcdf(tmp_path / "a.nc")
    for given, said, renamed in (
            (raster, f"raster.rename('{other}')", raster.rename(other)),
            (ds, f"raster.rename({{'{name}': '{other}'}})", ds.rename({name: other})),
            ({name: raster}, f"under the key '{other}'", {other: raster}),
            (tmp_path / "a.nc", f"a.nc').rename({{'{name}': '{other}'}})",
             xr.open_dataset(tmp_path / "a.nc", decode_coords="all").rename({name: other}))):
        with pytest.raises(InputError, match=f"variable '{name}'.* rename it first.*") as refused:
            wb.grid_areas(given)
        assert said in str(refused.value)
        assert list(wb.grid_areas(renamed).columns) == ["cell", other, "geometry"]
    coarse().rio.to_raster(tmp_path / f"{name}.tif")
    with pytest.raises(InputError, match="a single band has the name of its file"):
        wb.grid_areas(tmp_path / f"{name}.tif")
    assert list(wb.grid_areas(ds.assign(t=coarse()), "t").columns) == ["cell", "t", "geometry"]


def test_an_array_called_as_its_coordinate_goes_by_value():
    for raster in (coarse().rename("x"), temperatures().rename("lat")):
        areas = wb.grid_areas(raster, crs=None if "x" in raster.dims else "EPSG:4326")
        np.testing.assert_array_equal(np.sort(areas["value"]), np.sort(raster.values.ravel()))


def every_column() -> xr.Dataset:
    tas = temperatures()
    code = tas.copy(data=np.arange(24.0).reshape(4, 6))
    return xr.Dataset({"tas": tas, "se": 0 * tas + 0.5, "people": 0 * tas + 7.0, "code": code,
                       "region": code // 6})


@pytest.mark.parametrize("suffix", ["", ".nc"])
def test_all_columns_that_are_named_are_read_everywhere(tmp_path, suffix):
    ds = every_column().assign(monthly=temperatures().expand_dims(time=2))
    ds.to_netcdf(tmp_path / "all.nc")
    given = tmp_path / "all.nc" if suffix else ds
    named = dict(id="code", name="code", labels={"region": "region"})
    values = dict(value="tas", standard_error="se", **named)
    whole = wb.bag_polygons(given, heights(), **values)
    parts = wb.bag_in_parts(given, heights(), "uniform", at_once=12, **values)
    places = wb.polygon_places(given, heights(), population="people", **named)
    people = wb.bag_in_parts(given, heights(), value="tas", population="people", at_once=12)
    for one in (whole, parts, places):
        assert one["bag"].values.tolist() == whole["bag"].values.tolist()
        assert one["region"].values.tolist() == whole["region"].values.tolist()
    assert (whole["noise_variance"] == 0.25).all() and (parts["noise_variance"] == 0.25).all()
    assert sorted(map(int, whole["bag"].values)) == list(range(24))
    for one in (places, people):
        assert np.bincount(one["membership"], one["weight"]) == pytest.approx(np.full(24, 7.0))
    with pytest.raises(InputError, match="no column 'q' .* 'se', 'people', 'code', 'region'"):
        wb.bag_polygons(given, heights(), value="q", id="code")
    with pytest.raises(InputError, match="labels={'region': 'NAME_1'}"):
        wb.bag_polygons(given, heights(), value="tas", labels=["region"])


def test_what_looks_like_a_mark_is_masked_or_kept_everywhere():
    marked = temperatures().where(temperatures()["lat"] < 46.7, -9999.0)
    places = wb.polygon_places(marked, heights(), marks="keep")
    assert places.sizes["bag"] == 24
    parts = wb.bag_in_parts(marked, heights(), "uniform", "tas", marks="mask", at_once=12,
                            missing_value="drop")
    assert parts.sizes["bag"] == 18


def test_a_weight_that_changes_is_read_around_the_columns_that_are_named(tmp_path):
    for year in (1990, 1991):
        heights().rename("people").rio.to_raster(tmp_path / f"people_{year}.tif")
    ds = every_column().assign(tas=temperatures().where(temperatures()["lat"] < 46.7, -9999.0),
                               other=heights().rename(x="lon2", y="lat2").drop_vars("spatial_ref"))
    table = pd.concat([wb.grid_areas(temperatures()).assign(year=year) for year in (1990, 1991)])
    bags = wb.bag_polygons(ds, heights(), str(tmp_path / "people_{time}.tif"), "tas", join="cell",
                           time="year", totals=table.drop(columns="geometry"), marks="keep")
    assert bags.sizes["bag"] == 48


@pytest.mark.slow
def test_the_command_of_the_page_runs(tmp_path, monkeypatch):
    exact = temperatures()      # without noise its variance has no optimum
    read = exact + np.random.default_rng(0).normal(0, 0.1, exact.shape)
    read.assign_attrs(exact.attrs).rename("tas").to_netcdf(tmp_path / "temperature.nc")
    heights().rio.to_raster(tmp_path / "height.tif")
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "howto" / "polygons.md").read_text(encoding="utf-8")
    section = text.partition("## A coarse grid of")[2].partition("\n## ")[0]
    command = shlex.split(blocks(section, "bash")[0])[1:]
    done = CliRunner().invoke(app, [*command, "--model", "vbagg", "--quiet"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "map.nc").is_file()


def test_dates_are_no_values_of_cells():
    days = temperatures().astype("timedelta64[D]") + np.datetime64("2020-01-01")
    for given in ({}, {"value": "tas"}):
        with pytest.raises(InputError, match="no numbers") as refused:
            wb.grid_areas(days, **given)
        assert "pass " not in str(refused.value)


@pytest.mark.parametrize(("longitudes", "crs", "said"), [
    (365.0, "EPSG:4326", "are 4.95 to 5.55 after a turn of 360 degrees; take 360 off the longitudes"
                         " of raster 'temperature'"),
    (-365.0, "EPSG:4326", "after a turn of 360 degrees; add 360 to the longitudes"),
    (545.0, "EPSG:4326", "after 2 turns of 360 degrees; take 720 off the longitudes"),
    (100.0, "EPSG:4326", "from 69.95 to 430.55, further than the globe goes around"),
    (4e5, "EPSG:4326", "which look like metres: the stated CRS is wrong"),
])
def test_coordinates_that_are_not_those_of_the_crs_are_explained_in_a_check(
        tmp_path, longitudes, crs, said):
    raster = coarse().drop_vars("spatial_ref")
    raster = raster.assign_coords(x=longitudes + 0.1 * np.arange(6), y=50 - 0.1 * np.arange(6))
    if longitudes == 4e5:
        raster = coarse().drop_vars("spatial_ref")
    if longitudes == 100.0:
        raster = raster.assign_coords(x=100 + 60.1 * np.arange(6))
    path = tmp_path / "temperature.tif"
    raster.rio.write_crs(crs).rio.to_raster(path)
    with pytest.raises(InputError, match=said.replace(".", r"\.")):
        wb.bag_polygons(path, fine(), value="temperature")
    check = wb.check(path, fine(), value="temperature")
    first = next(one for one in check.findings if one.severity == "error")
    assert first.where == ("temperature",) and said.partition("; ")[0] in first.what
    assert not any("StopIteration" in one.what for one in check.findings)


def test_a_turn_too_far_is_taken_off_as_the_error_says():
    lat, lon = 50 - 0.1 * np.arange(12), 5 + 0.1 * np.arange(12)
    here = xr.DataArray(np.random.default_rng(0).normal(size=(12, 12)), dims=("lat", "lon"),
                        coords={"lat": lat, "lon": lon}, name="height").rio.write_crs("EPSG:4326")
    ds = here.rename("warmth").coarsen(lat=3, lon=3).mean().rio.write_crs("EPSG:4326")
    far = ds.assign_coords(lon=ds.lon + 360)
    with pytest.raises(InputError, match=r"ds\.assign_coords\(lon=ds\.lon - 360\)"):
        wb.bag_polygons(far, here, value="warmth")
    assert wb.bag_polygons(far.assign_coords(lon=far.lon - 360), here, value="warmth").sizes["bag"]
    areas = wb.grid_areas(ds)
    areas = areas.assign(geometry=areas.translate(360))
    with pytest.raises(InputError, match=r"longitudes of the polygons: areas\.assign.*-360"):
        wb.bag_polygons(areas, here, value="warmth")
