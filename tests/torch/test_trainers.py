"""Trainers: the closed form, and that all ways to train find the same optimum."""

import numpy as np
import pytest
import torch

from tests.torch import made
from workbench.checks import InputError
from workbench.collapsed import collapsed
from workbench.models.vbagg import VBAgg

NORMAL = dict(likelihood="normal", link="identity", inducing=8)


@pytest.fixture(scope="module")
def counts():
    return made.counts(made.bags((6,) * 25), scale=20.0)


def trained(source, trainer, **options):
    return VBAgg(inducing=8, trainer=trainer, tolerance=1e-9, **options).fit(source)


@pytest.mark.parametrize("trust", [1.0, 0.3])
def test_closed_form_is_the_optimum_of_natural_gradients(counts, trust):
    from dataclasses import replace

    source = replace(counts, trust=trust)
    fit = VBAgg(trainer="natural", max_steps=5, **NORMAL).fit(source)
    state = fit.state
    value, mean, covariance = collapsed(
        state.view(), state.source.targets.value, state.likelihood.variance(), trust)
    assert float(value.detach()) == pytest.approx(fit.objective, abs=1e-8)
    torch.testing.assert_close(mean.detach(), state.field.q_mean, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(covariance.detach(), state.field.q_covariance, atol=1e-6, rtol=1e-6)


def test_collapsed_trains_to_the_same_hyperparameters(counts):
    fits = [VBAgg(trainer=name, tolerance=1e-10, **NORMAL).fit(counts)
            for name in ("collapsed", "natural")]
    assert fits[0].objective == pytest.approx(fits[1].objective, abs=1e-3)
    assert VBAgg(**NORMAL).fit(counts).history.objective == VBAgg(
        trainer="collapsed", **NORMAL).fit(counts).history.objective


@pytest.mark.parametrize("options", [{}, {"overdispersion": "area"}, {"link": "square"}],
                         ids=["exp", "area effect", "square"])
def test_joint_and_natural_agree(counts, options):
    natural, joint = (trained(counts, name, **options) for name in ("natural", "joint"))
    assert joint.objective == pytest.approx(natural.objective, abs=0.05)
    gap = natural.at(counts.bags).mean / joint.at(counts.bags).mean - 1
    assert float(gap.abs().max()) < 0.05


@pytest.mark.filterwarnings("ignore:the objective still gained")
@pytest.mark.parametrize("options", [
    {"overdispersion": "area"}, {"likelihood": "negative-binomial"}, {"likelihood": "normal"}],
    ids=["area effect", "negative binomial", "normal"])
def test_adam_on_minibatches_comes_near(counts, options):
    """With hyperparameters held, noisy natural-gradient steps of q end near the optimum."""
    held = {name: entry for name, entry in trained(counts, "natural", **options).hyperparameters
            .items() if name != "matern32.variance"}
    fits = [trained(counts, name, hyperparameters=held, epochs=80, batch=5, **options)
            for name in ("natural", "adam")]
    assert fits[1].objective == pytest.approx(fits[0].objective, rel=0.05)
    gap = fits[0].at(counts.bags).mean / fits[1].at(counts.bags).mean - 1
    assert float(gap.abs().max()) < 0.2


def test_batches_are_unbiased(counts):
    """The mean over the batches of an epoch is the objective of all bags."""
    from workbench.models.trainers import _Batches

    state = VBAgg(inducing=8, overdispersion="area", batch=5).fit(counts).state
    mean, covariance = state.field.q_mean, state.field.q_covariance
    values = [float(b.objective(mean, covariance)) for b in _Batches(state)()]
    assert len(values) == 5
    assert np.mean(values) == pytest.approx(
        float(state.objective(state.view(), mean, covariance)), rel=1e-10)


def test_collapsed_needs_the_normal_likelihood(counts):
    with pytest.raises(InputError, match="trainer='natural'"):
        VBAgg(trainer="collapsed").fit(counts)


def test_adam_can_be_cancelled(counts):
    from workbench.interrupt import Cancelled

    def callback(step, objective, fraction):
        if step == 3:
            raise Cancelled

    fit = VBAgg(inducing=8, trainer="adam").fit(counts, callback=callback)
    assert fit.history.cancelled and len(fit.history.objective) == 3
    assert torch.isfinite(fit.latent(counts.bags).mean).all()


def test_predictions_in_parts_are_those_of_the_whole(counts, monkeypatch):
    fit = VBAgg(inducing=8, overdispersion="area", max_steps=5, trainer="natural").fit(counts)
    known = torch.arange(25)
    laws = [(fit.at(counts.bags, known, True), fit.over(counts.bags, known, True),
             fit.over(counts.bags))]
    monkeypatch.setattr("workbench.models.fit.MOST_FEATURES", 8 * 13)
    laws.append((fit.at(counts.bags, known, True), fit.over(counts.bags, known, True),
                 fit.over(counts.bags)))
    for whole, parts in zip(*laws, strict=True):
        torch.testing.assert_close(parts.mean, whole.mean)
        torch.testing.assert_close(parts.variance, whole.variance)
    draws = fit.simulate_individuals(counts.bags, known, 4000, seed=0)
    assert draws.shape == (4000, 150)
    at = fit.at(counts.bags, known, True)
    expected = at.mean * counts.bags.weight
    spread = (at.variance * counts.bags.weight.square() + expected).sqrt()
    assert ((draws.mean(0) - expected).abs() < 6 * spread / 4000**0.5 + 0.02 * expected).all()


def test_features_beyond_memory_are_not_kept(counts, monkeypatch):
    monkeypatch.setattr("workbench.models.state.MOST_FEATURES", 100)
    fit = VBAgg(inducing=8, max_steps=5).fit(counts)
    assert fit.state.trained_view is None
    assert np.isfinite(fit.objective)


def test_all_individuals_are_never_seen_at_once_beyond_memory(counts, monkeypatch):
    monkeypatch.setattr("workbench.models.state.MOST_FEATURES", 100)
    monkeypatch.setattr("workbench.models.fit.MOST_FEATURES", 100)
    monkeypatch.setattr("workbench.models.design.SMALL", 10)

    def refuse(self):
        raise AssertionError("features of all individuals at once")

    monkeypatch.setattr("workbench.models.state.VariationalState.view", refuse)
    fit = VBAgg(inducing=8, compress=2, max_steps=5).fit(counts)
    state = fit.state
    expected = state.objective(state.view_of(state.learning), state.field.q_mean,
                               state.field.q_covariance)
    assert fit.objective == pytest.approx(float(expected.detach()))
    assert any("q was found on the clusters" in note for note in fit.history.notes)
    assert torch.isfinite(fit.at(counts.bags).mean).all()
    assert torch.isfinite(fit.over(counts.bags).variance).all()
