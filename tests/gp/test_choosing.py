"""Averages over areas or points for inducing variables, by the bound at the starting values."""

import numpy as np
import pytest
import torch
import xarray as xr

import workbench as wb
from workbench.gp.models.vbagg import choosing
from workbench.gp.models.vbagg.model import VBAgg
from workbench.labelled.source import to_source

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")

COUNTS = {"kind": "count", "aggregation": "sum", "units": "cases"}


def inside(areas=60, individuals=20, seed=0, within=1.0, between=0.2) -> xr.Dataset:
    """Counts by two covariates that vary far more inside areas than between them."""
    rng, member = np.random.default_rng(seed), np.repeat(np.arange(areas), individuals)
    x = within * rng.normal(size=(len(member), 2))
    x += between * rng.normal(size=(areas, 2))[member]
    rate = np.exp(-1 + np.sin(1.5 * x[:, 0]) + 0.5 * np.cos(2 * x[:, 1]))
    total = rng.poisson(np.bincount(member, 50 * rate)).astype(float)
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), x), "membership": ("individual", member),
         "weight": ("individual", np.full(len(member), 50.0)), "value": ("bag", total, COUNTS)},
        coords={"bag": np.arange(areas), "covariate": ["a", "b"]})


def apart() -> xr.Dataset:
    """The same by covariates that vary between areas."""
    return inside(within=0.3, between=1.0)


def of(kind, **options):
    return VBAgg(**{"kernel": "matern32(covariates)", "inducing": 25, **options},
                 inducing_inputs=kind)


@pytest.mark.parametrize("ds, expected", [(inside(), "held"), (apart(), "averages")])
def test_the_kind_of_the_higher_bound_is_taken(ds, expected):
    source = to_source(ds)
    kinds = {kind: of(kind) for kind in ("averages", "held")}
    bounds = {kind: model.condition(source, model.starting_values(source)).objective
              for kind, model in kinds.items()}
    assert max(bounds, key=bounds.get) == expected
    model = choosing.settled(of("best"), source)
    assert model.options == kinds[expected].options


@pytest.mark.parametrize("ds", [inside(), apart()])
def test_a_fit_is_that_of_the_kind_that_was_taken(ds):
    source = to_source(ds)
    best = of("best", max_steps=5).fit(source)
    kind = best.model.options.inducing_inputs
    alone = of(kind, max_steps=5).fit(source)
    assert kind in ("averages", "held") and best.objective == alone.objective
    assert torch.equal(best.state.field.q_mean, alone.state.field.q_mean)


def test_what_is_fixed_does_not_change_the_kind():
    """Fixed where it was learnt, a lengthscale shall not make another map."""
    source = to_source(inside())
    kinds = {choosing.settled(of("best", hyperparameters={"matern32.lengthscale": length}),
                              source).options.inducing_inputs
             for length in (0.05, 1.0, 50.0)}
    assert kinds == {"held"}
    started = of("best", initial={"matern32.lengthscale": 50.0})
    assert choosing.settled(started, source).options.inducing_inputs == "held"


def test_values_that_are_given_are_kept():
    given = {"matern32.lengthscale": 0.7}
    model = choosing.settled(of("best", hyperparameters=given), to_source(inside()))
    assert model.options.hyperparameters == given


@pytest.mark.parametrize("kernel", ["constant", "linear(covariates)"])
def test_without_smooth_terms_nothing_is_looked_for(kernel, monkeypatch):
    monkeypatch.setattr(choosing, "_bound", None)
    model = choosing.settled(of("best", kernel=kernel), to_source(inside()))
    assert model.options.inducing_inputs == "averages"


def test_inputs_that_are_the_variables_need_no_choice(monkeypatch):
    monkeypatch.setattr(choosing, "_bound", None)
    ds = inside()
    ds["covariates"] = (ds["covariates"] > 0).astype(float)     # four that differ
    assert choosing.settled(of("best"), to_source(ds)).options.inducing_inputs == "averages"


