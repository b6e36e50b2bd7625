"""`Auto`: candidates, their weights by coarsen and recover, the verdict, and what can go wrong."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import workbench as wb
from tests.reference import country
from workbench.checks import FitWarning, InputError
from workbench.evaluation.baselines import GLM, SPLIT
from workbench.evaluation.calibration import covered_by_pit, pit
from workbench.evaluation.evidence import FLAT_MAP, of_recovery
from workbench.evaluation.recovery import recovery_table
from workbench.evaluation.scoring import crps
from workbench.gp.models.vbagg.model import VBAgg
from workbench.labelled import candidate_fits, candidates, stages, verdict, weighing
from workbench.labelled.candidates import CANDIDATES, EFFORTS, candidates_for
from workbench.labelled.classes import auto
from workbench.labelled.held_out import HOW, ONE_SHARE, OneShare, even, hold_out
from workbench.labelled.verdict import MIXTURE

BY_NAME = {one.name: one for one in CANDIDATES}
AREAS, SIZE = 24, 4                        # merged into eight groups
NORMAL, QUICK = EFFORTS["normal"], EFFORTS["quick"]


def quick(**options) -> wb.Auto:
    return wb.Auto(**{"effort": "quick", "workers": 1} | options)


@pytest.fixture(scope="module")
def ds() -> xr.Dataset:
    return country(bags=AREAS, size=SIZE)


@pytest.fixture(scope="module")
def fit(ds):
    return quick().fit(ds)


@pytest.fixture
def two(monkeypatch):
    """The two cheapest candidates alone: a flat map, and slopes."""
    few = (BY_NAME["flat"], BY_NAME["slopes"])
    monkeypatch.setattr(candidates, "CANDIDATES", few)
    return few


# --- the mixture --------------------------------------------------------------------------------

@pytest.mark.slow
def test_all_quick_candidates_are_weighed(ds, fit):
    assert list(fit.candidates) == ["flat", "slopes", "place", "all at once",
                                    "all at once, transformed"]
    assert fit.weights["model"].values.tolist() == list(fit.candidates)
    assert float(fit.weights.sum()) == pytest.approx(1.0)
    assert (fit.weights > 0).all()              # so few groups rule none out
    assert fit.weights.attrs["long_name"] == "weight in the mixture"
    assert not fit.cancelled and fit.history and fit.elapsed > 0


@pytest.mark.slow
def test_what_explains_the_world_weighs_most(fit):
    """The world's log rate is linear in its covariate."""
    assert str(fit.weights.idxmax().item()) == "slopes"
    error = fit.recovery["error"].mean("grouping")
    assert float(error.sel(model="slopes")) < float(error.sel(model="flat"))
    assert float(error.sel(model=MIXTURE)) < float(error.sel(model=SPLIT))


@pytest.mark.slow
def test_means_are_weighted_means_of_the_candidates(ds, fit):
    for of, law in (("at", lambda f: f.at(ds)), ("over", lambda f: f.over(ds)),
                    ("latent", lambda f: f.latent(ds)),
                    ("area effect", lambda f: f.at(ds, area_effect=True))):
        wanted = sum(float(weight) * law(fit.candidates[str(name)]).mean
                     for name, weight in zip(fit.weights["model"].values, fit.weights.values,
                                             strict=True))
        np.testing.assert_allclose(law(fit).mean, wanted, rtol=1e-10, err_msg=of)


@pytest.mark.slow
def test_draws_preserve_totals(ds, fit):
    drawn = fit.sample(ds, 20, preserve_totals=True, seed=1)
    assert drawn.sizes["sample"] == 20
    sums = drawn.groupby(ds["membership"]).sum()
    np.testing.assert_allclose(sums.transpose("sample", ...).values,
                               np.broadcast_to(ds["value"], (20, AREAS)))


