import numpy as np
import pytest
import xarray as xr
from scipy import stats

import workbench as wb
from tests.reference import FlatModel, FragileModel, TruthModel, country
from workbench.checks import InputError
from workbench.comparison import cross_validate, evaluate
from workbench.evaluation import (
    FoldWarning,
    Interrupted,
    folds,
    poisson_deviance,
    rescale_to_totals,
    subset,
    table,
    units,
)
from workbench.labelled import source


@pytest.fixture(scope="module")
def ds():
    return country(bags=150, size=6, seed=4)


@pytest.fixture(scope="module")
def result(ds):
    fits = {"right": TruthModel(), "sure": TruthModel(0.1)}
    return evaluate(fits, ds, samples=400, constant=FlatModel())


def at(result, **where):
    return result["scores"].sel(where).item()


def test_right_law_is_calibrated_at_every_level_and_the_sure_one_nowhere(result):
    for target in ("bag", "individual", "rate"):
        curve = result.sel(target=target, level=[0.5, 0.8, 0.95])
        error = 3 * np.sqrt(curve["level"] * (1 - curve["level"]) / curve["effective_n"])
        right, sure = curve.sel(model="right"), curve.sel(model="sure")
        assert (np.abs(right["coverage"] - right["level"]) < error.sel(model="right")).all()
        assert (sure["coverage"] < sure["coverage_lower"]).all()


def test_right_law_has_the_best_proper_scores(result):
    for target in ("bag", "individual"):
        for score in ("crps", "wis", "log_score", "interval_score_95"):
            values = result["scores"].sel(target=target, score=score).dropna("model")
            assert values.idxmin("model") == "right", (target, score)
    assert at(result, target="rate", model="right", score="crps") < at(
        result, target="rate", model="sure", score="crps"
    )


def test_scores_are_those_of_the_functions(result, ds):
    mean = TruthModel().at(ds).mean * ds["weight"]
    deviance = at(result, target="individual", model="right", score="deviance")
    assert deviance == pytest.approx(poisson_deviance(ds["individual_value"], mean))
    pinned = at(result, target="individual", model="right", score="pinned_deviance")
    assert pinned == pytest.approx(
        poisson_deviance(ds["individual_value"], rescale_to_totals(ds, mean))
    )
    mean_crps = result["bag_crps"].sel(model="sure").mean().item()
    assert at(result, target="bag", model="sure", score="crps") == pytest.approx(mean_crps)


def test_own_bag_baseline_shares_out_by_weight(result, ds):
    mean = result["individual_mean"].sel(model="own bag, by weight").values
    total = np.bincount(ds["membership"], weights=mean)
    np.testing.assert_allclose(total, ds["value"] + 0.5)
    flat = result["scores"].sel(target="individual", score="pinned_deviance")
    assert flat.sel(model="constant").item() == pytest.approx(
        flat.sel(model="own bag, by weight").item()
    )


def test_large_datasets_are_judged_in_pieces(monkeypatch, ds, result):
    monkeypatch.setattr(units, "BUDGET", 400 * 50)
    pieces = evaluate({"right": TruthModel()}, ds, samples=400, constant=FlatModel())
    exact = ["deviance", "rmse", "bias", "nll"]
    xr.testing.assert_allclose(
        pieces["scores"].sel(score=exact, model="right"),
        result["scores"].sel(score=exact, model="right"),
    )
    crps = [one["individual_crps"].sel(model="right") for one in (pieces, result)]
    assert np.corrcoef(*crps)[0, 1] > 0.99


def test_result_is_labelled_and_survives_a_file(result, ds, tmp_path):
    assert result["score_units"].sel(target="bag", score="rmse") == "cases"
    assert result["score_units"].sel(target="rate", score="rmse") == "cases per house"
    assert result["bag"].equals(ds["bag"])
    result.to_netcdf(tmp_path / "scores.nc")
    back = xr.load_dataset(tmp_path / "scores.nc")
    xr.testing.assert_allclose(back["scores"], result["scores"])


def test_only_what_is_known_is_scored(ds):
    bare = ds.drop_vars(["truth", "individual_value"])
    scored = evaluate(TruthModel(), bare, samples=50, constant=FlatModel())
    assert scored["target"].values.tolist() == ["bag"]
    assert scored["model"].values.tolist() == ["truth", "constant"]
    assert "individual" not in scored.dims


