import numpy as np
import pytest
import xarray as xr
from scipy import stats

import workbench as wb
from tests.reference import FlatModel, FragileModel, TruthModel, country
from workbench.checks import InputError
from workbench.evaluation import (
    FoldWarning,
    Interrupted,
    default_levels,
    groupings,
    recover_draws,
    recovery_table,
    recovery_weights,
    score_areas,
    stack,
)
from workbench.evaluation.area_scores import clustered_error
from workbench.evaluation.conditioning import AREA, area_draws, bare, coarsen
from workbench.evaluation.recovery.trend import extrapolate


def means(bags=24, size=4, seed=0) -> xr.Dataset:
    """Areas with weighted means of a normal field as values."""
    ds, rng = country(bags, size, seed=seed), np.random.default_rng(seed)
    fine = ds["covariates"].values[:, 0] + 0.5 * rng.normal(size=bags * size)
    w, m = ds["weight"].values, ds["membership"].values
    ds["value"] = ("bag", np.bincount(m, w * fine) / np.bincount(m, w),
                   {"kind": "continuous", "aggregation": "mean"})
    return ds


class NormalModel:
    """Individuals are normal about the covariate with one standard deviation."""

    name = "normal"

    def __init__(self, spread=0.5):
        self.spread = spread

    def fit(self, ds):
        return self

    def simulate(self, ds, unit, samples, seed):
        noise = np.random.default_rng(seed).normal(size=(samples, ds.sizes["individual"]))
        values = ds["covariates"].values[:, 0] + self.spread * noise
        return xr.DataArray(values, dims=("sample", unit))


class MassPreserving(TruthModel):
    """Counts given the totals: multinomial given rates, as fits with preserve_totals draw them."""

    def sample(self, ds, n, *, preserve_totals, seed):
        assert preserve_totals
        rng = np.random.default_rng(seed)
        rate = self.at(ds).sample(n, seed).values * ds["weight"].values
        out = np.empty_like(rate)
        for b, total in enumerate(ds["value"].values):
            mine = ds["membership"].values == b
            p = rate[:, mine] / rate[:, mine].sum(1, keepdims=True)
            out[:, mine] = rng.multinomial(int(total), p)
        return xr.DataArray(out, dims=("sample", "individual"))


class Leaking(MassPreserving):
    """Its draws do not add up."""

    def sample(self, ds, n, *, preserve_totals, seed):
        return super().sample(ds, n, preserve_totals=True, seed=seed) + 1


class Stopped(TruthModel):
    """Ctrl-C at the third fit."""

    fits = 0

    def fit(self, ds):
        self.fits += 1
        if self.fits == 3:
            raise KeyboardInterrupt
        return self


def test_default_levels_are_a_sixth_a_quarter_and_a_third():
    assert default_levels(250) == [42, 62, 83]
    assert default_levels(48) == [8, 12, 16]
    assert default_levels(17) == [5, 6]
    assert default_levels(10) == [5]
    with pytest.raises(InputError, match="at least 10 areas"):
        default_levels(9)


def test_groupings_are_contiguous_differ_between_draws_and_are_reproducible():
    ds = country(bags=60)
    groups = groupings(ds, [12, 20], draws=3, seed=1)
    assert groups.dims == ("level", "draw", "area")
    assert groups["groups"].values.tolist() == [12, 20]
    for level, count in zip(groups.values, (12, 20), strict=True):
        for one in level:
            assert sorted(set(one)) == list(range(count))
        assert (level[0] != level[1]).any() and (level[1] != level[2]).any()
    assert groups.identical(groupings(ds, [12, 20], draws=3, seed=1))
    # another level beside it does not change a level
    np.testing.assert_array_equal(groupings(ds, [20], 3, 1).values[0], groups.values[1])
    x, y = ds["bag_x"].values, ds["bag_y"].values
    one = groups.values[1, 0]
    spread = np.mean([x[one == g].var() + y[one == g].var() for g in range(20)])
    assert spread < 0.3 * (x.var() + y.var())


def test_a_label_of_about_as_many_groups_is_a_level_of_one_draw():
    ds = country(bags=40)                                   # seven provinces
    groups = groupings(ds, draws=2)
    assert groups["level"].values.tolist() == ["province", "7", "10", "13"]
    province = groups.sel(level="province")
    assert (province.isel(draw=1) == -1).all() and (province.isel(draw=0) >= 0).all()
    names = ds["province"].values
    assert all(np.unique(names[province.values[0] == g]).size == 1 for g in range(7))
    # seven among 60 areas are too few groups to be taken unasked
    assert "province" not in groupings(country(bags=60), draws=1)["level"].values
    assert groupings(country(bags=60), "province", draws=1).sizes["level"] == 1
    with pytest.raises(InputError, match="province"):
        groupings(ds, ["provnce"])
    with pytest.raises(InputError, match="from 2 to 39"):
        groupings(ds, [40])


