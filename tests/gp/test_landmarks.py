"""Inducing inputs that are learnt: a larger bound, kept with the fit, and left alone elsewhere."""

import numpy as np
import pytest
import torch

from tests.gp.test_multisource import X, noisy, source
from workbench.checks import Cancelled, InputError
from workbench.gp.models.keeping import keep_state
from workbench.gp.models.registry import MODELS

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
NORMAL = {"kernel": "rbf", "likelihood": "normal", "link": "identity", "noise": "constant",
          "inducing": 10, "max_steps": 40}


@pytest.fixture(scope="module")
def bags():
    return source(X[:60], noisy(0, 0.2)[:60], 2, "a")


@pytest.fixture(scope="module")
def both(bags):
    vbagg = MODELS["vbagg"]
    return [vbagg(**NORMAL, inducing_inputs=where).fit(bags) for where in ("held", "learnt")]


def test_the_bound_rises_and_stays_below_the_evidence(bags, both):
    held, learnt = both
    assert learnt.objective > held.objective + 1
    exact = MODELS["mr-gp"](kernel="rbf").condition(
        bags, {name: v for name, v in learnt.hyperparameters.items()})
    assert learnt.objective <= exact.objective + 1e-6
    assert list(learnt.hyperparameters) == list(held.hyperparameters)
    assert "10 inducing inputs learnt: the objective rose by" in " ".join(learnt.history.notes)


def test_the_objective_has_no_slope_left_in_the_inducing_inputs(both):
    held, learnt = both
    slopes = []
    for fit in both:
        state = fit.state
        z = [one.detach().clone().requires_grad_() for one in state.field.inducing]
        before, state.field.inducing = state.field.inducing, z
        seen = state.project()
        value = state.objective(seen, state.field.q_mean, state.field.q_covariance)
        slopes.append(float(torch.autograd.grad(value, z[0])[0].abs().max()))
        state.field.inducing = before
    assert slopes[1] < 0.1 * slopes[0]


def test_a_kept_fit_and_other_settings_have_the_learnt_inputs(bags, both):
    learnt, new = both[1], bags.bags
    again = learnt.model.recall(bags, keep_state(learnt.state, learnt.history))
    torch.testing.assert_close(again.at(new).mean, learnt.at(new).mean)
    torch.testing.assert_close(again.at(new).std, learnt.at(new).std)
    for fit in (learnt, again):
        warm = learnt.model.warm_start(fit, learnt.hyperparameters)
        torch.testing.assert_close(warm.at(new).std, learnt.at(new).std, rtol=1e-4, atol=1e-6)


def test_conditioning_learns_nothing(bags, both):
    fit = MODELS["vbagg"](**NORMAL, inducing_inputs="learnt").condition(
        bags, both[0].hyperparameters)
    torch.testing.assert_close(fit.state.field.inducing[0], both[0].state.field.inducing[0])
    assert fit.objective == pytest.approx(both[0].objective, abs=1e-6)


def test_cancelling_keeps_the_best_so_far(bags, both):
    stage_one, done = len(both[0].history.objective), []

    def stop(step, objective, fraction):
        done.append(fraction)
        if step > stage_one + 5:
            raise Cancelled

    fit = MODELS["vbagg"](**NORMAL, inducing_inputs="learnt").fit(bags, callback=stop)
    assert fit.history.cancelled and done == sorted(done) and done[-1] > 0.5
    assert fit.objective >= both[0].objective - 1e-6
    assert not fit.state.field.inducing[0].requires_grad


def test_counts_under_a_square_link():
    rng = np.random.default_rng(0)
    rate = 5 + 4 * np.sin(2 * X[:60])
    one = source(X[:60], rng.poisson(rate).astype(float), 3, "a", aggregation="sum")
    options = {"kernel": "rbf", "likelihood": "poisson", "link": "square", "inducing": 6,
               "overdispersion": "none", "nugget": 0.0, "max_steps": 20}
    held, learnt = (MODELS["vbagg"](**options, inducing_inputs=where).fit(one)
                    for where in ("held", "learnt"))
    assert learnt.objective > held.objective
    assert not torch.equal(learnt.state.field.inducing[0], held.state.field.inducing[0])


def test_the_flat_model_has_none_to_learn():
    with pytest.raises(InputError, match="inducing_inputs"):
        MODELS["constant"](inducing_inputs="learnt")
