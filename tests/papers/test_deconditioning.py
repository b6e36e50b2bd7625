"""Conditional and deconditional mean operators: identities, minimisers, and the known world."""

import numpy as np
import pytest

from workbench.checks import InputError
from workbench.papers.chau2021.theory import (
    ESTIMATORS,
    CosineWorld,
    DeconditionalMean,
    GramEstimator,
    ReconstructionRisk,
    bag_means,
    schedule,
)


def gaussian(a, b, scale=0.7):
    return np.exp(-0.5 * ((a[:, None] - b) / scale) ** 2)


class Bags:
    """Points in bags, unmatched places, and all Gram matrices."""

    def __init__(self, sizes, places=6, seed=0):
        rng = np.random.default_rng(seed)
        self.membership = np.repeat(np.arange(len(sizes)), sizes)
        self.y, self.new = rng.normal(size=len(sizes)), rng.normal(size=places)
        self.x = np.sin(2 * self.y[self.membership]) + 0.3 * rng.normal(size=sum(sizes))
        self.at = np.linspace(-1.5, 1.5, 9)
        self.z = rng.normal(size=places)
        self.gram, self.cross = gaussian(self.y, self.y), gaussian(self.y, self.new)
        self.k, self.at_k = gaussian(self.x, self.x), gaussian(self.at, self.x)

    def operator(self, estimator, ridge=0.03, **options):
        return GramEstimator(self.gram, self.membership, ridge, estimator, **options)


UNEQUAL, EQUAL = (3, 1, 7, 4, 2), (4, 4, 4, 4, 4)


# ------------------------------------------------------------------ conditional mean operators

@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("sizes", [UNEQUAL, EQUAL])
def test_one_solve_of_the_bags_is_the_naive_operator(sizes, scaled):
    data = Bags(sizes)
    n = len(data.membership)
    added = 0.03 * (n if scaled else 1)
    replicated = data.gram[np.ix_(data.membership, data.membership)]
    written_out = np.linalg.solve(replicated + added * np.eye(n), data.cross[data.membership])
    naive, identity = (data.operator(name, scaled=scaled) for name in ("naive", "identity"))
    np.testing.assert_allclose(naive.point_weights(data.cross), written_out, atol=1e-13)
    np.testing.assert_allclose(identity.point_weights(data.cross), written_out, atol=1e-13)
    np.testing.assert_allclose(naive.bag_weights(data.cross), identity.bag_weights(data.cross),
                               atol=1e-12)
    for operator in (naive, identity):
        np.testing.assert_allclose(operator.embedding(data.at_k, data.cross),
                                   data.at_k @ written_out, atol=1e-12)
        np.testing.assert_allclose(operator.covariance(data.k, data.cross),
                                   written_out.T @ data.k @ written_out, atol=1e-12)


def test_shrinkage_differs_by_the_ridge_alone():
    equal, unequal = Bags(EQUAL), Bags(UNEQUAL)
    for data, same in ((equal, True), (unequal, False)):
        exact, shrunk = (data.operator(n).bag_weights(data.cross) for n in ESTIMATORS[1:])
        assert np.allclose(exact, shrunk, atol=1e-12) == same
        written_out = np.linalg.solve(data.gram + 0.03 * 5 * np.eye(5), data.cross)
        np.testing.assert_allclose(shrunk, written_out, atol=1e-13)
    # λ itself as the ridge of both matrices: λ/n against λ, and bags of one size do differ
    exact, shrunk = (equal.operator(n, scaled=False).bag_weights(equal.cross)
                     for n in ESTIMATORS[1:])
    assert np.abs(exact - shrunk).max() > 0.05
    smaller = equal.operator("shrinkage", 0.03 / 4, scaled=False).bag_weights(equal.cross)
    np.testing.assert_allclose(exact, smaller, atol=1e-12)


def test_a_delta_kernel_gives_the_means_of_bags():
    data = Bags(UNEQUAL)
    operator = GramEstimator(np.eye(5), data.membership, 1e-12)
    np.testing.assert_allclose(operator.bag_weights(np.eye(5)), np.eye(5), atol=1e-10)
    np.testing.assert_allclose(operator.embedding(data.at_k, np.eye(5)),
                               bag_means(data.at_k, data.membership), atol=1e-10)


def test_points_may_come_in_any_order_and_precision_is_kept():
    data = Bags(UNEQUAL)
    order = np.random.default_rng(1).permutation(len(data.membership))
    mixed = GramEstimator(data.gram, data.membership[order], 0.03)
    np.testing.assert_allclose(mixed.embedding(data.at_k[:, order], data.cross),
                               data.operator("identity").embedding(data.at_k, data.cross))
    means = bag_means(bag_means(data.k, data.membership).T, data.membership)
    np.testing.assert_allclose(data.operator("identity").covariance(means, data.cross),
                               data.operator("naive").covariance(data.k, data.cross), atol=1e-12)
    for name in ESTIMATORS:
        single = GramEstimator(data.gram.astype(np.float32), data.membership, 0.03, name)
        found = single.embedding(data.at_k.astype(np.float32), data.cross.astype(np.float32))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, data.operator(name).embedding(data.at_k, data.cross),
                                   atol=1e-5)


