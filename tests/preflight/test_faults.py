"""Files made wrong in one way at a time: named, located, counted, and gone once corrected."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import shapely

import workbench as wb
from tests.preflight import kit
from workbench.checks import InputError, named_as_flags

Change = Callable[[Path, dict], dict]


@dataclass
class Fault:
    """How a kit is spoilt, what a check says of it, and what corrects it."""

    spoil: Change
    code: str
    severity: str
    where: tuple[str, ...] | None
    count: int | None
    what: str                           # a pattern
    flag: str = ""                      # part of the fix on the command line
    options: dict = field(default_factory=dict)     # of Python that correct it
    correct: Change | None = None       # or what corrects it in the files


def polygons(**columns: object) -> Change:
    return lambda folder, kept: kept | {"data": kit.write_areas(folder, kit.frame(**columns))}


def areas(change: Callable) -> Change:
    return lambda folder, kept: kept | {"data": kit.write_areas(folder, change(kit.frame()))}


def raster(name: str, values: Callable, **about: object) -> Change:
    def spoil(folder: Path, kept: dict) -> dict:
        kit.write_raster(folder / f"{name}.tif", values(), **about)
        return kept
    return spoil


def other(**arguments: object) -> Change:
    return lambda folder, kept: kept | arguments


def as_means(change: Change) -> Change:
    return lambda folder, kept: change(folder, kept) | {"aggregation": "mean", "kind": "continuous"}


def third(values: Callable) -> Change:
    def spoil(folder: Path, kept: dict) -> dict:
        path = kit.write_raster(folder / "third.tif", values())
        return kept | {"covariates": [*kept["covariates"], path]}
    return spoil


def two(folder: Path, kept: dict) -> dict:
    """Leave the third covariate out."""
    return kept | {"covariates": kept["covariates"][:2]}


def right(folder: Path, kept: dict) -> dict:
    """Write all files as they should be."""
    return {**kept, **kit.write_kit(folder)}


def holed(values: np.ndarray, number: float, pixels: int = 60) -> np.ndarray:
    values = values.copy()
    values.ravel()[5:5 + pixels] = number
    return values


def coarse(side: float) -> Change:
    def spoil(folder: Path, kept: dict) -> dict:
        step = int(side / kit.PIXEL)
        for name, whole in (("height", kit.height()), ("slope", kit.slope()),
                            ("people", kit.people())):
            kit.write_raster(folder / f"{name}.tif", whole[:30:step, :40:step], pixel=side)
        return kept
    return spoil


def bow_tie(frame):
    shape = shapely.Polygon([(0, 0), (100, 100), (100, 0), (0, 100)])
    return frame.set_geometry([shape, *frame.geometry[1:]], crs=frame.crs)


def shape_of_first(shape) -> Change:
    return areas(lambda frame: frame.set_geometry([shape, *frame.geometry[1:]], crs=frame.crs))


def broken_file(folder: Path, kept: dict) -> dict:
    (folder / "height.tif").write_bytes(b"no raster at all" * 9)
    return kept


def two_layers(folder: Path, kept: dict) -> dict:
    kit.frame().to_file(kept["data"], layer="former")
    return kept


def hundredths(frame):
    """Rates per thousand, which do not grow with the people."""
    return frame.assign(cases=np.random.default_rng(3).permutation(np.linspace(2.31, 9.87, 12)))


def noise(scale: float) -> Callable:
    return lambda: kit.height() + scale * np.random.default_rng(4).normal(size=(30, 40))


REGIONS = {"west": 1.0, "east": 1.0}
ALL = tuple(f"c{k}" for k in range(12))
NO_PEOPLE = 1.0 - np.outer(np.arange(30) < 10, np.arange(40) >= 30)
FAULTS = {
    "polygons without a CRS": Fault(
        areas(lambda f: f.set_crs(None, allow_override=True)), "crs-missing", "error",
        ("polygons",), None, "polygons have no CRS", "--polygon-crs EPSG",
        {"polygon_crs": kit.CRS}),
    "a raster without a CRS": Fault(
        raster("height", kit.height, crs=None), "crs-missing", "error", ("height",), None,
        "'height' has no CRS", "--raster-crs EPSG", {"raster_crs": kit.CRS}),
    "metres called degrees": Fault(
        areas(lambda f: f.set_crs("EPSG:4326", allow_override=True)
              .translate(1000, 1000).to_frame("geometry").join(f.drop(columns="geometry"))),
        "polygons", "error", ("polygons",), None, "look like metres", "set_crs", correct=right),
    "degrees": Fault(
        lambda folder, kept: kept | {
            "data": kit.write_areas(folder, kit.frame().set_geometry(
                kit.frame().geometry.affine_transform([1e-3, 0, 0, 1e-3, 45, 50]))
                .set_crs("EPSG:4326", allow_override=True)),
            "weight": kit.write_raster(folder / "people.tif", kit.people(), "EPSG:4326", 0.01,
                                       (45.0, 50.3)),
            "covariates": [
                kit.write_raster(folder / "height.tif", kit.height(), "EPSG:4326", 0.01,
                                 (45.0, 50.3)),
                kit.write_raster(folder / "slope.tif", kit.slope(), "EPSG:4326", 0.01,
                                 (45.0, 50.3))]},
        "crs-degrees", "warning", ("EPSG:4326",), None, "71 km",
        "-t_srs EPSG:32638 with -r sum -ot Float32 for people",
        correct=right),
    "polygons elsewhere": Fault(
        areas(lambda f: f.set_geometry(f.translate(9e5, 0))), "apart", "error",
        ("polygons", "weight"), 12, "none of the 12 areas touches", "compare both", correct=right),
    "ids that repeat": Fault(
        polygons(code=["c0", "c0", *ALL[2:]]), "duplicate-id", "error", ("c0",), 1,
        "1 id belongs to several polygons", "--duplicates merge", {"duplicates": "merge"}),
    "ids that are missing": Fault(
        polygons(code=[None, *ALL[1:]]), "id-missing", "error", ("row 0",), 1, "1 area has no id",
        "fill column", correct=right),
    "copies of an outline": Fault(
        areas(lambda f: pd.concat([f, f.iloc[:1].assign(code="again")])), "copied-outline",
        "error", ("again",), 1, "1 polygon is an exact", "--overlap keep", {"overlap": "keep"}),
    "areas that overlap": Fault(
        shape_of_first(shapely.box(0, 0, 150, 100)), "overlap", "error", ("c0", "c1"), 2,
        "areas overlap", "--overlap keep", {"overlap": "keep"}),
    "an outline that crosses itself": Fault(
        areas(bow_tie), "shape-invalid", "note", ("row 0",), 1, "repaired", correct=right),
    "an empty outline": Fault(
        shape_of_first(shapely.Polygon()), "shape-empty", "error", ("row 0",), 1, "are empty",
        "remove these rows", correct=right),
    "a line among polygons": Fault(
        shape_of_first(shapely.LineString([(0, 0), (9, 9)])), "shape-flat", "error", ("row 0",), 1,
        "have no area", "must be polygons", correct=right),
    "several layers": Fault(
        two_layers, "polygons", "error", ("polygons",), None, "2 layers of polygons",
        "--layer", {"layer": "areas"}),
    "no such column": Fault(
        other(value="deaths"), "value", "error", ("deaths",), None, "no column 'deaths'",
        correct=other(value="cases")),
    "areas without a value": Fault(
        polygons(cases=[np.nan, np.nan, *range(41, 51)]), "value-missing", "error", ("c0", "c1"),
        2, "2 areas have no value", "--missing-value drop", {"missing_value": "drop"}),
    "negative counts": Fault(
        polygons(cases=[-9, *range(41, 52)]), "value-negative", "error", ("c0",), 1,
        "1 count is negative", "--kind continuous", {"kind": "continuous"}),
    "fractional counts": Fault(
        polygons(cases=[40.5, *range(41, 52)]), "value-fractional", "error", ("c0",), 1,
        "not whole", "--fractional", {"fractional": "round"}),
    "thousands separators in text": Fault(
        polygons(cases=["1,041", *map(str, range(41, 52))]), "not-numbers", "error", ("c0",), 1,
        "does not hold numbers", "thousands separators", correct=right),
    "thousands read as decimals": Fault(
        polygons(cases=[1.041, 2.317, *range(41, 51)]), "thousands", "warning", ("c0", "c1"), 2,
        "three decimals", "remove the separators", correct=right),
    "rates given as counts": Fault(
        areas(hundredths), "rates", "warning", ALL, 12, "look like rates",
        "--aggregation mean", {"aggregation": "mean"}),
    "truth values": Fault(
        polygons(cases=[True, False] * 6), "truth-values", "warning", ("cases",), None,
        "true and false", "count how often", correct=right),
    "nothing counted": Fault(
        polygons(cases=[0] * 12), "value", "error", ("cases",), None, "all 12 counts are zero",
        "right column", correct=right),
    "one total like no other": Fault(
        polygons(cases=[9e5, *range(41, 52)]), "value-alone", "warning", ("c0",), 1,
        "times the median", "slip of the decimal point", correct=right),
    "a mark of missing values among means": Fault(
        as_means(polygons(cases=[-9999.0, *(288 + np.arange(11) / 10)])), "value-mark", "warning",
        ("c0",), 1, "-9,999 .*all others lie between 288 and 289", "empty these cells",
        correct=right),
    "a zero among means far from zero": Fault(
        as_means(polygons(cases=[0.0, *(288 + np.arange(11) / 10)])), "value-mark", "warning",
        ("c0",), 1, "is 0 .*mark of missing values", "--missing-value drop", correct=right),
    "people in thousands": Fault(
        raster("people", lambda: kit.people() / 1e4), "count-above-weight", "warning", ALL, 12,
        "more cases than persons", "--weight-units", correct=right),
    "another grid": Fault(
        raster("height", lambda: kit.height(15, 20), pixel=20.0), "grid-differs", "error",
        ("height",), 300, "not on the grid of the weight", "--align nearest, bilinear",
        {"align": "nearest"}),
    "a covariate of another place": Fault(
        raster("height", kit.height, origin=(9e5, 300.0)), "covers-none", "error", ("height",),
        1200, "covers none of the areas", "remove the file", correct=right),
    "a sentinel that is not declared": Fault(
        raster("height", lambda: holed(kit.height(), 9999.0)), "nodata-mark", "error", ("height",),
        60, "equal to 9999", "--nodata 9999", {"nodata": 9999, "missing": "nearest"}),
    "a sentinel in the weight": Fault(
        raster("people", lambda: holed(kit.people(), -9999.0)), "nodata-mark", "error",
        ("people",), 60, "equal to -9999", "--nodata -9999", {"nodata": -9999}),
    "negative people": Fault(
        raster("people", lambda: kit.people() - 60), "weight-negative", "error", ("people",),
        int((kit.people() < 60).sum()), "negative pixels", "--nodata", correct=right),
    "gaps in a covariate": Fault(
        raster("height", lambda: holed(kit.height(), np.nan)), "covariate-missing", "error",
        ("height",), 60, "missing at 60 weighted pixels", "--missing nearest",
        {"missing": "nearest"}),
    "few gaps in a covariate": Fault(
        raster("height", lambda: holed(kit.height(), np.nan, 3)), "covariate-missing", "note",
        ("height",), 3, "3 gaps were filled", "--missing drop", correct=right),
    "an area without people": Fault(
        raster("people", lambda: kit.people() * NO_PEOPLE), "area-empty", "error", ("c11",), 1,
        "no pixel of positive weight", "--empty drop", {"empty": "drop"}),
    "pixels without people": Fault(
        raster("people", lambda: kit.people() * NO_PEOPLE), "weight-zero", "error", ("weight",),
        100, "zero weight", "--zero-weight drop", {"zero_weight": "drop", "empty": "drop"}),
    "people outside all areas": Fault(
        areas(lambda f: f.iloc[:10]), "outside", "warning", ("weight",), 200, "outside all areas",
        "polygons reach", correct=right),
    "areas of less than a pixel": Fault(
        coarse(150.0), "sub-pixel", "warning", ALL, 12, "smaller than one pixel", "finer pixels",
        correct=right),
    "areas of one pixel": Fault(
        coarse(100.0), "one-pixel", "warning", ALL, 12, "of one pixel", "finer pixels",
        correct=right),
    "a constant covariate": Fault(
        third(lambda: np.ones((30, 40))), "constant", "warning", ("third",), 1,
        "the same everywhere", "leave it out", correct=two),
    "a covariate given twice": Fault(
        third(lambda: 2 * kit.height()), "collinear", "warning", ("height", "third"), 1,
        "nearly the same", "leave one of each pair out", correct=two),
    "covariates that determine each other": Fault(
        third(lambda: kit.height() + 2 * kit.slope() + 5 * np.random.default_rng(4).normal(
            size=(30, 40))), "inseparable", "warning", ("height", "slope", "third"), 3,
        "variance inflation", "leave out all but one", correct=two),
    "a covariate that varies inside areas alone": Fault(
        third(lambda: np.random.default_rng(4).normal(size=(30, 40))), "extrapolation", "warning",
        ("third",), 1, "ranges more widely inside areas", "--extrapolation clamp", correct=two),
    "classes as numbers": Fault(
        third(lambda: np.random.default_rng(4).integers(1, 5, (30, 40)) * 11), "class-codes",
        "warning", ("third",), 1, "whole numbers of few kinds", "zeros and ones", correct=two),
    "few areas for the covariates": Fault(
        other(areas=6), "few-areas", "warning", (), 6, "6 areas for 2 covariates",
        "smaller areas", correct=other(areas=None)),
    "few events": Fault(
        polygons(cases=[2] * 12), "few-events", "warning", (), 24, "24 events in all, in 12 areas",
        "several years", correct=right),
    "totals that are not their parents'": Fault(
        other(labels={"region": "region"}, parent_label="region", parents=REGIONS), "parent-total",
        "warning", ("east", "west"), 2, "do not give the published value", "missing areas",
        correct=lambda folder, kept: kept | {
            "parents": kit.frame().groupby("region")["cases"].sum()}),
    "a file that is no raster": Fault(
        broken_file, "raster", "error", ("height.tif",), None, "cannot read", "gdalinfo",
        correct=right),
    "a file that is not there": Fault(
        lambda folder, kept: kept | {"covariates": ["none.tif", *kept["covariates"]]}, "raster",
        "error", ("none.tif",), None, "no raster file", "check the name",
        correct=lambda folder, kept: kept | {"covariates": kept["covariates"][1:]}),
    "a raster as polygons, which has other columns": Fault(
        lambda folder, kept: kept | {"data": folder / "height.tif"}, "polygons", "error",
        ("polygons",), None, "no column 'code'", "cell",
        correct=lambda folder, kept: kept | {"data": folder / "areas.gpkg"}),
}
# What is no fault where the default treatment takes care of it.
STRICT = {"another grid": {"align": "error"}, "fractional counts": {"fractional": "error"},
          "pixels without people": {"zero_weight": "error", "empty": "drop"}}


@pytest.fixture
def files(tmp_path):
    return kit.write_kit(tmp_path)


def test_a_kit_without_faults_has_no_errors_or_warnings(files):
    found = kit.checked(files)
    assert found.ok and [one.code for one in found.findings] == ["few-areas"]
    assert found.findings[0].severity == "note"


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_located_counted_and_gone_once_corrected(name, files, tmp_path):
    fault = FAULTS[name]
    spoilt = fault.spoil(tmp_path, files) | STRICT.get(name, {})
    found = [one for one in kit.checked(spoilt).findings if one.code == fault.code
             and one.severity == fault.severity and re.search(fault.what, one.what)]
    assert len(found) == 1
    assert found[0].where == fault.where and found[0].count == fault.count
    assert fault.flag in found[0].flag
    for option, value in fault.options.items():     # named in Python as in the shell
        if option in ("missing", "empty") and len(fault.options) > 1:
            continue                                # of what a correction brings to light
        shown = value if option in ("polygon_crs", "raster_crs", "layer") else repr(value)
        assert option in found[0].fix and (
            str(shown).split(":")[0] in found[0].fix or option == "layer")
        assert f"--{option.replace('_', '-')}" in found[0].flag
    corrected = fault.correct(tmp_path, spoilt) if fault.correct else spoilt | fault.options
    left = kit.checked(corrected)
    assert not [one for one in left.findings if one.code == fault.code
                and one.severity == fault.severity and one.where == fault.where]
    assert left.ok


def test_a_value_that_could_not_be_read_is_not_said_to_be_zero(files):
    errors = [one for one in kit.checked(files | {"value": "deaths"}).findings
              if one.severity == "error"]
    assert [one.what for one in errors if "no column 'deaths'" not in one.what] == []
    assert len(errors) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items()
                                  if fault.severity == "error" and name != "nothing counted"])
def test_an_error_of_a_check_is_what_reading_says(name, files, tmp_path):
    fault = FAULTS[name]
    spoilt = fault.spoil(tmp_path, files) | STRICT.get(name, {})
    found = next(one for one in kit.checked(spoilt).findings if one.code == fault.code)
    polygons = spoilt.pop("data")
    with pytest.raises(InputError) as python:
        wb.bag_polygons(polygons, **spoilt)
    with named_as_flags(), pytest.raises(InputError) as shell:
        wb.bag_polygons(polygons, **spoilt)
    if fault.code != "nodata-mark":     # a check goes on to the last mark
        assert str(python.value) == str(found)
        assert str(shell.value) == f"{found.what}{found.joint}{found.flag}"


def test_all_faults_are_found_at_once(files, tmp_path):
    names = ("ids that repeat", "another grid", "a sentinel in the weight",
             "a file that is not there")
    spoilt = files
    for name in names:
        spoilt = FAULTS[name].spoil(tmp_path, spoilt) | STRICT.get(name, {})
    kit.frame(code=["c0", "c0", *ALL[2:]], cases=[*range(41, 52), -9]).to_file(spoilt["data"])
    found = kit.checked(spoilt)
    codes = {one.code for one in found.of("error")}
    assert codes == {FAULTS[name].code for name in names} | {"value-negative"}
    assert not found.ok and "nothing can be fitted" in found.summary()
    assert found.totals.loc["areas", "read"] == 12


def test_a_check_goes_on_with_the_rasters_where_the_polygons_cannot_be_read(files, tmp_path):
    spoilt = FAULTS["a sentinel that is not declared"].spoil(tmp_path, files)
    found = kit.checked(spoilt | {"data": tmp_path / "none.gpkg"})
    assert [one.code for one in found.of("error")] == ["polygons", "nodata-mark", "input"]
    assert found.totals is None and found.data is None and found.estimates == {}
