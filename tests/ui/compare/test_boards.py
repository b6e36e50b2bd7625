"""Boards of the app "compare": what is stored, what is computed, what is taken away."""

import html
import io
import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
import rasterio
import xarray as xr

import workbench as wb
from tests.ui.kit import layer, ran, settled
from workbench.comparison import Comparison, engines
from workbench.papers.status.published import published
from workbench.papers.status.results import Results
from workbench.plots import rate_unit
from workbench.ui.base.cache import Cache
from workbench.ui.base.views.bundle import places
from workbench.ui.compare import background, comparing, exporting, messages, pairs, stored
from workbench.ui.compare import published as published_page
from workbench.ui.compare.catalogue import DATA, RIVALS, engines_for, offered
from workbench.ui.compare.engine import arguments, data_of, narrowed
from workbench.ui.compare.programs import column_of
from workbench.ui.compare.ranking import ranking, score_of, title_of
from workbench.ui.compare.state import SOURCES, Pair, Setting, State
from workbench.ui.compare.store import Store
from workbench.ui.compare.views.charts import INK, PALE, Charts, decades, ticks_of
from workbench.ui.compare.views.engines import MAPS, Engines
from workbench.ui.compare.views.exports import Exports
from workbench.ui.compare.views.maps import Maps, panels
from workbench.ui.compare.views.page import Numbers
from workbench.ui.compare.views.papers import Papers, gap, of_paper

REPOSITORY = Path(__file__).parents[3]
SMALL = Setting("country-24", "random", ("glm", "classes"), folds=3)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def small():
    return comparing.compute(SMALL)


def table(result) -> pd.DataFrame:
    found = Comparison(result).table()
    return found.drop(columns="seconds")


@pytest.mark.parametrize("setting", stored.BOARDS, ids=lambda setting: setting.dataset)
def test_what_is_stored_is_what_its_preset_says(setting):
    board = stored.board(setting)
    settings = json.loads(board.result.attrs["settings"])
    asked = arguments(setting)
    assert settings["only"] == [asked.pop("only")]
    assert {name: settings[name] for name in asked} == asked
    names = {"population split", *(RIVALS[key].name for key in setting.models)}
    assert set(board.result["model"].values.tolist()) == set(board.maps) == names
    assert board.setting == setting and not board.partial
    assert board.result.sizes["test"] == 1 and not (board.result["error"] != "").any()
    assert stored.file_of(setting).stat().st_size < 400_000


def test_the_first_page_shows_a_finished_leaderboard():
    store = Store(State())
    store.refresh()
    assert store.board is not None and not store.stale and not store.work
    store.close()


def test_a_verdict_on_former_data_is_as_dim_as_its_charts():
    store = Store(State())
    store.refresh()
    numbers, charts = Numbers(store), Charts(store)
    parts = (numbers.text, numbers.rest, numbers.verdict, charts.table, charts._panel)
    assert {part.styles["opacity"] for part in parts} == {"1"}
    store.stale = True
    assert {part.styles["opacity"] for part in parts} == {"0.5"}
    assert messages.STALE in numbers.hint.object and "opacity" not in numbers.hint.styles
    store.stale = False
    assert {part.styles["opacity"] for part in parts} == {"1"}


@pytest.mark.slow
def test_stored_scores_of_the_plain_methods_come_out_again():
    setting = replace(stored.BOARDS[0], models=("glm", "classes"))
    result = wb.compare(wb.load("simulated-country"), {"auto": None, "Poisson kriging": None},
                        **arguments(setting))
    again = narrowed(stored.board(stored.BOARDS[0]), setting).result
    pd.testing.assert_frame_equal(table(result.data), table(again), rtol=1e-6)
    assert again.attrs["sentence"] == result.sentence
    assert again.attrs["notes"].split("\n")[-2:] == [
        "Poisson kriging is left out, as asked", "auto is left out, as asked"]


