"""The verdict in one call: right where the truth is made, honest where something is missing."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import workbench as wb
from tests.reference import FlatModel, TruthModel, country
from workbench.bagging import assemble
from workbench.checks import InputError
from workbench.comparison import Comparison, cross_validate, score_individuals
from workbench.comparison.clock import Clock
from workbench.comparison.line_up import line_up
from workbench.comparison.tests import of_individuals, summarise
from workbench.comparison.verdict import standing, verdict
from workbench.evaluation import Interrupted, poisson_deviance, rescale_to_totals
from workbench.evaluation.area_scores import clustered_error
from workbench.evaluation.baselines import PopulationSplit, TotalsGLM
from workbench.labelled import models

NO_AUTO = {"auto": None}        # it takes its time, and has tests of its own
QUICK = {"folds": 4, "draws": 1, "levels": [12], "samples": 200}


def simulated(slope, area_log_sd=0.0, areas=36, size=6, seed=0, fine=True) -> xr.Dataset:
    """Counts whose log rate has a known slope inside areas as between them."""
    rng = np.random.default_rng(seed)
    n, membership = areas * size, np.repeat(np.arange(areas), size)
    x = 0.7 * rng.normal(size=(areas, 1))[membership] + 0.7 * rng.normal(size=(n, 1))
    where = np.column_stack([membership % 6, membership // 6]) + rng.uniform(size=(n, 2))
    weight = np.exp(rng.normal(8, 0.5, n))
    rate = 0.05 * np.exp(slope * x[:, 0] + area_log_sd * rng.normal(size=areas)[membership])
    counts = rng.poisson(weight * rate).astype(float)
    rows = xr.Dataset(
        {"covariates": (("individual", "covariate"), x), "weight": ("individual", weight)},
        coords={"individual": np.arange(n), "covariate": ["a"],
                "x": ("individual", where[:, 0]), "y": ("individual", where[:, 1])})
    if fine:
        rows["individual_value"] = ("individual", counts)
    ds = assemble(rows, membership, np.bincount(membership, counts), np.arange(areas),
                  value_attrs={"aggregation": "sum", "kind": "count"})
    centres = [np.bincount(membership, w) / size for w in where.T]
    return ds.assign_coords(bag_x=("bag", centres[0]), bag_y=("bag", centres[1]))


class Counted(FlatModel):
    """Counts its fits; stops at one of them if told to."""

    fits, stop = 0, None

    def __repr__(self):
        return "Counted()"

    def fit(self, ds, *args, **kwargs):
        type(self).fits += 1
        if self.fits == self.stop:
            raise KeyboardInterrupt
        return super().fit(ds, *args, **kwargs)


class Broken:
    """Cannot be fitted."""

    def fit(self, ds):
        raise ValueError("the <kernel> is unknown")


@pytest.fixture(scope="module")
def strong():
    return simulated(0.9)


@pytest.fixture(scope="module")
def result(strong):
    return wb.compare(strong, NO_AUTO | {"broken": Broken()}, **QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("fine", [True, False])
def test_where_rates_are_flat_inside_areas_the_simple_map_is_to_be_used(fine):
    # areas that differ are flat inside, but groups of them are not: there others may be better
    ds = simulated(0.0, area_log_sd=0.5 if fine else 0.0, fine=fine)
    found = wb.compare(ds, NO_AUTO, **QUICK)
    assert found.recommended == "population split"
    assert found.sentence.startswith("Use the population split, the simple map: ")
    assert ("fine truth" in found.sentence) == fine
    assert ("nothing below the areas was seen" in found.sentence) == (not fine)


@pytest.mark.slow
@pytest.mark.parametrize("fine", [True, False])
def test_where_a_covariate_drives_the_rate_its_model_is_to_be_used(fine, result):
    found = result if fine else wb.compare(simulated(0.9, fine=False), NO_AUTO, **QUICK)
    assert found.recommended == "GLM on totals"
    assert found.sentence.startswith("Use GLM on totals: ")
    first = found.data.isel(test=0).sel(model="GLM on totals", other="population split")
    assert str(first["test"].item()) == ("individuals" if fine else "recovered")
    assert float(first["upper"].sel(score="crps_sqrt")) < 0
    covered = found.scores.isel(test=0).sel(model="GLM on totals", score="coverage_95")
    assert 0.85 < float(covered) <= 1


@pytest.mark.slow
def test_scores_are_those_of_the_tests_alone(strong, result):
    names = result.data["test"].values.tolist()
    assert names == ["individuals", "recovered", "random", "blocks"]
    y = strong["individual_value"].values
    fit = PopulationSplit().fit(strong)
    pinned = rescale_to_totals(strong, fit.at(strong).mean.values * strong["weight"].values)
    assert float(result.scores.sel(test="individuals", model="population split", score="deviance")
                 ) == pytest.approx(poisson_deviance(y, pinned))
    alone = cross_validate({"population split": PopulationSplit()}, strong, 4, samples=200,
                           constant=False)
    assert alone["model"].values.tolist() == ["population split"]
    at = alone["scores"].sel(target="bag", model="population split")
    held = result.scores.sel(test="random", model="population split")
    for name in ("crps", "deviance"):
        assert float(held.sel(score=name)) == pytest.approx(float(at.sel(score=name)))
    glm = result.details["recovered"]["scores"].sel(model="GLM on totals")
    for name in result.scores["score"].values:
        assert float(result.scores.sel(test="recovered", model="GLM on totals", score=name)
                     ) == pytest.approx(float(glm.sel(score=name)))


@pytest.mark.slow
def test_differences_are_paired_and_their_intervals_are_over_areas(strong, result):
    fine = result.details["individuals"]["individual_scores"].sel(score="crps_sqrt")
    gap = (fine.sel(model="GLM on totals") - fine.sel(model="population split")).values
    error = clustered_error(gap, strong["membership"].values)
    one = result.data.sel(test="individuals", model="GLM on totals", other="population split",
                          score="crps_sqrt")
    assert float(one["difference"]) == pytest.approx(gap.mean())
    assert float(one["difference_error"]) == pytest.approx(error)
    assert float(one["upper"]) == pytest.approx(gap.mean() + stats.t.ppf(0.975, 35) * error)
    assert float(result.data["clusters"].sel(test="blocks")) == 4
    assert float(result.data["clusters"].sel(test="random")) == 36


@pytest.mark.slow
def test_a_model_that_fails_is_kept_with_its_message_and_costs_the_others_nothing(result):
    told = result.data["error"].sel(model="broken")
    assert told.sel(test="individuals").item() == "ValueError: the <kernel> is unknown"
    assert "4 of 4 folds failed" in told.sel(test="random").item()
    assert result.scores.sel(model="broken").isnull().all()
    assert result.scores.drop_sel(model="broken").notnull().all()
    assert result.table("random").loc["broken", "failed"].startswith("4 of 4 folds")
    assert "broken: ValueError: the <kernel>" in result.to_text()


@pytest.mark.slow
def test_the_page_is_self_contained_and_says_everything(result, tmp_path):
    page = result.to_html(tmp_path / "verdict.html")
    assert (tmp_path / "verdict.html").read_text(encoding="utf-8") == page
    for outside in ("http", "src=", "<link", "<script", "@import", "url("):
        assert outside not in page
    assert "the &lt;kernel&gt; is unknown" in page and "<kernel>" not in page
    assert result.sentence.split(":")[0] in page
    for model in result.scores["model"].values:
        assert model in page
    for told in ("seed 0", "samples 200", "numpy", "TotalsGLM(", "▼ better", "× failed"):
        assert told in page
    assert page.count("<svg") == sum(
        int(np.isfinite(result.data["difference"].sel(
            test=t, other="population split", score="crps_sqrt")).sum()) - 1
        for t in result.data["test"].values)
    part = result._repr_html_()
    assert "<html" not in part and result.sentence.split(":")[0] in part


@pytest.mark.slow
def test_it_survives_a_file(result, tmp_path):
    result.to_netcdf(tmp_path / "verdict.nc")
    again = Comparison.read(tmp_path / "verdict.nc")
    xr.testing.assert_identical(again.data, result.data)
    assert again.sentence == result.sentence and again.to_text() == result.to_text()
    assert set(again.details) == set(result.details)


@pytest.mark.slow
def test_tables_put_the_best_first_with_differences_from_it_and_from_the_simple_map(result):
    table = result.table()
    assert table.index.names == ["test", "model"] and len(table) == 4 * 5
    one = result.table("individuals")
    assert one.index[0] == "GLM on totals" and one.index[-1] == "broken"
    assert one.loc["GLM on totals", "difference from best"] == 0
    assert one.loc["GLM on totals", "difference from population split, high"] < 0
    assert one.loc["population split", "difference from best, low"] > 0
    with pytest.raises(InputError, match="did you mean 'recovered'"):
        result.table("recover")


@pytest.mark.slow
def test_fractional_totals_are_compared_and_it_is_said():
    ds = simulated(0.9, fine=False)
    ds["value"] = ds["value"] + 0.4
    found = wb.compare(ds, NO_AUTO, **QUICK)
    assert found.recommended == "GLM on totals"
    assert found.scores.notnull().all()
    assert "some totals are fractional" in found.data.attrs["notes"]


@pytest.mark.slow
def test_means_are_compared_beside_the_flat_map_and_what_is_left_out_is_said():
    ds, rng = country(bags=24, size=4, seed=0), np.random.default_rng(0)
    fine = ds["covariates"].values[:, 0] + 0.1 * rng.normal(size=96)
    w, m = ds["weight"].values, ds["membership"].values
    ds = ds.drop_vars(["truth", "individual_value"], errors="ignore")
    ds["value"] = ("bag", np.bincount(m, w * fine) / np.bincount(m, w),
                   {"kind": "continuous", "aggregation": "mean"})
    model = wb.AggregatedGP(kernel="linear", max_steps=20)
    found = wb.compare(ds, NO_AUTO | {"slope": model}, folds=3, draws=1, levels=[8], samples=100)
    assert set(found.scores["model"].values) >= {"constant", "slope"}
    assert found.recommended == "slope" and "squared_error" in found.scores["score"].values
    assert "left out: they are for totals of counts" in found.data.attrs["notes"]


@pytest.mark.slow
def test_what_the_data_do_not_have_is_left_out_and_said():
    ds = simulated(0.9, fine=False).isel(bag=slice(0, 8))
    ds = ds.isel(individual=ds["membership"].values < 8).drop_vars(["x", "y", "bag_x", "bag_y"])
    found = wb.compare(ds, NO_AUTO, folds=4, samples=100)
    assert found.data["test"].values.tolist() == ["random"]
    notes = found.data.attrs["notes"]
    for told in ("Poisson kriging is left out", "spatial blocks are left out",
                 "coarsen and recover is left out", "no fine truth"):
        assert told in notes
    assert "does not test the inside of areas" in found.sentence


@pytest.mark.parametrize("fine", [True, False])
def test_one_area_is_refused_with_what_to_do(fine):
    ds = simulated(0.9, fine=fine)
    one = ds.isel(bag=[0], individual=ds["membership"].values == 0)
    with pytest.raises(InputError, match="two areas or more, got 1.*several areas"):
        wb.compare(one)
    with pytest.raises(InputError, match="one bag.*several bags"):
        cross_validate(TruthModel(0.9), one)
    if fine:                                                # what the message points to
        found = score_individuals({"split": PopulationSplit()}, one)
        assert found["individual_scores"].notnull().all() and found["error"].item() == ""


@pytest.mark.slow
def test_what_stopped_keeps_what_is_finished_and_is_taken_up_again(strong, tmp_path):
    how = QUICK | {"scheme": "random", "resume": tmp_path}
    Counted.fits, Counted.stop = 0, 4          # individuals, one level, two folds
    with pytest.raises(Interrupted) as stopped:
        wb.compare(strong, NO_AUTO | {"counted": Counted()}, **how)
    partial = stopped.value.partial
    assert partial.data["test"].values.tolist() == ["individuals", "recovered", "random"]
    assert "Incomplete: stopped after" in partial.to_text()
    Counted.stop, told = None, []
    whole = wb.compare(strong, NO_AUTO | {"counted": Counted()}, **how,
                       progress=lambda done, total, what: told.append((done, total)))
    assert Counted.fits == 7                    # the fold that stopped, and the last two
    assert told[-1] == (30, 30) and told == sorted(told)
    wb.compare(strong, NO_AUTO | {"counted": Counted()}, **how)
    assert Counted.fits == 7
    again = wb.compare(strong, NO_AUTO | {"counted": Counted()}, **QUICK | {"scheme": "random"})
    xr.testing.assert_allclose(whole.scores, again.scores)


def test_a_stop_between_the_fits_keeps_what_is_finished(strong, monkeypatch):
    summarised, calls = of_individuals, []

    def stopping(*args):
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return summarised(*args)

    monkeypatch.setattr("workbench.comparison.tests.of_individuals", stopping)
    with pytest.raises(Interrupted) as stopped:
        wb.compare(strong, NO_AUTO, **QUICK)
    assert stopped.value.partial.data["test"].values.tolist() == ["individuals"]


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(strong):
    models = {"split": PopulationSplit(), "glm": TotalsGLM(ridge=0.1)}
    one, two = (cross_validate(models, strong, 3, samples=50, constant=False, workers=w)
                for w in (1, 2))
    xr.testing.assert_identical(one.drop_vars("seconds"), two.drop_vars("seconds"))
    first, second = (score_individuals(models, strong, samples=50, workers=w) for w in (1, 2))
    xr.testing.assert_identical(first.drop_vars("seconds"), second.drop_vars("seconds"))


def test_individuals_are_never_shown_to_a_model(strong):
    seen = []

    class Looking(PopulationSplit):
        def fit(self, ds):
            seen.append(set(map(str, ds.variables)))
            return super().fit(ds)

    wb.compare(strong, NO_AUTO | {"looking": Looking()}, **QUICK)
    assert len(seen) == 10 and not set().union(*seen) & {"individual_value", "truth"}


@pytest.mark.slow
def test_the_time_left_is_by_the_times_of_each_model(strong, capsys):
    times = iter([0.0, 2.0, 22.0, 22.01, 24.0])
    clock = Clock({"split": 3, "auto": 2}, {"auto": 50.0}, lambda: next(times))
    assert clock.left() == 100              # of the split nobody knows
    clock.done("split")
    clock.done("auto")
    assert clock.left() == 2 * 2 + 20
    clock.done("split")                     # only read: it tells nothing
    assert clock.left() == 2 + 20 and clock.told() == "about 22 s left"
    clock.done("split")
    assert clock.left() == 20
    broken = wb.VBAgg(kernel="rbf(nowhere)")
    wb.compare(strong, NO_AUTO | {"mine": broken}, **QUICK | {"scheme": "random"}, progress=True)
    told = capsys.readouterr().err
    assert "fold 3" in told and "30/30 fits" in told and " left]" in told
    assert "about" not in told.split("\r")[0]       # no guess of what cannot be fitted


def test_one_test_can_be_done_alone(strong, result):
    found = wb.compare(strong, NO_AUTO | {"broken": Broken()}, **QUICK, only="random")
    assert found.data["test"].values.tolist() == ["random"]
    xr.testing.assert_identical(found.scores.sel(test="random"), result.scores.sel(test="random"))
    assert json.loads(found.data.attrs["settings"])["only"] == ["random"]
    with pytest.raises(InputError, match="did you mean 'recovered'"):
        wb.compare(strong, NO_AUTO, **QUICK, only=["recoverd"])
    with pytest.raises(InputError, match="no test could be done: .*there is no fine truth"):
        wb.compare(strong.drop_vars("individual_value"), NO_AUTO, **QUICK, only="individuals")


def test_names_that_are_taken_or_unknown_are_refused(strong):
    with pytest.raises(InputError, match="'my name'"):
        wb.compare(strong, {"GLM on totals": TruthModel()}, **QUICK)
    with pytest.raises(InputError, match="did you mean 'vbagg'"):
        wb.compare(strong, "vbag", **QUICK)
    with pytest.raises(InputError, match="did you mean 'normal'"):
        wb.compare(strong, effort="norml")
    with pytest.raises(InputError, match="did you mean 'Poisson kriging'"):
        wb.compare(strong, {"kriging": None})


def test_the_default_model_is_compared_where_there_is_one_and_plain_methods_can_be_left_out(strong):
    chosen, base, notes = line_up(strong, None, "quick", 3)
    assert base == "population split" and ("auto" in chosen) == ("auto" in models())
    if "auto" in chosen:
        assert chosen["auto"].options.effort == "quick" and chosen["auto"].options.seed == 3
    else:
        assert "auto is left out: this version" in " ".join(notes)
    mine = PopulationSplit("individual")
    asked = {"auto": None, "Poisson kriging": None, "mine": mine}
    chosen, _, notes = line_up(strong, asked, "quick", 0)
    assert list(chosen) == ["population split", "GLM on totals", "dasymetric classes", "mine"]
    assert notes == ["auto is left out, as asked", "Poisson kriging is left out, as asked"]


def test_methods_that_data_do_not_allow_are_left_out_with_the_reason(strong):
    bare = strong.isel(covariate=[])
    chosen, _, notes = line_up(bare, {"auto": None, "mine": PopulationSplit("area")}, "quick", 0)
    assert list(chosen) == ["population split", "GLM on totals", "Poisson kriging", "mine"]
    assert notes == ["dasymetric classes are left out: there are no covariates",
                     "auto is left out, as asked"]
    asked = {"auto": None, "dasymetric classes": None}          # told once
    assert line_up(bare, asked, "quick", 0)[2] == notes


def made(tests: dict[str, list[list[float]]]) -> xr.Dataset:
    """A comparison of "split", "a" and "b" with given mean scores and errors of 0.1."""
    rng, parts = np.random.default_rng(0), []
    for mean in tests.values():
        noise = rng.normal(size=(3, 400, 1)) * 0.1 * np.sqrt(400 / 2)
        noise -= noise.mean(1, keepdims=True)
        values = np.array(mean)[:, None, None] + noise
        parts.append(summarise(["split", "a", "b"], np.repeat(values, 6, -1), np.arange(400), True,
                               phrase="these areas", unit="areas", cluster="areas",
                               errors=[""] * 3, notes=[""] * 3, seconds=[0.0] * 3))
    data = xr.concat(parts, xr.DataArray(list(tests), dims="test", name="test"))
    data["scores"].loc[{"score": "coverage_95"}] = 0.95
    data.attrs |= {"headline": "crps_sqrt", "baseline": "split"}
    return data


@pytest.mark.parametrize(("areas", "coverage", "said"), [
    (5, 1.0, "100 % there."), (400, 1.0, "100 % there: they are wider than need be."),
    (6, 5 / 6, "83 % there."), (60, 5 / 6, "83 % there: they are too narrow."),
    (6, 0.5, "50 % there: they are too narrow.")])
def test_what_intervals_cover_of_few_areas_may_be_chance(areas, coverage, said):
    data = made({"recovered": [2.0, 1.0, 1.5]}).assign(units=("test", [areas]))
    data["scores"].loc[{"score": "coverage_95"}] = coverage
    assert f"cover {said}" in verdict(data)[1]


def test_a_model_must_be_better_than_the_simple_map_by_more_than_chance():
    data = made({"recovered": [1.0, 0.9, 1.5]})         # a standard error, no more
    one = standing(data, "recovered")
    assert (one.use, one.best, one.tied) == ("split", "a", ("a",))
    _, said = verdict(data)
    assert "a has a better CRPS of square roots" in said and "no more than chance" in said
    assert standing(made({"recovered": [1.0, 0.5, 1.5]}), "recovered").use == "a"


def test_fine_truth_decides_and_the_others_are_heard():
    use, said = verdict(made({"random": [1.0, 2.0, 2.0], "recovered": [2.0, 1.0, 1.0],
                              "individuals": [2.0, 1.5, 1.0]}))
    assert use == "b" and "fine truth" in said
    assert "But these areas speak for the split: there b is worse than it" in said
    use, said = verdict(made({"random": [1.0, 2.0, 2.0], "recovered": [2.0, 1.0, 3.0]}))
    assert use == "a" and "found again from the groups' totals" in said
    use, said = verdict(made({"random": [2.0, 1.0, 1.02], "blocks": [2.0, 1.02, 1.0]}))
    assert use == "a" and "The difference of b from it is within error" in said
    assert "differ by no more than chance" in said


def test_between_models_that_a_test_does_not_tell_apart_the_next_one_decides():
    use, said = verdict(made({"recovered": [2.0, 1.0, 1.02], "random": [2.0, 1.5, 1.0]}))
    assert use == "b" and "The difference of a from it is within error" in said
    assert "Between it and a these areas decide: there a is worse" in said
    assert "The same holds for these areas" in said and "But" not in said
    # Not by a test after one that told the two apart the other way.
    use, _ = verdict(made({"recovered": [2.0, 1.0, 1.02], "random": [2.0, 1.0, 1.5],
                           "blocks": [2.0, 1.5, 1.0]}))
    assert use == "a"
    # Not for one that the deciding test does not find surely better than the simple map.
    use, said = verdict(made({"recovered": [1.35, 1.0, 1.18], "random": [2.0, 1.5, 1.0]}))
    assert use == "a" and "But these areas speak for b" in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_the_deviance_of_individuals_is_of_the_smooth_map_rescaled(strong):
    model = wb.VBAgg(kernel="linear", max_steps=5)
    fit = model.fit(strong)
    weight, y = strong["weight"].values, strong["individual_value"].values

    def rescaled(area_effect):
        expected = fit.at(strong, area_effect=area_effect).mean.values * weight
        return poisson_deviance(y, rescale_to_totals(strong, expected).values)

    found = score_individuals({"vbagg": model}, strong, samples=50)["individual_scores"]
    deviance = float(found.sel(model="vbagg", score="deviance").mean())
    assert deviance == pytest.approx(rescaled(False), rel=1e-9)
    assert deviance != pytest.approx(rescaled(True), rel=1e-6)


@pytest.mark.slow
def test_an_infinite_deviance_is_said_without_a_doubt(result):
    data = result.data.copy(deep=True)
    use = data.attrs["recommended"]
    assert "infinite" not in verdict(data)[1]
    data["scores"].loc[{"model": use, "score": "deviance"}] = np.inf
    for name in ("difference", "lower", "upper"):
        data[name].loc[{"model": use, "score": "deviance"}] = np.nan
    said = verdict(data)[1]
    assert "its deviance is infinite; by that of the point map alone" in said
    assert "within error" not in said.split("infinite")[1] and "nan" not in said


@pytest.mark.slow
def test_every_setting_and_version_is_kept(result):
    settings = json.loads(result.data.attrs["settings"])
    assert settings["folds"] == 4 and settings["levels"] == [12] and settings["seed"] == 0
    models = json.loads(result.data.attrs["models"])
    assert set(models) == set(result.scores["model"].values.tolist())
    assert all(" at 0x" not in told for told in models.values())
