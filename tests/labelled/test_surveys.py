"""Surveys as datasets: positives out of trials, from the file to scores on held-out bags."""

import warnings

import geopandas
import numpy as np
import pytest
import shapely
import xarray as xr

import workbench as wb
from tests.reference import country
from workbench.checks import DataWarning, InputError, NotExact
from workbench.evaluation.folding import subset
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
    assert set(result["model"].values) == {"vbagg", "constant"}
    # Of areas that both know each has the effect; of the people in them the map is what differs.
    crps = result["scores"].sel(target="individual", score="crps")
    assert float(crps.sel(model="vbagg")) < float(crps.sel(model="constant"))
    assert np.isfinite(result["scores"].sel(target="bag", score="log_score")).all()


def overdispersed(seed, spread):
    """Sixty areas of sixteen pixels whose log odds have an effect of this sd; with true shares."""
    made = country(bags=60, size=16, seed=seed)
    rng, members = np.random.default_rng(seed), made["membership"].values
    logit = -1 + 2 * made["covariates"].values[:, 0] + spread * rng.normal(size=60)[members]
    share, weight = 1 / (1 + np.exp(-logit)), made["weight"].values
    mean = np.bincount(members, weight * share) / np.bincount(members, weight)
    trials = rng.integers(50, 400, 60)
    attrs = {"units": "positives", "kind": "count", "aggregation": "mean"}
    return made.drop_vars(["truth", "individual_value"]).assign(
        value=("bag", rng.binomial(trials, mean).astype(float), attrs), trials=("bag", trials),
        truth=("individual", share)), mean


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")
def test_areas_that_differ_by_more_than_their_trials_say_have_effects():
    """Without them the map has to explain what areas have of their own, and cannot."""
    found = {"auto": [], "none": []}
    for seed in range(4):
        ds, mean = overdispersed(seed, 0.5)
        for effect, rows in found.items():
            fit = wb.VBAgg(kernel="linear(log_rate)", overdispersion=effect).fit(ds)
            rate, share = fit.at(ds), fit.over(ds).quantile([0.05, 0.95]).values
            error = np.sqrt(np.mean((rate.mean.values - ds["truth"].values) ** 2))
            rows.append((error, np.mean((mean >= share[0]) & (mean <= share[1]))))
            assert ("persistent.variance" in fit.hyperparameters) == (effect == "auto")
        prior = fit_of_areas(ds).at(ds, area_effect=False)
        assert float(prior.std.mean()) > float(fit_of_areas(ds).at(ds).std.mean())
    (error, cover), (error_none, cover_none) = (np.mean(one, 0) for one in found.values())
    assert error < 0.7 * error_none and cover > 0.8 > 2 * cover_none


def fit_of_areas(ds):
    return wb.VBAgg(kernel="linear(log_rate)").fit(ds)


def individuals_apart(seed):
    """Fifty areas of nine places whose log odds differ, by Fairfield Smith's law."""
    made = country(bags=50, size=9, seed=seed)
    rng, members = np.random.default_rng(seed), made["membership"].values
    ours = 0.8 * np.sqrt((9**-0.5 - 1 / 9) / (1 - 9**-0.5)) * rng.normal(size=50)[members]
    logit = -1 + made["covariates"].values[:, 0] + ours + 0.8 * rng.normal(size=450)
    share, weight = 1 / (1 + np.exp(-logit)), made["weight"].values
    mean = np.bincount(members, weight * share) / np.bincount(members, weight)
    trials = rng.integers(100, 900, 50)
    attrs = {"units": "positives", "kind": "count", "aggregation": "mean"}
    return made.drop_vars(["truth", "individual_value"]).assign(
        value=("bag", rng.binomial(trials, mean).astype(float), attrs), trials=("bag", trials),
        truth=("individual", share))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")
