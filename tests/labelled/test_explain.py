"""One pixel explained: summands, its area and neighbours, and the influence of areas."""

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import workbench as wb
from tests.labelled.conftest import FEW_STEPS
from workbench.checks import InputError
from workbench.cli import app
from workbench.datasets import load
from workbench.evaluation import subset
from workbench.gp.models.vbagg.influence import influence

pytestmark = FEW_STEPS


@pytest.fixture(scope="module")
def fit(ds):
    return wb.VBAgg(kernel="linear+matern32(coordinates)", inducing=12, max_steps=8,
                    overdispersion="area").fit(ds)


def all_influences(fit, ds, rows):
    bags = fit._bags(fit._data(ds))
    return [one.numpy() for one in influence(fit.inner, bags, torch.as_tensor(rows))]


def test_contributions_of_areas_add_up_to_f(ds, fit):
    rows = [3, 100, 200]
    contribution, _ = all_influences(fit, ds, rows)
    assert contribution.shape == (3, 24)
    prior = fit.hyperparameters["mean"]["value"]
    np.testing.assert_allclose(contribution.sum(1) + prior, fit.latent(ds).mean.values[rows],
                               atol=2e-3)


@pytest.mark.parametrize("noise", [0.1, 0.002, 1e-4])
def test_influence_is_what_leaving_areas_of_normal_values_out_does(noise):
    """Of small noise, too, where each area has a leverage near one."""
    ds = load("swiss-roll", n_bags=12, mean_size=6, size_std=3)
    value = np.sin(np.arange(12.0))
    ds = ds.assign(value=ds["value"].copy(data=value).assign_attrs(
        kind="continuous", aggregation="mean"), noise_variance=("bag", np.full(12, noise)))
    model = wb.VBAgg(kernel="rbf", inducing=30, likelihood="normal", link="identity",
                     noise="known", max_steps=4)
    fit = model.fit(ds)
    rows = [0, 20]
    _, found = all_influences(fit, ds, rows)
    for bag in range(12):
        variance = np.full(12, noise)
        variance[bag] = 1e9             # says nothing, and inputs are standardised as before
        rest = model.condition(ds.assign(noise_variance=("bag", variance)), fit.hyperparameters)
        change = (fit.latent(ds).mean - rest.latent(ds).mean).values[rows]
        np.testing.assert_allclose(found[:, bag], change, rtol=2e-3, atol=1e-5)


def test_influence_does_not_depend_on_the_floating_point_type(ds, fit):
    rows = [3, 100, 200]
    single = wb.VBAgg(**fit.model.get_params() | {"dtype": "float32"}).condition(
        ds, fit.hyperparameters)
    twice = [all_influences(one, ds, rows)[1] for one in (
        fit.model.condition(ds, fit.hyperparameters), single)]
    np.testing.assert_allclose(twice[1], twice[0], atol=0.1 * np.abs(twice[0]).max())


@pytest.mark.slow
def test_influence_ranks_areas_as_leaving_them_out_does(ds, fit):
    row = 100
    _, found = all_influences(fit, ds, [row])
    before = float(fit.latent(ds).mean[row])
    model, change = fit.model, []
    for bag in range(ds.sizes["bag"]):
        rest = subset(ds, np.delete(np.arange(ds.sizes["bag"]), bag))
        change.append(before - float(model.condition(rest, fit.hyperparameters).latent(
            ds).mean[row]))
    assert np.corrcoef(found[0], change)[0, 1] > 0.95
    large = np.argsort(-np.abs(change))[:5]
    assert 0.5 < np.median(found[0][large] / np.asarray(change)[large]) < 2


def test_a_pixel_is_explained(ds, fit):
    place = 100
    x, y = float(ds["x"][place]), float(ds["y"][place])
    found = fit.explain(ds, (x, y), influential=4, nearest=3)
    assert int(found["individual"]) == place
    maps = fit.to_dataset(ds, components=True, area_effect=True, information=True)
    for name in ("component_mean", "information", "weight", "expected_count"):
        np.testing.assert_allclose(found[name], maps[name].isel(individual=place), rtol=1e-6)
    np.testing.assert_allclose(found["rate"], maps["mean"][place])
    own = ds["bag"].values[ds["membership"].values[place]]
    assert found["bag"].values[0] == own and found.sizes["bag"] == 4
    assert (np.diff(found["distance"]) >= 0).all() and float(found["distance"][0]) == 0
    names = found["bag"].values
    np.testing.assert_allclose(found["bag_mean"], maps["bag_mean"].sel(bag=names))
    np.testing.assert_allclose(found["value"], ds["value"].sel(bag=names))
    _, every = all_influences(fit, ds, [place])
    top = np.argsort(-np.abs(every[0]))[:4]
    assert found["influential"].values.tolist() == ds["bag"].values[top].tolist()
    np.testing.assert_allclose(found["influence"], every[0][top], rtol=1e-6)
    text = found.attrs["summary"]
    for part in (own, "summand of f", "factor", "area effect", "most influence", "exposure"):
        assert part in text
    assert (found["component_lower"] <= found["component_upper"]).all()


@pytest.mark.filterwarnings("ignore:the values are counts, but aggregated-gp")
def test_other_models_say_what_they_know(ds):
    found = wb.AggregatedGP(max_steps=2).fit(ds).explain(ds, 5)
    assert "information" in found and "component_mean" not in found and "influence" not in found
    found = wb.Nystrom(max_steps=2).fit(ds).explain(ds, 5)
    assert "rate" in found and "information" not in found


def test_a_stored_map_is_explained(ds, fit, tmp_path):
    maps = fit.to_dataset(ds, components=True)
    path = wb.write(maps, tmp_path / "map.nc")
    found = wb.explain(wb.read(path), 100, nearest=2)
    assert "influence" not in found and found.sizes["bag"] == 3
    direct = fit.explain(ds, 100, nearest=2)
    np.testing.assert_allclose(found["component_upper"], direct["component_upper"])
    x, y = float(ds["x"][100]), float(ds["y"][100])
    said = CliRunner().invoke(app, ["explain", str(path), "--at", f"{x},{y}", "--nearest", "2"])
    assert said.exit_code == 0 and said.output.strip() == found.attrs["summary"].strip()
    bare = wb.write(fit.to_dataset(ds), tmp_path / "bare.nc")
    said = CliRunner().invoke(app, ["explain", str(bare), "--pixel", "3"])
    assert said.exit_code == 0 and "keeps no components" in said.output
    for arguments, message in ((["--at", "3"], "two numbers with a comma"), ([], "one of the two"),
                               (["--pixel", "999"], "0 to"), (["--at", "1e6,0"], "no pixel")):
        said = CliRunner().invoke(app, ["explain", str(bare), *arguments])
        assert said.exit_code == 2 and message in said.output


def test_places_beyond_the_map_are_refused(ds, fit):
    with pytest.raises(InputError, match="no pixel of the map is at"):
        fit.explain(ds, (-500.0, 0.0))
    with pytest.raises(InputError, match="0 to"):
        fit.explain(ds, 10_000)
    with pytest.raises(InputError, match="two coordinates"):
        fit.explain(ds, (1.0, 2.0, 3.0))
