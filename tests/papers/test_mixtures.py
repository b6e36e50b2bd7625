"""Mixtures of the optima of a network's q: distances, bounds between quadratures, mirror images."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import norm

from tests.docs.pages import said
from workbench.datasets import load_sources
from workbench.papers.hamelijnck2019 import sources_scores as scores
from workbench.papers.hamelijnck2019.mixtures import _predicted, distance, mixed, optima
from workbench.papers.status.results import Results

AXIS = np.linspace(-30, 30, 60_001)


def integral(values):
    return float(np.sum(values) * (AXIS[1] - AXIS[0]))


def one_dimensional(mean, sd):
    return [(torch.tensor([mean], dtype=torch.float64),
             torch.tensor([[sd**2]], dtype=torch.float64))]


def test_a_distance_is_that_of_quadrature_and_adds_up_over_functions():
    one, other = (0.3, 0.8), (-1.1, 1.7)
    expected = -np.log(integral(np.sqrt(norm.pdf(AXIS, *one) * norm.pdf(AXIS, *other))))
    q, p = one_dimensional(*one), one_dimensional(*other)
    assert distance(q, p) == pytest.approx(expected, abs=1e-9)
    assert distance(p, q) == pytest.approx(expected, abs=1e-9) and distance(q, q) == 0.0
    assert distance(q + q, p + p) == pytest.approx(2 * expected, abs=1e-9)


@pytest.mark.parametrize("apart", [0.5, 2.0, 12.0])
def test_the_bound_of_a_mixture_lies_between_the_best_component_and_the_evidence(apart):
    density = 0.3 * norm.pdf(AXIS, -apart / 2, 1.0) + 0.1 * norm.pdf(AXIS, apart / 2, 0.6)
    evidence = np.log(integral(density))
    parts = [(-apart / 2, 0.9), (apart / 2, 0.7)]
    each = [norm.pdf(AXIS, *part) for part in parts]

    def expected(q):        # E log p̃ - log q
        inside = q > 1e-300
        return integral(q[inside] * (np.log(density[inside]) - np.log(q[inside])))

    bounds = np.array([expected(q) for q in each])
    apart_by = np.array([[distance(one_dimensional(*a), one_dimensional(*b)) for b in parts]
                         for a in parts])
    shares, bound = mixed(bounds, apart_by)
    assert shares.sum() == pytest.approx(1) and bound >= bounds.max() - 1e-6
    assert bound <= expected(shares @ np.stack(each)) + 1e-9 <= evidence + 2e-9
    if apart == 12.0:       # components that do not meet: all of the mixture's entropy is counted
        assert bound == pytest.approx(np.logaddexp(*bounds), abs=1e-3)
        assert shares == pytest.approx(np.exp(bounds - np.logaddexp(*bounds)), abs=1e-3)


def test_the_mirror_image_brings_log_two_and_the_same_map():
    tree = load_sources("dependent-sources", seed=0)
    data, target = scores.sources_of(tree, "points", "aggregates"), tree["target"].to_dataset()
    fit = scores.fitted("mr-gprn", {"kernel": "rbf", "inducing": 25, "max_steps": 12}, data)
    state, own = fit.inner.state, fit.inner.state.q
    found = optima(state, starts=3)
    assert state.q is own and [bound for bound, _ in found] == sorted(
        (bound for bound, _ in found), reverse=True)
    assert len(found) > 1 and all(bound < float(state.evidence()) + 1e-6 for bound, _ in found)
    there = _predicted(fit, target, found[1][1])[0]     # another optimum is another map
    assert state.q is own and np.abs(there - fit.at(target).mean.values).max() > 0.1
    mirror, before = [(-mean, covariance) for mean, covariance in own], fit.at(target).mean.values
    assert all(distance(mirror, q) > 0.1 for _, q in found)     # none is the image of q
    here = float(state.evidence())
    state.q = mirror
    assert float(state.evidence()) == pytest.approx(here, abs=1e-8)
    np.testing.assert_allclose(fit.at(target).mean.values, before, atol=1e-8)
    far = distance(own, mirror)
    shares, bound = mixed(np.array([here, here]), np.array([[0.0, far], [far, 0.0]]))
    assert bound - here == pytest.approx(np.log(2), abs=1e-4) and far > 10


def test_one_gaussian_is_enough_as_the_page_says():
    runs = Results(Path(__file__).parents[2] / "data" / "results").runs("mixtures")
    text = said("results")
    assert len(runs) == 30 and (runs["behind"] < 1e-6).all() and "in all thirty data sets" in text
    assert runs["optima"].between(2, 5).all() and "two to five optima" in text
    assert f"{runs['next'].min():.0f} to {runs['next'].max():.0f} nats below" in text
    assert runs["gain"].max() < 0.02 and "0.02 nats at most" in text
    assert (runs["share"] > 0.98).all() and runs["converged"].all()
    for score in ("of_constant", "crps"):
        assert (runs[f"{score} mixture"] / runs[score] - 1).abs().max() < 0.01
