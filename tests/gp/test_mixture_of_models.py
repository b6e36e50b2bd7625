"""A mixture of fits to one source, and a fit that another process ended with."""

import json

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.models.base import Model
from workbench.gp.models.keeping import Kept
from workbench.gp.models.vbagg import design
from workbench.gp.models.vbagg.mixture import MixtureFit
from workbench.gp.models.vbagg.model import VBAgg

WEIGHTS = {"low": 0.2, "unused": 0.0, "high": 0.6}      # not normalised: shares 1/4 and 3/4
TRAINED = torch.arange(4)
ASKED = ("latent", "at", "over", "draw_latent", "draw_rates", "draw_totals", "simulate_bags",
         "simulate_individuals", "preserve", "log_density")


@pytest.fixture(scope="module")
def source():
    return made.counts(made.bags((4, 3, 6, 2)), scale=2.0)


@pytest.fixture(scope="module")
def fits(source):
    """Two fits a factor of e² apart, as near certain, and one that must not be asked."""
    def held(mean):
        return VBAgg(inducing=5).condition(source, {
            "mean": mean, "matern32.variance": 1e-4, "matern32.lengthscale": 40.0,
            "area.std": 0.05, "nugget.std": 0.05})

    found = {"low": held(2.0), "unused": held(0.0), "high": held(4.0)}

    def asked(*_, **__):
        raise AssertionError("a fit without weight was asked")

    for name in ASKED:
        setattr(found["unused"], name, asked)
    return found


@pytest.fixture(scope="module")
def mixture(fits):
    return MixtureFit(fits, WEIGHTS)


def test_means_are_weighted_means(mixture, fits, source):
    laws = (lambda fit: fit.latent(source.bags), lambda fit: fit.at(source.bags),
            lambda fit: fit.at(source.bags, TRAINED, area_effect=True),
            lambda fit: fit.over(source.bags, TRAINED, area_effect=True))
    for law in laws:
        low, high, both = law(fits["low"]), law(fits["high"]), law(mixture)
        torch.testing.assert_close(both.mean, 0.25 * low.mean + 0.75 * high.mean)
        second = (0.25 * (low.variance + low.mean.square())
                  + 0.75 * (high.variance + high.mean.square()))
        torch.testing.assert_close(both.variance, second - both.mean.square())


@pytest.mark.parametrize("draw", ["draw_latent", "draw_rates", "draw_totals", "simulate_bags",
                                  "simulate_individuals"])
def test_draws_come_from_one_fit_each_by_weight(mixture, source, draw):
    known = () if draw == "draw_latent" else (torch.full((4,), -1),)
    drawn = getattr(mixture, draw)(source.bags, *known, 4000, 3)
    # Sums of a draw over all units: of the two fits they are a factor of e² (2 in f) apart.
    totals = drawn.sum(1)
    low = totals < (totals.min() + totals.max()) / 2
    error = (0.25 * 0.75 / 4000) ** 0.5
    assert float(low.double().mean()) == pytest.approx(0.25, abs=5 * error)
    assert not low[:50].all() and low[:100].any()           # and they come in random order
    assert torch.equal(drawn, getattr(mixture, draw)(source.bags, *known, 4000, 3))


def test_totals_are_preserved_by_every_draw(mixture, source):
    wanted = source.targets.value
    for drawn in mixture.preserve(source.bags, TRAINED, wanted, 40, 0):
        sums = torch.zeros(40, 4).double().index_add(1, source.bags.membership, drawn)
        torch.testing.assert_close(sums, wanted.expand(40, 4))


def test_density_is_that_of_the_mixture(mixture, fits, source):
    y = source.targets.value
    rows = mixture.log_density(y, source.bags, None, "bag", 200, 0)
    got = torch.logsumexp(rows, 0) - np.log(len(rows))
    parts = [torch.logsumexp(part, 0) - np.log(len(part)) for part in (
        fits[name].log_density(y, source.bags, None, "bag", 200, 0) for name in ("low", "high"))]
    torch.testing.assert_close(got.exp(), 0.25 * parts[0].exp() + 0.75 * parts[1].exp())


