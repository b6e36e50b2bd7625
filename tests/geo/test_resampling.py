"""Rasters on other grids, resampled by what they hold: sums, means, shares of classes."""

import re

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.geo.files import CRS, areas, grid, height, kit, mapped, people, table
from workbench.checks import DataWarning, InputError
from workbench.geo.classes import labels_of
from workbench.pipeline.inputs import data_of

RNG = np.random.default_rng(5)
FINE = RNG.normal(size=(36, 36))            # pixels of 333 m, three in each of the weight's
LAND = np.repeat(np.repeat(RNG.choice([1, 2, 5], (18, 18), p=[0.5, 0.3, 0.2]), 2, 0), 2, 1)
LABELS = {1: "forest", 2: "water", 5: "town"}


def bagged(covariates, weight=None, **options):
    return wb.bag_polygons(areas(**table().drop(columns="code")), covariates,
                           people() if weight is None else weight, "cases", id="code", **options)


def column(ds, name):
    """A covariate as a raster of twelve by twelve."""
    out = np.full((12, 12), np.nan)
    out[ds["row"], ds["column"]] = ds["covariates"].sel(covariate=name)
    return out


def blocks(values, rule=np.mean):
    return rule(values.reshape(12, 3, 12, 3), axis=(1, 3))


def test_finer_covariates_are_averaged_and_it_is_said():
    ds = bagged([grid(FINE, "fine", 1000 / 3)])
    assert column(ds, "fine") == pytest.approx(blocks(FINE))
    assert ("raster 'fine' was resampled (average, as its pixels are 3 times finer) to the "
            "weight's grid") in ds.treatments


def test_coarser_covariates_are_interpolated():
    east = np.tile(np.arange(4.0), (4, 1)) * 3000 + 1500
    ds = bagged([grid(east, "east", 3000.0)])
    inner = slice(2, 10)        # beyond the outer centres there is nothing to interpolate
    assert column(ds, "east")[:, inner] == pytest.approx(
        np.tile(500 + 1000 * np.arange(12.0), (12, 1))[:, inner])
    assert "bilinear, as its pixels are 3 times coarser" in ds.treatments


def test_covariates_in_another_crs_are_reprojected_by_the_same_rule():
    """As downloads are: in degrees, over areas in metres."""
    east = np.tile(np.arange(12.0), (12, 1)) * 1000 + 500
    # The nearest pixel would be off by 333; pixels as large were moved by half of one beforehand.
    for side, off, said in ((3, 100, "times finer"), (1, 500, "lie between|times (finer|coarser)")):
        fine = np.kron(east, np.ones((side, side))) + np.tile(
            (np.arange(12 * side) % side - (side - 1) / 2) * 1000 / side, (12 * side, 1))
        layer = grid(fine, "east", 1000 / side).rio.reproject("EPSG:4326")
        ds = bagged([layer], missing="drop")
        inner = slice(2, 10)
        assert column(ds, "east")[inner, inner] == pytest.approx(
            east[inner, inner], abs=off)
        assert re.search(rf"'east' was resampled \((average|bilinear), as its pixels in EPSG:4326 "
                         rf"(are [\d.]+ )?({said})", ds.treatments), ds.treatments


@pytest.mark.parametrize(("layer", "said"), [
    (height().rio.reproject("EPSG:32634").assign_coords(x=lambda one: one["x"] + 900_000),
     "covers none of the areas; it does not overlap the weight"),
    (grid(LAND, "land", 1000 / 3).rio.reproject("EPSG:32634"), "look like codes of classes"),
    (grid(FINE, "away", 1000 / 3, origin=(900_000.0, 5_012_000.0)), "does not overlap the weight"),
    (grid(LAND, "land", 1000 / 3), r"look like codes of classes \(classes='land' takes it as such"),
])
def test_what_is_not_safe_is_refused(layer, said):
    with pytest.raises(InputError, match=said):
        bagged([layer])


def test_the_most_frequent_class_may_be_taken():
    with pytest.warns(DataWarning, match="codes of classes"):
        ds = bagged([grid(LAND, "land", 1000 / 3)], align="mode")
    assert set(np.unique(column(ds, "land"))) <= {1, 2, 5}
    assert "(mode) to the weight's grid" in ds.treatments


