"""Effects of surveyed areas, integrated out while the rest is learnt: against q of both at once."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import special, stats

from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.models.vbagg import summed_out
from workbench.gp.models.vbagg.model import Constant, VBAgg

GIVEN = {"mean": -1.0, "matern32.variance": 1.2, "matern32.lengthscale": 3.0,
         "persistent.variance": 0.4}
NUGGET = {"nugget.std": 0.9}


def survey(areas: int = 60, each: int = 1, seed: int = 0, covariate: float = 0.0) -> Source:
    """Positives out of trials on a smooth map, of areas of several individuals.

    These differ by a covariate on which log-odds have a slope, if it is not zero.
    """
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.uniform(0, 10, (areas, 2)), each, 0)
    x = x + rng.normal(0, 0.3, x.shape) * (each > 1)
    members, weight = np.repeat(np.arange(areas), each), rng.uniform(0.5, 2, areas * each)
    f = -1 + np.sin(x[:, 0]) + 0.8 * np.cos(0.7 * x[:, 1])
    z = rng.normal(size=len(x))
    share = 1 / (1 + np.exp(-f - covariate * z - rng.normal(0, 0.6, areas)[members]))
    share = np.bincount(members, weight * share) / np.bincount(members, weight)
    trials = rng.integers(8, 60, areas)
    columns = Columns(("x", "y"), (0, 1), ("km", "km"))
    if covariate:
        x, columns = np.column_stack([x, z]), Columns(("x", "y", "z"), (0, 1), ("km", "km", ""))
    bags = Bags(torch.as_tensor(x), torch.as_tensor(members), torch.as_tensor(weight), areas,
                columns, names=tuple(map(str, range(areas))),
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


def on_grid(fit, source: Source, link: str, variance: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of areas' shares given draws of f, effects by a grid."""
    psi = special.expit if link == "logit" else special.ndtr
    bags, effect = source.bags, np.linspace(-5, 5, 121) * np.sqrt(variance)
    f = fit.draw_latent(bags, 1_500, 1).numpy()
    mean, std = [], []
    for area in range(bags.count):
        inside = (bags.membership == area).numpy()
        weight = (bags.weight[inside] / bags.weight[inside].sum()).numpy()
        share = psi(f[:, inside, None] + effect).transpose(0, 2, 1) @ weight
        log = (stats.binom.logpmf(source.targets.value[area], bags.trials[area], share)
               + stats.norm.logpdf(effect, 0, np.sqrt(variance)))
        weights = special.softmax(log, axis=1) / len(f)
        mean.append((weights * share).sum())
        std.append(np.sqrt((weights * np.square(share - mean[-1])).sum()))
    return np.array(mean), np.array(std)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("each", [1, 5])
def test_shares_of_known_areas_are_those_of_a_grid_of_effects_given_draws_of_f(link, each):
    source = survey(each=each)
    fit = VBAgg(link=link, inducing=60).condition(source, GIVEN)
    mean, std = on_grid(fit, source, link, GIVEN["persistent.variance"])
    found = fit.over(source.bags, known_areas(source), area_effect=True)
    np.testing.assert_array_less(abs(found.mean.numpy() - mean) / std, 0.1)
    np.testing.assert_allclose(found.variance.sqrt(), std, rtol=0.12)
    if each == 1:
        drawn = fit.draw_rates(source.bags, known_areas(source), 4000, 1).numpy()
        np.testing.assert_array_less(abs(drawn.mean(0) - mean) / std, 0.12)
        np.testing.assert_allclose(drawn.std(0), std, rtol=0.08)