def test_without_a_map_alike_areas_are_merged():
    ds = country(bags=40).drop_vars(["bag_x", "bag_y", "x", "y", "province"])
    groups = groupings(ds, [10], draws=2)
    rate = np.bincount(ds["membership"], ds["weight"] * ds["covariates"][:, 0]) / np.bincount(
        ds["membership"], ds["weight"])
    for one in groups.values[0]:
        assert np.mean([rate[one == g].std() for g in range(10)]) < 0.4 * rate.std()
    assert (groups.values[0, 0] != groups.values[0, 1]).any()


def test_coarse_groups_keep_every_individual_in_its_area_and_show_no_truth():
    ds = country(bags=12, size=3)
    groups = np.array([2, 0, 1, 2, 0, 1, 2, 2, 0, 0, 1, 1])
    merged = coarsen(bare(ds), groups)
    assert not {"truth", "individual_value"} & set(merged.variables)
    np.testing.assert_allclose(merged["value"], np.bincount(groups, ds["value"]))
    np.testing.assert_array_equal(merged["membership"], groups[merged[AREA].values])
    by_name = dict(zip(ds["individual"].values, ds["membership"].values, strict=True))
    assert [by_name[i] for i in merged["individual"].values] == merged[AREA].values.tolist()


@pytest.mark.parametrize("model", [TruthModel(), MassPreserving(), NormalModel()])
def test_every_draw_adds_up_to_the_total_of_its_group(model):
    counts = not isinstance(model, NormalModel)
    ds = country(bags=12, size=3) if counts else means(12, 3)
    groups = np.arange(12) % 4
    weight = np.bincount(ds["membership"], ds["weight"])
    draws, how = area_draws(model.fit(ds), coarsen(bare(ds), groups), 50, seed=3)
    assert how == ("sample" if isinstance(model, MassPreserving) else "simulate")
    factor = np.ones(12) if counts else weight / np.bincount(groups, weight)[groups]
    for g in range(4):
        total = (draws * factor)[:, groups == g].sum(1)
        np.testing.assert_allclose(total, (factor * ds["value"].values)[groups == g].sum())
    if counts:
        np.testing.assert_array_equal(draws, np.floor(draws))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_a_fit_that_draws_sums_is_asked_for_areas_alone(monkeypatch):
    ds, groups = country(bags=12, size=3), np.arange(12) % 4
    merged = coarsen(bare(ds), groups)
    fit, asked = wb.Constant(max_steps=5).fit(merged), []
    sample = type(fit).sample

    def listening(self, ds, samples=1000, *, preserve_totals=False, by=None, seed=0):
        asked.append(by)
        return sample(self, ds, samples, preserve_totals=preserve_totals, by=by, seed=seed)

    monkeypatch.setattr(type(fit), "sample", listening)
    draws, how = area_draws(fit, merged, 4000, seed=3)
    assert how == "sample" and asked == [AREA]
    alone = sample(fit, merged, 4000, preserve_totals=True, seed=4).values
    for area in range(12):
        wanted = alone[:, merged[AREA].values == area].sum(1)
        error = np.sqrt((wanted.var() + draws[:, area].var()) / 4000)
        assert abs(wanted.mean() - draws[:, area].mean()) < 4.5 * error


def test_fractional_totals_are_units_worth_a_little_less_than_one():
    ds = country(bags=12, size=3)
    ds["value"][:4] = [0.1, 3.5, 2.25, 0.0]
    groups = np.array([0, 1, 2, 3, 0, 1, 2, 3, 1, 1, 2, 2])
    ds["value"][[4, 7]] = [0.2, 0.0]
    merged = coarsen(bare(ds), groups)
    draws, how = area_draws(TruthModel().fit(ds), merged, 50, seed=3)
    total = np.bincount(groups, ds["value"])
    summed = np.stack([draws[:, groups == g].sum(1) for g in range(4)], axis=1)
    np.testing.assert_allclose(summed, np.broadcast_to(total, (50, 4)))
    assert how == "simulate" and set(np.unique(draws[:, 0])) == {0.0, total[0]}    # one unit
    units = draws[:, 1] * np.ceil(total[1]) / total[1]
    np.testing.assert_allclose(units, np.round(units))


