"""Households in California: known sums, counties, and the covariate that may not be used."""

import numpy as np
import pytest
import shapely

from tests.datasets.packaged import REAL, needs, needs_files
from workbench import schema
from workbench.checks import InputError
from workbench.datasets import california, load

with_file = needs_files("California housing", f"california/{california.FILE}")


@with_file
@needs("bokeh_sampledata")
def test_totals_and_sizes_are_the_known_ones():
    ds = schema.check(load("california-households", directory=REAL))
    assert dict(ds.sizes) == {"individual": 20_640, "covariate": 4, "bag": 58}
    assert ds["value"].sum() == ds["individual_value"].sum() == 10_310_499
    assert ds["weight"].sum() == 29_421_840
    counties = ds.set_coords("value").swap_dims(bag="bag_name")["value"]
    assert counties.sel(bag_name="Los Angeles County, California") == 2_969_164
    assert "3 block groups outside all counties" in ds.attrs["treatments"]
    mine = ds["bag_geometry"].values[ds["membership"].values]
    distance = shapely.distance(mine, shapely.points(ds["x"].values, ds["y"].values))
    assert distance.max() < 3           # km: outlines are simplified by half a kilometre
    assert np.mean(distance == 0) > 0.99


@with_file
@needs("bokeh_sampledata")
def test_occupancy_is_no_covariate():
    with pytest.raises(InputError, match="covariate 'AveOccup' is unknown"):
        load("california-households", covariates=["AveOccup"], directory=REAL)
    ds = load("california-households", covariates="log10_rooms", directory=REAL)
    assert ds["covariate"].values.tolist() == ["log10_rooms"]
    ds = load("california-households", directory=REAL)
    household_rate = np.log(ds["individual_value"].values / ds["weight"].values)
    for column in ds["covariates"].values.T:
        assert abs(np.corrcoef(column, household_rate)[0, 1]) < 0.5


@with_file
@needs("bokeh_sampledata")
def test_another_table_is_refused(monkeypatch):
    table = california.read_table(REAL)
    table["AveOccup"] *= 1.01
    monkeypatch.setattr("workbench.datasets.california_households.read_table",
                        lambda *_: table)
    with pytest.raises(InputError, match="should be whole numbers of households"):
        load("california-households")
