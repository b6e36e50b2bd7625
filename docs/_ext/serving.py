"""Tables of what the server of the apps takes: memory, and answers under load."""

from __future__ import annotations

import pandas as pd
from tables import RESULTS, digits, pick, stored


@stored("server-memory", "server_memory.csv", command="python benchmarks/memory.py")
def server_memory() -> pd.DataFrame:
    """Memory of the server after its start, a first page of each app, and further sessions."""
    raw = pd.read_csv(RESULTS / "server_memory.csv", index_col="after")
    pages = {"libraries": "importing the packages alone", "started": "its start",
             "10 sessions": "ten further sessions, all over", "forgotten": "forgetting them",
             "the most": "the most at any time"}
    rows = {pages.get(name, f"a first page of {name}"): name for name in raw.index}
    return pick(raw, rows, {"MB": ("mb", lambda v: f"{v:,.0f}")}, "after")


@stored("live-lengthscale", "live_lengthscale.csv",
        command="python benchmarks/live_lengthscale.py [--own] [--browser]")
def live_lengthscale() -> pd.DataFrame:
    """From moving the slider to the map: on the server, and as a user of Chromium has it."""
    raw = pd.read_csv(RESULTS / "live_lengthscale.csv")
    raw.index = [f"{where}; {data}" for where, data in zip(raw["where"], raw["data"], strict=True)]
    return pick(raw, None, {
        "moves": ("moves", digits(0)), "median, ms": ("median_ms", digits(0)),
        "90 % below": ("p90_ms", digits(0)), "95 % below": ("p95_ms", digits(0)),
        "largest": ("largest_ms", digits(0))}, "where; data")


@stored("load", "load.csv", command="python benchmarks/load.py")
def load() -> pd.DataFrame:
    """Fifty sessions of each app: opening, a slider of all of them, memory."""
    raw = pd.read_csv(RESULTS / "load.csv", index_col="app")
    raw.index = [f"{app}, {count} sessions" for app, count in raw["sessions"].items()]
    milliseconds = lambda v: "" if pd.isna(v) else f"{1000 * v:,.0f}"  # noqa: E731
    return pick(raw, None, {
        "all open after, s": ("open_p95", digits(0)),
        "slider's map, ms: median": ("shown_median", milliseconds),
        "95 % below": ("shown_p95", milliseconds),
        "beside four fits": ("beside_fits_shown_median", milliseconds),
        "95 % beside them below": ("beside_fits_shown_p95", milliseconds),
        "sessions mixed up": ("mixed_up", digits(0)),
        "MiB with one": ("first_mib", digits(0)), "with all": ("all_mib", digits(0)),
        "after all left": ("after_mib", digits(0)), "a session": ("mib_a_session", digits(0))},
        "app")
