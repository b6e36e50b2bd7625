"""Own data as people have them: a population by area, tables beside outlines, zips of any make."""

import io
import time
import zipfile

import geopandas
import numpy as np
import pandas
import pytest
import shapely

from tests.ui.kit import ran
from workbench.checks import InputError
from workbench.ui.disaggregate import engine, exporting, keeping, labels, messages, own, tables
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.own import AREA, NUMBERS, Own

pytestmark = pytest.mark.usefixtures("removed")


def frame():
    """Nine areas with counts, people, and what they earn."""
    names = [f"Süd-{row}{column}" for row in range(3) for column in range(3)]
    shapes = [shapely.box(4000 * c, 4000 * r, 4000 * c + 4000, 4000 * r + 4000)
              for r in range(3) for c in range(3)]
    return geopandas.GeoDataFrame(
        {"gemeinde": names, "ags": [f"0{k}" for k in range(9)], "faelle": range(3, 12),
         "einwohner": range(1000, 1900, 100), "einkommen": np.linspace(20, 30, 9)},
        geometry=shapes, crs="EPSG:25832")


@pytest.fixture(scope="module")
def areas(tmp_path_factory):
    path = tmp_path_factory.mktemp("columns") / "kreise.gpkg"
    frame().to_file(path)
    return path.read_bytes()


def csv(table, **options):
    return table.to_csv(index=False, **options).encode(options.pop("encoding", "utf-8"))


def checked(view):
    view._check()
    deadline = time.monotonic() + 30
    while messages.CHECKING in view.told.object:
        assert time.monotonic() < deadline and not view.store.error, view.store.error
        time.sleep(0.02)
    return view.store.own


@pytest.mark.slow
def test_a_population_column_is_guessed_used_and_kept_in_the_session(areas):
    store = Store(State())
    try:
        view = Own(store)
        view.drop.param.update(filename=["kreise.gpkg"], value=[areas])
        assert (view.values.column.value, view.names.value) == ("faelle", "gemeinde")
        assert view.weight.value == labels.OF_AREAS.format("einwohner")
        found = checked(view)
        assert found.ok and found.data["weight"].attrs["units"] == "persons"
        assert found.data["weight"].sum() == pytest.approx(frame()["einwohner"].sum())
        idle = next(one for one in found.findings if one.code == "column-unused")
        assert idle.what.startswith("einkommen is not used: ")
        view._use()
        options = store.state.spec().dataset_options
        assert (options["population"], options["value"]) == ("einwohner", "faelle")
        choice = store.state.choice
        assert choice.factor == 1000 and choice.threshold > 1       # a rate per 1,000 persons
        facts, members = keeping._own_facts(choice, view._files)
        again = keeping._own_choice(own.kept({"kreise.gpkg": members["own.1"]}), facts["own"])
        assert again.loader["population"] == "einwohner"
        assert view.use.visible
        view.weight.value = AREA            # which was not checked
        assert not view.use.visible and not view.told.object and store.own is None
        assert "column-unused" in {one.code for one in checked(view).findings}
        press = next(one for row in view.corrections.column for one in row[1:]
                     if one.label == "Weigh by einwohner")
        press.clicks += 1
        assert view._given[1]["population"] == "einwohner"
    finally:
        store.leave()


def test_a_table_of_totals_is_joined_by_the_names_that_both_have(areas):
    table = pandas.DataFrame({
        "Nr": [f"0{k}" for k in range(9)], "Name": frame()["gemeinde"],
        "Fälle": np.arange(9) + 5, "Einwohner": 700})
    content = table.to_csv(index=False, sep=";").encode("latin-1")
    store = Store(State())
    try:
        view = Own(store)
        view.drop.param.update(filename=["kreise.gpkg", "zahlen.csv"], value=[areas, content])
        assert view.values.column.value == "Fälle" and not view.names.visible
        assert view.weight.value == labels.OF_AREAS.format("Einwohner")
        assert list(view.key.options.values()) == [("Nr", "ags"), ("Name", "gemeinde")]
        found = checked(view)
        assert found.ok and found.data["value"].sum() == (np.arange(9) + 5).sum()
        assert found.data["weight"].sum() == pytest.approx(6300)
        view.key.value = ("Name", "gemeinde")
        assert set(checked(view).data["bag"].values) == set(frame()["gemeinde"])
        view._use()
        program = store.state.spec().to_json()
        facts, members = keeping._own_facts(store.state.choice, view._files)
        contents = dict(zip(facts["own"]["names"], members.values(), strict=True))
        again = keeping._own_choice(own.kept(contents), facts["own"])
        assert again.loader["join"] == "Name" and "zahlen.csv" in program
    finally:
        store.leave()


