"""Notebooks are short, their numbers are compared by nbval, and what they compute is live."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CHECKED, UNCHECKED = "# NBVAL_CHECK_OUTPUT", "# NBVAL_IGNORE_OUTPUT"
MOST_CELLS, MOST_LINES, FEWEST_CHECKED = 15, 200, 100


def code(path: Path) -> list[dict]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in cells
            if cell["cell_type"] == "code"]


def is_checked(cell: dict) -> bool:
    return cell["source"].splitlines()[0] == CHECKED


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_read_in_ten_minutes(path):
    cells = code(path)
    lines = [line for cell in cells for line in cell["source"].splitlines() if line.strip()]
    assert len(cells) <= MOST_CELLS and len(lines) <= MOST_LINES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_numbers_that_are_printed_are_compared(path):
    """What is not marked is named: a first cell, or one whose output depends on the machine."""
    for cell in code(path):
        marks = [line for line in cell["source"].splitlines() if "NBVAL" in line]
        assert marks in ([], [CHECKED], [UNCHECKED])
        if not is_checked(cell):
            continue
        texts = ["".join(out.get("text", "")) or "".join(out["data"].get("text/plain", ""))
                 for out in cell["outputs"]]
        assert any(re.search(r"\d|True|less than|better", text) for text in texts), cell["source"]


def test_most_cells_of_all_notebooks_are_compared():
    checked = {path.stem: sum(map(is_checked, code(path))) for path in NOTEBOOKS}
    every = {path.stem: len(code(path)) for path in NOTEBOOKS}
    assert sum(checked.values()) >= FEWEST_CHECKED
    assert all(every[name] - checked[name] <= 3 for name in checked), checked
