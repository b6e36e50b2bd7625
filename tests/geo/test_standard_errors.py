"""Means of areas with standard errors, from columns and tables to the command line."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import workbench as wb
from tests.geo.files import areas, height, kit, mapped, people, refusal
from workbench.checks import InputError

MEANS = {"kind": "continuous", "aggregation": "mean", "value_units": "g/dl"}
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")


def table(**columns) -> pd.DataFrame:
    """Means and standard errors by code, in another order than the areas'."""
    rng = np.random.default_rng(3)
    found = pd.DataFrame({"code": areas()["code"], "mean": rng.normal(12, 1, 16),
                          "se": rng.uniform(0.1, 2, 16)})
    return found.assign(**columns).sample(frac=1, random_state=0)


def bagged(frame=None, **options):
    options = {"totals": table() if frame is None else frame, "join": "code",
               "standard_error": "se"} | MEANS | options
    return wb.bag_polygons(areas(), [height()], people(), "mean", **options)


def changed(**entries):
    """The table with standard errors of some areas replaced."""
    frame = table().set_index("code")
    frame.loc[list(entries), "se"] = list(entries.values())
    return frame.reset_index()


def test_squares_of_a_column_are_the_variances_of_the_values():
    ordered = table().sort_values("code")
    joined = bagged()
    assert joined["noise_variance"].values == pytest.approx(ordered["se"].to_numpy()**2)
    assert joined["noise_variance"].attrs["units"] == "(g/dl)²"
    own = areas(mean=ordered["mean"].to_numpy(), se=ordered["se"].to_numpy())
    columns = wb.bag_polygons(own, [height()], people(), "mean", id="code", standard_error="se",
                              **MEANS)
    assert columns["noise_variance"].equals(joined["noise_variance"])
    assert "noise_variance" not in bagged(standard_error=None)
    merged = wb.merge_to(joined, 4)
    assert float(merged["noise_variance"].max()) < float(joined["noise_variance"].max())


@pytest.mark.parametrize(("given", "aggregation", "kind", "units"), [
    ({"standard_error": "se"}, "mean", "continuous", "value units"),
    ({"aggregation": "mean"}, "mean", "continuous", "value units"),
    ({"kind": "continuous"}, "sum", "continuous", "value units"),
    ({"value_units": "t"}, "sum", "count", "t"), ({}, "sum", "count", "cases"),
    ({"trials": "tested"}, "mean", "count", "positives")])
def test_what_values_are_follows_from_what_is_said_of_them(given, aggregation, kind, units):
    own = areas(mean=np.arange(1.0, 17), se=np.full(16, 0.5), tested=np.full(16, 40))
    ds = wb.bag_polygons(own, [height()], people(), "mean", id="code", **given)
    assert ds["value"].attrs["aggregation"] == aggregation
    assert (ds["value"].attrs["kind"], ds["value"].attrs["units"]) == (kind, units)
    periods = pd.concat([own.drop(columns="geometry").assign(year=year) for year in (2019, 2020)])
    ds = wb.bag_polygons(areas(), [height()], people(), "mean", totals=periods, join="code",
                         time="year", **given)
    assert ds["value"].attrs["aggregation"] == aggregation
    assert (ds["value"].attrs["kind"], ds["value"].attrs["units"]) == (kind, units)


def test_areas_without_a_value_need_no_standard_error():
    frame = changed(**{"02002": np.nan})
    frame.loc[frame["code"] == "02002", "mean"] = np.nan
    ds = bagged(frame, missing_value="drop")
    kept = table().set_index("code")["se"].drop("02002").sort_index()
    assert "02002" not in ds["bag"]
    assert ds["noise_variance"].values == pytest.approx(kept.to_numpy()**2)


def test_every_period_has_its_own():
    frame = pd.concat([table(year=2020), table(year=2021, se=0.5)])
    ds = bagged(frame, time="year")
    rows = frame.set_index(frame["code"] + " " + frame["year"].astype(str))
    assert ds["noise_variance"].values == pytest.approx(
        rows.loc[ds["bag"].values, "se"].to_numpy()**2)
    with pytest.raises(InputError, match=r"1 areas have a standard error.*\['01001 2021'\]"):
        bagged(frame.assign(se=np.where((frame["year"] == 2021) & (frame["code"] == "01001"),
                                        -1, frame["se"])), time="year")


