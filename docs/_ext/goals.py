"""What was to be reached in speed, beside what the stored benchmarks say; a fit on busy cores."""

from __future__ import annotations

import pandas as pd
from tables import RESULTS, digits, pick, stored

_FILES = ("peers.csv", "cmp.csv", "pixels.csv", "korea_district.csv", "averaged.csv",
          "large_map.csv")


@stored("goals", *_FILES, command="the commands of the rows")
def goals() -> pd.DataFrame:
    """One row for each goal: against whom, what was asked, what was measured, whether it is met."""
    rows = [*_peers(), *_recipes(), *_pixels(), *_korea(), *_averaged(),
            *_large()]
    frame = pd.DataFrame(rows, columns=["task", "against", "goal", "measured", "met", "command"])
    return frame.set_index("task")


def _row(task: str, against: str, goal: str, measured: str, met: bool, command: str) -> tuple:
    return task, against, goal, measured, "yes" if met else "no", command


def _peers() -> list[tuple]:
    return [_peer(one) for _, one in pd.read_csv(RESULTS / "peers.csv").iterrows()]


def _peer(one: pd.Series) -> tuple:
    """By the kind of task: what was asked of summaries, of bagging, of other libraries' maps."""
    task, ratio, command = one["task"], one["ratio"], "benchmarks/peers.py --cases"
    if task.startswith("bagging"):
        return _row(task, one["peer"], "≤ 1.2 of its time",
                    f"{1 / ratio:.2f} of its processor time", 1 / ratio <= 1.2,
                    f"{command} bagging")
    if task.startswith("GP on"):
        return _row(task, one["peer"], "≥ 5 times faster", f"{ratio:.1f} times faster", ratio >= 5,
                    f"{command} summaries")
    ours, theirs = one["found, ours"], one["found, theirs"]
    least = 1.0 if task.startswith("area-to-point") else 0.1
    return _row(task, one["peer"], "faster, lower error" if least == 1 else
                "same order of time, lower error",
                f"{ratio:,.{0 if ratio > 99 else 1}f} times as fast, error {ours:.2f} beside "
                f"{theirs:.2f}",
                ratio > least and ours < theirs, f"{command} maps")


def _recipes() -> list[tuple]:
    raw, rows = pd.read_csv(RESULTS / "cmp.csv"), []
    for kind, goal in (("exact", 63), ("variational", 70)):
        wide = raw[raw["kind"] == kind].pivot(index="seed", columns="method", values="processor")
        times, seeds = wide["published"] / wide["workbench"], len(wide)
        rows.append(_row(f"{kind} conditional mean process, seeds: {seeds}", "the published recipe",
                         f"≥ {goal} times faster, 5 seeds", f"{times.mean():.0f} times faster",
                         round(times.mean()) >= goal and seeds >= 5, "benchmarks/cmp.py"))
    return rows


def _pixels() -> list[tuple]:
    raw = pd.read_csv(RESULTS / "pixels.csv")
    largest = raw[(raw["pixels"] == raw["pixels"].max())
                  & (raw["overdispersion"] == "auto")].sort_values("compress").iloc[-1]
    told = f"{largest['pixels']:,.0f} pixels, compress={largest['compress']:.0f}"
    command = "benchmarks/pixels.py --overdispersion auto --threads 2"
    return [_row(f"{told}: fit", "–", "≤ 600 s with the default compress",
                 f"{largest['fit_seconds']:,.0f} s, {largest['threads']:.0f} threads",
                 largest["fit_seconds"] <= 600 and largest["compress"] >= 40, command),
            _row(f"{told}: 95 % intervals of pixels", "–", "cover 92 to 98 %",
                 f"{100 * largest['coverage_95']:.1f} %",
                 0.92 <= largest["coverage_95"] <= 0.98, command)]


def _korea() -> list[tuple]:
    seconds = pd.read_csv(RESULTS / "korea_district.csv").set_index("method").loc["auto", "seconds"]
    return [_row("auto, effort normal, Korea's districts", "–", "≤ 180 s", f"{seconds:.0f} s",
                 seconds <= 180, "benchmarks/korea.py")]


def _averaged() -> list[tuple]:
    raw = pd.read_csv(RESULTS / "averaged.csv")
    return [_row(f"averaged intervals, {one['case']}, {one['areas']:.0f} areas × "
                 f"{one['individuals']:,.0f}", f"our own of {one['version']} ({one['commit']})",
                 "≥ 5 times faster", f"{one['ratio']:.1f} times as fast", one["ratio"] >= 5,
                 "benchmarks/averaged.py")
            for _, one in raw[raw["version"] != "now"].iterrows()]


def _large() -> list[tuple]:
    raw = pd.read_csv(RESULTS / "large_map.csv").sort_values("pixels")
    least, most = raw["processor_per_million"].min(), raw["processor_per_million"].max()
    largest, before = raw.iloc[-1], raw.iloc[-2]
    return [_row(f"map of {largest['pixels'] / 1e6:.0f} million pixels in blocks", "–",
                 "linear cost and constant memory to 100 million",
                 f"{least:.1f} to {most:.1f} s of processor for a million, "
                 f"{largest['map_gib']:.2f} GiB ({before['map_gib']:.2f} for "
                 f"{before['pixels'] / 1e6:.0f} million)", largest["pixels"] >= 1e8
                 and most < 1.25 * least and raw["map_gib"].max() < 1.25 * raw["map_gib"].min(),
                 "benchmarks/large_map.py")]


@stored("busy", "busy.csv", command="python benchmarks/busy.py")
def busy() -> pd.DataFrame:
    """Wall time of a fit beside other processes, by how threads wait."""
    raw = pd.read_csv(RESULTS / "busy.csv")
    wide = raw.pivot(index="threads", columns="others", values="wall").loc[
        raw["threads"].drop_duplicates()]
    return pick(wide, None, {f"beside {n} busy processes, s": (n, digits(1))
                             for n in wide.columns}, "OpenMP")
