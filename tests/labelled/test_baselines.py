"""The baselines and their tuning through the bridge: datasets in, labels out."""

import numpy as np
import pytest

import workbench as wb
from tests.reference import answers, country
from workbench.labelled import BagConstant, NeuralNetwork, Nystrom, models
from workbench.labelled.tuning import tune

# New bags are predicted here; that bag-constant warns of them has a test of its own.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*bag-constant knows nothing of them:workbench.checks.ExtrapolationWarning")

OPTIONS = {
    "bag-constant": {}, "bag-pixel": {"intercept": "learn", "hidden": 8, "weight_penalty": 0.1},
    "neural-network": {"intercept": "learn", "hidden": 8}, "nystrom": {"inducing": 10},
}


@pytest.fixture(scope="module")
def ds():
    return country(bags=20, size=4)


@pytest.fixture(scope="module")
def other():
    return country(bags=12, size=4, seed=3)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("name", OPTIONS)
def test_every_baseline_through_the_bridge(name, ds, other):
    assert name in models()
    model = wb.make_model(name, tolerance=1e-3, **OPTIONS[name])
    fit = model.fit(ds)
    out = answers(fit, ds)
    assert not out["std"].any() and not out["bag_std"].any()
    assert set(np.unique(out["exceedance"])) <= {0.0, 1.0}
    assert fit.simulate(other, samples=4).shape == (4, 12)
    assert fit.summary().startswith(f"<Fit of {model!r} to ")
    again = wb.make_model(name, **OPTIONS[name]).condition(ds, fit.hyperparameters)
    np.testing.assert_allclose(again.at(other).mean, fit.at(other).mean)
    result = wb.evaluate(fit, ds, samples=50)
    assert {name, "constant"} <= set(result["model"].values)
    assert np.isfinite(result["scores"].sel(model=name, target="bag", score="crps"))


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")      # few epochs
def test_early_stopping_takes_a_dataset(ds, other):
    model = NeuralNetwork(hidden=6, max_steps=30)
    fit = model.fit(ds, early_stop=other)
    assert fit.inner.history.early_stop and fit.model == model
    with pytest.raises(TypeError, match="early_stop"):
        BagConstant().fit(ds, early_stop=other)
    with pytest.raises(TypeError, match="early_stop"):
        wb.VBAgg().fit(ds, early_stop=other)


def test_bag_constant_knows_its_bags_by_name_and_value(ds):
    fit = BagConstant().fit(ds)
    few = wb.subset(ds, np.arange(20) < 5)
    rate = (ds["value"].values / np.bincount(ds["membership"], ds["weight"]))[:5]
    np.testing.assert_allclose(fit.at(few).mean, rate[few["membership"].values])
    renamed = few.assign_coords(bag=[f"other{k}" for k in range(5)])
    np.testing.assert_allclose(fit.at(renamed).mean, fit.hyperparameters["mean"]["value"])


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_tuning_with_datasets(ds, other):
    fit, runs = tune(Nystrom, {"manifold_penalty": (0.0, 10.0)}, ds, other,
                     common={"inducing": 8, "tolerance": 1e-3})
    assert runs["chosen"].sum() == 1 and len(runs) == 2
    chosen = runs.loc[runs["chosen"], "manifold_penalty"].item()
    assert chosen == runs.loc[runs["bag_nll"].idxmin(), "manifold_penalty"]
    assert fit.model.options.manifold_penalty == chosen
    assert fit.at(other).mean.dims == ("individual",)
    usual = Nystrom().options.manifold_penalty              # defaults are not written
    assert (f"manifold_penalty={chosen}" in repr(fit.model)) == (chosen != usual)
