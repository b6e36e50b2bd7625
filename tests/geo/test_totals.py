"""Values in a table of their own, joined by id; positives out of trials, from file to scores."""

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import workbench as wb
from tests.geo.files import areas, height, kit, mapped, people, refusal, table
from workbench import geo
from workbench.bagging.commas import comma_advice, commas_of
from workbench.bagging.findings import listing
from workbench.bagging.tables import numbers_of, read_table
from workbench.checks import InputError
from workbench.geo.ids import refuse_two_ways
from workbench.geo.joining import _guessed
from workbench.geo.table_texts import with_decimal_points
from workbench.geo.treatments import Record

pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.ExtrapolationWarning",
    "ignore::workbench.checks.FitWarning", "ignore::workbench.checks.FewAreasWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return kit(tmp_path_factory.mktemp("own"))


def bagged(totals=None, value="cases", **options):
    options = {"totals": table() if totals is None else totals, "join": "code"} | options
    return wb.bag_polygons(areas(), [height()], people(), value, **options)


def test_a_table_joined_by_id_gives_what_columns_of_the_polygons_give(folder):
    own = wb.bag_polygons(areas(**table().drop(columns="code")), [height()], people(), "cases",
                          id="code", labels={"region": "region"})
    shuffled = table().sample(frac=1, random_state=0)
    joined = bagged(shuffled, labels={"region": "region"})
    xr.testing.assert_equal(own.drop_vars("bag_geometry"), joined.drop_vars("bag_geometry"))
    assert "16 of 16 areas were joined to the table of totals by 'code'" in joined.treatments
    # From a file ids keep their leading zeros.
    from_file = bagged(folder / "totals.csv")
    assert from_file["value"].values.tolist() == own["value"].values.tolist()
    assert from_file["bag"].values.tolist() == own["bag"].values.tolist()


def test_the_polygons_may_call_their_id_otherwise():
    renamed = areas().rename(columns={"code": "name"})
    ds = wb.bag_polygons(renamed, [height()], people(), "cases", id="name", totals=table(),
                         join="code")
    assert ds["value"].values.tolist() == table()["cases"].tolist()
    floats = areas().assign(code=lambda frame: frame["code"].astype(float))
    numbers = table().assign(code=lambda frame: frame["code"].astype(int))
    ds = wb.bag_polygons(floats, [height()], people(), "cases", totals=numbers, join="code")
    assert ds["value"].values.tolist() == table()["cases"].tolist()


@pytest.mark.parametrize(("change", "said"), [
    (lambda t: t.assign(code=t["code"].astype(int)),
     "16 ids are written in two ways (first: '1001' in the table of totals, '01001' of the poly"),
    (lambda t: t.iloc[2:], r"2 areas have no row in the table of totals (first: ['01001', '01002'"),
    (lambda t: pd.concat([t, t.iloc[:1].assign(code="99")]), "1 id of the table of totals belongs "
     "to no area (first: ['99']); correct it, or pass empty='drop' to leave its row out"),
    (lambda t: pd.concat([t.iloc[1:], t.iloc[:1].assign(code="99")]),
     "and 1 area has no row (first: ['01001'])"),
    (lambda t: pd.concat([t, t.iloc[:2]]), "2 ids have several rows in the table of totals (first:"
     " ['01001', '01002'])"),
    (lambda t: t.assign(code=[f"x{c}" for c in t["code"]]), "no id of the table of totals is that "
     "of an area"),
    (lambda t: t.assign(code=[None, *t["code"][1:]]), "1 row of the table of totals has no id"),
    (lambda t: t.rename(columns={"code": "id"}), "the table of totals lacks columns ['code']"),
    (lambda t: t.drop(columns="cases"), "neither the table of totals nor the polygons have a "
     "column 'cases' for the value; they have "),
])
def test_ids_without_a_partner_are_named(change, said):
    with pytest.raises(InputError) as refused:
        bagged(change(table()))
    assert said in str(refused.value)


