"""Anderson's acceleration: its metric against the divergence, and rounds that it brings to rest."""

import pytest
import torch

from tests.gp.test_multisource import X as INPUTS
from tests.gp.test_multisource import noisy, source
from workbench.gp.models.several_sources import updates
from workbench.gp.models.several_sources.gprn import MRGPRN
from workbench.gp.models.several_sources.gprn_state import GPRNState
from workbench.gp.optimisation import acceleration
from workbench.gp.optimisation.acceleration import Rounds, mixed, whitened

SIZE = 4
# Near what is learnt, where W and f are coupled and plain rounds crawl.
EXACT = {"points.noise.variance": 0.25, "aggregates.noise.variance": 0.08,
         "f.rbf.lengthscale": 1.0, "w.rbf.lengthscale": 2.0}


@pytest.fixture(scope="module")
def pair():
    y = noisy(0)
    return [source(INPUTS, y, 1, "points"), source(INPUTS, y, 3, "aggregates")]


def gaussian(seed):
    draws = torch.Generator().manual_seed(seed)
    root = torch.randn(SIZE, SIZE, generator=draws).double() + 3 * torch.eye(SIZE)
    return torch.randn(SIZE, generator=draws).double(), root


def test_squared_lengths_are_twice_the_divergence():
    (mean, root), (towards, change) = gaussian(0), gaussian(1)
    precision = torch.linalg.inv(root @ root.mT)
    small = 1e-6
    change = small * (change + change.mT)
    row = torch.cat([small * towards, change.reshape(-1)])
    moved = precision + change
    one = torch.distributions.MultivariateNormal(mean, precision_matrix=precision)
    two = torch.distributions.MultivariateNormal(
        torch.linalg.solve(moved, precision @ mean + small * towards), precision_matrix=moved)
    length = float(whitened(row[None], mean, root).square().sum())
    assert length == pytest.approx(
        2 * float(torch.distributions.kl_divergence(one, two)), rel=5e-3)


def test_linear_steps_are_solved_in_one_more_than_there_are_directions():
    """Residuals b - A θ of three unknowns: a plain step, and three mixtures."""
    rates = torch.tensor([1.0, 0.1, 0.01]).double()
    positions = [torch.zeros(3).double()]
    for _ in range(4):
        past = torch.stack(positions)
        found = mixed(past, rates * (1 - past), lambda changes: changes)
        last = positions[-1]
        positions.append(last + rates * (1 - last) if found is None else found)
    torch.testing.assert_close(positions[-1], torch.ones(3).double(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rounds_of_functions_of_different_sizes_lead_to_what_all_of_them_tend_to(dtype):
    """Linear rounds in natural parameters, fast in one direction and slow in another."""
    goal = [(torch.ones(2), torch.eye(2)), (torch.tensor([2.0, 0, 1]), 0.5 * torch.eye(3))]
    q = [(torch.zeros(2).to(dtype), 3 * torch.eye(2).to(dtype)),
         (torch.zeros(3).to(dtype), torch.eye(3).to(dtype))]
    past = Rounds()
    for rate in (0.5, 0.5, 0.5, 0.5):
        after = []
        for (mean, covariance), (to, spread) in zip(q, goal, strict=True):
            here, there = torch.linalg.inv(covariance), torch.linalg.inv(spread.to(dtype))
            natural = (1 - rate) * here @ mean + rate * there @ to.to(dtype)
            precision = (1 - rate) * here + rate * there
            after.append((torch.linalg.solve(precision, natural), torch.linalg.inv(precision)))
        q = next(past.proposals(q, after), after)
    for (mean, covariance), (to, spread) in zip(q, goal, strict=True):
        torch.testing.assert_close(mean, to.to(dtype), rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(covariance, spread.to(dtype), rtol=1e-3, atol=1e-3)


def test_no_proposal_comes_of_one_round_or_of_what_is_no_gaussian():
    eye = torch.eye(2).double()
    one, two = (torch.zeros(2).double(), eye), (torch.ones(2).double(), 2 * eye)
    past = Rounds()
    assert list(past.proposals([one], [two])) == []
    assert list(past.proposals([two], [(torch.ones(2).double(), -eye)])) == []


def test_a_mixture_that_is_no_gaussian_is_gone_towards_as_far_as_there_are_any():
    """Precisions 4, 3, 2.1 fall by a tenth less each round: they would come to rest at -6."""
    def one(precision):
        return [(torch.zeros(1).double(), torch.eye(1).double() / precision)]

    past = Rounds()
    assert list(past.proposals(one(4.0), one(3.0))) == []
    found = [float(1 / q[0][1]) for q in past.proposals(one(3.0), one(2.1))]
    assert found == [pytest.approx(2.1 - 0.1 * 8.1)]        # the whole way and a third lead below 0


def test_rounds_of_very_many_parameters_are_not_kept(monkeypatch):
    monkeypatch.setattr(acceleration, "MOST", 5)
    eye, past = torch.eye(2).double(), Rounds()
    q = [(torch.zeros(2).double(), eye)]
    assert list(past.proposals(q, q)) == [] and not past._history


@pytest.mark.parametrize(("weights", "latent"), [("gp", 1), ("gp", 2), ("exp", 1)])
def test_the_q_of_a_network_comes_to_rest_where_no_gradient_is_left(pair, weights, latent):
    """Half the squared length of the natural gradient is what is left, in nats."""
    state = GPRNState(MRGPRN(kernel="rbf", inducing=10, latent=latent, weights=weights), pair)
    projections = [{g: v.detach() for g, v in state.projections(one).items()}
                   for one in state.full]
    assert updates.optimise_q(state, state.full, projections) < 1e-6
    q = [(m.detach().requires_grad_(), s.detach().requires_grad_()) for m, s in state.q]
    state.bound(state.full, q, projections).backward()
    left = 0.0
    for mean, covariance in q:
        change = covariance @ (covariance.grad + covariance.grad.mT)
        left += 0.5 * float(mean.grad @ covariance @ mean.grad)
        left += 0.25 * float((change * change.mT).sum())
    assert left < (1e-6 if weights == "gp" else 1e-5)


def test_acceleration_saves_rounds(pair, monkeypatch):
    def rounds():
        state = GPRNState(MRGPRN(kernel="rbf", inducing=30, hyperparameters=EXACT), pair)
        projections = [state.projections(one) for one in state.full]
        count, update = [0], updates.update

        def counted(*args, **kwargs):
            count[0] += 1
            update(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(updates, "update", counted)
            updates.optimise_q(state, state.full, projections)
        return count[0], float(state.bound(state.full, state.q).detach())

    few, reached = rounds()
    monkeypatch.setattr(Rounds, "proposals", lambda self, before, after: iter(()))
    many, plain = rounds()
    assert few < many / 4 and reached >= plain - 1e-4
