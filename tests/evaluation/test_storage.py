"""Outcomes of fits as files: equal after reading, and nothing is unpickled."""

import dataclasses

import numpy as np
import pytest
import xarray as xr

from workbench.checks import ConvergenceWarning, FitWarning
from workbench.evaluation.storage import load, store


@dataclasses.dataclass
class Made:
    model: str
    number: int
    seconds: float = float("nan")
    draws: np.ndarray | None = None
    units: dict | None = None
    warned: list = dataclasses.field(default_factory=list)


def test_an_outcome_is_equal_after_reading(tmp_path):
    units = {"bag": xr.Dataset({"score": ("bag", [0.1, np.nan])}, {"bag": ["a", "ä b"]}),
             "of two": xr.Dataset(attrs={"samples": 3})}
    made = Made("vbagg", 3, 0.25, np.arange(6.0).reshape(2, 3), units,
                [("not converged", ConvergenceWarning), ("other", DeprecationWarning)])
    store(made, tmp_path / "one.npz")
    found = load(tmp_path / "one.npz", Made)
    assert (found.model, found.number, found.seconds) == ("vbagg", 3, 0.25)
    np.testing.assert_array_equal(found.draws, made.draws)
    assert list(found.units) == list(units)
    for name, one in units.items():
        xr.testing.assert_identical(found.units[name], one)
    assert found.warned == made.warned


def test_missing_values_stay_missing_and_unknown_warnings_are_fit_warnings(tmp_path):
    class Odd(Warning):
        pass

    store(Made("m", 0, warned=[("odd", Odd)]), tmp_path / "one.npz")
    found = load(tmp_path / "one.npz", Made)
    assert np.isnan(found.seconds) and found.draws is None and found.units is None
    assert found.warned == [("odd", FitWarning)]


def test_objects_are_refused(tmp_path):
    np.savez(tmp_path / "one.npz", about=np.array([{"model": "m"}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        load(tmp_path / "one.npz", Made)
