"""What is no number in a dataset is named with its variable and its place."""

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from workbench import schema
from workbench.checks import InputError


@pytest.fixture(scope="module")
def ds():
    return wb.load("swiss-roll", n_bags=6, mean_size=6, size_std=3).assign_coords(
        bag=[f"area {i}" for i in range(6)])


def with_value(ds, name, place, value):
    values = ds[name].values.astype(object)
    values[place] = value
    return ds.assign({name: (ds[name].dims, values, ds[name].attrs)})


@pytest.mark.parametrize(("name", "place", "value", "told"), [
    ("value", 3, "n/a", "value must hold numbers, but 1 of 6 .* first 'n/a' at bag 'area 3'"),
    ("value", 2, "12", "value must hold numbers.*first '12' at bag 'area 2'"),
    ("weight", 1, "many", "weight must hold numbers.*'many' at individual 1"),
    ("covariates", (1, 2), "x", "covariates must hold numbers.*individual 1, covariate 'z3'"),
])
def test_text_is_named_with_its_place(ds, name, place, value, told):
    for refuses in (schema.check, wb.VBAgg(max_steps=1).fit):
        with pytest.raises(InputError, match=told):
            refuses(with_value(ds, name, place, value))


def test_columns_of_text_and_of_objects_say_how_to_convert_them(ds):
    text = ds.assign(value=ds["value"].astype(str))
    for name in ("noise_variance", "sample_variance"):
        with pytest.raises(InputError, match=f"{name} must hold numbers, but 6 of 6"):
            schema.check(ds.assign({name: ("bag", ["low"] * 6)}))
    for wrong in (text, ds.assign(value=ds["value"].astype(object))):
        with pytest.raises(InputError, match=r"value .*\.astype\(float\)"):
            schema.check(wrong)


def test_what_is_not_finite_is_named_with_its_place(ds):
    value = ds["value"].values.astype(float)
    value[4] = np.nan
    with pytest.raises(InputError, match="1 values that are not finite, .* at bag 'area 4'"):
        schema.check(ds.assign(value=("bag", value, ds["value"].attrs)))


@pytest.mark.parametrize("name", ["noise_variance", "individual_noise_variance"])
def test_variances_are_not_negative(ds, name):
    dim = "bag" if name == "noise_variance" else "individual"
    values = np.zeros(ds.sizes[dim])
    schema.check(ds.assign({name: (dim, values)}))
    values[2] = -1.0
    with pytest.raises(InputError, match=f"{name} must be zero or more, got -1; a variance is"):
        schema.check(ds.assign({name: (dim, values)}))


def test_what_has_labels_of_its_own_goes_by_them(ds):
    """Of groups and expectations; arrays without labels are taken in their order."""
    turned = slice(None, None, -1)
    groups = xr.DataArray(np.arange(ds.sizes["individual"]) % 3, dims="individual").assign_coords(
        individual=ds["individual"])
    for known, found in zip(schema.grouped(ds, groups),
                            schema.grouped(ds, groups.isel(individual=turned)), strict=True):
        np.testing.assert_array_equal(known, found)
    expected = groups + 1.0
    np.testing.assert_array_equal(wb.rescale_to_totals(ds, expected.isel(individual=turned)),
                                  wb.rescale_to_totals(ds, expected.values))
    elsewhere = expected.assign_coords(individual=ds["individual"] + 1_000)
    with pytest.raises(InputError, match="one expectation for each individual .* other labels"):
        wb.rescale_to_totals(ds, elsewhere)
