"""Bags through inducing features: summed while the kernel is computed, as from a table of all."""

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.fields import projected
from workbench.gp.fields.projected import aggregated_data
from workbench.gp.inference.collapsed import collapsed
from workbench.gp.kernels import bag_between
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState

NORMAL = {"likelihood": "normal", "link": "identity"}
KERNELS = ["rbf", "matern12", "matern32", "matern52", "linear+matern32", "ard-rbf", "rbf*matern32"]
SETTINGS = {"seeds": {"inducing_inputs": "held"}, "averages": {"inducing_inputs": "averages"},
            "joint": {"layout": "joint"}, "few averages": {"inducing_inputs": "averages",
                                                           "inducing": 7}}


@pytest.fixture(autouse=True)
def chunks(monkeypatch):
    """Several parts of small data; averages of points, though all individuals could be these."""
    monkeypatch.setattr(bag_between, "_ENTRIES", 500)
    monkeypatch.setattr("workbench.gp.fields.averages._ALL", 10)


@pytest.fixture
def source():
    return made.continuous(made.bags((1, 2, 9, 40, 5, 3) * 5, seed=3))


def state_of(source, **options) -> VariationalState:
    return VariationalState(VBAgg(**NORMAL, inducing=options.pop("inducing", 20), **options),
                            source)


def with_gradients(state, seen) -> tuple[float, np.ndarray]:
    for item in state.hyperparameters.free:
        item.raw.grad = None
    value, mean, covariance = collapsed(seen, state.source.targets.value,
                                        state.likelihood.variance())
    (value + mean.square().sum() + covariance.sum()).backward()
    return value.item(), state.hyperparameters.gradient()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", SETTINGS)
def test_value_and_gradients_are_those_of_a_table_of_all(source, kernel, name):
    state = state_of(source, kernel=kernel, **SETTINGS[name])
    whole = with_gradients(state, state.project().aggregated())
    summed = with_gradients(state, aggregated_data(state.field, state.geometry))
    tolerance = 1e-6 if kernel == "matern12" else 1e-9     # whose slope is steep at no distance
    assert summed[0] == pytest.approx(whole[0], rel=tolerance)
    np.testing.assert_allclose(summed[1], whole[1], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "ard-rbf", "linear+matern52"])
def test_inducing_inputs_have_their_gradients(source, kernel):
    state, found = state_of(source, kernel=kernel), []
    for aggregated in (lambda: state.project().aggregated(),
                       lambda: aggregated_data(state.field, state.geometry)):
        learnt = [None if z is None else (z + 0.1).requires_grad_() for z in state.field.inducing]
        held, state.field.inducing = state.field.inducing, learnt
        collapsed(aggregated(), state.source.targets.value,
                  state.likelihood.variance())[0].backward()
        state.field.inducing = held
        found.append(torch.cat([z.grad for z in learnt if z is not None]))
    assert found[0].abs().max() > 1e-3
    torch.testing.assert_close(found[1], found[0], rtol=1e-8, atol=1e-10)


def test_gradients_are_differences(source):
    state = state_of(source, kernel="matern32", inducing_inputs="averages", inducing=7)
    state.hyperparameters.assign(state.hyperparameters.vector() + 0.3)
    gradient = with_gradients(state, aggregated_data(state.field, state.geometry))[1]
    at, step = state.hyperparameters.vector(), 1e-5

    def objective(vector) -> float:
        state.hyperparameters.assign(vector)
        value, mean, covariance = collapsed(
            aggregated_data(state.field, state.geometry), state.source.targets.value,
            state.likelihood.variance())
        return float((value + mean.square().sum() + covariance.sum()).detach())

    wanted = [(objective(at + step * unit) - objective(at - step * unit)) / (2 * step)
              for unit in np.eye(len(at))]
    np.testing.assert_allclose(gradient, wanted, rtol=1e-5, atol=1e-5)


def test_sums_without_inputs_are_zero_however_many_inputs_there_are(source):
    """Seven sums of seven inputs of which some have two, and some none."""
    state = state_of(source, kernel="matern32")
    term, x = state.field.terms[0], state.x[:7]
    some = bag_between.Sums(torch.tensor([0, 0, 2, 2, 3, 3, 6]), torch.arange(1.0, 8.0).to(x), 7)
    table = torch.zeros(7, 7).to(x)
    table[some.of, torch.arange(7)] = some.shares
    for bags, groups in ((some, bag_between.each(x)), (bag_between.each(x), some), (some, some)):
        one, other = (table if part is some else torch.eye(7).to(x) for part in (bags, groups))
        gradients = []
        for value in (bag_between.bag_between(term, x, bags, x, groups),
                      one @ term(x, x) @ other.mT):
            (parameter,) = [p for name, p in term.named_parameters() if "lengthscale" in name]
            gradients.append(torch.autograd.grad((value * table).sum(), parameter)[0])
            gradients.append(value.detach())
        torch.testing.assert_close(gradients[:2], gradients[2:])


def test_float32_stays_float32_and_close(source):
    single = state_of(source, kernel="matern12", dtype="float32", inducing_inputs="averages")
    double = state_of(source, kernel="matern12", inducing_inputs="averages")
    seen = aggregated_data(single.field, single.geometry)
    assert {seen.rows.dtype, seen.residual.dtype, seen.offset.dtype} == {torch.float32}
    torch.testing.assert_close(
        seen.rows.double() @ seen.rows.double().mT,
        (rows := aggregated_data(double.field, double.geometry).rows) @ rows.mT,
        rtol=1e-3, atol=1e-4)


def test_clusters_of_pairs_stand_for_more_than_have_a_table(source, monkeypatch):
    monkeypatch.setattr("workbench.gp.fields.geometry.MOST_PAIRS", 100)
    state, asked = state_of(source, kernel="rbf"), []
    assert state.geometry.clusters is not None
    monkeypatch.setattr(projected, "project_data", lambda *given, _real=projected.project_data: (
        asked.append(1), _real(*given))[1])
    seen = aggregated_data(state.field, state.geometry)
    torch.testing.assert_close(seen.residual, state.project().aggregated().residual)
    assert asked


def test_a_kernel_of_the_users_own_is_summed_too(source):
    import gpytorch

    own = gpytorch.kernels.ScaleKernel(gpytorch.kernels.PeriodicKernel())
    state = state_of(source, kernel=own)
    whole = with_gradients(state, state.project().aggregated())
    summed = with_gradients(state, aggregated_data(state.field, state.geometry))
    assert summed[0] == pytest.approx(whole[0], rel=1e-9)
    np.testing.assert_allclose(summed[1], whole[1], rtol=1e-7, atol=1e-8)
