"""A newcomer's first call on data of any kind is right, or says what is wrong."""

import warnings
from dataclasses import fields

import numpy as np
import pytest
import torch
import xarray as xr

import workbench as wb
from tests.reference import country
from workbench.checks import ConvergenceWarning, ExtrapolationWarning, FitWarning, InputError
from workbench.gp.fields.averages import one_each
from workbench.gp.models.options import VariationalOptions
from workbench.gp.models.vbagg.design import with_inducing
from workbench.gp.models.vbagg.state import VariationalState
from workbench.labelled.source import to_source


def test_counts_that_are_means_keep_their_scale():
    ds = country(bags=14, size=4)
    total = np.bincount(ds["membership"], ds["weight"])
    mean = (ds["value"].values / total).round(3) * 40
    ds["value"] = ("bag", mean, {"kind": "count", "aggregation": "mean", "units": "cases"})
    fit = wb.VBAgg(likelihood="normal", link="identity", kernel="matern32", inducing=10).fit(ds)
    law = fit.over(ds)
    assert abs(float(law.mean.mean()) / mean.mean() - 1) < 0.2
    drawn = fit.simulate(ds, samples=400).mean("sample")
    assert abs(float(drawn.mean()) / mean.mean() - 1) < 0.2
    draws = fit.sample(ds, 20, preserve_totals=True).values
    weighted = np.stack([np.bincount(ds["membership"], ds["weight"] * d) for d in draws]) / total
    np.testing.assert_allclose(weighted, np.broadcast_to(mean, weighted.shape), rtol=1e-6)


def test_single_precision_ends_and_agrees():
    ds = country(bags=10, size=4)
    fits = [wb.VBAgg(kernel="matern32", inducing=8, dtype=dtype).fit(ds)
            for dtype in ("float64", "float32")]
    means = [fit.at(ds).mean.values for fit in fits]
    np.testing.assert_allclose(means[1], means[0], rtol=0.05)
    # Nothing below what the type can tell apart is asked of q: no endless polishing.
    assert fits[1].elapsed < 20 * fits[0].elapsed + 5


def test_data_without_covariates_and_places_are_refused_in_words_and_flat_in_auto():
    ds = country(bags=12, size=3)
    bare = ds.drop_vars(["x", "y", "bag_x", "bag_y"], errors="ignore").isel(covariate=[])
    with pytest.raises(InputError, match="neither covariates nor coordinates.*wb.Constant"):
        wb.VBAgg().fit(bare)
    with pytest.warns(FitWarning, match="neither covariates nor coordinates"):
        fit = wb.Auto(effort="quick", workers=1).fit(bare)
    assert list(fit.candidates) == ["flat"]
    assert np.isfinite(fit.at(bare).mean).all()


def test_a_map_that_extrapolates_says_so():
    ds = country(bags=12, size=6)
    rng = np.random.default_rng(0)
    inside = ds["covariates"].copy()
    members = ds["membership"].values
    wild = rng.normal(0, 10, ds.sizes["individual"])
    wild -= (np.bincount(members, ds["weight"] * wild)
             / np.bincount(members, ds["weight"]))[members]     # areas alike, individuals not
    inside[:, 0] = wild + 0.01 * rng.normal(size=12)[members]
    with pytest.warns(ExtrapolationWarning, match="outside the range of area means.*wb.compare"):
        fit = wb.VBAgg(kernel="linear(covariates)").fit(ds.assign(covariates=inside))
    assert "% of individuals outside" in fit.to_dataset(ds.assign(covariates=inside)).attrs[
        "extrapolation"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExtrapolationWarning)
        wb.VBAgg(kernel="matern32(coordinates)").fit(ds)        # no covariate, no extrapolation


@pytest.mark.slow
def test_candidates_whose_optimisation_failed_are_left_out(monkeypatch):
    from workbench.gp.models.vbagg import model as vbagg

    ds = country(bags=14, size=4)
    true = vbagg.diagnose

    def diagnose(fit, source):
        true(fit, source)
        if "matern32" in fit.model.options.kernel:
            fit.history.failed, fit.history.converged = True, False

    monkeypatch.setattr(vbagg, "diagnose", diagnose)
    fit = wb.Auto(effort="quick", workers=1).fit(ds)
    assert list(fit.candidates) == ["flat", "slopes"]
    assert any("optimisation failed: place, all at once" in note for note in fit.notes)
    monkeypatch.setattr(vbagg, "diagnose", lambda fit, source: setattr(fit.history, "failed", True))
    with pytest.warns(ConvergenceWarning, match="every candidate failed"):
        wb.Auto(effort="quick", workers=1).fit(ds)


def test_maps_of_one_draw_are_refused():
    ds = country(bags=8, size=3)
    fit = wb.Constant().fit(ds)
    with pytest.raises(InputError, match="at least 2 samples"):
        fit.to_dataset(ds, preserve_totals=True, samples=1)