def test_continuous_values_have_no_count_scores(ds):
    ds = ds.copy()
    ds["value"] = ds["value"].assign_attrs(kind="continuous")
    scores = evaluate(TruthModel(), ds, samples=50, constant=FlatModel())["scores"]
    assert scores.sel(score=["deviance", "nll", "pinned_deviance"]).isnull().all()
    assert scores.sel(score="crps", target="bag").notnull().all()


def test_table_has_units_and_rounded_numbers(result):
    frame = table(result, "individual", digits=3)
    assert frame.index.tolist() == ["right", "sure", "constant", "own bag, by weight"]
    assert {"RMSE (cases)", "95 % coverage (%)", "pinned deviance (per unit)"} <= set(frame)
    assert all(float(f"{v:.3g}") == v for v in frame["RMSE (cases)"])
    assert "own bag, by weight" not in table(result, "bag").index
    assert (frame.index.name, frame.columns.name) == ("model", "score of individuals")
    with pytest.raises(InputError, match="did you mean 'crps'"):
        table(result, scores=["crsp"])


def test_cross_validation_scores_every_bag_out_of_sample(ds):
    result = cross_validate([TruthModel(), FlatModel()], ds, 5, samples=200, constant=FlatModel())
    assert result["model"].values.tolist() == ["truth", "flat", "constant"]
    assert result["bag_mean"].notnull().all()
    np.testing.assert_array_equal(result["bag_observed"], ds["value"])
    fold = result["fold_of_bag"].values
    for number in range(5):  # the flat rate of a fold comes from the other bags alone
        seen = fold[ds["membership"].values] != number
        rate = ds["value"].values[fold != number].sum() + 0.5
        rate /= ds["weight"].values[seen].sum()
        held = ~seen
        np.testing.assert_allclose(
            result["individual_mean"].sel(model="flat").values[held],
            rate * ds["weight"].values[held],
        )
    mean = (result["fold_scores"].sel(score="crps") * np.bincount(fold)).sum("fold") / fold.size
    np.testing.assert_allclose(mean, result["scores"].sel(target="bag", score="crps"))
    assert (result["error"] == "").all() and (result["seconds"] >= 0).all()


def test_failed_folds_are_named_and_nothing_else_is_lost(ds):
    fold = folds(ds, 4, seed=2)
    safe = int(fold.sel(bag="b3"))  # the only fold whose training data lack b3
    with pytest.warns(FoldWarning, match="cannot digest b3"):
        result = cross_validate(
            [FragileModel("b3"), TruthModel()], ds, fold, samples=50, constant=FlatModel()
        )
    failed = result["error"].sel(model="fragile") != ""
    assert failed.sel(fold=safe).item() is False and int(failed.sum()) == 3
    there = result["bag_mean"].sel(model="fragile").notnull()
    np.testing.assert_array_equal(there, fold == safe)
    np.testing.assert_array_equal(
        result["bag_mean"].sel(model="fragile")[there], result["bag_mean"].sel(model="truth")[there]
    )
    assert result["bag_mean"].sel(model="truth").notnull().all()
    count = int((fold == safe).sum())
    frame = table(result)
    assert frame["units predicted"].to_dict() == {"fragile": count, "truth": 150, "constant": 150}
    assert (frame["units scored"] == count).all()
    said = result.attrs["comparison"].split("\n")
    assert said[0].startswith(f"scores are over {count} of 150 bags")
    failures = ", ".join(str(k) for k in range(4) if k != safe)
    assert said[1:] == [f"fragile predicted {count} of 150 bags (fold {failures}: "
                        "FloatingPointError: cannot digest b3)"]


