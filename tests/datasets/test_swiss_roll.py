"""The swiss roll is the one of Law et al. 2018, up to the table of its constant model."""

import numpy as np
import pytest

from workbench import schema
from workbench.datasets import load


def stirling(observed, rate):
    """Poisson negative log-likelihood with Stirling's log y!, which is 0 for y of 0 and 1."""
    y = np.maximum(observed, 1)
    log_factorial = np.where(observed > 1, y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y), 0)
    return np.mean(rate - observed * np.log(rate) + log_factorial)


@pytest.mark.parametrize("n_bags,constant,oracle,error", [(100, 2.227, 2.132, 0.910),
                                                          (350, 2.224, 2.130, 0.880)])
def test_the_constant_model_scores_as_in_the_paper(n_bags, constant, oracle, error):
    scores = []
    for seed in range(5):
        ds = load("swiss-roll", n_bags=n_bags, seed=seed)
        membership, observed = ds["membership"].values, ds["individual_value"].values
        rate, truth = (ds["value"].values / np.bincount(membership))[membership], ds["truth"].values
        scores.append([stirling(observed, rate), stirling(observed, truth),
                       np.mean((rate - truth) ** 2)])
    mean = np.mean(scores, axis=0)
    # four standard errors of a mean of five: 0.003 is the spread between seeds (of the tables
    # of other draws too), the squared error's is its own
    assert mean[:2] == pytest.approx([constant, oracle], abs=4 * 0.003 * np.sqrt(2 / 5))
    spread = np.std([s[2] for s in scores], ddof=1)
    assert mean[2] == pytest.approx(error, abs=4 * spread * np.sqrt(2 / 5))


def test_bags_are_slabs_that_hold_what_their_points_add_up_to():
    ds = schema.check(load("swiss-roll"))
    height, membership = ds["roll_3"].values, ds["membership"].values
    assert (np.diff(height) <= 0).all()  # sorted from the top, bag after bag
    assert ds["value"].values == pytest.approx(
        np.bincount(membership, ds["individual_value"].values))
    sizes = np.bincount(membership)
    assert sizes.mean() == pytest.approx(150, abs=4 * 50 / np.sqrt(100))
    assert ds["truth"].min() >= 0.75 * np.pi and ds["truth"].max() <= 2.25 * np.pi
    assert "x" not in ds.coords


def test_eighteen_dimensions_hold_three_turned_alike_in_every_fold():
    train, test = (load("swiss-roll", fold=f, standardise=False) for f in ("train", "test"))
    for ds in (train, test):
        roll = np.column_stack([ds[f"roll_{d}"] for d in (1, 2, 3)])
        inputs = ds["covariates"].values
        assert np.linalg.matrix_rank(inputs, tol=1e-8) == 3
        # a rotation keeps every inner product
        np.testing.assert_allclose(inputs[:50] @ inputs[:50].T, roll[:50] @ roll[:50].T, atol=1e-9)
    both = [np.linalg.lstsq(np.column_stack([d[f"roll_{k}"] for k in (1, 2, 3)]),
                            d["covariates"].values, rcond=None)[0] for d in (train, test)]
    np.testing.assert_allclose(*both, atol=1e-10)
    assert train.sizes["individual"] != test.sizes["individual"]


def test_folds_are_scaled_by_the_statistics_of_the_train_fold():
    train = load("swiss-roll")["covariates"].values
    assert train.mean(axis=0) == pytest.approx(np.zeros(18), abs=1e-12)
    assert train.std(axis=0) == pytest.approx(np.ones(18))
    raw = load("swiss-roll", standardise=False)["covariates"].values
    other = load("swiss-roll", fold="val", standardise=False)["covariates"].values
    np.testing.assert_allclose(load("swiss-roll", fold="val")["covariates"],
                               (other - raw.mean(axis=0)) / raw.std(axis=0))


def test_normal_labels_run_from_nought_to_one_with_the_noise_asked_for():
    ds = load("swiss-roll", likelihood="normal", noise_std=0.2, aggregation="mean")
    assert ds["truth"].min() >= 0 and ds["truth"].max() <= 1
    noise = (ds["individual_value"] - ds["truth"]).values
    assert noise.std() == pytest.approx(0.2, abs=4 * 0.2 / np.sqrt(2 * noise.size))
    assert ds["value"].attrs["kind"] == "continuous"
    assert ds["value"].values == pytest.approx(
        ds["individual_value"].groupby(ds["membership"]).mean().values)


def test_a_seed_fixes_the_draw():
    one, again, other = (load("swiss-roll", n_bags=5, seed=s) for s in (3, 3, 4))
    assert one.identical(again) and one.sizes["individual"] != other.sizes["individual"]
