"""Sources of different likelihoods behind one field."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.data.bags import Source, Targets
from workbench.gp.models.registry import MODELS
from workbench.gp.models.several_sources.mixed import MRVBAgg

OPTIONS = {"kernel": "matern32", "inducing": 20, "max_steps": 60, "tolerance": 1e-4}


def two(seed=0):
    """Counts of large bags, and measured rates of points in other places."""
    bags = made.bags((6,) * 30, seed=seed)
    counts = replace(made.counts(bags, scale=0.5), name="counts")
    points = made.bags((1,) * 40, seed=seed)
    rate = made.rates(points)
    value = rate * np.exp(0.02 * np.random.default_rng(seed).standard_normal(40)) * 0.5
    measured = Source(points, Targets(torch.as_tensor(value)), "mean", "continuous", "measured")
    return counts, measured


def test_one_source_is_vbagg():
    counts = two()[0]
    exact = OPTIONS | {"tolerance": 1e-9, "max_steps": 200}
    fit = MRVBAgg(**exact).fit(counts)
    plain = {"overdispersion": "none", "nugget": 0.0}       # as its defaults are
    peer = MODELS["vbagg"](link="exp", **plain, **exact).fit(counts)
    assert fit.objective == pytest.approx(peer.objective, abs=1e-3)
    again = MODELS["vbagg"](link="exp", **OPTIONS).condition(counts, fit.hyperparameters)
    torch.testing.assert_close(fit.at(counts.bags).mean, again.at(counts.bags).mean, rtol=1e-4,
                               atol=1e-6)


def test_the_bound_is_the_sum_of_the_sources_less_one_divergence():
    from workbench.gp.numerics.linalg import standard_normal_kl

    counts, measured = two()
    fit = MRVBAgg(**OPTIONS).fit([counts, replace(measured, trust=0.5)])
    state, total = fit.state, 0.0
    kl = standard_normal_kl(state.field.q_mean, state.field.q_covariance)
    for inner, power in zip(state.states, (1.0, 0.5), strict=True):
        alone = inner.objective(inner.trained_data, state.field.q_mean, state.field.q_covariance)
        total += float((alone + kl).detach())
        assert inner.source.trust == power
    assert fit.objective == pytest.approx(total - float(kl), abs=1e-6)


def test_measured_points_sharpen_the_map_of_counts():
    counts, measured = two()
    truth = torch.as_tensor(made.rates(counts.bags)) * 0.5
    errors, widths = {}, {}
    for name, sources in (("counts", [counts]), ("both", [counts, measured])):
        law = MRVBAgg(**OPTIONS).fit(sources).at(counts.bags)
        errors[name] = float((law.mean / truth).log().square().mean().sqrt())
        widths[name] = float((law.std / law.mean).mean())
    assert errors["both"] < errors["counts"]
    assert widths["both"] < widths["counts"]


def test_each_source_answers_with_its_own_link():
    counts, measured = two()
    logs = replace(measured, targets=Targets(measured.targets.value.log()))
    fit = MRVBAgg(**OPTIONS, links={"measured": "identity"},
                  likelihoods={"measured": "normal"}).fit([counts, logs])
    rate, log_rate = fit.at(counts.bags), fit.at(counts.bags, source="measured")
    torch.testing.assert_close(rate.quantile(0.5).log(), log_rate.quantile(0.5))
    draws = fit.simulate_bags(counts.bags, None, 50, 0)
    assert torch.equal(draws, draws.round())
    assert fit.simulate_bags(logs.bags, None, 50, 0, source="measured").std() > 0
    assert fit.noise_std(logs.bags, "measured").shape == (40,)
    with pytest.raises(InputError, match="only Normal sources"):
        fit.noise_std(counts.bags, "counts")


def test_refusals():
    counts, measured = two()
    with pytest.raises(InputError, match="did you mean 'measured'"):
        MRVBAgg(likelihoods={"measurd": "normal"}).fit([counts, measured])
    with pytest.raises(InputError, match="did you mean 'poisson'"):
        MRVBAgg(likelihoods={"counts": "posson"})
    with pytest.raises(InputError, match="needs positive rates"):
        MRVBAgg(links={"counts": "identity"}).fit([counts, measured])
