"""What the page on large rasters says of learning, held against the stored table."""

from pathlib import Path

import pandas as pd

REPOSITORY = Path(__file__).parents[2]


def test_learning_in_parts_takes_less_memory_and_finds_as_much():
    raw = pd.read_csv(REPOSITORY / "data" / "results" / "large_fit.csv").set_index("way")
    parts, whole = raw.loc["in parts"], raw.loc["whole"]
    assert raw["converged"].sum() == len(raw) - 1 == 3      # "one of four has not"
    assert parts["pixels"].max() > 1e7 and (parts["individuals"] == 10 * parts["areas"]).all()
    same = parts[parts["pixels"] == whole["pixels"]].squeeze()
    assert same["log_rate_rmse"] < 1.1 * whole["log_rate_rmse"]
    assert same["fit_gib"] < whole["fit_gib"] / 4
    bagging = parts["bag_seconds"] / parts["pixels"]
    assert bagging.max() < 2 * bagging.min()                # "time is linear in pixels"
    clusters = parts["fit_processor"] / parts["evaluations"] / parts["individuals"]
    assert clusters.max() < 2 * clusters.min()              # "and in clusters"
