"""Effects that areas keep over periods: against dense Gaussians, and what is known of whom."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import trapezoid

from workbench.checks import InputError
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.data.recurring import recurring_areas, unknown
from workbench.gp.models.vbagg.model import CentrePointGP, Constant, VBAgg
from workbench.gp.models.vbagg.own_noise import prior_of_effects
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.optimisation.priors import Multiple, PCStd

AREAS, PERIODS, EACH = 5, 3, 4
GIVEN = {"mean": 0.4, "constant.variance": 0.7, "persistent.variance": 0.5, "nugget.std": 0.6,
         "noise.variance": 0.3}


def panel(kind="continuous", aggregation="mean", areas=AREAS, each=EACH, merged=False, seed=0,
          equal=True) -> Source:
    """Areas in several periods, with values of about one; merged: two areas to a bag."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(0, 10, (areas, 2))[:, None] + rng.normal(0, 0.7, (areas, each, 2))
    area = np.tile(np.repeat(np.arange(areas), each), PERIODS)
    period = np.repeat(np.arange(PERIODS), areas * each)
    bag = period * areas + area
    if merged:
        bag = period * ((areas + 1) // 2) + area // 2
    x = np.column_stack([np.tile(place.reshape(-1, 2), (PERIODS, 1)), period])
    weight = np.ones(len(x)) if equal else np.tile(rng.lognormal(0, 1, areas * each), PERIODS)
    count = bag.max() + 1
    own = rng.normal(0, 0.8, areas)
    first = np.searchsorted(bag, np.arange(count))
    value = own[area[first]] + rng.normal(0, 0.5, count)
    if kind == "count":
        value = rng.poisson(200 * np.exp(value)).astype(float)
        weight = weight * 50.0
    bags = Bags(torch.as_tensor(x), torch.as_tensor(bag), torch.as_tensor(weight), int(count),
                Columns(("x", "y", "time"), (0, 1), ("km", "km", "a")),
                names=tuple(map(str, range(count))), recurring=torch.as_tensor(area))
    return Source(bags, Targets(torch.as_tensor(value)), aggregation, kind)


def dense(source: Source) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariances of bags, of individuals with bags, and of individuals: f, u and kept nugget."""
    bags = source.bags
    area, members = bags.recurring.numpy(), bags.membership.numpy()
    a = np.zeros((bags.count, len(area)))
    a[members, np.arange(len(area))] = bags.weight.numpy()
    a /= a.sum(1, keepdims=True) if source.aggregation == "mean" else 1.0
    pixel = [tuple(row) for row in np.column_stack([bags.x[:, :2].numpy(), area])]
    same = np.array([[p == q for q in pixel] for p in pixel])
    k = (GIVEN["constant.variance"] + GIVEN["persistent.variance"] * (area[:, None] == area)
         + GIVEN["nugget.std"]**2 * same)
    return a @ k @ a.T, k @ a.T, k


def posterior(source: Source) -> tuple[float, np.ndarray, np.ndarray]:
    """Log evidence, and mean and sd of what individuals have in all."""
    total, cross, own = dense(source)
    y, mean = source.targets.value.numpy(), GIVEN["mean"]
    a = source.bags.totals.numpy() if source.aggregation == "sum" else 1.0
    noisy = total + GIVEN["noise.variance"] * np.eye(len(total))
    root = np.linalg.cholesky(noisy)
    left = np.linalg.solve(root, y - mean * a)
    evidence = -0.5 * left @ left - np.log(np.diag(root)).sum() - len(y) / 2 * np.log(2 * np.pi)
    half = np.linalg.solve(root, cross.T)
    return evidence, mean + half.T @ left, np.sqrt(np.diag(own) - np.square(half).sum(0))


def constant(**more) -> Constant:
    return Constant(likelihood="normal", link="identity", noise="constant", nugget="learn", **more)


def known(each=9, **options):
    source = panel("count", "sum", each=each)
    return VBAgg(kernel="constant", **options).hyperparameters(source)


def test_of_several_periods_the_nugget_goes_by_both_effects_of_areas():
    """That which stays and that of one period: as the effect by the nugget in a single one."""
    found = known()
    by = found["nugget.std"].prior
    once = prior_of_effects(found["nugget.std"], torch.full((1,), 1 / 9), 1.0, VBAgg().options)
    assert by.factor == pytest.approx(1 / once.factor, rel=1e-6)
    assert by.factor == pytest.approx(9**0.25) and by.sigma == once.sigma
    assert by.others == ("persistent.variance", "area.std")
    median = by.given(torch.tensor(0.09), torch.tensor(0.4)).median
    assert float(median) == pytest.approx(0.5 * 9**0.25)
    # Effects are expected to be as small as where they go by the nugget, whose bound is 0.6.
    for name, of_variance in (("persistent.variance", True), ("area.std", False)):
        prior = found[name].prior
        assert prior.largest == pytest.approx(0.6 * once.factor, rel=1e-6)
        assert prior.of_variance == of_variance
    assert known(overdispersion="none", persistence="area")["nugget.std"].prior.others == (
        "persistent.variance",)
    assert known(persistence="none")["area.std"].prior.others == ("nugget.std",)


@pytest.mark.parametrize("options", [
    {"each": 1}, {"nugget": 0.3}, {"hyperparameters": {"nugget.std": 0.3}},
    {"priors": {"nugget.std": "pc:2:0.05"}}])
def test_where_the_nugget_is_given_or_areas_are_points_all_have_priors_of_their_own(options):
    found = known(**options)
    assert found["nugget.std"].prior == PCStd(2.0 if "priors" in options else 0.6, 0.05)
    assert found["area.std"].prior == PCStd(1.0, 0.05)
    assert found["persistent.variance"].prior == PCStd(1.0, 0.05, of_variance=True)
    free = "each" in options or "priors" in options
    assert ("nugget.std" in [item.name for item in found.judged]) == free


def test_effects_may_have_a_prior_of_the_users_own():
    found = known(priors={"area.std": "pc:2:0.05"})
    assert found["area.std"].prior == PCStd(2.0, 0.05)
    assert found["nugget.std"].prior == known()["nugget.std"].prior


def test_areas_that_are_not_seen_do_not_count():
    source = panel("count", "sum", each=9)
    gaps = replace(source, bags=replace(source.bags, recurring=3 * source.bags.recurring))
    model = VBAgg(kernel="constant")
    assert model.hyperparameters(gaps)["nugget.std"].prior == known()["nugget.std"].prior


def test_priors_that_go_by_each_other_are_refused():
    with pytest.raises(InputError, match="goes by nugget.std, whose prior itself goes by"):
        known(priors={"area.std": Multiple(("nugget.std",), 0.5, 0.4)})
    both = {"area.std": Multiple(("nugget.std",), 0.5, 0.4), "nugget.std": "pc:0.6:0.05"}
    assert known(priors=both)["area.std"].prior.others == ("nugget.std",)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("each", [1, EACH])
def test_under_the_identity_link_all_is_exact(each, merged):
    source = panel(each=each, merged=merged)
    fit = constant().condition(source, GIVEN)
    evidence, mean, std = posterior(source)
    assert fit.objective == pytest.approx(evidence, abs=1e-6)
    found = fit.at(source.bags, torch.arange(source.bags.count), area_effect=True)
    np.testing.assert_allclose(found.mean, mean, atol=1e-6)
    np.testing.assert_allclose(found.std, std, rtol=1e-6)


def test_draws_are_of_the_same_distribution_and_their_parts_add_up():
    source = panel()
    fit, trained = constant().condition(source, GIVEN), torch.arange(source.bags.count)
    _, mean, std = posterior(source)
    draws = fit.draw_rates(source.bags, trained, 20_000, 1).numpy()
    np.testing.assert_allclose(draws.mean(0), mean, atol=4 * std.max() / np.sqrt(20_000))
    np.testing.assert_allclose(draws.std(0), std, rtol=0.03)
    for known in (trained, -1 - 0 * trained, None):     # totals, which individuals add nothing to
        total = fit.over(source.bags, known, known is not None)
        drawn = fit.draw_totals(source.bags, known, 20_000, 2)
        np.testing.assert_allclose(drawn.std(0), total.std, rtol=0.03)
    parts = fit.components(source.bags, known=trained)
    assert list(parts) == ["intercept", "constant", "area effect"]
    np.testing.assert_allclose(sum(part.mean for part in parts.values()), mean, atol=1e-6)


def test_of_unequal_weights_spread_is_near_that_of_dense_gaussians_and_that_of_draws():
    """A large individual has less beside the effect of its area than small ones have."""
    source = panel(equal=False)
    fit, trained = constant().condition(source, GIVEN), torch.arange(source.bags.count)
    _, mean, std = posterior(source)
    found = fit.at(source.bags, trained, area_effect=True)
    np.testing.assert_allclose(found.std, std, rtol=0.08)       # 0.5 to 2 by their average
    assert np.abs((found.mean.numpy() - mean) / std).max() < 0.4
    draws = fit.draw_rates(source.bags, trained, 20_000, 1).numpy()
    np.testing.assert_allclose(draws.std(0), found.std, rtol=0.03)
    np.testing.assert_allclose(draws.mean(0), found.mean, atol=4 * std.max() / np.sqrt(20_000))


def test_a_part_of_an_area_has_the_spread_that_it_has_in_the_whole():
    """One pixel of a known area is not the area."""
    source = panel()
    fit, bags = constant().condition(source, GIVEN), source.bags
    first = torch.arange(0, AREAS * EACH, EACH)     # a pixel of each area, in one period
    part = replace(bags, x=bags.x[first], membership=torch.arange(AREAS), count=AREAS,
                   weight=bags.weight[first], recurring=bags.recurring[first],
                   names=tuple(map(str, range(AREAS))))
    whole, alone = fit.at(bags, None, True), fit.at(part, None, True)
    np.testing.assert_allclose(alone.mean, whole.mean[first], rtol=1e-6)
    np.testing.assert_allclose(alone.std, whole.std[first], rtol=1e-6)


def test_totals_of_weights_that_change_are_drawn_as_they_are_known():
    source = panel(equal=False)
    weight = source.bags.weight.clone()
    weight[AREAS * EACH:2 * AREAS * EACH:EACH] *= 30         # another pixel is the large one
    bags = replace(source.bags, weight=weight)
    fit, trained = constant().condition(replace(source, bags=bags), GIVEN), torch.arange(15)
    drawn = fit.draw_totals(bags, trained, 20_000, 2)
    np.testing.assert_allclose(drawn.std(0), fit.over(bags, trained, True).std, rtol=0.03)


def test_nuts_finds_the_same_of_counts():
    from workbench.gp.sampling.nuts import sample

    pytest.importorskip("numpyro")
    source = panel("count", "sum")
    values = {"mean": 0.0, "constant.variance": 0.3, "persistent.variance": 0.4, "nugget.std": 0.4,
              "area.std": 0.3}
    fit, known = Constant().condition(source, values), torch.arange(source.bags.count)
    found = sample(fit.state, draws=500, warmup=200, chains=1, fixed=True)
    exact, rate = found.rate[0], fit.at(source.bags, known, True)
    np.testing.assert_allclose(rate.mean, exact.mean(0), rtol=0.08)
    relative = (rate.std / rate.mean).numpy() / (exact.std(0) / exact.mean(0))
    assert np.abs(relative - 1).mean() < 0.15
    np.testing.assert_allclose(fit.latent(source.bags).std, found.latent[0].std(0), rtol=0.15)
    # A place is in later periods what it was, but for the effect of the area in the period.
    drawn, again = np.log(fit.draw_rates(source.bags, known, 2_000, 0).numpy()), AREAS * EACH
    for one in (drawn, np.log(exact)):
        assert np.corrcoef(one[:, 0], one[:, again])[0, 1] > 0.9


@pytest.mark.parametrize("kind", ["continuous", "count"])
def test_without_an_effect_of_the_area_it_has_its_prior(kind):
    source = panel(kind, "sum" if kind == "count" else "mean")
    model = VBAgg(kernel="matern32(coordinates)", inducing=20, nugget=0.3)
    values = {"mean": 0.0, "matern32.variance": 0.5, "matern32.lengthscale": 3.0,
              "persistent.variance": 0.4, "nugget.std": 0.3,
              **({"area.std": 0.1} if kind == "count" else {"noise.variance": 0.3})}
    fit, trained = model.condition(source, values), torch.arange(source.bags.count)
    elsewhere = unknown(source.bags)
    latent = fit.latent(source.bags)
    torch.testing.assert_close(latent.mean, fit.latent(elsewhere).mean)
    away, nowhere = fit.at(source.bags, trained, False), fit.at(elsewhere, -1 - 0 * trained, True)
    torch.testing.assert_close(away.mean, nowhere.mean)
    torch.testing.assert_close(away.std, nowhere.std)
    own = fit.at(source.bags, trained, True)
    assert (own.std / own.mean.abs() < away.std / away.mean.abs()).all()
    drawn = fit.draw_latent(source.bags, 20_000, 2)
    torch.testing.assert_close(drawn.std(0), latent.std, rtol=0.03, atol=0.0)
    # known from other periods, whose bags are not those that are asked about
    told = fit.at(source.bags, -1 - 0 * trained, True)
    assert (told.std / told.mean.abs() < away.std / away.mean.abs()).all()
    prior = fit.prior(source.bags).variance
    assert prior == pytest.approx(torch.full_like(prior, 0.5))


def test_it_is_there_where_areas_recur_and_nobody_says_otherwise():
    source = panel("count", "sum")
    once = panel("count", "sum").bags.run(slice(0, AREAS), slice(0, AREAS * EACH))
    alone = Source(once, Targets(source.targets.value[:AREAS]), "sum", "count")
    assert recurring_areas(source.bags) == AREAS and recurring_areas(once) == 0

    def has(data: Source, **options) -> bool:
        state = VariationalState(VBAgg(kernel="rbf", inducing=5, **options), data)
        return "persistent.variance" in [item.name for item in state.hyperparameters]

    assert has(source) and not has(alone)
    assert not has(source, persistence="none") and not has(source, overdispersion="none")
    assert has(source, overdispersion="none", persistence="area")


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")     # of short fits
def test_what_is_not_there_is_said(monkeypatch):
    source = panel("count", "sum")
    once = source.bags.run(slice(0, AREAS), slice(0, AREAS * EACH))
    alone = Source(once, Targets(source.targets.value[:AREAS]), "sum", "count")
    short = {"kernel": "rbf", "inducing": 5, "max_steps": 3}
    said = VBAgg(**short, persistence="area").fit(alone).history.notes
    assert any("persistence='area' changes nothing" in note for note in said)
    assert not any("persistence" in note for note in VBAgg(**short).fit(alone).history.notes)
    for module in ("options", "vbagg.diagnosis"):
        monkeypatch.setattr(f"workbench.gp.models.{module}.MOST_PERSISTENT", AREAS - 1)
    fit = VBAgg(**short).fit(source)
    assert any(f"{AREAS} areas have values in several periods" in n for n in fit.history.notes)
    assert "persistent.variance" not in fit.hyperparameters
    assert "persistent.variance" in VBAgg(**short, persistence="area").fit(source).hyperparameters


def country(seed: int, side: int = 6, pixels: int = 4) -> tuple[Source, np.ndarray]:
    """Square areas over four years on a smooth map, each with a difference of its own."""
    rng, n = np.random.default_rng(seed), side * pixels
    y, x = np.divmod(np.arange(n * n), n)
    area = (y // pixels) * side + x // pixels
    order = np.argsort(area, kind="stable")
    x, y, area = x[order], y[order], area[order]
    log = 0.6 * np.sin(x / 5) + 0.4 * np.cos(y / 7) + rng.normal(0, 0.4, side**2)[area]
    weight = rng.lognormal(3, 0.7, n * n)
    expected = np.bincount(area, weight * np.exp(log))
    value = rng.poisson(expected * np.exp(rng.normal(0, 0.05, (PERIODS, side**2)))).reshape(-1)
    period = np.repeat(np.arange(PERIODS), n * n)
    inputs = np.column_stack([np.tile(x, PERIODS), np.tile(y, PERIODS), period]).astype(float)
    bags = Bags(torch.as_tensor(inputs), torch.as_tensor(np.tile(area, PERIODS) + period * side**2),
                torch.as_tensor(np.tile(weight, PERIODS)), len(value),
                Columns(("x", "y", "time"), (0, 1), ("km", "km", "a")),
                names=tuple(map(str, range(len(value)))),
                recurring=torch.as_tensor(np.tile(area, PERIODS)))
    return Source(bags, Targets(torch.as_tensor(value.astype(float))), "sum", "count"), log


@pytest.mark.parametrize("seed", [0, 1])
def test_what_areas_keep_does_not_make_the_map_rough(seed):
    source, truth = country(seed)
    fits = [VBAgg(kernel="matern32(coordinates)", inducing=36, inducing_inputs="averages",
                  persistence=name).fit(source) for name in ("auto", "none")]
    known, errors = torch.arange(source.bags.count), []
    for fit in fits:
        rate = fit.at(source.bags, known, True)
        errors.append(np.square(rate.mean.log()[:len(truth)].numpy() - truth).mean())
    assert errors[0] < errors[1] / 4
    assert fits[0].objective > fits[1].objective + 5
    kept, without = (fit.hyperparameters for fit in fits)
    term = fits[0].state.field.terms[-1]        # with what individuals' nuggets come to in areas
    assert 0.3 < float(term.kernel.outputscale + term.kept(torch.arange(36)).mean())**0.5 < 0.5
    assert kept["matern32.lengthscale"]["value"] > 1.5 * without["matern32.lengthscale"]["value"]
    covered = [(rate.quantile(torch.tensor([q], dtype=torch.float64))[0][:len(truth)].log()
                - torch.as_tensor(truth)) for rate in [fits[0].at(source.bags, known, True)]
               for q in (0.025, 0.975)]
    assert float(((covered[0] < 0) & (covered[1] > 0)).double().mean()) > 0.9


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")     # of short fits
@pytest.mark.parametrize("kind", [VBAgg, CentrePointGP, Constant])
@pytest.mark.parametrize("options", [
    {}, {"link": "square"}, {"likelihood": "negative-binomial"}, {"dtype": "float32"},
    {"average": 6}])
def test_all_variational_models_have_it(kind, options):
    source = panel("count", "sum", equal=False)
    given = {} if kind is Constant else {"kernel": "linear(time)+rbf(coordinates)", "inducing": 8}
    model = kind(max_steps=8, **given, **options)
    fit, trained = model.fit(source), torch.arange(source.bags.count)
    assert "persistent.variance" in fit.hyperparameters
    again = model.recall(source, fit.keep())
    for ask in (lambda one: one.at(source.bags, trained, True).mean,
                lambda one: one.over(source.bags, trained, True).std,
                lambda one: one.draw_rates(source.bags, trained, 3, 0),
                lambda one: one.draw_totals(source.bags, None, 3, 0),
                lambda one: one.components(source.bags, known=trained)["area effect"].std,
                lambda one: one.latent(source.bags).std):
        assert torch.isfinite(ask(fit)).all()
        torch.testing.assert_close(ask(fit), ask(again))
    pickle.loads(pickle.dumps(fit.state.field))
    if not fit.state.likelihood.multiplied and fit.state.link.name == "exp":
        # Of known areas it is of first order in nuggets, which these few data leave large.
        fit = fit.with_hyperparameters({"nugget.std": 0.3})
        total = fit.over(source.bags, -1 - 0 * trained, True)
        drawn = fit.draw_totals(source.bags, -1 - 0 * trained, 4_000, 1)
        spread = drawn.std(0) / drawn.mean(0) / (total.std / total.mean)
        assert 0.75 < float(spread.min()) <= float(spread.max()) < 1.35


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")     # of a short fit
def test_totals_of_unknown_areas_spread_as_their_draws_do_with_large_nuggets():
    source = panel("count", "sum", areas=30, each=9, equal=False)
    fit = Constant(max_steps=20).fit(source)
    assert fit.hyperparameters["nugget.std"]["value"] > 0.6
    nowhere, bags = torch.full((source.bags.count,), -1), unknown(source.bags)
    total, drawn = fit.over(bags, nowhere, True), fit.draw_totals(bags, nowhere, 8_000, 1)
    np.testing.assert_allclose(drawn.mean(0), total.mean, rtol=0.05)
    np.testing.assert_allclose(drawn.std(0), total.std, rtol=0.2)      # of heavy tails


def test_every_bound_takes_the_kept_nugget_as_the_areas():
    source = panel("count", "sum", each=2)
    values = {"mean": 0.0, "constant.variance": 0.3, "persistent.variance": 0.4, "nugget.std": 1.0,
              "area.std": 0.2}
    logs = {}
    for bound in ("moment", "monte-carlo", "jensen"):
        fit = Constant(bound=bound).condition(source, values)
        logs[bound] = fit.latent(source.bags).mean.numpy()
    np.testing.assert_allclose(logs["monte-carlo"], logs["moment"], atol=0.03)
    np.testing.assert_allclose(logs["jensen"], logs["moment"], atol=0.15)


SURVEYED = {"mean": -1.0, "constant.variance": 1e-6, "persistent.variance": 0.6}


def survey(areas: int = 12) -> Source:
    """Positives out of trials of areas of one individual, in one period."""
    rng = np.random.default_rng(3)
    trials = torch.as_tensor(rng.integers(5, 80, areas).astype(float))
    share = 1 / (1 + np.exp(1 - 0.8 * rng.normal(size=areas)))
    positives = rng.binomial(trials.numpy().astype(int), share).astype(float)
    bags = Bags(torch.as_tensor(rng.uniform(0, 9, (areas, 2))), torch.arange(areas),
                torch.ones(areas, dtype=torch.float64), areas,
                Columns(("x", "y"), (0, 1), ("km", "km")), trials=trials,
                recurring=torch.arange(areas))
    return Source(bags, Targets(torch.as_tensor(positives)), "mean", "count")


def test_effects_of_surveyed_areas_are_those_of_quadrature():
    source = survey()
    fit = Constant().condition(source, SURVEYED)
    effect = np.linspace(-8, 8, 4001) * np.sqrt(SURVEYED["persistent.variance"])
    prior = stats.norm(0, np.sqrt(SURVEYED["persistent.variance"])).pdf(effect)
    share = 1 / (1 + np.exp(-(SURVEYED["mean"] + effect)))
    n, y = source.bags.trials.numpy(), source.targets.value.numpy()
    joint = stats.binom.pmf(y[:, None], n[:, None], share) * prior
    evidence = trapezoid(joint, effect, axis=1)
    mean = trapezoid(joint * share, effect, axis=1) / evidence
    std = np.sqrt(trapezoid(joint * share**2, effect, axis=1) / evidence - mean**2)
    predicted = fit.at(source.bags, torch.arange(len(y)), area_effect=True)
    np.testing.assert_allclose(predicted.mean, mean, atol=3e-3)
    np.testing.assert_allclose(predicted.std, std, rtol=0.03)
    # Effects are integrated out, and there is nothing else: the evidence itself.
    assert fit.objective == pytest.approx(np.log(evidence).sum(), abs=1e-4)
    over = fit.at(source.bags, area_effect=False)
    of_prior = trapezoid(prior * share, effect)
    np.testing.assert_allclose(over.mean, np.full(len(y), of_prior), atol=2e-3)


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")     # of short fits
def test_surveyed_areas_have_effects_unless_many_or_told_not_to(monkeypatch):
    def learnt(source, **options):
        return Constant(max_steps=3, **options).fit(source)

    source = survey()
    unnumbered = replace(source, bags=replace(source.bags, recurring=None))
    for options, there in (({}, True), ({"overdispersion": "area"}, True),
                           ({"persistence": "none"}, True), ({"overdispersion": "none"}, False)):
        fit = learnt(source, **options)
        assert ("persistent.variance" in fit.hyperparameters) == there
        assert "area.std" not in fit.hyperparameters and not fit.history.notes[1:]
    assert "persistent.variance" not in learnt(unnumbered).hyperparameters
    one = torch.ones_like(source.bags.trials)           # a person each: nothing tells an effect
    single = replace(source, bags=replace(source.bags, trials=one),
                     targets=Targets((source.targets.value > 9).to(one)))
    assert "persistent.variance" not in learnt(single).hyperparameters
    monkeypatch.setattr("workbench.gp.models.options.MOST_SURVEYED", 11)
    many = learnt(source)
    assert "persistent.variance" not in many.hyperparameters and "area.std" in many.hyperparameters
    assert any(note.startswith("effects of 12 areas are integrated out and not kept") for note in
               many.history.notes)
    assert "persistent.variance" in learnt(source, overdispersion="area").hyperparameters
    monkeypatch.setattr("workbench.gp.models.options.MOST_PERSISTENT", 11)
    unable = learnt(source, bound="monte-carlo")        # which does not integrate them out
    assert not {"persistent.variance", "area.std"} & set(unable.hyperparameters)
    assert any(note.startswith("12 areas have no effect of their own") for note in
               unable.history.notes)


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")     # of short fits
def test_whoever_names_a_hyperparameter_has_it_and_not_two(monkeypatch):
    """A fold has fewer areas than the whole, and the same options."""
    for limit, name in ((11, "area.std"), (12, "persistent.variance")):
        monkeypatch.setattr("workbench.gp.models.options.MOST_SURVEYED", limit)
        assert name in Constant(max_steps=2).fit(survey()).hyperparameters
        for other in ("area.std", "persistent.variance"):
            for entry, value in (("hyperparameters", 0.3), ("initial", 0.3),
                                 ("priors", "lognormal:0.3:1")):
                fit = Constant(max_steps=2, **{entry: {other: value}}).fit(survey())
                assert {"area.std", "persistent.variance"} & set(fit.hyperparameters) == {other}
    for options in ({}, {"overdispersion": "area"}):
        with pytest.raises(InputError, match="one effect of each area"):
            Constant(**options).condition(survey(), SURVEYED | {"area.std": 0.4})


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_effects_that_are_not_kept_are_those_that_are_of_areas_that_nobody_surveyed(link):
    """Of known areas, too, as it is one model with one objective."""
    source, std = survey(), SURVEYED["persistent.variance"]**0.5
    model = VBAgg(link=link, inducing=6, max_steps=3)
    shared = {"mean": -0.8, "matern32.variance": 0.5, "matern32.lengthscale": 4.0}
    kept = model.condition(source, shared | {"persistent.variance": std**2})
    summed = model.condition(source, shared | {"area.std": std})
    assert not summed.keeps_effects and kept.keeps_effects
    assert summed.objective == pytest.approx(kept.objective, abs=1e-6)
    nowhere, all_known = unknown(source.bags), torch.arange(source.bags.count)
    for asked in ("at", "over"):
        other, own = (getattr(fit, asked)(nowhere) for fit in (kept, summed))
        known = getattr(summed, asked)(source.bags, all_known, area_effect=True)
        for attribute in ("mean", "variance"):
            torch.testing.assert_close(getattr(own, attribute), getattr(other, attribute),
                                       rtol=2e-3, atol=1e-6)
            torch.testing.assert_close(getattr(known, attribute), getattr(own, attribute))
    drawn = summed.draw_rates(source.bags, all_known, 20_000, 0)
    expected = summed.at(source.bags)
    torch.testing.assert_close(drawn.mean(0), expected.mean, atol=0.01, rtol=0)
    torch.testing.assert_close(drawn.var(0).sqrt(), expected.variance.sqrt(), atol=0.01, rtol=0.03)
    positives = summed.simulate_bags(source.bags, all_known, 20_000, 0)
    torch.testing.assert_close(positives.mean(0), expected.mean * source.bags.trials, rtol=0.05,
                               atol=0.1)
    effect = summed.components(source.bags, known=all_known)["area effect"]
    torch.testing.assert_close(effect.mean, torch.zeros_like(effect.mean))
    torch.testing.assert_close(effect.std, torch.full_like(effect.std, std))


@pytest.mark.parametrize("options", [{"link": "exp"}, {"link": "square"}])
def test_sums_over_the_features_of_areas_leave_out_what_is_zero(monkeypatch, options):
    """Values, gradients and marginals are those of a whole table, and it is that of the kernel."""
    source = panel("count", "sum", equal=False)
    bags = replace(source.bags, recurring=torch.where(
        source.bags.recurring == 3, -1, source.bags.recurring))
    source = replace(source, bags=bags)
    model = VBAgg(persistence="area", nugget="learn", inducing=6, **options)

    def profile() -> tuple[VariationalState, list[float]]:
        state = VariationalState(model, source)
        value = state.profile()
        value.backward()
        return state, [float(value), *state.hyperparameters.gradient().tolist()]

    state, found = profile()
    field, x = state.field, state.x
    term, z, (start, stop) = field.terms[-1], field.inducing[-1], field.blocks()["persistent"]
    assert len(z) == AREAS - 1 and len(set(term.kept(term.numbers(z)).tolist())) == AREAS - 1
    seen = field.project(x)
    root = torch.linalg.cholesky(term(z, z))
    wanted = torch.linalg.solve_triangular(root, term(z, x), upper=False)
    torch.testing.assert_close(seen.features[:, start:stop], wanted.mT)

    def whole(self, covariance):
        return ((self.features @ covariance) * self.features).sum(1)

    mean, variance = field.marginals(x)
    torch.testing.assert_close(mean, seen.offset + seen.features @ field.q_mean)
    torch.testing.assert_close(variance, seen.residual + whole(seen, field.q_covariance))
    monkeypatch.setattr("workbench.gp.fields.inducing.Projection._form", whole)
    np.testing.assert_allclose(profile()[1], found, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")     # of short fits
def test_no_area_need_be_known():
    """What was learnt over periods goes with data of one, and of surveys with unknown places."""
    source = panel("count", "sum")
    learnt = VBAgg(inducing=5, max_steps=2, average=0).fit(source)
    values = {name: one["value"] for name, one in learnt.hyperparameters.items()}
    assert "persistent.variance" in values
    year = source.bags.run(slice(0, AREAS), slice(0, AREAS * EACH))
    year = Source(year, Targets(source.targets.value[:AREAS]), "sum", "count")
    surveyed = survey()
    unknown_places = replace(surveyed, bags=unknown(surveyed.bags))
    nowhere = replace(surveyed, bags=replace(surveyed.bags, recurring=None))
    for data, given in ((year, values), (unknown_places, SURVEYED), (nowhere, SURVEYED)):
        model = VBAgg(inducing=5) if data is year else Constant()
        fit = model.condition(data, given)
        for area_effect in (False, True):
            known = torch.arange(data.bags.count)
            found = fit.over(data.bags, known, area_effect=area_effect)
            assert torch.isfinite(found.mean).all() and (found.variance > 0).all()
    assert np.isfinite(VBAgg(inducing=5, max_steps=2).fit(unknown_places).objective)