def test_totals_that_are_not_preserved_are_an_error():
    ds = coarsen(bare(country(bags=12, size=3)), np.arange(12) % 4)
    with pytest.raises(RuntimeError, match="does not preserve"):
        area_draws(Leaking(), ds, 50, seed=0)


def test_thinned_counts_are_those_of_the_multinomial():
    """Counts drawn freely and conditioned have the moments of exact draws given the totals."""
    ds = country(bags=10, size=2, spread=0.5)
    ds["value"] = ds["value"] / 10 // 1                     # fewer events: draws are thinned
    merged = coarsen(bare(ds), np.arange(10) % 2)
    free, _ = area_draws(TruthModel(0.3), merged, 4000, seed=1)
    exact, _ = area_draws(MassPreserving(0.3), merged, 4000, seed=2)
    error = np.hypot(free.std(0), exact.std(0)) / 4000**0.5
    assert (np.abs(free.mean(0) - exact.mean(0)) < 4.5 * error).all()
    np.testing.assert_allclose(free.std(0), exact.std(0), rtol=4.5 * (2 / (2 * 4000)) ** 0.5 + 0.01)


def test_conditioned_normal_values_have_the_exact_moments():
    ds = means(10, 2)
    groups = np.arange(10) % 2
    draws, _ = area_draws(NormalModel(0.5), coarsen(bare(ds), groups), 8000, seed=1)
    w, m, x = ds["weight"].values, ds["membership"].values, ds["covariates"].values[:, 0]
    weight = np.bincount(m, w)
    prior_mean, prior_var = np.bincount(m, w * x) / weight, 0.25 * np.bincount(m, w**2) / weight**2
    for g in range(2):
        mine = groups == g
        a = weight[mine] / weight[mine].sum()
        cov = np.diag(prior_var[mine])
        gain = cov @ a / (a @ cov @ a)
        mean = prior_mean[mine] + gain * (a @ ds["value"].values[mine] - a @ prior_mean[mine])
        sd = np.sqrt(np.diag(cov - np.outer(gain, a @ cov)))
        assert (np.abs(draws[:, mine].mean(0) - mean) < 5 * sd / 8000**0.5).all()
        np.testing.assert_allclose(draws[:, mine].std(0), sd, rtol=0.05)


@pytest.mark.slow
def test_the_right_model_is_found_best_and_its_shares_are_covered():
    """Coverage over several worlds within four standard errors; other spreads are off by more."""
    covered = {name: [] for name in ("right", "sure", "wide")}
    for seed in range(4):
        ds = country(bags=60, size=6, seed=seed)
        result = wb.recover({"right": TruthModel(0.5), "sure": TruthModel(0.1),
                             "wide": TruthModel(1.2), "flat": FlatModel()}, ds, [15, 20], 2)
        for name, values in covered.items():
            values.append(result["scores"].sel(
                model=name, score=["coverage_50", "coverage_80", "coverage_95"]).values)
        score = result["scores"].sel(score="crps_sqrt")
        assert score["model"].values[int(np.argmin(score.values))] == "right"
    error = 4 * np.sqrt(np.array([0.25, 0.16, 0.0475]) / 240)
    off = {name: np.abs(np.mean(v, axis=0) - [0.5, 0.8, 0.95]) for name, v in covered.items()}
    assert (off["right"] < error).all()
    assert (off["sure"] > error).all() and off["wide"][0] > error[0]


def test_differences_are_paired_and_their_errors_are_those_of_groups():
    result = wb.recover([TruthModel(name="a"), TruthModel(0.2, name="b")], country(bags=40),
                        [10], draws=1)
    values = result["area_scores"].sel(score="crps").isel(level=0, draw=0).values
    group = result["group"].values[0, 0]
    gap = values[0] - values[1]
    there = np.isfinite(gap)
    assert result["difference"].sel(model="a", other="b", score="crps") == pytest.approx(
        np.nanmean(gap))
    centred = np.where(there, gap - np.nanmean(gap), 0)
    sums = np.array([centred[group == g].sum() for g in set(group[there])])
    expected = np.sqrt((sums**2).sum() * sums.size / (sums.size - 1)) / there.sum()
    assert result["difference_error"].sel(model="b", other="a", score="crps") == pytest.approx(
        expected)
    assert np.isnan(values[:, np.bincount(group)[group] == 1]).all()


def test_errors_over_groups_are_wider_than_over_areas_where_groups_agree():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 4)
    values = rng.normal(size=50)[groups] + 0.1 * rng.normal(size=200)
    assert clustered_error(values, groups) == pytest.approx(1 / 50**0.5, rel=0.3)
    assert clustered_error(values, groups) > 1.7 * clustered_error(values, np.arange(200))
    assert np.isnan(clustered_error(values[:4], groups[:4]))


