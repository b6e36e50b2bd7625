"""The site: built with warnings as errors, whole, without requests to other machines."""

import html
import importlib
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import generated
import pytest
import status
import tables
from all_tables import TABLES

from tests.docs.pages import DOCS, ROOT, pages
from workbench.ui.base.words import glossary

pytest.importorskip("sphinx")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The built site; proxies that lead nowhere keep it from fetching anything."""
    out = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"),
                            "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-d",
         str(out / "doctrees"), str(DOCS), str(out / "html")],
        cwd=ROOT, env={**os.environ, **nowhere, "OMP_NUM_THREADS": "1"}, capture_output=True,
        text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    return out / "html"


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _pages(site: Path) -> list[Path]:
    return [p for p in site.rglob("*.html") if "_static" not in p.parts]


def test_nothing_is_asked_of_other_machines(site):
    loads = re.compile(r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc=[\"']"
                       r"((?:https?:)?//[^\"']*)"
                       r"|<link\b[^>]*rel=[\"'](?:stylesheet|preload|icon)[\"'][^>]*"
                       r"href=[\"']((?:https?:)?//[^\"']*)")
    assert len(_pages(site)) > 100
    for page in _pages(site):
        assert not loads.findall(_text(page)), page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import\s+[\"'](?:https?:)?//",
                             _text(sheet)), sheet


def test_links_and_anchors_lead_somewhere(site):
    anchors = cache(lambda path: set(re.findall(r'\bid="([^"]+)"', _text(path))))
    broken = set()
    for page in _pages(site):
        for link in re.findall(r'<a\b[^>]*\bhref="([^"]+)"', _text(page)):
            if link.startswith(("http", "mailto:", "data:")):
                continue
            path, _, anchor = unquote(html.unescape(link)).partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.is_file():
                broken.add((page.name, link))
            elif anchor and target.suffix == ".html" and anchor not in anchors(target):
                broken.add((page.name, link))
    assert not broken


def test_formulas_have_their_script(site):
    page = _text(site / "concepts" / "bounds.html")
    assert 'class="math' in page and "katex.min.js" in page
    assert (site / "_static" / "katex.min.js").stat().st_size > 100_000


def test_the_glossary_is_that_of_the_apps(site):
    page = _text(site / "concepts" / "glossary.html")
    plain = [" ".join(html.unescape(re.sub(r"<[^>]+>", "", one)).split()) for one in
             re.findall(r"<dt\b[^>]*>(.*?)(?:<a class=\"headerlink|</dt>)|<dd>(.*?)</dd>", page,
                        re.DOTALL) for one in one if one]
    wanted = [text for word in glossary() for text in (*word.terms, word.plain)]
    assert [text.partition(" More: ")[0] for text in plain] == wanted


def test_every_public_name_has_a_page(site):
    import workbench

    there = {p.stem for p in (site / "api" / "generated").glob("*.html")}
    assert {f"workbench.{name}" for name in generated.documented(workbench)} <= there
    for module in generated.MODULES:
        for name in generated.documented(importlib.import_module(module)):
            assert f"{module}.{name}" in there or name in workbench.__all__, f"{module}.{name}"


def test_deprecated_names_have_no_page(site):
    there = {p.stem for p in (site / "api" / "generated").glob("*.html")}
    for module in ("workbench", *generated.MODULES):
        public = importlib.import_module(module)
        for name in set(public.__all__) - set(generated.documented(public)):
            assert f"{module}.{name}" not in there


def _shown() -> dict[str, Path]:
    return {name: page.relative_to(DOCS).with_suffix(".html") for page in pages()
            for name in re.findall(r"```\{stored\} (\S+)", _text(page))}


def test_every_stored_result_is_shown_once():
    names = [name for page in pages() for name in re.findall(r"```\{stored\} (\S+)", _text(page))]
    assert sorted(names) == sorted(TABLES)
    shown = {file for name in names for file in TABLES[name].files}
    assert shown == {p.name for p in (ROOT / "data" / "results").iterdir()}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_tables_have_the_stored_numbers(site, name):
    cells = re.findall(r"<t[dh][^>]*><p>(.*?)</p></t[dh]>", _text(site / _shown()[name]), re.DOTALL)
    cells = [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in cells]
    frame = TABLES[name].make()
    wanted = [str(cell) for label, row in zip(frame.index, frame.to_numpy(), strict=True)
              for cell in (label, *row)]
    wanted = [" ".join(cell.split()) for cell in wanted]
    start = next((i for i in range(len(cells)) if cells[i:i + len(wanted)] == wanted), None)
    assert start is not None
    assert TABLES[name].command.split(",")[0] in html.unescape(
        re.sub(r"<[^>]+>", "", _text(site / _shown()[name])))


@pytest.mark.parametrize("paper", status.page.PAPERS)
def test_the_reproduction_status_says_what_the_files_say(site, paper):
    page = _text(site / "results" / "status.html")
    found = [html.unescape(re.sub(r"<[^>]+>", "", line)) for line in
             re.findall(r"<p>(.*?)</p>", page, re.DOTALL)]
    start = 0
    for row in status.page.rows(tables.results(), paper):
        lines = [" ".join(line.split()) for cell in status.cells(row) for line in cell]
        start = next((i for i in range(start, len(found)) if found[i:i + len(lines)] == lines), -1)
        assert start >= 0, row.item.where
    numbers = status.page.numbers(tables.results(), paper)
    for name, cells in zip(numbers.index, numbers.to_numpy(), strict=True):
        assert " ".join(name.split()) in found and set(cells) - {""} <= set(found), name
