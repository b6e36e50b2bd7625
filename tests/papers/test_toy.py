"""The toy of Shikuri 2025: its identities, its shape, and the same answers as the model's."""

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.granularity import nearest
from workbench.papers import experiment_named, frame, run_experiment
from workbench.papers.shikuri2025.toy import errors, toy


@pytest.fixture(scope="module")
def results():
    return run_experiment(experiment_named("granularity-toy"))


def test_bounds_and_errors_of_the_quick_preset(results):
    runs = frame(results)
    assert len(runs) == results.sizes["run"] == 18
    # The log-likelihood is quadratic in u: Theorem 5.4 holds without a remainder.
    assert runs["identity"].max() < 1e-9
    assert (runs["certificate"] <= runs["eta"] * (1 + 1e-12)).all()
    both = runs.dropna()
    assert (both["areas"] == 2).all() and len(both) == 6
    assert (both["kappa"] <= both["kappa_search"] * (1 + 1e-9)).all()
    # A symmetric start, two centroids, an antisymmetric minimiser: the search cannot get there.
    assert (both["kappa_search"] > 100 * both["kappa"])[both["lengthscale"] == 10].all()
    assert (runs["gap_min"] <= runs["gap"]).all() and (runs["gap"] <= runs["gap_max"]).all()
    assert (runs["rmse_min"] <= runs["rmse"]).all() and (runs["rmse"] <= runs["rmse_max"]).all()
    by_areas = runs.pivot(index="areas", columns=["kernel", "lengthscale"])
    assert (by_areas[["rms", "direct", "rmse"]].diff().iloc[1:] < 0).all(axis=None)
    assert len(experiment_named("granularity-toy").table(results)) == 6


@pytest.mark.parametrize("kernel", ["matern12", "rbf"])
def test_shortcuts_are_the_models(kernel):
    n, areas, lengthscale = 100, 7, 0.8
    x, y, new = toy(n, 3)
    found = errors(kernel, lengthscale, areas, n, 3)
    z = np.linspace(0, 2 * np.pi, areas)
    groups = pd.DataFrame({"y": y[:, 2], "area": nearest(x, z)}).groupby("area")["y"]
    table = pd.DataFrame({"place": z, "mean": groups.mean(), "count": groups.size(),
                          "variance": groups.var(ddof=0)})
    summary = wb.from_summaries(table, "mean", "count", covariates=["place"])
    exact = wb.from_summaries(table, "mean", "count", covariates=["place"], variance="variance")
    single = wb.from_summaries(pd.DataFrame({"place": x, "y": y[:, 2], "one": 1}), "y", "one",
                               covariates=["place"])
    places = wb.from_summaries(pd.DataFrame({"place": new[2], "y": 0.0, "one": 1}), "y", "one",
                               covariates=["place"])
    given = {"mean": 0.0, f"{kernel}.lengthscale": lengthscale, f"{kernel}.variance": 1.0,
             "noise.variance": 1.0}

    def fit(ds):
        return wb.QuasiLikelihoodGP(kernel=kernel, likelihood="normal", nugget=0.0
                                    ).condition(ds, given)

    assert fit(summary).objective == pytest.approx(found["quasi"][2], rel=1e-9)
    assert fit(exact).objective == pytest.approx(found["summaries"][2], rel=1e-9)
    assert fit(single).objective == pytest.approx(found["complete"][2], rel=1e-9)
    for ds, name in ((summary, "summaries_mean"), (single, "complete_mean")):
        mean = fit(ds).at(places).mean.values
        np.testing.assert_allclose(mean, found[name][2], atol=1e-8)