@pytest.mark.parametrize(("wrong", "said"), [
    ({"Distrct 03": "District 03"}, ["'Distrct 03'"]),
    ({"Distrct 03": "District 03", "Atlantis": "District 05"}, ["'Distrct 03'"]),
    ({"77": "District 03"}, []),                            # a code may be of another place
    ({"Distrct 04": "District 03"}, []), ({"District 3": "District 03", "x": "District 05"}, []),
    ({"Distrct 03": "District 05", "Districtt 03": "District 03"}, []),
    ({"District 0x": "District 03", "y": "District 05"}, [])])      # which of the two, nobody knows
def test_a_misspelt_name_is_perhaps_that_of_an_area_without_a_row(wrong, said):
    named = [f"District {k:02d}" for k in range(16)]
    written = [next((one for one, meant in wrong.items() if meant == name), name)
               for name in named]
    with pytest.raises(InputError) as refused:
        wb.bag_polygons(areas().assign(code=named), [height()], people(), "cases",
                        totals=table().assign(code=written), join="code")
    assert "probably" not in str(refused.value)
    assert ("is perhaps" in str(refused.value)) == bool(said)
    for one in said:
        assert f"; {one} is perhaps 'District 03', which has no row: correct" in (
            str(refused.value))


@pytest.mark.parametrize(("given", "area"), [
    ("Distrct 03", "District 03"), ("Distrcit 03", "District 03"), ("Districr 03", "District 03"),
    ("Vorpomern-Greifswald", "Vorpommern-Greifswald"), ("Liepzig", "Leipzig"),
    ("Zurich", "Z\u00fcrich"), ("Baden Baden", "Baden-Baden"), ("Districtt 03", "District 03")])
def test_slips_of_a_letter_are_guessed(given, area):
    assert _guessed([given], ["Kiel", area]) == f"{given!r} is perhaps {area!r}, which has no row: "
    assert _guessed([given], [area, f"{area} "]) == ""      # which of the two, nobody knows


@pytest.mark.parametrize(("given", "area"), [
    ("E07000026", "E07000027"), ("DE111", "DE112"), ("DEA11", "DEB11"), ("GBENG001", "GBEMG001"),
    ("Niger", "Nigeria"), ("Austria", "Australia"), ("Iran", "Iraq"), ("Mali", "Malawi"),
    ("West Lothian", "East Lothian"), ("Distrct 04", "District 03"), ("District 4", "District 14"),
    ("Ward A", "Ward B"), ("Hamburg", "Homburg"), ("Freiberg", "Freiburg"), ("Clark", "Clarke"),
    ("Guinea", "Guinea-Bissau"), ("Ward XVIII", "Ward XXVIII"), ("Slovakia", "Slovenia"),
    ("San Jose", "San Juan"), ("17", "71"), ("Lichtenberg", "Lichtenburg"),
    ("Altenburg", "Altenberg"), ("Starnberg", "Sternberg"), ("Carlton", "Charlton"),
    ("Johnson", "Johnston"), ("Neuenkirchen", "Neunkirchen"), ("Oranienbarg", "Oranienburg"),
    ("Altenburg Sued", "Altenberg Sued")])
def test_names_and_codes_of_other_places_are_not_guessed(given, area):
    assert _guessed([given], [area]) == _guessed([area], [given]) == ""


@pytest.mark.parametrize(("given", "area", "differ"), [
    ("DISTRICT  01", "District 01", "blanks and capitals"), ("7.0", "07", "'.0' at the end and le"),
    ("Zu\u0308rich", "Z\u00fcrich", "the encoding of accents;"), ("a\u00a0b", "a b", "blanks;")])
def test_names_written_in_two_ways_are_said_to_be(given, area, differ):
    with pytest.raises(InputError, match=f"in a table.*of areas., which differ in {differ}"):
        refuse_two_ways([given], [area], "in a table", "of areas")


