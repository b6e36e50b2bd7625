"""What a map rests on: information, summands of f, and draws that are kept with it."""

import numpy as np
import pytest
import torch

import workbench as wb
from tests.labelled.conftest import FEW_STEPS
from workbench.checks import InputError
from workbench.datasets import load
from workbench.gp.models.fits import prior_of

pytestmark = FEW_STEPS


@pytest.fixture(scope="module")
def fit(ds):
    return wb.VBAgg(kernel="linear+rbf(covariates)+matern32(coordinates)", inducing=12,
                    max_steps=8, overdispersion="area", nugget=0.3).fit(ds)


def test_information_of_one_known_bag_is_the_closed_form():
    """One Normal observation of one individual: 1 - noise / (k + noise), and less elsewhere."""
    ds = load("swiss-roll", n_bags=6, mean_size=1, size_std=0)
    ds = ds.assign(value=ds["value"].copy(data=np.arange(6.0)).assign_attrs(
        kind="continuous", aggregation="mean"))
    model = wb.AggregatedGP(kernel="rbf", max_steps=1)
    given = {"mean": 0.0, "rbf.variance": 2.0, "rbf.lengthscale": 1e-3, "noise.variance": 0.25}
    fit = model.condition(ds, given)
    np.testing.assert_allclose(fit.information(ds), 1 - 0.25 / 2.25, rtol=1e-6)
    far = ds.assign(covariates=ds["covariates"] + 1000.0)
    np.testing.assert_allclose(fit.information(far), 0.0, atol=1e-9)


def test_information_is_the_ratio_of_the_draws(ds, fit):
    told = fit.information(ds)
    assert told.dims == ("individual",) and told.attrs["units"] == "1"
    assert bool((told > 0).all() and (told < 1).all())
    prior = prior_of(fit.inner.state, fit._bags(fit._data(ds))).variance.numpy()
    drawn = fit.latent(ds).sample(6000, seed=1).var("sample")
    np.testing.assert_allclose(1 - told, drawn / prior, rtol=0.12)


def test_the_prior_is_that_of_the_kernel(ds, fit):
    state = fit.inner.state
    x = state.transform(fit._bags(fit._data(ds)).x)
    with torch.no_grad():
        dense = state.field.prior(x, x).diagonal()
    np.testing.assert_allclose(fit.inner.prior(fit._bags(fit._data(ds))).variance, dense)


@pytest.mark.parametrize("model", [wb.BagPixel(max_steps=2), wb.Nystrom(max_steps=2)],
                         ids=lambda m: m.name)
def test_a_prior_that_is_not_known_is_refused(ds, model):
    fit = model.fit(ds)
    with pytest.raises(InputError, match="prior variance of f"):
        fit.information(ds)
    with pytest.raises(InputError, match="no additive terms"):
        fit.components(ds)


@pytest.mark.filterwarnings("ignore:the values are counts, but aggregated-gp")
def test_an_exact_model_has_no_terms_apart(ds):
    fit = wb.AggregatedGP(max_steps=2).fit(ds)
    assert bool((fit.information(ds) <= 1).all())
    with pytest.raises(InputError, match="term by term"):
        fit.components(ds)


@pytest.mark.parametrize("by", ["term", "role"])
def test_summands_add_up_to_f(ds, fit, by):
    maps = fit.component_maps(ds, by=by)
    np.testing.assert_allclose(maps["component_mean"].sum("component"), fit.latent(ds).mean,
                               atol=1e-8, rtol=0)
    names = maps["component_mean"]["component"].values.tolist()
    assert names == {"term": ["intercept", "linear", "rbf", "matern32"],
                     "role": ["intercept", "covariates", "place"]}[by]
    assert maps["component_mean"]["role"].values.tolist() == {
        "term": ["intercept", "covariates", "covariates", "place"],
        "role": ["intercept", "covariates", "place"]}[by]


