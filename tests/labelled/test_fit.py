"""The bridge: datasets in, labels, units and provenance out."""

import json
import warnings

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from tests.reference import answers, country
from workbench.checks import DataWarning, InputError
from workbench.evaluation.folding import subset
from workbench.labelled import data_hash, models, to_bags, to_source
from workbench.labelled.identity import same_data
from workbench.labelled.predictive import DISTRIBUTIONS

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")

OPTIONS = {"inducing": 15, "tolerance": 1e-2}


@pytest.fixture(scope="module")
def ds():
    return country(bags=20, size=4)


@pytest.fixture(scope="module")
def fit(ds):
    return wb.VBAgg(kernel="linear+matern32", overdispersion="area", **OPTIONS).fit(ds)


def test_a_dataset_becomes_a_source(ds):
    source = to_source(ds)
    bags = source.bags
    assert bags.columns.names == ("log_rate", "x", "y")
    assert bags.columns.units == ("", "km", "km")
    assert bags.columns.coordinates == (1, 2)
    np.testing.assert_array_equal(bags.x[:, 0], ds["covariates"].values[:, 0])
    np.testing.assert_array_equal(bags.x[:, 2], ds["y"])
    np.testing.assert_array_equal(bags.weight, ds["weight"])
    np.testing.assert_array_equal(source.targets.value, ds["value"])
    assert (source.kind, source.aggregation, bags.names[3]) == ("count", "sum", "b3")
    bare = to_bags(ds.drop_vars(["x", "y"]))
    assert bare.columns.names == ("log_rate",) and bare.columns.coordinates == ()


def test_truth_is_never_seen(ds, fit):
    blind = ds.drop_vars(["truth", "individual_value"])
    again = wb.VBAgg(kernel="linear+matern32", overdispersion="area", **OPTIONS).fit(blind)
    assert again.hyperparameters == fit.hyperparameters
    lie = ds.assign(truth=ds["truth"] * 1e3)
    assert data_hash(ds) == data_hash(blind) == data_hash(lie)
    assert data_hash(ds) != data_hash(ds.assign(value=ds["value"] + 1))


def test_data_of_another_processor_are_the_same(ds):
    gap = ds.assign(value=ds["value"].where(ds["bag"] != ds["bag"][0]))
    for data in (ds, gap):
        rounded = data.assign(covariates=data["covariates"] * (1 + 4e-16), x=data["x"] + 1e-12)
        assert data_hash(rounded) != data_hash(data) and same_data(data, rounded)
    for other in (gap, ds.drop_vars("x"), ds.isel(individual=slice(1, None)),
                  ds.assign(value=ds["value"] + 1), ds.assign(weight=ds["weight"] * (1 + 1e-6)),
                  ds.assign(membership=ds["membership"].copy(data=ds["membership"][::-1]))):
        assert not same_data(ds, other)


def test_labels_units_and_coordinates(ds, fit):
    rate, total = fit.at(ds), fit.over(ds)
    assert rate.mean.dims == ("individual",) and total.mean.dims == ("bag",)
    assert rate.mean.attrs["units"] == "cases / houses"
    assert rate.variance.attrs["units"] == "(cases / houses)²"
    assert total.mean.attrs["units"] == "cases"
    assert rate.exceedance(1.0).attrs["units"] == "probability"
    np.testing.assert_array_equal(rate.mean["individual"], ds["individual"])
    np.testing.assert_array_equal(rate.mean["x"], ds["x"])
    np.testing.assert_array_equal(total.mean["bag_x"], ds["bag_x"])
    quantiles = rate.quantile([0.1, 0.9])
    assert quantiles.dims == ("quantile", "individual")
    np.testing.assert_array_equal(quantiles["quantile"], [0.1, 0.9])
    low, high = rate.interval(0.8)
    xr.testing.assert_allclose(low, quantiles.sel(quantile=0.1, drop=True))
    assert rate.sample(5).dims == ("sample", "individual")
    np.testing.assert_allclose(rate.cdf(high), 0.9, atol=1e-6)
    np.testing.assert_allclose(rate.std**2, rate.variance)
    assert (high > low).all()


def test_simulations_are_counts_with_labels(ds, fit):
    for unit in ("bag", "individual"):
        draws = fit.simulate(ds, unit, samples=50, seed=3)
        assert draws.dims == ("sample", unit) and draws.attrs["units"] == "cases"
        assert (draws == draws.round()).all() and (draws >= 0).all()
        xr.testing.assert_identical(draws, fit.simulate(ds, unit, samples=50, seed=3))
    with pytest.raises(InputError, match="'bag' or 'individual', got 'area'"):
        fit.simulate(ds, unit="area")