@pytest.mark.parametrize(("texts", "kind"), [
    (["1,790", "345"], "thousands"), (["1,234,567", "2,000"], "thousands"),
    (["1,798", "345"], "either"), (["12,004", "2", "345"], "either"),   # zeros may be left out
    (["12,004", "0", "12,345"], "either"), (["1,798", "2.345"], "either"),
    (["101,102", "103,104,105"], "either"), (["103,104,105", "2,000"], "thousands"),
    (["1,2", "2,3"], "decimal"), (["1,2", "2,3", "1,2,3"], ""), (["12 345", "6"], ""),
    (["1,798", "12.5"], "thousands"), (["1,234.5"], "thousands"), (["1,798", "0,500"], "decimal"),
    (["12,34", "1,798"], "decimal"), (["1,798"], "either"), (["1,798", "1798"], "either"),
    (["1,234,567", "0,5"], "either"), (["345", "x,y"], ""),
    (["2", "1,250", "1,500"], "either"), (["12", "1,250", "3"], "either"),  # as typed by hand
    (["2", "120", "1,250", "1,500"], "thousands"), (["2", "1,250,000"], "thousands"),
    (["20"] * 9 + ["1,790"], "either"), (["20"] * 10 + ["1,790"], "thousands")])
def test_commas_are_of_thousands_or_decimals_or_may_be_either(texts, kind):
    assert commas_of(pd.Series(texts)) == kind


@pytest.mark.parametrize(("texts", "said"), [
    (["12,004", "2", "345"], "remove the commas if they separate thousands .'12,004' in row 0., "
     "write points for them if they are decimal commas$"),
    (["12,040", "2", "345"], "remove the thousands separators .'12,040' in row 0.$"),
    (["1,2", "2,3"], "write points for the commas .'1,2' in row 0. if they are decimal commas and "
     "not those of lists$"),
    (["1,2", "2,1"], "write points for decimal commas .'1,2' in row 0.$"),
    (["1,2", "1,2,3"], "$"), (["110 001", "110 002"], "$"),         # lists, and codes as of mail
    (["345", "12 345"], "remove the thousands separators, which are blanks .'12 345' in row 1.$"),
    (["12\u202f345", "9,5"], "which are blanks .* in row 0., and write points for decimal commas$"),
    (["1'234.5"], "which are apostrophes"), (["12 345,5", "1.5"], "$"), (["12 345", "1,234"], "$"),
    (["1.798.111", "345.000"], "which are points .'1.798.111' in row 0.$"),
    (["1.234,5", "0,5"], "which are points .'1.234,5' in row 0., and write points for decimal c"),
    (["1.798.111", "3.5"], "$"), (["12 345", "1.798.111"], "$")])   # of which nobody knows
def test_what_is_advised_of_separators_falsifies_no_number(texts, said):
    advice = comma_advice(pd.Series(texts))
    assert re.search(said, advice) and bool(advice) == (said != "$")


@pytest.mark.parametrize(("texts", "said"), [
    (["345", "1,790"], r"; remove the thousands separators \('1,790' in row 1\)$"),
    (["345", "1,790", "abc"], r"separators \('1,790' in row 1\), and correct or drop the row of "
     r"other text \('abc' in row 2\)$"),
    (["abc", "1,790", "345", "n/k"], r", and correct or drop the 2 rows of other text \('abc' in "),
    (["345", "abc"], "; correct or drop these rows$")])
def test_every_entry_that_is_no_number_has_its_own_remedy(texts, said):
    with pytest.raises(InputError, match=said):
        numbers_of(pd.DataFrame({"y": texts}), ["y"])


