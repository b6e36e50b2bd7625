"""Places are compared in one coordinate reference system, or not at all."""

import numpy as np
import pytest

import workbench as wb
from workbench.checks import InputError
from workbench.labelled.crs import same_crs
from workbench.labelled.sources import converted


@pytest.fixture(scope="module")
def ds():
    made = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    return made.assign_attrs(crs="EPSG:32633")


def test_the_same_under_two_names_is_the_same():
    from pyproj import CRS

    assert same_crs("EPSG:32633", CRS.from_epsg(32633).to_wkt())
    assert same_crs("EPSG:32633", None) and same_crs(None, "EPSG:32633")
    assert not same_crs("EPSG:32633", "EPSG:32634")


def test_a_fit_and_sources_refuse_another(ds):
    fit = wb.Constant().fit(ds)
    fit.at(ds.assign_attrs(crs=""))
    with pytest.raises(InputError, match="trained in the CRS EPSG:32633, got EPSG:32634"):
        fit.at(ds.assign_attrs(crs="EPSG:32634"))
    with pytest.raises(InputError, match="source 'b' has the CRS EPSG:32634, source 'a' EPSG:32"):
        converted({"a": ds, "b": ds.assign_attrs(crs="EPSG:32634")})


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_a_raster_is_mapped_by_place_alone(ds):
    import xarray as xr

    none = np.empty((ds.sizes["individual"], 0))
    alone = ds.drop_vars("covariates").drop_dims("covariate").assign(
        covariates=(("individual", "covariate"), none)).assign_coords(
            covariate=np.array([], dtype=str))
    fit = wb.VBAgg(kernel="matern32", inducing=8, max_steps=3).fit(alone)
    axes = {"y": np.linspace(80, 0, 6), "x": np.linspace(0, 80, 5)}
    maps = fit.map_over(xr.Dataset({"people": xr.DataArray(np.ones((6, 5)), axes)}))
    assert maps["mean"].shape == (6, 5) and bool(np.isfinite(maps["mean"]).all())
