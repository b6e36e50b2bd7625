"""By what steps the best q is found, and how fast; that it is the best is in test_training.py."""

import pytest
import torch

from workbench.gp.optimisation import natural_gradient
from workbench.gp.optimisation.natural_gradient import _at, _state_of, _step, optimise

SIZE = 8
EYE = torch.eye(SIZE).double()


def counts(seed):
    """An objective of a Gaussian: few counts and many, each of its own log rate."""
    draws = torch.Generator().manual_seed(seed)
    mix = torch.randn(SIZE, SIZE, generator=draws).double()
    rates = 3 + 2 * torch.randn(SIZE, generator=draws).double()
    y = torch.poisson(rates.exp(), generator=draws)

    def objective(mean, covariance):
        log_rate = 3 + mix @ mean
        variance = torch.einsum("ij,jk,ik->i", mix, covariance, mix)
        expected = y * log_rate - (log_rate + variance / 2).exp()
        kl = 0.5 * (mean @ mean + covariance.trace() - SIZE - torch.logdet(covariance))
        return expected.sum() - kl

    return objective


@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_start_far_away_takes_few_evaluations_and_no_l_bfgs(seed, monkeypatch):
    calls, objective = [], counts(seed)

    def counted(mean, covariance):
        calls.append(1)
        return objective(mean, covariance)

    def never(*args):
        raise AssertionError("L-BFGS took over")

    monkeypatch.setattr(natural_gradient, "polish", never)
    found = optimise(counted, torch.zeros(SIZE).double(), 0.01 * EYE)
    assert found.decrement <= 1e-7 * (1 + abs(found.value)) and len(calls) <= 30


def test_a_short_step_is_followed_by_longer_ones():
    objective = counts(0)
    state = _state_of(objective, torch.zeros(SIZE).double(), 0.01 * EYE)
    for rate in (0.01, 0.1):
        reached, following = _step(objective, [state], rate)
        assert reached.value > state.value and following == pytest.approx(2.5 * rate)


def test_the_metric_of_acceleration_is_that_of_the_decrement():
    state = _state_of(counts(1), 0.1 * torch.ones(SIZE).double(), 0.3 * EYE + 0.1)
    again = _at(counts(1), state.natural, SIZE)         # its root is upper triangular
    for one in (state, again):
        torch.testing.assert_close(one.root @ one.root.mT, state.covariance)
        change = one.residual[SIZE:].reshape(SIZE, SIZE)
        mean = one.root.mT @ (one.residual[:SIZE] - change @ one.mean)
        spread = one.root.mT @ change @ one.root
        length = mean.square().sum() + spread.square().sum() / 2
        assert float(length) == pytest.approx(2 * state.decrement, rel=1e-8)


def test_a_residual_that_comes_twice_has_no_share():
    objective = counts(2)
    first = _state_of(objective, torch.zeros(SIZE).double(), 0.01 * EYE)
    second = _step(objective, [first], 1.0)[0]
    twice, once = (natural_gradient._accelerated(history)
                   for history in ([first, second, second], [first, second]))
    torch.testing.assert_close(twice, once, rtol=1e-6, atol=1e-6)