def with_nuggets(fit, source: Source, link: str) -> tuple[np.ndarray, ...]:
    """Areas' shares given draws of f, and given these alone: means and sds of both.

    Effects by a grid, and for each draw of f sixty of the nuggets, all weighted by the likelihood.
    """
    psi = special.expit if link == "logit" else special.ndtr
    bags, rng, std = source.bags, np.random.default_rng(5), np.sqrt(GIVEN["persistent.variance"])
    effect = np.linspace(-4, 4, 33) * std
    drawn, prior = fit.draw_latent(bags, 250, 1).numpy(), stats.norm.logpdf(effect, 0, std)
    out = []
    for area in range(bags.count):
        inside = (bags.membership == area).numpy()
        weight = (bags.weight[inside] / bags.weight[inside].sum()).numpy()
        f = drawn[:, None, inside] + NUGGET["nugget.std"] * rng.standard_normal(
            (250, 60, inside.sum()))
        share = (psi(f[..., None, :] + effect[:, None]) @ weight).reshape(250, -1)
        free = np.tile(special.softmax(prior) / 60, 60)
        log = stats.binom.logpmf(source.targets.value[area], bags.trials[area], share)
        known, row = special.softmax(log + np.log(free), axis=1), []
        for weights in (known / 250, np.broadcast_to(free / 250, share.shape)):
            mean = (weights * share).sum()
            row += [mean, np.sqrt((weights * np.square(share - mean)).sum())]
        out.append(row)
    return tuple(np.array(out).T)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_nuggets_are_in_shares_of_areas_and_partly_in_what_these_keep(monkeypatch, link):
    """Against a q of f and effects, and against draws of all of them."""
    source = survey(each=5)
    model = VBAgg(link=link, inducing=60)
    fit = model.condition(source, GIVEN | NUGGET)
    other = of_both(monkeypatch, lambda: model.condition(source, GIVEN | NUGGET))
    assert fit.state.options.nugget == "learn"
    for bags, known in ((source.bags, known_areas(source)), (source.bags, None)):
        found, wanted = (one.over(bags, known, area_effect=True) for one in (fit, other))
        std = wanted.variance.sqrt()
        np.testing.assert_array_less(abs(found.mean - wanted.mean) / std, 0.07)
    mean, std, free, free_std = with_nuggets(fit, source, link)
    found = fit.over(source.bags, known_areas(source), area_effect=True)
    error = abs(found.mean.numpy() - mean) / std
    assert np.quantile(error, 0.95) < 0.1 and error.max() < 0.3     # of a share far from the map
    np.testing.assert_allclose(found.variance.sqrt(), std, rtol=0.15)
    nowhere = replace(source.bags, recurring=-1 - source.bags.membership)
    unknown = fit.over(nowhere)
    np.testing.assert_array_less(abs(unknown.mean.numpy() - free) / free_std, 0.15)
    np.testing.assert_allclose(unknown.variance.sqrt(), free_std, rtol=0.1)
    # Individuals have all of it: their log-odds vary by as much about the map.
    plain = model.condition(source, GIVEN).at(nowhere).variance.sqrt()
    assert bool((fit.at(nowhere).variance.sqrt() > 1.2 * plain).all())


