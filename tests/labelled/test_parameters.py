"""Models in scikit-learn's manner: their parameters, clones and equality."""

import copy

import gpytorch
import numpy as np
import pytest
from sklearn.base import clone

import workbench as wb
from workbench.checks import InputError
from workbench.gp.models.registry import AUTO, ENTRIES


@pytest.mark.parametrize("cls", [entry.cls for entry in (AUTO, *ENTRIES.values())])
def test_a_clone_is_an_equal_model_of_its_own(cls):
    model = getattr(wb, cls)(seed=3)
    for other in (clone(model), copy.deepcopy(model), type(model)(**model.get_params())):
        assert other is not model and other == model and hash(other) == hash(model)
        assert other.options.seed == other.get_params(deep=True)["seed"] == 3
        assert other.set_params(seed=4) is other and other != model
    assert model.options.seed == 3 and model != "another"


def test_kernels_and_arrays_are_compared_by_what_they_hold():
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5))
    model = wb.VBAgg(kernel=kernel, initial={"kernel.outputscale": np.array([1.0])})
    same = clone(model)
    assert same == model and same.options.kernel is not kernel
    kernel.outputscale = 3.0
    assert same != model
    rough = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=0.5))
    assert wb.VBAgg(kernel=rough) != wb.VBAgg(
        kernel=gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5)))


@pytest.mark.parametrize(("change", "message"), [
    ({"inducing": 0}, "inducing in"), ({"induzing": 3}, "did you mean 'inducing'"),
    ({"kernel": "rbff"}, "did you mean 'rbf'")])
def test_what_the_constructor_refuses_set_params_refuses_and_changes_nothing(change, message):
    model = wb.VBAgg(kernel="rbf", link="square")
    with pytest.raises(InputError, match=message):
        wb.VBAgg(**change)
    with pytest.raises(InputError, match=message):
        model.set_params(link="exp", **change)
    assert model == wb.VBAgg(kernel="rbf", link="square")


def test_a_fit_keeps_the_options_that_it_was_made_with():
    ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
    model = wb.VBAgg(kernel="rbf", inducing=10, max_steps=2)
    fit = model.condition(ds, model.starting_values(ds))
    model.set_params(inducing=20)
    assert fit.model.options.inducing == 10 and fit.model != model


@pytest.mark.parametrize("given", [
    lambda: wb.CMP(mediator_kernel="rbff"), lambda: wb.MRGPRN(weight_kernel="ard-linear"),
    lambda: wb.VBAgg(kernel="linear+mattern32")])
def test_names_of_kernels_are_looked_at_by_the_constructor(given):
    with pytest.raises(InputError, match="did you mean|no lengthscales"):
        given()
