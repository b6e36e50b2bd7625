"""The glossary: complete, of one piece, and the same everywhere."""

import ast
import re
from html import unescape
from pathlib import Path

import pytest

import workbench
from workbench.ui.base import words
from workbench.ui.base.glossary import Glossary
from workbench.ui.base.views.text import paragraph
from workbench.ui.base.words import explained, glossary, shown

PACKAGE = Path(workbench.__file__).parent
DOCS = PACKAGE.parent / "docs"
TERMS = [term for word in glossary() for term in word.terms]
#: What a reader of the apps is told without further words.
USED = """area aggregate auto bag baseline bias calibration certificate component converged coverage
covariate CRPS deviance draw dispersion evidence exceedance extrapolation fixed GLM GP granularity
hyperparameter individual information interval kernel kriging lengthscale likelihood link mediator
MAE noise nugget objective offset overdispersion PIT posterior preview prior ridge RMSE seed skill
source SSIM summary support target threshold truth variance weight VBAgg CMP S-CMP VarCMP BAGG-GP
MR-GP MR-GPRN MR-DGP NUTS Nyström bag-pixel Matérn RBF ECDF MAUP CRS""".split() + [
    "area effect", "Aggregated GP", "centre point", "coarsen-and-recover", "composite likelihood",
    "composite weight", "dasymetric classes", "held out", "inducing inputs", "log evidence",
    "negative binomial", "Poisson kriging", "population split", "product kernel", "sum kernel",
    "product likelihood", "Voronoi cells", "own area's rate", "EPSG code", "Moran's I"]
#: Capitals that are no terms: files, machines, places, chemistry, units, and what is typed.
EVERYDAY = set("""CSV HTML JSON NetCDF GeoJSON GeoPackage GeoTIFF GPKG XML PNG SVG ESRI QGIS SHA UTF
URL UTC PATH PORT HOST Ctrl-C MB MiB UK US USD NO2 NO₂ CMIP6 COLUMN WORKBENCH_CHROMIUM NEW MAP NOT
GiB WGS84 Quasi-Likelihood D₁ D₂ GeoParquet GPs DataTree FeatureCollection STEPS EPSG
LOCAL_CS""".split())
CAPITALS = re.compile(r"(?<![\w./:])[A-Za-z]*[A-Z][a-z]*-?[A-Z₀-₉]\w*(?:-[A-Z]+\w*)*(?![\w(=])")


def unexplained(texts) -> set[str]:
    """Abbreviations in texts that are neither words of the glossary nor of every day."""
    return {found for text in texts for found in CAPITALS.findall(text)} - {*TERMS} - EVERYDAY


def written(module: Path) -> set[str]:
    """Strings of a module that read like text, docstrings aside."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    quiet = {id(node.body[0].value) for node in ast.walk(tree)
             if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
             and node.body and isinstance(node.body[0], ast.Expr)}
    return {node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and id(node) not in quiet and " " in node.value and "\n" not in node.value}


def test_entries_are_unique_short_and_lead_somewhere():
    assert len(set(TERMS)) == len(TERMS) > 120
    for word in glossary():
        assert word.text.endswith(".") and 20 < len(word.plain) < 420, word.terms
        assert "<" not in word.text and "`" not in word.text
        for text, term in word.parts:                   # raises where a link leads nowhere
            assert text and term not in word.terms
        assert not word.page or (DOCS / f"{word.page}.md").is_file(), word.page


def test_words_of_the_apps_have_an_entry():
    known = {term.lower() for term in TERMS}
    assert not {term for term in USED if term.lower() not in known}


def test_abbreviations_of_the_apps_are_explained():
    assert unexplained(["RMSE and QQQ", "NO₂ of the UK", "lower XyZ"]) == {"QQQ", "XyZ"}
    folders = ("ui", "reporting", "comparison", "plots", "preflight")
    texts = {text for name in folders for module in (PACKAGE / name).rglob("*.py")
             for text in written(module)}
    assert len(texts) > 1000
    assert unexplained(texts) == set()


def test_a_word_is_explained_once_and_no_markup_comes_in():
    text = "RMSE & <b>RMSE</b>; Inducing inputs, S-CMP, UNPIT, PITs"
    made = paragraph(text)
    assert unescape(re.sub(r"</?(p|abbr)\b[^>]*>", "", made)) == text
    assert re.findall(r'data-word="(.*?)"', made) == ["RMSE", "inducing inputs", "S-CMP"]
    assert "<b>" not in made and 'title="Root mean squared error' in made
    assert paragraph("<i>RMSE</i>", html=True) == "<p class='wb-note'><i>RMSE</i></p>"
    assert explained("nothing to say") == "nothing to say"


@pytest.mark.parametrize("documented", [False, True])
def test_the_dialog_has_all_entries_and_links_pages_only_where_they_are(documented, monkeypatch):
    assert not words.DOCUMENTED.is_set()
    if documented:
        monkeypatch.setattr(words.DOCUMENTED, "is_set", lambda: True)
    entries = Glossary().entries
    assert entries == shown() and [tuple(one["terms"]) for one in entries] == [
        word.terms for word in glossary()]
    assert ["".join(text for text, _ in one["parts"]) for one in entries] == [
        word.plain for word in glossary()]
    assert {one["page"].partition("/")[0] for one in entries} == (
        {"", "documentation"} if documented else {""})
