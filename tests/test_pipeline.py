"""From Spec to Dataset: what a run computes, carries, refuses and keeps when it is stopped."""

import json

import numpy as np
import pytest
import xarray as xr

from workbench import bagging, comparison, evaluation, geo
from workbench.checks import Cancelled, FitWarning, InputError, NotExact
from workbench.datasets import load
from workbench.labelled.timing import cost_told
from workbench.pipeline import run as pipeline
from workbench.pipeline import scoring
from workbench.pipeline.scoring import flat_beside
from workbench.pipeline.spec import Spec

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore::workbench.checks.ExtrapolationWarning")


ROLL = dict(dataset="swiss-roll", dataset_options={"n_bags": 12, "mean_size": 10, "size_std": 4})
QUICK = dict(options={"inducing": 8, "max_steps": 6, "kernel": "rbf"})


@pytest.fixture(scope="module")
def scored() -> xr.Dataset:
    return pipeline.run(Spec(**ROLL, **QUICK, threshold=5.0, folds=3, quantiles=(0.1, 0.9)))


def test_the_map_carries_how_it_was_made(scored):
    spec = Spec.from_json(scored.attrs["spec"])
    assert spec == Spec(**ROLL, **QUICK, threshold=5.0, folds=3, quantiles=(0.1, 0.9))
    assert scored.attrs["spec_key"] == spec.key
    assert {"torch", "numpy", "python"} <= set(json.loads(scored.attrs["versions"]))
    assert len(scored.attrs["data_sha256"]) >= 16
    assert "rbf.lengthscale" in scored.attrs["summary"]
    assert "partial" not in scored.attrs


def test_the_map_answers_what_the_spec_asked(scored):
    ds = load(ROLL["dataset"], **ROLL["dataset_options"])
    assert scored["mean"].sizes["individual"] == ds.sizes["individual"]
    assert scored["quantile"].values.tolist() == [0.1, 0.9]
    assert ((scored["exceedance"] >= 0) & (scored["exceedance"] <= 1)).all()
    assert scored["exceedance"].attrs["threshold"] == 5.0
    # A rate is never negative, and where its lower tenth exceeds the threshold nine in ten do.
    low = scored["rate_quantile"].sel(quantile=0.1)
    assert (low > 0).all()
    assert (scored["exceedance"].values[low.values > 5.0] > 0.9).all()


def test_scores_stand_beside_the_constant_model(scored):
    found = scoring.scores(scored)
    assert set(found["model"].values) == {"vbagg", "constant"}
    assert found.attrs["comparison"].startswith("scores are over all 12 bags")
    table = evaluation.table(found)
    assert np.isfinite(table.to_numpy(dtype=float)).all()
    alone = comparison.cross_validate(
        pipeline.model_of(Spec(**ROLL, **QUICK)), pipeline.data_of(Spec(**ROLL)), folds=3, seed=0)
    xr.testing.assert_allclose(found["scores"], alone["scores"])


def test_scores_are_missing_in_words():
    maps = pipeline.run(Spec(**ROLL, model="constant"))
    with pytest.raises(InputError, match="no scores; run its Spec with folds"):
        scoring.scores(maps)


def test_two_runs_agree_to_the_bit(scored):
    spec = Spec.from_json(scored.attrs["spec"])
    again = pipeline.run(Spec(**ROLL, **QUICK, quantiles=spec.quantiles, threshold=spec.threshold))
    for name in ("mean", "std", "rate_quantile", "exceedance", "bag_mean"):
        assert (again[name].values == scored[name].values).all(), name


def test_a_result_survives_its_file(scored, tmp_path):
    path = geo.write(scored, tmp_path / "map.nc")
    assert pipeline.spec_of(path).key == scored.attrs["spec_key"]
    with xr.open_dataset(path) as stored:
        xr.testing.assert_allclose(stored["mean"], scored["mean"])
        xr.testing.assert_allclose(scoring.scores(stored)["scores"],
                                   scoring.scores(scored)["scores"])


