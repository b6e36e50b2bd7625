"""Areas over time: bags of area and period, covariates that change, space-time kernels by name."""

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.geo.files import areas, grid, height, kit, mapped, people, workbench
from workbench.bagging import contiguous_groups
from workbench.checks import DataWarning, InputError
from workbench.evaluation import groupings
from workbench.geo.period_numbers import time_of
from workbench.labelled.candidates import EFFORTS, OVER_TIME, candidates_for
from workbench.preflight.check import looked_over

YEARS = (2019, 2020, 2021)


def table(years=YEARS, **columns) -> pd.DataFrame:
    """Counts by code and year."""
    rng = np.random.default_rng(4)
    codes = areas()["code"]
    rows = [(code, year) for year in years for code in codes]
    found = pd.DataFrame(rows, columns=["code", "year"])
    return found.assign(cases=rng.integers(5, 60, len(rows)), tested=80, **columns)


def bagged(frame=None, covariates=None, **options):
    options = {"value": "cases", "totals": table() if frame is None else frame, "join": "code",
               "time": "year"} | options
    return wb.bag_polygons(areas(), [height()] if covariates is None else covariates, people(),
                           **options)


def test_every_area_and_period_is_a_bag():
    ds, frame = bagged(), table()
    assert ds.sizes["bag"] == 48 and ds.sizes["individual"] == 144 * 3
    assert ds["bag"].values.tolist()[:2] == ["01001 2019", "01002 2019"]
    assert ds["value"].values.tolist() == frame["cases"].tolist()
    assert ds["covariate"].values.tolist() == ["height", "time"]
    of = ds["membership"].values
    assert (ds["covariates"].sel(covariate="time") == frame["year"].to_numpy()[of]).all()
    assert ds["area"].values.tolist() == frame["code"].tolist()
    assert (ds["individual_period"] == ds["period"].values[of]).all()
    assert "48 of 16 x 3 areas and periods (2019 to 2021) have a value" in ds.treatments
    # A period is what the areas alone give.
    alone = wb.bag_polygons(areas(), [height()], people(), "cases", join="code",
                            totals=frame[frame["year"] == 2020])
    of_2020 = wb.at_period(ds, 2020)
    for name in ("weight", "membership", "value", "x", "row"):
        assert (of_2020[name].values == alone[name].values).all()
    assert wb.to_raster(of_2020, "weight").equals(wb.to_raster(alone, "weight"))
    with pytest.raises(InputError, match="this map has 3 periods, 2019 to 2021, and a raster one"):
        wb.to_raster(ds, "weight")
    assert wb.merge(ds, "period")["value"].values.tolist() == (
        frame.groupby("year")["cases"].sum().tolist())


def test_covariates_that_change_are_files_of_each_period(tmp_path):
    for year in YEARS:
        grid(np.full((12, 12), float(year)) + np.arange(12) / 7, "r").rio.to_raster(
            tmp_path / f"rain_{year}.tif")
    height().rio.to_raster(tmp_path / "height.tif")
    ds = bagged(covariates=[tmp_path / "rain_{time}.tif", tmp_path / "height.tif"])
    assert ds["covariate"].values.tolist() == ["rain", "height", "time"]
    rain, time = (ds["covariates"].sel(covariate=c) for c in ("rain", "time"))
    assert rain.values == pytest.approx(time.values + ds["column"].values / 7)
    with pytest.raises(InputError, match="rain_2022.tif"):
        bagged(table((*YEARS, 2022)), covariates=[tmp_path / "rain_{time}.tif"])


@pytest.mark.parametrize(("written", "last"), [
    ((201811, 201812, 201901), 2019.0), (("20181115", "20181215", "20190115"), 2019.04)])
def test_dates_without_dashes_are_dates(written, last):
    of = dict(zip(YEARS, written, strict=True))
    ds = bagged(table().assign(year=lambda t: t["year"].map(of)))
    time = sorted(set(ds["covariates"].sel(covariate="time").values))
    assert np.diff(time) == pytest.approx([1 / 12, 1 / 12], abs=0.003)
    assert time[-1] == pytest.approx(last, abs=0.01)
    assert ds["covariate_units"].values.tolist() == ["1", "year"]