def test_a_population_is_summed_to_the_covariates_pixels():
    fine = grid(RNG.integers(0, 40, (36, 36)), "people", 1000 / 3)
    ds = bagged([height()], fine, grid_of="height", zero_weight="drop")
    assert ds.attrs["grid_shape"] == [12, 12]
    got = np.zeros((12, 12))
    got[ds["row"], ds["column"]] = ds["weight"]
    assert got == pytest.approx(blocks(fine.values, np.sum), rel=1e-5)
    assert "was summed from 36 x 36 pixels to the 12 x 12 of 'height'" in ds.treatments
    # Pixels that do not fit into each other, and gaps: nothing is lost either.
    holes = fine.where(fine > 2)
    odd = bagged([grid(RNG.normal(size=(8, 8)), "odd", 1500.0)], holes, grid_of="odd")
    assert float(odd["weight"].sum()) == pytest.approx(float(holes.sum()), rel=1e-4)
    # A coarser population is shared out.
    coarse = people().coarsen(x=3, y=3).sum().rename("people").rio.write_crs(CRS)
    spread = bagged([height()], coarse, grid_of="height")
    assert float(spread["weight"].sum()) == pytest.approx(float(people().sum()), rel=1e-5)
    assert spread.sizes["individual"] == 144
    with pytest.raises(InputError, match="grid_of 'hight' is unknown; did you mean 'height'"):
        bagged([height()], fine, grid_of="hight")


def test_classes_become_shares_of_the_pixel():
    ds = bagged([height(), grid(LAND, "land", 1000 / 3)], classes="land", class_labels=LABELS)
    assert ds["covariate"].values.tolist() == ["height", "land=water", "land=town"]
    assert column(ds, "land=water") == pytest.approx(blocks(LAND == 2))
    assert "'forest', the most frequent, is the reference" in ds.treatments
    same = bagged([grid(LAND[::3, ::3], "land")], classes=["land"])
    assert same["covariate"].values.tolist() == ["land=2", "land=5"]
    assert (column(same, "land=5") == (LAND[::3, ::3] == 5)).all()


def test_classes_that_no_individual_has_are_left_out():
    far = LAND[::3, ::3].copy()
    far[far == 5] = 1
    far[0, 0] = 9
    ds = bagged([height(), grid(far, "land")], grid(people().where(np.arange(12) > 0)),
                classes="land")
    assert ds["covariate"].values.tolist() == ["height", "land=2"]
    assert "classes that no individual has were left out: land=9" in ds.treatments


@pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")
@pytest.mark.parametrize("way", ["polygons", "points"])
def test_places_of_a_class_without_an_individual_are_no_places_of_another(way):
    """Most pixels are sea, where nobody lives: it stays what the others are compared with."""
    land = np.where(np.random.default_rng(0).random((12, 12)) < 0.7, 2, 5)
    land[0, :6] = 3
    whole = np.concatenate([np.full((12, 12), 9), land], 1)         # more sea to the west
    cover = grid(whole, "land", origin=(488_000.0, 5_012_000.0))
    labels = {2: "forest", 3: "field", 5: "town", 9: "sea"}
    towns = np.where(land == 5, 300.0, 50.0)                        # of few pixels, and most people
    if way == "polygons":
        ds = bagged(cover, grid(towns, "people"), classes="land", class_labels=labels)
    else:
        x, y = np.meshgrid(cover["x"][12:], cover["y"])
        frame = pd.DataFrame({"x": x.ravel(), "y": y.ravel(), "w": towns.ravel(),
                              "n": np.where(land == 5, 60, 3).ravel()})
        ds = wb.bag_points(frame, "n", [cover], weight="w", kind="count",
                           points_crs=CRS, classes="land", class_labels=labels)
    assert set(ds["covariate"].values.tolist()) == {"land=forest", "land=field", "land=town"}
    assert "no individual is of the most frequent class of 'land'" in ds.treatments
    assert not {one.code for one in wb.check(ds).findings} & {"collinear", "inseparable"}
    places = wb.raster_places([cover], classes="land", class_labels=labels)
    std = wb.VBAgg(kernel="linear(covariates)").fit(ds).latent(places).std.values
    shares = places["covariates"].values
    sea, town = shares.sum(1) == 0, shares[:, list(ds["covariate"].values).index("land=town")] == 1
    assert sea.sum() == 144 and std[sea].min() > 1.5 * std[town].max()