def test_scores_of_areas_have_their_textbook_values():
    rng = np.random.default_rng(0)
    weight, groups = np.ones(3), np.array([0, 0, 1])
    one = rng.binomial(50, 0.3, 100_000).astype(float)
    draws = np.stack([one, 50 - one, np.full(100_000, 7.0)], axis=1)
    found = score_areas(np.array([20.0, 30.0, 7.0]), draws, groups, weight, counts=True)
    assert found["log_score"][0] == pytest.approx(-stats.binom.logpmf(20, 50, 0.3), abs=0.02)
    deviance = 2 * (20 * np.log(20 / 15) - 20 + 15)
    assert found["deviance"][0] == pytest.approx(deviance, rel=0.01)
    assert all(np.isnan(values[2]) for values in found.values())    # alone: its value is given
    spread = rng.beta(2, 3, 100_000)
    one = rng.binomial(50, spread).astype(float)
    draws = np.stack([one, 50 - one, np.full(100_000, 7.0)], axis=1)
    found = score_areas(np.array([20.0, 30.0, 7.0]), draws, groups, weight, counts=True)
    assert found["log_score"][1] == pytest.approx(-stats.betabinom.logpmf(20, 50, 2, 3), abs=0.02)


def test_no_area_is_impossible():
    """An area that no draw gives an event still has a finite deviance and log score."""
    draws = np.tile([0.0, 10.0], (200, 1))
    found = score_areas(np.array([1.0, 9.0]), draws, np.zeros(2, int), np.ones(2), counts=True)
    assert np.isfinite(found["deviance"]).all() and found["deviance"][0] > 3
    assert np.isfinite(found["log_score"]).all()


def test_a_failed_fit_is_kept_told_and_takes_no_score_from_others():
    ds = country(bags=40)
    with pytest.warns(FoldWarning, match=r"fragile, level 10, draw \d failed"):
        result = wb.recover([TruthModel(), FragileModel("group 0")], ds, [10], draws=2)
    assert (result["error"].sel(model="fragile") != "").all()
    assert result["scores"].sel(model="truth").notnull().all()
    assert result["scores"].sel(model="fragile").isnull().all()
    assert "fragile failed on 2 of 2" in result.attrs["comparison"]
    assert recovery_table(result)["fits"].to_dict() == {"truth": 2, "fragile": 0}
    assert "fragile" not in result.attrs["sentence"]
    with (pytest.warns(FoldWarning), pytest.raises(InputError, match="every fit failed")):
        wb.recover(FragileModel("group 0"), ds, [10], draws=1)


def test_what_stopped_keeps_what_is_finished(tmp_path):
    ds = country(bags=40)
    with pytest.raises(Interrupted) as stopped:
        wb.recover(Stopped(name="stopped"), ds, [10], draws=4)
    partial = stopped.value.partial
    assert (partial["error"].values == ["", "", "not run", "not run"]).all()
    assert partial["scores"].notnull().all()


