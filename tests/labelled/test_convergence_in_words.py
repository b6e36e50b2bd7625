"""What a fit that went wrong says: the likely cause, and what to try, which then helps."""

import warnings

import numpy as np
import pytest

import workbench as wb
from workbench.checks import ConvergenceWarning, FitWarning
from workbench.gp.numerics.linalg import JitterWarning, cholesky
from workbench.gp.optimisation.convergence import left_over, ran_out, steepest
from workbench.gp.optimisation.hyperparameters import HyperparameterSet, scalar_hyperparameter

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")


@pytest.fixture(scope="module")
def ds():
    return wb.load("swiss-roll", n_bags=30, mean_size=10, size_std=4, seed=0)


@pytest.mark.slow
def test_a_search_that_ran_out_names_the_hyperparameter_and_more_steps_help(ds):
    with pytest.warns(ConvergenceWarning, match="raise max_steps") as caught:
        fit = wb.VBAgg(kernel="rbf", inducing=20, max_steps=4).fit(ds)
    told = next(str(w.message) for w in caught if w.category is ConvergenceWarning)
    named = [name for name in fit.hyperparameters if f"steepest along {name}" in told]
    assert len(named) == 1 and f"fix {named[0]} or give it a prior" in told
    assert "Likely" in told and told in fit.notes
    assert wb.VBAgg(kernel="rbf", inducing=20).fit(ds).converged


@pytest.mark.slow
def test_totals_that_vary_more_than_a_poisson_count_name_the_effects_and_these_help(ds):
    noisy = ds["value"].values * np.random.default_rng(0).lognormal(0, 1.5, 30) * 300
    ds = ds.assign(value=("bag", noisy.round(), ds["value"].attrs))
    with pytest.warns(FitWarning, match="vary more than it says. Use overdispersion='area'"):
        wb.VBAgg(kernel="linear", overdispersion="none", nugget=0.0).fit(ds)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        wb.VBAgg(kernel="linear", overdispersion="area", nugget="learn").fit(ds)


def test_rows_that_are_alike_name_places_lengthscale_and_inducing_inputs():
    import torch

    near = torch.tensor([[1.0, 1.0 + 3e-5], [1.0 + 3e-5, 1.0]], dtype=torch.float64)
    with pytest.warns(JitterWarning, match="inputs lie at one place.*use fewer inducing inputs"):
        cholesky(near, "test matrix")


def test_steepest_is_the_name_of_the_largest_entry():
    import torch

    like = torch.zeros(1, dtype=torch.float64)
    items = HyperparameterSet([scalar_hyperparameter("a.lengthscale", 1.0, "", None, like),
                               scalar_hyperparameter("b.variance", 1.0, "", None, like)])
    assert steepest(items, np.array([1.0, -3.0])) == "b.variance"
    assert steepest(items, None) == "" == steepest(items, np.array([np.nan, 1.0]))


@pytest.mark.parametrize("told", [
    ran_out(5, 1, "limit", "a.lengthscale"), ran_out(5, 2, "ABNORMAL", ""),
    left_over(5, 0.3, "a.lengthscale"), left_over(5, 0.3, "")])
def test_every_sentence_on_convergence_has_a_cause_and_a_remedy(told):
    assert told.startswith("not converged after 5 evaluations") and "Likely" in told
    assert "fix" in told and "raise max_steps" in told


@pytest.mark.slow
def test_jitter_of_a_fit_is_in_its_summary_and_on_the_page_of_the_app(ds, monkeypatch):
    from workbench.ui.disaggregate.views.report import said

    model = wb.VBAgg(kernel="rbf", inducing=20)
    values = model.starting_values(ds)
    assert "needed jitter" not in model.condition(ds, values).summary()
    monkeypatch.setattr("workbench.gp.numerics.linalg.TOLD", 1e-9)
    with pytest.warns(JitterWarning):
        fit = model.condition(ds, values)
    assert "note: the inducing covariance of rbf needed jitter" in fit.summary()
    assert "use fewer inducing inputs" in said(fit.summary())
    assert any("needed jitter" in note for note in fit.notes)