def test_means_have_as_many_points_as_averages():
    ds = inside(areas=120, individuals=4)
    means = ds.assign(value=("bag", np.log1p(ds["value"].values), {
        "kind": "continuous", "aggregation": "mean", "units": "km"}))
    chosen = choosing._chosen(VBAgg, {"kernel": "matern32", "link": "exp"}, to_source(means), None)
    assert chosen.get("inducing", 120) == 120


def test_points_have_to_be_clearly_better(monkeypatch):
    source = to_source(inside(seed=4))
    for gain, kind in ((0.02, "averages"), (0.04, "held")):
        bounds = iter((-100.0, -100.0 + gain))
        monkeypatch.setattr(choosing, "_bound", lambda *_, bounds=bounds: next(bounds))
        assert choosing._chosen(VBAgg, {"kernel": "matern32"}, source, None)[
            "inducing_inputs"] == kind


def test_a_bound_that_cannot_be_had_loses(monkeypatch):
    def fail(self, *_):
        if self.options.inducing_inputs == "held":
            raise choosing.FactorisationError("no")
        return usual(self, *_)

    usual = choosing.VariationalState.optimise_q
    monkeypatch.setattr(choosing.VariationalState, "optimise_q", fail)
    assert choosing._chosen(VBAgg, {"kernel": "matern32"}, to_source(inside(seed=1)), None) == {
        "inducing_inputs": "averages"}


def test_the_search_can_be_stopped():
    def stop(step, objective, fraction):
        assert fraction == 0
        raise wb.Cancelled

    source = to_source(inside(seed=2))
    with pytest.raises(wb.Cancelled):
        choosing.settled(of("best"), source, stop)
    calls = []

    def stop_once(*step):
        calls.append(step)
        if len(calls) == 1:
            raise wb.Cancelled

    for callback in (stop, stop_once):
        fit = wb.VBAgg(inducing_inputs="best").fit(inside(seed=2), callback=callback)
        assert fit.cancelled and fit.model.options.inducing_inputs == "averages"
        assert np.isfinite(fit.at(fit.data).mean).all()
    assert len(calls) == 1


def test_ctrl_c_while_the_kind_is_chosen_ends_as_later(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(choosing, "_chosen", interrupted)
    fit = wb.VBAgg(inducing_inputs="best").fit(inside(seed=4))
    assert fit.cancelled and fit.model.options.inducing_inputs == "averages"


def test_the_same_data_are_looked_at_once(monkeypatch):
    source = to_source(inside(seed=3))
    first = choosing.settled(of("best"), source)
    monkeypatch.setattr(choosing, "_chosen", None)
    assert choosing.settled(of("best", hyperparameters={"mean": 1.0}),
                            source).options.inducing_inputs == first.options.inducing_inputs


@pytest.mark.parametrize("ds", [inside(), apart()])
def test_labelled_fits_say_what_was_taken_and_are_stored_with_it(ds, tmp_path):
    model = wb.VBAgg(kernel="matern32(covariates)", inducing_inputs="best", max_steps=5)
    fit = model.fit(ds)
    kind = fit.model.options.inducing_inputs
    assert kind in ("averages", "held") and model.options.inducing_inputs == "best"
    same = model.condition(ds, fit.hyperparameters)
    assert same.model == fit.model
    np.testing.assert_allclose(same.at(ds).mean, fit.at(ds).mean, rtol=1e-3)
    fit.save(tmp_path / "fit.wbfit")
    again = wb.load_fit(tmp_path / "fit.wbfit")
    assert again.model == fit.model
    np.testing.assert_allclose(again.at(ds).mean, fit.at(ds).mean, rtol=1e-9)


@pytest.mark.parametrize("workers", [1, 2])
def test_auto_has_the_best_for_each_candidate(workers):
    ds = inside()
    fit = wb.Auto(effort="quick", workers=workers).fit(ds)
    kinds = {name: one.model.options.inducing_inputs for name, one in fit.candidates.items()}
    assert kinds == {"flat": "averages", "slopes": "averages", "covariates": "held"}
    field = fit.candidates["covariates"].inner.state.field
    assert field.averaging == [None] * len(field.terms)
