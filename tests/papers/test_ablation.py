"""The two studies of conditional and deconditional mean operators, in their quick presets."""

import numpy as np
import pytest

from workbench.papers import experiment_named, frame, run_experiment
from workbench.papers.chau2021.ablation import RIDGES, SHAPES, SPREADS, median_distance, sample
from workbench.papers.chau2021.rates import sizes, slope
from workbench.papers.chau2021.theory import schedule


@pytest.fixture(scope="module")
def ablation():
    return run_experiment(experiment_named("cmo-ablation"))


@pytest.fixture(scope="module")
def rates():
    return run_experiment(experiment_named("dmo-rates"))


def test_with_bags_of_one_size_shrinkage_is_the_standard_operator(ablation):
    runs = frame(ablation)
    assert len(runs) == ablation.sizes["run"] == 4 * len(RIDGES)
    assert runs["rmse_naive"].max() < 1e-10             # the identity, at every ridge
    by_ridge = runs.pivot(index=["bags", "points"], columns="ridge", values="rmse")
    assert by_ridge["scaled"].max() < 1e-10
    assert by_ridge.drop(columns="scaled").min(axis=None) > 1e-3
    table = experiment_named("cmo-ablation").table(ablation)
    assert (table["naive / identity"] > 0).all() and len(table) == len(runs)


def test_the_paper_preset_has_the_papers_shapes():
    runs = experiment_named("cmo-ablation").runs("paper")
    assert {(r["bags"], r["points"]) for r in runs} == set(SHAPES)
    large = [r for r in runs if r["bags"] * r["points"] == 25_000]
    assert sum(r["naive"] for r in large) == 2          # the matrix of 25,000² is solved twice only
    assert all(r["naive"] for r in runs if r not in large)


def test_the_sample_is_the_papers():
    y, x = sample(4000, 5, "variance", 0)
    assert y.std() == pytest.approx(np.sqrt(2), rel=0.05)
    noise = x - (y * np.sin(y))[:, None]
    assert noise.std() == pytest.approx(0.5, rel=0.02)
    assert sample(4000, 1, "sd", 0)[0].std() == pytest.approx(SPREADS["sd"], rel=0.05)
    assert median_distance(np.array([0.0, 1.0, 3.0])) == 2
    assert median_distance(np.arange(5000.0)) == pytest.approx(5000 * (1 - np.sqrt(0.5)), rel=0.01)


def test_errors_fall_as_promised_or_faster(rates):
    runs = frame(rates)
    assert len(runs) == rates.sizes["run"] == 16
    table = experiment_named("dmo-rates").table(rates)
    assert (table["slope"] < table["theorem"] + 4 * table["slope_error"]).all()
    assert table.loc[(np.inf, 2.0, 3.0, 1.5), "theorem"] == -1
    excess = [c for c in runs.columns if c.startswith("excess_")]
    assert (runs[excess].min() > 0).all()


def test_sizes_and_slopes_of_the_study():
    plan = schedule(1.0, np.inf, 2.0)
    assert sizes(plan.points) == [2**k for k in range(6, 21)]
    assert sizes(schedule(2.0, np.inf, 2.0).points) == [64, 128, 256, 512, 1024]
    assert plan.at(1024) == (1024**3, pytest.approx(1 / 1024), pytest.approx(1024 ** (-1 / 3)))
    m = sizes(3.0)
    assert slope(m, [7 * v**-0.6 for v in m]) == pytest.approx(-0.6)
    assert len(experiment_named("dmo-rates").runs("paper")) == 2 * 5 * 3 * 20