def test_fewer_models_of_a_stored_board_are_there_at_once():
    store = Store(State())
    store.refresh()
    whole = store.board
    store.state.vbagg = False
    assert not store.stale and not store.work
    assert "VBAgg" not in store.board.maps and len(store.board.maps) == len(whole.maps) - 1
    assert store.board.result.attrs["recommended"] != "VBAgg"
    store.state.nystrom = True                  # nobody has fitted it
    assert store.stale and store.board.setting != store.state.setting
    store.state.reset()
    assert not store.stale and store.board is whole
    store.close()


@pytest.mark.slow
def test_the_program_of_a_comparison_gives_its_numbers(small, tmp_path):
    found = exporting.of_board(small)
    program, cells = found.program, nbformat.reads(found.notebook(), 4).cells[1:]
    assert "'auto': None" in program and "only='random'" in program
    code = "\n\n".join(cell.source for cell in cells)
    assert code == f"{program.strip()}\n\ntable"
    file = tmp_path / "program.py"
    kept = "maps[list(columns)].reset_coords(drop=True).to_netcdf('maps.nc')"
    file.write_text(f"{code}\nresult.to_netcdf('again.nc')\ntable.to_csv('table.csv')\n"
                    f"columns = {[column_of(name) for name in small.maps]}\n{kept}\n",
                    encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
    assert done.returncode == 0, done.stderr
    shown = pd.read_csv(tmp_path / "table.csv", index_col=0)
    pd.testing.assert_frame_equal(shown.drop(columns=["seconds", "failed"]), found.table().drop(
        columns=["seconds", "failed"]))
    page = exporting.maps(small)
    with xr.open_dataset(tmp_path / "maps.nc") as drawn:        # as in the files of maps
        assert set(drawn) == {"population_split", "GLM_on_totals", "dasymetric_classes"}
        for name, values in drawn.items():
            np.testing.assert_allclose(values, page[name], rtol=1e-5)
    again = Comparison.read(tmp_path / "again.nc")
    pd.testing.assert_frame_equal(table(again.data), table(small.result))
    assert again.sentence == small.result.attrs["sentence"] and again.sentence in done.stdout


@pytest.mark.slow
def test_what_is_taken_away_has_the_numbers_of_the_page(small):
    told = json.loads(exporting.as_json(small, State(**SMALL.choices).query()))
    fresh = State()
    assert fresh.read(told["address"].partition("?")[2]) == [] and fresh.setting == SMALL
    row = next(row for row in ranking(small) if row.name == "GLM on totals")
    record = next(r for r in told["scores"] if r["model"] == "GLM on totals")
    assert record["CRPS of square roots"] == row.score
    assert told["sentence"] in exporting.as_html(small).replace("&#x27;", "'")
    page = pd.read_csv(exporting.of_board(small).csv())
    pd.testing.assert_frame_equal(page.drop(columns=["model", "seconds", "failed"]), table(
        small.result).drop(columns="failed").reset_index(drop=True), rtol=1e-12)
    store = Store(State())
    store.board = small
    assert small.result.attrs["sentence"].split(". ")[0] in Numbers(store).text.text
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("dataset, kinds", [
    ("country", (".tif", ".gpkg", ".nc")), ("california", (".gpkg", ".nc")),
    ("korea", (".gpkg", ".nc"))])
def test_files_hold_the_maps_of_all_models(dataset, kinds):
    if dataset not in offered():
        pytest.skip(f"the data of {dataset} are not here: set WORKBENCH_DATA")
    store = Store(State(dataset=dataset, score="map"))
    store.refresh()
    found, board = exporting.bundle(store), store.board
    ds = data_of(board.setting.data)
    assert found.kinds == kinds and (".tif" in kinds) == (".tif" in places(ds))
    assert "score=map" in found.settings["address"]
    ranked = [row.name for row in ranking(board, "map")]
    assert found.table()["model"].tolist() == ranked
    factor = rate_unit(ds)[0]
    with xr.open_dataset(io.BytesIO(found.file(".nc").getvalue())) as held:
        np.testing.assert_allclose(factor * held["VBAgg"], board.maps["VBAgg"], rtol=1e-6)
        np.testing.assert_allclose(factor * held["truth"], board.truth, rtol=1e-6)
    if ".tif" in kinds:
        with rasterio.open(io.BytesIO(found.file(".tif").getvalue())) as file:
            band = file.read(list(file.descriptions).index("GLM_on_totals") + 1)
        whole = ds["coverage"].values == 1
        np.testing.assert_allclose(
            factor * band[ds["row"].values[whole], ds["column"].values[whole]],
            board.maps["GLM on totals"][whole], rtol=1e-6)
    else:
        frame = layer(found, "individual")
        np.testing.assert_allclose(factor * frame["auto"], board.maps["auto"], rtol=1e-6)
        assert frame.crs is not None and len(frame) == ds.sizes["individual"]
    store.close()


@pytest.mark.parametrize("dark, page", [(False, "#FFFFFF"), (True, "#20262B")])
def test_numbers_have_contrast_on_every_page(dark, page):
    def light(colour):
        parts = np.array([int(colour[k:k + 2], 16) for k in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    store = Store(State())
    store.refresh()
    charts = Charts(store)
    store.dark = dark
    assert len(set(charts.rows.data["ink"])) > 1
    for colour in {*charts.rows.data["ink"], *INK[dark].values(), PALE[dark]}:
        dim, bright = sorted([light(colour), light(page)])
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, colour


@pytest.mark.filterwarnings("ignore:Both 'variant':PendingDeprecationWarning")  # of the widget
def test_exports_are_of_the_tab_that_is_open():
    store = Store(State())
    view = Exports(store)
    assert all(each.disabled for each in (view.csv, view.notebook, view.json))
    store.refresh()
    assert not any(each.disabled for each in (view.csv, view.notebook, view.json))
    assert view._json()[0] == "comparison-country.json" and view.__panel__().visible
    assert "CRPS of square roots −" in Numbers(store).verdict.label       # what is scored
    store.state.tab = "engines"
    assert view._json()[0] == "engines.json"
    store.state.tab = "papers"
    assert not any(each.disabled for each in (view.csv, view.notebook, view.python, view.json))
    assert not any(each.visible for each in view.maps.values())         # tables have no maps
    assert view._json()[0] == "papers-law2018.json"
    store.state.tab = "models"
    assert all(view.maps[suffix].visible for suffix in (".tif", ".gpkg", ".nc"))
    store.close()


@pytest.mark.parametrize("paper", SOURCES.values())
def test_the_program_of_the_papers_tables_gives_what_the_page_says(paper, capsys):
    found, shown = exporting.bundle(store := Store(State(tab="papers", paper=paper))), (
        stored.papers().query("paper == @paper"))
    cells = nbformat.reads(found.notebook(), 4).cells[1:]
    names = ran("\n\n".join(cell.source for cell in cells))
    pd.testing.assert_frame_equal(names["table"], found.table())
    assert names["table"]["ours_value"].tolist() == pytest.approx(
        shown["ours_value"].tolist(), nan_ok=True)
    assert f"{names['met']} of {len(names['own'])} published" in found.told[0]
    assert f"{names['met']} of {len(names['own'])} published" in capsys.readouterr().out
    assert Numbers(store).text.text == found.told[0]
    read = pd.read_csv(found.csv())
    np.testing.assert_allclose(read["gap"], names["table"]["gap"])
    assert len(json.loads(published_page.as_json(paper))) == len(read)
    assert "workbench run" in found.program or paper == "nandi2023"
    assert found.report().startswith("<!DOCTYPE html>")
    store.close()


def test_what_models_are_ranked_by_is_called_as_on_the_page():
    for board in map(stored.board, stored.BOARDS):
        labels = {key: label for label, key in DATA[board.setting.dataset].scores.items()}
        for key in ("crps", "map"):
            assert labels[key].startswith(title_of(board, score_of(board, key)))
    state = State()
    assert state.param.score.names == state.data.scores
    state.dataset = "climate"
    assert list(state.param.score.names) == ["CRPS (decides)", "squared error, without intervals"]


@pytest.mark.slow
def test_a_stop_keeps_what_is_finished_and_the_rest_goes_on(tmp_path):
    setting, told = replace(SMALL, test="recovered", seed=1), []

    def stopping(share, what, left):
        told.append((share, what))
        if len([w for _, w in told if w.endswith("done")]) == 5:
            raise comparing.Stop

    part = comparing.compute(setting, stopping, tmp_path)
    assert part.partial.startswith("stopped after 5 of ")
    assert exporting.of_board(part).stem == "comparison-country-24-incomplete"
    assert exporting.of_board(part).caption == messages.failed(part.partial)
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and shares[-1] < 1
    files = len(list(tmp_path.iterdir()))
    assert files >= 4
    whole = comparing.compute(setting, resume=tmp_path)
    assert not whole.partial and len(list(tmp_path.iterdir())) > files
    assert set(whole.maps) == {"population split", "GLM on totals", "dasymetric classes"}
    left = replace(whole, maps={name: values for name, values in whole.maps.items()
                                if name != "GLM on totals"})
    shown = dict(panels(left, "crps"))
    (empty,) = [title for title in shown if "GLM on totals" in title]
    assert empty.endswith(messages.NO_MAP) and np.isnan(shown[empty]).all()
    assert [title[:1] for title in list(shown)[-3:]] == ["1", "2", "3"]


def test_a_fit_is_stopped_at_its_next_step():
    calls = []

    def step(share):
        calls.append(share)
        raise comparing.Cancelled

    ds = wb.load("swiss-roll", n_bags=20, mean_size=6, size_std=3)
    model = comparing.Watched(wb.VBAgg(kernel="rbf", inducing=5), 20, step)
    assert model.fit(ds).cancelled and len(calls) == 1 and model.whole is None
    assert repr(model) == repr(wb.VBAgg(kernel="rbf", inducing=5))


@pytest.mark.slow
def test_a_comparison_runs_in_a_thread_and_stays(small):
    store = Store(State(**SMALL.choices))
    store.refresh()
    assert store.stale
    store.compare()
    assert store.work == messages.COMPARING
    settled(store)
    assert not store.stale and store.board.setting == SMALL
    pd.testing.assert_frame_equal(table(store.board.result), table(small.result))
    assert background.ready_board(SMALL) is store.board
    store.state.seed = 3
    assert store.stale
    store.close()


def test_a_comparison_of_nothing_is_refused_in_words():
    store = Store(State(**{key: False for key in RIVALS}))
    assert store.problem == messages.TOO_FEW
    store.compare()
    assert not store.work
    store.state.param.update(tab="engines", other="vi", one="vi")
    assert store.problem == messages.ONE_ENGINE
    store.close()


def test_what_is_pushed_is_what_would_be_drawn_anew():
    store = Store(State(dataset="us"))
    charts, maps = Charts(store), Maps(store)
    store.refresh()
    store.state.dataset = "country"
    store.state.score = "map"
    again, anew = Charts(store), Maps(store)
    compared = 0
    for one, other in ((charts.rows, again.rows), (charts.covered, again.covered),
                       (charts.costs, again.costs), (maps.source, anew.source)):
        for column, values in other.data.items():
            np.testing.assert_array_equal(np.asarray(one.data[column]), np.asarray(values))
            compared += 1
    assert compared > 25 and charts.table.object == again.table.object
    titles = [title for title, _ in panels(store.board, "map")]
    assert titles[:2] == [messages.OBSERVED, messages.TRUTH] and any("✓" in t for t in titles)
    assert len(maps.row) == len(titles) == len(store.board.maps) + 2
    assert maps.mapper.low == anew.mapper.low
    store.close()


def test_the_simple_map_is_the_rule_and_far_models_are_arrows():
    board = stored.board(stored.BOARDS[2])              # US: nothing beats the split
    rows = {row.name: row for row in ranking(board)}
    assert rows["population split"].change == 0 and rows["dasymetric classes"].change > 1
    store = Store(State(dataset="us"))
    store.refresh()
    charts = Charts(store)
    held = charts.rows.data
    k = held["name"].index("dasymetric classes")
    assert held["marker"][k] == "triangle_dot" and held["at"][k] < rows["dasymetric classes"].change
    assert held["told"][k].startswith("+") and messages.BEYOND in charts.told.object
    assert Numbers(store).verdict.label == "no model clearly beats the population split"
    store.close()


def test_a_model_that_failed_has_no_numbers_but_a_reason_and_a_remedy():
    board = stored.board(stored.BOARDS[2])
    gone = board.result["model"] == "dasymetric classes"
    result = board.result.assign(
        {name: board.result[name].where(~gone) for name in ("scores", "difference", "lower",
                                                            "upper")}
        | {"error": board.result["error"].where(~gone, "3 of 3 folds failed (one class).")})
    store = Store(State(dataset="us"))
    store.board = replace(board, result=result)
    charts = Charts(store)
    held = charts.rows.data
    k = held["name"].index("dasymetric classes")
    assert (held["score"][k], held["told"][k]) == ("–", "failed") and k == len(held["name"]) - 1
    shown = html.unescape(re.sub("<[^>]*>", "", charts.told.object))    # words are explained there
    assert "dasymetric classes failed: 3 of 3 folds failed (one class)." in shown
    assert "Leave it out, or choose another test" in shown
    assert "nan" not in charts.table.object and ">–<" in charts.table.object
    assert len(panels(store.board, "crps")) == len(store.board.maps) + 1
    store.close()


def test_ticks_are_round_and_few():
    assert ticks_of(-0.68, 0.3) == [-0.6, -0.4, -0.2, 0.0, 0.2]
    assert decades(0.006, 120) == [0.01, 1, 100] and decades(0.9, 16) == [1, 3, 10]


@pytest.mark.parametrize("pair", stored.PAIRS, ids=lambda pair: pair.likelihood)
def test_stored_engines_are_those_of_their_presets(pair):
    found = stored.pair(pair)
    assert set(found["engine"].values.tolist()) == {pair.one, pair.other}
    assert found.sizes["bag"] == pairs.DATASET["districts"] and "fixed" in found.attrs["summary"]
    assert repr(wb.VBAgg(**pairs.options(pair))) in found.attrs["summary"]


@pytest.mark.parametrize("pair", stored.PAIRS, ids=lambda pair: pair.likelihood)
def test_maps_of_engines_have_the_unit_of_maps_of_models(pair):
    store = Store(State(tab="engines", likelihood=pair.likelihood, one=pair.one, other=pair.other))
    view = Engines(store)
    store.refresh()
    models = stored.board(next(one for one in stored.BOARDS if one.dataset == "country"))
    for cell in view.cells[:2]:
        assert models.unit == "cases per 1,000 persons" and models.unit in cell.foot.object
    np.testing.assert_allclose(np.nanmean(view.source.data["one"][0]),
                               1000 * store.pair["mean"].sel(engine=pair.one).mean(), rtol=1e-5)
    store.close()


@pytest.mark.slow
def test_the_program_of_engines_gives_their_numbers():
    pair = stored.PAIRS[1]
    kept = stored.pair(pair)
    bundle = exporting.of_pair(pair, kept)
    cells = nbformat.reads(bundle.notebook(), 4).cells[1:]
    names = ran("\n\n".join(cell.source for cell in cells))     # as a user runs it
    np.testing.assert_allclose(names["found"]["mean"].sel(engine="exact"),
                               kept["mean"].sel(engine="exact"), rtol=1e-3)
    page = bundle.table()
    assert list(page) == list(names["table"]) == [
        "area", "x", "y", "mean_vi", "std_vi", "mean_exact", "std_exact"]
    for name in page.columns[3:]:
        np.testing.assert_allclose(names["table"][name], page[name], rtol=1e-3)
    np.testing.assert_array_equal(layer(bundle, "pixels")["mean_exact"].sort_values(),
                                  page["mean_exact"].sort_values())
    assert bundle.report().startswith("<!DOCTYPE html>") and "0.02" in bundle.report()
    store = Store(State(tab="engines", likelihood="normal", one=pair.one, other=pair.other))
    store.refresh()
    assert store.pair is kept and not store.stale_pair
    assert "in closed form" in Numbers(store).text.text
    assert json.loads(exporting.pair_json(pair, kept))["mean"]["vi"]
    assert exporting.bundle(store).stem == "engines"
    store.state.learnt = True
    assert store.stale_pair
    store.close()


@pytest.mark.slow
def test_cancelled_engines_leave_those_that_are_finished(monkeypatch):
    asked, fits = Pair("normal", "vi", "exact", learnt=True), []
    begun, go = threading.Event(), threading.Event()
    real_fit, real_exact = wb.VBAgg.fit, engines._closed_form

    def exact(*given):
        begun.set()
        assert go.wait(100)
        return real_exact(*given)

    monkeypatch.setattr(pairs, "_FITS", Cache(2))
    monkeypatch.setattr(background, "_PAIRS", Cache(2))
    monkeypatch.setattr(engines, "_closed_form", exact)
    monkeypatch.setattr(wb.VBAgg, "fit", lambda *a, **k: fits.append(1) or real_fit(*a, **k))
    store = Store(State(tab="engines", likelihood="normal", one="vi", other="exact", learnt=True))
    store.compare()
    assert begun.wait(100)
    store.cancel()
    view, told = Engines(store), Numbers(store)
    assert not store.work and store.shown == asked and not store.stale_pair
    assert pairs.unfinished(store.pair) == ["exact"]
    assert messages.engines_stopped(["exact"]) in html.unescape(told.hint.object)
    assert told.text.text.startswith("Variational: ") and "not finished" in view.numbers.object
    drawn = {name: np.isfinite(view.source.data[name][0]).any() for name in MAPS}
    assert drawn == {"one": True, "other": False, "apart": False}
    assert json.loads(exporting.pair_json(asked, store.pair))["unfinished"] == ["exact"]
    found = exporting.bundle(store)
    assert found.stem == "engines-incomplete" and "std_exact" not in found.table()
    assert found.caption == messages.engines_stopped(["exact"])
    go.set()
    store.compare()
    settled(store)
    assert pairs.unfinished(store.pair) == [] and len(fits) == 1    # it was kept
    assert messages.UNFINISHED not in view.numbers.object
    store.close()


def test_engines_that_cannot_do_a_likelihood_are_not_offered():
    assert "exact" not in engines_for("poisson") and "exact" in engines_for("normal")
    assert pairs.arguments(Pair("normal", "vi", "exact")) == {
        "engines": ["vi", "exact"], "fix_hyperparameters": True}


@pytest.mark.slow
def test_the_papers_numbers_are_those_of_the_stored_runs():
    kept = stored.papers()
    fresh = published(Results(REPOSITORY / "data" / "results")).fillna(
        {"published": "", "ours": "", "cause": ""}).reset_index(drop=True)
    pd.testing.assert_frame_equal(fresh, kept, check_dtype=False)
    assert set(kept["paper"]) == set(State.param.paper.names.values())


def test_only_what_a_paper_prints_counts_as_published():
    rows = stored.papers()
    own = rows[rows["published"].str.contains("computed from|read from")]
    assert len(own) > 2 and own["published_value"].isna().all()
    assert "1 of 1 published number is reproduced" in published_page.headline("law2018")


def test_published_numbers_stand_left_and_ours_right_with_the_gap():
    view = Papers(Store(State(tab="papers")))
    rows = of_paper("law2018")
    constant = rows[rows["what"] == "bag-constant"].iloc[0]
    assert constant["published"] in view.tables.object and gap(constant) in view.tables.object
    assert gap(rows[rows["what"] == "bag-pixel"].iloc[0]) == ""         # a bound is no number
    assert "workbench run --experiment swiss-roll-bags" in view.tables.object
    view.store.state.paper = "shikuri2025"
    assert len(view.source.data["ours"]) > 100


def test_a_model_that_was_not_reached_has_not_failed():
    said = messages.model_failed("auto", "not run")
    assert "failed" not in said and "press Compare" in said
    assert messages.model_failed("auto", "one class").startswith("auto failed: one class. Leave it")