def test_dates_are_years_and_gaps_are_gaps():
    frame = table().assign(year=lambda t: t["year"].map({2019: "2019-01", 2020: "2019-07-02",
                                                         2021: "2020-01"}))
    ds = bagged(frame.iloc[1:])
    assert ds.sizes["bag"] == 47
    time = ds["covariates"].sel(covariate="time").values
    assert sorted(set(time)) == pytest.approx([2019, 2019.5, 2020], abs=0.01)
    assert ds["covariate_units"].values.tolist() == ["1", "year"]
    gap = table().astype({"cases": float})
    gap.loc[5, "cases"] = np.nan
    with pytest.raises(InputError, match=r"1 area has no value \(first: \['02002 2019'\]"):
        bagged(gap)
    assert bagged(gap, missing_value="drop").sizes["bag"] == 47
    survey = bagged(trials="tested")
    assert (survey["trials"] == 80).all() and survey["value"].attrs["aggregation"] == "mean"


def _moments(*texts, zone=None):
    return pd.to_datetime(list(texts), format="ISO8601").tz_localize(zone)


@pytest.mark.parametrize(("written", "named", "days"), [
    (["2023-07-01T00:00", "2023-07-01T06:00", "2023-07-02T18:00"], None, [0, 0.25, 1.75]),
    (_moments("2023-07-01", "2023-07-01T06:00", "2023-07-02T18:00"),
     ["2023-07-01", "2023-07-01 06:00:00", "2023-07-02 18:00:00"], [0, 0.25, 1.75]),
    (["2023-03-01T00:00+01:00", "2023-05-01T00:00+02:00", "2023-05-01T12:00Z"], None,
     [0, 61, 61.5]),
    (_moments("2023-03-01", "2023-05-01", "2023-06-01", zone="Europe/Berlin"),
     ["2023-03-01", "2023-05-01", "2023-06-01"], [0, 61, 92]),
    (pd.period_range("2023-03", periods=3, freq="M"), ["2023-03", "2023-04", "2023-05"],
     [0, 31, 61]),
    (pd.period_range("2023Q1", periods=3, freq="Q"), ["2023Q1", "2023Q2", "2023Q3"],
     [0, 90, 181]),
    (pd.period_range("2023-03-06", periods=3, freq="W"), ["2023-03-06", "2023-03-13", "2023-03-20"],
     [0, 7, 14]),
])
def test_hours_time_zones_and_pandas_periods_are_times(written, named, days):
    of = dict(zip(YEARS, written, strict=True))
    frame = table().assign(year=lambda t: pd.Series([of[y] for y in t["year"]]))
    ds = bagged(frame)
    assert list(dict.fromkeys(ds["period"].values.tolist())) == list(
        written if named is None else named)
    time = sorted(set(ds["covariates"].sel(covariate="time").values))
    assert (np.array(time) - time[0]) * 365.25 == pytest.approx(days, abs=1e-6)
    assert ds["covariate_units"].values.tolist() == ["1", "year"]
    assert time_of(ds, ds["period"].values[-1]) == time[-1]


@pytest.mark.parametrize(("change", "options", "said"), [
    (lambda t: pd.concat([t, t.iloc[:1]]), {}, r"1 areas have a period twice .*'01001 2019'"),
    (lambda t: pd.concat([t, t.iloc[:1]]), {}, "is a copy of another .* remove copies if"),
    (lambda t: pd.concat([t, t.iloc[:1].assign(cases=99)]), {}, r"'01001 2019'\]\); add them up$"),
    (lambda t: t.assign(year="spring"), {}, "neither numbers nor dates"),
    (lambda t: t.assign(year=2020).iloc[:16], {}, "has one period, 2020"),
    (lambda t: t.assign(year=[None, *t["year"][1:]]), {}, "1 rows of .* have no period"),
    (lambda t: t.assign(year=t["year"].map({2019: "2019", 2020: "2019-01-01", 2021: "2020"})), {},
     "periods '2019', '2019-01-01' in column 'year' of .* are the same time, zones left out"),
    (lambda t: t, {"time": "month"}, r"lacks columns \['month'\]"),
    (lambda t: t, {"totals": None}, "a table with a row for each area and period"),
    (lambda t: t.assign(cases="many"), {}, "does not hold numbers"),
    (lambda t: t.assign(cases="<5"), {}, "'<5' .* have a bound .* changes with another$"),
    (lambda t: t.assign(tested=1), {"trials": "tested"}, "more positives than trials"),
    (lambda t: t, {"covariates": [height().rename("time")]}, "a covariate is called 'time'"),
])
def test_tables_that_cannot_be_over_time_are_refused(change, options, said):
    with pytest.raises(InputError, match=said):
        bagged(change(table()), **options)


