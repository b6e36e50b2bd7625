"""q on clusters whose mean rates are those of their members: near q on all individuals."""

from dataclasses import replace

import pytest
import torch

from tests.gp import made
from workbench.gp.inference.parts import divided, seen_in_learning
from workbench.gp.models.keeping import keep_state, recall_state
from workbench.gp.models.vbagg import correcting
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.numerics.linalg import FactorisationError

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")

OPTIONS = {"kernel": "rbf(covariates)+matern32(coordinates)", "inducing": 20}
NARROW, WIDE = (2.0, 60.0), (0.1, 2.0)      # lengthscales, beside which clusters are that


def values(link: str, lengthscales: tuple[float, float], sign: int = 1) -> dict[str, float]:
    """Hyperparameters at which rates are some 60, with much the same spread under both links."""
    variance = 1.0 if link == "exp" else 9.0
    return {"mean": 4.0 if link == "exp" else 9.0 * sign, "rbf.variance": variance,
            "matern32.variance": variance, "rbf.lengthscale": lengthscales[0],
            "matern32.lengthscale": lengthscales[1], "area.std": 0.05, "nugget.std": 0.05}


@pytest.fixture(autouse=True)
def learnt_on_clusters(monkeypatch):
    """Of which few are enough, and features of all individuals too many."""
    monkeypatch.setattr("workbench.gp.models.vbagg.design.SMALL", 10)
    monkeypatch.setattr("workbench.gp.models.vbagg.design.FEW_PAIRS", 10)
    monkeypatch.setattr("workbench.gp.models.vbagg.state.MOST_FEATURES", 100)


@pytest.fixture(scope="module")
def source():
    """Bags of twenty unlike individuals each."""
    return made.counts(made.bags((20,) * 30), scale=20.0)


def fitted(source, link, lengthscales, compress, sign=1):
    model = VBAgg(link=link, compress=compress, overdispersion="area", nugget="learn", **OPTIONS)
    return model.condition(source, values(link, lengthscales, sign))


def lacking(state):
    """What f of each cluster lacks."""
    rates = []
    with torch.no_grad():
        correcting.on_all(state, rates.append)
        return correcting.lacking(state, torch.cat(rates))


def without(monkeypatch, source, link, lengthscales, sign=1):
    """The fit to clusters as they are."""
    with monkeypatch.context() as patched:
        for module in ("state", "given"):       # where hyperparameters are learnt, and given
            patched.setattr(f"workbench.gp.models.vbagg.{module}.correct", lambda *given: None)
        return fitted(source, link, lengthscales, 3, sign)


@pytest.mark.parametrize(("link", "sign"), [("exp", 1), ("square", 1), ("square", -1)])
def test_maps_are_nearer_to_those_that_saw_all_individuals(source, link, sign, monkeypatch):
    plain = without(monkeypatch, source, link, NARROW, sign)
    corrected, whole = (fitted(source, link, NARROW, most, sign) for most in (3, 0))
    exact = whole.at(source.bags).mean.log()
    errors = [float((one.at(source.bags).mean.log() - exact).square().mean().sqrt())
              for one in (plain, corrected)]
    assert errors[1] < 0.8 * errors[0], errors
    gained = (correcting.on_all(corrected.state) - correcting.on_all(plain.state))
    assert gained > 0 and f"{gained:.3g} nats" in corrected.history.notes[-1]


@pytest.mark.parametrize("link", ["exp", "square"])
def test_wide_clusters_are_left_as_they_are_where_that_is_better(source, link, monkeypatch):
    plain = without(monkeypatch, source, link, WIDE)
    fit = fitted(source, link, WIDE, 3)
    assert fit.state.learning.shift is None
    torch.testing.assert_close(fit.state.field.q_mean, plain.state.field.q_mean)
    assert "were not fitted better" in fit.history.notes[-1]


