"""Small polygons bagged by their parents."""

import re
import warnings

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import workbench as wb
from tests.geo.files import mapped, refusal
from tests.geo.test_totals import WRITTEN
from workbench import schema
from workbench.checks import DataWarning, InputError
from workbench.geo import bag_children

CRS = "EPSG:32633"


def fine(**columns):
    """A 4 x 3 block of 1 km squares; parents are the columns of the block, in mixed order."""
    east, north = (a.ravel() for a in np.meshgrid(np.arange(4), np.arange(3)))
    frame = {
        "code": [f"f{i:02d}" for i in range(12)], "parent": [f"p{3 - e}" for e in east],
        "side": np.where(east < 2, "west", "east"), "people": 10.0 + np.arange(12),
        "cases": np.arange(12.0), "height": 100.0 * north, "slope": 1.0 * east,
    }
    shapes = shapely.box(1000 * east, 1000 * north, 1000 * (east + 1), 1000 * (north + 1))
    return gpd.GeoDataFrame(frame | columns, geometry=shapes, crs=CRS)


def bagged(polygons=None, **options):
    known = {} if "parent_values" in options else {"value": "cases"}
    return bag_children(
        fine() if polygons is None else polygons, parent="parent", covariates=["height", "slope"],
        weight="people", id="code", **({"labels": {"side": "side"}} | known | options),
    )


def test_children_follow_their_parent_and_values_add_up():
    ds, table = schema.check(bagged()), fine().set_index("code")
    assert ds["bag"].values.tolist() == ["p0", "p1", "p2", "p3"]
    rows = table.loc[ds["individual"].values]
    assert rows["parent"].tolist() == ds["bag"].values[ds["membership"].values].tolist()
    np.testing.assert_array_equal(ds["individual_value"], rows["cases"])
    np.testing.assert_array_equal(ds["covariates"], rows[["height", "slope"]])
    assert ds["value"].to_series().to_dict() == table.groupby("parent")["cases"].sum().to_dict()
    assert ds["side"].values.tolist() == ["east", "east", "west", "west"]
    np.testing.assert_allclose(ds["x"], rows.centroid.x)
    assert ds["x"].attrs["units"] == "m"
    assert shapely.area(ds["bag_geometry"].values) == pytest.approx(3e6)


def test_parents_can_have_their_own_values_and_shapes():
    outline = gpd.GeoDataFrame(
        geometry=shapely.box(1000 * np.arange(4)[::-1], 0, 1000 * np.arange(4)[::-1] + 900, 3000),
        index=[f"p{i}" for i in range(4)], crs=CRS,
    )
    ds = bagged(parent_values={"p0": 1, "p1": 2, "p2": 3, "p3": 4}, parent_polygons=outline)
    assert ds["value"].values.tolist() == [1, 2, 3, 4]
    assert "individual_value" not in ds
    assert shapely.area(ds["bag_geometry"].values) == pytest.approx(2.7e6)


def test_parents_and_children_that_do_not_match():
    with pytest.raises(InputError, match=r"1 areas hold no polygon \(first: \['p9'\]\)"):
        bagged(parent_values={"p0": 1, "p1": 2, "p2": 3, "p3": 4, "p9": 5})
    with pytest.raises(InputError, match=r"not among those with values \(first: \['p3'\]\)"):
        bagged(parent_values={"p0": 1, "p1": 2, "p2": 3})
    ds = bagged(parent_values={"p0": 1, "p1": 2, "p9": 9}, empty="drop", missing_value="drop")
    assert ds["bag"].values.tolist() == ["p0", "p1"]
    assert ds.sizes["individual"] == 6
    assert "with values adding up to 9" in ds.attrs["treatments"]
    assert "and that have no row were dropped: p2, p3" in ds.attrs["treatments"]


def test_missing_covariates():
    gap = fine(height=[np.nan, 5, 5, 5] + [7.0] * 8)
    with pytest.raises(InputError, match=r"missing for 1 polygon \(\{'height': 1\}; first: 'f00'"):
        bagged(gap)
    dropped = bagged(gap, missing="drop")
    assert dropped.sizes["individual"] == 11
    filled = bagged(gap, missing="nearest")
    assert filled["covariates"].sel(individual="f00", covariate="height").item() in (5, 7)
    assert "1 gap was filled from the nearest polygon (f00)" in filled.attrs["treatments"]


def test_dropping_children_says_what_value_went_with_them():
    empty = fine(people=[10.0] * 11 + [0.0])
    with pytest.raises(InputError, match=r"1 polygon has zero weight \(first: 'f11'"):
        bagged(empty)
    ds = bagged(empty, zero_weight="drop")
    assert ds["value"].sum() == np.arange(11).sum()
    assert "held values adding up to 11" in ds.attrs["treatments"]