def test_shares_of_places_that_differ_inside_areas_are_covered():
    """Areas keep effects and places have a nugget, which is expected by these."""
    covered_by = {"auto": [], 0.0: []}
    for seed in range(4):
        ds = individuals_apart(seed)
        for nugget, rows in covered_by.items():
            fit = wb.VBAgg(kernel="linear(log_rate)", nugget=nugget).fit(ds)
            assert ("nugget.std" in fit.hyperparameters) == (nugget == "auto")
            low, high = fit.at(ds).interval(0.95)
            rows.append(float(((ds["truth"] >= low) & (ds["truth"] <= high)).mean()))
            share = fit.over(ds).mean - ds["value"] / ds["trials"]
            assert float(np.abs(share).max()) < 0.06
    assert np.mean(covered_by[0.0]) < 0.7
    assert 0.88 < np.mean(covered_by["auto"]) <= 0.99


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")      # of short fits
def test_places_that_are_surveyed_themselves_have_no_nugget(ds):
    """What each has of its own is the effect of its area there; and effects apart have none."""
    places = subset(ds, np.arange(30)).isel(individual=np.arange(0, 120, 4)).assign(
        membership=("individual", np.arange(30)))
    for model, data in ((wb.VBAgg(kernel="linear(log_rate)", max_steps=2), places),
                        (wb.VBAgg(kernel="linear(log_rate)", max_steps=2, overdispersion="none"),
                         ds)):
        assert "nugget.std" not in model.fit(data).hyperparameters
    for options in ({"overdispersion": "none", "nugget": 0.8},
                    {"overdispersion": "none", "nugget": "learn"}):
        with pytest.raises(InputError, match="goes with effects that areas keep"):
            wb.VBAgg(kernel="linear(log_rate)", **options).fit(ds)
    assert "nugget.std" not in wb.CentrePointGP(kernel="linear(log_rate)", max_steps=2).fit(
        ds).hyperparameters
    fit = wb.VBAgg(kernel="linear(log_rate)", max_steps=2).fit(ds)
    told = fit.summary()
    assert "nugget.std" in fit.hyperparameters
    assert "log-normal(median 1.39 × √(persistent.variance)" in told


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")
def test_areas_that_differ_by_no_more_have_small_effects():
    for seed in range(3):
        fit = fit_of_areas(overdispersed(seed, 0.0)[0])
        assert fit.hyperparameters["persistent.variance"]["value"] < 0.05


def test_effects_of_surveyed_areas_are_known_again(ds, tmp_path):
    """By name and content, without values, too, and after saving; others are not."""
    fit = wb.VBAgg(kernel="linear(log_rate)", max_steps=40).fit(ds)
    own = fit.over(ds)
    assert own.mean.attrs["distribution"].endswith("given their observed totals")
    other = ds.drop_vars(["value", "trials", "truth", "individual_value"])
    np.testing.assert_allclose(fit.over(other).mean, own.mean)
    assert fit.over(other).mean.attrs["distribution"] == own.mean.attrs["distribution"]
    renamed = other.assign_coords(bag=[f"c{k}" for k in range(30)])
    elsewhere = other.assign_coords(x=other["x"] + 1e4)
    for unknown in (renamed, elsewhere):
        np.testing.assert_allclose(fit.over(unknown).std, fit.over(other, False).std, rtol=1e-6)
    assert (fit.over(renamed).std.values > own.std.values).all()
    fit.save(tmp_path / "survey.wbfit")
    again = wb.load_fit(tmp_path / "survey.wbfit")
    np.testing.assert_allclose(again.over(ds).mean, own.mean)
    placeless = ds.drop_vars(["x", "y", "bag_x", "bag_y"])
    alone = wb.VBAgg(kernel="linear(log_rate)", max_steps=40).fit(placeless)
    changed = placeless.assign(covariates=placeless["covariates"] + 1e-3)
    with pytest.warns(DataWarning, match="30 of 30 areas have the name and the value"):
        wider = alone.over(changed).std
    assert float((wider / alone.over(placeless).std).min()) > 1


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")      # of short fits
def test_what_has_the_name_of_an_area_only_has_no_effect_of_it():
    """Pixels of a raster are numbered, and so are areas and their unions."""
    ds, _ = overdispersed(0, 0.8)
    ds = ds.assign_coords(bag=np.arange(60).astype(str))
    fit = wb.VBAgg(kernel="linear(log_rate)", max_steps=20).fit(ds)
    pixels = xr.Dataset({"log_rate": (("y", "x"), np.zeros((30, 30)))}, coords={
        "y": np.linspace(99, 1, 30), "x": np.linspace(1, 99, 30)})
    for chunks in (7, 30):
        mean = fit.map_over(pixels, chunks=chunks)["mean"].values
        assert np.ptp(mean) < 1e-9
    places = ds.drop_vars(["value", "trials", "truth"]).isel(individual=slice(0, 60)).assign(
        membership=("individual", np.arange(60)))
    np.testing.assert_allclose(fit.at(places).std, fit.at(places, area_effect=False).std)
    fewer = wb.merge_to(ds.drop_vars("truth"), 20)
    merged = wb.VBAgg(kernel="linear(log_rate)", max_steps=20).fit(fewer)
    other = wb.merge_to(ds.drop_vars("truth"), 15)
    same = merged.over(other).std.values == merged.over(other, False).std.values
    assert (same != merged.learnt_from(other).values).all() and same.sum() > 10
    assert (merged.over(fewer).std.values < merged.over(fewer, False).std.values).all()


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")      # of short fits
def test_what_is_asked_of_effects_is_done_or_refused(ds):
    given = {"mean": -1.0, "linear.variance": 0.5}
    def model(effect):
        return wb.VBAgg(kernel="linear", overdispersion=effect, max_steps=3)

    with pytest.raises(InputError, match="missing: persistent.variance"):
        model("area").condition(ds, given)
    with pytest.raises(InputError, match="persistent.variance"):
        model("none").condition(ds, given | {"persistent.variance": 0.2})
    assert "persistent.variance" in model("auto").condition(
        ds, given | {"persistent.variance": 0.2}).hyperparameters
    assert "persistent.variance" not in model("auto").condition(ds, given).hyperparameters
    years = ds.assign_coords(area=("bag", [f"A{k % 15}" for k in range(30)]),
                             period=("bag", ["1"] * 15 + ["2"] * 15))
    assert "persistent.variance" in model("auto").fit(years).hyperparameters
    with pytest.raises(InputError, match="it needs areas in one period"):
        model("area").fit(years)
    single = ds.assign(trials=ds["trials"] * 0 + 1, value=(ds["value"] > 30).astype(float)
                       .assign_attrs(ds["value"].attrs))
    assert "persistent.variance" not in model("auto").fit(single).hyperparameters
    with pytest.raises(InputError, match="where more than one person was tested"):
        model("area").fit(single)


