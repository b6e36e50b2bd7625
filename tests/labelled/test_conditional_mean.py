"""The conditional mean operator as users meet it, against the paper's N x N formulas."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.spatial.distance import cdist

import workbench as wb
from workbench.checks import InputError
from workbench.labelled import ConditionalMean

GIVEN = {"mediator.rbf.lengthscale": 0.4}


@pytest.fixture(scope="module")
def ds():
    return wb.load("swiss-roll-heights", points=300, bags=12, seed=1)


def dense(ds, at, ridge, shrinkage=False, length=0.4):
    """Eq. (1) with an N x N system, and eq. (9): weights of individuals (N, n)."""
    y, members = ds["mediators"].values, ds["membership"].values

    def ell(one, other):
        return np.exp(-0.5 * cdist(one, other, "sqeuclidean") / length**2)

    if not shrinkage:
        each = y[members]
        count = len(each)
        return np.linalg.solve(ell(each, each) + count * ridge * np.eye(count), ell(each, at))
    w = np.linalg.solve(ell(y, y) + len(y) * ridge * np.eye(len(y)), ell(y, at))
    return (w / np.bincount(members)[:, None])[members]


@pytest.mark.parametrize("shrinkage", [False, True])
def test_the_operator_is_the_papers(ds, shrinkage):
    operator = ConditionalMean("rbf", 0.02, shrinkage=shrinkage, mean="estimated",
                               hyperparameters=GIVEN).fit(ds)
    at = np.array([[-0.7], [0.1], [0.6]])
    a, asked = dense(ds, at, 0.02, shrinkage), pd.DataFrame(at, columns=["height"])
    np.testing.assert_allclose(operator.apply(ds["truth"], asked), a.T @ ds["truth"].values,
                               rtol=1e-8)
    every = operator.apply(ds["covariates"], asked)
    assert every.dims == ("target", "covariate")
    assert list(every["covariate"].values) == list(ds["covariate"].values)
    np.testing.assert_allclose(every, a.T @ ds["covariates"].values, rtol=1e-8, atol=1e-10)
    weights = operator.weights(asked)
    assert weights.dims == ("bag", "target")
    of_bags = pd.DataFrame(a).groupby(ds["membership"].values).sum().to_numpy()
    np.testing.assert_allclose(weights, of_bags, rtol=1e-7, atol=1e-10)
    assert operator.left_out is None


def test_the_overall_mean_is_known_or_shrunk(ds):
    asked = pd.DataFrame({"height": [0.0, 0.5]})
    flat = np.full(300, 280.0)
    known = ConditionalMean("rbf", 0.5, hyperparameters=GIVEN).fit(ds)
    np.testing.assert_allclose(known.apply(flat, asked), 280.0)
    shrunk = ConditionalMean("rbf", 0.5, mean="estimated", hyperparameters=GIVEN).fit(ds)
    assert (shrunk.apply(flat, asked) < 200).all()
    moved = known.apply(ds["truth"] + 280.0, asked) - known.apply(ds["truth"], asked)
    np.testing.assert_allclose(moved, 280.0)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*lie where no bag is")      # the outermost slabs are targets
@pytest.mark.filterwarnings("ignore:.* targets cannot say how")
def test_it_is_the_operator_inside_a_conditional_mean_process(ds):
    bags, targets = wb.unmatch(ds, 0.25, seed=1)
    fit = wb.CMP(kernel="rbf", mediation="evidence", max_steps=10, starts=1).fit(bags, targets)
    ours = {name: entry for name, entry in fit.hyperparameters.items()
            if name.startswith("mediator.") or name == "ridge"}
    operator = ConditionalMean(hyperparameters=ours).fit(bags)
    inner = fit.inner.state.operator.weights.numpy()
    np.testing.assert_allclose(operator.weights(targets), inner, rtol=1e-6, atol=1e-9)


def test_what_is_learnt_predicts_a_bag_that_it_has_not_seen():
    ds = wb.load("swiss-roll-heights", points=2000, bags=50, seed=3)
    seen, unseen = wb.unmatch(ds, positions=(np.r_[0:20, 22:50], [20, 21]))
    operator = ConditionalMean(embedding="ard-rbf").fit(seen)
    assert 0 < operator.left_out < 1
    assert operator.hyperparameters["ridge"]["value"] > 0
    found = operator.apply(seen["covariates"], unseen)
    means = ds["covariates"].groupby(ds["membership"]).mean().sel(membership=[20, 21])
    spread = float(ds["covariates"].sel(covariate="x3").std())
    np.testing.assert_allclose(found.sel(covariate="x3"), means.sel(covariate="x3").values,
                               atol=0.1 * spread)
    fixed = ConditionalMean(ridge=0.01).fit(seen)
    assert fixed.hyperparameters["ridge"]["value"] == pytest.approx(0.01)
    assert fixed.left_out >= operator.left_out * 0.5


def test_what_is_refused(ds):
    operator = ConditionalMean("rbf", 0.02, hyperparameters=GIVEN).fit(ds)
    asked = pd.DataFrame({"height": [0.0]})
    with pytest.raises(InputError, match="values of 300 individuals.*299"):
        operator.apply(np.zeros(299), asked)
    with pytest.raises(InputError, match="300 values are not finite"):
        operator.apply(np.full(300, np.nan), asked)
    with pytest.raises(InputError, match="lack \\['height'\\]"):
        operator.weights(pd.DataFrame({"hight": [0.0]}))
    with pytest.raises(InputError, match="1 rows of mediators are not finite"):
        operator.weights(pd.DataFrame({"height": [np.nan]}))
    with pytest.raises(InputError, match="the ridge is given twice"):
        ConditionalMean(ridge=1.0, hyperparameters={"ridge": 1.0})
    with pytest.raises(InputError, match="did you mean 'known'"):
        ConditionalMean(mean="knwon")
    with pytest.raises(InputError, match="did you mean 'mediator.rbf.lengthscale'"):
        ConditionalMean(hyperparameters={"mediator.rbf.lenthscale": 1.0}).fit(ds)
    with pytest.raises(InputError, match="the bags have no mediators"):
        ConditionalMean().fit(ds.drop_vars(["mediators", "mediator", "mediator_units"]))
    with pytest.warns(UserWarning, match="1 of 1 mediators lie where no bag is: weights of bags"):
        assert np.abs(operator.weights(pd.DataFrame({"height": [50.0]}))).max() < 1e-6
    own = operator.weights(ds)
    assert own.dims == ("bag", "bag_asked") and isinstance(own, xr.DataArray)
