"""How far each named form of E log η is from the truth, by regime, posterior sd and bag size.

    python benchmarks/bounds.py             # about a minute; writes data/results/bounds_gap.csv

Gaps are in nats per count: the objective of a bag with y counts is off by y times as much, so what
matters is how a gap *changes* with q. Brute force has 50,000 draws; ``error`` is its standard
error.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import typer

from workbench.papers.law2018.gaps import REGIMES, SWEEP, gaps

RESULTS = Path(__file__).parents[1] / "data" / "results"


def measure(draws: int = 50_000, seed: int = 0) -> pd.DataFrame:
    """Every bound in every regime and at every step of the sweep, one row per bag."""
    return pd.DataFrame(gaps(REGIMES | SWEEP, draws=draws, seed=seed))


def worst(table: pd.DataFrame, link: str, by: list[str]) -> pd.DataFrame:
    """Gap of largest size over bags, by bound; beside it the largest Monte Carlo error."""
    chosen = table[table["link"] == link]
    gap = chosen.pivot_table(index=by, columns="bound", values="gap", sort=False,
                             aggfunc=lambda values: max(values, key=abs))
    gap["error"] = chosen.groupby(by, sort=False)["error"].max()
    return gap.round(3)


def main(draws: int = 50_000, seed: int = 0) -> None:
    """Measure, store and print."""
    table = measure(draws, seed)
    table.round(6).to_csv(RESULTS / "bounds_gap.csv", index=False)
    for link in table["link"].unique():
        several = table[table["size"] > 1]
        print(f"\n{link}: worst gap over bags of two or more, by regime")
        print(worst(several[several["regime"].isin(REGIMES)], link, ["regime"]).to_string())
        print(f"\n{link}: by posterior sd and bag size, even weights")
        even = table[table["regime"].isin(SWEEP) & (table["weights"] < 1)]
        print(worst(even, link, ["sd", "size"]).to_string())


if __name__ == "__main__":
    typer.run(main)