@pytest.mark.parametrize(("given", "of_areas", "how"), [
    (["1", "22"], ["001", "022"], r"e\.g\. t\['a'\]\.astype\(str\)\.str\.zfill\(3\), or in QGIS l"),
    (["001", "022"], ["1", "22"], "both sides, e.g. p.*zfill.3., or in Q"),
    (["1", "2"], ["01", "002"], "both sides$"),                         # of several widths
    (["de1", "de2"], ["DE1", "DE2"], "both sides$"),
])
def test_zeros_are_advised_where_they_make_ids_alike(given, of_areas, how):
    with pytest.raises(InputError, match=how):
        refuse_two_ways(given, of_areas, "in a table", "of areas", "t['a']", "p['a']")


WRITTEN = [("0,94", r"'0,94' has decimal commas: write points, or .*read_csv\(FILE, decimal=','\)"),
           ("1.234,5", "'1.234,5' has decimal commas"), ("12.5%", "'12.5%' has percent signs: rem"),
           ("12,5 %", "'12,5 %' has percent signs"), ("1,234", "'1,234' has thousands separators"),
           ("< 5", "'< 5' has a bound for a number.*are too high .of counts the rates.; write a "
            "number below the bound.*pass missing_value='drop', and map these areas from the "
            "others by --at-poly")]


@pytest.mark.parametrize(("entry", "said"), WRITTEN)
def test_numbers_written_otherwise_are_told_how_of_a_table(entry, said):
    written = table().assign(rate=[entry, *map(str, range(15))])
    with pytest.raises(InputError, match=said):
        bagged(written, "rate")
    with pytest.raises(InputError, match="'0,9' and 15 others have decimal commas"):
        bagged(table().assign(rate="0,9"), "rate")
    with pytest.raises(InputError, match="'1,798' and 15 others have thousands separators or "
                       "decimal commas: remove those, write points for these$"):
        bagged(table().assign(rate="1,798"), "rate")    # of which nobody knows what they are


def test_a_bound_in_the_place_of_people_is_no_value_that_areas_may_be_without():
    polygons = areas().assign(people=["<=5", *map(str, range(100, 115))], cases=range(16))
    with pytest.raises(InputError, match="population column 'people'.*'<=5' has a bound for a "
                       "number.*: write a number below the bound, such as half of it$"):
        wb.bag_polygons(polygons, height(), value="cases", id="code", population="people")


def test_areas_without_a_value_are_said_to_be_mapped_from_the_others():
    empty = table().assign(cases=[np.nan, np.nan, *range(3, 17)])
    ds = bagged(empty, missing_value="drop")
    assert "2 areas without a value were dropped; they can be mapped from the others" in (
        ds.treatments)
    places = wb.polygon_places(areas(), height(), people(), id="code")     # the route that is named
    assert {"01001", "01002"} <= set(places["bag"].values) and ds.sizes["bag"] == 14
    assert not any("suppressed" in one for one in effects(empty, kind="continuous"))
    assert any("rates of the map without them are too high" in one for one in effects(empty))


def test_counts_that_look_like_marks_of_missing_ones_may_be_left_out():
    marked = table().assign(cases=[-9999, -3, *range(10, 24)])
    with pytest.raises(InputError, match=r"1 count is -9999 \(first: area '01001'\), which looks "
                       r"like a mark.*; pass missing_value='drop' to .*aggregation='mean'.*kind="):
        bagged(marked)
    with pytest.raises(InputError, match=r"1 count is negative \(first: area '01002' with -3"):
        bagged(marked, missing_value="drop")            # which is no mark
    with listing() as found:
        bagged(marked)
    assert [one.where for one in found if one.code == "value-negative"] == [
        ("01001",), ("01002",)]
    ds = bagged(marked.assign(cases=[-9999, *range(10, 25)]), missing_value="drop")
    assert ds.sizes["bag"] == 15
    assert "1 area with the mark -9999 was dropped as missing; they" in ds.treatments