def test_the_map_with_its_provenance(ds, fit, tmp_path):
    out = fit.to_dataset(ds, quantiles=(0.1, 0.5), threshold=1.2)
    assert {"mean", "std", "rate_quantile", "latent_mean", "latent_std", "extrapolation",
            "bag_mean", "bag_std", "expected_count", "exceedance", "value", "weight",
            "membership"} <= set(out)
    np.testing.assert_allclose(out["expected_count"], out["mean"] * ds["weight"])
    np.testing.assert_allclose(out["exceedance"], 1 - fit.at(ds).cdf(1.2), atol=1e-9)
    assert out["exceedance"].attrs["threshold"] == 1.2
    assert out.attrs["title"] == ds.attrs["title"]
    assert json.loads(out.attrs["hyperparameters"]) == fit.hyperparameters
    assert out.attrs["data_sha256"] == data_hash(ds)
    assert "torch" in json.loads(out.attrs["versions"])
    assert "area" in out.attrs["model"]
    assert "exceedance" not in fit.to_dataset(ds)
    several = fit.to_dataset(ds, threshold=[2.0, 1.2])["exceedance"]
    assert several.dims == ("threshold", "individual")
    np.testing.assert_array_equal(several.sel(threshold=1.2), out["exceedance"])
    assert several["threshold"].values.tolist() == [1.2, 2.0]
    with pytest.raises(InputError, match="give each threshold once"):
        fit.to_dataset(ds, threshold=[1.0, 1.0])
    out.to_netcdf(tmp_path / "map.nc")
    with xr.open_dataset(tmp_path / "map.nc") as back:
        np.testing.assert_array_equal(back["mean"], out["mean"])


def test_trained_areas_are_recognised_by_name_value_and_individuals(ds, fit):
    def trained(data):
        return fit._trained(fit._data(data)).tolist()

    assert trained(ds) == list(range(20))
    renamed = ds.assign_coords(bag=[f"other{k}" for k in range(20)])
    assert trained(renamed) == [-1] * 20
    value = ds["value"].copy()
    value[4] += 1
    assert trained(ds.assign(value=value)) == [*range(4), -1, *range(5, 20)]
    known, unknown = (fit.at(d, area_effect=True).std for d in (ds, renamed))
    assert float(known.mean()) < float(unknown.mean())
    xr.testing.assert_allclose(fit.at(ds, area_effect=False).mean, fit.at(renamed).mean)
    assert [fit.at(d).distribution for d in (ds, renamed)] == [DISTRIBUTIONS[k] for k in (1, 0)]
    # The same name and value, as counts of other areas have by chance, but other individuals.
    elsewhere = ds["covariates"].copy()
    elsewhere[np.flatnonzero(ds["membership"].values == 7)[0], 0] += 1e-6
    assert trained(ds.assign(covariates=elsewhere)) == [*range(7), -1, *range(8, 20)]
    people = ds["weight"].copy()
    people[np.flatnonzero(ds["membership"].values == 2)[1]] *= 2
    assert trained(ds.assign(weight=people)) == [0, 1, -1, *range(3, 20)]
    moved = ds.assign_coords(x=ds["x"] + 1.0)
    with pytest.warns(DataWarning, match="20 of 20 areas have the name and the value of"):
        assert trained(moved) == [-1] * 20
        law = fit.at(moved, area_effect=True).std
    xr.testing.assert_allclose(law, fit.at(moved.drop_vars("value"), area_effect=True).std)