def test_a_stored_dataset_is_a_dataset(tmp_path):
    path = geo.write(load(ROLL["dataset"], **ROLL["dataset_options"]), tmp_path / "roll.nc")
    stored = pipeline.run(Spec(str(path), model="constant"))
    named = pipeline.run(Spec(**ROLL, model="constant"))
    assert (stored["mean"].values == named["mean"].values).all()
    assert stored.attrs["data_sha256"] == named.attrs["data_sha256"]


def test_hyperparameters_are_held():
    maps = pipeline.run(Spec(**ROLL, **QUICK, hyperparameters={"rbf.lengthscale": 2.5}))
    found = json.loads(maps.attrs["hyperparameters"])
    assert found["rbf.lengthscale"]["value"] == pytest.approx(2.5, rel=1e-12)


def test_areas_are_merged_as_asked():
    country = dict(pixels=600, districts=24, regions=6, provinces=2, smallest=4, largest=60)
    ds = load("simulated-country", **country)
    coarser = pipeline.data_of(Spec("simulated-country", country, level="region"))
    assert coarser.sizes["bag"] == 6
    xr.testing.assert_equal(coarser["value"], bagging.merge(ds, "region")["value"])
    fewer = pipeline.data_of(Spec("simulated-country", country, areas=5))
    assert fewer.sizes["bag"] == 5
    assert float(fewer["value"].sum()) == float(ds["value"].sum())


@pytest.mark.parametrize("spec, message", [
    (Spec("swis-roll"), "did you mean 'swiss-roll'"),
    (Spec("swiss-roll", {"bags": 3}), "did you mean 'n_bags'"),
    (Spec("absent.nc"), "dataset file 'absent.nc' does not exist"),
    (Spec("absent.nc", model="vbag"), "did you mean 'vbagg'"),
    (Spec("absent.nc", options={"lnk": "exp"}), "did you mean 'link'"),
    (Spec("absent.nc", options={"link": "expp"}), "did you mean 'exp'"),
    (Spec("absent.nc", options={"inducing": 0}), "inducing in [1, 20000], got 0"),
    (Spec("absent.nc", options={"link": "exp"}, threshold=-0.5),
     "threshold -0.5 is negative, but under link 'exp'"),
    (Spec(**ROLL, threshold=-0.5), "threshold -0.5 is negative, but under link 'exp'"),
    (Spec("absent.nc", options={"link": "square"}, threshold=-1), "under link 'square' every rate"),
    (Spec(**ROLL, model="constant", threshold=-1), "zero or more, or link='identity'"),
    (Spec("absent.nc", options={"hyperparameters": {"a": 1}}, hyperparameters={"a": 1}), "twice"),
    (Spec("polygons"), "needs 'polygons' and 'value' among dataset_options"),
    (Spec(**ROLL, hyperparameters={"matern32.lengthscal": 1.0}), "did you mean 'matern32.length"),
    (Spec(**ROLL, level="province"), "province"),
    (Spec(**ROLL, folds=13), "expected 2 to 12 folds"),
])
def test_what_cannot_be_done_is_said(spec, message):
    with pytest.raises(InputError) as error:
        pipeline.run(spec)
    assert message in str(error.value)


@pytest.mark.filterwarnings("ignore:the values are counts, but aggregated-gp")
@pytest.mark.parametrize("choice", [
    dict(options={**QUICK["options"], "link": "identity", "likelihood": "normal"}),
    dict(model="aggregated-gp", options={"max_steps": 3}),
])
def test_a_negative_threshold_is_fine_where_rates_may_be_negative(choice):
    maps = pipeline.run(Spec(**ROLL, **choice, threshold=-0.5))
    assert ((maps["exceedance"] >= 0) & (maps["exceedance"] <= 1)).all()
    assert (maps["mean"].values[maps["exceedance"].values > 0.5] > -0.5).all()


