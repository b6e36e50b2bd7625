"""Reports and notebooks of maps: what they say, that they are safe, and that the numbers agree."""

import html.parser
import json
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from tests.kit import write_kit
from workbench.checks import InputError
from workbench.cli import app
from workbench.labelled.caveats import far_off
from workbench.pipeline.base import BaseSpec
from workbench.pipeline.scoring import scores
from workbench.plots import still_maps
from workbench.reporting import cite
from workbench.reporting.code import command_of, steps_of
from workbench.reporting.content import embedded
from workbench.reporting.formula import describe
from workbench.reporting.verdict import BAD, CARE, GOOD, verdict_of
from workbench.reporting.words import learnt, prior_told

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
ROLL = {"n_bags": 24, "mean_size": 8, "size_std": 4}
EVIL = "<script>alert('x')</script>"
LOADS = ("src", "href", "data", "action", "poster", "srcset", "background", "formaction")


def spec_of_kit(folder, **more):
    """A Spec of polygons over rasters, with scores."""
    files = {"polygons": folder / "areas.gpkg", "value": "cases", "weight": folder / "people.tif",
             "covariates": [folder / "height.tif"], "name": "code"}
    return wb.Spec("polygons", files, **{"folds": 2, "threshold": 0.005, "options": dict(
        kernel="linear(covariates)+rbf(coordinates)", inducing=10, max_steps=12), **more})


class Links(html.parser.HTMLParser):
    """Everything on a page that could be loaded, and every element."""

    def __init__(self, page):
        super().__init__()
        self.loaded, self.tags = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loaded += [value for name, value in attrs
                        if name.split(":")[-1] in LOADS and value]


def is_self_contained(page):
    links = Links(page)
    outside = [one for one in links.loaded if not one.startswith(("#", "data:image/png;base64,"))]
    styles = re.findall(r"url\((?!data:)|@import", page)
    active = {"script", "iframe", "object", "embed", "link", "form"} & set(links.tags)
    handlers = re.findall(r"<[^>]*\son\w+=", page)
    return not (outside or styles or active or handlers)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps")
    path = folder / "map.nc"
    wb.write(wb.run(spec_of_kit(write_kit(folder))), path)
    return path