def test_finished_fits_are_taken_up_again(tmp_path):
    ds, said = country(bags=40), []
    first = wb.recover(wb.Constant(max_steps=5), ds, [10], 2, samples=50, resume=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 2
    times = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.npz")}
    again = wb.recover(wb.Constant(max_steps=5), ds, [10], 3, samples=50, resume=tmp_path,
                       progress=lambda *a: said.append(a))
    assert [a[:2] for a in said] == [(1, 3), (2, 3), (3, 3)]
    assert times.items() <= {f: f.stat().st_mtime_ns for f in tmp_path.glob("*.npz")}.items()
    np.testing.assert_array_equal(again["expected"][:, :, :2], first["expected"])
    other = ds.assign(value=ds["value"] + 1)                # other data, model or seed: anew
    for model, data, seed in ((wb.Constant(max_steps=5), other, 0),
                              (wb.Constant(max_steps=6), ds, 0), (wb.Constant(max_steps=5), ds, 1)):
        said.clear()
        wb.recover(model, data, again["group"], samples=50, seed=seed, resume=tmp_path,
                   progress=lambda *a: said.append(a))
        assert len(said) == 3


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes():
    ds = wb.load("swiss-roll", n_bags=24, mean_size=8, size_std=3)
    models = {"flat": wb.Constant(max_steps=5),
              "field": wb.VBAgg(kernel="rbf", inducing=8, max_steps=5)}
    one = wb.recover(models, ds, [8], 2, samples=50)
    two = wb.recover(models, ds, [8], 2, samples=50, workers=2)
    xr.testing.assert_identical(one.drop_vars("seconds"), two.drop_vars("seconds"))
    assert (one["error"] == "").all()


def test_starting_values_reach_the_model_and_given_groups_serve_all():
    ds = wb.load("swiss-roll", n_bags=24, mean_size=8, size_std=3)
    options = {"kernel": "rbf", "inducing": 8, "max_steps": 1}
    groups = groupings(ds, [8], 1)
    out = recover_draws({"m": wb.VBAgg(**options, initial={"rbf.lengthscale": 7.0})}, ds, groups,
                        samples=20)
    cold = recover_draws({"m": wb.VBAgg(**options)}, ds, groups, samples=20)
    assert out["hyperparameters"].item() != cold["hyperparameters"].item()
    assert out["draws"].dims == ("model", "level", "draw", "sample", "area")
    total = out["draws"].isel(model=0, level=0, draw=0).groupby(out["group"].isel(
        level=0, draw=0, drop=True)).sum()
    assert float(total.std("sample").max()) == 0
    with pytest.raises(InputError, match="24 areas"):
        wb.recover(TruthModel(), country(bags=30), groups)


def test_means_are_scored_by_squared_error_and_surveys_are_refused():
    ds = means(30)
    result = wb.recover({"right": NormalModel(0.5), "sure": NormalModel(0.05)}, ds, [10], 2)
    assert "deviance" not in result["score"].values
    assert result["scores"].sel(model="right", score="crps") < result["scores"].sel(
        model="sure", score="crps")
    assert result.attrs["headline"] == "crps"
    survey = country(bags=30)
    survey["value"].attrs["aggregation"] = "mean"
    survey["trials"] = ("bag", survey["value"].values + 5)
    with pytest.raises(InputError, match="positives out of trials"):
        wb.recover(TruthModel(), survey, [10], 1)


def test_the_trend_is_carried_on_where_it_is_clear_and_not_where_it_is_chance():
    at, to = np.log([3.0, 4.0, 6.0]), np.log(14.0)
    line = np.array([0.1 + 0.5 * at])
    standing, error, slope = extrapolate(line, np.full((1, 3), 1e-6), at, to)
    assert standing[0] == pytest.approx(0.1 + 0.5 * to, abs=1e-6)
    standing, error, slope = extrapolate(line, np.full((1, 3), 5.0), at, to)
    assert slope[0] == 0 and standing[0] == pytest.approx(line.mean()) and error[0] == 5.0
    rng, hits = np.random.default_rng(0), []
    for _ in range(400):                                    # errors are those of the estimate
        noise = 0.02 * rng.normal(size=(1, 3))
        standing, error, _ = extrapolate(line + noise, np.full((1, 3), 0.02), at, to)
        hits.append(abs(standing[0] - line[0, 0] - 0.5 * (to - at[0])) < 2 * error[0])
    assert 0.9 < np.mean(hits)


def test_weights_from_recovered_areas_are_those_of_stacking_and_leave_out_what_failed():
    ds = country(bags=60)
    models = {"right": TruthModel(0.5), "fragile, indeed": FragileModel("group 00"),
              "flat": FlatModel()}
    out = recover_draws(models, ds, groupings(ds, [15, 20], 2), samples=100)
    weights = recovery_weights(out)
    assert weights.attrs["left_out"] == ["fragile, indeed"] and weights.attrs["groupings"] == 4
    others = recovery_weights(out.isel(model=[0, 2]))
    assert others.attrs["left_out"] == []
    np.testing.assert_allclose(others, weights[[0, 2]])
    assert weights.sel(model="fragile, indeed") == 0 and weights.sum() == pytest.approx(1)
    assert weights.sel(model="right") > 0.9
    draws, y, groups, number = [[], []], [], [], []
    for i in range(2):
        for k in range(2):
            own = out["group"].values[i, k]
            kept = np.bincount(own)[own] > 1
            for m, name in enumerate(("right", "flat")):
                draws[m].append(np.sqrt(out["draws"].sel(model=name).values[i, k][:, kept]))
            y.append(np.sqrt(ds["value"].values[kept]))
            groups.append(own[kept])
            number.append(np.full(kept.sum(), 2 * i + k))
    expected = stack([np.concatenate(d, axis=1) for d in draws], np.concatenate(y),
                     np.concatenate(groups), replicates=np.concatenate(number))
    np.testing.assert_allclose(weights.values[[0, 2]], expected, atol=1e-4)
