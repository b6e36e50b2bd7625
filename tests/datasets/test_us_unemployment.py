"""US unemployment: known sums, nested levels, what is said without the package."""

import numpy as np
import shapely

from tests.datasets.packaged import needs
from workbench import schema
from workbench.datasets import load


@needs("bokeh_sampledata")
def test_totals_and_sizes_are_the_known_ones():
    ds = schema.check(load("us-unemployment"))
    assert dict(ds.sizes) == {"individual": 3108, "covariate": 4, "bag": 48}
    assert ds["value"].sum() == ds["individual_value"].sum() == 14_423_677
    autauga = ds.sel(individual="01001")
    assert autauga["individual_name"].item() == "Autauga County, Alabama"
    assert (autauga["individual_value"].item(), autauga["weight"].item()) == (2263, 23_288)
    rate = ds["individual_value"] / ds["weight"]
    assert 0 < rate.min() and rate.max() < 0.35
    states = ds["bag_geometry"].values[ds["membership"].values]
    inside = shapely.contains_xy(shapely.convex_hull(states), ds["x"], ds["y"])
    assert inside.all()


@needs("bokeh_sampledata")
def test_covariates_are_where_they_belong():
    ds = load("us-unemployment")
    values = ds["covariates"].sel(individual="08031").to_series()      # Denver
    assert 1500 < values["altitude"] < 1750
    assert values["log10_density"] > 2.5
    assert ds["covariates"].sel(individual="36061", covariate="log10_towns") > np.log10(400)