@pytest.mark.slow
def test_hyperparameters_and_weights_bring_the_fit_back(ds, fit):
    told = json.loads(json.dumps(fit.hyperparameters))          # as they travel
    again = quick().condition(ds, told)
    np.testing.assert_allclose(again.at(ds).mean, fit.at(ds).mean, rtol=2e-3)      # tolerance
    xr.testing.assert_allclose(again.weights, fit.weights)
    assert again.recovery is None and "weights were given" in again.verdict
    alone = quick().condition(ds, {"flat": {**told["flat"], "weight": 0.2},
                                   "place": {**told["place"], "weight": 0.6}})
    assert alone.weights.values.tolist() == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("change, message", [
    ({"flatt": {"weight": 1.0, "hyperparameters": {}}}, "did you mean 'flat'"),
    ({"flat": {"mean": 1.0}}, "'flat' needs a weight and hyperparameters"),
    ({"flat": {"weight": 0.0, "hyperparameters": {}}}, "one of them must be positive"),
    ({}, "one of them must be positive"),
])
def test_conditioning_on_something_else_is_refused(ds, change, message):
    with pytest.raises(InputError, match=message):
        quick().condition(ds, change)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_fit(ds, two):
    one, same, other = (quick(seed=seed).fit(ds) for seed in (3, 3, 4))
    xr.testing.assert_identical(one.weights, same.weights)
    xr.testing.assert_identical(one.recovery, same.recovery)
    np.testing.assert_array_equal(one.at(ds).mean, same.at(ds).mean)
    assert not np.array_equal(one.weights, other.weights)       # other groups


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing(ds, fit):
    both, calls = quick(workers=2), []
    shared = both.fit(ds, callback=lambda *now: calls.append(now[2]))
    xr.testing.assert_allclose(shared.weights, fit.weights, atol=1e-8)
    np.testing.assert_allclose(shared.at(ds).mean, fit.at(ds).mean, rtol=1e-6)
    assert list(shared.candidates) == list(fit.candidates)
    assert calls == sorted(calls) and calls[-1] == pytest.approx(1.0)


@pytest.mark.slow
def test_truth_is_never_seen(ds, two):
    lie = ds.assign(truth=ds["truth"] * 9, individual_value=ds["individual_value"] + 5)
    xr.testing.assert_identical(quick().fit(lie).weights, quick().fit(ds).weights)


# --- which candidates ---------------------------------------------------------------------------

def names(ds, effort):
    return [one.name for one in candidates_for(ds, effort)]


