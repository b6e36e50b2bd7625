"""Cells of notebooks that print stored results say so, with the command and the date of the run."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORED = sorted(path.name for path in (ROOT / "data" / "results").iterdir())
SAID = re.compile(r"\*\*Stored runs?\*\* \(\d{4}-\d\d-\d\d\): "
                  r"`(workbench run --experiment|python benchmarks/)")


def _reads(source: str) -> list[str]:
    """Names of the stored files that a code cell reads, whole or as a stem in quotes."""
    return [name for name in STORED if name in source or (
        "_" in name and "RESULTS" in source and f'"{name.split(".")[0]}"' in source)]


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_stored_results_are_announced(path):
    told, silent, found = "", [], 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            told = source
            continue
        for name in _reads(source):
            found += 1
            if not SAID.search(told) or f"data/results/{name}" not in told:
                silent.append(name)
    assert found and not silent, f"{silent}: the text above does not say that they are stored"
