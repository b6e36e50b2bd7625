"""The baselines: they find what was simulated, and their draws are what they say."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from workbench.bagging import assemble
from workbench.checks import ApproximationWarning, InputError
from workbench.comparison import evaluate
from workbench.evaluation import poisson_deviance
from workbench.evaluation.baselines import (
    DasymetricClasses,
    PoissonKriging,
    PopulationSplit,
    TotalsGLM,
)
from workbench.evaluation.baselines.shares import draw_shares, share_moments

METHODS = {
    "split": PopulationSplit(), "glm": TotalsGLM(ridge=0.01), "means": TotalsGLM(
        mean_covariates=True), "classes": DasymetricClasses(4), "kriging": PoissonKriging(support=5)
}
every_method = pytest.mark.parametrize("name", METHODS)


def simulated(areas=60, size=8, slopes=(0.6, -0.4), log_sd=0.0, area_log_sd=0.0, rate=0.05,
              place=0.0, seed=0):
    """Counts with known slopes; covariates vary within areas as much as between them."""
    rng = np.random.default_rng(seed)
    n, membership = areas * size, np.repeat(np.arange(areas), size)
    x = rng.normal(size=(areas, 2))[membership] + rng.normal(size=(n, 2))
    side = int(np.ceil(np.sqrt(areas)))
    where = np.column_stack([membership % side, membership // side]) + rng.uniform(size=(n, 2))
    weight = np.exp(rng.normal(8, 0.7, n))
    log_rate = (np.log(rate) + x @ slopes + place * np.sin(2 * where[:, 0] / side * np.pi)
                + log_sd * rng.normal(size=n) - log_sd**2 / 2
                + area_log_sd * rng.normal(size=areas)[membership] - area_log_sd**2 / 2)
    counts = rng.poisson(weight * np.exp(log_rate)).astype(float)
    rows = xr.Dataset(
        {"covariates": (("individual", "covariate"), x), "weight": ("individual", weight),
         "individual_value": ("individual", counts), "truth": ("individual", np.exp(log_rate))},
        coords={"individual": np.arange(n), "covariate": ["a", "b"],
                "x": ("individual", where[:, 0]), "y": ("individual", where[:, 1])})
    return assemble(rows, membership, np.bincount(membership, counts), np.arange(areas),
                    value_attrs={"aggregation": "sum", "kind": "count"})


def test_slopes_are_found_in_totals_where_area_means_mislead():
    ds = simulated(areas=200)
    fit = TotalsGLM(ridge=0.0).fit(ds)
    # information of 200 totals of thousands: standard errors below 0.004
    np.testing.assert_allclose(fit.coefficients, [0.6, -0.4], atol=0.015)
    assert fit.intercept == pytest.approx(np.log(0.05), abs=0.02)
    assert fit.log_sd < 0.03
    means = TotalsGLM(mean_covariates=True, ridge=0.0).fit(ds)
    assert means.intercept > np.log(0.05) + 0.15       # E exp(x'b) within areas goes there


def test_ridge_is_chosen_so_that_few_areas_do_not_blow_up():
    deviance = {"free": 0.0, "chosen": 0.0, "split": 0.0}
    methods = {"free": TotalsGLM(0.0), "chosen": TotalsGLM(), "split": PopulationSplit()}
    for seed in range(3):
        ds = simulated(areas=12, size=30, area_log_sd=0.3, seed=seed)
        noise = np.random.default_rng(1).normal(size=(ds.sizes["individual"], 10))
        wide = ds.drop_vars(["covariates", "covariate"]).assign(covariates=(
            ("individual", "covariate"), np.column_stack([ds["covariates"], noise])))
        wide = wide.assign_coords(covariate=list("abcdefghijkl"))
        for name, method in methods.items():
            deviance[name] += poisson_deviance(
                wide["individual_value"], method.fit(wide).expected(wide))
    assert deviance["chosen"] < 0.7 * deviance["split"] < 0.7 * deviance["free"]


@pytest.mark.parametrize("log_sd", [0.2, 0.6])
def test_dispersion_of_independent_individuals_is_found(log_sd):
    found = [TotalsGLM(0.0, dispersion="individual").fit(
        simulated(areas=150, log_sd=log_sd, seed=seed)).log_sd for seed in range(4)]
    error = np.std(found, ddof=1) / 2
    assert abs(np.mean(found) - log_sd) < max(4 * error, 0.03)


def test_dispersion_of_areas_is_found_by_the_split():
    ds = simulated(areas=400, size=8, slopes=(0, 0), log_sd=0.3, area_log_sd=0.3, seed=2)
    fit = PopulationSplit().fit(ds)
    assert fit.log_sd == fit.area_log_sd == pytest.approx(0.3, abs=0.05)


def test_dispersion_in_between_and_given():
    ds = simulated(log_sd=0.3, area_log_sd=0.1)
    sds = {d: TotalsGLM(0.0, dispersion=d).fit(ds).log_sd for d in ("individual", "area")}
    between = TotalsGLM(0.0).fit(ds)
    assert between.log_sd == pytest.approx(np.sqrt(sds["individual"] * sds["area"]))
    assert 0 < between.area_log_sd < sds["individual"]
    assert TotalsGLM(0.0, log_sd=0.2).fit(ds).log_sd == 0.2
    assert PopulationSplit(log_sd=0).fit(simulated(slopes=(0, 0))).log_sd == 0


def test_poisson_totals_have_no_dispersion():
    fit = PopulationSplit().fit(simulated(areas=10, slopes=(0, 0), rate=0.001, seed=5))
    assert fit.log_sd < 0.05


def test_intervals_cover_when_the_model_is_right():
    ds = simulated(areas=150, log_sd=0.4)
    fit = TotalsGLM(0.0, dispersion="individual").fit(ds)
    draws = fit.sample(ds, 600, seed=1).values
    low, high = np.quantile(draws, [0.1, 0.9], axis=0)
    y = ds["individual_value"].values
    error = np.sqrt(0.8 * 0.2 / 150)        # areas, for shares of an area depend on each other
    assert abs(np.mean((low <= y) & (y <= high)) - 0.8) < 4 * error


def test_classes_find_two_levels():
    ds = simulated(slopes=(0, 0))
    rng = np.random.default_rng(0)
    urban = rng.uniform(size=ds.sizes["individual"]) < np.repeat(rng.uniform(size=60), 8)
    ds["covariates"][:] = np.column_stack([urban, np.zeros(urban.size)])
    counts = rng.poisson(ds["weight"].values * np.where(urban, 0.1, 0.01))
    ds["value"][:] = np.bincount(ds["membership"].values, counts)
    rates = DasymetricClasses(5).fit(ds).at(ds).mean.values
    # the prior is worth a twentieth of an area among sixty
    np.testing.assert_allclose(rates[urban], 0.1, rtol=0.02)
    np.testing.assert_allclose(rates[~urban], 0.01, rtol=0.1)


def test_classes_need_covariates():
    with pytest.raises(InputError, match="classes of covariates; this dataset has none"):
        DasymetricClasses().fit(simulated().isel(covariate=[]))


def test_kriging_follows_a_smooth_rate_and_keeps_areas_rates():
    ds = simulated(areas=100, size=9, slopes=(0, 0), place=0.7, seed=4)
    fit = PoissonKriging(support=9).fit(ds)
    y, truth = ds["individual_value"].values, ds["truth"].values
    kriged, flat = (poisson_deviance(y, m.expected(ds)) for m in
                    (fit, PopulationSplit(log_sd=0.0).fit(ds)))
    assert kriged < 0.5 * flat
    assert np.corrcoef(fit.at(ds).mean, truth)[0, 1] > 0.97
    ratio = np.bincount(ds["membership"].values, fit.expected(ds, preserve_totals=False)) / ds[
        "value"].values
    np.testing.assert_allclose(ratio, 1, atol=0.05)     # coherent, but for the Poisson noise
    with pytest.raises(InputError, match="needs coordinates"):
        PoissonKriging().fit(ds.drop_vars(["x", "y"]))


def test_kriging_says_how_many_rates_were_negative():
    ds = simulated(areas=20, size=6, slopes=(0, 0), place=0.0)
    centre = np.stack([ds["bag_x"], ds["bag_y"]], 1)
    away = ((centre - centre[0]) ** 2).sum(1) / centre.var()
    ds["value"][:] = np.round(1000 * np.exp(-2 * away))
    with pytest.warns(ApproximationWarning, match=r"negative rates to \d+ of 120 individuals, .*"
                                                  "rates are positive") as told:
        fit = PoissonKriging(support=6).fit(ds)
    assert fit.notes["negative rates, raised"] in str(told[0].message)
    with pytest.warns(ApproximationWarning, match="negative rates"):    # so does any map
        assert float(fit.at(ds).mean.min()) > 0


@pytest.mark.parametrize("log_sd", [0.0, 0.3, 1.5])
def test_moments_of_shares_are_exact(log_sd):
    rng = np.random.default_rng(0)
    membership = np.repeat([0, 1, 2, 3], [1, 2, 5, 40])
    expected = rng.gamma(0.5, size=48) + 1e-4
    mean, std = share_moments(expected, membership, log_sd)
    np.testing.assert_allclose(np.bincount(membership, mean), 1)
    draws = draw_shares(expected, membership, log_sd, 40_000, rng)
    error = draws.std(0) / np.sqrt(40_000)
    assert (np.abs(draws.mean(0) - mean) <= 4.5 * error + 1e-9).all()
    square, error = (draws**2).mean(0), (draws**2).std(0) / np.sqrt(40_000)
    assert (np.abs(square - std**2 - mean**2) <= 4.5 * error + 1e-9).all()
    assert mean[0] == pytest.approx(1) and std[0] == pytest.approx(0, abs=1e-6)
    two = expected[1:3] / expected[1:3].sum()   # of two, the log-odds are Normal
    nodes = np.linspace(-9, 9, 4001)
    odds = np.log(two[0] / two[1]) + np.sqrt(2) * log_sd * nodes
    exact = np.trapezoid(stats.norm.pdf(nodes) / (1 + np.exp(-odds)), nodes)
    assert mean[1] == pytest.approx(exact, abs=1e-7)


@pytest.mark.filterwarnings("ignore:kriging gave negative rates")
@every_method
def test_draws_keep_totals_and_have_the_mean(name):
    ds = simulated(log_sd=0.5, area_log_sd=0.2)
    fit = METHODS[name].fit(ds)
    draws = fit.sample(ds, 4000, seed=3)
    assert draws.dims == ("sample", "individual")
    totals = np.add.reduceat(draws.values, np.arange(0, 480, 8), axis=1)
    assert (totals == ds["value"].values).all()
    _same_mean(draws.values, fit.expected(ds).values)
    known = fit.given_totals()
    _same_mean(draws.values, (known.at(ds).mean * ds["weight"]).values)
    free = fit.simulate(ds, samples=4000, seed=4)
    _same_mean(free.values, (fit.at(ds).mean * ds["weight"]).values)
    bags = fit.simulate(ds, unit="bag", samples=4000, seed=5)
    _same_mean(bags.values, np.bincount(ds["membership"], fit.at(ds).mean * ds["weight"]))


@pytest.mark.filterwarnings("ignore:kriging gave negative rates")
@every_method
def test_sums_over_groups_are_those_of_individuals(name):
    ds = simulated(areas=12, log_sd=0.5)
    fit = METHODS[name].fit(ds)
    labels = np.random.default_rng(0).choice(["a", "b", "c", "d"], ds.sizes["individual"])
    draws = fit.sample(ds, 20_000, seed=3, by=labels)
    assert draws.dims == ("sample", "group") and draws["group"].values.tolist() == list("abcd")
    assert (draws.sum("group") == ds["value"].sum()).all()
    alone = fit.sample(ds, 20_000, seed=4).values
    wanted = np.stack([alone[:, labels == one].sum(1) for one in "abcd"], 1)
    difference = (draws.values.var(0) + wanted.var(0)) / 20_000
    assert (np.abs(draws.values.mean(0) - wanted.mean(0)) < 4.5 * np.sqrt(difference)).all()
    np.testing.assert_allclose(draws.values.std(0), wanted.std(0), rtol=4.5 / np.sqrt(20_000))
    by_area = fit.sample(ds, 50, seed=3, by="membership")
    np.testing.assert_array_equal(by_area, np.tile(ds["value"].values, (50, 1)))
    free = fit.sample(ds, 50, preserve_totals=False, seed=5, by=labels)
    each = fit.sample(ds, 50, preserve_totals=False, seed=5)
    np.testing.assert_allclose(free.sel(group="a"), each.values[:, labels == "a"].sum(1))
    part = ds.assign(value=ds["value"] - 0.25)          # not whole
    np.testing.assert_allclose(fit.sample(part, 50, seed=3, by="membership"),
                               np.tile(part["value"].values, (50, 1)))
    with pytest.raises(InputError, match="one label in by for each individual"):
        fit.sample(ds, 5, by=labels[:3])


def _same_mean(draws, mean):
    error = draws.std(0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(0) - mean) < 5 * error + 1e-9).all()


@every_method
def test_quantiles_draws_and_densities_are_of_one_distribution(name):
    ds = simulated(areas=30, log_sd=0.5, area_log_sd=0.2)
    fit = METHODS[name].fit(ds)
    for view in (fit, fit.given_totals()):
        law = view.at(ds)
        draws = law.sample(4000, seed=8).values
        for level, q in zip((0.1, 0.5, 0.9), law.quantile([0.1, 0.5, 0.9]).values, strict=True):
            # of 2,000 draws behind the quantile and 4,000 here
            error = np.sqrt(level * (1 - level) * (1 / 2000 + 1 / 4000))
            if law.std.values.max() > 0:
                assert (np.abs((draws <= q).mean(0) - level) < 5 * error).all()
                assert (np.abs(law.cdf(q).values - level) < 1e-3).all()
        if law.std.values.max() > 0:      # tails are heavy: single ones are too rough to compare
            assert np.median(draws.std(0) / law.std.values) == pytest.approx(1, abs=0.03)
        # the share of draws that equal a count is its mass
        counts = view.simulate(ds, samples=20_000, seed=9).values[:, 0]
        common = float(np.bincount(counts).argmax())
        seen = ds.copy(deep=True)
        seen["individual_value"][0] = common
        mass = np.exp(view.log_density(seen, samples=20_000, seed=10)[:, 0]).mean()
        share = np.mean(counts == common)
        assert abs(mass - share) < 5 * np.sqrt(share / 20_000) + 0.05 * share


@every_method
def test_methods_can_be_evaluated(name):
    ds = simulated(areas=30, log_sd=0.3)
    fit = METHODS[name].fit(ds)
    assert fit.method in fit.summary() and "log-sd" in fit.summary()
    for view in (fit, fit.given_totals()):
        evaluate(view, ds, samples=200)


@every_method
def test_other_data_are_refused(name):
    ds = simulated(areas=12)
    for change in ({"kind": "continuous"}, {"aggregation": "mean"}):
        other = ds.copy()
        other["value"] = ds["value"].assign_attrs(change)
        with pytest.raises(InputError, match="expected totals of counts"):
            METHODS[name].fit(other)


@pytest.mark.filterwarnings("ignore:kriging gave negative rates")
@every_method
def test_fractional_totals_are_shared_out_in_units_worth_a_little_less_than_one(name):
    ds = simulated(areas=12, rate=0.001)
    fit = METHODS[name].fit(ds)
    half = ds.copy(deep=True)
    half["value"][:] = [0.4, 3.5, 0.0, *ds["value"].values[3:] + 0.25]
    totals, membership = half["value"].values, ds["membership"].values
    draws = fit.sample(half, 4000, seed=3).values
    np.testing.assert_allclose(np.add.reduceat(draws, np.arange(0, 96, 8), axis=1),
                               np.broadcast_to(totals, (4000, 12)))
    units = draws[:, membership == 1] * 4 / 3.5
    np.testing.assert_allclose(units, np.round(units), atol=1e-9)
    _same_mean(draws, fit.expected(half).values)
    known = fit.given_totals()
    assert (known.simulate(half, unit="bag", samples=2).values == totals).all()
    half["individual_value"][8] = 3.5 / 4           # one unit
    mass = np.exp(known.log_density(half, samples=20_000, seed=10)[:, 8]).mean()
    share = np.mean(units[:, 0].round() == 1)
    assert abs(mass - share) < 5 * np.sqrt(share * (1 - share) / 4000)


def test_covariates_of_another_fit_are_refused():
    ds = simulated(areas=12)
    with pytest.raises(InputError, match="fitted on covariates"):
        TotalsGLM(0.1).fit(ds).at(ds.isel(covariate=[1, 0]))
    with pytest.raises(InputError, match="dispersion 'areal' is unknown; did you mean 'area'"):
        TotalsGLM(0.1, dispersion="areal").fit(ds)