def test_trained_areas_are_recognised_after_rounding(ds, fit):
    """A compressed file keeps single precision, and another processor rounds the last bit."""
    def trained(data):
        return fit._trained(fit._data(data)).tolist()

    single = ds.assign({name: ds[name].astype("float32").astype(float)
                        for name in ("covariates", "weight", "value") if name in ds})
    assert not np.array_equal(single["covariates"], ds["covariates"])
    assert trained(single) == list(range(20)) and bool(fit.learnt_from(single).all())
    chosen = [13, 2, 19, 7]
    assert trained(subset(single, chosen)) == chosen
    bit = ds.assign(covariates=ds["covariates"] * (1 + 4e-16))
    assert trained(bit) == list(range(20))
    xr.testing.assert_allclose(fit.at(bit, area_effect=True).std, fit.at(ds, area_effect=True).std)
    np.testing.assert_allclose(fit.sample(bit, 3, preserve_totals=True),
                               fit.sample(ds, 3, preserve_totals=True))
    # Rounding is of each number: beside one that is far larger, others are what they are.
    heavy = ds["weight"].copy()
    heavy[0] *= 1e9
    crowd = wb.VBAgg(kernel="linear", overdispersion="area", **OPTIONS).condition(
        ds.assign(weight=heavy), {"mean": -12.0, "linear.variance": 1.0, "area.std": 0.5,
                                  "nugget.std": 0.1})
    double = heavy.copy()
    double[ds["membership"].values == 7] *= 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = crowd.learnt_from(ds.assign(weight=double)).values
    assert not again[7] and again.sum() == 19
    # Far from rounding, for one individual: another area, whatever its name and value are.
    off = bit["covariates"].copy()
    off[np.flatnonzero(ds["membership"].values == 7)[0], 0] *= 1 + 1e-5
    assert trained(bit.assign(covariates=off)) == [*range(7), -1, *range(8, 20)]


def test_a_changed_map_leaves_data_and_fit_as_they_are_and_changed_data_are_not_saved(
        ds, fit, tmp_path):
    data = ds.copy(deep=True)
    own = type(fit.model)(**fit.model.get_params()).fit(data)
    maps = own.to_dataset(data)
    for name in ("weight", "value"):
        maps[name] *= 1000
    xr.testing.assert_identical(data, ds)
    own.save(tmp_path / "fit.wbfit")
    mean = own.latent(data).mean
    mean -= mean.mean()
    assert abs(float(own.latent(data).mean.mean())) > 1e-9
    data["weight"] *= 1000
    with pytest.raises(InputError, match="changed in place after they were fitted to"):
        own.save(tmp_path / "other.wbfit")
    with pytest.warns(DataWarning, match="as a scenario should be"):
        assert not own.learnt_from(data).any()
    assert own.learnt_from(ds).all()


def test_coordinates_that_a_map_uses_itself_are_refused(ds, fit):
    named = ds.assign_coords(mean=("bag", [f"region {k % 2}" for k in range(20)]))
    with pytest.raises(InputError, match="called 'mean', as variables of the map are; give them"):
        fit.to_dataset(named)


def test_trained_areas_are_recognised_in_a_part_in_any_order(ds, fit):
    chosen = [13, 2, 19, 7]
    part = subset(ds, chosen)
    assert fit._trained(fit._data(part)).tolist() == chosen
    shuffled = part.isel(individual=np.argsort(
        part["membership"].values * 100 - np.arange(part.sizes["individual"]), kind="stable"))
    assert not np.array_equal(shuffled["covariates"], part["covariates"])
    assert fit._trained(fit._data(shuffled)).tolist() == chosen
    # An individual that has gone over to the next bag leaves neither as it was.
    over = part.copy(deep=True)
    over["membership"][np.flatnonzero(part["membership"].values == 0)[-1]] = 1
    assert fit._trained(fit._data(over)).tolist() == [-1, -1, 19, 7]
    whole = fit.at(ds, area_effect=True).std
    members = ds["membership"].values
    rows = np.concatenate([np.flatnonzero(members == k) for k in chosen])
    np.testing.assert_allclose(fit.at(part, area_effect=True).std, whole.values[rows])


def test_extrapolation_is_flagged(ds, fit):
    assert (fit.extrapolation(ds) >= 0).all()
    far = ds.assign(covariates=ds["covariates"] + 100.0)
    assert (fit.extrapolation(far) > 1).all()
    assert fit.extrapolation(far).dims == ("individual",)


def test_components_add_up_to_the_latent_mean(ds, fit):
    parts = fit.components(ds)
    total = parts["linear_mean"] + parts["matern32_mean"]
    total = total + fit.hyperparameters["mean"]["value"]
    np.testing.assert_allclose(total, fit.latent(ds).mean, atol=1e-8)
    slopes = fit.coefficients()
    assert slopes["coefficient"].values.tolist() == ["linear.log_rate"]
    assert float(slopes["mean"][0]) > 0 and float(slopes["std"][0]) > 0


