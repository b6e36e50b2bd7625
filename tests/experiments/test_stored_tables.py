"""Stored tables have the columns that their scripts write, under names that say what they hold."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.reference import country
from workbench.evaluation import correlation, pin_to_totals, rmse

ROOT = Path(__file__).parents[2]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_random_features_table_is_the_one_that_the_script_writes():
    stored = pd.read_csv(ROOT / "data" / "results" / "random_features.csv")
    module = script("random_features")
    assert list(stored.columns) == module.COLUMNS
    assert tuple(stored["features"]) == module.FEATURES
    assert (stored["zero_sds"] == 0).all() and stored["sd_ratio"].between(0.9, 1.1).all()


@pytest.mark.parametrize("level", ["district", "province"])
def test_korea_tables_say_which_scores_are_of_pinned_maps(level):
    ds, module = country(bags=6, size=5), script("korea")
    y = ds["individual_value"].values
    expected = ds["weight"].values * np.linspace(0.1, 0.9, y.size)
    draws = np.random.default_rng(0).poisson(expected, (20, y.size))
    got = module.scores(ds, expected, draws)
    pinned = pin_to_totals(ds, expected).values
    assert got["RMSE pinned"] == pytest.approx(rmse(y, pinned))
    assert got["RMSE pinned"] != pytest.approx(rmse(y, expected))
    assert got["correlation pinned"] == pytest.approx(correlation(y, pinned))
    stored = pd.read_csv(ROOT / "data" / "results" / f"korea_{level}.csv", index_col="method")
    assert list(stored.columns) == [*got, "seconds", "objective"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "| RMSE pinned | correlation pinned |" in text
