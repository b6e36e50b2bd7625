"""What the summary of a mixture says of values that are no counts: shares, and sums of amounts."""

import re

import numpy as np
import pytest

import workbench as wb
from tests.reference import country
from workbench.evaluation.evidence import FLAT_RATE
from workbench.labelled import candidates
from workbench.labelled.about_values import largest_share
from workbench.labelled.verdict import MIXTURE

MEAN = {"kind": "continuous", "aggregation": "mean"}


@pytest.fixture(scope="module")
def ds():
    return country(bags=24, size=4)


@pytest.fixture
def quick(monkeypatch):
    """With the two cheapest candidates."""
    few = tuple(one for one in candidates.CANDIDATES if one.name in ("flat", "slopes"))
    monkeypatch.setattr(candidates, "CANDIDATES", few)
    return wb.Auto(effort="quick", workers=1)


def valued(ds, value, **attrs):
    return ds.drop_vars(["truth", "individual_value"]).assign(value=("bag", value, attrs))


def mean_of_areas(ds):
    return np.bincount(ds["membership"], ds["covariates"][:, 0]) / np.bincount(ds["membership"])


@pytest.mark.parametrize("least, most, attrs, top", [
    (0.92, 0.99, {}, 1), (0.0, 0.3, {"units": "value units"}, 1), (0.001, 0.02, {}, 0),
    (-0.1, 0.9, {}, 0), (0.5, 1.1, {}, 0), (0.9, 1.0, {"aggregation": "sum"}, 0),
    (0.9, 1.0, {"kind": "count"}, 0), (40.0, 98.0, {}, 0), (40.0, 98.0, {"units": "%"}, 100),
    (40.0, 98.0, {"long_name": "vaccinated_pct"}, 100), (40.0, 100.0, {"units": "per cent"}, 100),
    (40.0, 98.0, {"long_name": "Percentage with water"}, 100), (1.0, 8.0, {"units": "%"}, 0),
    (40.0, 98.0, {"long_name": "percentile of income"}, 0),
    (40.0, 98.0, {"units": "mm per century"}, 0), (40.0, 98.0, {"long_name": "in percents"}, 100),
    (40.0, 130.0, {"units": "%"}, 0)])
def test_values_that_look_like_shares(ds, least, most, attrs, top):
    value = np.linspace(least, most, ds.sizes["bag"])
    assert largest_share(valued(ds, value, **MEAN | attrs)) == top


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
def test_a_map_of_shares_is_said_to_have_no_upper_end(ds, quick):
    share = 1 / (1 + np.exp(-3 - mean_of_areas(ds)))
    for factor, units in ((1, ""), (100, "%")):
        made = valued(ds, factor * share, units=units, **MEAN)
        fit = quick.fit(made)
        assert f"map and its intervals may exceed {factor}, as" in fit.summary()
        assert "(trials=)" in fit.summary()
        assert float(fit.at(made).quantile([0.975]).max()) > factor
    kelvin = quick.fit(valued(ds, 280 + share, units="K", **MEAN))
    assert "may exceed" not in kelvin.summary()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
def test_sums_of_amounts_are_not_called_means_and_how_to_keep_them_is_said(ds, quick):
    made = valued(ds, 1.7 * ds["value"].values, units="t", kind="continuous", aggregation="sum")
    fit = quick.fit(made)
    text = fit.summary()
    assert fit.recovery["model"].values.tolist() == ["flat", "slopes", FLAT_RATE, MIXTURE]
    assert FLAT_RATE in fit.verdict and "flat map" not in text
    assert "predicted from totals of merged areas" in text and "means do" not in text
    assert "preserve_totals=True" in text and "--rescale-to-totals" in text
    of_area = np.bincount(ds["membership"], ds["weight"] * fit.to_dataset(made)["mean"])
    assert not np.allclose(of_area, made["value"])
    kept = fit.to_dataset(made, preserve_totals=True, samples=20)
    np.testing.assert_allclose(np.bincount(ds["membership"], ds["weight"] * kept["mean"]),
                               made["value"])
    means = quick.fit(valued(ds, 280 + mean_of_areas(ds), units="K", **MEAN)).summary()
    assert "predicted from means of merged areas" in means and "add up" not in means
    assert "means: the map of an area has the mean that is expected there, not the one" in means
    assert "of these it misses " in means and "--rescale-to-totals, keep every mean" in means


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
def test_of_points_the_error_of_a_measurement_is_said_that_the_map_has_not(quick):
    made = valued(country(bags=24, size=1), np.random.default_rng(1).normal(5, 2, 24), **MEAN)
    fit = quick.fit(made)
    said = re.search(r"places: .* of a std of ([\d.]+): fit.sample and", fit.summary())
    drawn = fit.simulate(made, "individual", samples=4000, seed=0).var("sample")
    beyond = float((drawn - fit.at(made).variance).mean())
    assert float(said[1]) == pytest.approx(beyond**0.5, rel=0.05)
    areas = valued(country(bags=24, size=4), np.random.default_rng(1).normal(5, 2, 24), **MEAN)
    assert "places:" not in quick.fit(areas).summary()
