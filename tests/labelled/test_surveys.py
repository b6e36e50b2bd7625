"""Surveys as datasets: positives out of trials, from the file to scores on held-out bags."""

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from tests.reference import country
from workbench.checks import InputError
from workbench.labelled import data_hash, to_source

OPTIONS = {"inducing": 12, "tolerance": 1e-2, "max_steps": 60}


@pytest.fixture(scope="module")
def ds():
    """The reference country, surveyed: a hundred people or so tested in each bag."""
    made = country(bags=30, size=4)
    rng, members = np.random.default_rng(0), made["membership"].values
    probability = 1 / (1 + np.exp(2 - 2 * made["covariates"].values[:, 0]))
    weight = made["weight"].values
    share = weight / np.bincount(members, weight)[members]
    trials = rng.integers(60, 200, 30)
    positives = np.stack([
        rng.multinomial(n, np.append(cell, 1 - cell.sum()))[:-1]
        for n, cell in zip(trials, (share * probability).reshape(30, 4), strict=True)]).ravel()
    made["truth"] = ("individual", probability)
    made["individual_value"] = ("individual", positives.astype(float))
    value = np.bincount(members, positives).astype(float)
    made["value"] = ("bag", value, {"units": "positives", "long_name": "positives",
                                    "kind": "count", "aggregation": "mean"})
    made["trials"] = ("bag", trials)
    return made


def test_trials_are_read(ds):
    source = to_source(ds)
    assert source.bags.trials.tolist() == ds["trials"].values.tolist()
    assert data_hash(ds) != data_hash(ds.assign(trials=ds["trials"] + 1))


@pytest.mark.slow
def test_a_survey_from_dataset_to_scores(ds):
    fit = wb.VBAgg(kernel="linear+matern32", **OPTIONS).fit(ds)
    rate, total = fit.at(ds), fit.over(ds)
    assert float(rate.mean.max()) < 1 and float(rate.quantile(0.999).max()) < 1
    assert float(np.abs(rate.mean - ds["truth"]).mean()) < 0.05
    assert float(np.abs(total.mean - ds["value"] / ds["trials"]).max()) < 0.15
    draws = fit.simulate(ds, samples=200)
    assert (draws <= ds["trials"]).all() and (draws == draws.round()).all()
    fine = fit.simulate(ds, "individual", samples=200)
    np.testing.assert_allclose(fine.mean("sample").groupby(ds["membership"]).sum(),
                               draws.mean("sample"), rtol=0.25, atol=1.5)
    result = wb.evaluate(fit, ds, samples=200)
    scores = result["scores"].sel(target="bag")
    assert set(result["model"].values) == {"vbagg", "constant"}
    crps = scores.sel(score="crps")
    assert float(crps.sel(model="vbagg")) < float(crps.sel(model="constant"))
    assert np.isfinite(scores.sel(score="log_score")).all()


@pytest.mark.slow
def test_held_out_surveys_are_predicted(ds):
    model = wb.VBAgg(kernel="linear+matern32", hyperparameters={
        "linear.variance": 1.0, "matern32.variance": 0.1, "matern32.lengthscale": 30.0}, **OPTIONS)
    result = wb.cross_validate(model, ds, folds=3)
    crps = result["scores"].sel(target="bag", score="crps")
    assert float(crps.sel(model="vbagg")) < 0.8 * float(crps.sel(model="constant"))


@pytest.mark.parametrize(("change", "message"), [
    (lambda ds: ds.assign(trials=ds["trials"] * 0), "more positives than trials"),
    (lambda ds: ds.assign(trials=ds["trials"] + 0.5), "negative or not whole"),
    (lambda ds: ds.assign(trials=ds["trials"] * np.nan), "trials has 30 values that are not fin"),
    (lambda ds: ds.assign(trials=("individual", np.ones(120))), "trials must have dims"),
    (lambda ds: ds.assign(value=ds["value"].assign_attrs(aggregation="sum")), "'mean', or drop"),
    (lambda ds: ds.assign(value=ds["value"].assign_attrs(kind="continuous")), "'mean', or drop"),
])
def test_wrong_surveys_are_refused(ds, change, message):
    with pytest.raises(InputError, match=message):
        to_source(change(ds))


def test_predictions_at_places_without_a_survey(ds):
    fit = wb.VBAgg(kernel="linear+matern32", **OPTIONS).fit(ds)
    elsewhere = ds.drop_vars("trials")
    xr.testing.assert_allclose(fit.at(elsewhere).mean, fit.at(ds).mean)
    with pytest.raises(InputError, match="no number of trials"):
        fit.simulate(elsewhere)
