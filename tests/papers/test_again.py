"""A stored run made again gives what is stored."""

from pathlib import Path

import numpy as np
import pytest

from workbench.checks import InputError
from workbench.papers import read_results, repeat_run

STORED = Path(__file__).parents[2] / "data" / "results"


@pytest.fixture(scope="module")
def results():
    return read_results(STORED / "summary_statistics.nc")


def test_a_run_made_again_is_the_stored_one(results):
    got = repeat_run(results, case="laplace, mean", per_cell=2, seed=1)
    assert {"rmse", "bias", "cover_95"} <= set(got.index) and "seconds" not in got.index
    fitted = got.loc[["rmse", "bias", "sd", "lengthscale"]]
    np.testing.assert_allclose(fitted["now"], fitted["stored"], rtol=1e-3)


@pytest.mark.parametrize(("settings", "words"), [
    ({"case": "laplace, mean"}, "20 stored runs have .*; name one, by some of .*seed"),
    ({"seed": 99}, "0 stored runs have"),
    ({"sed": 1}, "setting of the experiment 'sed' is unknown"),
])
def test_a_run_that_is_not_singled_out_is_refused(results, settings, words):
    with pytest.raises(InputError, match=words):
        repeat_run(results, **settings)
