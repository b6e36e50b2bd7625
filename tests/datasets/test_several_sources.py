"""Datasets of several sources: their numbers, what fits together, what is missing and said so."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from tests.datasets.packaged import REAL, needs_files
from workbench import schema
from workbench.checks import InputError
from workbench.datasets import datasets, load_sources, options
from workbench.datasets.several_sources.city_air import make_city, traffic
from workbench.datasets.several_sources.city_map import city_map, city_outlines
from workbench.datasets.several_sources.city_plan import BUFFER, EXTENT, FEATURES
from workbench.datasets.several_sources.city_tables import sources_from_tables
from workbench.datasets.several_sources.london_air import read_london_air, sources_from_london_air
from workbench.datasets.several_sources.series import sources_from_series
from workbench.datasets.several_sources.tree import check_sources, make_tree, settings

FILE = "marylebone_hourly_1998_2005.csv.gz"


def parts(tree):
    found = {name: node.to_dataset() for name, node in tree["sources"].children.items()}
    return found | {"target": tree["target"].to_dataset()}


def column(ds, name):
    return ds["covariates"].sel(covariate=name).values


def spoilt(table, name, value, row=7):
    """A table with another value in one place."""
    column = table[name].astype(object)
    column.iloc[row] = value
    return table.assign(**{name: column})


def hourly(start="2020-01-01", days=14, seed=0):
    """A made series with its own columns and two gaps: PM10 at hours 5 and 30, PM2.5 at 30."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"date": pd.date_range(start, periods=24 * days, freq="h")})
    table["pm25"] = rng.gamma(4, 5, len(table))
    table["pm10"] = table["pm25"] + rng.gamma(4, 3, len(table))
    table.loc[[5, 30], "pm10"] = np.nan
    table.loc[30, "pm25"] = np.nan
    return table


