"""Table of classic data of spatial statistics, most of which no prior was made by."""

from __future__ import annotations

import pandas as pd
from tables import RESULTS, digits, percent, pick, stored


@stored("elsewhere", "elsewhere.csv", command="python benchmarks/elsewhere.py")
def elsewhere() -> pd.DataFrame:
    """CRPS by each way of mapping, and what auto's intervals cover."""
    raw = pd.read_csv(RESULTS / "elsewhere.csv")
    raw["case"] = raw["case"] + ", " + raw["areas"].astype(str) + " of " + (
        raw["places"].astype(str)) + raw["seen"].map({True: " (seen)", False: ""})
    table = raw.pivot_table(index="case", columns="model", values="crps", sort=False)
    auto = raw[raw["model"] == "auto"].set_index("case")
    table = table.join(auto[["cover 50", "cover 95"]])
    ways = ["auto", "VBAgg", "one rate", "population split", "GLM on totals", "areas' own mean"]
    return pick(table, None, {
        **{f"CRPS, {way}": (way, digits(3)) for way in ways},
        "50 % cover, auto": ("cover 50", percent), "95 %": ("cover 95", percent)}, "case, areas")