def small() -> gpd.GeoDataFrame:
    """Squares in three larger areas."""
    return gpd.GeoDataFrame({"of": ["a", "a", "b", "b", "c"], "height": [0.0, 1, 2, 3, 4]},
                            geometry=shapely.box(np.arange(5), 0, np.arange(5) + 1, 1),
                            crs="EPSG:32633")


def test_larger_areas_of_small_polygons_have_theirs_beside_the_value():
    frame = pd.DataFrame({"id": ["c", "b", "a"], "mean": [3.0, 2, 1], "se": [0.3, 0.2, 0.1]})
    options = {"parent": "of", "covariates": ["height"], "standard_error": "se"} | MEANS
    del options["value_units"]
    ds = wb.bag_children(small(), totals=frame, join="id", value="mean", **options)
    assert ds["noise_variance"].values == pytest.approx([0.01, 0.04, 0.09])
    part = wb.bag_children(small(), totals=frame.assign(mean=[np.nan, 2, 1], se=[np.nan, 0.2, 0.1]),
                           join="id", value="mean", missing_value="drop", **options)
    assert part["noise_variance"].values == pytest.approx([0.01, 0.04])
    with pytest.raises(InputError, match=r"no standard error \(first: \['b'\]\)"):
        wb.bag_children(small(), totals=frame.assign(se=[0.3, np.nan, 0.1]), join="id",
                        value="mean", **options)
    with pytest.raises(InputError, match="standard errors are known of the larger areas"):
        wb.bag_children(small().assign(mean=1.0), value="mean", **options)
    with pytest.raises(InputError, match="standard errors are a column beside value"):
        wb.bag_children(small(), parent_values={"a": 1, "b": 2, "c": 3}, **options)


@pytest.mark.parametrize(("frame", "options", "said"), [
    (table(), {"kind": "count", "aggregation": "sum"}, "means of continuous values.*kind='contin"),
    (table(), {"aggregation": "sum"}, "pass kind='continuous' and aggregation='mean'"),
    (table(tested=20), {"trials": "tested"}, "leave out standard_error"),
    (table(), {"duplicates": "merge"}, "do not add up; pass duplicates='once'"),
    (table(), {"standard_error": "sd"}, "no column 'sd' for the standard error"),
    (table(se="wide"), {}, "standard error column 'se' does not hold numbers"),
    (changed(**{"01002": np.nan, "04004": np.nan}), {},
     r"2 areas have no standard error \(first: \['01002', '04004'\]\)"),
    (changed(**{"03001": 0.0}), {},
     r"1 areas have a standard error that is not positive and finite \(first: \['03001'\]\)"),
    (changed(**{"03001": -0.1}), {}, r"positive and finite \(first: \['03001'\]\)"),
    (changed(**{"03001": np.inf}), {}, r"positive and finite \(first: \['03001'\]\)"),
])
def test_what_is_no_standard_error_of_a_mean_is_refused(frame, options, said):
    with pytest.raises(InputError, match=said):
        bagged(frame, **options)


def test_a_check_lists_them_with_the_areas_and_goes_on():
    options = {"totals": changed(**{"03001": 0.0}), "join": "code", "standard_error": "se"} | MEANS
    found = wb.check(areas(), [height()], people(), "mean", **options)
    assert not found.ok
    wrong = [one for one in found.findings if one.code == "standard-error-wrong"]
    assert [one.where for one in wrong] == [("03001",)]


@pytest.mark.slow
def test_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(kit(tmp_path))
    table().to_csv("means.csv", index=False)
    common = ["--polygons", "areas.gpkg", "--totals", "means.csv", "--join", "code", "--value",
              "mean", "--covariates", "height.tif", "--weight", "people.tif",
              "--standard-error", "se"]
    maps = mapped(tmp_path / "map.nc", *common, "--noise", "known")
    spec = wb.Spec.from_json(maps.attrs["spec"])
    assert spec.dataset_options["standard_error"] == "se"
    assert wb.run(spec)["mean"].equals(maps["mean"])
    without = mapped(tmp_path / "other.nc", *common[:-2], "--aggregation", "mean")
    assert not np.allclose(without["mean"], maps["mean"])
    assert "--kind continuous" in refusal(*common, "--kind", "count")
