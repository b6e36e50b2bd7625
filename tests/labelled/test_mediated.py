"""Bags and targets that share covariates alone, as users meet them."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import workbench as wb
from workbench.checks import FewAreasWarning, FitWarning, InputError

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")


@pytest.fixture(scope="module")
def ds():
    return wb.load("swiss-roll-heights", points=600, bags=30, seed=1)


@pytest.fixture(scope="module")
def parts(ds):
    return wb.unmatch(ds, 0.5, seed=0)


@pytest.fixture(scope="module")
def fit(parts):
    return wb.CMP(kernel="ard-rbf", max_steps=60).fit(*parts)


def test_no_bag_keeps_a_target_and_nothing_is_lost(ds, parts):
    bags, targets = parts
    assert "value" not in bags and bags.sizes["bag"] + targets.sizes["target"] == 30
    assert not set(bags["bag"].values) & set(targets["target"].values)
    back = ds["value"].sel(bag=targets["target"].values)
    np.testing.assert_array_equal(back.values, targets["value"].values)
    np.testing.assert_array_equal(ds["mediators"].sel(bag=bags["bag"].values), bags["mediators"])
    sizes = np.bincount(ds["membership"])
    kept = [int(np.flatnonzero(ds["bag"].values == b)[0]) for b in bags["bag"].values]
    np.testing.assert_array_equal(np.bincount(bags["membership"]), sizes[kept])
    again = wb.unmatch(ds, 0.5, seed=0)
    xr.testing.assert_identical(again[1], targets)


def test_totals_become_means():
    ds = wb.load("simulated-country", pixels=400, districts=16, regions=4, provinces=2, smallest=5)
    ds = wb.add_mediators(ds, ["x", "y"])
    bags, targets = wb.unmatch(ds, 0.25)
    weight = np.bincount(ds["membership"], ds["weight"])
    rate = ds["value"].copy(data=ds["value"].values / weight)
    np.testing.assert_allclose(targets["value"], rate.sel(bag=targets["target"].values))
    assert targets["value"].attrs["aggregation"] == "mean"
    assert "/" in targets["value"].attrs["units"]
    assert targets.sizes["target"] == 4


@pytest.mark.filterwarnings("ignore:.*lie where no bag is")      # the outermost slabs are targets
def test_the_fit_answers_with_labels(ds, parts, fit):
    bags, targets = parts
    rmse = float(np.sqrt(((fit.at(ds).mean - ds["truth"]) ** 2).mean()))
    assert rmse < 1.1
    out = fit.to_dataset(bags)
    assert "value" not in out and out.sizes["individual"] == bags.sizes["individual"]
    assert fit.to_dataset(ds)["value"].sizes == {"bag": 30}
    g = fit.conditional_mean(targets)
    assert g.mean.dims == ("target",) and g.mean.attrs["units"] == "sd of t"
    same = fit.conditional_mean(pd.DataFrame({"height": targets["mediators"].values[:, 0]}))
    np.testing.assert_allclose(g.mean.values, same.mean.values)
    assert fit.conditional_mean(bags).std.dims == ("bag",)
    residual = targets["value"].values - g.mean.values
    assert np.abs(residual).mean() < 0.5 * np.abs(targets["value"].values).mean()
    assert "+" in fit.provenance()["data_sha256"]
    assert fit.simulate(bags, samples=3).shape == (3, 15)
    with pytest.raises(InputError, match="lack \\['height'\\]"):
        fit.conditional_mean(pd.DataFrame({"hieght": [0.1]}))


def test_matched_bags_need_no_targets(ds):
    fit = wb.ShrinkageCMP(kernel="ard-rbf", starts=1, max_steps=40).fit(ds)
    again = wb.ShrinkageCMP(kernel="ard-rbf").condition(ds, fit.hyperparameters)
    np.testing.assert_allclose(again.at(ds).mean, fit.at(ds).mean, rtol=1e-6, atol=1e-8)
    moved = fit.with_hyperparameters({"ridge": 0.5})
    assert not np.allclose(moved.at(ds).mean, fit.at(ds).mean)


def test_imputed_values_are_a_regression_on_the_mediators(parts):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    bags, targets = parts
    given = {"mean": 0.0, "rbf.variance": 1.0, "rbf.lengthscale": 0.5, "noise.variance": 0.01}
    out = wb.impute(bags, targets, hyperparameters=given)
    peer = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(0.5), alpha=0.01, optimizer=None)
    peer.fit(targets["mediators"].values, targets["value"].values)
    mean, std = peer.predict(bags["mediators"].values, return_std=True)
    np.testing.assert_allclose(out["value"], mean, atol=1e-6)
    np.testing.assert_allclose(out["value_std"], std, atol=1e-5)
    assert wb.AggregatedGP(max_steps=20).fit(out).at(out).mean.sizes["individual"] == len(
        out["individual"])


def test_targets_and_mediators_from_tables(ds):
    table = pd.DataFrame({"z": [0.1, 0.2], "height": [0.0, 0.5], "v": [0.01, 0.02],
                          "id": ["a", "b"]})
    targets = wb.targets_from_table(table, "z", ["height"], name="id", noise_variance="v",
                                    units={"height": "1"})
    assert list(targets["target"].values) == ["a", "b"] and "noise_variance" in targets
    with pytest.warns(FewAreasWarning, match="2 targets cannot say how the quantity varies"):
        fit = wb.CMP(noise="known", starts=1, max_steps=20).fit(ds.drop_vars("value"), targets)
    assert "noise.variance" not in fit.hyperparameters
    assert any("intervals are likely too narrow" in note for note in fit.notes)
    given = pd.DataFrame({"elevation": np.arange(30.0)}, index=ds["bag"].values)
    more = wb.add_mediators(ds, given, units={"elevation": "m"})
    assert more["mediators"].values[:, 0].tolist() == list(range(30))
    means = wb.add_mediators(ds, ["x1", "x3"])
    np.testing.assert_allclose(means["mediators"][:, 1],
                               ds["covariates"][:, 2].groupby(ds["membership"]).mean())
    assert list(means["mediator_units"].values) == ["1", "1"]


def test_what_is_refused(ds, parts):
    bags, targets = parts
    table = pd.DataFrame({"z": [0.1, np.nan], "height": [0.0, 0.5]})
    with pytest.raises(InputError, match="column 'z' of targets has 1 values that are miss"):
        wb.targets_from_table(table, "z", ["height"])
    with pytest.raises(InputError, match="must hold numbers, are none: ..0,5.. in rows 1"):
        wb.targets_from_table(table.assign(z=["1", "0,5"]), "z", ["height"])
    with pytest.raises(InputError, match="column 'hight' is unknown; did you mean 'height'"):
        wb.targets_from_table(table, "z", ["hight"])
    with pytest.raises(InputError, match=r"column .z. of targets has 1 values .* in row \[0\]"):
        wb.targets_from_table(table[::-1], "height", ["z"])
    with pytest.raises(InputError, match="bags have mediators height, the targets altitude"):
        wb.CMP().fit(bags, targets.assign_coords(mediator=["altitude"]))
    with pytest.raises(InputError, match="'height' is in '1' of bags and in 'km' of targets"):
        wb.CMP().fit(bags, targets.assign_coords(mediator_units=("mediator", ["km"])))
    with pytest.raises(InputError, match="the bags have no mediators, the targets have height"):
        wb.CMP().fit(bags.drop_vars(["mediators", "mediator", "mediator_units"]), targets)
    with pytest.raises(InputError, match="lacks 'value'"):
        wb.AggregatedGP().fit(bags)
    with pytest.raises(InputError, match="unmatched targets are means"):
        sums = targets.copy()
        sums["value"].attrs["aggregation"] = "sum"
        wb.CMP().fit(bags, sums)
    with pytest.raises(InputError, match="share must leave bags and targets"):
        wb.unmatch(ds, 1.0)
    with pytest.raises(InputError, match="no mediators; add them"):
        wb.unmatch(ds.drop_vars(["mediators"]))
    with pytest.raises(InputError, match="lacks 30 bags"):
        wb.add_mediators(ds, pd.DataFrame({"a": [1.0]}, index=["elsewhere"]))
    with pytest.raises(InputError, match="mediator 'x9' is unknown"):
        wb.add_mediators(ds, ["x9"])
    with pytest.raises(InputError, match="the targets lack 'mediators'"):
        wb.CMP().fit(bags, targets.drop_vars("mediators"))


def fields(size: int = 40, seed: int = 0) -> xr.Dataset:
    """Two fields on a grid of degrees."""
    rng, at = np.random.default_rng(seed), np.arange(size) / 10.0
    height = np.sin(at)[:, None] + np.cos(2 * at)[None] + 0.1 * rng.normal(size=(size, size))
    warmth = 280 - 3 * height + at[:, None]
    return xr.Dataset({"height": (("lat", "lon"), height, {"units": "km"}),
                       "warmth": (("lat", "lon"), warmth, {"units": "K"})},
                      {"lat": ("lat", at, {"units": "degrees_north"}),
                       "lon": ("lon", at, {"units": "degrees_east"})})


@pytest.mark.slow
def test_fine_and_coarse_rasters_that_never_meet():
    """Covariates of the north, targets of the whole, through position and mean height."""
    fine = fields()
    coarse = fine.coarsen(lat=4, lon=4).mean()
    # Targets that the mediators give exactly would leave no noise to learn.
    coarse["warmth"] += 0.3 * np.random.default_rng(1).normal(size=coarse["warmth"].shape)
    for name in ("lat", "lon"):
        coarse[name].attrs = fine[name].attrs
    coarse["warmth"].attrs = fine["warmth"].attrs
    bags = wb.bag_blocks(fine[["height"]], None, ["height"], ["height", "x", "y"], block=4)
    assert "value" not in bags and "truth" not in bags
    targets = wb.targets_from_grid(coarse.isel(lat=slice(2, 8)), "warmth", ["height", "x", "y"])
    assert targets.sizes["target"] == 60 and targets["value"].attrs["units"] == "K"
    assert list(targets["mediator_units"].values) == ["km", "degree", "degree"]
    fit = wb.CMP(kernel="linear+matern32(coordinates)",
                 mediator_kernel="matern32(coordinates)", compress=0).fit(bags, targets)
    whole = wb.bag_blocks(fine, "warmth", ["height"], block=4)
    inside = (whole["y"] > 0.8) & (whole["y"] < 3.2)
    error = (fit.at(bags).mean - whole["truth"])[inside.values]
    assert float(error.std()) < 0.5 * float(whole["truth"][inside.values].std())
    gaps = coarse.where(coarse["lat"] > 1)
    with pytest.raises(InputError, match="pixels lack the value or a mediator; pass missing"):
        wb.targets_from_grid(gaps, "warmth", ["height"])
    left = wb.targets_from_grid(gaps, "warmth", ["height"], missing="drop")
    assert "treatments" not in wb.targets_from_grid(coarse, "warmth", ["height"]).attrs
    monthly = coarse.assign(warmth=coarse["warmth"].expand_dims(time=3))
    with pytest.raises(InputError, match=r"warmth \(time, y, x\).*choose one, such as"):
        wb.targets_from_grid(monthly, "warmth", ["height"])
    assert left.sizes["target"] < 100 and "left out" in left.attrs["treatments"]


def test_on_the_command_line(tmp_path, ds, parts):
    from typer.testing import CliRunner

    from workbench.cli import app

    bags, targets = parts
    wb.write(bags, tmp_path / "bags.nc")
    pd.DataFrame({"z": targets["value"].values, "height": targets["mediators"].values[:, 0]}
                 ).to_csv(tmp_path / "targets.csv", index=False)
    call = ["mediate", str(tmp_path / "bags.nc"), str(tmp_path / "targets.csv"), "--value", "z",
            "--kernel", "ard-rbf", "--out", str(tmp_path / "map.nc"), "--quiet"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert "mediator.rbf.lengthscale" in done.output
    maps = xr.open_dataset(tmp_path / "map.nc", engine="h5netcdf")
    assert np.isfinite(maps["mean"]).all() and maps.attrs["target_count"] == 15
    maps.close()
    refused = CliRunner().invoke(app, [*call, "--model", "vbagg"])
    assert refused.exit_code != 0 and "cmp" in refused.output


@pytest.mark.filterwarnings("ignore:the mediators hardly tell the bags apart")
@pytest.mark.filterwarnings("ignore:4 targets cannot say how")
def test_known_noise_of_totals_becomes_that_of_means():
    ds = wb.load("simulated-country", pixels=400, districts=16, regions=4, provinces=2, smallest=5)
    ds = wb.add_mediators(ds.assign(noise_variance=("bag", np.full(16, 4.0))), ["x", "y"])
    _, targets = wb.unmatch(ds, 0.25)
    weight = pd.Series(np.bincount(ds["membership"], ds["weight"]), ds["bag"].values)
    np.testing.assert_allclose(targets["noise_variance"],
                               4.0 / weight[targets["target"].values] ** 2)
    for positions in (([0, 1], [2, 3]), (range(16), []), ([0, *range(8)], range(8, 16)),
                      (range(8), range(8, 300))):
        with pytest.raises(InputError, match="must hold each of the 16 bags once"):
            wb.unmatch(ds, positions=positions)
    with pytest.warns(FitWarning, match="Say noise='known' to use what is stated"):
        fit = wb.CMP(starts=1, max_steps=10).fit(*wb.unmatch(ds, 0.25))
    with pytest.raises(InputError, match="the fit learnt a mean, the dataset's values are a sum"):
        fit.log_density(ds)
    assert repr(fit).endswith("4 targets>")


def test_imputing_knows_the_noise_of_targets_and_forgets_that_of_bags(parts):
    bags, targets = parts

    def imputed(of_targets, of_bags):
        return wb.impute(bags.assign(noise_variance=("bag", np.full(15, of_bags))),
                         targets.assign(noise_variance=("target", np.full(15, of_targets))),
                         noise="known")

    out = imputed(0.01, 9.0)
    assert "noise_variance" not in out
    np.testing.assert_array_equal(out["value"], imputed(0.01, 1e-4)["value"])
    assert float(abs(out["value"] - imputed(9.0, 9.0)["value"]).max()) > 0.01


def test_one_name_is_no_list_of_letters(ds):
    assert list(wb.add_mediators(ds, "x1")["mediator"].values) == ["x1"]
    table = pd.DataFrame({"z": [0.1, 0.2], "height": [0.0, 0.5]})
    assert list(wb.targets_from_table(table, "z", "height")["mediator"].values) == ["height"]
    with pytest.raises(InputError, match="each once"):
        wb.add_mediators(ds, ["x1", "x1"])


@pytest.mark.parametrize("crs, unit", [("EPSG:4326", "degree"), ("EPSG:32633", "m"), (None, "1")])
def test_places_of_fields_from_a_geotiff_have_the_units_of_their_crs(crs, unit):
    """rioxarray gives a CRS, and coordinates without units."""
    import rioxarray  # noqa: F401  (the accessor)

    rng, sides = np.random.default_rng(0), {"y": np.arange(6.0)[::-1], "x": np.arange(8.0)}
    fields = xr.Dataset({n: (("y", "x"), rng.normal(size=(6, 8))) for n in ("warmth", "height")},
                        sides)
    fields = fields if crs is None else fields.rio.write_crs(crs)
    bags = wb.bag_blocks(fields, None, ["height"], ["height", "x", "y"], block=2)
    targets = wb.targets_from_grid(fields, "warmth", ["height", "x", "y"])
    for one in (bags, targets):
        assert one["mediator_units"].values.tolist()[1:] == [unit, unit]


@pytest.mark.filterwarnings("ignore:the mediators hardly tell the bags apart")
def test_a_map_has_the_crs_of_the_fields(tmp_path):
    import rioxarray
    from typer.testing import CliRunner

    from workbench.cli import app

    rng = np.random.default_rng(0)
    sides = {"y": 5e6 - 1000.0 * np.arange(12), "x": 4e5 + 1000.0 * np.arange(12)}
    fields = xr.Dataset({n: (("y", "x"), rng.normal(size=(12, 12))) for n in ("slope", "height")},
                        sides).rio.write_crs("EPSG:32633")
    bags = wb.bag_blocks(fields, None, ["slope"], ["height", "y"], block=3)
    assert bags.attrs["crs"] == "EPSG:32633"
    wb.write(wb.add_mediators(bags, ["slope", "x"]), tmp_path / "bags.nc")
    pd.DataFrame({"z": rng.normal(size=12), "slope": rng.normal(size=12), "x": sides["x"]}
                 ).to_csv(tmp_path / "targets.csv", index=False)
    out = tmp_path / "map.tif"
    done = CliRunner().invoke(app, [
        "mediate", str(tmp_path / "bags.nc"), str(tmp_path / "targets.csv"), "--value", "z",
        "--kernel", "rbf", "--out", str(out), "--quiet"])
    assert done.exit_code == 0, done.output
    with rioxarray.open_rasterio(out) as raster:
        assert raster.rio.crs == "EPSG:32633"


def test_fields_of_one_grid_may_have_their_dimensions_in_any_order():
    ds = fields(6)
    turned = ds.assign(height=ds["height"].T)
    plain, found = (wb.targets_from_grid(one, "warmth", ["height", "x"]) for one in (ds, turned))
    for name in ("value", "mediators"):
        np.testing.assert_array_equal(found[name], plain[name])
    with pytest.raises(InputError, match=r"height \(x\).*broadcast_like\(fields\['warmth'\]"):
        wb.targets_from_grid(ds.assign(height=ds["height"][0]), "warmth", ["height"])


@pytest.mark.parametrize("other, axes", [("x", "lon"), ("longitude", "lon")])
def test_two_coordinates_of_one_axis_are_refused_and_the_remedy_works(other, axes):
    ds = fields(6)
    both = ds.assign_coords({other: (axes, np.arange(6.0))})
    with pytest.raises(InputError, match=rf"fields.drop_vars\(\['{other}'\]\)"):
        wb.targets_from_grid(both, "warmth", ["height"])
    assert wb.targets_from_grid(both.drop_vars(other), "warmth", ["height"]).sizes["target"] == 36