def crowds(folder, empty: bool = False):
    """A raster of people for each year, who grow in number and leave one pixel in 2020."""
    for k, year in enumerate(YEARS):
        one = (people() * (1 + k)).astype(float)
        one[0, 0] = 0.0 if year == 2020 else one[0, 0]
        one[-3:, :3] = 0.0 if empty and year == 2021 else one[-3:, :3]
        one.rename("pop").rio.to_raster(folder / f"pop_{year}.tif")
    return folder / "pop_{time}.tif"


def test_a_weight_that_changes_is_a_file_of_each_period(tmp_path):
    ds = wb.bag_polygons(areas(), [height()], crowds(tmp_path), "cases", totals=table(),
                         join="code", time="year", zero_weight="drop")
    assert ds.sizes["individual"] == 144 * 3 - 1 and ds.sizes["bag"] == 48
    for k, year in enumerate(YEARS):
        one = wb.at_period(ds, year)
        expected = (1 + k) * people().values[one["row"].values, one["column"].values]
        assert one["weight"].values == pytest.approx(expected)
    assert ds["weight"].attrs["long_name"] == "pop" and ds["weight"].attrs["units"] == "persons"
    assert "1 pixels of periods in which they have no weight were left out" in ds.treatments
    assert "the weight changes over time: 3 rasters" in ds.treatments


def test_weights_over_time_that_cannot_be_used_are_refused(tmp_path):
    path = crowds(tmp_path, empty=True)

    def bag(**options):
        given = {"totals": table(), "join": "code", "time": "year"} | options
        return wb.bag_polygons(areas(), [height()], path, "cases", **given)

    with pytest.raises(InputError, match=r"1 areas have no weight in a period .*01001 2021"):
        bag()
    with pytest.raises(InputError, match="leave out grid_of"):
        bag(grid_of="height")
    (tmp_path / "pop_2021.tif").unlink()
    with pytest.raises(InputError, match="pop_2021.tif"):
        bag()
    grid(np.ones((6, 6)), "pop", cell=2000).rio.to_raster(tmp_path / "pop_2021.tif")
    with pytest.raises(InputError, match="the weight of 2021 is on another grid than that of 2019"):
        bag()


def moving(years: int = 6, seed: int = 0):
    """Counts of a hot spot that moves from west to east, and the true rates."""
    rng = np.random.default_rng(seed)
    frame = table(tuple(range(2010, 2010 + years)))
    ds = wb.bag_polygons(areas(), None, people(), "cases", totals=frame, join="code", time="year")
    x, t = (ds["x"].values - 500_000) / 12_000, ds["covariates"].values[:, 0] - 2010
    truth = np.exp(-2 + 2 * np.exp(-((x - t / (years - 1)) / 0.3) ** 2))
    mean = np.bincount(ds["membership"], ds["weight"] * truth)
    counts = ds["value"].copy(data=rng.poisson(mean).astype(float))
    return ds.assign(value=counts), truth


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_a_field_that_moves_is_found_by_a_product_of_place_and_time_alone():
    ds, truth = moving()
    options = dict(inducing=40, max_steps=40, overdispersion="none", nugget=0.0)
    errors = {kernel: float(np.abs(np.log(
        wb.VBAgg(kernel=kernel, **options).fit(ds).at(ds).mean.values / truth)).mean())
        for kernel in ("matern32(place)", "matern32(place)*matern32(time)")}
    assert errors["matern32(place)*matern32(time)"] < 0.5 * errors["matern32(place)"], errors


def test_neighbours_are_merged_within_their_period():
    ds = bagged(table().iloc[4:])           # 12, 16 and 16 areas
    groups = contiguous_groups(ds, 11, seed=1)
    of = ds["period"].values
    assert sorted(set(groups)) == list(range(11))
    assert [len(set(groups[of == str(year)])) for year in YEARS] == [3, 4, 4]
    assert all(len(set(of[groups == g])) == 1 for g in range(11))
    same = [groups[of == str(year)] for year in YEARS[1:]]
    assert (same[0] + 4 == same[1]).all()       # the same areas are merged in every period
    assert len(set(contiguous_groups(ds, 44))) == 44
    merged = wb.merge_to(ds, 11)
    assert merged["period"].values.tolist() == [str(y) for y in np.repeat(YEARS, [3, 4, 4])]
    assert merged["value"].sum() == ds["value"].sum()
    with pytest.raises(InputError, match="of which there are 3, got 2"):
        wb.merge_to(ds, 2)
    found = groupings(ds, draws=1)
    assert found["level"].values.tolist() == ["7", "11", "15"]      # no label of area or period
    with pytest.raises(InputError, match="merged within their periods"):
        groupings(ds, [2])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_auto_takes_a_map_that_changes_where_the_field_moves():
    ds, truth = moving()
    names = [one.name for one in candidates_for(ds, EFFORTS["normal"])]
    assert names == [one.name for one in OVER_TIME]
    fit = wb.Auto(effort="quick", workers=1).fit(ds)
    assert set(fit.candidates) == {"flat", "slopes", "place", "place over time",
                                   "slopes + place over time"}
    changing = [name for name in fit.candidates if "over time" in name]
    assert float(fit.weights.sel(model=changing).sum()) > 0.8
    off, still = (float(np.abs(np.log(one.at(ds).mean.values / truth)).mean())
                  for one in (fit, fit.candidates["place"]))
    assert off < 0.6 * still
    assert "place over time_mean" in fit.components(ds, by="role")