def test_a_class_of_a_few_individuals_is_a_reference_as_any():
    land = LAND[::3, ::3].copy()
    land[land == 1] = 5
    land[0, 0] = 1
    wide = grid(np.concatenate([np.ones((12, 12)), land], 1), "land",
                origin=(488_000.0, 5_012_000.0))
    ds = bagged([height(), wide], classes="land")
    assert ds["covariate"].values.tolist() == ["height", "land=2", "land=5"]
    assert "no individual is of" not in ds.treatments


@pytest.mark.parametrize(("values", "options", "said"), [
    (np.arange(144).reshape(12, 12), {}, "has 144 classes, more than 30"),
    (np.where(LAND[::3, ::3] == 2, 0.5, LAND[::3, ::3]), {}, "holds 0.5, which is no code"),
    (np.ones((12, 12)), {}, "has one class only"),
    (LAND[::3, ::3], {"class_labels": {1: "a", 2: "a"}}, r"have one label: \['a'\]"),
    (LAND[::3, ::3], {"classes": "lnad"}, "is neither a covariate"),
    (LAND[::3, ::3], {"classes": None, "class_labels": LABELS}, "say of which raster"),
])
def test_classes_that_cannot_be_are_refused(values, options, said):
    with pytest.raises(InputError, match=said):
        bagged([grid(values, "land")], **({"classes": "land"} | options))


TABLE = """<PAMDataset><PAMRasterBand band="1"><GDALRasterAttributeTable>
<FieldDefn index="0"><Name>Value</Name><Type>0</Type><Usage>5</Usage></FieldDefn>
<FieldDefn index="1"><Name>Class</Name><Type>2</Type><Usage>2</Usage></FieldDefn>
<Row index="0"><F>1</F><F>forest</F></Row><Row index="1"><F>2</F><F>water</F></Row>
</GDALRasterAttributeTable></PAMRasterBand></PAMDataset>"""


def test_labels_are_taken_from_beside_the_file(tmp_path):
    path = tmp_path / "land.tif"
    grid(LAND[::3, ::3], "land").rio.to_raster(path)
    (tmp_path / "land.tif.aux.xml").write_text(TABLE)
    assert labels_of(path) == {1: "forest", 2: "water"}
    ds = bagged([height()], classes=path)
    assert ds["covariate"].values.tolist() == ["height", "land=water", "land=5"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(kit(tmp_path))
    grid(LAND, "land", 1000 / 3).rio.to_raster("land.tif")
    grid(RNG.integers(1, 40, (36, 36)), "people", 1000 / 3).rio.to_raster("fine.tif")
    maps = mapped(tmp_path / "map.nc", "--polygons", "full.gpkg", "--id", "code", "--value",
                  "cases", "--covariates", "height.tif", "--classes", "land.tif",
                  "--class-labels", "1=forest,2=water,5=town", "--weight", "fine.tif",
                  "--grid-of", "height")
    ds = data_of(wb.Spec.from_json(maps.attrs["spec"]))
    assert ds["covariate"].values.tolist() == ["height", "land=water", "land=town"]
    assert maps.sizes["individual"] == 144


@pytest.mark.filterwarnings("ignore:.* in part beyond the raster", "ignore:.*codes of classes")
@pytest.mark.parametrize(("rows", "columns"), [(slice(None), slice(0, 7)),
                                               (slice(3, 9), slice(2, 11)),
                                               (slice(5, None), slice(None))])
def test_a_raster_of_the_same_pixels_is_cut_and_not_resampled(rows, columns):
    """To the bit, and codes of classes, too, which no way of resampling is safe for."""
    weight = people().isel(y=rows, x=columns)
    for layer in (height(), (10 * (height() // 2 % 3)).rename("height")):
        ds = bagged([layer], weight, empty="drop")
        own = layer.values[rows, columns][ds["row"], ds["column"]]
        np.testing.assert_array_equal(ds["covariates"].sel(covariate="height"), own)
        assert "raster 'height' was cut to the weight's extent" in ds.treatments
        assert "resampled" not in ds.treatments


def test_a_raster_that_ends_inside_the_weight_has_gaps_there():
    with pytest.raises(InputError, match="covariates are missing at"):
        bagged([height().isel(x=slice(0, 5))])


def test_a_raster_shifted_by_half_a_pixel_is_resampled():
    moved = height().assign_coords(x=height()["x"] + 500)
    assert "'height' was resampled (bilinear, as its pixels lie between" in bagged(
        [moved], missing="nearest").treatments