class StopAt:
    """A callback that stops the run at a given step of its n-th fit."""

    def __init__(self, fit: int, step: int):
        self.fit, self.step, self.fits = fit, step, 0

    def __call__(self, step: int, objective: float, fraction: float) -> None:
        self.fits += step == 1
        if (self.fits, step) == (self.fit, self.step):
            raise Cancelled


def test_a_stopped_fit_keeps_its_best_state():
    maps = pipeline.run(Spec(**ROLL, **QUICK, folds=3), callback=StopAt(fit=1, step=2))
    assert maps.attrs["partial"] == (
        "the fit was stopped after 2 steps; there was no cross-validation")
    assert np.isfinite(maps["mean"]).all()


def test_a_stopped_cross_validation_keeps_the_map_and_the_finished_folds(scored):
    spec = Spec.from_json(scored.attrs["spec"])
    maps = pipeline.run(spec, callback=StopAt(fit=3, step=1))       # the map, fold 0, fold 1
    assert maps.attrs["partial"] == "cross-validation stopped after 2 of 6 fits"
    assert (maps["mean"].values == scored["mean"].values).all()
    found = maps["cv_fold_scores"].sel(model="vbagg", score="rmse")
    assert found.notnull().values.tolist() == [True, False, False]


def test_cross_validation_stopped_in_its_first_fold_keeps_the_map(scored):
    spec = Spec.from_json(scored.attrs["spec"])
    maps = pipeline.run(spec, callback=StopAt(fit=2, step=1))
    assert maps.attrs["partial"] == "cross-validation stopped after 0 of 6 fits"
    with pytest.raises(InputError, match="no scores"):
        scoring.scores(maps)


def test_a_format_that_cannot_hold_the_result_is_refused_before_the_fit(tmp_path):
    def never(*_):
        raise AssertionError("the fit began")

    with pytest.raises(InputError, match="not pixels of a raster"):
        pipeline.run(Spec("swiss-roll", dataset_options=dict(n_bags=5)), callback=never,
                     out=tmp_path / "map.tif")


def test_more_folds_than_areas_are_refused_before_the_fit():
    def never(*_):
        raise AssertionError("the fit began")

    with pytest.raises(InputError, match="expected 2 to 5 folds"):
        pipeline.run(Spec("swiss-roll", dataset_options=dict(n_bags=5), folds=9), callback=never)


COUNTRY = dict(dataset="simulated-country", dataset_options=dict(
    pixels=600, districts=24, regions=6, provinces=2, smallest=4, largest=60))
SMALL = dict(options={"inducing": 8, "max_steps": 4, "kernel": "rbf"})


def test_a_map_adds_up_to_the_totals_if_asked():
    plain = pipeline.run(Spec(**COUNTRY, **SMALL))
    shared = pipeline.run(Spec(**COUNTRY, **SMALL, rescale_to_totals=True))

    def miss(maps):
        summed = np.bincount(maps["membership"].values, maps["expected_count"].values)
        return float(np.abs(summed / maps["value"].values - 1).max())

    assert miss(shared) < 1e-6 < 1e-3 < miss(plain)
    assert Spec.from_json(shared.attrs["spec"]).rescale_to_totals


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_a_map_that_cannot_add_up_is_kept_and_says_so(monkeypatch):
    def refuse(*_, **__):
        raise NotExact("no draws that preserve totals")

    monkeypatch.setattr("workbench.gp.models.vbagg.fit.VariationalFit.preserve", refuse)
    with pytest.warns(FitWarning, match="does not add up to the totals, as was asked for"):
        maps = pipeline.run(Spec(**COUNTRY, **SMALL, rescale_to_totals=True))
    assert np.isfinite(maps["mean"]).all()
    assert "does not add up to the totals" in maps.attrs["treatments"]


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_folds_follow_the_scheme_and_processes_change_nothing():
    spec = Spec(**COUNTRY, **SMALL, folds=3, folds_scheme="region")
    one, two = pipeline.run(spec), pipeline.run(spec, workers=2)
    ds = pipeline.data_of(spec)
    fold = evaluation.folds(ds, 3, "region", 0)
    assert (one["cv_fold_of_bag"].values == fold.values).all()
    np.testing.assert_allclose(two["cv_scores"], one["cv_scores"], rtol=1e-5)

    def never(*_):
        raise AssertionError("the fit began")

    with pytest.raises(InputError, match="scheme 'regoin' is unknown"):
        pipeline.run(Spec(**COUNTRY, folds=3, folds_scheme="regoin"), callback=never)


