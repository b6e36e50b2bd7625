"""The check of data that come otherwise than from files, what it returns, and the command."""

import json
import re

import geopandas
import numpy as np
import pandas as pd
import pytest
import scipy.stats
import shapely
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from tests.preflight import kit
from workbench.bagging.findings import is_listing
from workbench.checks import InputError
from workbench.cli import app
from workbench.preflight.cost import estimate
from workbench.preflight.covariates import inflation

SMALL = wb.VBAgg(inducing=5)
ROLL = {"n_bags": 12, "mean_size": 10, "size_std": 4}


@pytest.fixture
def files(tmp_path):
    return kit.write_kit(tmp_path)


@pytest.fixture
def spoilt(files):
    """Two areas without a value, rasters that reach beyond the areas."""
    cases = [np.nan, np.nan, *range(41, 51)]
    areas = kit.frame(cases=cases).iloc[:11]
    return files | {"data": kit.write_areas(files["data"].parent, areas)}


@pytest.mark.slow
def test_a_dataset_a_name_and_a_file_give_the_same(tmp_path):
    ds = wb.load("swiss-roll", **ROLL)
    wb.write(ds, tmp_path / "roll.nc")
    found = [wb.check(ds, model=SMALL), wb.check("swiss-roll", model=SMALL, **ROLL),
             wb.check(tmp_path / "roll.nc", model=SMALL)]
    assert found[0].findings == found[1].findings == found[2].findings
    assert found[0].ok and found[0].totals.equals(found[2].totals)
    assert found[1].title == "swiss-roll" and found[2].title == "roll.nc"


def test_a_dataset_that_is_none_is_an_error_of_the_check():
    ds = wb.load("swiss-roll", **ROLL)
    found = wb.check(ds.assign(weight=ds["weight"] * 0), model=SMALL)
    assert not found.ok and "weights are zero or negative" in found.findings[0].what
    assert "unknown" in wb.check("swiss-rol").findings[0].what
    assert "options" in wb.check(ds, n_bags=2).findings[0].what


def test_options_of_the_check_itself_are_refused():
    with pytest.raises(InputError, match="belong together"):
        wb.check("swiss-roll", parent_label="region")


def test_a_check_leaves_nothing_behind(spoilt):
    kit.checked(spoilt)
    assert not is_listing()
    with pytest.raises(InputError, match="pass missing_value='drop' to leave them out"):
        wb.bag_polygons(spoilt.pop("data"), **spoilt)


def test_totals_before_and_after_add_up(spoilt):
    totals = kit.checked(spoilt | {"missing_value": "drop"}).totals
    assert totals.loc["value"].tolist()[0] == totals.loc["value", "kept"] == sum(range(41, 50))
    whole = kit.people().sum()
    weight = totals.loc["weight"]
    assert weight["read"] == pytest.approx(whole)
    # Areas without a value are left out, and what lies in them is not outside all areas.
    lost = weight["left out"]
    assert lost > 0 and lost + weight["outside"] + weight["kept"] == pytest.approx(whole, rel=1e-6)
    assert totals.loc["areas", ["read", "left out", "kept"]].tolist() == [11, 2, 9]
    assert totals.loc["individuals", "kept"] == 900
    balance = weight["read"] - weight["outside"] + weight["in several"] - weight["left out"]
    assert balance == pytest.approx(weight["kept"], rel=1e-6)


@pytest.mark.parametrize("weight", ["area", "uniform"])
def test_what_a_made_weight_has_outside_all_areas_is_not_left_out_of_them(tmp_path, weight):
    arguments = kit.write_kit(tmp_path)
    areas = kit.frame().iloc[:-1].astype({"cases": float})      # the raster has a square more
    areas.loc[0, "cases"] = np.nan
    kit.write_areas(tmp_path, areas)
    totals = kit.checked(arguments | {"weight": weight, "missing_value": "drop"}).totals
    share = (totals.loc["weight"] / totals.loc["weight", "read"]).tolist()
    assert share == pytest.approx([1, 1 / 12, 0, 1 / 12, 10 / 12], abs=1e-5)    # see COLUMNS
    assert totals.loc["weight", "in several"] == 0              # not what rounding makes of it
    ds = wb.bag_polygons(arguments["data"], arguments["covariates"], weight, "cases", id="code",
                         missing_value="drop", outside="error")
    assert ds.attrs["outside_weight"] == 0                      # it is nobody's


