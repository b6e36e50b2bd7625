"""Shikuri's experiments in small: readings agree where they must, tables hold the paper's cells."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import workbench as wb
from tests.datasets.packaged import REAL, needs_files
from workbench.papers.shikuri2025 import california, california_prediction, statistics
from workbench.papers.shikuri2025.readings import READINGS, fit_reading
from workbench.papers.tools.running import run_experiment

with_file = needs_files("California housing", "california")


@pytest.fixture(scope="module")
def points():
    """Complete data: every observation an area of its own."""
    summary, bagged = statistics.made("normal, mean", 150, 5, 0)
    return wb.as_singleton_bags(bagged), summary


@pytest.mark.parametrize("reading", READINGS)
def test_readings_of_one_model(points, reading):
    complete_data, summary = points
    complete = fit_reading(reading, "rbf", complete_data)
    usual = fit_reading("logarithms", "rbf", complete_data)
    # Of single observations at different places white noise is the likelihood's own.
    assert complete.objective == pytest.approx(usual.objective, abs=0.05)
    fit = fit_reading(reading, "rbf", summary, complete)
    away = fit.latent(bagged_places()).mean.values - complete.latent(bagged_places()).mean.values
    if reading == "flat":
        assert np.ptp(fit.latent(bagged_places()).mean.values) < 1e-6
    else:
        assert np.sqrt(np.mean(away**2)) < 0.5
    assert ("nugget.std" in fit.hyperparameters) == (
        reading in ("logarithms", "natural", "same place"))
    if reading == "shared":
        for name in ("rbf.lengthscale", "noise.variance"):
            assert fit.hyperparameters[name]["value"] == pytest.approx(
                complete.hyperparameters[name]["value"])


def bagged_places() -> xr.Dataset:
    return statistics.made("normal, mean", 60, 3, 1)[1]


def test_made_observations_have_their_truths_statistics():
    for case, (statistic, _) in statistics.CASES.items():
        summary, bagged = statistics.made(case, 4000, 4, 2)
        assert summary["value"].attrs["statistic"] == statistic
        f = bagged["truth"].values
        assert 0.5 < f.std() < 1.6          # a unit process over a few lengthscales
        mean = {"p": np.exp(f), "b": norm.cdf(f)}.get(case[0], f)
        error = bagged["individual_value"].values - mean
        assert abs(error.mean()) < 4 * error.std() / np.sqrt(4000)


@pytest.mark.slow
def test_many_observations_help_and_few_break_the_assumption():
    """Counts in cells of two: modes at zero, bias; in cells of a hundred neither."""
    runs = {}
    for per_cell in (2, 100):
        runs[per_cell] = statistics.STATISTICS.score(
            {"case": "poisson, mean", "per_cell": per_cell, "cells": 8, "boundary": "half",
             "seed": 0})
    assert runs[2]["at_boundary"] > 0.1 > runs[100]["at_boundary"]
    assert runs[2]["rmse"] > 2 * runs[100]["rmse"]
    assert runs[2]["bias"] > 0.15 > abs(runs[100]["bias"])


@with_file
def test_california_in_small(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_DATA", str(REAL))
    found = run_experiment(california.APPROXIMATION, "quick", out=tmp_path / "c.nc",
                           only={"seed": "0"})
    assert float(found["rmse_0.05"][0]) < float(found["rmse_1.6"][0])
    assert len(california.APPROXIMATION.table(found)) == 2      # ours and the paper's


@pytest.mark.filterwarnings("ignore::workbench.checks.DataWarning")     # reduced counts
@with_file
def test_predictions_in_small(monkeypatch):
    monkeypatch.setenv("WORKBENCH_DATA", str(REAL))
    rows = {s["model"]: california_prediction.PREDICTION.score(s)
            for s in california_prediction.PREDICTION.runs("quick") if s["likelihood"] == "poisson"}
    assert all(0.8 < row["rmse"] < 1.05 for row in rows.values())


def test_the_papers_tables_are_whole():
    assert len(california.PAPER) * len(california.GRIDS) == 84
    assert len(california_prediction.PAPER) == 28
    assert california.PAPER["MedValue", "Gaussian"][0] == 0.85
