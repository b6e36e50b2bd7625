"""Training: cancelling, Ctrl-C, failures, priors and compression; and the search for q."""

import os
import signal

import numpy as np
import pytest
import scipy.optimize
import torch
from torch import nn

from tests.gp import made
from workbench.checks import ConvergenceWarning
from workbench.gp.data.compression import compress
from workbench.gp.models.registry import MODELS
from workbench.gp.models.vbagg import design
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.numerics.linalg import (
    FactorisationError,
    JitterWarning,
    cholesky,
    standard_normal_kl,
)
from workbench.gp.optimisation.hyperparameters import Hyperparameter, HyperparameterSet
from workbench.gp.optimisation.natural_gradient import optimise
from workbench.gp.optimisation.training import maximise


@pytest.fixture(scope="module")
def source():
    return made.counts(made.bags((4, 3, 6, 2, 5, 4)), scale=2.0)


def test_cancelling_at_the_third_step_keeps_the_best_state(source):
    seen, callback = made.cancelling(3)
    fit = VBAgg(inducing=10).fit(source, callback=callback)
    assert [s for s, _, _ in seen] == [1, 2, 3]
    assert all(0 < f <= 1 for _, _, f in seen)
    assert fit.history.cancelled and not fit.history.converged
    assert "cancelled after 3 steps" in fit.history.notes[-1]
    state = fit.state
    with torch.no_grad():
        here = fit.objective + float(state.hyperparameters.log_prior())
    # The best hyperparameters, and q there brought closer to its optimum than in training.
    reached = max(o for _, o, _ in seen)
    assert reached - 1e-8 < here < reached + 1e-4
    assert torch.isfinite(fit.at(source.bags).quantile([0.1, 0.9])).all()


def test_progress_goes_by_what_searches_usually_take(source):
    """A search that ends by itself is far from the most evaluations allowed."""
    told, callback = made.cancelling(after=-1)
    fit = VBAgg(kernel="rbf", inducing=10).fit(source, callback=callback)
    assert fit.history.converged
    steps, _, done = (np.array(part) for part in zip(*told, strict=True))
    assert (np.diff(done) >= 0).all() and 0.4 < done[-1] < 1
    assert steps[-1] < 0.5 * done[-1] * fit.model.options.max_steps
    told.clear()
    with pytest.warns(ConvergenceWarning):
        VBAgg(kernel="rbf", inducing=10, max_steps=4).fit(source, callback=callback)
    assert told[-1][2] == 1.0


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_keeps_the_best_state(source):
    def callback(step, objective, fraction):
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    fit = VBAgg(inducing=10).fit(source, callback=callback)
    assert fit.history.cancelled
    assert np.isfinite(fit.objective)


class Bowl:
    """-(x - 3)², not to be evaluated beyond a wall where a factorisation fails."""

    def __init__(self, start, wall):
        self.raw = nn.Parameter(torch.tensor([start]).double())
        self.set, self.wall = HyperparameterSet([Hyperparameter("x", self.raw)]), wall

    def __call__(self, pulse=None):
        if float(self.raw.detach()) > self.wall:
            raise FactorisationError("the wall was hit")
        return -(self.raw - 3.0).square().sum() * 5.0 - self.raw.abs().sum().sqrt()

    def maximise(self, **options):
        return maximise(self, self.set, snapshot=lambda: None, restore=lambda _: None, **options)


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_a_failing_factorisation_backs_off_and_says_so():
    bowl = Bowl(0.1, 2.5)
    history = bowl.maximise()
    assert any("backed off, the wall was hit" in note for note in history.notes)
    assert 0.1 < float(bowl.raw.detach()) <= 2.5
    assert np.isfinite(history.objective).all()
    assert max(history.objective) == pytest.approx(float(bowl().detach()))


def test_a_start_that_fails_is_an_error_in_words():
    with pytest.raises(FactorisationError, match="cannot start.*change the initial or fixed"):
        Bowl(4.0, 2.5).maximise()


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_an_objective_of_nan_never_wins():
    bowl = Bowl(0.1, np.inf)
    inner = bowl.__call__

    def sometimes(pulse):
        value = inner()
        return value * float("nan") if float(bowl.raw.detach()) > 2.0 else value

    history = maximise(sometimes, bowl.set, snapshot=lambda: None, restore=lambda _: None)
    assert np.isfinite(history.objective).all()
    assert float(bowl.raw.detach()) <= 2.0
    assert any("not finite" in note for note in history.notes)


def test_too_few_steps_are_reported(source):
    with pytest.warns(UserWarning, match="raise max_steps"):
        fit = VBAgg(inducing=10, max_steps=2).fit(source)
    assert not fit.history.converged


def test_priors_move_the_estimate(source):
    free = VBAgg(inducing=10, priors={"matern32.lengthscale": "none"}).fit(source)
    held = VBAgg(inducing=10, priors={"matern32.lengthscale": "lognormal:3:0.01"}).fit(source)
    value = held.hyperparameters["matern32.lengthscale"]["value"]
    assert np.atleast_1d(value)[0] == pytest.approx(3, rel=0.1)
    assert free.state.hyperparameters["matern32.lengthscale"].prior is None
    assert free.hyperparameters != held.hyperparameters