def test_a_table_that_joins_more_areas_is_said_to_where_it_replaces_another(areas):
    def table(rows):
        return csv(frame()[["gemeinde", "faelle"]].iloc[:rows].rename(columns={"gemeinde": "name"}))

    store = Store(State())
    try:
        view = Own(store)
        model = view.key.get_root()
        for rows in (8, 9):         # the same columns, and so the same choice
            view.drop.param.update(filename=["kreise.gpkg", "t.csv"], value=[areas, table(rows)])
            assert view.key.value == ("name", "gemeinde")
            assert model.data.value == f"name = gemeinde ({rows} areas)" in model.data.options
    finally:
        store.leave()


def test_the_column_that_joins_a_table_is_not_guessed_to_be_its_values(tmp_path):
    outlines = frame()[["gemeinde", "geometry"]].assign(AreaID=range(9))
    outlines.to_file(tmp_path / "a.gpkg")
    given = (tmp_path / "a.gpkg").read_bytes()
    for key in ("IDnum0", "nr"):
        table = csv(pandas.DataFrame({key: range(9), "X_CENTROID": 1.5, "Y_CENTROID": 2.5,
                                      "db2564": np.arange(9) + 20}))
        store = Store(State())
        try:
            view = Own(store)
            view.drop.param.update(filename=["a.gpkg", "t.csv"], value=[given, table])
            assert view.key.value == (key, "AreaID") and view.values.column.value == "db2564"
        finally:
            store.leave()


def test_the_program_of_joined_data_runs_beside_their_files(areas, tmp_path, monkeypatch):
    table = frame().drop(columns="geometry").rename(columns={"faelle": "n"}).drop(columns="ags")
    contents = {"kreise.gpkg": areas, "zahlen.csv": table.to_csv(index=False).encode("latin-1")}
    files = own.kept(contents)
    given = own.options_of(files, "n", population="einwohner")
    state = State()
    state.add("own-1", own.choice_of(own.check(*given).data, "Own: kreise.gpkg", *given))
    state.model = "constant"
    answer = engine.learn(state.spec())
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    names = ran(exporting.program(answer, None))
    assert names["maps"]["mean"].values == pytest.approx(answer.mean)


def test_a_table_of_pixels_is_a_raster(areas):
    across = np.arange(500, 12_000, 1000)
    x, y = (one.ravel() for one in np.meshgrid(across, across))
    files = own.kept({"kreise.gpkg": areas, "hoehe.csv": csv(pandas.DataFrame(
        {"x": x, "y": y, "height": x + y}))})
    assert list(files.rasters) == ["hoehe.csv"] and files.table is None
    found = own.check(*own.options_of(files, "faelle", population="einwohner"))
    assert [one.code for one in found.of("error")] == ["crs-missing"]      # a press states it


