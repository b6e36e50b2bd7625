"""Undeclared marks of missing pixels: what is one, and what only looks a little like one."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from tests.geo.test_polygons import bagged, layers, people, raster
from workbench.checks import InputError, named_as_flags
from workbench.geo.marks import undeclared_mark


def smooth(rng, low, high, side=100):
    """A field without gaps between its values, from low to high."""
    field = gaussian_filter(rng.normal(size=(side, side)), 4).ravel()
    return low + (field - field.min()) / np.ptp(field) * (high - low)


def with_mark(values, mark, share=0.05):
    values = np.array(values, dtype=float)
    values[: max(3, int(share * values.size))] = mark
    return values


def people_like(rng, size=5000):
    """Nobody in most pixels, few in some, many in a handful."""
    return np.where(rng.random(size) < 0.8, 0, rng.lognormal(1, 1, size))


MARKED = {
    "9999 above elevations of up to 8000": (lambda r: smooth(r, 0, 8000), 9999),
    "-9999": (lambda r: smooth(r, -5, 2000), -9999),
    "-99 below elevations": (lambda r: smooth(r, 0, 2000), -99),
    "-99 below temperatures": (lambda r: r.normal(10, 8, 3000), -99),
    "-9998.5, in no list": (lambda r: smooth(r, 0, 2000), -9998.5),
    "-9998.5 with depressions": (lambda r: smooth(r, -5, 2000), -9998.5),
    "1e20 of climate models": (lambda r: smooth(r, 250, 300), 1e20),
    "-1e20 in single precision": (lambda r: smooth(r, 250, 300), float(np.float32(-1e20))),
    "255 over percentages": (lambda r: r.integers(0, 101, 3000), 255),
    "255 over classes": (lambda r: r.integers(1, 18, 3000), 255),
    "65535 over elevations": (lambda r: smooth(r, 0, 8000), 65535),
    "9999 people": (people_like, 9999),
    "65535 people": (people_like, 65535),
    "-9999 in a constant": (lambda r: np.ones(100), -9999),
}
REAL = {
    "classes 1 to 17": lambda r: r.integers(1, 18, 5000),
    "classes in tens": lambda r: 10 * r.integers(0, 23, 5000),
    "mask of 0 and 1": lambda r: r.integers(0, 2, 100),
    "mask of 0 and 255": lambda r: 255 * r.integers(0, 2, 100),
    "0, 128, 255": lambda r: np.array([0, 128, 255])[r.integers(0, 3, 100)],
    "saturated at 255": lambda r: np.clip(smooth(r, -40, 300), 0, 255).astype(np.uint8),
    "counts clipped at 255": lambda r: np.clip(r.lognormal(3, 1.5, 5000), 0, 255).astype(int),
    "clipped at 99": lambda r: np.clip(r.lognormal(2, 1.5, 2000), 0, 99),
    "clipped at 999": lambda r: np.clip(r.lognormal(3, 2, 500), 0, 999),
    "nobody in most pixels": lambda r: np.where(r.random(5000) < 0.8, 0, r.lognormal(1, 2, 5000)),
    "nobody or a thousand": lambda r: np.where(r.random(5000) < 0.5, 0, r.uniform(1e3, 1500, 5000)),
    "a city spread evenly": lambda r: np.r_[r.gamma(2, 100, 5000), np.full(12, 5000.0)],
    "people by province": lambda r: r.choice(r.lognormal(4, 2, 12), 5000),
    "one high peak": lambda r: np.r_[r.gamma(2, 10, 5000), 254.0],
    "heavy tails": lambda r: r.standard_cauchy(5000),
    "sea at zero": lambda r: np.r_[r.uniform(200, 2000, 3000), np.zeros(500)],
    "index of -1 over water": lambda r: np.r_[r.uniform(-0.2, 0.9, 3000), np.full(500, -1.0)],
    "a lake below its land": lambda r: np.r_[smooth(r, 300, 900), np.full(100, 250.0)],
    "constant": lambda r: np.full(100, 7.0),
}


@pytest.mark.parametrize("case", MARKED)
def test_spikes_at_an_end_are_marks(case):
    make, mark = MARKED[case]
    for seed in range(10):
        found = undeclared_mark(with_mark(make(np.random.default_rng(seed)), mark))
        assert found is not None and found.value == mark, seed


@pytest.mark.parametrize("case", REAL)
def test_what_belongs_to_the_data_is_no_mark(case):
    for seed in range(10):
        assert undeclared_mark(np.asarray(REAL[case](np.random.default_rng(seed)), float)) is None


def test_marks_at_both_ends_do_not_hide_each_other():
    # One pixel each: with the other mark among them, the rest would be as wide as the gap.
    values = np.r_[smooth(np.random.default_rng(0), 0, 10), -9999.0, 9999.0]
    assert undeclared_mark(values).value == -9999
    assert undeclared_mark(values[values > -9999]).value == 9999


def test_missing_pixels_are_no_values():
    assert undeclared_mark(np.array([np.nan, np.nan])) is None
    assert undeclared_mark(np.array([np.nan, 1, 2, 3, -9999])).pixels == 1


def marked(mark):
    return layers({(2, 2): mark, (2, 3): mark, (3, 3): mark})[:1]


@pytest.mark.parametrize("mark", [9999.0, 1e20, -1e20, 255.0, 65535.0, -9998.5])
def test_a_covariate_with_a_mark_is_refused_masked_or_kept_as_told(mark):
    told = f"'height' has 3 pixels equal to .*nodata={mark:g}".replace("+", r"\+")
    with pytest.raises(InputError, match=f"{told}.*marks='keep' if they are real"):
        bagged(covariates=marked(mark))
    for choice in (dict(nodata=mark), dict(nodata=(-1.5, mark)), dict(marks="mask")):
        ds = bagged(covariates=marked(mark), missing="drop", **choice)
        assert mark not in ds["covariates"].values
        assert "masked" in ds.attrs["treatments"]
    kept = bagged(covariates=marked(mark), marks="keep")
    assert mark in kept["covariates"].values
    assert "kept as real values" in kept.attrs["treatments"]


def test_a_mark_in_the_population_is_refused_and_the_flag_named():
    with named_as_flags(), pytest.raises(InputError, match="'people' has 2 pixels equal to 65535, "
                                         "far above all others .1 to 80.*pass --nodata 65535 to "
                                         "mask them, or --marks keep if they are real"):
        bagged(weight=people({(2, 2): 65535.0, (2, 3): 65535.0}))
    with pytest.raises(InputError, match="1 negative pixels .lowest -3.*pass nodata=-3 if these"):
        bagged(weight=people({(2, 2): -3.0}))


def test_a_second_mark_is_asked_for_beside_the_first():
    both = layers({(2, 2): -9999.0, (2, 3): 9999.0, (3, 3): 9999.0})[:1]
    with pytest.raises(InputError, match=r"pass nodata=\(-9999, 9999\)"):
        bagged(covariates=both, nodata=-9999)
    ds = bagged(covariates=both, nodata=(-9999, 9999), missing="drop")
    assert np.abs(ds["covariates"].values).max() < 100


def test_single_precision_is_written_as_people_know_it():
    band = raster("height", np.asarray(marked(1e20)[0].values, np.float32))
    with pytest.raises(InputError, match=r"equal to 1e\+20.*nodata=1e\+20"):
        bagged(covariates=[band])
