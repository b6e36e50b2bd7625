"""What experiments score, on data where the answer is known."""

import json

import numpy as np
import pytest

import workbench as wb
from workbench.papers import experiment_named, run_experiment
from workbench.papers.law2018.held_out import _PARTS, pixel_scores, split
from workbench.papers.tools.scores import individual_scores

COUNTRY = dict(pixels=600, districts=40, regions=8, provinces=3, smallest=5, largest=60)


class Known:
    """A fit whose map is the truth times a factor."""

    def __init__(self, factor):
        self.factor = factor

    def at(self, ds):
        fit = wb.Constant().fit(ds)
        law = fit.at(ds)

        class Law:
            mean = ds["truth"] * self.factor
            variance = law.variance * 0

            def interval(self, level):
                return self.mean, self.mean

        return Law()


@pytest.fixture(scope="module")
def country():
    return wb.load("simulated-country", covariates=18, **COUNTRY)


def test_parts_share_out_the_areas_six_one_one_two(country):
    parts = split(country, seed=3)
    names = [str(b) for part in parts.values() for b in part["bag"].values]
    assert sorted(names) == sorted(map(str, country["bag"].values))
    assert {n: p.sizes["bag"] for n, p in parts.items()} == {
        n: 4 * len(of) for n, of in _PARTS.items()}
    rate = country["value"].values / np.bincount(country["membership"], country["weight"])
    quarter = dict(zip(country["bag"].values, rate.argsort().argsort() // 10, strict=True))
    for name, of in _PARTS.items():         # as many of the lowest rates as of the highest
        counts = np.bincount([quarter[b] for b in parts[name]["bag"].values], minlength=4)
        assert (counts == len(of)).all(), name


def test_the_true_map_has_all_pixels_and_rivers_right(country):
    row = pixel_scores(Known(1.0), country)
    assert row["pixel_correlation"] == pytest.approx(1) and row["pixel_log_mse"] < 1e-20
    assert row["river_contrast"] == pytest.approx(row["river_contrast_true"])
    twice = pixel_scores(Known(2.0), country)
    assert twice["pixel_log_mse"] == pytest.approx(np.log(2) ** 2)
    assert twice["river_contrast"] == pytest.approx(row["river_contrast_true"])


def test_only_counts_have_a_poisson_likelihood():
    shape = dict(n_bags=5, mean_size=20, size_std=6)
    for likelihood, counted in (("poisson", True), ("normal", False)):
        ds = wb.load("swiss-roll", likelihood=likelihood, **shape)
        assert ("nll" in individual_scores(wb.Constant().fit(ds), ds)) == counted


def test_normal_bags_in_small():
    experiment = experiment_named("normal-bags")
    runs = run_experiment(experiment, "quick")
    assert not [e for e in runs["error"].values if e]
    table = experiment.table(runs).loc["swiss-roll"]
    assert table.loc["vbagg-normal", "mse"] < 0.2 * table.loc["bag-constant", "mse"]
    assert table.loc["vbagg-normal", "r2"] > 0.8
    assert table.loc["bag-constant", "r2"] == pytest.approx(0)


def test_held_out_areas_in_small():
    experiment = experiment_named("country-malaria")
    settings = [s | {"data": json.dumps(COUNTRY)} for s in experiment.runs("quick")]
    rows = {s["model"]: experiment.score(s) for s in settings}
    assert rows["vbagg-exp-moment"]["test_nll"] < rows["constant"]["test_nll"]
    assert rows["vbagg-exp-moment"]["pixel_correlation"] > 0.5
    assert rows["constant"]["pixel_correlation"] == 0