def test_models_are_compared_on_the_bags_that_all_of_them_predicted(ds):
    fold = folds(ds, 4, seed=2)
    safe = int(fold.sel(bag="b3"))
    with pytest.warns(FoldWarning):
        result = cross_validate([FragileModel("b3"), TruthModel()], ds, fold, samples=50,
                                constant=FlatModel())
    # A right law is right on any bags; the same law must score the same beside its own failures.
    for target in ("bag", "individual", "rate"):
        scores = result["scores"].sel(target=target)
        xr.testing.assert_allclose(
            scores.sel(model="fragile", drop=True), scores.sel(model="truth", drop=True))
    np.testing.assert_allclose(
        at(result, target="bag", model="truth", score="crps"),
        at(result, target="bag", model="fragile", score="crps"))
    seen = (fold == safe).values
    assert at(result, target="bag", model="truth", score="crps") == pytest.approx(
        result["bag_crps"].sel(model="truth").values[seen].mean())
    # What was predicted on the other bags is kept all the same.
    assert result["bag_crps"].sel(model="truth").notnull().all()


def test_models_without_a_bag_in_common_have_no_scores_and_that_is_said(ds):
    fold = folds(ds, 2, seed=2)
    left, right = (str(ds["bag"].values[fold.values == k][0]) for k in (0, 1))
    with pytest.warns(FoldWarning):
        result = cross_validate([FragileModel(left, "a"), FragileModel(right, "b")], ds, fold,
                                samples=50, constant=FlatModel())
    assert result["scores"].isnull().all() and (result["units_scored"] == 0).all()
    assert result["bag_mean"].sel(model="a").notnull().sum() == (fold == 0).sum()
    assert result.attrs["comparison"].startswith("scores are over 0 of 150 bags")
    assert (table(result)["units scored"] == 0).all()


def test_a_model_that_fails_everywhere_keeps_its_row_and_costs_the_others_nothing(ds):
    with pytest.warns(FoldWarning):
        result = cross_validate({"hopeless": Hopeless(), "truth": TruthModel()}, ds, 3, samples=50,
                                constant=FlatModel())
    alone = cross_validate(TruthModel(), ds, 3, samples=50, constant=FlatModel())
    xr.testing.assert_allclose(result["scores"].sel(model="truth"),
                               alone["scores"].sel(model="truth"))
    frame = table(result)
    assert frame["units predicted"].to_dict() == {"hopeless": 0, "truth": 150, "constant": 150}
    assert frame.drop(columns=["units predicted", "units scored"]).loc["hopeless"].isna().all()
    assert (result["error"].sel(model="hopeless") == "ValueError: the kernel is unknown").all()
    assert ("hopeless predicted 0 of 150 bags (fold 0, 1, 2: ValueError: the kernel is unknown)"
            in result.attrs["comparison"])
    assert "units predicted" not in table(alone)
    assert alone.attrs["comparison"].startswith("scores are over all 150 bags")


class Hopeless(TruthModel):
    def fit(self, ds, progress=False, callback=None):
        raise ValueError("the kernel is unknown")


class Impatient(TruthModel):
    def fit(self, ds, progress=False, callback=None):
        self.fits = getattr(self, "fits", 0) + 1
        if self.fits == 3:
            raise KeyboardInterrupt
        return self


def test_a_model_that_never_fits_is_an_error(ds):
    with pytest.raises(InputError, match="the kernel is unknown"), pytest.warns(FoldWarning):
        cross_validate(Hopeless(), ds, 3, samples=50, constant=FlatModel())


def test_interruption_keeps_the_finished_folds(ds):
    with pytest.raises(Interrupted, match="4 of 10") as stopped:
        cross_validate(Impatient(), ds, 5, samples=50, constant=FlatModel())
    fold = stopped.value.partial["fold_of_bag"]
    there = stopped.value.partial["bag_mean"].sel(model="truth").notnull()
    np.testing.assert_array_equal(there, fold < 2)
    assert "truth predicted 60 of 150 bags (fold 2, 3, 4: not run)" in (
        stopped.value.partial.attrs["comparison"])


class Yielding(Impatient):
    """Stops inside its third fit and returns its best state so far, as the real models do."""

    cancelled = False

    def fit(self, ds, progress=False, callback=None):
        try:
            return super().fit(ds, progress, callback)
        except KeyboardInterrupt:
            stopped = Yielding()
            stopped.cancelled = True
            return stopped


def test_a_fit_that_was_cut_short_is_not_scored(ds):
    with pytest.raises(Interrupted, match="4 of 10"):
        cross_validate(Yielding(), ds, 5, samples=50, constant=FlatModel())