def test_reports_say_what_an_area_has_of_its_own(ds):
    from workbench.labelled.card import card_of
    from workbench.reporting.formula import describe

    card = card_of(wb.VBAgg(kernel="linear", max_steps=20).fit(ds))
    assert [term["name"] for term in card["terms"]] == ["linear"]
    said = " ".join(describe(card).sentences)
    assert "v is an effect of each area, for what its covariates do not explain" in said
    assert "nothing" not in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")      # of few areas
def test_effects_of_very_many_areas_are_integrated_out_and_not_kept(two, monkeypatch, tmp_path):
    """Which areas were surveyed then makes no difference to what is said of them."""
    from workbench.gp.models import options

    monkeypatch.setattr(options, "MOST_SURVEYED", 40)
    seen, mean = overdispersed(0, 0.5)
    fit = wb.VBAgg(kernel="linear(log_rate)").fit(seen)
    assert fit.hyperparameters["area.std"]["value"] == pytest.approx(0.5, abs=0.2)
    assert "effects of 60 areas are integrated out and not kept" in fit.summary()
    assert covered(fit.over(seen), mean) > 0.9
    for asked in (fit.at, fit.over):
        for what in ("mean", "std"):
            with_, without = (getattr(asked(seen, area_effect), what)
                              for area_effect in (True, False))
            xr.testing.assert_identical(with_.drop_attrs(), without.drop_attrs())
    drawn = fit.simulate(seen, samples=400)
    inside = (drawn.quantile(0.025, "sample") <= seen["value"]) & (
        seen["value"] <= drawn.quantile(0.975, "sample"))
    assert float(inside.mean()) > 0.9
    fit.save(tmp_path / "survey.wbfit")
    again = wb.load_fit(tmp_path / "survey.wbfit")
    np.testing.assert_allclose(again.over(seen).std, fit.over(seen).std)
    other = wb.VBAgg(kernel="linear(log_rate)").condition(seen, fit.hyperparameters)
    np.testing.assert_allclose(other.over(seen).mean, fit.over(seen).mean, atol=2e-3)
    auto = wb.Auto(effort="quick", workers=1).fit(seen)
    assert all("area.std" in one.hyperparameters for one in auto.candidates.values())
    assert covered(auto.over(seen), mean) > 0.9


def covered(found, truth):
    """Share of 95 % intervals that hold the truth."""
    low, high = found.interval(0.95)
    return np.mean((low.values <= truth) & (truth <= high.values))


@pytest.fixture
def two(monkeypatch):
    """The two cheapest candidates alone: a flat map, and slopes."""
    from workbench.labelled import candidates

    few = [one for one in candidates.CANDIDATES if one.name in ("flat", "slopes")]
    monkeypatch.setattr(candidates, "CANDIDATES", tuple(few))