def test_what_is_said_of_it_is_of_the_heaviest_and_by_name(mixture, fits):
    assert mixture.state is fits["high"].state and mixture.objective == fits["high"].objective
    assert mixture.history is fits["high"].history
    assert mixture.hyperparameters == {
        name: {"weight": WEIGHTS[name], "hyperparameters": fits[name].hyperparameters}
        for name in ("low", "unused", "high")}
    assert list(mixture.fits) == list(fits) and mixture.weight_of == WEIGHTS
    assert mixture.weights.tolist() == pytest.approx([0.25, 0.75])
    assert mixture.coefficients() == {}


def test_what_a_mixture_does_not_have(mixture, source):
    with pytest.raises(InputError, match="no hyperparameters of its own"):
        mixture.with_hyperparameters({"mean": 1.0})
    with pytest.raises(InputError, match="different terms"):
        mixture.components(source.bags, "term")


# --- fits that another process ended with -----------------------------------------------------

RESTORED = {
    "effects": {}, "plain": {"overdispersion": "none", "nugget": 0.0},
    "square": {"link": "square", "kernel": "constant+ard-rbf"}, "a held value": {
        "nugget": 0.3, "hyperparameters": {"matern32.lengthscale": 40.0}},
    "negative binomial": {"likelihood": "negative-binomial"},
    "compressed": {"compress": 4},
}


def test_effects_of_a_restored_fit_are_those_it_had(source):
    """Of options that leave it open, the hyperparameters tell."""
    model = VBAgg(inducing=5)
    fit = model.condition(source, {
        "mean": 2.0, "matern32.variance": 0.3, "matern32.lengthscale": 40.0, "nugget.std": 0.2})
    again = model.recall(source, fit.keep())
    assert again.state.area_std is None
    torch.testing.assert_close(again.at(source.bags).std, fit.at(source.bags).std, rtol=1e-10,
                               atol=0)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("case", RESTORED)
def test_a_restored_fit_predicts_what_it_did(case, monkeypatch):
    source = made.counts(made.bags((30, 20, 40, 10)), scale=2.0)
    if case == "compressed":
        monkeypatch.setattr(design, "SMALL", 20)
    model = VBAgg(**{"inducing": 8, "max_steps": 20, "tolerance": 1e-3} | RESTORED[case])
    fit = Model.fit(model, source)
    assert (fit.state.learning is fit.state.geometry) == (case != "compressed")
    kept = fit.keep()
    values = {k: v["value"] for k, v in fit.hyperparameters.items()}
    again = model.recall(source, Kept(json.loads(json.dumps(kept.facts)), kept.tensors))
    assert again.history == fit.history
    assert again.objective == pytest.approx(fit.objective, rel=1e-10)
    assert {i.name for i in again.state.hyperparameters.free} == {
        i.name for i in fit.state.hyperparameters.free}
    assert again.hyperparameters.keys() == fit.hyperparameters.keys()
    new = made.bags((5, 3), seed=8)
    for bags, known in ((source.bags, TRAINED), (new, None)):
        for unit in ("at", "over"):
            one, two = (getattr(f, unit)(bags, known, area_effect=known is not None)
                        for f in (fit, again))
            torch.testing.assert_close(two.mean, one.mean, rtol=1e-10, atol=0)
            torch.testing.assert_close(two.variance, one.variance, rtol=1e-9, atol=0)
        one, two = (f.draw_rates(bags, known, 5, 0) for f in (fit, again))
        torch.testing.assert_close(two, one, rtol=1e-7, atol=0)
    assert fit.state.trained_data is not None and again.state.trained_data is not None
    if case != "compressed":        # there, moving works on the clusters, of both alike
        moved = again.with_hyperparameters({"mean": float(values["mean"]) + 0.1})
        assert moved.objective < again.objective + 1e-6