@pytest.mark.parametrize("gram,membership,ridge,options,message", [
    (np.eye(3), [0, 1, 1], 0.1, {}, "3 bags of covariates do not fit"),
    (np.eye(3), [0, 2, 2], 0.1, {}, "3 bags of covariates do not fit"),
    (np.eye(2), [0, 1, 2], 0.1, {}, "up to number 2"),
    (np.eye(2), [0.0, 1.0], 0.1, {}, "one position of a bag per point"),
    (np.ones((2, 3)), [0, 1], 0.1, {}, "square Gram matrix"),
    (np.eye(2), [0, 1], 0.0, {}, "not positive"),
    (np.eye(2), [0, 1], 0.1, {"estimator": "shrink"}, "did you mean 'shrinkage'"),
])
def test_what_does_not_fit_is_refused(gram, membership, ridge, options, message):
    with pytest.raises(InputError, match=message):
        GramEstimator(gram, np.array(membership), ridge, **options)


def test_more_that_does_not_fit():
    with pytest.raises(InputError, match="ℓ from 2 bags"):
        GramEstimator(np.eye(2), np.array([0, 1]), 0.1).bag_weights(np.eye(3))
    with pytest.raises(InputError, match="square covariance"):
        DeconditionalMean(np.ones((2, 3)), 0.1)
    with pytest.raises(InputError, match="outside the theorem"):
        schedule(1.0, 0.5, 2.0)
    with pytest.raises(InputError, match="is not a valid world"):
        CosineWorld(grid=3)


# ------------------------------------------------------------------ deconditional mean operator

@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_estimator_is_the_posterior_mean_of_the_process(name):
    data, variance = Bags(UNEQUAL), 0.2
    m = len(data.new)
    a = data.operator(name).point_weights(data.cross)
    q = a.T @ data.k @ a
    posterior = data.at_k @ a @ np.linalg.solve(q + variance * np.eye(m), data.z)      # (7)
    operator = data.operator(name)
    decondition = DeconditionalMean(operator.covariance(data.k, data.cross), variance / m)
    at = operator.embedding(data.at_k, data.cross)
    np.testing.assert_allclose(decondition.estimate(at, data.z), posterior, atol=1e-11)
    # ... and the function g with values z̃ at ỹ, through the embedding: ⟨g, μ_{X=x|Y}⟩
    gram = gaussian(data.new, data.new)
    g = np.linalg.solve(gram, data.z)
    np.testing.assert_allclose(decondition.embedding(at, gram).T @ g, posterior, atol=1e-7)


def test_the_closed_form_minimises_the_empirical_risk():
    """In a larger span: ℓ at ỹ and elsewhere, the Ĉℓ_ỹ and k at other places."""
    data, rng = Bags(UNEQUAL), np.random.default_rng(3)
    operator, m = data.operator("identity"), len(data.new)
    q = operator.covariance(data.k, data.cross)
    decondition = DeconditionalMean(q, 0.05)
    gram = gaussian(data.new, data.new)
    risk = decondition.risk(gram)
    best = decondition.coefficients
    assert risk.value(best) == pytest.approx(decondition.least_risk(gram), rel=1e-10)
    np.testing.assert_allclose(risk.gradient(best), 0, atol=1e-12)

    places = np.r_[data.new, [-2.0, 0.1, 1.7]]
    far = gaussian(data.at, data.at)
    at = operator.embedding(data.at_k, data.cross)                     # ⟨k_x, Ĉℓ_ỹ⟩
    inner = np.block([[q, at.T], [at, far]])
    larger = ReconstructionRisk(gaussian(places, places), gaussian(data.new, places), inner,
                                np.vstack([q, at]), np.ones(m), np.full(m, 1 / m), 0.05)
    theta = np.zeros((m + 3, m + len(data.at)))
    theta[:m, :m] = best
    assert larger.value(theta) == pytest.approx(risk.value(best), rel=1e-10)
    np.testing.assert_allclose(larger.gradient(theta), 0, atol=1e-11)
    for scale in (1e-3, 0.1, 3.0):
        for _ in range(20):
            moved = theta + scale * rng.normal(size=theta.shape)
            assert larger.value(moved) > larger.value(theta)
    # the gradient is that of the value
    moved, step = theta + rng.normal(size=theta.shape), rng.normal(size=theta.shape)
    numeric = (larger.value(moved + 1e-5 * step) - larger.value(moved - 1e-5 * step)) / 2e-5
    assert (larger.gradient(moved) * step).sum() == pytest.approx(numeric, rel=1e-6)


# ------------------------------------------------------------------ the known world