def test_a_report_has_every_section_and_needs_nothing_else(stored, tmp_path):
    made = wb.report(stored, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == made.to_html() and is_self_contained(page)
    assert set(re.findall(r'<section id="(\w+)"', page)) == {
        "verdict", "data", "maps", "model", "convergence", "calibration", "provenance", "cite",
        "again"}
    maps = wb.read(stored)
    for told in (maps.attrs["spec_key"], maps.attrs["data_sha256"], "linear.variance",
                 "rbf.lengthscale", "<math", "linear(covariates)+rbf(coordinates)",
                 "wb.VBAgg(", "Law, Sejdinovic"):
        assert told in page
    drawn = 4 + bool((maps["extrapolation"] > 0).any())
    assert page.count("<svg") == drawn + 3                      # maps, and charts of the scores
    crps = scores(maps)["scores"].sel(target="bag", score="crps", model="vbagg")
    assert f"{float(crps):.3g}" in page
    assert len(page) < 1_000_000


def test_text_of_files_is_escaped_wherever_it_comes_from(stored):
    maps = wb.read(stored)
    card = json.loads(maps.attrs["model_card"])
    card["terms"][0]["columns"] = [EVIL]
    card["notes"].append(EVIL)
    card["hyperparameters"][0]["unit"] = EVIL
    card["coefficients"][0]["name"] = EVIL
    evil = maps.assign_attrs(
        title=EVIL, source=EVIL, treatments=f"{EVIL}\nmore", sanity=EVIL, licence=EVIL, crs=EVIL,
        model_card=json.dumps(card), partial=EVIL, distribution=EVIL, comparison=EVIL)
    evil["value"].attrs["units"] = EVIL
    evil["weight"].attrs["units"] = EVIL
    page = wb.report(evil, check=EVIL, sections={EVIL: EVIL}).to_html()
    assert is_self_contained(page) and "<script" not in page
    assert page.count("&lt;script&gt;alert(") > 15


def test_html_of_objects_is_taken_and_of_a_whole_page_the_body():
    class Page:
        def to_html(self):
            return ("<html><head><style>.a{}</style><title>t</title></head>"
                    "<body class='x'><p>inside</p></body></html>")

    class Part(Page):
        def _repr_html_(self):
            return "<b>part</b>"

    assert embedded(Page()) == "<style>.a{}</style><p>inside</p>"
    assert embedded(Part()) == "<b>part</b>" and embedded(None) == ""
    assert embedded("a < b & c") == "<pre>a &lt; b &amp; c</pre>"


def test_sections_of_recover_and_check_stand_where_they_were_given(stored):
    ds = wb.load("swiss-roll", **ROLL)
    found = wb.recover({"flat": wb.Constant(max_steps=5)}, ds, levels=[8], draws=1)
    page = wb.report(stored, check="all is well", recover=found).to_html()
    assert '<section id="recovered">' in page and "all is well" in page
    assert 'href="#check"' in page and found.attrs["caveat"][:40] in page


@pytest.mark.slow
def test_a_map_from_python_or_of_former_versions_has_a_report(stored):
    ds = wb.load("swiss-roll", **ROLL)
    made = wb.VBAgg(kernel="rbf", inducing=8, max_steps=8).fit(ds).to_dataset(ds)
    page = wb.report(made, title="By hand").to_html()
    assert "<h1>By hand</h1>" in page and "kernel=&#39;rbf&#39;" in page
    former = wb.read(stored)
    del former.attrs["model_card"]
    page = wb.report(former).to_html()
    assert "hyperparameter " in page and is_self_contained(page)    # the summary, as text
    with pytest.raises(InputError, match="is no map"):
        wb.report(ds)


@pytest.mark.parametrize("model", ["constant", "bag-constant", "aggregated-gp", "nystrom"])
def test_every_kind_of_model_is_described(model):
    ds = wb.load("swiss-roll", **ROLL)
    fit = wb.make_model(model, max_steps=10).fit(ds)
    page = wb.report(fit.to_dataset(ds)).to_html()
    assert is_self_contained(page) and fit.model.name in page and "<math" in page


@pytest.mark.slow
def test_the_formula_says_likelihood_link_effects_and_terms():
    ds = wb.load("swiss-roll", **ROLL)
    fit = wb.VBAgg(kernel="linear+rbf", inducing=8, max_steps=5).fit(ds)
    card = json.loads(fit.provenance()["model_card"])
    told = describe(card)
    shown = "".join(told.lines)
    for part in ("Poisson", "Linear", "RBF", "τ", "ν", "λ"):
        assert part in shown
    assert any("effect of each area" in one for one in told.sentences)
    plain = wb.VBAgg(kernel="rbf", inducing=8, max_steps=5, overdispersion="none", nugget=0.0,
                     link="square").fit(ds)
    without = describe(json.loads(plain.provenance()["model_card"]))
    assert "τ" not in "".join(without.lines) and "ν" not in "".join(without.lines)
    assert "Rates are squares of f." in without.sentences
    rows = {one.name: one for one in learnt(card)}
    assert rows["nugget.std"].prior == prior_told("PC: P(std > 0.6) = 0.05")
    assert rows["area.std"].prior.startswith("log-normal around 0.615 × nugget.std, within a")
    assert float(rows["area.std"].value) == pytest.approx(
        fit.hyperparameters["area.std"]["value"], rel=1e-3)


@pytest.mark.slow
def test_a_survey_shows_shares_and_binomial():
    ds = wb.load("swiss-roll", **ROLL)
    trials = np.full(24, 40)
    positives = np.random.default_rng(0).binomial(trials, 0.3).astype(float)
    survey = ds.assign(trials=("bag", trials), value=("bag", positives, dict(
        kind="count", aggregation="mean", units="positives")))
    survey = survey.drop_vars(["truth", "individual_value"], errors="ignore")
    maps = wb.VBAgg(kernel="rbf", inducing=8, max_steps=10).fit(survey).to_dataset(
        survey, threshold=0.2)
    page = wb.report(maps).to_html()
    assert "Binomial" in page and "of 960 trials" in page
    svg = still_maps(maps, axes=("roll_1", "roll_3"))[-2].svg
    assert "P(share &gt; 0.2)" in svg


@pytest.mark.slow
def test_an_auto_fit_shows_its_candidates(stored):
    ds = wb.load("swiss-roll", **ROLL)
    fit = wb.Auto(effort="quick", workers=1).fit(ds)
    page = wb.report(fit.to_dataset(ds)).to_html()
    assert "<h3>Candidates</h3>" in page and "Yao" in page
    for name in fit.candidates:
        assert f"<td>{name}</td>" in page
    assert "was tested again" not in page       # the test of the weights is the only one
    found = wb.recover({"flat": wb.Constant(max_steps=5)}, ds, levels=[8], draws=1)
    again = wb.report(fit.to_dataset(ds), recover=found).to_html()
    assert "was tested again" in again and again.count('<a href="#recovered">') == 2


def verdict(maps, **card):
    own = json.loads(maps.attrs["model_card"])
    return verdict_of(maps, own | card)


def test_the_verdict_follows_tests_and_failures(stored):
    maps = wb.read(stored)
    scored = maps["cv_scores"].copy()
    where = dict(target="bag", score="crps")
    scored.loc[where | {"model": "vbagg"}] = 1.0
    scored.loc[where | {"model": "constant"}] = 2.0
    scored.loc[dict(target="bag", score="coverage_95", model="vbagg")] = 95.0
    folds = maps["cv_fold_scores"].copy()
    folds.loc[dict(score="crps", model="vbagg")] = 1.0
    folds.loc[dict(score="crps", model="constant")] = 2.0
    better = maps.assign(cv_scores=scored, cv_fold_scores=folds,
                         cv_units_scored=0 * maps["cv_units_scored"] + 100,
                         extrapolation=0 * maps["extrapolation"]).assign_attrs(converged="True")
    good = verdict(better, areas=100)
    assert good.kind == GOOD and "better in 2 of 2 folds" in good.points[0].text
    assert verdict(better, areas=5).kind == CARE
    assert verdict(better, areas=100, failed=True).kind == BAD
    found = verdict(better.assign(bag_mean=100 * better["bag_mean"]), areas=100)
    assert found.kind == BAD and "do not use this map" in found.points[0].text
    # Of a map whose effects are given the totals the fit's own note tells.
    found = verdict(better, areas=100, notes=["another note", far_off(2_633.7, 741.0)])
    assert found.kind == BAD and "add up to 2,633.7, the data to 741" in found.points[0].text
    assert verdict(better.assign_attrs(converged="False"), areas=100).kind == CARE
    for covered, kind in ((85.0, CARE), (60.0, BAD)):
        narrow = scored.copy()
        narrow.loc[dict(target="bag", score="coverage_95", model="vbagg")] = covered
        found = verdict(better.assign(cv_scores=narrow), areas=100)
        assert found.kind == kind and any("too narrow" in p.text for p in found.points)
    few = better.assign(cv_scores=scored.where(scored["score"] != "coverage_95", 85.0),
                        cv_units_scored=0 * maps["cv_units_scored"] + 13)
    assert not any("too narrow" in p.text for p in verdict(few, areas=100).points)
    worse = scored.copy()
    worse.loc[where | {"model": "vbagg"}] = 3.0
    found = verdict(better.assign(cv_scores=worse), areas=100)
    assert found.kind == BAD and "prefer it" in found.points[0].text
    untested = better.drop_vars([n for n in better.variables if str(n).startswith("cv_")])
    found = verdict(untested, areas=100)
    assert found.kind == CARE and "Nothing has tested" in found.points[0].text


def untested(maps):
    """A map that nothing speaks for or against."""
    maps = maps.assign(extrapolation=0 * maps["extrapolation"]).assign_attrs(converged="True")
    return maps.drop_vars([n for n in maps.variables if str(n).startswith("cv_")])


def recovered(ours, theirs, error=0.1, coverage=0.95):
    """As of `wb.recover`, of two models with these scores."""
    names, scores = ["vbagg", "population split"], ["crps", "deviance", "coverage_95"]
    values = np.array([[ours, ours, coverage], [theirs, theirs, 0.9]])
    gaps = values[:, None] - values[None]
    return xr.Dataset(
        {"scores": (("model", "score"), values),
         "difference": (("model", "other", "score"), gaps),
         "difference_error": (("model", "other", "score"), np.full(gaps.shape, error)),
         "score_title": ("score", ["CRPS", "deviance", "95 %"])},
        coords={"model": names, "other": names, "score": scores, "area": np.arange(100)},
        attrs={"headline": "crps", "sentence": "recovered."})


@pytest.mark.parametrize(("test", "kind"), [
    (recovered(1.0, 2.0), GOOD), (recovered(1.0, 1.2), CARE), (recovered(2.0, 1.0), BAD),
    (recovered(1.0, 0.99), CARE), (recovered(1.0, 1.0), CARE), (recovered(1.0, 0.6), BAD),
    (recovered(1.0, 2.0, coverage=0.85), CARE), (recovered(1.0, 2.0, coverage=0.6), BAD),
    (recovered(1.0, 2.0).assign_coords(model=["cmp", "split"]), CARE)])
def test_recovered_areas_speak_for_a_map_only_if_it_wins_and_covers(stored, test, kind):
    maps = untested(wb.read(stored))
    card = json.loads(maps.attrs["model_card"]) | {"areas": 100}
    assert verdict_of(maps, card, recovered=test).kind == kind


@pytest.mark.parametrize(("use", "coverage", "kind"), [
    ("vbagg:kernel=rbf", 0.95, GOOD), ("vbagg", 0.6, BAD), ("split", 0.95, BAD),
    ("cmp", 0.95, CARE)])
def test_a_comparison_speaks_for_a_map_only_if_it_is_chosen_and_covers(stored, use, coverage, kind):
    maps = untested(wb.read(stored))
    data = xr.Dataset(
        {"scores": (("test", "model", "score"), np.full((1, 1, 1), coverage)),
         "units": ("test", [50])},
        coords={"test": ["recovered"], "model": [use], "score": ["coverage_95"]},
        attrs={"recommended": use, "baseline": "split", "sentence": f"Use {use}."})
    card = json.loads(maps.attrs["model_card"]) | {"areas": 100}
    assert verdict_of(maps, card, compared=data).kind == kind


@pytest.mark.parametrize(("said", "kind"), [
    ({"weighed": "recovered"}, GOOD), ({"weighed": "recovered", "as_good": ["split"]}, BAD),
    ({"weighed": "recovered", "not_surely_worse": ["split"]}, CARE),
    ({"weighed": "recovered", "recovery_coverage": 0.7}, BAD),
    ({"weighed": "recovered", "recovery_coverage": None}, GOOD),
    ({"weighed": "recovered", "areas": 20}, CARE), ({"weighed": "untested"}, CARE)])
def test_a_mixture_is_judged_by_its_standing_and_not_by_its_words(stored, said, kind):
    maps = untested(wb.read(stored))
    card = json.loads(maps.attrs["model_card"]) | {
        "areas": 100, "verdict": "Anything.", "as_good": [], "not_surely_worse": []} | said
    assert verdict_of(maps, card).kind == kind


SPECS = [
    wb.Spec("swiss-roll", {"n_bags": 20}, options=dict(link="square", nugget=0.1)),
    wb.Spec("korea", level="province", model="auto", options=dict(effort="quick"), seed=4),
    wb.Spec("simulated-country", areas=30, folds=5, folds_scheme="blocks", threshold=0.05,
            quantiles=(0.1, 0.9), area_effect=False,
            hyperparameters={"rbf.lengthscale": 2.0}, options=dict(kernel="rbf")),
    wb.Spec("polygons", {"polygons": "my areas.shp", "value": "it's", "covariates": ["a.tif"],
                         "weight": "pop.tif", "labels": {"region": "REG"}, "align": "average"},
            rescale_to_totals=True),
    wb.Spec("children", {"children": "small.shp", "parent": "code", "value": "n",
                         "polygons": "large.shp", "covariates": ["age"], "weight": "people"}),
    wb.Spec("points", {"points": "p.csv", "value": "n", "covariates": ["a.tif"]}),
    wb.Spec("polygons", {"polygons": "p.shp", "value": "n"}, at="other.nc", draws=20),
    wb.Spec("polygons", {"polygons": "p.shp", "value": "n", "covariates": ["a.tif"]},
            at="polygons", at_options={"polygons": "q.shp", "covariates": {"a": "b.tif"},
                                       "weight": "area", "id": "code"}, information=True),
    wb.PredictSpec("fit.wbfit", at="polygons", at_options={"polygons": "q.shp", "id": "code"}),
    wb.AggregateSpec("map.nc", "zones.gpkg", id="name"),
    wb.SmoothSpec("table.csv", "mean", "n", "lon", "lat", cells=50, seed=2),
    wb.MediateSpec("bags.nc", "targets.csv", "t", mediators=("x", "y")),
    wb.CombineSpec(("a=a.nc", "b.nc"), trust={"a": 0.5}, at="grid.nc"),
    wb.Spec("swiss-roll", hyperparameters={"rbf.lengthscale": (2.5, 3), "mean": -1.0}),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.command} {spec.source}")
def test_the_command_in_a_report_makes_the_same_spec(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import shlex

    words = shlex.split(command_of(spec, "spec.json").replace("\\\n", " "))
    assert words[0] == "workbench"
    done = CliRunner().invoke(app, [*words[1:], "--spec-only"])
    assert done.exit_code == 0, done.output
    again = BaseSpec.read("spec.json")
    assert again == spec and again.key == spec.key


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.command} {spec.source}")
def test_the_python_in_a_report_compiles_and_names_the_options(spec):
    steps = steps_of(spec)
    code = "\n".join((steps.data, steps.model, steps.fit, steps.maps, steps.scores))
    compile(code, "report", "exec")
    assert all(str(name) in code for name in spec.options)
    for name in getattr(spec, "at_options", {}):
        assert name in code


def test_a_spec_that_flags_cannot_say_has_no_command():
    assert command_of(wb.Spec("swiss-roll", {"seed": 3})) == ""     # the flag is the command's
    named = wb.Spec("polygons", {"polygons": "p.shp", "value": "v", "covariates": {"a": "b.tif"}})
    assert command_of(named) == "" and "'a': 'b.tif'" in steps_of(named).data


def test_paths_in_a_notebook_are_seen_from_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("p.shp", "pop.tif"):
        (tmp_path / "data" / name).touch()
    files = {"polygons": "data/p.shp", "value": "data", "weight": "data/pop.tif"}
    spec = wb.Spec("polygons", files)
    assert "polygons='../data/p.shp'" in steps_of(spec, Path("notebooks")).data
    assert "value='data'" in steps_of(spec, Path("notebooks")).data


@pytest.mark.slow
def test_the_notebook_runs_and_gives_the_same_numbers(tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.chdir(write_kit(tmp_path))
    maps = wb.run(spec_of_kit(Path(), folds=2))
    wb.write(maps, tmp_path / "map.nc")
    book = wb.notebook(tmp_path / "map.nc", tmp_path / "map.ipynb")
    root = str(Path(wb.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", root)
    client = nbclient.NotebookClient(book, timeout=120,
                                     resources={"metadata": {"path": str(tmp_path)}})
    check = next(k for k, cell in enumerate(book.cells) if cell.source.endswith("\nworst"))
    with client.setup_kernel():
        for k, cell in enumerate(book.cells):
            if cell.cell_type == "code":
                client.execute_cell(cell, k)
        found = json.loads(book.cells[check].outputs[-1]["data"]["text/plain"].replace("'", '"'))
        wb.write(maps.assign(mean=1.1 * maps["mean"]), tmp_path / "map.nc")
        with pytest.raises(nbclient.exceptions.CellExecutionError, match="Not equal to tolerance"):
            client.execute_cell(book.cells[check], check)       # a map that is another one
    assert set(found) >= {"mean", "std", "bag_mean", "exceedance"}
    assert max(found.values()) <= 1e-6 * float(np.abs(maps["bag_mean"]).max())


def test_a_map_without_a_spec_has_no_notebook(tmp_path):
    ds = wb.load("swiss-roll", **ROLL)
    wb.write(wb.Constant(max_steps=3).fit(ds).to_dataset(ds), tmp_path / "bare.nc")
    with pytest.raises(InputError, match="carries no Spec"):
        wb.notebook(tmp_path / "bare.nc")


@pytest.mark.slow
def test_the_command_line_writes_report_and_notebook(stored, tmp_path):
    run = CliRunner().invoke
    page, book = tmp_path / "r.html", tmp_path / "n.ipynb"
    assert run(app, ["report", str(stored), "--out", str(page)]).exit_code == 0
    assert is_self_contained(page.read_text(encoding="utf-8"))
    assert run(app, ["notebook", str(stored), "--out", str(book)]).exit_code == 0
    assert json.loads(book.read_text(encoding="utf-8"))["nbformat"] == 4
    refused = run(app, ["report", str(stored), "--out", str(tmp_path / "r.pdf")])
    assert refused.exit_code == 2 and ".html" in refused.output
    refused = run(app, ["report", str(stored), "--compare", str(stored), "--out", str(page)])
    assert refused.exit_code == 2 and "workbench compare" in refused.output


def test_a_map_command_writes_its_report(tmp_path):
    out, page = tmp_path / "map.nc", tmp_path / "map.html"
    done = CliRunner().invoke(app, [
        "disaggregate", "--dataset", "swiss-roll", "--n-bags", "12", "--mean-size", "6",
        "--size-std", "4", "--model", "constant", "--max-steps", "5", "--quiet",
        "--out", str(out), "--report", str(page)])
    assert done.exit_code == 0, done.output
    assert f"wrote {page}" in done.output and is_self_contained(page.read_text(encoding="utf-8"))
    refused = CliRunner().invoke(app, ["disaggregate", "--dataset", "swiss-roll", "--spec-only",
                                       "--out", str(tmp_path / "s.json"), "--report", str(page)])
    assert refused.exit_code == 2 and "--spec-only" in refused.output


def test_citations_are_those_of_the_citation_file():
    text = (Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    titles = set(re.findall(r'^    title: "(.+)"', text, re.MULTILINE))
    known = {paper.title for paper in (cite.LAW, cite.HAMELIJNCK, cite.CHAU)}
    assert titles == known and re.search(r"^title: (.+)$", text, re.MULTILINE)[1] == (
        cite.SOFTWARE[1])
    for paper in (cite.LAW, cite.SHIKURI):
        assert paper.title in cite.bibtex([paper]) and paper.title in str(paper)


def test_maps_carry_their_card(stored):
    with xr.open_dataset(stored, engine="h5netcdf") as maps:
        card = json.loads(maps.attrs["model_card"])
    assert card["class"] == "VBAgg" and card["options"]["kernel"].startswith("linear")
    assert [term["name"] for term in card["terms"]] == ["linear", "rbf"]