def test_shares_of_many_who_were_tested_are_met_beside_a_nugget():
    """Each area's effect with the mean of its nuggets has the variance of its own size."""
    source = survey(40, each=6, seed=3)
    few = source.bags.weight.clone()
    few[source.bags.membership < 20] *= torch.tensor([1.0, 40.0, 1.0, 1.0, 1.0, 1.0]).repeat(20)
    trials = torch.full((40,), 1e5, dtype=torch.float64)
    share = source.targets.value / source.bags.trials
    bags = replace(source.bags, weight=few, trials=trials)
    source = replace(source, bags=bags, targets=Targets((share * trials).round()))
    fit = VBAgg(inducing=60).condition(source, GIVEN | NUGGET)
    found = fit.over(bags, known_areas(source), area_effect=True)
    np.testing.assert_allclose(found.mean, source.targets.value / trials, atol=2e-3)
    drawn = fit.draw_rates(bags, known_areas(source), 600, 1)
    weight = bags.weight / bags.totals[bags.membership]
    shares = torch.zeros(600, 40).to(drawn).index_add(1, bags.membership, drawn * weight)
    np.testing.assert_allclose(shares.mean(0), found.mean, atol=4e-3)     # of 600 draws
    ratio = shares.std(0) / found.variance.sqrt()
    assert 0.7 < float(ratio.min()) and float(ratio.max()) < 1.4
    # Individuals keep what they differ by.
    own = fit.at(bags, known_areas(source), area_effect=True).variance.sqrt()
    assert 0.7 < float((drawn.std(0) / own).median()) < 1.2


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_also_where_individuals_of_an_area_differ(monkeypatch, link):
    """The effect's slope is that at its own mean: at zero, errors were of half an sd and more."""
    source = survey(50, each=15, covariate=2.0 if link == "logit" else 1.0)
    given = {"mean": -1.0, "linear.variance": 4.0, "persistent.variance": 1.0}
    model = VBAgg(kernel="linear(z)", link=link)
    fit = model.condition(source, given)
    mean, std = on_grid(fit, source, link, 1.0)
    off = {}
    for name, rounds in (("found", summed_out._ROUNDS), ("at zero", 1)):
        monkeypatch.setattr(summed_out, "_ROUNDS", rounds)
        found = model.condition(source, given).over(
            source.bags, known_areas(source), area_effect=True)
        off[name] = (abs(found.mean.numpy() - mean) / std).max(), (
            found.variance.sqrt().numpy() / std).mean()
    assert off["found"][0] < 0.35 and 0.97 < off["found"][1] < 1.06
    assert off["at zero"][0] > off["found"][0]


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


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")     # of short fits
@pytest.mark.parametrize("options", [
    {"kernel": "rbf(x)+matern32(y)"}, {"average": 4}, {"inducing_inputs": "averages"},
    {"layout": "joint", "kernel": "rbf(x)+matern32(y)"}, {"dtype": "float32"}])
@pytest.mark.parametrize("learnt", ["learnt", "held"])
def test_all_that_follows_a_fit_sees_f_and_effects(options, learnt):
    """Nested models, other settings and averages start from a state that is whole again."""
    given = {"inducing": 6, "max_steps": 3, "inducing_inputs": learnt, **options}
    source = survey(40)
    fit = VBAgg(**given).fit(source)
    for state in [one.state for one in getattr(fit, "members", [fit])]:
        assert state.summed is None and len(state.design.inducing) == len(state.field.inducing)
        assert float(torch.linalg.eigvalsh(state.field.q_covariance).min()) > 0
    near = fit.with_hyperparameters({"persistent.variance": 0.5})
    found = near.over(source.bags, known_areas(source), area_effect=True)
    assert torch.isfinite(found.mean).all() and np.isfinite(near.objective)


def test_effects_without_bounds_and_next_to_none_are_finite():
    source = survey(30)
    y = torch.where(torch.arange(30) % 2 == 0, source.bags.trials, 0.0)
    extreme = replace(source, targets=Targets(y))
    for variance in (1e-12, 100.0, 1e3, 1e5):
        for dtype in ("float64", "float32"):
            fit = Constant(dtype=dtype).condition(
                extreme, {"mean": 0.0, "constant.variance": 0.5, "persistent.variance": variance})
            field = fit.state.field
            assert torch.isfinite(field.q_mean).all()
            assert float(torch.linalg.eigvalsh(field.q_covariance).min()) > 0
            if variance < 1e3:          # beyond, shares are zero or one at any quadrature
                share = fit.over(extreme.bags, known_areas(extreme), area_effect=True).mean
                assert ((share >= 0) & (share <= 1)).all()


def test_an_end_by_an_error_leaves_the_state_whole(monkeypatch):
    state = VBAgg(inducing=6).condition(survey(20), GIVEN).state
    field, seen = state.field, state.trained_data
    with pytest.raises(ZeroDivisionError), summed_out.summed_out(state):
        assert state.field is not field and state.area_std is not None
        raise ZeroDivisionError
    assert state.field is field and state.trained_data is seen and state.area_std is None