def test_a_kind_of_files_is_proposed_among_the_datasets():
    for given, meant in (("polygon", "polygons"), ("child", "children"), ("itly", "italy")):
        with pytest.raises(InputError, match=f"dataset '{given}' is unknown; did you mean "
                                             f"'{meant}'"):
            pipeline.data_of(Spec(dataset=given))


def test_a_key_that_a_spec_has_twice_is_refused():
    text = '{"dataset": "korea", "options": {"link": "exp", "link": "square"}}'
    with pytest.raises(InputError, match='has "link" more than once in one object'):
        Spec.from_json(text)


@pytest.mark.parametrize("options, wanted", [
    ({}, "auto"), ({"overdispersion": "none"}, "auto"), ({"overdispersion": "area"}, "area"),
])
def test_the_flat_model_has_the_overdispersion_of_the_other(options, wanted):
    flat = flat_beside(pipeline.model_of(Spec("x", options=options)))
    assert flat.name == "constant" and flat.options.overdispersion == wanted
    ds = pipeline.data_of(Spec(**COUNTRY))
    assert "area.std" in flat.fit(ds).hyperparameters
    gamma = pipeline.model_of(Spec("x", options={"likelihood": "negative-binomial"}))
    assert flat_beside(gamma).options.likelihood == "negative-binomial"
    assert flat_beside(pipeline.model_of(Spec("x", model="auto"))).name == "constant"


def test_time_and_memory_are_told_before_the_fit(capsys):
    class Stopped(Exception):
        pass

    def stop(*_):
        assert "600 individuals in 24 areas: about" in capsys.readouterr().err
        raise Stopped

    with pytest.raises(Stopped):
        pipeline.run(Spec(**COUNTRY, **SMALL), progress=True, callback=stop)
    ds = pipeline.data_of(Spec(**COUNTRY))
    told = cost_told(pipeline.model_of(Spec(**COUNTRY, **SMALL)), ds, folds=10, workers=2)
    assert "GiB; then 10 folds, about" in told and "on 2 processes" in told
    exact = cost_told(pipeline.model_of(Spec("x", model="aggregated-gp")), ds)
    assert "aggregated-gp, 600 individuals in 24 areas: about" in exact
    assert cost_told(pipeline.model_of(Spec("x", model="cmp")), ds) == ""
    alone = pipeline.model_of(Spec("x", model="auto", options={"workers": 3}), workers=1)
    assert alone.options.workers == 1


@pytest.mark.parametrize(("options", "said"), [
    ({"value": ["cases"]}, r"expected a name for value, got \['cases'\]"),
    ({"value": "cases", "id": {"a": 1}}, "expected a name for id, got"),
    ({"value": "cases", "covariates": 3}, "names of rasters or columns for covariates, got 3"),
    ({"value": "cases", "covariates": ["a.tif", 3]}, r"covariates, got \['a.tif', 3\]"),
    ({"value": "cases", "nodata": "abc"}, "expected numbers for nodata, got 'abc'")])
def test_a_spec_of_other_types_is_refused_by_name(options, said):
    from workbench.pipeline.own_files import bag_files

    with pytest.raises(InputError, match=said):
        bag_files("polygons", {"polygons": "areas.gpkg"} | options, None)