@pytest.mark.parametrize("world", [CosineWorld(), CosineWorld(4, 0, 16, 0.3)])
def test_the_world_is_what_it_says(world):
    law = world.joint
    assert law.min() >= 0 and law.sum() == pytest.approx(1)
    np.testing.assert_allclose(law.sum(0), 1 / world.grid, atol=1e-12)
    np.testing.assert_allclose(law.sum(1), 1 / world.grid, atol=1e-12)
    # embeddings by the law itself, and the operator's at every y
    embeddings = world.inner_features.T @ (law * world.grid)
    np.testing.assert_allclose(world.conditional @ world.outer_features.T, embeddings, atol=1e-9)
    spectrum = np.linalg.eigvalsh(embeddings @ embeddings.T / world.grid)[::-1]
    assert spectrum[world.kept - 1] == pytest.approx(world.eigenvalue)
    np.testing.assert_allclose(spectrum[world.kept:], 0, atol=1e-9)
    assert np.linalg.eigvalsh(world.inner_features @ world.inner_features.T).min() > 1e-3


@pytest.mark.parametrize("world", [CosineWorld(), CosineWorld(4, 0, 16, 0.3)])
def test_the_minimiser_and_its_risk_are_known(world):
    risk, rng = world.expected_risk(), np.random.default_rng(0)
    assert risk.value(world.minimiser) == pytest.approx(world.least_risk, abs=1e-12)
    np.testing.assert_allclose(risk.gradient(world.minimiser), 0, atol=1e-12)
    for _ in range(5):
        moved = world.minimiser + 0.1 * rng.normal(size=world.minimiser.shape)
        assert world.excess(moved) == pytest.approx(risk.value(moved) - world.least_risk,
                                                    rel=1e-9)
    # hardly any ridge and infinite samples: the minimiser itself
    assert world.excess(world.limit(1e-9, 1e-9)) < 1e-14
    assert world.excess(world.limit(0.01, 0.01)) > 1e-6


def test_counts_give_the_operators_of_gram_matrices():
    world, rng = CosineWorld(grid=12), np.random.default_rng(5)
    pairs, places = world.draw(40, 15, rng)
    assert pairs.sum() == 40 and places.sum() == 15
    x, y = (np.repeat(axis.ravel(), pairs.ravel()) for axis in np.indices(pairs.shape))
    other = np.repeat(np.arange(12), places)
    ell = world.outer_features @ world.outer_features.T
    kay = world.inner_features @ world.inner_features.T
    operator = GramEstimator(ell[np.ix_(y, y)], np.arange(40), 0.2)
    cross = ell[np.ix_(y, other)]
    decondition = DeconditionalMean(operator.covariance(kay[np.ix_(x, x)], cross), 0.07)
    at = operator.embedding(kay[:, x], cross)
    found = decondition.embedding(at, ell[:, other])
    first = world.first_stage(pairs, 0.2)
    np.testing.assert_allclose(world.inner_features @ first @ world.outer_features.T[:, other], at,
                               atol=1e-9)
    second = world.second_stage(first, places, 0.07)
    np.testing.assert_allclose(world.outer_features @ second @ world.inner_features.T, found,
                               atol=1e-9)


def test_large_samples_come_near_the_limit():
    world = CosineWorld()
    rng = np.random.default_rng(0)
    small, large = (np.mean([world.excess(world.estimate(n, m, 1e-3, 1e-3, rng))
                             for _ in range(10)]) for n, m in ((10**4, 100), (10**8, 10**6)))
    assert large < small / 100


# ------------------------------------------------------------------ the theorem's exponents

def test_exponents_of_the_theorem():
    b, c = 2.0, 1.5
    threshold = b * (c + 1) / (b * c + 1)
    few, many = schedule(0.5, b, c), schedule(2.0, b, c)
    assert few.threshold == many.threshold == pytest.approx(threshold)
    assert (few.error, few.second) == pytest.approx((-0.5 * c / (c + 1), -0.5 / (c + 1)))
    assert (many.error, many.second) == pytest.approx((-b * c / (b * c + 1), -b / (b * c + 1)))
    assert few.points == pytest.approx(1.5) and few.first == pytest.approx(-1 / 3)
    # both branches meet, for a finite rank too
    for decay in (b, np.inf):
        edge = schedule(1.0, decay, c).threshold
        below, above = schedule(edge, decay, c), schedule(edge + 1e-9, decay, c)
        assert (below.error, below.second) == pytest.approx((above.error, above.second))
    assert schedule(3.0, np.inf, 2.0).error == -1
    assert schedule(3.0, np.inf, 2.0).threshold == 1.5
    assert schedule(1.0, 2.0, 1.5, c_prime=1.5, iota=0.5).points == pytest.approx(10)
    assert schedule(1.0, 2.0, 1.5, growth=1.0).at(64) == (64, 64 ** (-1 / 3), 64**-0.4)
