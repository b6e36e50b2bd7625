"""Choosing options on a grid, and the scores it is done by."""

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.checks import Cancelled, InputError
from workbench.evaluation import poisson_nll
from workbench.gp.models.baselines.models import NeuralNetwork, Nystrom
from workbench.gp.models.baselines.scores import bag_nll
from workbench.gp.models.baselines.tuning import expand, tune
from workbench.gp.models.vbagg.model import VBAgg

NETWORK = dict(hidden=6, max_steps=200, tolerance=1e-3)
FIXED = {"mean": 2.5, "matern32.variance": 0.3, "matern32.lengthscale": 40.0}


@pytest.fixture(scope="module")
def sources():
    return [made.counts(made.bags((4, 3, 6, 2, 5, 4), seed=s), seed=s + 1, scale=2.0)
            for s in (0, 5, 9)]


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("model", [
    VBAgg(hyperparameters=FIXED, inducing=8, overdispersion="none", nugget=0.0),
    NeuralNetwork(**NETWORK)])
def test_plugged_in_likelihood_in_both_conventions(model, sources):
    fit = model.fit(sources[0])
    y, mean = sources[1].targets.value, fit.over(sources[1].bags).mean
    found = bag_nll(fit, sources[1])
    assert found.exact == pytest.approx(poisson_nll(y, mean))
    assert found.stirling == pytest.approx(poisson_nll(y, mean, "stirling"))


@pytest.mark.parametrize("options, extra", [
    (dict(overdispersion="area"), {"area.std": 0.3}), (dict(nugget=0.4), {"nugget.std": 0.4}),
    (dict(likelihood="negative-binomial"), {"dispersion": 5.0})])
def test_overdispersed_models_are_scored_by_their_predictive_density(options, extra, sources):
    fit = VBAgg(inducing=8, hyperparameters=FIXED | extra, **options).fit(sources[0])
    rows = fit.log_density(sources[1].targets.value, sources[1].bags, None, "bag", 1000, 0)
    expected = -rows.exp().mean(0).log().mean()
    assert bag_nll(fit, sources[1]).exact == pytest.approx(float(expected))


def test_known_noise_comes_with_the_bags_that_are_scored():
    train, other = (made.continuous(made.bags((4, 3, 6, 2), seed=s), known=[v] * 4)
                    for s, v in ((0, 0.1), (3, 0.4)))
    fit = Nystrom(link="identity", noise="known", inducing=6, tolerance=1e-3).fit(train)
    gap = other.targets.value - fit.over(other.bags).mean
    expected = (gap.square() / 0.8 + 0.5 * np.log(2 * np.pi * 0.4)).mean()
    assert bag_nll(fit, other).exact == pytest.approx(float(expected))


def test_a_grid_is_a_product_or_a_list():
    assert expand({"a": (1, 2), "b": (3,)}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert expand([{"a": 1}, {"b": 2}]) == [{"a": 1}, {"b": 2}]
    with pytest.raises(InputError, match="a sequence of values of link, got 'exp'"):
        expand({"link": "exp"})
    with pytest.raises(InputError, match="a sequence of values of hidden, got 3"):
        expand({"hidden": 3})
    with pytest.raises(InputError, match="holds no run"):
        expand({"hidden": ()})


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("select", ["validation", "objective"])
def test_the_best_run_is_kept(select, sources):
    train, validation, _ = sources
    tuned = tune(NeuralNetwork, {"seed": (0, 1, 2)}, train, validation, select=select,
                 common=NETWORK)
    rows = tuned.runs
    assert [row["seed"] for row in rows] == [0, 1, 2]
    score = [row["bag_nll"] if select == "validation" else -row["objective"] for row in rows]
    best = int(np.argmin(score))
    assert [row["chosen"] for row in rows] == [k == best for k in range(3)]
    assert tuned.options == NETWORK | {"seed": best}
    assert tuned.fit.model.options.seed == best
    assert bag_nll(tuned.fit, validation).exact == rows[best]["bag_nll"]
    assert tuned.fit.objective == rows[best]["objective"]
    assert all(row["error"] == "" and row["steps"] > 0 and row["seconds"] > 0 for row in rows)
    offset = {round(row["bag_nll"] - row["bag_nll_stirling"], 9) for row in rows}
    assert len(offset) == 1


def test_vbagg_is_tuned_the_same_way(sources):
    train, validation, early_stop = sources
    grid = {"inducing": (4, 8), "seed": (0,)}
    tuned = tune(VBAgg, grid, train, select="objective", common={"hyperparameters": FIXED})
    assert np.isnan([row["bag_nll"] for row in tuned.runs]).all()
    assert tuned.options["inducing"] == 8       # more landmarks, a higher bound
    with pytest.raises(InputError, match="vbagg does not stop early"):
        tune(VBAgg, grid, train, validation, early_stop)
    with pytest.raises(InputError, match="needs validation bags"):
        tune(VBAgg, grid, train)
    with pytest.raises(InputError, match="did you mean 'inducing'"):
        tune(VBAgg, {"inducin": (1,)}, train, validation)
    with pytest.raises(InputError, match="did you mean 'validation'"):
        tune(VBAgg, grid, train, validation, select="validatio")


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_early_stopping_reaches_the_runs(sources):
    tuned = tune(NeuralNetwork, [{"max_steps": 12}], *sources, common=NETWORK)
    assert len(tuned.fit.history.early_stop) == 12 - 4 + 1


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_a_run_that_fails_is_a_row_and_not_the_end(sources):
    train, validation, _ = sources
    tuned = tune(NeuralNetwork, [{"hyperparameters": {"mean": 800.0}}, {}], train, validation,
                 common=NETWORK)
    assert "cannot start" in tuned.runs[0]["error"] and tuned.runs[1]["chosen"]
    with pytest.raises(InputError, match="none of the 1 runs of neural-network.*cannot start"):
        tune(NeuralNetwork, [{"hyperparameters": {"mean": 800.0}}], train, validation,
             common=NETWORK)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_a_cancelled_grid_answers_with_what_is_finished(sources):
    train, validation, _ = sources
    seen = []

    def stop(step, objective, fraction):
        seen.append(fraction)
        if fraction > 0.5 and step > 1:
            raise Cancelled

    grid = {"seed": (0, 1, 2, 3)}
    tuned = tune(NeuralNetwork, grid, train, validation, common=NETWORK, callback=stop)
    assert seen == sorted(seen) and len(tuned.runs) == 3
    assert tuned.runs[-1]["cancelled"] and not tuned.runs[-1]["chosen"]
    assert torch.isfinite(tuned.fit.at(train.bags).mean).all()