@pytest.mark.parametrize(("cases", "said", "left"), [
    ([-9999] * 5 + [*range(10, 21)], "5 counts are -9999 .first: area '01001'., which look li", 11),
    ([-9999, *range(10, 14)], "1 count is -9999 ", 4),          # fewer than say anything else
    ([-9999, -8888, *range(10, 24)], "2 counts are -9999 and -8888 .first: area '01001'", 14),
    ([-32768, -999.9, -99, *range(10, 23)], "3 counts are -32768, -999.9 and -99 ", 13),
    ([-888, *range(10, 25)], "1 count is negative", 0), ([-12, -3] * 8, "16 counts are neg", 0),
    ([-9998, *range(10, 25)], "1 count is negative", 0), ([-99] * 8 + [5] * 8, "are negative", 0)])
def test_no_count_is_minus_9999_however_many_are_and_beside_other_marks(cases, said, left):
    some = table().iloc[:len(cases)].assign(cases=cases)
    chosen = areas().iloc[:len(cases)]

    def mapped(**options):
        return wb.bag_polygons(chosen, [height()], people(), "cases", totals=some, join="code",
                               **options)

    with pytest.raises(InputError, match=said) as refused:
        mapped()
    assert ("mark" in str(refused.value)) == bool(left)
    if left:
        ds = mapped(missing_value="drop")
        assert ds.sizes["bag"] == left and ds["value"].min() >= 10
        marks = said.partition("-")[2].partition(" .")[0].strip()
        assert f"with the mark{'s' if ' and ' in marks else ''} -{marks} w" in ds.treatments
    else:
        with pytest.raises(InputError, match=said):
            mapped(missing_value="drop")


def test_where_all_counts_are_marks_there_is_nothing_to_learn_from():
    marked = table().assign(cases=-9999)
    with pytest.raises(InputError, match="none of the 16 areas has a count .* -9999 looks like"):
        bagged(marked, missing_value="drop")
    checked = wb.check(areas(), [height()], people(), "cases", totals=marked, join="code")
    assert "16 counts are -9999" in [one.what for one in checked.of("error")][0]


def effects(totals, **options) -> list[str]:
    """What a check says of missing values that will happen."""
    with listing() as found:
        bagged(totals, **options)
    return [one.effect for one in found if one.code == "value-missing"]


def test_what_has_no_partner_may_be_left_out():
    some = pd.concat([table().iloc[2:], table().iloc[:1].assign(code="99")])
    ds = bagged(some, missing_value="drop", empty="drop")
    assert ds.sizes["bag"] == 14 and "01001" not in ds["bag"]
    assert "1 id of the table of totals belongs to no area, its row was left out: 99" in (
        ds.treatments)


