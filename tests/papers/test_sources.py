"""Experiments on several sources in small: exact posteriors, weights, errors by station."""

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from tests.datasets.packaged import REAL, needs_files
from workbench.checks import InputError
from workbench.papers.hamelijnck2019 import biased_sources, city_air, dependent_sources, inter_task
from workbench.papers.hamelijnck2019.sources_scores import error_scores
from workbench.papers.tools.running import read_results, run_experiment

with_file = needs_files("Marylebone", "marylebone")

#: Latent variance on [3, 10] relative to the points alone, of exact posteriors worked out apart:
#: rows are powers 1, 1/2, 1/4.
ORACLE = {"induced noise": (0.544, 1.031, 1.94), "noise of points": (0.778, 1.473, 2.77),
          "noise 0.1": (0.134, 0.256, 0.485)}


@pytest.fixture(scope="module")
def dependent():
    results = run_experiment(dependent_sources.DEPENDENT)
    assert set(results["error"].values) == {""}
    return dependent_sources.DEPENDENT.table(results)


def test_exact_posteriors_of_the_oracle(dependent):
    found = dependent.loc["oracle", "relative variance"]
    for held, expected in ORACLE.items():
        got = [found[f"phi {power:g}, {held}"] for power in dependent_sources.POWERS]
        np.testing.assert_allclose(got, expected, rtol=2e-3, err_msg=held)


def test_weights_correct_the_product(dependent):
    runs = dependent.loc["released"]
    width = runs["relative variance"]
    assert width["product"] < 0.2 and 0.7 < width["ribatet"] < 1.3
    assert 0.4 < runs.loc["ribatet", "weight aggregates"] < 0.65
    assert runs.loc["product", "weight aggregates"] == 1
    assert runs.loc["product", "cover_truth"] < 0.5 < 0.85 < runs.loc["ribatet", "cover_truth"]
    assert runs.loc[dependent_sources.REFERENCE, "noise points"] == pytest.approx(0.5)


def test_every_model_of_dependent_sources_holds_the_noise_it_says():
    tree = wb.load_sources("dependent-sources", noise=1.0, size=2, aggregate_noise=0.1, points=20)
    for model, noise in {"product, induced noise": 0.5 + 0.01, "product, noise of points": 1.0,
                         "phi 1/2, induced noise": 0.51}.items():
        fit = dependent_sources.fit_model(model, tree)
        held = fit.hyperparameters
        assert held["points.noise.variance"]["value"] == pytest.approx(1.0)
        assert held["aggregates.noise.variance"]["value"] == pytest.approx(noise)
        assert float(fit.composite_weights[1]) == (0.5 if "1/2" in model else 1.0)


def test_errors_of_readings():
    row = error_scores(np.array([1.0, -2.0, 4.0]), np.array([2.0, -2.0, 2.0]))
    assert row["mse"] == pytest.approx(5 / 3) and row["rmse"] == pytest.approx((5 / 3) ** 0.5)
    assert row["mape"] == pytest.approx(0.5) and row["wape"] == pytest.approx(3 / 7)
    assert error_scores(np.array([0.0, 1.0]), np.array([1.0, 1.0]))["mape"] == np.inf
    with pytest.raises(InputError, match="zero"):
        error_scores(np.zeros(2), np.ones(2))


def test_the_map_between_biased_sources_is_worth_more_than_trust_in_them():
    results = run_experiment(biased_sources.BIASED)
    assert set(results["error"].values) == {""}
    table = biased_sources.BIASED.table(results).loc["released"]
    error = results.set_index(run="model")["rmse"]
    assert float(error.sel(run="mr-dgp")) < 0.5 < 1.3 < float(error.sel(run="vbagg-normal"))
    assert table.loc["truth", "mape"] > 0.2 > 0.05 > table.loc["truth", "wape"]
    assert table.loc["mr-dgp", "paper (rmse, mape)"] == "0.19, 0.02"


