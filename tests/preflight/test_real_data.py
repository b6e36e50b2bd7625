"""The check of Madagascar and Korea as they come."""

import pytest

import workbench as wb
from tests.datasets.packaged import REAL, needs_files

SMALL = wb.VBAgg(inducing=5)
with_files = needs_files("Madagascar", "madagascar/population.tif", "EVI.tif")


@pytest.mark.slow
@with_files
def test_madagascar_as_it_comes():
    folder = REAL / "madagascar"
    found = wb.check(
        folder / "mdg_shapes.shp", [folder / f"{name}.tif" for name in ("EVI", "Elevation")],
        folder / "population.tif", "inc", id="ID_2", model=SMALL)
    assert found.ok
    (outside,) = found.of("warning")
    assert outside.code == "outside" and "(9.91%)" in outside.what and outside.count > 4000
    notes = {one.code: one for one in found.of("note")}
    assert notes["crs-degrees"].where == ("EPSG:4326",)
    assert "EPSG:32738" in notes["crs-degrees"].fix             # UTM zone 38 south
    assert notes["value-fractional"].count == 109 and notes["weight-zero"].count == 443
    assert notes["covariate-missing"].where == ("Elevation",)
    assert notes["overlap"].count == 104 and "0.01%" in notes["overlap"].what
    totals = found.totals
    assert totals.loc["value", "read"] == totals.loc["value", "kept"]
    assert totals.loc["weight", "outside"] / totals.loc["weight", "read"] == pytest.approx(
        0.0991, abs=1e-4)
    assert totals.loc["areas", "kept"] == 109
    assert found.estimates["individuals"] == totals.loc["individuals", "kept"] == 34_181


@pytest.mark.slow
@with_files
def test_madagascar_by_name_tells_the_same_warnings(monkeypatch):
    monkeypatch.setenv("WORKBENCH_DATA", str(REAL))
    found = wb.check("madagascar", model=SMALL)
    assert found.ok and [one.code for one in found.of("warning")] == ["outside"]


@pytest.mark.slow
def test_korea_as_it_comes():
    found = wb.check("korea", model=SMALL)
    assert found.ok
    warned = {one.code: one for one in found.of("warning")}
    assert set(warned) == {"extrapolation", "inseparable"}
    # Shares of households and kinds of housing add up, nearly.
    assert {"one_person_households", "household_size", "apartments"} <= set(
        warned["inseparable"].where)
    assert "log10_firms" in warned["extrapolation"].where
    notes = " ".join(one.what for one in found.of("note"))
    assert "14 neighbourhoods without people or deaths" in notes
    assert found.totals.loc["value", "kept"] == 304_268
    # All deaths of the neighbourhoods are those of their districts.
    assert not [one for one in found.findings if one.code == "parent-total"]