@pytest.mark.parametrize("weight", [None, "uniform"])
def test_the_ground_around_the_areas_is_no_loss_where_a_grid_is_laid_over_them(tmp_path, weight):
    arguments = {"value": "cases", "id": "code", "weight": weight, "missing_value": "drop"}
    areas = kit.frame().iloc[[1, 3, 4, 6, 8, 10]].astype({"cases": float})
    first = wb.check(kit.write_areas(tmp_path, areas), **arguments)
    assert first.totals.loc["weight", ["outside", "left out"]].tolist() == [0, 0]
    assert first.totals.loc["weight", "read"] == first.totals.loc["weight", "kept"] > 0
    areas.loc[6, "cases"] = np.nan                              # what is left out is said
    totals = wb.check(kit.write_areas(tmp_path, areas), **arguments).totals
    share = (totals.loc["weight"] / totals.loc["weight", "read"]).tolist()
    assert share == pytest.approx([1, 0, 0, 1 / 6, 5 / 6], abs=1e-5)


def test_a_population_of_the_areas_has_nothing_outside(tmp_path):
    arguments = kit.write_kit(tmp_path)
    kit.write_areas(tmp_path, kit.frame(inhabitants=1000.0).iloc[:-1])
    for weight in ("area", arguments["weight"]):
        totals = kit.checked(arguments | {"weight": weight, "population": "inhabitants"}).totals
        assert totals.loc["weight"].tolist() == [11_000, 0, 0, 0, pytest.approx(11_000)]


def test_a_check_goes_on_where_a_survey_has_no_such_columns(tmp_path):
    arguments = kit.write_kit(tmp_path)
    table = pd.DataFrame({"code": kit.frame()["code"], "positive": 3, "tested": 9})
    table.to_csv(tmp_path / "survey.csv", index=False)
    survey = arguments | {"totals": tmp_path / "survey.csv", "join": "code"}
    for value, trials in (("positive", "teste"), ("positiv", "tested"), ("positiv", "teste")):
        found = kit.checked(survey | {"value": value, "trials": trials})
        wrong = value if value == "positiv" else trials
        assert f"neither survey.csv nor the polygons have a column {wrong!r}" in (
            found.of("error")[0].what)


def test_the_table_holds_every_finding(spoilt):
    found = kit.checked(spoilt)
    table = found.table()
    assert len(table) == len(found.findings) and table["severity"].iloc[0] == "error"
    row = table.set_index("code").loc["value-missing"]
    assert row["where"] == ("c0", "c1") and row["count"] == 2
    assert row["fix"] == "pass missing_value='drop' to leave them out"
    assert row["flag"] == "pass --missing-value drop to leave them out"
    assert row["effect"].startswith("refused: nothing is fitted; where small counts were supp")


def test_the_text_fits_a_hundred_columns(spoilt):
    shown = str(kit.checked(spoilt | {"data": spoilt["data"]}))
    assert max(map(len, shown.splitlines())) <= 100
    for words in ("missing_value='drop'", "--missing-value", "drop", "c0, c1", "1 error",
                  "Totals before and after", "individuals in 9 areas takes about"):
        assert words in shown, words


def test_the_page_needs_no_other_file(spoilt):
    found = kit.checked(spoilt)
    page = found.to_html()
    assert page.startswith("<!DOCTYPE html>") and not re.search(r"(src|href)=|@import|url\(", page)
    assert "missing_value=&#x27;drop&#x27; (--missing-value drop)" in page
    part = found.to_html(whole=False)
    assert part in page and "<html" not in part


def test_json_holds_what_the_check_does(spoilt):
    found = kit.checked(spoilt)
    read = json.loads(found.to_json())
    assert read["ok"] is False and len(read["findings"]) == len(found.findings)
    assert read["totals"]["areas"]["outside"] is None
    assert read["estimates"]["areas"] == 9 and read["estimates"]["seconds"] > 0


