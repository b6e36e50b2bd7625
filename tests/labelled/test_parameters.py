"""Models in scikit-learn's manner: their parameters, clones and equality."""

import copy
import functools
import threading

import gpytorch
import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from gpytorch import priors
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


@pytest.mark.parametrize(("prior", "another"), [
    (priors.GammaPrior(3.0, 6.0), priors.GammaPrior(3.0, 5.0)),
    (priors.LogNormalPrior(0.0, 1.0), priors.LogNormalPrior(0.0, 2.0)),
    (priors.UniformPrior(0.0, 1.0), priors.UniformPrior(0.0, 2.0)),
    (priors.HalfCauchyPrior(1.0), priors.HalfCauchyPrior(2.0)),
    (priors.SmoothedBoxPrior(0.1, 2.0), priors.SmoothedBoxPrior(0.1, 3.0))])
def test_kernels_with_a_prior_are_compared_by_it(prior, another):
    def model(one):
        inner = gpytorch.kernels.RBFKernel(lengthscale_prior=one)
        return wb.VBAgg(kernel=gpytorch.kernels.ScaleKernel(inner))

    given = model(prior)
    assert clone(given) == given and copy.deepcopy(given) == given
    assert model(copy.deepcopy(prior)) == given != model(another)
    clone(given).options.kernel.base_kernel.lengthscale_prior.log_prob(torch.tensor(0.5))
    assert clone(given) == given


@pytest.mark.parametrize("kind", [pd.Series, xr.DataArray, lambda value: tuple(value)])
def test_starting_values_of_pandas_and_xarray_are_compared_as_a_whole(kind):
    model = wb.VBAgg(initial={"matern32.lengthscale": kind([1.0, 2.0])})
    assert clone(model) == model
    assert wb.VBAgg(initial={"matern32.lengthscale": kind([1.0, 3.0])}) != model
    assert wb.VBAgg(initial={"matern32.lengthscale": 1.0}) != model


class Trend:
    """A mean function with a slope, which holds itself, as caches do."""

    def __init__(self, slope):
        self.slope, self.itself = slope, self

    def __call__(self, columns):
        return self.slope * columns["x"]

    def called(self, columns):
        return self(columns)


class Silent(Trend):
    __slots__ = ("lock",)

    def __init__(self, slope):
        super().__init__(slope)
        self.lock = threading.Lock()

    def __deepcopy__(self, memo):
        return Silent(self.slope)


def scaled(slope, columns):
    return slope * columns["x"]


@pytest.mark.parametrize("make", [
    Trend, lambda slope: Trend(slope).called, lambda slope: functools.partial(scaled, slope)])
def test_functions_with_a_state_are_compared_by_it(make):
    model = wb.CMP(mean_function=make(2.0))
    assert copy.deepcopy(model) == model == wb.CMP(mean_function=make(2.0))
    assert wb.CMP(mean_function=make(3.0)) != model != wb.CMP(mean_function=scaled)
    assert wb.CMP(mean_function=Silent(2.0)) != wb.CMP(mean_function=Silent(2.0))
    assert wb.CMP(mean_function=lambda c: c) != wb.CMP(mean_function=lambda c: c)


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


def test_mappings_of_options_are_copied():
    fixed = {"rbf.lengthscale": 1.0}
    model = wb.VBAgg(kernel="rbf", hyperparameters=fixed)
    other = wb.VBAgg().set_params(kernel="rbf", hyperparameters=fixed)
    fixed["rbf.lengthscale"] = 9.0
    for one in (model, other):
        assert one.get_params()["hyperparameters"] == {"rbf.lengthscale": 1.0}