def test_progress_is_told(ds):
    told = []
    cross_validate(
        TruthModel(),
        ds,
        3,
        samples=20,
        constant=FlatModel(),
        progress=lambda done, total, what: told.append((done, total, what)),
    )
    assert told[0] == (1, 6, "truth, fold 0") and told[-1][:2] == (6, 6)


def test_two_models_of_one_name_are_refused(ds):
    with pytest.raises(InputError, match="share a name"):
        cross_validate([TruthModel(), TruthModel(0.1)], ds)


class LowModel(TruthModel):
    """Expects less than nothing in places, as a Normal model of counts may."""

    def at(self, ds, area_effect=False):
        rate = super().at(ds)
        mean = rate.known.mean()
        rate.known = stats.norm(mean - mean.mean(), rate.known.std())
        return rate

    def _expected(self, ds, unit, samples, seed):
        return TruthModel()._expected(ds, unit, samples, seed)


def test_counts_below_zero_are_scored_without_a_rescaled_map(ds):
    found = evaluate({"low": LowModel()}, ds, samples=50, constant=FlatModel())
    scores = found["scores"].sel(target="individual", model="low")
    assert (found["individual_mean"].sel(model="low") < 0).any()
    assert scores.sel(score=["crps", "rmse", "correlation"]).notnull().all()
    assert scores.sel(score=["pinned_deviance", "pinned_rmse"]).isnull().all()
    assert np.isinf(scores.sel(score="deviance"))
    assert found["scores"].sel(target="individual", model="constant",
                               score="pinned_rmse").notnull()


@pytest.mark.slow
def test_a_dataset_is_converted_once_for_all_that_is_asked_of_all_fits(monkeypatch):
    ds = country(bags=12, size=4, seed=4)
    fits = {"constant": wb.Constant().fit(ds), "bag": wb.BagConstant().fit(ds)}
    seen, convert = [], source.to_bags
    monkeypatch.setattr(source, "to_bags", lambda data, *given: seen.append(data) or convert(
        data, *given))
    alone = evaluate(fits, ds, samples=20)
    assert len(seen) == 1 and seen[0] is ds
    fits["bag"].at(ds)
    assert len(seen) == 2                       # afterwards nothing is kept: it may have changed
    evaluate(fits, subset(ds, np.arange(12) < 6), samples=20)
    assert evaluate(fits, ds, samples=20)["scores"].equals(alone["scores"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")      # few steps
def test_scores_of_bags_that_were_learnt_from_say_that_they_are_no_test(tmp_path):
    ds = country(bags=12, size=4, seed=4)
    fits = {"flat": wb.Constant(max_steps=20), "bag": wb.BagConstant()}
    fits = {name: model.fit(ds) for name, model in fits.items()}
    assert fits["flat"].learnt_from(subset(ds, [3, 1])).values.tolist() == [True, True]
    result = evaluate(fits, ds, samples=20)
    said = result.attrs["learnt_from"]
    assert said.startswith("flat and bag and constant learnt from the values of 12 of these 12 ")
    assert "wb.cross_validate" in said
    frame = table(result)
    assert frame.columns.name == "score of bags learnt from, no test of the map"
    assert "no test of the map" in frame.to_string() and frame.attrs["learnt_from"] == said
    assert table(result, "individual").columns.name == "score of individuals"
    result.to_netcdf(tmp_path / "scores.nc")
    assert "no test" in table(xr.load_dataset(tmp_path / "scores.nc")).columns.name
    other = country(bags=12, size=4, seed=5)
    assert not fits["flat"].learnt_from(other).any()
    del fits["bag"]                     # it knows its own bags alone, and warns of others
    fresh = evaluate(fits, other, training=ds, samples=20)
    assert "learnt_from" not in fresh.attrs and table(fresh).columns.name == "score of bags"
    # The baseline alone: it has seen what the fits have not, which is no fair comparison either.
    assert evaluate(fits, other, samples=20).attrs["learnt_from"].startswith("constant learnt")
    held_out = cross_validate(wb.Constant(max_steps=5), ds, 3, samples=20)
    assert table(held_out).columns.name == "score of bags"
