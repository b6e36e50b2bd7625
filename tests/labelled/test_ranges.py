"""Numbers that a floating point type cannot hold, and totals that say nothing: errors, not maps."""

from inspect import signature

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.checks import FitWarning, InputError
from workbench.gp.predictive import LogNormal
from workbench.labelled.predictive import LabelledPredictive

MODELS = {"constant": wb.Constant, "vbagg": wb.VBAgg, "centre-point": wb.CentrePointGP}


@pytest.fixture(scope="module")
def ds():
    return wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)


def scaled(ds, factor: float):
    """The same with weights in other units."""
    return ds.assign(weight=ds["weight"].copy(data=ds["weight"].values * factor))


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
@pytest.mark.parametrize("factor", [1e-30, 1e30])
@pytest.mark.parametrize("name", MODELS)
def test_a_spread_beyond_float32_is_an_error_and_names_float64(ds, name, factor):
    far, small = scaled(ds, factor), dict(max_steps=3)
    if "inducing" in signature(MODELS[name]).parameters:
        small["inducing"] = 6
    single = MODELS[name](dtype="float32", **small).fit(far)
    with pytest.raises(InputError, match="standard deviations .* dtype='float64'"):
        _ = single.at(far).std
    with pytest.raises(InputError, match="dtype='float64'"):
        single.to_dataset(far)
    std = MODELS[name](**small).fit(far).at(far).std
    assert bool((np.isfinite(std) & (std > 0)).all())


@pytest.mark.parametrize("factor", [1e-42, 1e40])
def test_weights_beyond_float32_are_refused_before_the_fit(ds, factor):
    with pytest.raises(InputError, match="beyond the range of float32; use dtype='float64'"):
        wb.Constant(dtype="float32").fit(scaled(ds, factor))


def test_an_infinite_variance_in_float64_is_said_and_its_quantiles_stand():
    law = LogNormal(torch.zeros(3).double(), torch.tensor([1.0, 30.0, 30.0]).double())
    told = LabelledPredictive(law, {}, "individual", "", "rate")
    with pytest.warns(FitWarning, match="2 of 3 standard deviations of the rate are infinite"):
        std = told.std
    assert np.isinf(std.values).tolist() == [False, True, True]
    assert np.isfinite(told.quantile([0.05, 0.95])).all()


@pytest.mark.parametrize("link", ["exp", "square"])
@pytest.mark.parametrize("overdispersion", ["none", "area"])
@pytest.mark.parametrize("name", MODELS)
def test_totals_that_are_all_zero_have_one_answer(ds, name, overdispersion, link):
    empty = ds.assign(value=ds["value"] * 0)
    empty["value"].attrs = ds["value"].attrs
    with pytest.raises(InputError, match="all 12 counts are zero, so .* nothing to map") as error:
        MODELS[name](link=link, overdispersion=overdispersion).fit(empty)
    assert "link=" not in str(error.value)      # no other option would help
    with pytest.raises(InputError, match="all 12 counts are zero") as error:
        wb.Auto(effort="quick", workers=1).fit(empty)
    assert str(error.value).count("counts are zero") == 1


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_a_move_from_an_averaged_fit_says_that_it_is_one_setting(ds):
    fit = wb.VBAgg(inducing=6, average=6, overdispersion="area").fit(ds)
    assert any("averaged over" in note for note in fit.notes)
    moved = fit.with_hyperparameters({"area.std": 0.3})
    assert any("not averaged over" in note for note in moved.notes)
    assert "not averaged over" in moved.summary()
    assert not any("not averaged over" in note for note in fit.notes)