def test_a_role_knows_how_its_terms_depend_on_each_other(ds, fit):
    """The sd of linear + rbf is that of their sum under q, not of independent terms."""
    state, inner = fit.inner.state, fit.inner
    bags = fit._bags(fit._data(ds))
    phi = state.project(state.geometry_of(inner.individual_view(bags).operator.bags))
    stop = state.field.blocks()["rbf"][1]
    features = phi.projection.features[:, :stop]
    exact = ((features @ state.field.q_covariance[:stop, :stop]) * features).sum(1)
    covariates = inner.components(bags, "role")["covariates"].variance
    assert bool((covariates >= exact - 1e-10).all())
    alone = inner.components(bags)
    apart = alone["linear"].variance + alone["rbf"].variance
    residual = covariates - exact
    cross = covariates - apart
    assert float(cross.abs().max()) > 1e-6 and bool((residual >= -1e-10).all())


def test_with_the_effect_of_the_area_they_add_up_to_the_rate(ds, fit):
    """exp of the sum is the rate's median but for a factor of each area, which meets its total."""
    maps = fit.component_maps(ds, area_effect=True)
    assert maps["component_mean"]["component"].values[-1] == "area effect"
    total = maps["component_mean"].sum("component").values
    median = np.log(fit.at(ds, area_effect=True).quantile(0.5).values[0])
    gap = median - total
    for bag in range(ds.sizes["bag"]):
        assert np.ptp(gap[ds["membership"].values == bag]) < 1e-8
    assert np.abs(gap).max() < 0.1
    spread = maps["component_std"].sel(component="area effect")
    prior = float(np.hypot(fit.hyperparameters["area.std"]["value"], 0.3))
    assert bool((spread > 0).all() and (spread <= prior + 1e-9).all())


@pytest.mark.slow
def test_a_mixture_goes_by_role(ds):
    fit = wb.Auto(effort="quick").fit(ds)
    maps = fit.to_dataset(ds, information=True, components=True)
    parts = maps["component_mean"]
    own = parts.sel(component="area effect", drop=True)         # given the area's total
    np.testing.assert_allclose(parts.sum("component") - own, maps["latent_mean"], atol=1e-8, rtol=0)
    assert np.abs(own).max() > 0.05 and parts["component"].values[0] == "intercept"
    smooth = fit.to_dataset(ds, area_effect=False, components=True)["component_mean"]
    assert {*smooth["component"].values} == {*parts["component"].values} - {"area effect"}
    assert bool((maps["information"] <= 1).all())
    prior, post = fit.inner.prior(fit._bags(fit._data(ds))), fit.latent(ds)
    np.testing.assert_allclose(maps["information"], 1 - post.variance / prior.variance.numpy())


def test_a_map_keeps_them_if_asked(ds, fit, tmp_path):
    plain = fit.to_dataset(ds)
    assert not {"information", "component_mean", "draw"} & set(plain)
    maps = fit.to_dataset(ds, information=True, components=True, draws=40, seed=3)
    assert maps["draw"].dims == ("sample", "individual") and maps["draw"].dtype == np.float32
    np.testing.assert_allclose(maps["draw"], fit.at(ds).sample(40, seed=3), rtol=1e-6)
    back = wb.read(wb.write(maps, tmp_path / "map.nc"))
    np.testing.assert_array_equal(back["component_mean"], maps["component_mean"])
    assert back["component"].values.tolist() == maps["component"].values.tolist()
    kept = fit.to_dataset(ds, draws=5, preserve_totals=True)
    summed = np.stack([np.bincount(ds["membership"].values, row) for row in (
        kept["draw"].values * ds["weight"].values)])
    np.testing.assert_allclose(summed, np.tile(ds["value"].values, (5, 1)), rtol=1e-4)


def test_rasters_hold_parts_but_no_draws(ds, fit, tmp_path):
    import rasterio

    maps = fit.to_dataset(ds, information=True, components=True, draws=4)
    wb.write(maps, tmp_path / "map.tif")
    with rasterio.open(tmp_path / "map.tif") as file:
        assert {"information", "component_mean_rbf"} <= set(file.descriptions)
        assert not [name for name in file.descriptions if name.startswith("draw")]