def test_slopes_of_models_that_keep_none_are_an_error_and_their_summary_goes_without(ds):
    values = {"linear.variance": 1.0, "noise.variance": 1.0, "mean": 0.0}
    exact, apart = (model.condition(ds, values) for model in (
        wb.AggregatedGP(kernel="linear", noise="constant"), wb.IndependentBagsGP(kernel="linear")))
    assert exact.coefficients().sizes["coefficient"] == 3 and "linear.log_rate" in exact.summary()
    with pytest.raises(InputError, match="does not keep the weights of its terms linear"):
        apart.coefficients()
    assert "linear.log_rate" not in apart.summary() and apart.known_coefficients() == {}


def test_summary_names_everything(fit):
    text = fit.summary()
    for part in ("matern32.lengthscale", "km", "area.std", "PC: P(", "linear.log_rate",
                 "converged", "20 bags"):
        assert part in text


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("model", [
    wb.VBAgg(kernel="linear+matern32", overdispersion="area", **OPTIONS),
    wb.AggregatedGP(max_steps=5)], ids=lambda m: m.name)
def test_move_is_condition_from_here(ds, model):
    fit = model.fit(ds)
    name = "matern32.lengthscale"
    values = {name: 1.3 * fit.hyperparameters[name]["value"]}
    moved = fit.with_hyperparameters(values)
    again = model.condition(ds, {**fit.hyperparameters, **values})
    assert moved.hyperparameters == again.hyperparameters
    assert fit.hyperparameters[name]["value"] != values[name]
    assert moved.objective == pytest.approx(again.objective, abs=0.05)
    np.testing.assert_allclose(moved.at(ds).mean, again.at(ds).mean, rtol=0.02)
    assert moved.converged and not moved.notes


def test_condition_takes_a_fit_back(ds, fit):
    again = wb.VBAgg(kernel="linear+matern32", overdispersion="area", **OPTIONS).condition(
        ds, fit.hyperparameters)
    np.testing.assert_allclose(again.at(ds).mean, fit.at(ds).mean, rtol=2e-3)
    assert again.history and again.converged and not again.cancelled
    with pytest.raises(InputError, match="missing: .*area.std"):
        wb.VBAgg(overdispersion="area").condition(ds, {"mean": 0.0})


def test_wrong_data_are_refused(ds, fit):
    other = ds.rename_vars(x="east", y="north").reset_coords(["east", "north"], drop=True)
    with pytest.raises(InputError, match="trained on inputs log_rate, x, y, got log_rate;"):
        fit.at(other)
    with pytest.raises(InputError, match="covariates has 1 values that are not finite"):
        broken = ds.copy(deep=True)
        broken["covariates"][3, 0] = np.nan
        fit.at(broken)
    with pytest.raises(InputError, match="xarray.Dataset, got dict"):
        wb.VBAgg().fit({})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
@pytest.mark.parametrize("name", ["auto", "constant", "centre-point", "aggregated-gp", "vbagg"])
def test_every_model_through_the_bridge(name, ds):
    assert name in models()
    options = {"tolerance": 1e-2}
    if name == "auto":
        options = {"effort": "quick", "workers": 1}
    elif name not in ("constant", "aggregated-gp"):
        options["inducing"] = 10
    model = wb.make_model(name, **options)
    fit = model.fit(ds)
    assert model.name == name and fit.model == model
    answers(fit, ds)
    with pytest.raises(InputError, match="did you mean"):
        wb.make_model(name[:-1])


def test_callbacks_and_cancelling(ds):
    def stop(step, objective, fraction):
        if step == 2:
            raise wb.Cancelled

    fit = wb.VBAgg(**OPTIONS).fit(ds, callback=stop)
    assert fit.cancelled and len(fit.history) == 2
    assert fit.to_dataset(ds).attrs["cancelled"] == "True"
    assert "cancelled" in fit.summary()


def test_missing_values_of_bags_can_be_predicted_at_other_levels(ds, fit):
    fine = xr.Dataset(
        {"covariates": ds["covariates"], "weight": ds["weight"],
         "membership": ("individual", np.arange(80)),
         "value": ("bag", np.zeros(80), ds["value"].attrs)},
        coords={"individual": ds["individual"], "covariate": ds["covariate"],
                "bag": [f"fine{k}" for k in range(80)], "x": ds["x"], "y": ds["y"]})
    # A bag of one individual has the individual's own rate times its weight.
    own = fit.at(ds, area_effect=False).mean
    np.testing.assert_allclose(fit.over(fine).mean, own * ds["weight"], rtol=1e-6)


def test_the_former_name_of_a_method_says_what_it_is_called_now(ds, fit):
    with pytest.warns(DeprecationWarning, match="with_hyperparameters"):
        assert fit.move({}).hyperparameters == fit.hyperparameters
