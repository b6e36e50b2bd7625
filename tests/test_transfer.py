"""`--at`: the map of another region, what is refused of it, and what is told."""

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench.checks import ExtrapolationWarning, InputError
from workbench.cli import app
from workbench.pipeline.run import run
from workbench.pipeline.spec import Spec
from workbench.pipeline.transfer import beyond

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.FewAreasWarning")
QUICK = {"kernel": "linear", "max_steps": 5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The north of a country, and the south, without totals and with covariates within range."""
    folder = tmp_path_factory.mktemp("regions")
    ds = wb.load("simulated-country", pixels=300, districts=30, regions=4, provinces=2)
    middle = np.median(ds["bag_y"])
    north = wb.subset(ds, ds["bag_y"].values > middle)
    south = wb.subset(ds, ds["bag_y"].values <= middle)
    wb.write(north, folder / "north.nc")
    members, weight = north["membership"].values, north["weight"].values
    means = np.stack([np.bincount(members, weight * column) / np.bincount(members, weight)
                      for column in north["covariates"].values.T], 1)
    inside = south["covariates"].clip(*(xr.DataArray(end, dims="covariate") for end in (
        means.min(0), means.max(0)))).assign_attrs(south["covariates"].attrs)
    wb.write(south.drop_vars(["value", "truth", "individual_value"]).assign(covariates=inside),
             folder / "south.nc")
    wb.write(south, folder / "far.nc")
    return folder


def spec(folder, at="south.nc", **further):
    return Spec(str(folder / "north.nc"), options=QUICK, at=str(folder / at), **further)


@pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")
def test_another_region_is_mapped_by_the_same_fit(folder):
    maps = run(spec(folder, information=True))
    north, south = (wb.read(folder / f"{name}.nc") for name in ("north", "south"))
    assert maps.sizes["individual"] == south.sizes["individual"] and "value" not in maps
    direct = wb.VBAgg(**QUICK).fit(north).to_dataset(south)
    np.testing.assert_allclose(maps["mean"], direct["mean"])
    assert float(maps["extrapolation"].max()) < 1e-6
    out = folder / "map.nc"
    result = CliRunner().invoke(app, [
        "disaggregate", "--dataset", str(folder / "north.nc"), "--at", str(folder / "south.nc"),
        "--model", "vbagg", "--kernel", "linear", "--max-steps", "5", "--out", str(out), "--quiet"])
    assert result.exit_code == 0, (result.output, result.exception)
    np.testing.assert_array_equal(wb.read(out)["mean"], maps["mean"])
    assert Spec.from_json(wb.read(out).attrs["spec"]).at == str(folder / "south.nc")


@pytest.mark.filterwarnings("ignore:.*cannot test what the map says there")
def test_what_lies_beyond_is_told(folder):
    north, far = wb.read(folder / "north.nc"), wb.read(folder / "far.nc")
    gap = beyond(north, far)
    assert gap.shape == far["covariates"].shape and (gap >= 0).all()
    share = (gap > 0).any(1).mean()
    with pytest.warns(ExtrapolationWarning, match=f"{share:.0%} of the individuals of .*far.nc"):
        maps = run(spec(folder, "far.nc"))
    np.testing.assert_allclose(maps["extrapolation"], gap.max(1), atol=1e-8)


def test_another_world_is_refused(folder):
    far = wb.read(folder / "far.nc")
    name = str(far["covariate"].values[1])
    wrong = {
        "units": (far.assign(covariates=far["covariates"] * xr.where(
            far["covariate"] == name, 1.0, 1.0) + xr.where(far["covariate"] == name, 1e4, 0.0)),
            f"covariate {name!r} of .* lies wholly beyond"),
        "order": (far.isel(covariate=slice(None, None, -1)), "the same ones in the same order"),
        "crs": (far.assign_attrs(crs="EPSG:32633"), "has the CRS EPSG:32633"),
        "other": (far.assign_coords(covariate_units=(
            "covariate", ["parsec"] * far.sizes["covariate"])), "in 'parsec' in"),
    }
    for label, (made, message) in wrong.items():
        wb.write(made, folder / f"{label}.nc")
        with pytest.raises(InputError, match=message):
            run(spec(folder, f"{label}.nc"))


@pytest.mark.parametrize("asked", [{"folds": 2}, {"rescale_to_totals": True}, {"residuals": True},
                                   {"area_effect": True}])
def test_what_only_known_areas_have_is_refused(folder, asked):
    with pytest.raises(InputError, match=f"{next(iter(asked))} is of the areas that the model"):
        run(spec(folder, **asked))