def test_no_candidate_needs_what_is_not_there(ds):
    bare = ds.drop_vars(["x", "y", "bag_x", "bag_y"])
    assert names(ds, NORMAL) == list(BY_NAME)
    assert names(bare, NORMAL) == ["flat", "slopes", "covariates"]
    assert names(bare, QUICK) == ["flat", "slopes", "covariates"]
    placed = ds.isel(covariate=slice(0, 0))
    assert names(placed, NORMAL) == names(placed, QUICK) == ["flat", "place"]
    assert names(bare.isel(covariate=slice(0, 0)), NORMAL) == ["flat"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
@pytest.mark.parametrize("without", ["places", "covariates"])
def test_data_with_places_or_covariates_alone(ds, without):
    few = ds.isel(covariate=slice(0, 0)) if without == "covariates" else ds.drop_vars(
        ["x", "y", "bag_x", "bag_y"])
    fit = quick().fit(few)
    assert list(fit.candidates) == names(few, QUICK)
    assert float(fit.weights.sum()) == pytest.approx(1.0)
    assert fit.recovery is not None and np.isfinite(fit.at(few).mean).all()
    assert (GLM in fit.recovery["model"]) == (without == "places")


@pytest.mark.slow
def test_fewer_than_ten_areas_are_not_weighed(two):
    few = country(bags=9, size=3)
    with pytest.warns(FitWarning, match="a simple map may be as good or better"):
        fit = quick().fit(few)
    assert fit.weights.values.tolist() == [0.5, 0.5] and fit.recovery is None
    assert "were not tested: 9 areas are too few" in fit.verdict
    assert fit.verdict in fit.summary()


@pytest.mark.parametrize("areas, said", [(2, True), (7, True), (8, False)])
def test_intervals_of_very_few_areas_are_said_to_be_likely_too_narrow(areas, said):
    few = country(bags=areas, size=3)
    found = weighing.weigh({"flat": None, "slopes": None}, few, QUICK, 0, 1, False, None, None)
    assert ("With so few areas intervals are likely too narrow" in found.verdict) == said
    assert f"{areas} areas are too few" in found.verdict and "wb.compare." in found.verdict


@pytest.mark.parametrize("areas, said", [(2, True), (7, True), (8, False)])
def test_that_of_means_is_not_said_of_which_nobody_has_simulated_it(areas, said):
    few = country(bags=areas, size=3)
    few["value"].attrs.update(kind="continuous", aggregation="mean")
    found = weighing.weigh({"flat": None, "slopes": None}, few, QUICK, 0, 1, False, None, None)
    assert ("nothing tests how wide intervals ought to be" in found.verdict) == said
    assert "too narrow" not in found.verdict


def trials(ds):
    rng = np.random.default_rng(1)
    number = rng.integers(60, 200, AREAS)
    share = 1 / (1 + np.exp(-ds["covariates"].values[:, 0]))
    of_bag = np.bincount(ds["membership"], ds["weight"] * share) / np.bincount(
        ds["membership"], ds["weight"])
    positives = rng.binomial(number, of_bag).astype(float)
    out = ds.drop_vars(["truth", "individual_value"]).assign(trials=("bag", number))
    return out.assign(value=("bag", positives, {"kind": "count", "aggregation": "mean"}))


class Share:
    """Everybody's share, which notes the areas that it was learnt from, and those it predicts."""

    def __init__(self, fails_on=()):
        self.fails_on, self.told = set(fails_on), []

    def fit(self, part):
        if self.fails_on - set(part["bag"].values.tolist()):
            raise ValueError("no luck")
        self.seen = set(part["bag"].values.tolist())
        self.share = float(part["value"].sum() / part["trials"].sum())
        return self

    def simulate(self, part, samples, seed):
        areas = part["bag"].values.tolist()
        assert not self.seen & set(areas)
        self.told.extend(areas)
        drawn = np.random.default_rng(seed).binomial(
            part["trials"].values.astype(int), self.share, (samples, part.sizes["bag"]))
        return xr.DataArray(drawn, dims=("sample", "bag"))


def test_held_out_areas_are_predicted_by_models_that_did_not_see_them(ds):
    surveyed, names = trials(ds), ds["bag"].values.tolist()
    surveyed["trials"][3] = surveyed["value"][3] = 0            # nobody was tested
    share, fails = Share(), Share(names[:1])
    found = hold_out({"share": share, "fails": fails}, surveyed, 5, samples=400, seed=0, workers=1,
                     progress=False)
    assert sorted(share.told) == sorted(set(names) - {names[3]})
    np.testing.assert_allclose(found.draws["share"].std(0), 0.5, atol=0.08)   # whatever n and share
    # A fold that fails takes its areas along, and not the model.
    [((name, _), why)] = found.errors.items()
    assert name == "fails" and "no luck" in why
    weights = dict(zip(("share", "fails"), found.weights(["share", "fails"], np.inf), strict=True))
    assert weights["fails"] > 0.1
    scored = found.scored(weights, 0)
    both = np.isfinite(found.draws["fails"]).all(0)
    inside = covered_by_pit(pit(found.observed[both], found.draws["share"][:, both], 0), [0.95])
    assert scored[verdict.COVERAGE].sel(model="share").item() == pytest.approx(inside.mean())
    assert verdict.covered_share(scored) == pytest.approx(inside.mean(), abs=0.06)
    error = scored["error"].mean("grouping")
    assert float(error.sel(model=MIXTURE)) <= float(error.sel(model="fails")) + 1e-9
    compared = found.compared(seed=0)
    by_name = compared["scores"].sel(score="crps").to_series().to_dict()
    for name in ("share", "fails", ONE_SHARE):
        assert by_name[name] == pytest.approx(
            np.mean(crps(found.observed[both], found.draws[name][:, both])))
    assert compared.sizes["area"] == both.sum() < both.size
    at = {"model": "share", "other": ONE_SHARE, "score": "squared_error"}
    squares = [(found.draws[name][:, both].mean(0) - found.observed[both]) ** 2
               for name in ("share", ONE_SHARE)]
    assert compared["difference"].sel(at).item() == pytest.approx(np.mean(squares[0] - squares[1]))
    assert compared["difference_error"].sel(at).item() == pytest.approx(
        stats.sem(squares[0] - squares[1]))
    evidence = of_recovery(compared, "share")
    assert evidence.coverage == pytest.approx(inside.mean()) and evidence.tested == both.sum()
    assert evidence.where == "of the held-out areas (predicted from the others)"
    assert "fails failed in turn" in compared.attrs["comparison"]
    assert "no luck" in compared.attrs["comparison"]
    assert recovery_table(compared).index[0] == min(by_name, key=by_name.get)
    # Both have one share, and so has what stands beside them.
    assert abs(scored["difference"].item()) < 3 * scored["difference_error"].item() + 0.02
    np.testing.assert_allclose(even([0, 3, 3], [4, 3, 12]),
                               [0, np.sqrt(3) * np.pi / 2, np.sqrt(12) * np.pi / 6])


def test_one_share_has_the_posterior_of_a_binomial_share(ds):
    surveyed = trials(ds)
    surveyed["value"][:] = 0.0
    drawn = OneShare().fit(surveyed).simulate(surveyed, 4000, 1)
    n = float(surveyed["trials"].sum())
    expected = surveyed["trials"].values * 0.5 / (n + 1)        # positives are none, not the share
    np.testing.assert_allclose(drawn.mean("sample"), expected, atol=5 * np.sqrt(expected.max()
                                                                              / 4000))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
def test_noise_is_not_surely_mapped(ds, two):
    surveyed, sure = trials(ds), 0
    for seed in range(6):
        drawn = np.random.default_rng(seed).binomial(surveyed["trials"].values, 0.3).astype(float)
        noise = surveyed.assign(value=("bag", drawn, surveyed["value"].attrs))
        stands = verdict.standing(quick().fit(noise).recovery)
        sure += ONE_SHARE not in (*stands.better, *stands.tied, *stands.unsure, *stands.alone)
    assert sure == 0


def means(ds):
    value = np.bincount(ds["membership"], ds["covariates"][:, 0]) / SIZE
    assert value.min() < 0
    return ds.drop_vars(["truth", "individual_value"]).assign(
        value=("bag", value, {"kind": "continuous", "aggregation": "mean", "units": "K"}))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
def test_means_that_are_noise_are_not_surely_mapped(ds, two):
    sure = 0
    for seed in range(4):
        drawn = np.random.default_rng(seed).lognormal(2.0, 0.4, ds.sizes["bag"])
        noise = means(ds).assign(value=("bag", drawn, {
            "kind": "continuous", "aggregation": "mean", "units": "K"}))
        fit = quick().fit(noise)
        stands = verdict.standing(fit.recovery)
        sure += FLAT_MAP not in (*stands.better, *stands.tied, *stands.unsure, *stands.alone)
        assert FLAT_MAP in fit.verdict
    assert sure == 0


def fractional(ds):
    return ds.assign(value=ds["value"] + 0.25)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
@pytest.mark.parametrize("kind", [trials, means, fractional])
def test_other_kinds_of_values(ds, kind, two):
    made = kind(ds)
    fit = quick().fit(made)
    mean, total = fit.at(made).mean, fit.over(made).mean
    assert np.isfinite(mean).all() and np.isfinite(fit.simulate(made, samples=4)).all()
    if kind is trials:
        # Weighed by areas that were held out: the share follows the covariate.
        assert ((mean > 0) & (mean < 1)).all() and HOW in fit.verdict
        assert fit.recovery["model"].values.tolist() == ["flat", "slopes", ONE_SHARE, MIXTURE]
        error = fit.recovery["error"].mean("grouping")
        assert error.sel(model="slopes") < error.sel(model=ONE_SHARE) - 0.05
        assert float(fit.weights.sel(model="slopes")) > 0.7
        assert float(np.corrcoef(total, made["value"] / made["trials"])[0, 1]) > 0.5
    elif kind is means:
        # The simple maps of counts have no meaning here: a flat map stands beside it.
        assert fit.recovery["model"].values.tolist() == ["flat", "slopes", FLAT_MAP, MIXTURE]
        stands = verdict.standing(fit.recovery)
        assert FLAT_MAP not in (*stands.better, *stands.tied, *stands.unsure, *stands.alone)
        assert float(mean.min()) < 0 and "merged ones the mixture has an error of" in fit.verdict
        assert float(fit.weights.sel(model="slopes")) > 0.7     # the values are the covariate
    else:
        assert fit.recovery["model"].values.tolist() == ["flat", "slopes", SPLIT, GLM,
                                                         MIXTURE]
        assert fit.recovery["error"].notnull().all() and not fit.notes
        whole = quick().fit(ds).recovery["error"].sel(model=[SPLIT, GLM])
        np.testing.assert_allclose(fit.recovery["error"].sel(model=[SPLIT, GLM]), whole,
                                   rtol=0.1)


# --- what can go wrong --------------------------------------------------------------------------

def failing(monkeypatch, kernels):
    inner = VBAgg.fit

    def fit(self, *given, **named):
        if self.options.kernel in kernels:
            raise ArithmeticError("nothing works")
        return inner(self, *given, **named)

    monkeypatch.setattr(VBAgg, "fit", fit)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
def test_a_candidate_that_fails_is_left_out_and_named(ds, two, monkeypatch):
    failing(monkeypatch, {"linear(covariates)"})
    fit = quick().fit(ds)
    assert list(fit.candidates) == ["flat"] and fit.weights.values.tolist() == [1.0]
    note, = [text for text in fit.notes if "left out" in text]
    assert note == "the candidate 'slopes' failed and is left out: ArithmeticError: nothing works"
    assert note in fit.summary()


@pytest.mark.slow
def test_no_candidate_at_all_is_an_error(ds, two, monkeypatch):
    failing(monkeypatch, {"constant", "linear(covariates)"})
    with pytest.raises(InputError, match="no candidate could be fitted: 'flat', 'slopes' "
                       "failed: ArithmeticError: nothing works$"):
        quick().fit(ds)


@pytest.mark.slow
def test_a_candidate_that_recovers_nothing_weighs_nothing(ds, monkeypatch):
    """Its name has a comma, as one of the real ones has: the names of others must not suffer."""
    few = (BY_NAME["flat"], BY_NAME["slopes"], replace(BY_NAME["slopes"], name="flat, slopes"))
    monkeypatch.setattr(candidates, "CANDIDATES", few)
    model, condition = quick(), VBAgg.condition
    fitted = []

    def refuse(self, source, values):
        if self is fitted[0]:
            raise ArithmeticError("not of merged areas")
        return condition(self, source, values)

    fits_of = auto.fit_candidates

    def note(*given):
        found = fits_of(*given)
        fitted.append(found[0]["flat, slopes"].model._inner)
        return found

    monkeypatch.setattr(auto, "fit_candidates", note)
    monkeypatch.setattr(VBAgg, "condition", refuse)
    fit = model.fit(ds)
    assert float(fit.weights.sel(model="flat, slopes")) == 0.0
    assert float(fit.weights.sum()) == pytest.approx(1.0)
    assert (fit.weights.sel(model=["flat", "slopes"]) > 0.02).all()     # eight groups tell little
    assert any(n.startswith("flat, slopes, 8 groups, draw 0: ArithmeticError") for n in fit.notes)
    assert np.isfinite(fit.at(ds).mean).all()


@pytest.mark.slow
def test_cancelling_at_once_keeps_the_first_candidate(ds):
    def stop(*_):
        raise wb.Cancelled

    fit = quick().fit(ds, callback=stop)
    assert fit.cancelled and list(fit.candidates) == ["flat"]
    assert fit.weights.values.tolist() == [1.0] and np.isfinite(fit.at(ds).mean).all()
    assert any("cancelled: 1 of 5 candidates" in note for note in fit.notes)


def test_progress_goes_by_the_work_of_candidates():
    """Flat rate and slopes take hardly any time, the sum of two maps more than twice one."""
    one, two = (candidate_fits._work(kernel) for kernel in ("matern32", "rbf(covariates)+matern32"))
    for slopes in ("constant", "linear", "constant+linear(covariates)"):
        assert candidate_fits._work(slopes) == 0.1 < one / 5
    assert candidate_fits._work("rbf(covariates)*matern32(place)") == one < two / 2
    quick, normal, thorough = (
        candidates.effort_named(name) for name in ("quick", "normal", "thorough"))
    assert normal.weighing(False) == 4 * quick.weighing(False)      # groupings
    assert thorough.weighing(False) < normal.weighing(False)        # its fits are averaged
    assert quick.weighing(True) == 5                                # folds, learnt anew


@pytest.mark.filterwarnings("ignore::workbench.checks.SimpleMapWarning")     # of two candidates
def test_a_candidate_that_takes_no_time_is_no_half_of_the_work(ds, monkeypatch):
    monkeypatch.setattr(candidates, "CANDIDATES", [
        one for one in CANDIDATES if one.name in ("flat", "place")])
    told = []
    quick().fit(ds, callback=lambda step, _, fraction: told.append((step, fraction)))
    second = [step for step, _ in told].index(1, 1)             # where steps begin again
    fitting = 1 / (1 + EFFORTS["quick"].weighing(False))
    flat = fitting * 0.1 / 1.2
    assert told[second - 1][1] < flat < told[second][1] < 0.15
    assert [one for _, one in told] == sorted(one for _, one in told)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.SimpleMapWarning")     # of two candidates
def test_who_listens_hears_which_model_is_fitted_and_how_far_they_are_tested(ds, two):
    heard = {}
    for workers in (1, 2):
        heard[workers] = []
        with stages.heard_by(heard[workers].append):
            quick(workers=workers).fit(ds)
    alone, together = ([(one.what, one.done, one.total, one.name) for one in heard[workers]]
                       for workers in (1, 2))
    assert alone[:2] == [("fitting", 0, 2, "flat"), ("fitting", 1, 2, "slopes")]
    assert together[:3] == [("fitting", k, 2, "") for k in range(3)]
    tested = alone[2:]
    assert {what for what, *_ in tested} == {"weighing"} and together[3:] == tested
    assert [done for _, done, *_ in tested] == list(range(1, tested[0][2] + 1))
    stages.at(stages.FITTING, 0, 1)             # nobody listens any more
    assert len(heard[2]) == len(together)


@pytest.mark.slow
def test_cancelling_later_keeps_what_there_is(ds, two):
    seen = []

    def stop_at(share):
        def callback(step, objective, fraction):
            seen.append(fraction)
            if fraction > share:
                raise wb.Cancelled
        return callback

    fit = quick().fit(ds, callback=stop_at(0.32))               # in the second candidate
    assert fit.cancelled and list(fit.candidates) == ["flat", "slopes"]
    assert fit.recovery is None and fit.weights.values.tolist() == [0.5, 0.5]
    fit = quick().fit(ds, callback=stop_at(0.63))               # while they are weighed
    assert fit.cancelled and fit.recovery is None and fit.weights.values.tolist() == [0.5, 0.5]
    assert "weighing the candidates was cancelled" in fit.notes
    assert np.isfinite(fit.at(ds).mean).all()
    seen.clear()
    assert not quick().fit(ds, callback=stop_at(1.0)).cancelled
    assert seen == sorted(seen) and seen[-1] == pytest.approx(1.0)


def test_the_time_is_estimated(ds):
    less, more = (wb.Auto(effort=effort, workers=1).estimate(ds) for effort in ("quick", "normal"))
    assert 0 < less < more < 3600


# --- the verdict --------------------------------------------------------------------------------

def misleading() -> xr.Dataset:
    """Five clusters of three areas: between clusters a covariate tells the rate, within it lies.

    All areas of a cluster have one rate, so that its population split is right.
    """
    rng = np.random.default_rng(2)
    made = country(bags=15, size=3)
    cluster = np.arange(15) // 3
    middle = np.linspace(-2, 2, 5)[cluster]
    of_area = (middle + np.tile([-1.5, 0.0, 1.5], 5))[made["membership"].values]
    place = 100.0 * cluster + np.tile([0.0, 1.0, 2.0], 5)
    weight = np.full(45, 50.0)
    count = rng.poisson(np.bincount(made["membership"], weight) * np.exp(0.6 * middle))
    value = made["value"].copy(data=count.astype(float))
    return made.drop_vars(["truth", "individual_value"]).assign(
        covariates=(("individual", "covariate"), of_area[:, None]), value=value,
        weight=("individual", weight, {"units": "houses"})).assign_coords(
        x=("individual", place[made["membership"].values]), y=("individual", np.zeros(45)),
        bag_x=("bag", place), bag_y=("bag", np.zeros(15)))


@pytest.mark.slow
def test_a_simple_map_that_recovers_better_is_named_and_warned_of(monkeypatch):
    made = misleading()
    monkeypatch.setattr(candidates, "CANDIDATES", (BY_NAME["slopes"],))
    with pytest.warns(FitWarning, match="population split.* recovered them better"):
        fit = quick().fit(made)
    assert f"The {SPLIT}" in fit.verdict and "wb.compare" in fit.verdict
    error = fit.recovery["error"].mean("grouping")
    assert float(error.sel(model=SPLIT)) < float(error.sel(model=MIXTURE))
    assert float(fit.recovery["difference"].sel(simple=SPLIT)) > 0
    assert fit.recovery["simple"].values.tolist() == [SPLIT, GLM]


def recovery(ours, simple, error=0.01, map_gap=-1.0):
    """Scores of one grouping: the mixture's, and those of simple maps by name."""
    gaps = {name: ours - value for name, value in simple.items()}
    grid = np.array([ours, *simple.values()])[:, None]
    return xr.Dataset(
        {"error": (("model", "grouping"), grid),
         "difference": ("simple", list(gaps.values())),
         "difference_error": ("simple", [error] * len(gaps)),
         "deviance_difference": ("simple", [map_gap] * len(gaps)),
         "deviance_difference_error": ("simple", [error] * len(gaps))},
        coords={"model": [MIXTURE, *simple], "simple": list(simple)})


@pytest.mark.parametrize("scores, areas, wins, said, unsaid", [
    (dict(ours=0.5, simple={SPLIT: 0.8, GLM: 0.9}), 50, False,
     "error of 0.5, the population split 0.8 (difference -0.3, standard error 0.01)",
     "wb.compare"),
    (dict(ours=0.5, simple={SPLIT: 0.4, GLM: 0.9}), 50, True,
     "The population split recovered them better: compare", "weak test"),
    (dict(ours=0.5, simple={SPLIT: 0.48}), 50, True,            # two standard errors
     "no better than the population split (difference within 3 standard errors)",
     "recovered them better"),
    (dict(ours=0.5, simple={SPLIT: 0.5}), 50, True, "no better than the population", "surely"),
    (dict(ours=0.5, simple={SPLIT: 0.48}, error=np.nan), 50, True, "recovered them better", "no b"),
    (dict(ours=0.5, simple={SPLIT: 0.4, GLM: 0.45}), 5, True,
     "The population split and the GLM on totals recovered them", "weak test"),
    (dict(ours=0.5, simple={SPLIT: 0.52}), 50, False,           # two standard errors
     "not clearly better than the population split, by the 3 standard errors asked here",
     "recovered them better"),
    (dict(ours=0.5, simple={SPLIT: 0.54}), 50, False, "0.54", "not clearly better"),
    (dict(ours=0.5, simple={SPLIT: 0.8}), 29, False, "29 areas make a weak test", "as well or"),
    (dict(ours=0.5, simple={SPLIT: 0.8}, map_gap=0.2), 50, False,
     "That is clearly better than the population split in this error, but not in the deviance of "
     "the maps alone, without their intervals (difference +0.2, standard error 0.01), by the 3",
     "not clearly better"),
    (dict(ours=0.5, simple={SPLIT: np.nan, GLM: 0.9}), 50, False,
     "the GLM on totals 0.9", "population split"),    # it failed
    (dict(ours=0.5, simple={SPLIT: 0.8}, map_gap=-0.02), 50, False,     # of the map: two s.e.
     "That is clearly better than the population split in this error, but not surely in the "
     "deviance of the maps alone, without their intervals (difference -0.02, standard error 0.01), "
     "by the 3 standard errors asked here: a simple map", "not clearly better"),
    (dict(ours=0.5, simple={SPLIT: 0.8, GLM: 0.9}, map_gap=-0.02), 50, False,
     "clearly better than the population split and the GLM on totals in this error, but not surely "
     "in the deviance of the maps alone, without their intervals (population split: difference "
     "-0.02, standard error 0.01; GLM on totals: difference", "not clearly better"),
    (dict(ours=0.5, simple={SPLIT: 0.8, GLM: 0.52}, map_gap=-0.02), 50, False,
     "That is not clearly better than the GLM on totals, and clearly better than the population "
     "split in this error, but not surely in the deviance", "; GLM on totals"),
    (dict(ours=0.5, simple={}), 50, False, "has an error of 0.5.", "wb.compare"),
])
def test_the_verdict_in_words(scores, areas, wins, said, unsaid):
    text, won = verdict.verdict(recovery(**scores), areas)
    assert won == wins and said in text and unsaid not in text


def test_the_verdict_on_values_that_are_no_counts_does_not_speak_of_a_deviance():
    found = recovery(0.5, {FLAT_MAP: 0.8}, map_gap=-0.02).assign_attrs(
        {verdict.MAP_SCORE: verdict.SQUARES})
    text = verdict.verdict(found, 50)[0]
    assert "not surely in the squared error of the maps alone" in text and "deviance" not in text


@pytest.mark.parametrize("share, said", [
    (0.95, "Its 95 % intervals covered 95 % of those areas."),
    (0.81, "covered 81 % of those areas."),
    (0.79, "covered 79 % of those areas: far too few, so do not rely on those inside")])
def test_the_verdict_says_what_intervals_covered(share, said):
    found = recovery(0.5, {SPLIT: 0.8})
    assert "intervals" not in verdict.verdict(found, 50)[0]       # of an earlier version
    covered = found.assign({verdict.COVERAGE: (("model", "grouping"), [[share], [0.1]])})
    assert said in verdict.verdict(covered, 50)[0]


def test_coverage_of_recovered_areas_is_of_their_own_draws(ds):
    """Draws around the truth cover it as their spread says; areas alone in a group are no test."""
    rng, areas = np.random.default_rng(0), ds.sizes["bag"]
    group = np.r_[0, 0, np.arange(areas - 2) // 2 + 1]
    group[-1] += 1                                              # alone, like the one before
    y = ds["value"].values.astype(float)
    around = np.maximum(np.round(y + rng.normal(0, 3, (400, areas)) + rng.normal(0, 3, areas)), 0)
    draws = np.stack([around, np.round(y) + 10 + np.zeros((400, areas))])
    recovered = xr.Dataset(
        {"draws": (("model", "level", "draw", "sample", "area"), draws[:, None, None]),
         "group": (("level", "draw", "area"), group[None, None])}, {"model": ["near", "off"]})
    found = verdict.scored(recovered, {"near": 1.0}, ds, 0)[verdict.COVERAGE].isel(grouping=0)
    inside = covered_by_pit(pit(y, around, 0), [0.95])[0][:-2].mean()
    assert found.sel(model="near").item() == pytest.approx(inside, abs=1e-12)
    assert found.sel(model="off").item() == 0 and inside > 0.8
    assert found.sel(model=MIXTURE).item() == pytest.approx(inside, abs=0.05)


def test_draws_are_mixed_in_numbers_by_weight():
    draws = {name: np.full((10, 2), float(k)) + np.arange(10)[:, None] / 100
             for k, name in enumerate("abc")}
    mixed = verdict.mixed(draws, {"a": 0.62, "b": 0.0, "c": 0.38}, 0)
    assert mixed.shape == (10, 2)
    assert np.floor(mixed[:, 0]).tolist() == [0.0] * 6 + [2.0] * 4
    assert len(set(mixed[:, 0])) == 10                          # no draw twice, and whole draws
    np.testing.assert_array_equal(mixed[:, 0], mixed[:, 1])
    all_of_one = verdict.mixed(draws, {"a": 0.0, "b": 1.0, "c": 0.0}, 0)
    np.testing.assert_array_equal(np.sort(all_of_one, 0), draws["b"])


def test_difference_and_its_standard_error_by_hand():
    group = np.array([0, 0, 1, 1, 2])
    ours, theirs = np.array([1.0, 1.0, 2.0, 2.0, np.nan]), np.array([2.0, 2.0, 2.0, 1.0, 5.0])
    errors = [{MIXTURE: (theirs, ours, group), SPLIT: (theirs, theirs, group)}]
    # Sums of the differences by group: -2 and 1; the lone area's is unknown. Mean -1/4; residuals
    # by group -2 + 2/4 = -1.5 and 1 + 2/4 = 1.5; variance 2 / (2 - 1) * (2.25 + 2.25) / 4².
    mean, error = verdict.difference(errors, SPLIT, 1)
    assert mean == pytest.approx(-0.25) and error == pytest.approx((2 * 4.5 / 16) ** 0.5)
    both = verdict.difference(errors * 2, SPLIT, 1)              # groupings are no new areas
    assert both == pytest.approx((mean, error))
    assert np.isnan(verdict.difference(errors, GLM, 1)).all()


# --- what it says, and its map ------------------------------------------------------------------

@pytest.mark.slow
def test_the_summary_says_what_weighs_what_and_why(fit):
    text = fit.summary()
    rows = text.splitlines()
    for name, weight in zip(fit.weights["model"].values, fit.weights.values, strict=True):
        assert any(row.startswith(f"{name} ") and f"{weight:.3f}" in row for row in rows)
    assert SPLIT in text and GLM in text and MIXTURE in text
    assert fit.verdict in text and "recovery error: mean CRPS of square roots" in text
    assert fit.outside_share > 0 and f"extrapolation: {fit.outside_share:.1%}" in text


@pytest.mark.slow
def test_extrapolation_is_averaged_over_the_candidates(ds, fit):
    wanted = sum(float(fit.weights.sel(model=name)) * one.extrapolation(ds)
                 for name, one in fit.candidates.items())
    np.testing.assert_allclose(fit.extrapolation(ds), wanted)
    assert not fit.candidates["flat"].extrapolation(ds).any()


@pytest.mark.slow
def test_the_map_carries_weights_and_verdict_to_a_file_and_back(ds, fit, tmp_path):
    maps = fit.to_dataset(ds, threshold=1.0)
    weights = json.loads(maps.attrs["weights"])
    assert weights == pytest.approx(dict(zip(fit.weights["model"].values.tolist(),
                                             fit.weights.values, strict=True)), abs=1e-6)
    assert maps.attrs["verdict"] == fit.verdict and "Auto(effort='quick'" in maps.attrs["model"]
    told = json.loads(maps.attrs["hyperparameters"])
    assert told["slopes"]["weight"] == pytest.approx(weights["slopes"], abs=1e-6)
    wb.write(maps, tmp_path / "map.nc")
    back = wb.read(tmp_path / "map.nc")
    for name in ("mean", "std", "rate_quantile", "bag_mean", "latent_mean", "exceedance"):
        np.testing.assert_array_equal(back[name], maps[name])
    assert back.attrs["weights"] == maps.attrs["weights"]
    assert back.attrs["verdict"] == fit.verdict


@pytest.mark.slow
def test_what_only_a_candidate_has(ds, fit):
    with pytest.raises(InputError, match="ask one of fit.candidates"):
        fit.components(ds)
    with pytest.raises(InputError, match="move one of its candidates"):
        fit.with_hyperparameters({"mean": 0.0})
    moved = fit.candidates["slopes"].with_hyperparameters({"mean": 0.0})
    assert not np.allclose(moved.at(ds).mean, fit.candidates["slopes"].at(ds).mean)
    assert "matern32_mean" in fit.candidates["place"].components(ds)
    assert fit.coefficients().sizes["coefficient"] == 0


@pytest.mark.parametrize("option, message", [
    ({"effort": "quik"}, "'quick'"), ({"workers": -1}, "workers"),
    ({"wrkers": 1}, "did you mean 'workers'"),
])
def test_wrong_options_are_refused(option, message):
    with pytest.raises(InputError, match=message):
        wb.Auto(**option)


@pytest.mark.slow
def test_certainly_bad_candidates_have_no_weight_and_leave_no_tails_in_the_mixture(monkeypatch):
    # The best one and a bad one are enough: those between them take most of the time.
    monkeypatch.setattr(candidates, "CANDIDATES", (BY_NAME["flat"], BY_NAME["all at once"]))
    ds = wb.load("simulated-country", level="district", seed=0)
    fit = quick().fit(ds)
    best = fit.candidates[str(fit.weights.idxmax().item())]
    assert float(fit.weights.sel(model="flat")) == 0.0
    # With two per cent of the flat one the median sd of the rate was fifteen times as large.
    assert float(fit.at(ds).std.median()) < 3 * float(best.at(ds).std.median())