def test_an_area_that_goes_with_its_last_child_is_warned_of():
    """Not by an attribute alone: the map then lacks it, and its cases."""
    empty = fine(people=np.where(fine()["parent"] == "p1", 0.0, 10.0 + np.arange(12)))
    said = (r"1 of 4 areas was left out with the last of its small polygons, .* \(first: 'p1'\), "
            "and with it a value of 18; correct the weights .* of its small")
    with pytest.warns(DataWarning, match=said):
        ds = bagged(empty, zero_weight="drop")
    assert ds["bag"].values.tolist() == ["p0", "p2", "p3"] and ds["value"].sum() == 66 - 18
    assert "look at this: 1 of 4 areas was left out" in ds.attrs["treatments"]
    gap = fine(height=np.where(fine()["parent"] == "p1", np.nan, 7.0 + np.arange(12)))
    with pytest.warns(DataWarning, match=said):
        bagged(gap, missing="drop")
    values = {"p0": 1, "p1": 200, "p2": 3, "p3": 4}         # known of the areas
    with pytest.warns(DataWarning, match="'p1'.*, and with it a value of 200; correct"):
        bagged(empty, parent_values=values, zero_weight="drop", empty="drop")
    with pytest.warns(DataWarning, match=r"\(first: 'p1'\); correct"):     # means do not add up
        bagged(empty, zero_weight="drop", aggregation="mean")
    found = wb.check(empty, weight="people", value="cases", parent="parent", zero_weight="drop")
    (one,) = [one for one in found.of("warning") if one.code == "area-empty"]
    assert one.where == ("p1",) and one.count == 1
    assert one.effect == "it is not on the map, and its value in no total"
    found = wb.check(empty, weight="people", value="cases", parent="parent", zero_weight="drop",
                     aggregation="mean")                    # of which there are no totals
    assert [one.effect for one in found.of("warning") if one.code == "area-empty"] == [
        "it is not on the map"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")                      # one that has others is no such area
        bagged(fine(people=[0.0] + [50.0] * 11), zero_weight="drop")


def test_an_area_without_people_and_without_cases_is_a_note_and_no_warning():
    """Nothing is lost with it: its weights are as they should be."""
    none = np.where(fine()["parent"] == "p1", 0, 1)
    empty = fine(people=none * (10.0 + np.arange(12)), cases=none * np.arange(12))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds = bagged(empty, zero_weight="drop")
        bagged(empty, parent_values={"p0": 1, "p1": 0, "p2": 3, "p3": 4}, zero_weight="drop",
               empty="drop")
    assert ds["bag"].values.tolist() == ["p0", "p2", "p3"]
    assert re.search(r"^1 of 4 areas was left out .* \(first: 'p1'\); its value is zero$",
                     ds.attrs["treatments"], re.M)
    found = wb.check(empty, weight="people", value="cases", parent="parent", zero_weight="drop")
    (one,) = [one for one in found.findings if one.code == "area-empty"]
    assert one.severity == "note" and one.where == ("p1",)
    two = np.where(fine()["parent"].isin(["p1", "p2"]), 0, 1)       # one of which has cases
    with pytest.warns(DataWarning, match=r"1 of 4 areas was .* .first: 'p2'., and with it a v"):
        both = bagged(fine(people=two * 10.0, cases=none * np.arange(12)), zero_weight="drop")
    assert "(first: 'p1'); its value is zero" in both.attrs["treatments"]
    with pytest.warns(DataWarning, match="2 of 4 areas were left out with the last of their .* "
                                         "and with them values adding up to "):
        bagged(fine(people=two * 10.0), zero_weight="drop")
    with pytest.warns(DataWarning, match=r"\(first: 'p1'\); correct"):     # zero is no absence
        bagged(empty, zero_weight="drop", aggregation="mean", kind="continuous")
    known = pd.DataFrame({"parent": ["p0", "p1", "p2", "p3"], "ill": [1, 0, 3, 4], "tested": 50})
    with pytest.warns(DataWarning, match="1 of 4 areas was left out"):      # 50 were tested there
        bagged(empty.drop(columns="cases"), value="ill", trials="tested", totals=known,
               join="parent", zero_weight="drop", empty="drop")


def test_infinite_covariates_are_no_gaps():
    """As where something was divided by zero: they were filled, and recorded as gaps."""
    broken = fine(height=[np.inf, 5, 5, -np.inf] + [7.0] * 8)
    with pytest.raises(InputError, match=r"covariate 'height' is infinite for 2 polygons \(first: "
                                         "'f00'\\); correct them.*pass missing='nearest'"):
        bagged(broken)
    many = gpd.GeoDataFrame(pd.concat([
        fine(code=[f"{k}-{i}" for i in range(12)], height=9.0 + np.arange(12) + k)
        for k in range(20)], ignore_index=True), crs=CRS).set_geometry(shapely.box(
            np.arange(240) % 20, np.arange(240) // 20, np.arange(240) % 20 + 1,
            np.arange(240) // 20 + 1))
    many.loc[3, "height"] = np.inf              # few, which are filled where they are missing
    with pytest.raises(InputError, match="infinite for 1 polygon "):
        bagged(many.set_crs(CRS), labels={})
    filled = bagged(broken, missing="nearest")
    assert np.isfinite(filled["covariates"].values).all()
    assert "covariate 'height' is infinite for 2 polygons" in filled.attrs["treatments"]
    assert bagged(broken, missing="drop").sizes["individual"] == 10
    found = wb.check(broken, covariates=["height"], weight="people", value="cases",
                     parent="parent")
    (one,) = [one for one in found.of("error") if one.code == "covariate-infinite"]
    assert one.where == ("height",) and one.count == 2


def test_classes_in_text_are_told_what_they_need():
    kinds = ["mixed", "rural", "urban", "mixed"] * 3
    with pytest.raises(InputError, match=r"covariate column 'height' holds text \('mixed', "
                                         r"'rural', 'urban'\) and no numbers; .* column of ones "
                                         r"and zeros for each of them but one.*get_dummies"):
        bagged(fine(height=kinds))
    found = wb.check(fine(height=kinds), covariates=["height"], weight="people", value="cases",
                     parent="parent")
    assert "get_dummies(polygons['height'], drop_first=True, dtype=float)" in (
        found.of("error")[0].fix)
    classes = [f"{i % 3}{one}" for i, one in enumerate("aabbabababab")]
    for kinds in (classes, ["1a", "2a", "3a"] * 4, ["1 forest", "2 field"] * 6,
                  ["1 class", "2 class"] * 6, ["1 forest", "2 forest"] * 6, ["1t", "2g"] * 6,
                  ["3 km", "2 kg"] * 6):
        with pytest.raises(InputError, match="get_dummies"):
            bagged(fine(height=kinds))
    percent = [f"{i} %" for i in range(12)]                 # numbers, after all
    with pytest.raises(InputError, match="have percent signs"):
        bagged(fine(height=percent))


@pytest.mark.parametrize("entries", [
    [f"{i} km" for i in range(12)], [f"{i}.5km" for i in range(12)], ["900 m", "1.2 km"] * 6,
    [f"{i} flats" for i in range(12)], ["5 m2"] * 11 + [None], ["12.5 \u00b0C", "-3 \u00b0C"] * 6,
    [f"{i} mm/yr" for i in range(12)], [f"{i} persons" for i in range(12)], ["1 h", "12 h"] * 6])
def test_numbers_with_a_unit_are_no_classes(entries):
    with pytest.raises(InputError, match=r"'height' has numbers with a unit \('.*write all of them "
                                         r"in one unit, remove it .* units=\{'height': 'UNITS'\}"):
        bagged(fine(height=entries))


def test_text_that_is_infinite_or_empty_and_truth_values_are_read_as_what_they_are():
    with pytest.raises(InputError, match="'height' is infinite for 12 polygons"):
        bagged(fine(height=["inf"] * 12))
    with pytest.raises(InputError, match="'height' is infinite for 12 polygons"):
        bagged(fine(height=[np.inf] * 12))
    for blank in ("", "  "):
        with pytest.raises(InputError, match=r"are missing for 12 polygons \(\{'height'"):
            bagged(fine(height=[blank] * 12))
        some = fine(height=[blank, *map(str, range(11))])
        with pytest.raises(InputError, match="are missing for 1 polygon .*; first: 'f00'"):
            bagged(some)
        assert bagged(some, missing="drop").sizes["individual"] == 11
    truths = pd.Series([True, False] * 6)
    for given in (truths, truths.astype(object), truths.astype("boolean")):
        read = bagged(fine(height=given))["covariates"].sel(covariate="height")
        assert read.sel(individual=fine()["code"].tolist()).values.tolist() == [1.0, 0.0] * 6
    with pytest.raises(InputError, match="covariates are missing for 1 polygon "):
        bagged(fine(height=pd.Series([None, *truths[1:]], dtype=object)))


def test_what_small_polygons_lack_is_told_of_them_and_not_of_areas():
    with pytest.raises(InputError, match="2 small polygons have no id"):
        bagged(fine(code=[None, None, *fine()["code"][2:]]))
    gap = fine(cases=[np.nan, *range(1, 12)])
    with pytest.raises(InputError, match=r"1 small polygon has no value \(first: \['f00'\]\)"):
        bagged(gap)
    ds = bagged(gap, missing_value="drop")
    assert "1 small polygon without a value was dropped" in ds.attrs["treatments"]
    assert "the small polygons that were dropped have 'people' adding up to 10" in (
        ds.attrs["treatments"])
    with pytest.raises(InputError, match="first: small polygon 'f00' with -1"):
        bagged(fine(cases=[-1.0] + [1.0] * 11))
    found = wb.check(gap, weight="people", value="cases", parent="parent", missing_value="drop")
    assert found.totals.loc["weight", ["read", "left out", "kept"]].tolist() == [186, 10, 176]


def test_a_covariate_of_codes_in_text_is_warned_of():
    codes = [f"{i:03d}" for i in range(95, 107)]
    with pytest.warns(DataWarning, match=r"covariate 'height' is text, and 5 .* \(as '095'\), which"
                      " codes have .*; leave it out, or give one covariate of zeros and ones"):
        ds = bagged(fine(height=codes))
    assert "look at this: covariate 'height' is text" in ds.attrs["treatments"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bagged(fine(height=[f"{i / 10}" for i in range(12)]))       # amounts, 0.5 and the like


@pytest.mark.parametrize("polygons,options,message", [
    (fine(people=[-1.0] + [1.0] * 11), dict(zero_weight="drop"), "1 weight is negative"),
    (fine(people=[np.nan] + [1.0] * 11), {}, "1 weight is negative or missing"),
    (fine(cases=[-1.0] + [1.0] * 11), {}, "1 count is negative"),
    (fine(cases=[0.5] + [1.0] * 11), dict(fractional="error"), "pass fractional='keep'"),
    (fine(parent=[None] + ["p"] * 11), {}, "1 polygons have no parent"),
    (fine(side=[f"s{i}" for i in range(12)]), {}, "label 'side' varies within 4 areas"),
    (fine(code=["f"] * 12), {}, "1 id belongs to several polygons"),
    (fine().drop(columns="height"), {}, "no column 'height' for the covariate"),
    (fine().drop(columns="parent"), {}, "no column 'parent' for the parent"),
    (fine(), dict(name="nam"), "no column 'nam' for the label 'individual_name'"),
    (fine().set_crs(None, allow_override=True), {}, "state it with polygon_crs"),
    (fine(), dict(value=None), "give either value .* or parent_values"),
    (fine(), dict(kind="counts"), "kind 'counts' is unknown; did you mean 'count'"),
    (fine(), dict(parent_values={"p0": 1, "p1": 2, "p2": 3, "p3": 4},
                  parent_polygons=fine().set_index("code")), "parent_polygons lack 4 areas"),
])
def test_bad_input_is_named(polygons, options, message):
    with pytest.raises(InputError, match=message):
        bagged(polygons, **options)


def outlines():
    west = 1000 * np.arange(4)[::-1]
    return gpd.GeoDataFrame({"name": [f"p{i}" for i in range(4)], "deaths": [4.0, 3, 2, 1],
                             "tested": 20}, geometry=shapely.box(west, 0, west + 1000, 3000),
                            crs=CRS)


def without_cases():
    return fine().drop(columns="cases")


@pytest.mark.parametrize("given", [
    dict(totals=pd.DataFrame({"of": [f"p{i}" for i in range(4)], "deaths": [4.0, 3, 2, 1],
                              "tested": 20}), join="of"),
    dict(parent_polygons=outlines(), parent_id="name"),
], ids=["table", "polygons"])
def test_values_of_parents_from_a_table_or_from_their_polygons(given):
    ds = bagged(without_cases(), value="deaths", **given)
    assert ds["value"].values.tolist() == [4, 3, 2, 1] and "individual_value" not in ds
    survey = bagged(without_cases(), value="deaths", trials="tested", **given)
    assert survey["trials"].values.tolist() == [20] * 4
    assert survey["value"].attrs["aggregation"] == "mean"
    with pytest.raises(InputError, match="more positives than trials"):
        bagged(without_cases(), value="tested", trials="deaths", **given)
    with pytest.raises(InputError, match="lacks columns|no column 'births'"):
        bagged(without_cases(), value="births", **given)


def test_a_column_of_the_same_name_has_the_ids_of_the_larger_areas(tmp_path):
    """Rows of a file have numbers, which are nobody's ids: they are not taken for some."""
    path, ids = tmp_path / "large.gpkg", [f"p{i}" for i in range(4)]
    outlines().rename(columns={"name": "parent"}).to_file(path)
    ds = bagged(without_cases(), value="deaths", parent_polygons=path)
    assert ds["value"].values.tolist() == [4, 3, 2, 1]
    assert "the larger areas' ids are in their column 'parent', too" in ds.attrs["treatments"]
    ours = outlines().assign(parent=ids[::-1]).set_index("name")       # an index of one's own
    assert bagged(without_cases(), value="deaths", parent_polygons=ours)["value"].values.tolist(
        ) == [4, 3, 2, 1]
    some = pd.concat([outlines().iloc[:1].assign(name="of another country"), outlines()])
    some = some.reset_index(drop=True).iloc[1:].rename(columns={"name": "parent"})   # rows 1 to 4
    swapped = {"p0": 4, "p1": 3, "p2": 2, "p3": 1}
    ds = bagged(without_cases().assign(parent=fine()["parent"].map(swapped)), value="deaths",
                parent_polygons=some.assign(parent=some["parent"].map(swapped)))
    assert ds["value"].to_series().to_dict() == {"4": 4, "3": 3, "2": 2, "1": 1}
    swaps = dict(zip(ids, [2, 0, 1, 3], strict=True))
    numbered = without_cases().assign(parent=fine()["parent"].map(swaps))
    outlines().assign(code=list(swaps.values())).to_file(path)
    with pytest.raises(InputError, match="no column 'parent' as the small ones.*; say which has "
                       "their ids with parent_id=.*'name', 'deaths', 'tested', 'code'"):
        bagged(numbered, value="deaths", parent_polygons=path)
    ds = bagged(numbered, value="deaths", parent_polygons=path, parent_id="code")
    assert dict(zip(ds["bag"].values, ds["value"].values, strict=True)) == {
        "0": 3, "1": 2, "2": 4, "3": 1}


def test_areas_that_no_small_polygon_names_are_told_with_both_names():
    other = outlines().assign(name=["a", "b", "c", "d"])
    with pytest.raises(InputError, match=r"areas are \['a', 'b', 'c'\] and so on, parents "
                       r"\['p0', 'p1', 'p2'\]; say where the areas' ids are with parent_id="):
        bagged(without_cases(), value="deaths", parent_polygons=other, parent_id="name")


def moved(east, north=0, **columns):
    return outlines().assign(**columns, geometry=outlines().translate(east, north))


def test_small_polygons_outside_the_larger_one_that_they_name_are_pointed_out():
    """Ids of another numbering, or of outlines of another place, give a map of wrong totals."""
    options = dict(value="deaths", parent_polygons=outlines(), parent_id="name", labels={})
    wrong = without_cases().assign(parent=lambda d: d["parent"].where(d["code"] != "f05", "p0"))
    with pytest.warns(DataWarning, match=r"1 of 12 small polygons lie outside the larger area that "
                      r"column 'parent' names \(first: 'f05' names 'p0' and lies in 'p2'\); comp"):
        ds = bagged(wrong, **options)
    assert ds.sizes["individual"] == 12 and "'f05' names 'p0'" in ds.attrs["treatments"]
    checked = wb.check(wrong, weight="people", parent="parent", id="code", **options)
    found = next(one for one in checked.of("warning") if one.code == "parent-elsewhere")
    assert (found.code, found.where, found.count) == ("parent-elsewhere", ("f05",), 1)
    swapped = without_cases().assign(parent=without_cases()["parent"].map(
        {"p0": "p1", "p1": "p2", "p2": "p3", "p3": "p0"}))
    with pytest.raises(InputError, match=r"12 of 12 small .*; its ids are not those of the larger "
                       "polygons: choose another column with parent=.* parent_id="):
        bagged(swapped, **options)
    with pytest.raises(InputError, match=r"lies far from all of them\): the small ones run over "
                       r"x 0 to 4000.*larger ones over x 1e\+06.*states a wrong CRS, or"):
        bagged(without_cases(), **options | {"parent_polygons": moved(1e6)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)         # borders drawn otherwise are no fault
        bagged(without_cases(), **options | {"parent_polygons": moved(300, 100)})


def squares(of: np.ndarray, **columns) -> gpd.GeoDataFrame:
    """A plane of squares, each with the area that it is of."""
    north, east = (one.ravel() for one in np.indices(of.shape))
    return gpd.GeoDataFrame({"people": 1.0, "parent": of.ravel()} | columns, crs=CRS,
                            geometry=shapely.box(east, north, east + 1, north + 1))


def layouts() -> dict[str, np.ndarray]:
    """Areas of all kinds of shapes, each in one piece."""
    row, column = np.indices((30, 30))
    ring = np.maximum(np.abs(row - 14.5), np.abs(column - 14.5)).astype(int)
    return {"blocks": (row // 10 * 3 + column // 10), "strips": row,
            "two halves": (row[:2, :20] > 0).astype(int), "rings": ring // 3,
            "a city in its county": (ring < 8).astype(int), "pairs": row * 15 + column // 2}


def test_small_polygons_of_an_area_that_lie_all_about_are_pointed_out():
    for name, of in layouts().items():
        many = squares(of)
        options = dict(parent="parent", weight="people",
                       parent_values=dict.fromkeys(np.unique(of).tolist(), 1))
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataWarning)
            bag_children(many, **options)
        mixed = many.assign(parent=np.random.default_rng(0).permutation(many["parent"]))
        if name in ("blocks", "strips", "rings"):
            with pytest.warns(DataWarning, match="lie all about: of the nearest 4 neighbours"):
                bag_children(mixed, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataWarning)     # with outlines that are as scattered
            bag_children(mixed, **options, parent_polygons=mixed.dissolve("parent"))


def test_islands_and_turns_of_longitude_are_no_fault():
    row, column = np.indices((12, 12))
    of = row // 6 * 2 + column // 6
    many = squares(of)
    options = dict(parent="parent", weight="people", parent_values=dict.fromkeys(range(4), 1))
    land = many[(row.ravel() % 6 < 3)].dissolve("parent")     # a generalised coast, without islands
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        assert bag_children(many, **options, parent_polygons=land).sizes["bag"] == 4
        degrees = many.set_crs("EPSG:4326", allow_override=True)
        degrees = degrees.assign(geometry=degrees.translate(-100, 0))
        turned = degrees.dissolve("parent")
        turned = turned.assign(geometry=turned.translate(360, 0))
        bag_children(degrees, **options, parent_polygons=turned)


def test_long_borders_in_degrees_are_curves_elsewhere():
    """Colorado and Wyoming, each four corners, and cells of a projection."""
    states = gpd.GeoDataFrame(geometry=shapely.box(-109, [37, 41], -102, [41, 45]), crs="EPSG:4326",
                              index=["CO", "WY"])
    west, south = (one.ravel() for one in np.meshgrid(
        np.arange(-109, -102, 0.5), np.arange(37, 45, 0.05)))
    cells = gpd.GeoDataFrame({"people": 1.0, "parent": np.where(south < 40.99, "CO", "WY")},
                             geometry=shapely.box(west, south, west + 0.5, south + 0.05),
                             crs="EPSG:4326").to_crs("EPSG:5070")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        bag_children(cells, parent="parent", weight="people", parent_values={"CO": 1, "WY": 2},
                     parent_polygons=states)


def test_an_area_without_a_value_is_no_suppressed_count():
    wrong = without_cases().assign(parent=lambda d: d["parent"].where(d["code"] != "f05", "p9"))
    options = dict(value="deaths", totals=outlines(), join="name")
    with pytest.raises(InputError, match=r"1 areas that small polygons name are not among those "
                       r"with values \(first: \['p9'\]\); add them"):
        bagged(wrong, **options)
    (found,) = wb.check(wrong, weight="people", parent="parent", **options).of("error")
    assert found.code == "row-missing" and "suppressed" not in found.effect
    dropped = bagged(wrong, **options, missing_value="drop")
    assert dropped.sizes["individual"] == 11
    assert "have no row were dropped: p9" in dropped.attrs["treatments"]
    gaps = outlines().assign(deaths=[np.nan, 3, 2, 1])
    checked = wb.check(wrong, weight="people", parent="parent", **options | {"totals": gaps})
    assert [(one.code, one.where) for one in checked.of("error")] == [
        ("row-missing", ("p9",)), ("value-missing", ("p0",))]


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_areas_without_a_value_are_said_to_be_mapped_from_the_others(tmp_path):
    """By the route that is named, in Python and on the command line."""
    hint = ("they can be mapped from the others: fit.to_dataset(workbench.child_places(...)) of "
            "all small polygons, or --at FILE with these places by workbench.write")
    gaps = outlines().assign(deaths=[4, np.nan, 2, 1])
    given = dict(value="deaths", parent_polygons=gaps, parent_id="name", missing_value="drop")
    ds = bagged(without_cases(), **given)
    assert f"1 area without a value was dropped; {hint}" in ds.attrs["treatments"]
    rowless = bagged(without_cases(), value="deaths", totals=gaps.iloc[[0, 2, 3]], join="name",
                     missing_value="drop")
    assert f"have no row were dropped: p1; {hint}" in rowless.attrs["treatments"]
    own = bagged(fine(cases=[np.nan, *range(11)]), missing_value="drop")
    assert f"1 small polygon without a value was dropped; {hint}" in own.attrs["treatments"]

    named = dict(parent="parent", covariates=["height", "slope"], weight="people", id="code")
    places = wb.child_places(without_cases(), parent_polygons=gaps, parent_id="name", **named)
    assert not {"value", "individual_value"} & set(places) and "sanity" not in places.attrs
    assert places["bag"].values.tolist() == ["p0", "p1", "p2", "p3"]
    assert places.sizes["individual"] == 12 and ds.sizes["individual"] == 9
    maps = wb.Constant().fit(ds).to_dataset(places)
    assert float(maps["bag_mean"].sel(bag="p1")) == pytest.approx(48 * 7 / 138, rel=0.05)

    wb.write(places.sel(covariate=["slope"]), tmp_path / "all.nc")
    without_cases().to_file(tmp_path / "small.gpkg")
    gaps.to_file(tmp_path / "large.gpkg")
    written = mapped(tmp_path / "map.nc", "--children", tmp_path / "small.gpkg", "--parent",
                     "parent", "--id", "code", "--covariates", "slope",
                     "--weight", "people", "--polygons", tmp_path / "large.gpkg", "--parent-id",
                     "name", "--value", "deaths", "--missing-value", "drop",
                     "--at", tmp_path / "all.nc")
    assert written["individual"].values.tolist() == places["individual"].values.tolist()
    assert np.isfinite(written["bag_mean"].sel(bag="p1"))


def test_places_are_small_polygons_of_a_file_too(tmp_path):
    bare = fine().set_crs(None, allow_override=True)
    with pytest.raises(InputError, match="state it with polygon_crs"):
        wb.child_places(bare, parent="parent")
    fine().to_file(tmp_path / "kit.gpkg", layer="small")
    outlines().to_file(tmp_path / "kit.gpkg", layer="large")
    named = dict(parent="parent", id="code", name="code", labels={"side": "side"})
    one = wb.child_places(bare, polygon_crs=CRS, attrs={"title": "made"}, **named)
    other = wb.child_places(tmp_path / "kit.gpkg", layer="small", **named)
    for ds in (one, other):
        schema.check(ds, valued=False)
        assert ds.attrs["crs"] == CRS and ds["side"].values[0] == "east"
        assert ds["weight"].attrs["units"] == "km²"
    assert one["x"].equals(other["x"]) and one.attrs["title"] == "made"
    assert f"{CRS} as given was assumed" in one.attrs["treatments"]
    with pytest.raises(InputError, match="no column 'of' for the parent"):
        wb.child_places(fine(), parent="of")
    with pytest.raises(InputError, match="1 polygon has zero weight.*pass zero_weight='drop'"):
        wb.child_places(fine(people=[0.0] + [1.0] * 11), parent="parent", weight="people")


def own_totals(values):
    return outlines().assign(cases=values)


@pytest.mark.parametrize(("aggregation", "right", "taken"), [
    ("sum", [21, 18, 15, 12], "sums"), ("mean", [7.63, 6.67, 5.71, 4.76], "weighted means")])
def test_values_of_the_larger_polygons_are_not_passed_over_in_silence(aggregation, right, taken):
    """Both levels have the column: it is said which was taken, and where the two disagree."""
    options = dict(parent_id="name", aggregation=aggregation, kind="continuous")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds = bagged(parent_polygons=own_totals(right), **options)       # rounded, as published
    assert ds["value"].values == pytest.approx(right, abs=0.005)
    assert (f"values are {taken} of the small polygons' column 'cases'; the larger polygons' "
            "column of that name was not used") in ds.attrs["treatments"]
    other = own_totals([right[0], 3 * right[1], 2 * right[2], np.nan])
    with pytest.warns(DataWarning, match=r"in 2 of 3 areas .*\(most: 'p1' with .* of its own.*; to "
                      "take the larger ones' values, rename or drop .*totals=") as warned:
        ds = bagged(parent_polygons=other, **options)
    together = f"all together {sum(right[:3]):g} and {right[0] + 3 * right[1] + 2 * right[2]:g}"
    assert (together in str(warned[0].message)) == (aggregation == "sum")
    assert "look at this: small and larger polygons both have" in ds.attrs["treatments"]
    found = wb.check(fine(), value="cases", weight="people", parent="parent",
                     parent_polygons=other, **options)
    (one,) = [one for one in found.findings if one.code == "parent-total"]
    assert (one.severity, one.where, one.count) == ("warning", ("p1", "p2"), 2)
    assert "--totals" in one.flag


def test_ids_that_became_decimals_are_whole_numbers_again():
    """As a column of whole numbers does in pandas once one of them was missing."""
    number = {f"p{i}": i for i in range(4)}
    table = pd.DataFrame({"of": range(4), "deaths": [4.0, 3, 2, 1]})
    ds = bagged(without_cases().assign(parent=fine()["parent"].map(number).astype(float)),
                value="deaths", totals=table, join="of")
    assert dict(zip(ds["bag"].values, ds["value"].values, strict=True)) == {
        "0": 4, "1": 3, "2": 2, "3": 1}


@pytest.mark.parametrize("unit", [1, 10, 1000])
def test_values_that_were_rounded_on_either_side_are_no_others(unit):
    large, small = outlines(), fine()
    small = small.assign(cases=small["cases"] * 997.3 * unit)
    exact = small.groupby("parent")["cases"].sum().reindex(large["name"]).to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one, other in ((small["cases"], np.round(exact / unit) * unit),
                           (np.round(small["cases"] / unit) * unit, exact)):
            bagged(small.assign(cases=one), parent_polygons=large.assign(cases=other),
                   parent_id="name", kind="continuous")


def test_a_column_of_the_small_polygons_is_not_used_where_there_is_a_table():
    table = pd.DataFrame({"of": [f"p{i}" for i in range(4)], "cases": [4.0, 3, 2, 1]})
    ds = bagged(totals=table, join="of")
    assert ds["value"].values.tolist() == [4, 3, 2, 1]
    assert "and not those of the small polygons' column of that name" in ds.attrs["treatments"]


def test_leading_zeros_that_are_lost_on_one_side_are_told_as_such(tmp_path):
    zeros = {f"p{i}": f"08{i}" for i in range(4)}
    small = without_cases().assign(parent=fine()["parent"].map(zeros))
    pd.DataFrame({"of": [80, 81, 82, 83], "deaths": 1.0}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"4 ids are written in two ways \(first: '80' in t.csv, "
                       r"'080' in column 'parent' of the small polygons\).*; write them alike on "
                       r"both sides, e.g. table\['of'\]\.astype\(str\)\.str\.zfill\(3\)"):
        bagged(small, value="deaths", totals=tmp_path / "t.csv", join="of")
    lost = small.assign(parent=small["parent"].str.lstrip("0"))
    with pytest.raises(InputError, match=r"'080' of the larger polygons, '80' in column 'parent'.*"
                       r"e.g. polygons\['parent'\]\.astype\(str\)\.str\.zfill\(3\)"):
        bagged(lost, value="deaths", parent_id="name", parent_polygons=outlines().assign(
            name=lambda large: large["name"].map(zeros)))
    with pytest.raises(InputError, match="'80' in parent_values, '080' in column 'parent'"):
        bagged(small, parent_values={"80": 1, "081": 2, "082": 3, "083": 4})


@pytest.mark.parametrize(("entry", "said"), WRITTEN)
def test_numbers_written_otherwise_are_told_how_of_a_table_of_larger_areas(entry, said):
    table = pd.DataFrame({"of": [f"p{i}" for i in range(4)], "deaths": [entry, "1", "2", None]})
    options = dict(value="deaths", totals=table, join="of")
    with pytest.raises(InputError, match=f"column 'deaths' of the table of totals .*{said}"):
        bagged(without_cases(), **options)
    found = wb.check(without_cases(), weight="people", parent="parent", **options)
    one, missing = found.of("error")
    assert one.code == "not-numbers" and re.search(said, one.fix)
    assert (one.where, one.count) == (("p0",), 1) and missing.where == ("p0", "p3")
    whole = options | {"totals": table.assign(deaths=entry)}
    (one,) = wb.check(without_cases(), weight="people", parent="parent", **whole).of("error")
    assert re.search(said.partition(" ")[0], one.what + one.fix)


def test_both_levels_may_be_layers_of_one_file(tmp_path):
    path = tmp_path / "kit.gpkg"
    without_cases().to_file(path, layer="small")
    outlines().to_file(path, layer="large")
    outlines().iloc[:2].to_file(path, layer="former")
    options = dict(layer="small", parent_polygons=path, parent_id="name", value="deaths")
    with pytest.raises(InputError, match="3 layers of polygons.*; pass parent_layer="):
        bagged(path, **options)
    ds = bagged(path, parent_layer="large", **options)
    assert ds["value"].values.tolist() == [4, 3, 2, 1]
    with pytest.raises(InputError, match="parent_layer is of the larger areas"):
        bagged(parent_layer="large")


def test_weights_and_covariates_may_be_left_out():
    ds = bag_children(fine(), parent="parent", value="cases")
    assert ds["weight"].values == pytest.approx(1.0, abs=0.01) and ds.sizes["covariate"] == 0
    assert ds["weight"].attrs["units"] == "km²" and "every km² counts alike" in ds.treatments
    assert "so that rates are per km²" in ds.treatments
    means = bag_children(fine(), parent="parent", value="cases", aggregation="mean")
    assert "counts alike in an area's mean; " in means.treatments
    assert "rates" not in means.treatments
    even = bag_children(fine(), parent="parent", value="cases", weight="uniform")
    assert (even["weight"] == 1).all()


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_units_have_arguments_of_their_own_as_those_of_polygons_have(tmp_path):
    means = {"aggregation": "mean", "value_units": "EUR", "weight_units": "households"}
    for given in (fine(), without_cases()):
        beside = {} if "cases" in given else {"value": "deaths", "parent_polygons": outlines(),
                                              "parent_id": "name"}
        ds = bagged(given, **means, **beside, units={"height": "m"})
        assert ds["value"].attrs["units"] == "EUR"
        assert ds["weight"].attrs["units"] == "households"
        assert ds["covariate_units"].values.tolist() == ["m", "1"]
    assert bagged(value_units="EUR", units={"cases": "EUR"})["value"].attrs["units"] == "EUR"
    with pytest.raises(InputError, match="'cases' are 'USD' in units and 'EUR' in an argument"):
        bagged(value_units="EUR", units={"cases": "USD"})
    assert bag_children(fine(), parent="parent", value="cases",
                        weight_units="ha")["weight"].attrs["units"] == "ha"
    fine().to_file(tmp_path / "small.gpkg")
    maps = mapped(tmp_path / "map.nc", "--children", tmp_path / "small.gpkg", "--parent", "parent",
                  "--id", "code", "--weight", "people", "--value", "cases", "--aggregation", "mean",
                  "--value-units", "EUR")
    assert maps["value"].attrs["units"] == "EUR"


@pytest.mark.parametrize("suffix", ["gpkg", "parquet", "csv"])
def test_files_name_the_area_of_each_small_polygon(tmp_path, suffix):
    path = wb.write(bagged(name="code"), tmp_path / f"map.{suffix}", layer="individual")
    read = {"gpkg": gpd.read_file, "parquet": gpd.read_parquet, "csv": pd.read_csv}[suffix]
    written = read(path).set_index("individual")
    own = fine().set_index("code").loc[written.index]
    assert written["bag"].tolist() == own["parent"].tolist()
    assert written["individual_name"].tolist() == own.index.tolist()
    assert "membership" not in written


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_children_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    without_cases().to_file("small.gpkg")
    outlines().to_file("large.gpkg")
    common = ["--children", "small.gpkg", "--parent", "parent", "--covariates", "height",
              "--covariates", "slope", "--weight", "people", "--id", "code"]
    maps = mapped(tmp_path / "map.nc", *common, "--polygons", "large.gpkg", "--parent-id", "name",
                  "--value", "deaths")
    assert maps["value"].values.tolist() == [4, 3, 2, 1] and maps.sizes["individual"] == 12
    spec = wb.Spec.from_json(maps.attrs["spec"])
    assert spec.dataset == "children" and spec.dataset_options["covariates"] == ("height", "slope")
    assert wb.run(spec)["mean"].equals(maps["mean"])
    written = mapped(tmp_path / "map.gpkg.nc", *common, "--totals", table_of(tmp_path), "--join",
                     "of", "--value", "deaths")
    assert written["mean"].equals(maps["mean"])


def table_of(folder):
    pd.DataFrame(outlines().drop(columns="geometry")).rename(columns={"name": "of"}).to_csv(
        folder / "deaths.csv", index=False)
    return folder / "deaths.csv"


@pytest.mark.parametrize(("arguments", "said"), [
    (["--children", "none.gpkg", "--parent", "p", "--value", "v"], "children file 'none.gpkg'"),
    (["--children", "none.gpkg", "--value", "v"], "missing --parent"),
    (["--parent", "p", "--polygons", "none.gpkg", "--value", "v"], "give --children FILE"),
    (["--children", "none.gpkg", "--parent", "p", "--value", "v", "--time", "year"],
     "--time is of areas over a raster"),
])
def test_the_command_line_says_what_children_need(arguments, said):
    assert said in refusal(*arguments)