def test_inflation_is_that_of_regressions():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 3))
    table[:, 2] += 2 * table[:, 0]
    factors, condition = inflation(table)
    for d in range(3):
        others = np.column_stack([np.ones(200), np.delete(table, d, 1)])
        rest = table[:, d] - others @ np.linalg.lstsq(others, table[:, d], rcond=None)[0]
        assert factors[d] == pytest.approx(table[:, d].var() / rest.var())
    assert condition == pytest.approx(np.sqrt(np.linalg.cond(np.corrcoef(table.T))))


@pytest.mark.slow
def test_totals_of_parents_come_as_a_mapping_a_table_or_a_file(files, tmp_path):
    told = {"west": 1.0, "north": 5.0}
    table = pd.DataFrame({"region": list(told), "cases": list(told.values())})
    table.to_csv(tmp_path / "regions.csv", index=False)
    kept = files | {"labels": {"region": "region"}, "parent_label": "region"}
    for given in (told, pd.Series(told), table, tmp_path / "regions.csv"):
        found = [one for one in kit.checked(kept | {"parents": given}).findings
                 if one.code.startswith("parent")]
        assert [(one.code, one.where) for one in found] == [
            ("parent-total", ("west",)), ("parent-unmatched", ("north",)),
            ("parent-unmatched", ("east",))]


def test_values_inside_that_do_not_give_the_areas():
    ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    ds["individual_value"] = ("individual", np.ones(ds.sizes["individual"]))
    found = [one for one in wb.check(ds, model=SMALL).findings if one.code == "parent-total"]
    assert len(found) == 1 and found[0].count == len(found[0].where)


def test_small_polygons_in_large_ones_are_checked_alike():
    small = geopandas.GeoDataFrame(
        {"district": ["A", "A", "B", None], "people": [10, 0, 30, 5], "age": [40, 35, 50, 1.0],
         "cases": [1, 0, 4, 2]},
        geometry=shapely.box([0, 1, 2, 3], 0, [1, 2, 3, 4], 1), crs=kit.CRS)
    found = wb.check(small, ["age"], "people", "cases", parent="district", model=SMALL)
    assert [(one.code, one.where) for one in found.of("error")] == [
        ("parent-missing", ("3",)), ("weight-zero", ("1",))]
    assert "zero_weight='drop'" in found.of("error")[1].fix


def test_the_value_read_of_small_polygons_is_that_of_the_table_that_was_given():
    small = geopandas.GeoDataFrame(
        {"district": ["A", "A", "B", "C"], "people": 10.0, "rate": [9.0, 8, 7, 6]},
        geometry=shapely.box([0, 1, 2, 3], 0, [1, 2, 3, 4], 1), crs=kit.CRS)
    table = pd.DataFrame({"code": ["A", "B", "C", "D"], "rate": [3.0, 2, 4, 5]})
    found = wb.check(small, weight="people", value="rate", parent="district", totals=table,
                     join="code", empty="drop", model=SMALL)
    read, left_out, kept = found.totals[["read", "left out", "kept"]].to_numpy().T
    rows = list(found.totals.index)
    assert dict(zip(rows, read, strict=True)) == {
        "value": 14, "weight": 40, "areas": 4, "individuals": 4}
    assert (left_out[rows.index("value")], kept[rows.index("value")]) == (5, 9)
    assert (left_out[rows.index("areas")], kept[rows.index("areas")]) == (1, 3)


def of_code(found, code):
    (one,) = [one for one in found.findings if one.code == code]
    return one


def test_polygons_without_rasters_are_told_what_helps_them():
    """There is nothing to warp, and the pixels are those that the tool made itself."""
    areas = geopandas.GeoDataFrame(
        {"code": list("abcd"), "large": list("AABB"), "cases": 5, "people": 100.0},
        geometry=shapely.box([0, 10, 10.1, 11], 50, [10, 10.1, 11, 20], [51, 50.1, 51, 51]),
        crs="EPSG:4326")
    found = wb.check(areas, value="cases", id="code", model=SMALL)
    degrees, small = of_code(found, "crs-degrees"), of_code(found, "sub-pixel")
    assert "gdalwarp" not in degrees.fix and "ogr2ogr -t_srs '+proj=laea" in degrees.fix
    assert small.fix.startswith("take smaller pixels by grid_size=200, or join")
    assert small.flag.startswith("take smaller pixels by --grid-size 200, or join")
    assert "finer pixels" in of_code(
        wb.check(areas, value="cases", weight=people_of_degrees(), model=SMALL), "sub-pixel").fix
    children = wb.check(areas, weight="people", value="cases", parent="large", model=SMALL)
    assert of_code(children, "crs-degrees").fix == (
        "use a projection of the place: ogr2ogr -t_srs EPSG:32632 NEW.gpkg OLD.gpkg, or "
        "GeoDataFrame.to_crs in Python")


