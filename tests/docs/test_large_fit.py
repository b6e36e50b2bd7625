"""What the page on large rasters says of learning, held against the stored table."""

from pathlib import Path

import measured
import pandas as pd
import pytest

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
    assert clusters.max() < 2 * clusters.min()              # "and in clusters a little more"


def test_projections_begin_at_what_was_measured_and_say_their_exponents():
    raw = pd.read_csv(REPOSITORY / "data" / "results" / "large_fit.csv").set_index("way")
    largest, found = raw.loc["in parts"].iloc[-1], measured.large_projection()
    near, billion = found.iloc[0], found.iloc[2]
    bagging, learning, memory = found.columns
    assert float(near[bagging]) == pytest.approx(largest["bag_processor"] / 3600, abs=0.006)
    per_step = largest["fit_processor"] / largest["evaluations"]
    most = raw.loc["in parts", "evaluations"].max()
    assert float(near[learning]) == pytest.approx(per_step * most / 3600, rel=0.15, abs=0.01)
    assert float(near[memory]) == pytest.approx(largest["fit_gib"], abs=0.15)
    assert float(billion[bagging]) > 50 * float(near[bagging])          # a hundred times the pixels
    assert billion[learning] == near[learning]                          # as many clusters
    assert 1 < float(learning.partition("power ")[2].rstrip(")")) < 1.3     # "a little more"
    per_gib = 900_000 / (float(found.iloc[3][memory]) - float(near[memory]))
    assert round(per_gib, -4) == 80_000                                 # "each 80,000 clusters"
