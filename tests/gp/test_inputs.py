"""Standardised inputs: statistics, transforms, clamping, extrapolation, natural units."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.models.vbagg.model import VBAgg


def skewed():
    bags = made.bags((4, 6, 3, 5), covariates=2)
    x = bags.x.clone()
    x[:, 1] = x[:, 1].mul(2).exp()
    return replace(bags, x=x)


def test_covariates_have_unit_scale_and_coordinates_one_common_scale():
    bags = skewed()
    out = fit_inputs(bags)(bags.x)
    torch.testing.assert_close(out.mean(0), torch.zeros(4).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(out[:, :2].std(0, unbiased=False), torch.ones(2).double())
    # Distances on the map keep their shape.
    ratio = torch.pdist(out[:, 2:]) / torch.pdist(bags.x[:, 2:])
    torch.testing.assert_close(ratio, ratio[:1].expand_as(ratio))


def test_yeo_johnson_is_scipys_and_leaves_coordinates():
    bags = skewed()
    fitted = fit_inputs(bags, "yeo-johnson")
    out = fitted(bags.x)
    for column in (0, 1):
        expected, power = stats.yeojohnson(bags.x[:, column].numpy())
        assert fitted.powers[column] == pytest.approx(power, abs=1e-3)
        expected = (expected - expected.mean()) / expected.std()
        np.testing.assert_allclose(out[:, column], expected, atol=1e-3)
    torch.testing.assert_close(out[:, 2:], fit_inputs(bags)(bags.x)[:, 2:])
    assert abs(stats.skew(out[:, 1])) < abs(stats.skew(bags.x[:, 1]))


@pytest.mark.parametrize("transform", ["standardise", "yeo-johnson"])
def test_constant_covariates_are_harmless(transform):
    bags = made.bags((4, 6, 3))
    bags = replace(bags, x=torch.cat([torch.full((13, 1), 0.1).double(), bags.x[:, 1:]], 1))
    fitted = fit_inputs(bags, transform)
    assert torch.isfinite(fitted(bags.x)).all()
    assert (fitted.outside(bags.x) == 0).all()
    assert torch.isinf(fitted.outside(bags.x + 1.0)[:, 0]).all()


def test_extrapolation_is_measured_in_ranges_of_area_means():
    bags = skewed()
    fitted = fit_inputs(bags)
    means = bags.centres().x
    low, high = means.amin(0), means.amax(0)
    torch.testing.assert_close(fitted.lower, low)
    x = torch.stack([low, high, high + 0.5 * (high - low), low - 2 * (high - low)])
    got = fitted.outside(x)
    torch.testing.assert_close(got[:, 0], torch.tensor([0, 0, 0.5, 2.0]).double())
    assert (got[:, 2:] == 0).all()


def test_clamping_moves_covariates_to_the_edge_and_not_coordinates():
    bags = skewed()
    fitted = fit_inputs(bags, extrapolation="clamp")
    far = fitted.upper + 100
    out = fitted(far[None])
    edge = fit_inputs(bags)(fitted.upper[None])
    torch.testing.assert_close(out[:, :2], edge[:, :2])
    assert (out[:, 2:] > edge[:, 2:]).all()


@pytest.mark.parametrize("transform", ["standardise", "yeo-johnson"])
@pytest.mark.parametrize("extrapolation", ["linear", "clamp"])
def test_natural_units_go_out_and_in_with_identical_predictions(transform, extrapolation):
    source = made.continuous(skewed())
    model = VBAgg(kernel="linear+ard-rbf+matern32", likelihood="normal", link="identity",
                  transform=transform, extrapolation=extrapolation, inducing=10, tolerance=1e-3)
    fit = model.fit(source)
    again = model.condition(source, fit.hyperparameters)
    torch.testing.assert_close(fit.at(source.bags).mean, again.at(source.bags).mean, rtol=1e-6,
                               atol=1e-8)
    unit = fit.hyperparameters["rbf.lengthscale"]["unit"]
    assert unit == ("sd of inputs" if transform == "yeo-johnson" else "")
    assert fit.hyperparameters["matern32.lengthscale"]["unit"] == "km"


def test_unknown_choices_and_columns():
    bags = skewed()
    with pytest.raises(InputError, match="did you mean 'yeo-johnson'"):
        fit_inputs(bags, "yeojohnson")
    with pytest.raises(InputError, match="4 input columns.*c0, c1, x, y.*got 3"):
        fit_inputs(bags)(bags.x[:, 1:])