@pytest.mark.parametrize("contents, said", [
    ({"centres.csv": b"lon,lat,n\n9.1,53.4,1\n9.25,53.9,2\n9.31,53.7,2\n"},
     "centres.csv is a table of points .lon, lat.* --points centres.csv --value n`"),
    ({"z.csv": csv(pandas.DataFrame({"code": ["x", "y"], "n": [1, 2]}))},
     "no outlines of its areas .only code, n.: drop the polygons, too .* both have, here code. If "
     "its rows are points, name the columns of their coordinates lon and lat"),
    ({"z.csv": csv(pandas.DataFrame({"kind": ["x", "x"], "n": [1, 2]}))},
     "but none of its columns seems to be one"),
    ({"a.gpkg": None, "z.csv": csv(pandas.DataFrame({"name": ["x", "y"], "n": [1, 2]}))},
     "no column of z.csv .name, n. has the names or numbers of the areas, which are in"),
    ({"a.gpkg": None, "z.csv": csv(frame()[["gemeinde", "faelle"]].assign(
        faelle=1, gemeinde=[f" SÜD-{k // 3}{k % 3}" for k in range(9)]))},
     "column 'gemeinde' of z.csv has the areas' names, but writes 9 of them otherwise: ' SÜD-00' "
     "in the table, 'Süd-00' in column 'gemeinde' of the areas, which differ in blanks and "
     "capitals; write them alike"),
    ({"a.gpkg": None, "z.csv": csv(frame()[["gemeinde", "faelle"]].assign(
        faelle=1, gemeinde=[f"Su\u0308d-{k // 3}{k % 3}" for k in range(9)]))},
     "which differ in the encoding of accents"),
    ({"a.gpkg": None, "z.csv": b"name;n\nSued;\"1,5\"\n"}, "no column of numbers; it has name, n; "
     "column 'n' of z.csv is text, not numbers: write points for decimal commas .'1,5' in row 0.$"),
    ({"a.gpkg": None, "z.csv": b"name;n\na;345\nb;\"1,798\"\nc;\"12,000\"\n"},
     "not numbers: remove the thousands separators .'1,798' in row 1.$"),
    ({"a.gpkg": None, "z.csv": b"name;n\na;345\nb;\"1,798\"\nc;\"12,004\"\n"},
     "not numbers: remove the commas if they separate thousands .'1,798' in row 1., write points "
     "for them if they are decimal commas$"),
    ({"a.gpkg": None, "z.csv": b"name;n\na;345\nb;12 345\nc;1 798\n"},
     "column 'n' of z.csv is text, not numbers: remove the thousands separators, which are blanks "
     ".'12 345' in row 1.$"),
    ({"a.gpkg": None, "z.csv": b"name;n\na;345\nb;1.798.111\nc;2.798.000\n"},
     "not numbers: remove the thousands separators, which are points .'1.798.111' in row 1.$"),
    ({"a.gpkg": None, "z.csv": b"name;lanes\na;1,2\nb;2,3\nc;1,2,3\n"},
     "no column of numbers; it has name, lanes; add one with the values of the areas$"),
    ({"a.gpkg": None, "z.csv": b"name;n\na;x\nb;\"1,798\"\nc;\"2,798\"\n"},
     "not numbers .'x' in row 0.: remove the commas if they separate thousands .'1,798' in row 1., "
     "write points for them if they are decimal commas and correct the others$"),
    ({"a.gpkg": None, "z.csv": b"name;n\na;x\n"}, "it has name, n; add one with the values of"),
    ({"a.gpkg": None, "z.csv": b"PK\x03\x04\0\0"}, "it is no text"),
    ({"a.gpkg": None, "z.csv": b"a,n\n1,1\n", "y.csv": b"a,n\n1,1\n"}, "drop one table of values"),
    ({"table.xlsx": b"PK\x03\x04"}, "table.xlsx is of a kind that is not read here")])
def test_what_of_tables_cannot_be_used_is_said_in_the_dialog(areas, contents, said):
    given = {name: content or areas for name, content in contents.items()}
    with pytest.raises(InputError, match=said):
        own.kept(given)
    view = Own(Store(State()))
    view.drop.param.update(filename=list(given), value=list(given.values()))
    assert "rgb(198, 40, 40)" in view.told.object and view.check.disabled
    assert not view.drop.accept         # else a browser drops other kinds without a word
    view.store.leave()


def test_names_in_two_ways_are_looked_for_before_numbers_that_are_alike_by_chance(tmp_path):
    def joined(table, **columns):
        table.to_csv(tmp_path / "t.csv", index=False)
        return tables.table_of(tmp_path / "t.csv", frame().drop(columns="ags").assign(**columns))

    names, numbers = frame()["gemeinde"], np.arange(9) + 1
    capitals = pandas.DataFrame({"name": names.str.upper(), "mean": numbers[::-1] * 1.0})
    with pytest.raises(InputError, match="'name' of t.csv has the areas' names, but writes 9 of "
                                         "them otherwise: 'SÜD-00' in the table, 'Süd-00' in"):
        joined(capitals, rank=numbers)                  # which the means are alike by chance
    codes = [f"0{k}" for k in numbers]
    with pytest.raises(InputError, match="writes 9 of them otherwise: '1' .* in leading zeros"):
        joined(capitals[["mean"]].assign(code=numbers), rank=numbers, key=codes)
    # Names that are alike, a number of both files, and numbers alone are keys as they were.
    assert joined(capitals.assign(name=names), rank=numbers).keys == (("name", "gemeinde", 9),)
    assert joined(capitals.assign(nr=numbers), nr=numbers).keys == (("nr", "nr", 9),)
    assert joined(capitals.assign(name=names, nr=numbers), nr=numbers).keys == (
        ("name", "gemeinde", 9),)
    assert joined(capitals[["mean"]], rank=numbers, key=codes).keys[0] == ("mean", "rank", 9)
    assert joined(capitals.assign(name="x"), rank=numbers).keys[0] == ("mean", "rank", 9)