@pytest.mark.parametrize(("link", "sign"), [("exp", 1), ("square", 1), ("square", -1)])
def test_mean_rates_of_clusters_are_those_of_their_members(source, link, sign, monkeypatch):
    state = without(monkeypatch, source, link, NARROW, sign).state
    clusters = state.design.clusters
    state.learning = replace(state.learning, shift=lacking(state))
    with torch.no_grad():
        q = state.field.q_mean, state.field.q_covariance
        mean, variance = state.field.project(state.x).marginals(*q)
        draws = mean + variance.sqrt() * torch.randn(
            20_000, len(mean), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        rate = state.link.psi(draws).mean(0)
        seen = state.project(state.learning).projection.marginals(*q)
        own = state.link.distribution(*seen).mean
        before = state.link.distribution(
            *state.field.project(clusters.bags.x).marginals(*q)).mean
    total = torch.zeros_like(own).index_add(0, clusters.of, state.bags.weight * rate)
    exact = total / clusters.bags.weight
    torch.testing.assert_close(own, exact, rtol=0.02, atol=0)
    assert float((before / exact - 1).abs().max()) > 0.05


def test_the_objective_of_all_is_the_same_in_runs(source, monkeypatch):
    fit = fitted(source, "exp", NARROW, 3)
    monkeypatch.setattr("workbench.gp.inference.parts.ENTRIES", 20 * 45)    # some bags at a time
    state = fit.state
    assert len(divided(state, state.design.sketch).bags) > 5
    with torch.no_grad():
        whole = float(state.objective(state.project(state.design.sketch), state.field.q_mean,
                                      state.field.q_covariance))
        assert correcting.on_all(state) == pytest.approx(whole, rel=1e-10)


def test_learnt_and_given_hyperparameters_find_the_same(source):
    model = VBAgg(compress=3, max_steps=2, initial=values("exp", NARROW), **OPTIONS)
    fit = model.fit(source)
    again = model.condition(source, made.values(fit))
    torch.testing.assert_close(again.at(source.bags).mean, fit.at(source.bags).mean,
                               rtol=1e-3, atol=0)
    assert "mean rates of their members" in fit.history.notes[-1]
    assert "mean rates of their members" in again.history.notes[-1]


def test_what_was_added_is_kept_and_carried_to_other_hyperparameters(source):
    fit = fitted(source, "exp", NARROW, 3)
    state = VariationalState(fit.model, source, given=values("exp", NARROW))
    again = type(fit)(fit.model, state, recall_state(state, keep_state(fit.state, fit.history)))
    assert again.objective == pytest.approx(fit.objective, rel=1e-12)
    torch.testing.assert_close(again.at(source.bags).mean, fit.at(source.bags).mean)
    same = fit.with_hyperparameters({})
    torch.testing.assert_close(same.at(source.bags).mean, fit.at(source.bags).mean, rtol=1e-3,
                               atol=0)


@pytest.mark.parametrize("link", ["exp", "square"])
def test_clusters_say_what_all_totals_together_are_expected_to_be(source, link, monkeypatch):
    for fit, bound in ((fitted(source, link, NARROW, 3), 0.01),
                       (without(monkeypatch, source, link, NARROW), 0.1)):
        whole = float(fit.over(source.bags).mean.sum())
        assert fit.fitted_sum(source.bags) == pytest.approx(whole, rel=bound)
        assert fit.fitted_sum(source.bags) != pytest.approx(whole, rel=1e-12)
        fewer = source.bags.run(slice(0, 5), slice(0, 100))     # of others all individuals
        assert fit.fitted_sum(fewer) == pytest.approx(float(fit.over(fewer).mean.sum()), rel=1e-12)


@pytest.mark.filterwarnings("ignore::workbench.checks.ApproximationWarning")
def test_settings_that_are_averaged_over_are_corrected_as_the_best_one(source):
    held = {name: value for name, value in values("exp", NARROW).items() if name != "area.std"}
    fit = VBAgg(compress=3, average=3, max_steps=20, hyperparameters=held, **OPTIONS).fit(source)
    best = fit.state.learning.shift
    assert best is not None and len(fit.members) > 1
    assert fit.fitted_sum(source.bags) == pytest.approx(
        sum(float(share) * one.fitted_sum(source.bags)
            for share, one in zip(fit.weights, fit.members, strict=True)))
    for member in fit.members:
        torch.testing.assert_close(member.state.learning.shift, best)
        before = member.state.field.q_mean.clone()
        with torch.no_grad():
            member.state.optimise_q(seen_in_learning(member.state))
        torch.testing.assert_close(member.state.field.q_mean, before, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("error", [KeyboardInterrupt, FactorisationError])
def test_what_was_found_before_is_kept_where_it_is_interrupted(source, error, monkeypatch):
    def stop(state, rate):
        raise error("stop")

    plain = without(monkeypatch, source, "exp", NARROW)
    monkeypatch.setattr(correcting, "lacking", stop)
    fit = fitted(source, "exp", NARROW, 3)
    assert fit.state.learning.shift is None
    torch.testing.assert_close(fit.at(source.bags).mean, plain.at(source.bags).mean)
    assert fit.history.cancelled == (error is KeyboardInterrupt)


def test_nothing_is_lacking_where_members_are_alike(source):
    bags = source.bags
    alike = replace(source, bags=replace(bags, x=bags.x[bags.membership * 20]))
    state = fitted(alike, "exp", NARROW, 1).state
    assert state.learning is not state.geometry
    with torch.no_grad():
        assert float(lacking(state).abs().max()) < 1e-9


def test_what_cannot_be_seen_in_runs_is_left_as_it_is(source):
    means = made.continuous(source.bags, aggregation="mean")
    fit = VBAgg(likelihood="normal", link="exp", compress=3, max_steps=2, **OPTIONS).fit(
        replace(means, targets=replace(means.targets, value=means.targets.value.exp())))
    assert fit.state.learning.shift is None
    assert "q was found on the clusters, too" in fit.history.notes[-1]
