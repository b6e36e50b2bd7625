"""Print the stored benchmark results as the Markdown tables of the README."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).parents[1] / "data" / "results"


def markdown(table: pd.DataFrame) -> str:
    """A table of strings as Markdown, its index as the first column."""
    head = [table.index.name or "", *map(str, table.columns)]
    rows = [[str(name), *map(str, table.loc[name])] for name in table.index]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def korea(level: str) -> pd.DataFrame:
    """One level of the Korea benchmark, rounded."""
    raw = pd.read_csv(RESULTS / f"korea_{level}.csv", index_col="method")
    out = pd.DataFrame(index=raw.index)
    for column, digits in {"deviance raw": 2, "deviance pinned": 2, "RMSE pinned": 1,
                           "correlation pinned": 3, "CRPS": 2}.items():
        out[column] = raw[column].map(f"{{:.{digits}f}}".format)
    for level_name in ("50%", "80%", "95%"):
        out[f"cover {level_name}"] = (100 * raw[f"cover {level_name}"]).map("{:.1f}".format)
    return out


def cases() -> pd.DataFrame:
    """Plain methods on the real cases with known fine truth, rounded."""
    raw = pd.read_csv(RESULTS / "cases.csv", index_col=["case", "method"])
    out = pd.DataFrame(index=raw.index.map(": ".join).rename("case: method"))
    for column in ("deviance pinned", "RMSE pinned", "CRPS"):
        out[column] = raw[column].map("{:.3g}".format).values
    for level in ("50%", "80%", "95%"):
        out[f"cover {level}"] = (100 * raw[f"cover {level}"]).map("{:.1f}".format).values
    return out


def main() -> None:
    """Print every stored table."""
    for level in ("district", "province"):
        print(f"\n### Korea, {level}\n\n{markdown(korea(level))}")
    print(f"\n### Real cases with known fine truth\n\n{markdown(cases())}")
    slopes = pd.read_csv(RESULTS / "madagascar_slopes.csv", index_col="parameter", dtype=str)
    print(f"\n### Madagascar, slopes\n\n{markdown(slopes)}")
    scores = pd.read_csv(RESULTS / "madagascar_scores.csv", index_col=0)
    print(f"\n### Madagascar, held-out districts\n\n{markdown(scores)}")


if __name__ == "__main__":
    main()