@pytest.mark.parametrize("make", [
    lambda: wb.VBAgg(kernel="linear(log_rate)", overdispersion="none"),
    lambda: wb.Auto(effort="quick", workers=1)])
def test_it_is_warned_where_so_many_places_vary_without_effects(make, two, monkeypatch):
    from workbench.labelled import caveats
    from workbench.labelled.classes import auto

    def fitted(std):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            make().fit(overdispersed(0, std)[0])
        return [str(one.message) for one in told if "people tested" in str(one.message)]

    monkeypatch.setattr(caveats, "MOST_PERSISTENT", 59)
    monkeypatch.setattr(auto, "options_of_values", lambda *_: {"overdispersion": "none"})
    (said,) = fitted(0.5)
    assert "times as much" in said and "60 places" in said and "overdispersion" in said
    if isinstance(make(), wb.VBAgg):
        assert fitted(0.0) == []


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_what_is_advised_for_areas_over_time_is_taken(monkeypatch):
    from workbench.gp.models import options
    from workbench.labelled import caveats

    monkeypatch.setattr(options, "MOST_PERSISTENT", 20)
    monkeypatch.setattr(caveats, "MOST_PERSISTENT", 59)
    number = np.arange(60)
    seen = overdispersed(0, 0.5)[0].assign_coords(
        area=("bag", [f"a{k}" for k in number % 30]), period=("bag", number // 30))
    short = wb.VBAgg(kernel="linear(log_rate)", max_steps=10).fit(seen)
    assert "Use persistence='area'" in short.summary()
    asked = wb.VBAgg(kernel="linear(log_rate)", max_steps=10, persistence="area").fit(seen)
    assert "persistent.variance" in asked.hyperparameters


def test_a_threshold_that_no_share_exceeds_is_warned_of(ds):
    fit = wb.VBAgg(kernel="linear(log_rate)", max_steps=40).fit(ds)
    with pytest.warns(DataWarning, match="threshold 30 is above all rates, which are shares"):
        fit.to_dataset(ds, threshold=[0.3, 30])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        fit.to_dataset(ds, threshold=0.3)


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


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")      # of short fits
def test_draws_of_those_tested_are_no_shares():
    ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    trials = np.arange(40, 100, 5)
    attrs = {"units": "positives", "kind": "count", "aggregation": "mean"}
    ds = ds.drop_vars(["truth", "individual_value"]).assign(
        trials=("bag", trials), value=("bag", np.round(trials * np.linspace(0.2, 0.6, 12)), attrs))
    fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
    areas, expected = ds["membership"].values, (fit.over(ds).mean * ds["trials"]).values
    same = fit.sample(ds, 200, preserve_totals=True, by=areas)
    assert (same == ds["value"].values).all()       # numbers of positives, not their averages
    np.testing.assert_allclose(fit.sample(ds, 2000, by=areas).mean("sample"), expected, rtol=0.1)
    everything = shapely.union_all(ds["bag_geometry"].values)
    zones = geopandas.GeoDataFrame({"zone": ["all"]}, crs=ds.attrs["crs"], geometry=[everything])
    for refused in (lambda: fit.to_dataset(ds, preserve_totals=True),
                    lambda: fit.drawn_rates(ds, 10, preserve_totals=True),
                    lambda: fit.aggregate(ds, zones, kind="preserved"),
                    lambda: fit.aggregate(ds, zones, kind="observed")):
        with pytest.raises(NotExact, match="of those who were tested.*does not add up"):
            refused()
    whole = float(np.average(fit.at(ds).mean, weights=ds["weight"]))
    for found in (fit.aggregate(ds, zones, samples=400),
                  wb.aggregate(fit.to_dataset(ds, draws=400), zones)):
        assert found["mean"].attrs["units"] == found["rate"].attrs["units"] == "share"
        assert float(found["mean"][0]) == pytest.approx(whole, rel=0.02)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_areas_nearby_are_explained_by_shares(ds):
    fit = wb.VBAgg(kernel="linear", max_steps=5).fit(ds)
    found = fit.explain(ds, 7)
    own = int(ds["membership"][7])
    assert found["trials"].values[0] == ds["trials"].values[own]
    head, first = (found.attrs["summary"].split("\n\n")[2].splitlines()[k].split() for k in (0, 1))
    assert head == ["area", "positives", "trials", "share", "fitted", "distance"]
    positives, trials, share = (float(one) for one in first[1:4])
    assert share == pytest.approx(positives / trials, rel=1e-4)