def test_a_handful_of_areas_is_said_to_test_nothing():
    ds = country(bags=9, size=6)
    with pytest.warns(FitWarning, match="9 totals cannot test.*wb.compare"):
        wb.VBAgg(kernel="matern32(coordinates)").fit(ds)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        flat = wb.VBAgg(kernel="constant").fit(ds)                  # nothing to test
        fit = wb.VBAgg(kernel="matern32(coordinates)").fit(country(bags=10, size=6))
    assert "not testable by totals" in fit.summary() and "testable" not in flat.summary()


def test_ctrl_c_while_a_fit_is_diagnosed_is_the_users_and_keeps_nothing(monkeypatch):
    from workbench.gp.models.vbagg import flat
    from workbench.gp.models.vbagg.state import VariationalState
    from workbench.gp.numerics.recent import ResultCache
    from workbench.gp.optimisation.training import History

    ds = country(bags=12, size=4)
    fit = wb.VBAgg(kernel="matern32(coordinates)").fit(ds).inner
    given, kept = (fit.model, fit.state.source, -np.inf), ResultCache(4)
    monkeypatch.setattr(flat, "_RECENT", kept)
    whole = flat.flat_objective(*given)
    monkeypatch.setattr(flat, "_RECENT", ResultCache(4))
    with monkeypatch.context() as patch:
        patch.setattr(VariationalState, "train", lambda *_: History(cancelled=True))
        with pytest.raises(KeyboardInterrupt):
            flat.flat_objective(*given)
    assert flat.flat_objective(*given) == pytest.approx(whole)


@pytest.mark.parametrize("kind, aggregation, areas, expected", [
    ("continuous", "mean", 216, ("averages", 216)), ("continuous", "mean", 40, ("averages", 100)),
    ("continuous", "mean", 3_000, ("held", 400)), ("count", "mean", 216, ("averages", 216)),
    ("continuous", "sum", 216, ("averages", 216)), ("count", "sum", 300, ("held", 120))])
def test_values_that_are_no_counts_have_an_average_for_each_area(
        kind, aggregation, areas, expected):
    """With few points for many areas the map is too smooth; what they miss is learnt as noise."""
    ds = country(bags=areas, size=1)
    ds = ds.assign(value=("bag", ds["value"].values,
                          {"kind": kind, "aggregation": aggregation, "units": "cases"}))
    like = "poisson" if aggregation == "sum" and kind == "count" else "normal"
    model = wb.VBAgg(kernel="rbf(coordinates)", likelihood=like)
    weighed = wb.Auto(effort="quick").candidates(ds)["place"]
    own, auto = (VariationalState(one._inner, to_source(ds)).options for one in (model, weighed))
    assert (own.inducing_inputs, own.inducing) == expected
    assert (auto.inducing_inputs, auto.inducing) == ("averages", expected[1])


def test_points_stand_for_many_large_areas_of_means():
    """An average over each would be of too few points, and 300 seeds take long."""
    one = VariationalOptions()
    for sizes, expected in (((50,) * 280, ("averages", 280)), ((50,) * 300, ("held", 120))):
        found = with_inducing(one, torch.tensor(sizes), valued=True)
        assert (found.inducing_inputs, found.inducing) == expected
    help = next(f for f in fields(one) if f.name == "inducing_inputs").metadata["help"]
    assert "are more than 3.2 million" in help
    assert one_each(16_000, 200) and not one_each(16_001, 200)
    bags = country(bags=280, size=50)
    means = bags.assign(value=("bag", bags["value"].values, {
        "kind": "continuous", "aggregation": "mean", "units": "cases"}))
    model = wb.VBAgg(kernel="rbf(coordinates)", link="identity")
    state = VariationalState(model._inner, to_source(means))
    assert state.field.averaging[0] is not None and len(state.field.q_mean) == 280


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_a_smooth_field_of_means_is_nearer_than_the_areas_own_values():
    """With fewer inducing inputs than areas its detail was learnt as noise."""
    y, x = np.meshgrid(np.arange(45.0), np.arange(45.0), indexing="ij")
    waves = np.sin(x / 2.2) * np.cos(y / 2.9) + np.sin((x + y) / 3.7)
    field = xr.Dataset({"v": (("y", "x"), waves)}, {"y": np.arange(45.0), "x": np.arange(45.0)})
    ds = wb.bag_blocks(field, "v", [], [], block=3, missing="drop")
    truth, own = ds["truth"].values, ds["value"].values[ds["membership"].values]
    found = wb.Auto(effort="quick", workers=1).fit(ds.drop_vars("truth")).at(ds).mean.values
    away, plain = (np.sqrt(np.mean((one - truth) ** 2)) for one in (found, own))
    assert ds.sizes["bag"] == 225 and away < 0.6 * plain
