"""The reproduction status: no figure, table or appendix experiment without a row, no row without
its numbers or its reason."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from workbench.checks import InputError
from workbench.papers import experiments
from workbench.papers.status import page
from workbench.papers.status.items import (
    DIFFERS,
    LACKING,
    PARTLY,
    WORKS,
    Finding,
    Item,
    verdict,
)
from workbench.papers.status.published import published
from workbench.papers.status.results import Results

ROOT = Path(__file__).parents[2]
RESULTS = Results(ROOT / "data" / "results")
#: What the papers have: every figure and table by its number, and the appendices with experiments
#: or with methods.
AUDIT = {
    "law2018": [
        "Figure 1 (left)", "Figure 1 (middle)", "Figure 1 (right)", "Figure 2", "Section 4.2",
        "Appendix A", "Appendix B", "Appendix E.2", "Appendix G.1", "Appendix G.2",
        "appendix G", "Appendix H.1.1, MSE", "Appendix H.1.1, calibration",
        "Appendix H.1.1, VBAgg-Obj", "Appendix H.1.1, tests", "Appendix H.2"],
    "shikuri2025": [
        *(f"Figure {k}" for k in range(1, 5)), *(f"Table {k}" for k in range(1, 6)),
        "appendix B.1", "Appendix B.8", "appendices C.1, C.2", "appendix C.3", "Appendix C.4",
        "appendix D.1", "appendix D.2", "Theorem 5.4", "Theorem 5.5"],
    "hamelijnck2019": [
        "Figure 1", "Figure 2 (left)", "Figure 2 (right)", "Figure 3", "Figure 4", "Figure 5",
        "Table 1", "Table 2 (left)", "Table 2 (right)", "Appendix A.5", "appendices B.1, B.6",
        "Appendix B.4, scalar", "Appendix B.4, eq. (64)", "appendix B.5", "appendix C.1",
        "appendix C.2", "Appendix D.6", "Appendix E"],
    "chau2021": [
        *(f"Figure {k}" for k in range(1, 12)), "Table 1, direct", "Table 1, indirect",
        "Table 2", "Table 3", "Table 4", "Theorem 4.2", "Appendix B", "Appendix C.1",
        "appendix D", "Appendix E.1.2, E.3.4", "Appendix E.2"],
}


#: The measured cost of what was not run, and reasons that say nothing.
COST = re.compile(r"\((the \d+ runs took|[\d,]+ more runs of [\d.]+ s are) [\d.]+ (s|min|h)\b")
WEAK = re.compile(r"to be run|to come|is clear|takes? (hours|days)|costs hours|as it is\b")


@pytest.mark.parametrize("paper", AUDIT)
def test_every_figure_and_table_has_a_row(paper):
    assert set(AUDIT) == set(page.PAPERS)
    names = [row.item.where for row in page.rows(RESULTS, paper)]
    assert len(set(names)) == len(names)
    lacking = [what for what in AUDIT[paper]
               if not any(re.search(rf"\b{re.escape(what)}(?!\d)", name) for name in names)]
    assert not lacking


@pytest.mark.parametrize("paper", AUDIT)
def test_a_row_says_what_was_run_and_why_it_is_less(paper):
    for row in page.rows(RESULTS, paper):
        item = row.item
        if row.state in (PARTLY, DIFFERS):
            assert item.why or any("(" in size for size in row.sizes), item.where
        for size in item.sizes:
            ours = size.ours(RESULTS)
            assert ours > 0 and (ours >= size.paper or size.smaller), (item.where, size.unit)
            if ours < size.paper:
                told = next(one for one in row.sizes if one.startswith(f"{size.unit}:"))
                assert COST.search(told), f"{item.where}: what would the rest cost? {told}"
        said = " ".join([item.why, *row.sizes])
        assert not WEAK.search(said), (item.where, said)
        assert all(f.ours and f.says for f in row.findings), item.where
        assert bool(row.runs) == bool(item.experiment), item.where
        assert row.findings or item.why, item.where


def test_every_experiment_and_every_printed_number_stands_in_a_row():
    assert {item.experiment for item in page.ITEMS} - {""} == set(experiments())
    numbers = published(RESULTS)
    numbers = numbers[numbers["paper"].isin(page.PAPERS)]
    shown = {(item.paper, item.table) for item in page.ITEMS if item.table}
    for paper, table in numbers[["paper", "table"]].drop_duplicates().itertuples(index=False):
        assert sum(key == paper and table.startswith(start) for key, start in shown) == 1, table
    assert len(numbers) == sum(len(page.numbers(RESULTS, paper)) for paper in page.PAPERS)


def test_the_verdict_follows_from_the_findings():
    item = Item("law2018", "Figure 9", "made", "swiss-roll-bags", findings=lambda results: [])
    held = {value: Finding("a claim", "1", "2", value) for value in (True, False, None)}
    assert verdict(item, [held[True]]) == WORKS
    assert verdict(item, [held[True], held[None]]) == PARTLY
    assert verdict(item, [held[True], held[None], held[False]]) == DIFFERS
    with pytest.raises(InputError, match="says why"):
        Item("law2018", "Figure 9", "made", state=LACKING)
    with pytest.raises(InputError, match="state of a row without findings 'fine'"):
        Item("law2018", "Figure 9", "made", state="fine", why="so")
    with pytest.raises(InputError, match="needs a command"):
        Item("law2018", "Figure 9", "made", findings=lambda results: [])


def test_other_numbers_in_a_file_make_another_page(tmp_path):
    name = "swiss_roll_bags.nc"
    for path in (ROOT / "data" / "results").iterdir():
        (tmp_path / path.name).symlink_to(path)
    runs = RESULTS.dataset("swiss-roll-bags").copy(deep=True)
    (tmp_path / name).unlink()
    flat = runs["model"] == "bag-constant"
    runs["nll_stirling"] = runs["nll_stirling"] + 0.5 * flat
    runs.to_netcdf(tmp_path / name, engine="h5netcdf")
    before, after = ({row.item.where: row for row in page.rows(one, "law2018")}[
        "Figure 1 (middle)"] for one in (RESULTS, Results(tmp_path)))
    changed = [one.says for one, other in zip(before.findings, after.findings, strict=True)
               if one != other]
    assert changed == ["a constant within each bag"] and after.state == DIFFERS
    shutil.rmtree(tmp_path)


def test_counts_of_states_are_those_of_the_rows():
    table = page.summary(RESULTS)
    assert isinstance(table, pd.DataFrame) and int(table.to_numpy().sum()) == len(page.ITEMS)