def test_place_is_a_name_of_the_coordinates():
    from workbench.gp.data.bags import Columns
    from workbench.gp.kernels.grammar import parse

    columns = Columns(("height", "time", "x", "y"), (2, 3))
    (term,) = parse("rbf(place)*matern12(time)", columns)
    assert [(f.name, f.columns) for f in term] == [("rbf", (2, 3)), ("matern12", (1,))]
    assert len(parse("space-time", columns)) == 3
    assert Columns(("place", "x", "y"), (1, 2)).group("place") == (0,)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(kit(tmp_path))
    table().to_csv("years.csv", index=False)
    common = ["--polygons", "areas.gpkg", "--totals", "years.csv", "--join", "code", "--time",
              "year", "--value", "cases", "--covariates", "height.tif", "--weight", "people.tif"]
    maps = mapped(tmp_path / "map.nc", *common, "--kernel", "space-time", "--folds-scheme", "area",
                  "--cv", 2)
    assert maps.sizes["individual"] == 432 and set(maps["individual_period"].values) == {
        str(y) for y in YEARS}
    one = wb.at_period(maps, 2021)
    assert wb.to_raster(one, "mean").shape == (12, 12) and one.sizes["bag"] == 16
    assert wb.run(wb.Spec.from_json(maps.attrs["spec"]))["mean"].equals(maps["mean"])
    done = workbench("disaggregate", *common, "--out", "map.tif", "--model", "vbagg")
    assert done.exit_code == 2 and "and a raster one: write it as .nc" in done.stderr


def test_a_check_counts_areas_and_periods():
    """Totals of one period stood beside numbers of all."""
    frame = table()
    frame["cases"] = frame["cases"].astype(float)
    frame.loc[0, "cases"] = np.nan
    found = looked_over(lambda: bagged(frame, missing_value="drop"), "years")
    rows, count = found.totals, len(frame)
    assert rows.loc["areas", ["read", "left out", "kept"]].tolist() == [count, 1, count - 1]
    assert rows.loc["value", "read"] == rows.loc["value", "kept"] == frame["cases"].sum()
    assert rows.loc["individuals", "read"] == rows.loc["individuals", "kept"]
    assert np.isnan(rows.loc["weight", "left out"])
    assert not any("merged" in finding.what for finding in found.findings)


@pytest.mark.parametrize(("renamed", "said"), [
    (lambda code: code.lstrip("0"), "16 ids are written in two ways"),
    (lambda code: f"Q{code}", "no id of the table of totals is that of an area")])