def test_objective_in_history_is_elbo_plus_log_priors_of_the_free(source):
    fit = VBAgg(inducing=10, tolerance=1e-2).fit(source)
    known = fit.state.hyperparameters
    assert known["area.std"].prior.others == ("nugget.std",)
    prior = sum(float(known.prior_of(i).log_density(i.natural.detach()).sum())
                for i in known if i.prior is not None)
    # Of a q that is closer to its optimum in the end than in training.
    reached = max(fit.history.objective)
    assert reached - 1e-8 < fit.objective + prior < reached + 1e-4


def test_compression_keeps_totals_and_centres():
    bags = made.bags((40, 3, 90, 1))
    small = compress(bags, 8).bags
    assert small.sizes.tolist() == [8, 3, 8, 1]
    torch.testing.assert_close(small.totals, bags.totals)
    torch.testing.assert_close(small.centres().x, bags.centres().x)
    whole = compress(bags, 1000).bags
    torch.testing.assert_close(whole.x, bags.x)


def test_hyperparameters_learnt_on_compressed_data_are_similar(monkeypatch):
    source = made.counts(made.bags((60,) * 15), scale=2.0)
    fits = [VBAgg(inducing=15, compress=0, tolerance=1e-3).fit(source)]
    monkeypatch.setattr(design, "SMALL", 100)
    fits.append(VBAgg(inducing=15, compress=10, tolerance=1e-3).fit(source))
    assert "150 clusters of 900 individuals" in fits[1].history.notes[-1]
    first, second = (np.array([f.hyperparameters[n]["value"] for n in (
        "matern32.lengthscale", "matern32.variance")]) for f in fits)
    np.testing.assert_allclose(np.log(second / first), 0, atol=0.5)
    # The map uses all individuals again.
    assert fits[1].state.project().projection.features.shape[0] == 900
    gap = (fits[0].latent(source.bags).mean - fits[1].latent(source.bags).mean).abs()
    assert float(gap.max()) < 0.3


@pytest.mark.parametrize("options", [{}, {"overdispersion": "area"}, {"link": "square"}])
def test_natural_gradients_reach_the_optimum_of_l_bfgs(source, options):
    given = {"mean": 2.5, "matern32.variance": 0.3, "matern32.lengthscale": 40.0}
    if "overdispersion" in options:
        given["area.std"] = 0.3
    fit = VBAgg(inducing=5, **options).condition(source, given)
    state = fit.state
    seen, size = state.project().detach(), len(state.field.q_mean)
    rows, columns = torch.tril_indices(size, size)

    def unpack(vector):
        root = torch.zeros(size, size).double().index_put((rows, columns), vector[size:])
        return vector[:size], root @ root.mT

    def loss(vector):
        vector = torch.tensor(vector, requires_grad=True)
        value = -state.objective(seen, *unpack(vector))
        value.backward()
        return float(value.detach()), vector.grad.numpy()

    start = np.r_[np.zeros(size), 0.3 * np.eye(size)[rows, columns]]
    best = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B",
                                   options={"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-8})
    assert fit.objective == pytest.approx(-best.fun, abs=1e-4)
    mean, covariance = unpack(torch.tensor(best.x))
    torch.testing.assert_close(state.field.q_mean, mean, rtol=0, atol=0.02)
    torch.testing.assert_close(state.field.q_covariance, covariance, rtol=0, atol=0.02)


def test_the_objective_never_falls(source):
    fit = VBAgg(inducing=5).condition(source, {
        "mean": 2.5, "matern32.variance": 0.3, "matern32.lengthscale": 40.0})
    seen, state = fit.state.project().detach(), fit.state
    mean, covariance = state.narrow()
    last = float(state.objective(seen, mean, covariance).detach())
    for _ in range(12):
        mean, covariance, value, _ = optimise(
            lambda m, s: state.objective(seen, m, s), mean, covariance, steps=1)
        assert value >= last - 1e-11 * abs(last)
        assert value == pytest.approx(float(state.objective(seen, mean, covariance)), abs=1e-9)
        last = value


def test_a_start_without_a_finite_objective_is_refused():
    with pytest.raises(FactorisationError, match="not finite at the starting q"):
        optimise(lambda m, s: m.sum() * float("nan") + s.sum(), torch.zeros(2).double(),
                 torch.eye(2).double())


def test_jitter_is_reported_and_bounded():
    near = torch.ones(3, 3).double() - 1e-5 * torch.eye(3).double()
    with pytest.warns(JitterWarning, match="the test matrix needed jitter"):
        root = cholesky(near, "test matrix")
    assert torch.isfinite(root).all()
    with pytest.raises(FactorisationError, match=r"\(2 x 2\) is indefinite even with jitter 1e-3"):
        cholesky(torch.tensor([[1.0, 2.0], [2.0, 1.0]]).double())
    with pytest.raises(FactorisationError, match="NaN or infinity"):
        cholesky(torch.full((2, 2), float("nan")))
    with pytest.raises(FactorisationError, match="not positive definite"):
        standard_normal_kl(torch.zeros(2).double(), -torch.eye(2).double())


def test_kl_is_the_formula_of_torch():
    raw = torch.randn(4, 4, generator=torch.manual_seed(0), dtype=torch.float64)
    mean, covariance = raw[0], raw @ raw.mT + torch.eye(4).double()
    q = torch.distributions.MultivariateNormal(mean, covariance)
    p = torch.distributions.MultivariateNormal(torch.zeros(4).double(), torch.eye(4).double())
    torch.testing.assert_close(standard_normal_kl(mean, covariance),
                               torch.distributions.kl_divergence(q, p))


def test_registry_models_report_progress(source, capsys):
    MODELS["constant"]().fit(source, progress=True)
    assert "objective=" in capsys.readouterr().err