def test_a_table_in_another_encoding_is_read_when_it_is_named(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes(table().assign(region="Île").to_csv(index=False).encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8 text .* encoding='latin-1'"):
        bagged(path)
    assert bagged(path, encoding="latin-1", labels={"region": "region"})["region"][0] == "Île"
    with pytest.raises(InputError, match="encoding='klingon' is unknown"):
        bagged(path, encoding="klingon")


@pytest.fixture(scope="module")
def survey():
    return bagged(value="positive", trials="tested", labels={"region": "region"})


def test_the_column_that_joins_a_table_is_not_said_to_be_missing(folder):
    said = ("column 'code' of totals.csv holds the ids by which it is joined, and cannot be the "
            "value, too; choose one of ")
    renamed = areas().rename(columns={"code": "name"})
    with pytest.raises(InputError) as refused:
        wb.bag_polygons(renamed, [height()], people(), "code", id="name",
                        totals=folder / "totals.csv", join="code")
    assert said in str(refused.value) and "[" not in str(refused.value).partition(said)[2]


def test_a_column_of_trials_that_is_missing_is_missed_in_the_table(folder):
    with pytest.raises(InputError, match="neither totals.csv nor the polygons have a column "
                                         "'teste' for the trials; they have .*, tested"):
        bagged(folder / "totals.csv", value="positive", trials="teste")
    with pytest.raises(InputError, match="neither totals.csv .*'inhabitants' for the population"):
        bagged(folder / "totals.csv", population="inhabitants")
    with pytest.raises(InputError, match="the polygons have no column 'teste' for the trials"):
        wb.bag_polygons(areas(), [height()], people(), "code", trials="teste")


@pytest.mark.slow
def test_trials_make_a_survey(survey, tmp_path):
    assert survey["trials"].values.tolist() == table()["tested"].tolist()
    assert survey["value"].attrs | {"long_name": ""} == {
        "long_name": "", "units": "positives", "kind": "count", "aggregation": "mean"}
    again = geo.read(geo.write(survey, tmp_path / "survey.nc"))
    xr.testing.assert_equal(again["trials"], survey["trials"])
    fit = wb.VBAgg(inducing=12, max_steps=30).fit(survey)
    assert fit.at(survey).mean.attrs["units"] == "share"
    share = fit.over(survey).mean
    assert 0 < float(share.min()) < float(share.max()) < 1
    assert float(np.abs(share - survey["value"] / survey["trials"]).mean()) < 0.1


@pytest.mark.parametrize(("change", "said"), [
    (lambda t: t.assign(tested=t["positive"] - 1), "areas have more positives than trials (first:"),
    (lambda t: t.assign(tested=t["tested"] + 0.5), "16 numbers of trials are negative or not"),
    (lambda t: t.assign(tested=[np.nan, *t["tested"][1:]]), "1 areas have no number of trials "
     "(first: ['01001'])"),
    (lambda t: t.assign(positive=t["positive"] / t["tested"]), "column 'positive' holds shares"),
    (lambda t: t.assign(tested="many"), "trials column 'tested' does not hold numbers"),
])
def test_trials_that_cannot_be_are_refused(change, said):
    with pytest.raises(InputError) as refused:
        bagged(change(table()), "positive", trials="tested")
    assert said in str(refused.value)
    with pytest.raises(InputError, match="are counts"):
        bagged(value="positive", trials="tested", kind="continuous")


def test_an_area_where_nobody_was_tested_is_mapped_and_said():
    none = table()
    none.loc[3, ["positive", "tested"]] = 0
    ds = bagged(none, "positive", trials="tested")
    assert ds.sizes["bag"] == 16 and ds["trials"][3] == 0
    assert "in 1 areas nobody was tested (first: '01004')" in ds.treatments


def test_polygons_of_one_id_have_their_trials_added(survey):
    whole = areas(**table().drop(columns="code")).iloc[:4]
    twice = whole.assign(code=["a", "a", "b", "c"])
    ds = wb.bag_polygons(twice, [height()], people(), "positive", trials="tested", id="code",
                         duplicates="merge")
    assert ds["trials"].values.tolist() == [whole["tested"][:2].sum(), *whole["tested"][2:]]


def test_merged_surveys_add_up_and_weigh_by_trials(survey):
    merged = wb.merge(survey, "region")
    by = table().groupby("region")[["positive", "tested"]].sum()
    assert merged["value"].values.tolist() == by["positive"].tolist()
    assert merged["trials"].values.tolist() == by["tested"].tolist()
    assert float(merged["weight"].sum()) == pytest.approx(float(survey["weight"].sum()))
    # The mean of anything over a region is that of its areas by their trials.
    height_of = bag_means(survey)
    wanted = [np.average(height_of[table()["region"] == r], weights=table()["tested"][
        table()["region"] == r]) for r in ("north", "south")]
    assert bag_means(merged) == pytest.approx(wanted)
    assert "in proportion to the trials of each area" in merged.treatments
    assert survey["value"].attrs["aggregation"] == "mean"
    assert wb.merge_to(survey, 5)["trials"].sum() == table()["tested"].sum()


def bag_means(ds):
    weight, members = ds["weight"].values, ds["membership"].values
    return np.bincount(members, weight * ds["covariates"].values[:, 0]) / np.bincount(
        members, weight)


@pytest.mark.slow
def test_a_survey_in_a_table_from_the_command_line_to_its_scores(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    maps = mapped(tmp_path / "map.nc", "--polygons", "areas.gpkg", "--totals", "totals.csv",
                  "--join", "code", "--value", "positive", "--trials", "tested", "--covariates",
                  "height.tif", "--weight", "people.tif", "--cv", 4)
    assert maps["trials"].values.tolist() == table()["tested"].tolist()
    assert ((maps["mean"] > 0) & (maps["mean"] < 1)).all() and maps["cv_scores"].notnull().any()
    spec = wb.Spec.from_json(maps.attrs["spec"])
    assert spec.dataset_options["trials"] == "tested"
    again = wb.run(spec)
    xr.testing.assert_equal(again["mean"], maps["mean"])


@pytest.mark.parametrize(("arguments", "said"), [
    (["--totals", "none.csv", "--join", "code"], "the totals file 'none.csv' does not exist"),
    (["--totals", "totals.csv"], "--join COLUMN"),
    (["--join", "code"], "--totals FILE"),
])
def test_the_command_line_says_what_is_missing(folder, monkeypatch, arguments, said):
    monkeypatch.chdir(folder)
    assert said in refusal("--polygons", "areas.gpkg", "--value", "cases", *arguments)


def test_other_tables_of_the_command_line_take_an_encoding(tmp_path):
    from tests.geo.files import workbench
    from workbench.bagging import from_summaries

    path = tmp_path / "latin.csv"
    path.write_bytes(pd.DataFrame({"m": [1.0, 2], "n": [9, 8], "x": [0, 1], "y": [0, 1],
                                   "Île": ["é", "b"]}).to_csv(index=False).encode("latin-1"))
    assert from_summaries(path, "m", "n", x="x", y="y", name="Île", encoding="latin-1"
                          )["bag"].values.tolist() == ["é", "b"]
    done = workbench("smooth", path, "--statistic", "m", "--count", "n", "--x", "x", "--y", "y",
                     "--out", tmp_path / "never.nc")
    assert done.exit_code == 2 and "--encoding latin-1 if it is that" in done.stderr
    spec = wb.SmoothSpec(str(path), "m", "n", "x", "y")
    assert "encoding" not in spec.to_json() and wb.SmoothSpec.from_json(spec.to_json()) == spec
    assert "encoding" in wb.SmoothSpec(str(path), "m", "n", "x", "y", encoding="latin-1").to_json()


@pytest.mark.parametrize("bound", ["<5", "<=4", "≤4", "<= 4"])
def test_bounds_of_suppressed_counts_are_recognised_however_written(bound):
    import pandas as pd

    from workbench.geo.attributes import hint_of

    assert "suppressed counts" in hint_of(pd.Series([bound, "10"]))


@pytest.mark.parametrize(("column", "entries", "told"), [
    ("year", [2020, 2021], True), ("ReportMonth", ["a", "b"], True), ("when", [2020, 2021], True),
    ("stamp", ["2020-01-05", "2020-02-05"], True), ("sex", ["f", "m"], False),
    ("year", [2020, 2020], False),      # of which rows would still be told apart by nothing
])
def test_ids_with_several_rows_may_be_of_several_periods(column, entries, told):
    twice = pd.concat([table().assign(**{column: one}) for one in entries])
    with pytest.raises(InputError, match="16 ids have several rows.*add them up") as refused:
        bagged(twice)
    assert (f"map all of them by time='{column}'" in str(refused.value)) == told


@pytest.mark.parametrize(("change", "said"), [
    (lambda t: pd.concat([t, t.iloc[:1]]), "1 id has several rows in the table of totals (first: "
     "['01001']), and one of these rows is a copy of another in every column; remove copies if"),
    (lambda t: pd.concat([t, t.iloc[:2].assign(cases=[t["cases"].iloc[0], 77])]), "2 ids have "
     "several rows in the table of totals (first: ['01001', '01002']), and one of these rows is a "
     "copy of another in every column; remove copies if they were entered twice, as adding them up "
     "would count the same twice; if each row is a part of its own, such as one case or one age "
     "group, add them up, one row per area"),
    (lambda t: pd.concat([t, t.iloc[:1].assign(cases=77)]), "1 id has several rows in the table "
     "of totals (first: ['01001']); add them up, one row per area"),
])
def test_rows_that_are_copies_may_be_entered_twice_or_parts(change, said):
    with pytest.raises(InputError) as refused:
        bagged(change(table()))
    assert said in str(refused.value)


@pytest.mark.parametrize(("change", "code", "values"), [
    (lambda t: t.iloc[2:], "row-missing", True),
    (lambda t: pd.concat([t, t.iloc[:1].assign(code="Total")]), "row-unknown", True),
    (lambda t: pd.concat([t, t.iloc[:1]]), "table", False),
    (lambda t: t.rename(columns={"code": "key"}), "table", False),
    (None, "table", False),
])
def test_a_check_reports_a_table_under_its_name_and_looks_at_the_rest(
        tmp_path, change, code, values):
    path = tmp_path / "counts.csv"
    if change is not None:
        change(table()).to_csv(path, index=False)
    checked = wb.check(areas(), [height()], people(), "cases", totals=path, join="code")
    errors = [one for one in checked.findings if one.severity == "error"]
    assert [one.code for one in errors] == [code] and errors[0].where[0] == "counts.csv"
    assert checked.totals.loc["weight", "kept"] > 0 and ("value" in checked.totals.index) == values


def test_a_check_of_periods_names_the_table_that_cannot_be_read():
    checked = wb.check(areas(), [height()], people(), "cases", totals="gone.csv", join="code",
                       time="year")
    assert [one.where for one in checked.findings] == [("gone.csv",), ()]
    assert "rasters were not looked at" in checked.findings[1].what


def test_columns_without_commas_and_codes_stay_as_they_are_beside_decimal_commas(tmp_path):
    path, record = tmp_path / "table.csv", Record()
    path.write_text("id;v;padded;long\n01;12,5;001,2;12345678901234567890123\n"
                    "02;1,1;002;12345678901234567890124\n", encoding="utf-8")
    frame = read_table(path, text=["id"])
    found = with_decimal_points(frame, path, "id", record)
    assert found["v"].tolist() == [12.5, 1.1] and found["id"].tolist() == ["01", "02"]
    for name in ("padded", "long"):
        assert found[name].astype(str).tolist() == frame[name].astype(str).tolist()
    assert str(record).endswith("were read as such: v")


def test_decimal_commas_are_read_where_semicolons_leave_no_doubt(tmp_path):
    path, wide = tmp_path / "table.csv", table().assign(rate=np.arange(16) / 8 + 0.25)
    wide.to_csv(path, index=False, sep=";", decimal=",")
    ds = bagged(path, "rate", aggregation="mean")
    assert ds["value"].values.tolist() == wide["rate"].tolist()
    assert "decimal commas of table.csv" in ds.treatments and "as such: rate\n" in ds.treatments
    # 1,234 alone may be thousands, and points and commas in one file are no language's.
    for doubtful in (wide.assign(rate="1,234"), wide.assign(rate="1,5", other="2.25"),
                     wide.assign(rate="1,5", people="1.000")):
        doubtful.to_csv(path, index=False, sep=";")
        with pytest.raises(InputError, match="thousands separators|nothing but such numbers"):
            bagged(path, "rate", aggregation="mean")


@pytest.mark.parametrize("columns", [
    {"labels": {"region": "region"}}, {"population": "tested"}, {"trials": "tested"},
    {"aggregation": "mean", "standard_error": "tested"},
])
def test_a_table_that_cannot_be_read_is_one_error_whatever_columns_it_has(columns):
    checked = wb.check(areas(), [height()], people(), "cases", totals="gone.csv", join="code",
                       **columns)
    errors = [one.what for one in checked.findings if one.severity == "error"]
    assert errors == ["'gone.csv' is not a file"]