def test_a_check_of_periods_without_an_id_in_common_says_what_reading_does(renamed, said):
    frame = table().assign(code=lambda t: t["code"].map(renamed))
    with pytest.raises(InputError, match=said) as refused:
        bagged(frame)
    found = looked_over(lambda: bagged(frame), "areas over time")
    assert not found.ok
    errors = [str(one) for one in found.findings if one.severity == "error"]
    assert errors[0] == str(refused.value) and len(errors) == 2
    assert "periods were not looked at" in errors[1]


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_a_raster_is_mapped_at_a_period(tmp_path, monkeypatch):
    """Also between the periods of the data; pixels are those of the bagged ones."""
    monkeypatch.chdir(kit(tmp_path))
    fit = wb.VBAgg(kernel="space-time", inducing=12, max_steps=3).fit(bagged())
    raster = wb.open_rasters({"height": "height.tif"})
    with pytest.raises(InputError, match="learns over time: say which period to map with per"):
        fit.map_over(raster)
    own = wb.at_period(fit.to_dataset(fit.data), 2020)
    cells = own["row"].values, own["column"].values
    at = {year: fit.map_over(raster, period=year)["latent_mean"].values[cells]
          for year in (2019, "2020", 2020.5)}
    np.testing.assert_allclose(at["2020"], own["latent_mean"], rtol=1e-9)
    assert not np.allclose(at[2019], at["2020"]) and not np.allclose(at[2020.5], at["2020"])
    with pytest.raises(InputError, match=r"period 'May' is not written as those of the data \("):
        fit.map_over(raster, period="May")
    with pytest.raises(InputError, match="has a variable 'time', and a period is given, too"):
        fit.map_over(raster.assign(time=raster["height"]), period=2020)
    flat = wb.VBAgg(kernel="linear", max_steps=3).fit(wb.bag_polygons(
        areas(cases=5.0), [height()], people(), "cases", id="code"))
    with pytest.raises(InputError, match="has not learnt over time"):
        flat.map_over(raster, period=2020)
    fit.save("fit.wbfit")
    done = workbench("predict", "fit.wbfit", "--rasters", "height.tif", "--period", "2020", "--out",
                     "map.tif", "--quiet")
    assert done.exit_code == 0, (done.output, done.exception)
    assert "pixels lie beyond what the areas span in some covariate" in done.output


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_areas_are_mapped_at_a_period(tmp_path, monkeypatch):
    """With the effects that known areas keep; also at periods that nobody has counted in."""
    monkeypatch.chdir(kit(tmp_path))
    fit = wb.VBAgg(kernel="space-time", inducing=12, max_steps=3).fit(bagged())
    places = wb.polygon_places(areas(), [height()], people(), id="code")
    with pytest.raises(InputError, match="learns from covariates|covariate"):
        fit.to_dataset(places)
    whole = fit.to_dataset(fit.data, area_effect=False)
    kept = fit.over(fit.data)           # given what was counted in the period, too
    own, later = wb.at_period(whole, 2020), wb.in_period(places, 2020, fit.data)
    there = fit.to_dataset(later, area_effect=False)
    for name in ("mean", "std", "bag_mean", "bag_std", "expected_count"):
        np.testing.assert_allclose(there[name], own[name], rtol=1e-6)
    assert later["bag"].values.tolist() == [f"{code} 2020" for code in areas()["code"]]
    known, nowhere = fit.over(later).mean.values, own["bag_mean"].values
    assert np.corrcoef(known / nowhere, kept.mean.values.reshape(-1)[
        fit.data["period"].values == "2020"] / nowhere)[0, 1] > 0.3
    future = fit.over(wb.in_period(places, "2024", fit.data))
    assert (future.std.values > 0).all() and not np.allclose(future.mean, known)
    with pytest.raises(InputError, match="periods already; choose one of these by workbench.at"):
        wb.in_period(fit.data, 2020, fit.data)
    with pytest.warns(DataWarning, match="none of the areas .first: '0'. is called as one of"):
        wb.in_period(wb.polygon_places(areas(), [height()], people()), 2020, fit.data)
    across = places.assign(covariates=places["covariates"].transpose())
    for same in (wb.in_period(across, 2020, fit.data), wb.at_period(later, 2020)):
        np.testing.assert_array_equal(same["covariates"], later["covariates"])
    fit.save("fit.wbfit")
    asked = ("predict", "fit.wbfit", "--at-polygons", "areas.gpkg", "--at-id", "code",
             "--at-covariates", "height.tif", "--at-weight", "people.tif", "--quiet")
    silent = workbench(*asked, "--out", "none.nc")
    assert silent.exit_code == 2 and "has no period: say which by --period 2021" in silent.output
    done = workbench(*asked, "--period", "2024", "--draws", "20", "--out", "later.nc")
    assert done.exit_code == 0, (done.output, done.exception)
    np.testing.assert_allclose(wb.read("later.nc")["bag_mean"], future.mean, rtol=1e-5)
    same = workbench("predict", "fit.wbfit", "--period", "2020", "--out", "own.nc", "--quiet")
    assert same.exit_code == 0, (same.output, same.exception)
    np.testing.assert_allclose(wb.read("own.nc")["bag_mean"], wb.at_period(
        fit.to_dataset(fit.data), 2020)["bag_mean"], rtol=1e-5)
    other = workbench("predict", "fit.wbfit", "--period", "2030", "--out", "none.nc")
    assert other.exit_code == 2 and "2030" in other.output and "2021" in other.output


def test_periods_that_are_dates_are_asked_as_dates():
    frame = table().assign(year=lambda t: t["year"].astype(str) + "-07")
    ds = bagged(frame)
    assert time_of(ds, "2020-07") == pytest.approx(2020.5, abs=0.01)
    assert time_of(ds, "2020-10") == pytest.approx(2020.75, abs=0.01)
    with pytest.raises(InputError, match="is not written as those of the data"):
        time_of(ds, "202010")