def test_names_that_are_not_unique_are_not_offered_and_it_is_said_why(tmp_path):
    def dropped(**columns):
        frame().assign(**columns).to_file(tmp_path / "a.gpkg")
        view = Own(store)
        view.drop.param.update(filename=["a.gpkg"], value=[(tmp_path / "a.gpkg").read_bytes()])
        return view

    store = Store(State())
    try:
        twice = [f"Süd-{k % 8}" for k in range(9)]
        view = dropped(gemeinde=twice, ags=range(9))
        assert view.names.options == [NUMBERS]
        assert ("Column &#x27;gemeinde&#x27; of a.gpkg cannot name the areas: &#x27;Süd-0&#x27; "
                "occurs 2 times.") in view.taken.object
        assert "cannot name" not in dropped(land=["Nord"] * 4 + ["Süd"] * 5).taken.object
        gaps = dropped(ags=["1", "2", None, None, "3", "3", "4", "4", "5"], gemeinde="Süd")
        assert "&#x27;3&#x27; occurs 2 times, &#x27;4&#x27; occurs 2 times, 2 entries are " in (
            gaps.taken.object)
        assert "&#x27;gemeinde&#x27; of a.gpkg cannot name" in gaps.taken.object
    finally:
        store.leave()


def shapefile(folder, encoding):
    frame().to_file(folder / "Ämter.shp", encoding=encoding)
    (folder / "Ämter.cpg").unlink()
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def packed(members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, one in members.items():
            archive.writestr(name, one)
    return content.getvalue()


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-8"])
def test_a_zip_from_a_mac_is_read_with_the_names_of_its_areas(tmp_path, encoding):
    parts = shapefile(tmp_path, encoding)
    loose = own.kept(parts)
    members = {f"Ordner/tief/{name}": one for name, one in parts.items()}
    members |= {"Ordner/": b"", "Ordner/.DS_Store": b"x", "__MACOSX/Ordner/._Ämter.shp": b"x"}
    zipped = own.kept({"aemter.zip": packed(members)})
    for files in (loose, zipped):
        found = own.check(*own.options_of(files, "faelle", name="gemeinde", population="einwohner"))
        assert found.ok and found.data["bag"].values[0] == "Süd-00"
    with zipfile.ZipFile(zipped.polygons) as archive:
        assert {name.rpartition("/")[0] for name in archive.namelist()} == {""}


@pytest.mark.parametrize("change, said", [
    (lambda p: p | {"../x.shx": b""}, "leads out of the zip"),
    (lambda p: p | {"C:\\x.shx": b""}, "leads out of the zip"),
    (lambda p: p | {"b/Other.shp": p["a/Ämter.shp"]}, "2 shapefiles .a/Ämter.shp, b/Other.shp"),
    (lambda p: p | {"b/Ämter.dbf": p["a/Ämter.dbf"]}, "a part of its shapefile twice"),
    (lambda p: {"a.shp": p["a/Ämter.shp"]}, "z.zip lacks .shx and .dbf of its shapefile"),
    (lambda p: {n: c for n, c in p.items() if ".dbf" not in n}, "z.zip lacks .dbf of its"),
    (lambda p: p | {"a/run.exe": b"x"}, "holds a/run.exe"),
    (lambda p: {"a/.DS_Store": b"x"}, "holds 0 shapefiles")])
def test_a_zip_of_anything_else_is_refused(tmp_path, change, said):
    parts = {f"a/{name}": one for name, one in shapefile(tmp_path, "UTF-8").items()}
    with pytest.raises(InputError, match=said):
        own.kept({"z.zip": packed(change(parts))})
