"""Effects of surveyed areas, integrated out while the rest is learnt: against q of both at once."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import special, stats

from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.models.vbagg import summed_out
from workbench.gp.models.vbagg.model import VBAgg

GIVEN = {"mean": -1.0, "matern32.variance": 1.2, "matern32.lengthscale": 3.0,
         "persistent.variance": 0.4}


def survey(areas: int = 60, each: int = 1, seed: int = 0) -> Source:
    """Positives out of trials on a smooth map, of areas of several individuals."""
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.uniform(0, 10, (areas, 2)), each, 0)
    x = x + rng.normal(0, 0.3, x.shape) * (each > 1)
    members, weight = np.repeat(np.arange(areas), each), rng.uniform(0.5, 2, areas * each)
    f = -1 + np.sin(x[:, 0]) + 0.8 * np.cos(0.7 * x[:, 1])
    share = 1 / (1 + np.exp(-f - rng.normal(0, 0.6, areas)[members]))
    share = np.bincount(members, weight * share) / np.bincount(members, weight)
    trials = rng.integers(8, 60, areas)
    bags = Bags(torch.as_tensor(x), torch.as_tensor(members), torch.as_tensor(weight), areas,
                Columns(("x", "y"), (0, 1), ("km", "km")), names=tuple(map(str, range(areas))),
                trials=torch.as_tensor(trials.astype(float)),
                recurring=torch.as_tensor(rng.permutation(areas)[members]))
    return Source(bags, Targets(torch.as_tensor(rng.binomial(trials, share).astype(float))),
                  "mean", "count")


def of_both(monkeypatch, make):
    """What is made with effects that are variables of q throughout."""
    with monkeypatch.context() as patched:
        patched.setattr(summed_out, "seen_once", lambda state: False)
        return make()


def known_areas(source: Source) -> torch.Tensor:
    return torch.arange(source.bags.count)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("each", [1, 5])
def test_the_map_and_known_areas_are_those_of_a_q_of_both(monkeypatch, link, each):
    source = survey(each=each)
    model = VBAgg(link=link, inducing=60)
    fit = model.condition(source, GIVEN)
    other = of_both(monkeypatch, lambda: model.condition(source, GIVEN))
    assert 0 < fit.objective - of_both(monkeypatch, lambda: other.objective) < 0.05 * 60
    found, wanted = (one.latent(source.bags) for one in (fit, other))
    np.testing.assert_array_less(abs(found.mean - wanted.mean) / wanted.std, 0.05)
    np.testing.assert_allclose(found.std, wanted.std, rtol=0.02)
    for bags, known in ((source.bags, known_areas(source)), (source.bags, None)):
        found, wanted = (one.over(bags, known, area_effect=True) for one in (fit, other))
        std = wanted.variance.sqrt()
        np.testing.assert_array_less(abs(found.mean - wanted.mean) / std, 0.07)
        # What inducing inputs leave of f is no part of a q of both: its areas are a little wider.
        ratio = (found.variance.sqrt() / std).numpy()
        assert 0.7 < ratio.min() and ratio.max() < 1.03


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("each", [1, 5])
def test_shares_of_known_areas_are_those_of_a_grid_of_effects_given_draws_of_f(link, each):
    source = survey(each=each)
    fit = VBAgg(link=link, inducing=60).condition(source, GIVEN)
    psi = special.expit if link == "logit" else special.ndtr
    bags, effect = source.bags, np.linspace(-5, 5, 121) * np.sqrt(GIVEN["persistent.variance"])
    f = fit.draw_latent(bags, 1_500, 1).numpy()
    mean, std = [], []
    for area in range(bags.count):
        inside = (bags.membership == area).numpy()
        weight = (bags.weight[inside] / bags.weight[inside].sum()).numpy()
        share = psi(f[:, inside, None] + effect).transpose(0, 2, 1) @ weight
        log = (stats.binom.logpmf(source.targets.value[area], bags.trials[area], share)
               + stats.norm.logpdf(effect, 0, np.sqrt(GIVEN["persistent.variance"])))
        weights = special.softmax(log, axis=1) / len(f)
        mean.append((weights * share).sum())
        std.append(np.sqrt((weights * np.square(share - mean[-1])).sum()))
    found = fit.over(bags, known_areas(source), area_effect=True)
    np.testing.assert_array_less(abs(found.mean.numpy() - mean) / std, 0.1)
    np.testing.assert_allclose(found.variance.sqrt(), std, rtol=0.12)
    if each == 1:
        drawn = fit.draw_rates(bags, known_areas(source), 4000, 1).numpy()
        np.testing.assert_array_less(abs(drawn.mean(0) - mean) / std, 0.12)
        np.testing.assert_allclose(drawn.std(0), std, rtol=0.08)


def test_what_is_learnt_is_what_a_q_of_both_learns(monkeypatch):
    source = survey(150)
    model = VBAgg(inducing=40)
    fit = model.fit(source)
    other = of_both(monkeypatch, lambda: model.fit(source))
    names = ("matern32.lengthscale", "matern32.variance", "persistent.variance")
    for name in names:
        np.testing.assert_allclose(*(np.log(one.hyperparameters[name]["value"])
                                     for one in (fit, other)), atol=0.4)
    assert fit.history.converged
    contribution, _ = summed_contributions(fit, source)
    np.testing.assert_allclose(contribution, fit.latent(source.bags).mean[:5], atol=0.01)


def summed_contributions(fit, source):
    from workbench.gp.models.vbagg.influence import influence

    members = getattr(fit, "members", [fit])
    mean = sum(w * one.hyperparameters["mean"]["value"] for one, w in zip(
        members, getattr(fit, "weights", torch.ones(1)).tolist(), strict=True))
    contribution, effect = influence(fit, source.bags, torch.arange(5))
    return mean + contribution.sum(1).numpy(), effect


def test_other_settings_start_from_it_and_kept_fits_are_the_same():
    source = survey()
    model = VBAgg(inducing=30, average=0)
    fit = model.fit(source)
    near = fit.with_hyperparameters({"persistent.variance": 0.7})
    again = model.condition(source, {
        name: one["value"] for name, one in near.hyperparameters.items()})
    np.testing.assert_allclose(near.state.field.q_mean, again.state.field.q_mean, atol=0.02)
    np.testing.assert_allclose(near.objective, again.objective, atol=2e-3)
    assert near.objective < fit.objective       # which is learnt


def test_only_areas_that_are_seen_once_and_alone_are_integrated_out():
    source, model = survey(), VBAgg(inducing=20)

    def once(bags: Bags, **options) -> bool:
        state = VBAgg(inducing=20, **options).condition(
            replace(source, bags=bags), GIVEN).state
        return summed_out.seen_once(state)

    assert once(source.bags)
    assert not once(source.bags, bound="monte-carlo")
    both = source.bags.recurring.clone()
    both[:2] = both[0]                          # one area in two bags
    assert not once(replace(source.bags, recurring=both))
    assert model.condition(source, GIVEN).state.summed is None