def people_of_degrees():
    grid = xr.DataArray(np.ones((2, 40)), dims=("y", "x"), name="people", coords={
        "y": [50.75, 50.25], "x": 0.25 + 0.5 * np.arange(40)})
    return grid.rio.write_crs("EPSG:4326")


def test_a_model_that_takes_too_long_is_an_error(files):
    model = wb.AggregatedGP(hours=1e-4)
    found = wb.check(**files, model=model)
    (long,) = found.of("error")
    assert long.code == "time" and "hours=" in long.fix and "--hours" in long.flag
    assert wb.check(**files, model=wb.AggregatedGP()).ok


def test_less_effort_is_no_advice_where_there_is_none_left(monkeypatch):
    ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    monkeypatch.setattr("workbench.preflight.cost.cost", lambda model, ds: (9000.0, 1e6))
    (normal,), (quick,) = (estimate(ds, wb.Auto(effort=effort))[1]
                           for effort in ("normal", "quick"))
    assert "effort='quick'" in str(normal) and "effort" not in str(quick)
    assert "use another model, such as vbagg; or rasters of larger pixels" in str(quick)


def arguments(files: dict) -> list[str]:
    covariates = [text for path in files["covariates"] for text in ("--covariates", str(path))]
    return ["check", "--polygons", str(files["data"]), "--value", "cases", "--id", "code",
            "--weight", str(files["weight"]), "--model", "vbagg", "--inducing", "5", *covariates]


@pytest.mark.slow
def test_the_command_ends_with_one_where_there_are_errors(files, spoilt, tmp_path):
    done = CliRunner().invoke(app, arguments(spoilt))
    assert done.exit_code == 1 and "value-missing" not in done.output
    assert "areas have no value" in " ".join(done.output.split())
    kit.write_areas(tmp_path, kit.frame())
    done = CliRunner().invoke(app, arguments(files))
    assert done.exit_code == 0 and "0 errors" in done.output


@pytest.mark.slow
def test_the_command_writes_text_page_table_and_json(spoilt, tmp_path):
    asked = [*arguments(spoilt), "--quiet"]
    for suffix, start in ((".html", "<!DOCTYPE"), (".txt", "Check of areas.gpkg"),
                          (".csv", "severity,code,what,where,count"), (".json", "{")):
        out = tmp_path / f"report{suffix}"
        assert CliRunner().invoke(app, [*asked, "--out", str(out)]).exit_code == 1
        assert out.read_text(encoding="utf-8").startswith(start)
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert json.loads(done.stdout)["findings"] == json.loads(
        (tmp_path / "report.json").read_text(encoding="utf-8"))["findings"]
    read = pd.read_csv(tmp_path / "report.csv").set_index("code")
    assert read.loc["value-missing", "where"] == "c0; c1"


@pytest.mark.parametrize(("more", "words"), [
    (["--out", "report.docx"], "format"), (["--parent-label", "region"], "--parents"),
    (["--no-such", "1"], "unknown")])
def test_wrong_options_of_the_command_end_with_two(files, more, words):
    done = CliRunner().invoke(app, [*arguments(files), *more])
    assert done.exit_code == 2 and words in done.output


def test_a_level_that_areas_do_not_have(files):
    done = CliRunner().invoke(app, [*arguments(files), "--level", "region"])
    assert done.exit_code == 1 and "--labels" in done.output
    done = CliRunner().invoke(app, [*arguments(files), "--level", "region", "--labels",
                                    "region=region"])
    assert done.exit_code == 0 and "12 areas were merged to 2" in done.output