@with_file
def test_pm25_in_a_gap(monkeypatch):
    monkeypatch.setenv("WORKBENCH_DATA", str(REAL))
    results = run_experiment(inter_task.INTER)
    assert set(results["error"].values) == {""}
    table = inter_task.INTER.table(results)["of constant"]
    assert table["constant", 10] == 1
    # PM2.5 alone knows nothing in this gap; PM10 tells.
    assert table["mr-dgp", 10] < min(0.9, 0.7 * table["single GP", 10])
    assert 0 < table["single GP", 10] < 1.1
    assert table["mr-gprn (paper's start)", 10] < 0.7 * table["single GP", 10]


def test_a_missing_file_is_told_of_in_the_row(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    out = tmp_path / "gap.nc"
    run_experiment(inter_task.INTER, out=out, only={"model": inter_task.CONSTANT})
    message, = read_results(out)["error"].values
    assert "InputError" in message and "marylebone" in message


def test_every_model_of_the_hourly_city_learns_its_kernel(monkeypatch):
    monkeypatch.setitem(city_air.WORLDS, city_air.HOURLY,
                        {"stations": 6, "hours": 6, "every": 1, "points": 2})
    for name, (kind, options) in city_air.ARD_MODELS.items():
        small = {"max_steps": 3} | ({"inducing": 10} if "inducing" in options else {})
        small |= {"joint_steps": 2} if kind == "mr-dgp" else {}
        monkeypatch.setitem(city_air.ARD_MODELS, name, (kind, options | small))
    rows = {name: city_air.HOURLY_CITY.score(
        {"world": city_air.HOURLY, "seed": 1, "model": name}) for name in city_air.ARD_MODELS}
    for name, row in rows.items():
        assert np.isfinite([row["station_rmse"], row["crps"], row["cover_reading"]]).all(), name
        assert any(k.startswith("learnt ") and k.endswith("rbf.variance") for k in row), name
    errors = {name: round(row["station_rmse"], 6) for name, row in rows.items()}
    assert len(set(errors.values())) == len(errors), errors



def test_stations_of_the_small_city():
    results = run_experiment(city_air.CITY)
    assert set(results["error"].values) == {""}
    found = results.set_index(run="model")
    assert set(found["run"].values) == {
        "station mean", "single GP", "centre-point GP", "vbagg-normal", "mr-dgp"}
    assert np.isnan(found["cover_reading"].sel(run="station mean"))
    rmse, both = found["station_rmse"], ["centre-point GP", "vbagg-normal", "mr-dgp"]
    assert (rmse.sel(run=both) < rmse.sel(run="single GP")).all()      # the satellite helps
    fits = found.sel(run=["single GP", "vbagg-normal", "mr-dgp"])
    assert (fits["cover_station_low"] <= fits["cover_reading"]).all()
    assert (fits["cover_station_high"] >= fits["cover_reading"]).all()


def test_errors_by_station():
    names = np.repeat(["a", "b"], 2)
    target = xr.Dataset({"value": ("bag", [1.0, 1.0, 2.0, 2.0])}, coords={
        "station": ("individual", names),
        "kind": ("individual", np.where(names == "a", "road", "background"))})
    draws = np.tile([1.0, 5.0, 2.0, 2.0], (3, 1)) + np.linspace(-0.1, 0.1, 3)[:, None]
    row = city_air.by_station(target, np.array([1.0, 1.0, 5.0, 5.0]), draws)
    assert row["station_rmse"] == pytest.approx(1.5) and row["rmse_road"] == pytest.approx(0)
    assert row["station_mape"] == pytest.approx(0.75) and row["rmse_background"] == pytest.approx(3)
    assert row["station_rmse_sd"] == pytest.approx(3 / 2**0.5)
    assert (row["cover_station_low"], row["cover_station_high"]) == (0.5, 1.0)
    assert (row["cover_road"], row["cover_background"]) == (0.5, 1.0)
