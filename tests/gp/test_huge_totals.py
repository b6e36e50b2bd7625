"""Totals that bind: q and hyperparameters at their optimum from any start, or the fit says no."""

import warnings

import numpy as np
import pytest
import torch

from workbench.checks import Cancelled, ConvergenceWarning, FitWarning
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.inference.annealing import SEVERAL_OPTIMA, powers
from workbench.gp.models.base import Model
from workbench.gp.models.vbagg.diagnosis import diagnose
from workbench.gp.models.vbagg.fit import VariationalFit
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.optimisation.natural_gradient import optimise

PLAIN = {"overdispersion": "none", "nugget": 0.0}       # totals bind where nothing else varies


def country(total: float, areas: int = 30, spread: float = 0.0, seed: int = 0) -> Source:
    """Areas of 4 to 12 people-weighted places on a map with a skewed covariate; totals of about
    ``total``. Of ``spread`` is the log-sd of places that no covariate explains."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 13, areas)
    members = np.repeat(np.arange(areas), sizes)
    centres = rng.uniform(0, 100, (areas, 2))
    place = centres[members] + rng.normal(0, 4, (len(members), 2))
    covariate = np.exp(rng.normal(size=len(members)) + rng.normal(size=areas)[members])
    weight = rng.lognormal(0, 1, len(members))
    rate = np.exp(0.4 * np.log1p(covariate) + 0.3 * np.sin(place[:, 0] / 20)
                  + spread * rng.normal(size=len(members)))
    scale = total * areas / (weight * rate).sum()
    value = rng.poisson(np.bincount(members, scale * weight * rate)).astype(float)
    x = np.column_stack([covariate, place])
    return Source(Bags(torch.as_tensor(x), torch.as_tensor(members), torch.as_tensor(weight),
                       areas, Columns(("covariate", "x", "y"), (1, 2), ("", "km", "km"))),
                  Targets(torch.as_tensor(value)), "sum", "count")


def fit_of(source, **options):
    return VBAgg(inducing=20, **PLAIN | options).fit(source)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.slow
@pytest.mark.parametrize("total", [10.0, 1e3, 1e5, 1e7])
def test_threads_agree_or_say_that_there_are_several_optima(total):
    source = country(total)
    threads = torch.get_num_threads()
    reached, several = [], False
    try:
        for number in (1, 2):
            torch.set_num_threads(number)
            fit = fit_of(source, tolerance=1e-10, max_steps=300)
            told = any("not converged" in note for note in fit.history.notes)
            assert fit.history.converged != told, fit.history.notes
            several |= told
            reached.append(max(fit.history.objective))
            several |= any(note.startswith(SEVERAL_OPTIMA) for note in fit.history.notes)
    finally:
        torch.set_num_threads(threads)
    assert several or max(reached) - min(reached) < 1e-3
    total_fitted = fit.over(source.bags).mean
    miss = (total_fitted / source.targets.value - 1).abs()
    # A Poisson fit to Poisson totals: within a few of their standard deviations, or what 20
    # inducing inputs can do.
    assert float((miss / (3 / source.targets.value.sqrt() + 0.03)).median()) < 1


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore::workbench.checks.FitWarning")
@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_the_final_q_is_at_its_optimum(spread):
    source = country(1e5, spread=spread)
    fit = fit_of(source)
    state = fit.state
    with torch.no_grad():
        seen = state.project()
    left = optimise(lambda m, s: state.objective(seen.detach(), m, s), state.field.q_mean,
                    state.field.q_covariance, steps=0).decrement
    assert left < 1e-4


def test_annealing_is_for_totals_that_bind():
    plain = VBAgg(inducing=20, **PLAIN)
    assert powers(VariationalState(plain, country(10.0))) == []
    rising = powers(VariationalState(plain, country(1e6)))
    assert rising == sorted(rising) and rising[-1] == 0.1 and len(rising) > 3
    for effects in ({}, {"overdispersion": "area", "nugget": 0.0}):
        state = VariationalState(VBAgg(inducing=20, **effects), country(1e6))
        assert powers(state) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
def test_a_fit_below_the_flat_model_is_not_converged_and_warns():
    source = country(1e4)
    fit = Model.fit(VBAgg(inducing=20, **PLAIN), source)
    assert fit.history.converged
    q_mean = fit.state.field.q_mean + 3.0       # as a search that ended far from the optimum
    fit.state.field.set_q(q_mean, fit.state.field.q_covariance)
    with pytest.warns(ConvergenceWarning, match="below that of a flat map"):
        diagnose(fit, source)
    assert not fit.history.converged


@pytest.mark.slow
def test_a_fit_below_the_kernel_without_one_of_its_terms_has_failed(monkeypatch):
    source = country(1e4)
    model = VBAgg(inducing=20, kernel="linear(covariate)+matern32")
    fit = Model.fit(model, source)
    diagnose(fit, source)
    assert fit.history.converged and not fit.history.failed
    from workbench.gp.models.vbagg import diagnosis

    monkeypatch.setattr(diagnosis, "flat_objective", lambda *_: None)       # it would come first
    # A map term that is far too rough, as an ascent that went astray would leave it.
    state = fit.state
    with torch.no_grad():
        for item in state.hyperparameters.free:
            if item.name == "matern32.variance":
                item.raw += 5.0                     # the logarithm
            elif item.name == "matern32.lengthscale":
                item.raw -= 3.0
        state.trained_data = state.project().detach()
        state.optimise_q(state.trained_data)
    astray = VariationalFit(model, state, fit.history)
    with pytest.warns(ConvergenceWarning, match="the kernel without its term matern32"):
        diagnose(astray, source)
    assert astray.history.failed


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_few_inducing_inputs_for_many_areas_are_told():
    source, told = country(10.0, areas=90), "inducing inputs stand for 90 areas"
    few, enough = (VBAgg(inducing=n, max_steps=3).fit(source) for n in (20, 23))
    assert any(told in note and "inducing=22" in note for note in few.history.notes)
    assert not any(told in note for note in enough.history.notes)
    # Where there are no more places than inducing inputs, more of them would change nothing.
    assert not any(told in note for note in VBAgg(
        kernel="linear", inducing=20, max_steps=3).fit(source).history.notes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_totals_that_vary_more_than_the_likelihood_allows_are_told():
    wild = country(1e6, areas=60, spread=1.5)
    with pytest.warns(FitWarning, match="the totals vary more than it says"):
        fit_of(wild, kernel="linear")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        fit_of(wild, kernel="linear", overdispersion="area")
        VBAgg(kernel="linear").fit(wild)


def test_annealing_can_be_cancelled_at_once():
    def callback(step, objective, fraction):
        assert 0 <= fraction <= 1
        raise Cancelled

    fit = VBAgg(inducing=20, **PLAIN).fit(country(1e6), callback=callback)
    assert fit.history.cancelled and fit.state.tempering == 1.0


def test_a_tempered_objective_is_the_bound_with_the_likelihood_to_a_power():
    state = VariationalState(VBAgg(inducing=20, **PLAIN), country(1e3))
    seen, q = state.project().detach(), state.narrow()
    whole = state.objective(seen, *q)
    state.tempering = 0.0
    kl = -state.objective(seen, *q)
    state.tempering = 0.25
    torch.testing.assert_close(state.objective(seen, *q), 0.25 * (whole + kl) - kl)
