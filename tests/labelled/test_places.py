"""Places are compared in one coordinate reference system, or not at all."""

import warnings

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from workbench.checks import DataWarning, InputError
from workbench.labelled.caveats import warn_of_distance
from workbench.labelled.places import same_crs
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
    none = np.empty((ds.sizes["individual"], 0))
    alone = ds.drop_vars("covariates").drop_dims("covariate").assign(
        covariates=(("individual", "covariate"), none)).assign_coords(
            covariate=np.array([], dtype=str))
    fit = wb.VBAgg(kernel="matern32", inducing=8, max_steps=3).fit(alone)
    axes = {"y": np.linspace(80, 0, 6), "x": np.linspace(0, 80, 5)}
    maps = fit.map_over(xr.Dataset({"people": xr.DataArray(np.ones((6, 5)), axes)}))
    assert maps["mean"].shape == (6, 5) and bool(np.isfinite(maps["mean"]).all())


def test_sources_of_two_places_are_pointed_out():
    """Coordinates in kilometres beside metres, or a satellite's pixels of another country."""
    def source(east: float, times: float = 1.0) -> xr.Dataset:
        x, y = np.meshgrid(np.arange(4.0), np.arange(3.0))
        return xr.Dataset(coords={"x": ("individual", times * (east + x.ravel())),
                                  "y": ("individual", times * (500 + y.ravel()))})

    near = {"stations": source(0), "cells": source(2)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_distance(near)
        warn_of_distance({"one": source(0), "beside": source(5)})       # a map may go on
        warn_of_distance({"one": source(0), "placeless": xr.Dataset()})
    with pytest.warns(DataWarning, match=r"source 'far' \(x 30 to 33, y 500 to 502\) lies far "
                      r"beside all others \(the nearest: x 2 to 5"):
        warn_of_distance(near | {"far": source(30)})
    with pytest.warns(DataWarning, match="source 'metres' .* in one unit"), \
            pytest.warns(DataWarning, match="source 'km'"):
        warn_of_distance({"km": source(0), "metres": source(0, 1000)})


@pytest.mark.filterwarnings(
    "ignore::workbench.checks.FitWarning", "ignore::workbench.checks.ConvergenceWarning")
def test_a_fit_to_sources_of_two_places_warns(ds):
    far = ds.assign_coords(x=ds["x"] + 1e4)
    with pytest.warns(DataWarning, match="source 'a' .* lies far beside all others"), \
            pytest.warns(DataWarning, match="source 'b'"):
        wb.MRVBAgg(inducing=8, max_steps=1).fit({"a": ds, "b": far})
