"""The elevators data: scaling, folds and bags on a made file; the real one where it is."""

import numpy as np
import pandas as pd
import pytest

from tests.datasets.packaged import REAL, needs_files
from workbench.checks import InputError
from workbench.datasets import load
from workbench.datasets.elevators import COLUMNS, FOLDS, NEARLY_CONSTANT


@pytest.fixture
def folder(tmp_path):
    """A small file of the real one's shape: labels as centred logarithms of levels from 1.2."""
    rng = np.random.default_rng(0)
    levels = np.r_[1.2, 7.8, rng.choice(np.arange(1.2, 7.85, 0.1), 498)]
    logs = np.log(levels)
    table = np.column_stack([rng.normal(size=(500, len(COLUMNS))), logs - logs.mean()])
    (tmp_path / "elevators").mkdir()
    pd.DataFrame(table).to_csv(tmp_path / "elevators" / "data.csv.gz", header=False, index=False)
    return tmp_path


def test_labels_are_scaled_to_one_and_folds_share_out_the_individuals(folder):
    parts = {fold: load("elevators", directory=folder, fold=fold) for fold in FOLDS}
    assert {f: p.sizes["individual"] for f, p in parts.items()} == {
        "train": 350, "val": 50, "estop": 50, "test": 50}
    truth = np.concatenate([p["truth"].values for p in parts.values()])
    assert truth.min() == pytest.approx(0) and truth.max() == pytest.approx(1)
    train = parts["train"]
    assert not set(NEARLY_CONSTANT) & set(train["covariate"].values)
    np.testing.assert_allclose(train["covariates"].mean("individual"), 0, atol=1e-12)
    np.testing.assert_allclose(train["covariates"].std("individual"), 1)
    totals = train["individual_value"].groupby(train["membership"]).sum()
    np.testing.assert_allclose(totals, train["value"])


def test_bags_are_slices_of_one_covariate(folder):
    ds = load("elevators", directory=folder, mean_size=20, size_std=10, seed=1)
    column = list(ds["covariate"].values).index("diffRollRate")
    values = ds["covariates"].values[:, column]
    members = ds["membership"].values
    for bag in range(ds.sizes["bag"] - 1):
        assert values[members == bag].min() >= values[members == bag + 1].max()


def test_without_the_file_it_says_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(InputError, match="WORKBENCH_DATA"):
        load("elevators")
    with pytest.raises(InputError, match="lacks data.csv.gz"):
        load("elevators", directory=tmp_path)


@needs_files("elevators", "elevators/data.csv.gz")
def test_the_real_file():
    ds = load("elevators", directory=REAL)
    labels = ds["truth"].values
    levels = labels * 66 + 12
    np.testing.assert_allclose(levels, levels.round(), atol=4e-3)     # stored with five digits
    # Facts of the data, after Law et al.'s scaling.
    assert labels.mean() == pytest.approx(0.146, abs=0.002)
    assert labels.std() == pytest.approx(0.102, abs=0.002)
    assert ds.sizes["individual"] == 11_619