@pytest.mark.slow
def test_the_line_of_a_map_is_checked_by_another_verb(files, tmp_path):
    line = [*arguments(files), "--out", str(tmp_path / "map.nc"), "--report", "page.html", "--cv",
            "4", "--jobs", "2", "--threshold", "0.1", "--draws", "20", "--save-fit", "f.wbfit",
            "--components", "--residuals", "--ranks", "--quantiles", "0.1,0.9", "--threads", "1"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, (done.output, done.exception)
    told = " ".join(done.output.split())
    assert "a check makes no map: --out" in told and "--report page.html, --save-fit" in told
    assert "4 folds take about" in told and not (tmp_path / "map.nc").exists()
    # Folds, a threshold and another region are part of the check.
    more = CliRunner().invoke(app, [*arguments(files), "--cv", "40", "--threshold", "-1"])
    told = " ".join(more.output.split())
    assert more.exit_code == 1 and "expected 2 to 12 folds" in told
    assert "the threshold -1.0 is negative" in told
    other = ["--at-polygons", str(files["data"]), "--at-weight", str(files["weight"])]
    unlike = CliRunner().invoke(app, [*arguments(files), *other, "--at-covariates",
                                      str(files["covariates"][0])])
    assert unlike.exit_code == 1 and "region" in unlike.output
    assert "learns from" in unlike.output
    alike = [text for one in files["covariates"] for text in ("--at-covariates", str(one))]
    assert CliRunner().invoke(app, [*arguments(files), *other, *alike]).exit_code == 0


def test_a_map_in_a_table_is_not_replaced_by_findings(files, tmp_path):
    line = [*arguments(files), "--out", str(tmp_path / "map.csv")]
    (tmp_path / "map.csv").write_text("x,y,mean\n1,2,3\n")
    refused = CliRunner().invoke(app, line)
    assert refused.exit_code == 2 and "holds no findings" in refused.output
    assert (tmp_path / "map.csv").read_text() == "x,y,mean\n1,2,3\n"
    (tmp_path / "map.csv").unlink()
    for _ in range(2):                      # findings replace findings
        CliRunner().invoke(app, line)
        assert (tmp_path / "map.csv").read_text().startswith("severity,code,")


def test_folds_of_a_model_with_processes_of_its_own_take_one_each(monkeypatch):
    ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    shared, alone = wb.Auto(workers=4), wb.Auto(workers=1)
    # What a fit takes is measured, and differs from one moment to the next.
    monkeypatch.setattr("workbench.preflight.cost.cost",
                        lambda model, ds: (40.0 / model.options.workers, 1e6))
    found, _ = estimate(ds, shared, folds=5, workers=4, fold_model=alone)
    assert (found["seconds"], found["folds_seconds"]) == (10.0, 40.0)


@pytest.mark.parametrize("positive, tested, said", [
    (2, 100, "24 positives in all, in 12 areas"), (98, 100, "24 negatives in all, in 12 areas"),
    (50, 100, ""), (3, 9, "")])
def test_few_positives_or_few_negatives_are_few_events(positive, tested, said):
    table = pd.DataFrame({"lon": np.arange(12.0), "lat": np.arange(12.0), "n": positive,
                          "of": tested})
    ds = wb.bag_points(table, "n", trials="of")
    found = [one.what for one in wb.check(ds).findings if one.code == "few-events"]
    assert found == [said] * bool(said)


def test_few_events_leave_the_overall_rate_as_open_as_the_exact_interval_of_a_poisson_mean():
    ds = wb.load("swiss-roll", n_bags=10, mean_size=8, size_std=3)
    ds = ds.drop_vars(["truth", "individual_value"], errors="ignore").assign(
        value=ds["value"].copy(data=np.ones(10)))
    one = next(one for one in wb.check(ds).findings if one.code == "few-events")
    assert "rate of events within 0.48 and 1.8 times itself" in one.effect   # 4.8, 18.4 of 10


def test_few_negatives_leave_their_rate_open_by_the_exact_interval_of_a_share():
    table = pd.DataFrame({"lon": np.arange(6.0), "lat": np.arange(6.0), "n": [5, 5, 5, 0, 0, 0],
                          "of": 5})
    ds = wb.bag_points(table, "n", trials="of")
    one = next(one for one in wb.check(ds).findings if one.code == "few-events")
    exact = scipy.stats.binomtest(15, 30).proportion_ci(0.95, "exact")
    said = re.search(r"rate of \w+ within ([\d.]+) and ([\d.]+) times", one.effect)
    assert [float(said[1]), float(said[2])] == pytest.approx(
        [exact.low / 0.5, exact.high / 0.5], abs=0.05)