@pytest.fixture(scope="module")
def city():
    return load_sources("simulated-city", stations=10, hours=12, points=4, every=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("data")
    (path / "marylebone").mkdir()
    table = hourly("2002-06-14", 16).assign(no2=1.0)
    table["date"] = table["date"].dt.tz_localize("UTC").astype(str)
    table.to_csv(path / "marylebone" / FILE, index=False)
    return path


def test_every_dataset_of_sources_is_described_and_has_options_with_defaults():
    assert list(datasets(several=True)) == ["dependent-sources", "biased-sources", "marylebone",
                                       "simulated-city"]
    for name, line in datasets(several=True).items():
        assert line.endswith(".") and len(line) > 30
        assert options(name)


@pytest.mark.parametrize("name,given,message", [
    ("biased", {}, "dataset of several sources 'biased' is unknown; did you mean 'biased-sources'"),
    ("biased-sources", {"scale": 1}, "option of dataset 'biased-sources' 'scale'.*'scales'"),
    ("biased-sources", {"variant": "print"}, "did you mean 'printed'"),
    ("biased-sources", {"scales": (1, 2)}, "three numbers"),
    ("biased-sources", {"scales": 0.5}, "three numbers"),
    ("biased-sources", {"scales": (1, "half", 2)}, "three scales must be a finite number"),
    ("biased-sources", {"seed": -1}, "seed must be a whole number from 0 to 4294967295, got -1"),
    ("dependent-sources", {"seed": -1}, "seed must be a whole number from 0"),
    ("dependent-sources", {"seed": 0.5}, "seed of dataset 'dependent-sources' must be a whole"),
    ("dependent-sources", {"size": 2.5}, "size of dataset .* a whole number, got 2.5"),
    ("dependent-sources", {"size": True}, "must be a whole number, got True"),
    ("dependent-sources", {"points": "20"}, "points of dataset .* got '20'"),
    ("dependent-sources", {"points": 0}, "points must be a whole number of 1 or more, got 0"),
    ("dependent-sources", {"span": "ab"}, r"span two numbers, .*got 'ab'; write span=\(-2, 15\)"),
    ("dependent-sources", {"span": (0, "b")}, "each end of span must be a finite number"),
    ("dependent-sources", {"span": 3.0}, "span two numbers"),
    ("dependent-sources", {"noise": float("nan")}, "noise must be a finite number, got nan"),
    ("dependent-sources", {"noise": None}, "noise must be a finite number, got None"),
    ("dependent-sources", {"overlap": "all"}, "overlap of dataset .* a finite number"),
    ("simulated-city", {"stations": 2.5}, "stations of dataset .* a whole number, got 2.5"),
    ("simulated-city", {"stations": 1}, "stations must be a whole number of 2 or more"),
    ("simulated-city", {"points": 0}, "points must be a whole number of 1 or more"),
    ("simulated-city", {"seed": -1}, "seed must be a whole number of 0 or more"),
    ("simulated-city", {"cell": "wide"}, "cell of dataset .* a finite number"),
    ("simulated-city", {"station_noise": float("inf")}, "a finite number, got inf"),
    ("dependent-sources", {"noise": "printed"}, "noise 'printed' is unknown"),
    ("dependent-sources", {"noise": -1}, "zero or more"),
    ("dependent-sources", {"size": 101}, "from 1 to the 100 points"),
    ("dependent-sources", {"overlap": 0.01}, "no aggregate of 3 points"),
    ("dependent-sources", {"span": (1, 1)}, "lower end"),
    ("simulated-city", {"cell": 5}, "do not tile"),
    ("simulated-city", {"cell": -1}, "do not tile"),
    ("simulated-city", {"missing": 0.9}, "share from 0 to 0.8"),
    ("simulated-city", {"every": 0}, "every must be"),
    ("simulated-city", {"station_noise": -1}, "zero or more"),
])
def test_unknown_names_and_options_are_refused(name, given, message):
    with pytest.raises(InputError, match=message):
        load_sources(name, **given)


def test_whole_numbers_may_be_written_as_floats_or_numpys():
    tree = load_sources("dependent-sources", points=20, size=2, seed=3)
    for given in ({"points": 20.0, "size": 2.0, "seed": 3.0},
                  {"points": np.int32(20), "size": np.float64(2), "seed": np.uint8(3)}):
        xr.testing.assert_identical(load_sources("dependent-sources", **given), tree)
    table = hourly()
    xr.testing.assert_identical(
        sources_from_series(table, "2020-01-01", days=13.0, hours=5.0, gap=np.int64(2)),
        sources_from_series(table, "2020-01-01", days=13, hours=5, gap=2))


def test_dependent_sources_are_the_released_numbers():
    tree = load_sources("dependent-sources")
    x = np.linspace(-2, 15, 100)
    y = 5 * np.sin(x) ** 2 + 0.5 * np.random.RandomState(0).randn(100)
    found = parts(tree)
    np.testing.assert_array_equal(found["points"]["value"], y)
    np.testing.assert_array_equal(column(found["points"], "x"), x)
    # The last of a hundred points belongs to no triple; means are those of the noisy points.
    np.testing.assert_allclose(found["aggregates"]["value"], y[:99].reshape(33, 3).mean(1),
                               rtol=1e-12)
    np.testing.assert_array_equal(column(found["aggregates"], "x"), x[:99])
    np.testing.assert_allclose(found["target"]["truth"],
                               5 * np.sin(np.linspace(-2, 15, 500)) ** 2)
    residual = found["target"]["value"].values - found["target"]["truth"].values
    assert residual.std() == pytest.approx(0.5, rel=0.1)
    assert "1 of 100 points" in tree.attrs["notes"]


def test_options_of_dependent_sources_do_not_stir_each_other():
    base = parts(load_sources("dependent-sources", noise=1.0, size=2))
    noisy = parts(load_sources("dependent-sources", noise=1.0, size=2, aggregate_noise=0.1))
    half = parts(load_sources("dependent-sources", noise=1.0, size=2, overlap=0.5))
    assert base["aggregates"].sizes["bag"] == 50
    for other in (noisy, half):
        xr.testing.assert_identical(base["points"], other["points"])
        np.testing.assert_array_equal(base["target"]["value"], other["target"]["value"])
    added = noisy["aggregates"]["value"].values - base["aggregates"]["value"].values
    assert added.std() == pytest.approx(0.1, rel=0.3)
    assert column(half["aggregates"], "x").max() <= 6.5 < column(base["aggregates"], "x").max()
    np.testing.assert_array_equal(half["aggregates"]["value"], base["aggregates"]["value"][
        :half["aggregates"].sizes["bag"]])


@pytest.mark.parametrize("variant,ends", [("released", (6, 13)), ("printed", (7, 12))])
def test_biased_sources_are_drawn_in_the_released_order(variant, ends):
    found = parts(load_sources("biased-sources", variant=variant))
    stream = np.random.RandomState(0)

    def drawn(scale, low, high, count):
        x = np.linspace(low, high, count)
        return scale * (5 * np.sin(x) ** 2 + 0.1 * stream.randn(count))

    np.testing.assert_array_equal(found["high"]["value"], drawn(1.0, *ends, 50))
    np.testing.assert_array_equal(found["target"]["value"], drawn(1.0, -10, 20, 200))
    for name, scale, low, high in (("low-1", 0.5, -10, 10), ("low-2", 0.3, 10, 20)):
        np.testing.assert_allclose(found[name]["value"], drawn(scale, low, high, 100).reshape(
            20, 5).mean(1), rtol=1e-12)
        assert found[name]["value"].attrs["scale"] == scale
        assert found[name]["truth"].max() > 4.9       # what is wanted, not what is shown
    # Facts of these numbers, from the released arrays: the error of the noise-free truth.
    error = found["target"]["value"] - found["target"]["truth"].values
    assert float(np.sqrt((error**2).mean())) == pytest.approx(0.096, abs=5e-4)


def test_all_parts_are_bagged_datasets_that_fit_together(city, folder):
    trees = [load_sources("dependent-sources"), load_sources("biased-sources"), city,
             load_sources("marylebone", directory=folder)]
    for tree in trees:
        assert check_sources(tree) is tree
        assert set(tree.attrs) >= {"title", "dataset", "notes", "settings"}
        for name, ds in parts(tree).items():
            schema.check(ds)
            assert schema.aggregation(ds) == "mean" and schema.kind(ds) == "continuous", name
            assert {"task", "units", "long_name"} <= set(ds["value"].attrs)


def test_settings_make_the_same_tree_again(city, folder):
    for tree, more in ((load_sources("dependent-sources", noise=0.1, seed=3), {}), (city, {}),
                       (load_sources("marylebone", directory=folder, gap=2), {
                           "directory": folder})):
        again = load_sources(tree.attrs["dataset"], **settings(tree), **more)
        xr.testing.assert_identical(tree, again)


def test_a_tree_survives_a_file(city, folder, tmp_path):
    for tree in (load_sources("biased-sources"), city,
                 load_sources("marylebone", directory=folder)):
        path = tmp_path / f"{tree.attrs['dataset']}.nc"
        tree.to_netcdf(path, engine="h5netcdf")
        back = xr.load_datatree(path, engine="h5netcdf")
        xr.testing.assert_identical(tree, back)
        check_sources(back)


def test_sources_that_do_not_fit_are_refused():
    tree = load_sources("dependent-sources")
    good = parts(tree)

    def made(change=None, target=None):
        sources = {"points": good["points"], "aggregates": change or good["aggregates"]}
        return make_tree(sources, target or good["target"], title="t", settings={})

    made()
    with pytest.raises(InputError, match="sources/aggregates has inputs .*z \\[1\\].*x \\[1\\]"):
        made(good["aggregates"].assign_coords(covariate=["z"]))
    with pytest.raises(InputError, match=r"'y' in 'K'.*'1'; convert"):
        made(good["aggregates"].assign(value=good["aggregates"]["value"].assign_attrs(units="K")))
    with pytest.raises(InputError, match="expected continuous means"):
        made(good["aggregates"].assign(value=good["aggregates"]["value"].assign_attrs(
            aggregation="sum")))
    with pytest.raises(InputError, match="target must hold singletons"):
        made(target=good["aggregates"])
    with pytest.raises(InputError, match="sources/aggregates: the dataset lacks 'weight'"):
        made(good["aggregates"].drop_vars("weight"))
    with pytest.raises(InputError, match="no child 'target'"):
        check_sources(xr.DataTree.from_dict({"/sources/points": good["points"]}))
    with pytest.raises(InputError, match="got Dataset"):
        check_sources(good["points"])


@pytest.mark.parametrize("gap", range(5))
def test_a_gap_is_cut_out_of_the_fine_series_and_nothing_is_lost(gap):
    table = hourly()
    found = parts(sources_from_series(table, "2020-01-01", days=13, hours=5, gap=gap))
    first = 72 + 48 * gap
    wanted = column(found["target"], "time")
    np.testing.assert_array_equal(wanted, np.arange(first, first + 48))
    np.testing.assert_array_equal(found["target"]["value"], table["pm25"][first: first + 48])
    outside = np.setdiff1d(np.arange(312), [*wanted, 30])
    np.testing.assert_array_equal(column(found["pm25"], "time"), outside)
    np.testing.assert_array_equal(found["pm25"]["value"], table["pm25"][outside])
    assert found["pm25"].attrs["hours_missing"] == 1
    # 62 windows of five hours fill 310 hours of 312; those with hours 5 and 30 lack one.
    coarse = found["pm10"]
    assert coarse.sizes["bag"] == 60 and coarse.attrs["bags_left_out"] == 3
    assert coarse.attrs["hours_missing"] == 2 and "3 of 63 windows" in coarse.attrs["treatments"]
    whole = table["pm10"][:310].to_numpy().reshape(62, 5)
    np.testing.assert_allclose(coarse["value"], whole[np.isfinite(whole).all(1)].mean(1))
    np.testing.assert_array_equal(
        coarse["bag_datetime"], table["date"][0:310:5].to_numpy()[np.isfinite(whole).all(1)])
    assert [found[n]["value"].attrs["task"] for n in ("pm10", "pm25", "target")] == [
        "pm10", "pm25", "pm25"]
    assert found["target"]["datetime"].values[0] == table["date"][first].to_datetime64()


def test_zones_are_brought_to_utc():
    table = hourly()
    moved = table.assign(date=table["date"].dt.tz_localize("UTC").dt.tz_convert("Asia/Seoul"))
    xr.testing.assert_identical(sources_from_series(table, "2020-01-01"),
                                sources_from_series(moved, "2020-01-01T09:00+09:00"))


def test_series_that_cannot_be_used_are_refused():
    table = hourly()
    for change, given, message in (
            (table.rename(columns={"pm10": "PM10"}), {}, r"lacks columns \['pm10'\]"),
            (pd.concat([table, table[:1]]), {}, "1 dates repeat"),
            (table.assign(date=table["date"] + pd.Timedelta(minutes=15)), {}, "full hours"),
            (table.assign(date="soon"), {}, "must hold dates"),
            (table, {"start": "2020-01-05"}, "is not covered by the readings, from 2020-01-01"),
            (table, {"start": "June"}, "start must be a date such as"),
            (table, {"start": "2020-01-01 00:30"}, "start must be a full hour"),
            (table, {"days": 9}, "at least 10 days"),
            (table, {"gap": 5}, "gap must be a whole number from 0 to 4, got 5"),
            (table, {"gap": 1.5}, "gap must be a whole number from 0 to 4, got 1.5"),
            (table, {"days": 12.5}, "days must be a whole number, got 12.5"),
            (table, {"hours": 0}, "hours must be a whole number from 1 to 312"),
            (table, {"hours": 7.5}, "hours must be a whole number from 1 to 312, got 7.5"),
            (table, {"fine": "pm10"}, "coarse and fine must be two columns, got 'pm10'"),
            (table.assign(time=1.0), {"coarse": "time"}, "time cannot be a pollutant"),
            (spoilt(table, "pm10", "n/a"), {}, r"1 readings of 'pm10' are not numbers: \['n/a'\] "
             "in rows 7; leave missing ones empty"),
            (spoilt(table, "pm25", np.inf), {}, "1 readings of 'pm25' are infinite"),
            (spoilt(table, "pm25", -999), {}, r"1 readings of 'pm25' are -999 or -9999, which marks"
             r".*rows 7; blank them"),
            (spoilt(table, "pm10", "-9999.0"), {}, "1 readings of 'pm10' are -999"),
            (table.assign(pm10=table["date"]), {}, "312 readings of 'pm10' are no"),
            (table.assign(date=table["date"].dt.strftime("%d/%m/%Y %H:%M")), {}, "must hold dates"),
            (table, {"start": "01/06/2020"}, "start must be a date such as '2002-06-15'"),
            (table[:0], {}, "the table has no rows"),
            ("nowhere.csv", {}, "is not a file"),
            ([1, 2], {}, "expected a DataFrame or the path"),
            (table.assign(pm10=np.where(np.arange(len(table)) % 2, np.nan, 1.0)), {},
             "no window of 2 h"),
            (table.assign(pm25=table["pm25"].where(table.index < 72)), {},
             "no readings of 'pm25' in the gap")):
        with pytest.raises(InputError, match=message):
            sources_from_series(change, **{"start": "2020-01-01", **given})


def test_marylebone_without_the_file_says_where_to_put_it(tmp_path, monkeypatch, folder):
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(InputError, match="WORKBENCH_DATA"):
        load_sources("marylebone")
    with pytest.raises(InputError, match="lacks marylebone_hourly"):
        load_sources("marylebone", directory=tmp_path)
    assert "another sha256" in load_sources("marylebone", directory=folder).attrs["notes"]
    monkeypatch.setenv("WORKBENCH_DATA", str(folder))
    assert load_sources("marylebone")["target"].sizes["bag"] == 48


@needs_files("Marylebone", f"marylebone/{FILE}")
def test_the_real_marylebone():
    table = pd.read_csv(REAL / "marylebone" / FILE, parse_dates=["date"]).set_index("date")
    missing = {year: int(table.loc[f"{year}-06-15":f"{year}-06-27", ["pm10", "pm25"]].isna()
                         .to_numpy().sum()) for year in range(1998, 2005)}
    assert min(missing, key=missing.get) == 2002      # what the default window was chosen by
    assert list(missing.values()) == [22, 102, 68, 5, 4, 101, 36]
    for hours, bags in ((2, 154), (5, 60), (10, 29), (24, 11)):
        found = parts(load_sources("marylebone", directory=REAL, hours=hours))
        assert found["pm10"].sizes["bag"] == bags
        lost = [found[name].attrs["hours_missing"] for name in ("pm10", "pm25", "target")]
        assert lost == [3, 0, 1]
    first = pd.Timestamp("2002-06-15", tz="UTC")
    assert found["pm10"]["value"].values[0] == pytest.approx(
        table.loc[first: first + pd.Timedelta(hours=23), "pm10"].mean())
    assert "sha256" not in load_sources("marylebone", directory=REAL).attrs["notes"]


def long_format(table, site="RB7"):
    rows = []
    for species, name in (("PM10", "pm10"), ("PM2.5", "pm25"), ("NO2", "pm10")):
        rows.append(pd.DataFrame({
            "Site": site, "Species": species,
            "ReadingDateTime": table["date"].dt.strftime("%d/%m/%Y %H:%M"), "Value": table[name],
            "Units": "ug m-3", "Provisional or Ratified": "R"}))
    rows[0].loc[:9, "Provisional or Ratified"] = "P"
    return pd.concat(rows, ignore_index=True)


def test_both_formats_of_london_air_make_the_same_sources(tmp_path):
    table = hourly("2018-06-15")
    wide = pd.concat([table.rename(columns={"pm25": "pm2.5"}).assign(code="RB7"),
                      hourly("2018-06-15", seed=1).rename(columns={"pm25": "pm2.5"}).assign(
                          code="MY1")])
    long_format(table).to_csv(tmp_path / "long.csv", index=False)
    wide.to_csv(tmp_path / "wide.csv", index=False)
    one = sources_from_london_air(tmp_path / "long.csv", "2018-06-15", hours=24, gap=3)
    other = sources_from_london_air(tmp_path / "wide.csv", "2018-06-15", site="rb7", hours=24,
                                    gap=3)
    straight = sources_from_series(table, "2018-06-15", hours=24, gap=3)
    for name, ds in parts(straight).items():
        for found in (parts(one)[name], parts(other)[name]):
            np.testing.assert_allclose(found["value"], ds["value"])
            np.testing.assert_array_equal(found["datetime"], ds["datetime"])
    assert "9 of " in one.attrs["notes"] and "provisional" in one.attrs["notes"]   # one is missing
    assert "no flag" in other.attrs["notes"] and one.attrs["title"].startswith("RB7")


def test_a_station_is_known_by_code_or_name_and_dates_may_have_seconds():
    table = hourly("2018-06-15")
    wide = pd.concat([table.assign(site="London Marylebone Road", code="MY1"),
                      hourly("2018-06-15", seed=1).assign(site="Kerbside", code="RB7")])
    wanted = read_london_air(wide, "MY1")
    assert wanted.attrs["site"] == "MY1" and len(wanted) == len(table)
    for site in ("London Marylebone Road", "london marylebone road ", "my1"):
        found = read_london_air(wide, site)
        pd.testing.assert_frame_equal(found, wanted)
        assert found.attrs == wanted.attrs
    british = read_london_air(table.assign(date=table["date"].dt.strftime("%d/%m/%Y %H:%M:%S")))
    mixed = read_london_air(table.assign(date=table["date"].dt.strftime("%d/%m/%Y %H:%M").where(
        table.index % 2 == 0, table["date"].dt.strftime("%d/%m/%Y %H:%M:%S"))))
    for found in (british, mixed):
        np.testing.assert_array_equal(found["date"], table["date"])
        np.testing.assert_array_equal(found["pm10"], table["pm10"])


def test_readings_may_be_text_and_flags_outside_of_the_window_do_not_matter(tmp_path):
    table = hourly()
    text = table.assign(pm10=table["pm10"].astype(str))     # NaN is "nan"
    text.loc[table["pm10"].isna(), "pm10"] = ["", " nan "]
    late = spoilt(table, "pm10", -999, row=-1)              # the table has 14 days
    table.to_csv(tmp_path / "series.csv", index=False)
    wanted = sources_from_series(table, "2020-01-01")
    for given in (text, late, tmp_path / "series.csv"):
        xr.testing.assert_allclose(sources_from_series(given, "2020-01-01"), wanted)


def test_london_air_tables_that_cannot_be_read_are_refused():
    table = hourly("2018-06-15")
    long, wide = long_format(table), table.assign(site="London Marylebone Road", code="MY1")
    for change, site, message in (
            (long.drop(columns="Value"), None, "expected the columns Site, Species"),
            (pd.concat([long, long_format(table, "MY1")]), None, "2 stations, MY1, RB7"),
            (long, "RB8", "site 'RB8' is unknown; did you mean 'RB7'"),
            (pd.concat([long, long[:1]]), None, "1 readings are there twice"),
            (long.assign(Units="ppb"), None, r"got \['ppb'\]"),
            (long[long["Species"] != "PM10"], None, "expected one pollutant 'pm10'"),
            (long.assign(ReadingDateTime="6/31/2018 00:00"), None, "not day/month/year"),
            (long.assign(Site=long["Site"].where(long.index > 3)), "RB7", "4 rows have no 'Site'"),
            (long.assign(ReadingDateTime="15/06/2018 00:00:00.5"), None, "hour:minute:second"),
            (spoilt(long, "Value", -999), None, "1 readings of 'Value' are -999 or -9999.*rows 7"),
            (spoilt(long, "Value", "n/a"), None, "1 readings of 'Value' are not numbers"),
            (spoilt(table, "pm10", -9999.0), None, "1 readings of 'pm10' are -999"),
            (spoilt(table, "pm10", np.inf), None, "1 readings of 'pm10' are infinite"),
            (pd.concat([wide, wide.assign(code="MY7")]), "London Marylebone Road", "2 stations "
             "'London Marylebone Road', MY1, MY7"),
            (wide, "MY2", "site 'MY2' is unknown; did you mean 'MY1'"),
            (table.assign(pm10="high"), None, "336 readings of 'pm10' are not numbers")):
        with pytest.raises(InputError, match=message):
            read_london_air(change, site)


def test_the_city_has_the_sizes_that_it_says(city):
    found = parts(city)
    assert found["satellite"].sizes["bag"] == 30 * 6           # 24 h, every 4
    assert (np.bincount(found["satellite"]["membership"]) == 16).all()
    assert found["target"].sizes["bag"] == 10 * 12
    stations = found["stations"]
    assert stations.attrs["readings_missing"] == 24 and stations.sizes["bag"] == 120 - 24
    assert "24 of 120" in stations.attrs["treatments"]
    assert column(stations, "time").max() < 12 <= column(found["target"], "time").min()
    assert [str(c) for c in stations["covariate"].values] == ["time", *FEATURES]
    assert set(found["target"]["station"].values) == {f"S{i:02d}" for i in range(1, 11)}
    hours = (found["target"]["datetime"].values - np.datetime64("2019-02-19")) / np.timedelta64(
        1, "h")
    np.testing.assert_allclose(hours, column(found["target"], "time"))


def test_truth_of_the_city_is_one_field(city):
    """Stations, bags and map are looked up in the same field, noise and bias apart."""
    field = make_city(0)
    for name, ds in parts(city).items():
        pick = np.random.default_rng(0).choice(ds.sizes["individual"], 40, replace=False)
        for i in pick:
            there = np.array([[ds["x"].values[i], ds["y"].values[i]]])
            assert field.table(there, column(ds, "time")[[i]])[0, 0] == pytest.approx(
                ds["truth"].values[i]), name
            np.testing.assert_allclose(field.plan.features(there)[0],
                                       ds["covariates"].values[i, 1:], atol=1e-9)
    residual = city["target"]["value"].values - city["target"]["truth"].values
    assert residual.std() == pytest.approx(2, rel=0.25)


def test_the_satellite_of_the_city_is_biased_and_tells_of_the_truth(city):
    ds = city["sources/satellite"].to_dataset()
    mean = np.bincount(ds["membership"], ds["truth"]) / 16
    slope, offset = np.polyfit(mean, ds["value"].values, 1)
    assert 0.4 < slope < 0.8 and 2 < offset < 11      # 0.6 and 6 but for smooth variation
    assert np.corrcoef(mean, ds["value"].values)[0, 1] > 0.7
    plain = load_sources("simulated-city", stations=2, hours=6, points=10, every=6,
                         satellite_noise=0, satellite_scale=0, satellite_offset=0)
    assert np.abs(plain["sources/satellite"]["value"]).max() < 8      # what varies of the offset


def test_roads_stand_out_in_the_air_and_traffic_has_two_peaks(city):
    day = np.array([traffic(h) for h in range(24)])
    assert day.argmin() in (1, 2, 3, 4) and {8, 17} == {
        h for h in range(1, 23) if day[h] > day[h - 1] and day[h] > day[h + 1]}
    ds = city_map(city, 8, spacing=0.5)
    schema.check(ds)
    assert ds.sizes["bag"] == 84 * 70 and ds.attrs["grid_shape"] == [70, 84]
    by_road = column(ds, "road_length") > 100
    near_centre = np.hypot(ds["x"] - 21, ds["y"] - 17.5).values < 10
    assert 0.01 < by_road.mean() < 0.3
    assert ds["truth"].values[by_road & near_centre].mean() > 1.4 * ds["truth"].values[
        ~by_road & near_centre].mean()
    assert (ds["truth"] > 0).all()
    xr.testing.assert_identical(ds, city_map({"seed": 0}, 8, spacing=0.5))
    with pytest.raises(InputError, match="only a tree of"):
        city_map(load_sources("dependent-sources"), 8)
    with pytest.raises(InputError, match="spacing must be positive"):
        city_map(city, 8, spacing=0)
    with pytest.raises(InputError, match="hour must be a finite number, got 'noon'"):
        city_map(city, "noon")
    with pytest.raises(InputError, match="spacing must be a finite number"):
        city_map(city, 8, spacing="fine")
    with pytest.raises(InputError, match="seed must be a whole number of 0 or more"):
        city_map({"seed": -1}, 8)


def test_features_are_those_of_the_drawn_outlines(city):
    """Road length and green area by brute force, from the lines that are drawn."""
    import shapely

    lines = city_outlines(city)
    roads = [shapely.LineString(np.column_stack([lines[f"road_{a}"].values[lines["road"] == r]
                                                 for a in "xy"])) for r in np.unique(lines["road"])]
    parks = [shapely.Polygon(np.column_stack([lines["park_x"][k], lines["park_y"][k]]))
             for k in range(lines.sizes["park"])]
    river = shapely.LineString(np.column_stack([lines["river_x"], lines["river_y"]])).buffer(
        lines.attrs["river_width"] / 2)
    green = shapely.union_all([*parks, river])
    rng = np.random.default_rng(1)
    places = np.concatenate([rng.uniform(0, EXTENT, (150, 2)), [
        roads[i % len(roads)].interpolate(rng.uniform(), normalized=True).coords[0]
        for i in range(60)]])
    found = make_city(0).plan.features(places)
    for place, (length, _, area) in zip(places, found, strict=True):
        circle = shapely.Point(place).buffer(BUFFER, quad_segs=64)
        assert length == pytest.approx(1000 * sum(r.intersection(circle).length for r in roads),
                                       abs=0.5)
        assert area == pytest.approx(100 * green.intersection(circle).area, abs=0.6)
    assert (found[:, 0] > 150).sum() > 40 and (found[:, 2] > 1).sum() > 3


def tables(city):
    """The city's sources as tables of a user: stations, satellite, places inside cells."""
    names = ["station", "time", "x", "y", "value", *FEATURES]
    stations = pd.concat([pd.DataFrame({
        "station": ds["station"], "time": ds["datetime"], "x": ds["x"], "y": ds["y"],
        "value": ds["value"], **{c: column(ds, c) for c in FEATURES}})
        for ds in (city["sources/stations"].to_dataset(), city["target"].to_dataset())])[names]
    ds = city["sources/satellite"].to_dataset()
    satellite = pd.DataFrame({"x": ds["cell_x"], "y": ds["cell_y"], "size": ds["cell_size"],
                              "time": ds["bag_datetime"], "value": ds["value"]})
    first = np.unique(ds["place"], return_index=True)[1]
    places = pd.DataFrame({"x": ds["x"].values[first], "y": ds["y"].values[first],
                           **{c: column(ds, c)[first] for c in FEATURES}})
    return stations, satellite, places


def test_tables_of_a_user_give_the_sources_back(city, tmp_path):
    paths = []
    for name, table in zip(("stations", "satellite", "places"), tables(city), strict=True):
        paths.append(tmp_path / f"{name}.csv")
        table.to_csv(paths[-1], index=False)
    tree = sources_from_tables(paths[0], paths[1], "2019-02-19 12:00", FEATURES, paths[2])
    for name, ds in parts(city).items():
        found = parts(tree)[name]
        np.testing.assert_allclose(found["covariates"], ds["covariates"], atol=1e-9)
        np.testing.assert_allclose(found["value"], ds["value"])
        np.testing.assert_array_equal(found["membership"], ds["membership"])
        np.testing.assert_array_equal(found["datetime"], ds["datetime"])
    plain = sources_from_tables(paths[0], paths[1], "2019-02-19 12:00", points=4)
    np.testing.assert_allclose(plain["sources/satellite"]["x"], city["sources/satellite"]["x"])
    assert [str(c) for c in plain["target"]["covariate"].values] == ["time"]


def test_tables_in_degrees_are_taken_and_labelled_as_such(city):
    stations, satellite, places = (table.rename(columns={"x": "lon", "y": "Lat"})
                                   for table in tables(city))
    tree = sources_from_tables(stations, satellite, "2019-02-19 12:00", FEATURES, places)
    for name, ds in parts(tree).items():
        np.testing.assert_allclose(ds["x"], parts(city)[name]["x"])
        assert ds["x"].attrs["units"] == ds["y"].attrs["units"] == "degree"
    metric = tables(city)
    plain = sources_from_tables(metric[0], metric[1], "2019-02-19 12:00", points=4)
    assert plain["sources/satellite"]["x"].attrs["units"] == "km"
    with pytest.raises(InputError, match="stations have lon and lat, satellite x and y"):
        sources_from_tables(stations, metric[1], "2019-02-19 12:00")
    with pytest.raises(InputError, match="in degrees, got place_units='km'"):
        sources_from_tables(stations, satellite, "2019-02-19 12:00", place_units="km")
    with pytest.raises(InputError, match="several columns of one coordinate, lon, Lat, longitude"):
        sources_from_tables(stations.assign(longitude=1.0), satellite, "2019-02-19 12:00")


def test_tables_say_what_is_missing_and_refuse_what_cannot_be_used(city):
    stations, satellite, places = tables(city)
    lost = stations.reset_index(drop=True)
    lost.loc[[0, 3], "value"] = np.nan
    tree = sources_from_tables(lost, satellite.assign(value=satellite["value"].where(
        satellite.index > 0)), "2019-02-19 12:00", FEATURES, places)
    assert "2 of 96 hourly readings before 2019-02-19 12:00:00" in tree[
        "sources/stations"].attrs["treatments"]
    assert "1 of 180 readings of cells" in tree["sources/satellite"].attrs["treatments"]
    assert tree["sources/satellite"].sizes["bag"] == 179
    for change, message in (
            ({"places": None}, "are not known inside the cells"),
            ({"stations": stations.drop(columns="x")}, r"stations lacks columns \['x'\]"),
            ({"satellite": satellite.drop(columns="size")}, r"satellite lacks columns \['size'\]"),
            ({"stations": pd.concat([stations, stations[:1]])}, "are there twice"),
            ({"satellite": satellite.assign(x="west")}, "'x' of satellite, which must hold"),
            ({"satellite": satellite.assign(size=-7.0)}, "180 rows of satellite have a size that "
             "is not positive"),
            ({"satellite": spoilt(satellite, "value", np.inf)}, "1 readings of satellite are "
             "infinite"),
            ({"stations": spoilt(stations, "value", np.inf)}, "1 readings of stations are infinite"
             ".*rows 7"),
            ({"stations": spoilt(stations, "value", -999)}, "1 readings of stations are -999"),
            ({"stations": spoilt(stations, "value", "low")}, "1 readings of stations are no"),
            ({"stations": spoilt(stations, "station", None)}, "1 rows of stations lack the name of "
             r"a station, the first row \[7\]"),
            ({"stations": spoilt(stations, "station", " ")}, "1 rows of stations lack the name"),
            ({"covariates": list(FEATURES)}, r"covariates a mapping .*got \['road_length'"),
            ({"points": 2.5}, "points must be a whole number of 1 or more, got 2.5"),
            ({"places": places.assign(green_area=np.nan)}, "'green_area' of places has 480 values"),
            ({"places": places[places["x"] > 7]}, "5 cells hold no place"),
            ({"covariates": {"x": "km"}}, "x cannot be covariates"),
            ({"until": "noon"}, "until must be a date"),
            ({"until": "2019-02-18"}, "no readings before"),
            ({"until": "2019-03-01"}, "no readings from")):
        given = {"stations": stations, "satellite": satellite, "until": "2019-02-19 12:00",
                 "covariates": FEATURES, "places": places, **change}
        with pytest.raises(InputError, match=message):
            sources_from_tables(**given)
