"""`--at`: the map of another region or of its files, what is refused of it, what is told."""

import re

import geopandas
import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from tests.kit import kit_inputs, write_kit
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
    gap = beyond(north, far["covariates"].values)
    assert gap.shape == far["covariates"].shape and (gap >= 0).all()
    share = (gap > 0).any(1).mean()
    with pytest.warns(ExtrapolationWarning, match=f"{share:.0%} of .*far.nc lies beyond"):
        maps = run(spec(folder, "far.nc"))
    np.testing.assert_allclose(maps["extrapolation"], gap.max(1), atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*cannot test what the map says there",
                            "ignore:.* are infinite")
def test_a_place_far_beside_all_areas_is_pointed_out(folder, tmp_path):
    south = wb.read(folder / "south.nc")
    wb.write(south.assign_coords(x=south["x"] + 1e4), folder / "beside.nc")
    with pytest.warns(ExtrapolationWarning, match=r"beside.nc \(x 1.*lies far beside all that the"):
        run(spec(folder, "beside.nc"))


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
        "weight": (far.assign(weight=far["weight"].assign_attrs(units="km2")),
                   "weight of .*weight.nc is in 'km2', .* bag it with the weight"),
    }
    for label, (made, message) in wrong.items():
        wb.write(made, folder / f"{label}.nc")
        with pytest.raises(InputError, match=message):
            run(spec(folder, f"{label}.nc"))


@pytest.mark.parametrize("asked", [{"folds": 2}, {"rescale_to_totals": True}, {"residuals": True}])
def test_what_only_known_areas_have_is_refused(folder, asked):
    with pytest.raises(InputError, match=f"{next(iter(asked))} is of the areas that the model"):
        run(spec(folder, **asked))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two kits of files: one to learn from, one of a region without values."""
    here, there = (write_kit(tmp_path_factory.mktemp(name)) for name in ("here", "there"))
    areas = geopandas.read_file(there / "areas.gpkg")
    areas.drop(columns=["cases", "Value"]).iloc[:5].to_file(there / "areas.gpkg", layer="areas")
    (there / "height.tif").rename(there / "elevation.tif")
    return here, there


def mapped(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


QUICKLY = ["--model", "vbagg", "--kernel", "linear", "--max-steps", "5"]


@pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")
def test_polygons_of_another_region_get_totals(files, tmp_path):
    here, there = files
    region = ["--at-polygons", there / "areas.gpkg", "--at-id", "code", "--at-weight",
              there / "people.tif", "--at-covariates", f"height={there / 'elevation.tif'}"]
    out, fit = tmp_path / "map.nc", tmp_path / "fit.wbfit"
    mapped("disaggregate", *kit_inputs(here)[:-1], *QUICKLY, *region, "--out", out,
           "--save-fit", fit)
    maps = wb.read(out)
    assert maps["bag"].values.tolist() == [f"c{k}" for k in range(5)] and "value" not in maps
    assert bool((maps["bag_std"] > 0).all()) and maps.attrs["grid_shape"].tolist() == [30, 40]
    mapped("predict", fit, *region, "--out", tmp_path / "again.nc")
    again = wb.read(tmp_path / "again.nc")
    np.testing.assert_allclose(again["bag_mean"], maps["bag_mean"], rtol=1e-6)
    # The same from Python, and from the Spec that the map carries.
    places = wb.polygon_places(there / "areas.gpkg", {"height": there / "elevation.tif"},
                               there / "people.tif", id="code")
    np.testing.assert_allclose(wb.load_fit(fit).to_dataset(places)["mean"], maps["mean"])
    np.testing.assert_array_equal(run(Spec.from_json(maps.attrs["spec"]))["mean"], maps["mean"])
    # Areas keep their own columns in a GeoPackage.
    mapped("predict", fit, *region, "--out", tmp_path / "again.gpkg")
    table = geopandas.read_file(tmp_path / "again.gpkg", layer="bag")
    assert table["Region"].tolist()[:2] == ["north", "south"]


@pytest.mark.parametrize(("arguments", "said"), [
    (["--at-covariates", "a.tif"], "give its areas, too: --at-polygons FILE"),
    (["--at-id", "code"], "--at-id is of files of another region; give --at-polygons"),
    (["--at", "x.nc", "--at-polygons", "p.gpkg"], "both say where the map is wanted"),
    (["--at-polygons", "none.gpkg"], "the at polygons file 'none.gpkg' does not exist"),
    (["--at-polygons", "{areas}", "--at-idd", "code"], "did you mean '--at-id'"),
    (["--at-polygons", "{areas}", "--at-covariates", "{height}"],
     "learns from covariates height, areas.gpkg has elevation; .* by --at-covariates NAME=FILE"),
    (["--at-polygons", "{areas}", "--at-covariates", "height={height}"],
     "is in 'km²', and in 'persons' where the model learns.*--at-weight"),
    (["--at-polygons", "{areas}", "--at-covariates", "height={height}", "--at-layer", "x"],
     "of the other region, areas.gpkg: layer 'x' is unknown"),
    (["--at-polygons", "{areas}", "--at-value", "inc"],
     "of the other region, areas.gpkg: the polygons have no column 'inc'"),
])
def test_files_of_a_region_that_do_not_fit_are_refused(files, tmp_path, arguments, said):
    here, there = files
    named = {"areas": there / "areas.gpkg", "height": there / "elevation.tif"}
    texts = [text.format(**named) for text in arguments]
    result = CliRunner().invoke(app, list(map(str, [
        "disaggregate", *kit_inputs(here), *QUICKLY, *texts, "--out", tmp_path / "map.nc"])))
    assert result.exit_code == 2 and re.search(said, " ".join(result.output.split())), result.output


def test_a_prediction_has_no_fit_to_save(tmp_path):
    result = CliRunner().invoke(app, ["predict", "fit.wbfit", "--out", str(tmp_path / "m.nc"),
                                      "--save-fit", "new.wbfit"])
    assert result.exit_code == 2 and "leave out --save-fit" in " ".join(result.output.split())
