"""Conditional mean processes against the paper's formulas, Monte Carlo, and other models."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal

from tests.gp import made
from workbench.checks import FitWarning, InputError
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.kernels.operators import SegmentMean
from workbench.gp.models.conditional_mean.var_cmp import VarCMP
from workbench.gp.models.registry import MODELS
from workbench.gp.optimisation.training import History
from workbench.papers.chau2021.diagonal_trace import DiagonalVarCMP

F64 = torch.float64
RBF = {"kernel": "rbf", "mediator_kernel": "rbf"}
COLUMNS = Columns(("height", "x"), (1,), ("m", "km"))


def bags(sizes=(4, 1, 6, 3, 2), seed=0, weights=False) -> Bags:
    """Bags with two mediators."""
    rng = np.random.default_rng(seed)
    y = torch.as_tensor(rng.normal(size=(len(sizes), 2)))
    return replace(made.bags(sizes, seed, coordinates=False, covariates=2, weights=weights),
                   mediators=y, mediator_columns=COLUMNS)


def unmatched(sizes=(4, 1, 6, 3, 2), targets=4, seed=3, weights=False) -> Source:
    rng = np.random.default_rng(seed)
    ours = bags(sizes, seed, weights)
    theirs = ours.mediators[:targets] + 0.1 * torch.as_tensor(rng.normal(size=(targets, 2)))
    value = torch.as_tensor(rng.normal(size=targets))
    return Source(ours, Targets(value, None, None, theirs), "mean", "continuous")


def given(ridge=0.05, **more) -> dict:
    """All hyperparameters at hand-picked values."""
    out = {"mean": 0.4, "rbf.variance": 1.3, "rbf.lengthscale": 1.1, "ridge": ridge,
           "mediator.rbf.lengthscale": 0.8, "noise.variance": 0.07}
    return {**out, **more}


def make(name, **options):
    return MODELS[name](**{**RBF, **options})


def paper(source: Source, fit, ridge: float, shrinkage: bool = False, nugget: float = 0.0):
    """Eq. (1), (7), (8) and (100) with N x N matrices: posterior at the individuals, evidence."""
    state = fit.state
    x, members = state.x, source.bags.membership
    k = sum(term(x, x) for term in state.field.terms).detach()
    y, theirs = state.mediators.bags, state.mediators.targets

    def ell(one, other):
        return sum(term(one, other) for term in state.mediators.terms).detach()

    count = len(x)
    if shrinkage:
        own = torch.zeros(source.bags.count, count, dtype=F64)
        own[members, torch.arange(count)] = 1
        means = own.mT / own.sum(1)
        system = ell(y, y) + len(y) * ridge * torch.eye(len(y), dtype=F64)
        a = means @ torch.linalg.solve(system, ell(y, theirs))
    else:
        each = y[members]
        system = ell(each, each) + count * ridge * torch.eye(count, dtype=F64)
        a = torch.linalg.solve(system, ell(each, theirs))
    mean = float(fit.hyperparameters["mean"]["value"])
    noise = float(fit.hyperparameters["noise.variance"]["value"])
    q = a.mT @ (k + nugget**2 * torch.eye(count, dtype=F64)) @ a
    q = q + noise * torch.eye(len(theirs), dtype=F64)
    gap = source.targets.value - mean
    posterior = mean + k @ a @ torch.linalg.solve(q, gap)
    variance = k - k @ a @ torch.linalg.solve(q, a.mT @ k)
    evidence = MultivariateNormal(torch.zeros_like(gap), q).log_prob(gap)
    return posterior, variance, evidence, a


@pytest.mark.parametrize("name,shrinkage", [("cmp", False), ("s-cmp", True)])
@pytest.mark.parametrize("nugget", [0.0, 0.6])
def test_posterior_and_evidence_are_the_papers_formulas(name, shrinkage, nugget):
    """The B x B form is eq. (1), (7) and (8), which take N x N inverses; and eq. (9)."""
    source = unmatched()
    model = make(name, nugget=nugget)
    extra = {"nugget.std": nugget} if nugget else {}
    fit = model.condition(source, given(**extra))
    mean, covariance, evidence, a = paper(source, fit, 0.05, shrinkage, nugget)
    law = fit.latent(source.bags)
    torch.testing.assert_close(law.mean, mean, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(law.variance, covariance.diagonal(), rtol=1e-7, atol=1e-9)
    assert fit.objective == pytest.approx(float(evidence), abs=1e-8)
    torch.testing.assert_close(fit.state.operator.dense().detach().mT, a, rtol=1e-8, atol=1e-10)
    white = fit.at(source.bags).variance - law.variance
    torch.testing.assert_close(white, torch.full_like(white, nugget**2), rtol=1e-8, atol=1e-10)


def test_the_two_forms_differ_by_the_sizes_of_bags_alone():
    same, unlike = unmatched((3, 3, 3, 3, 3)), unmatched()
    for source, equal in ((same, True), (unlike, False)):
        one, other = (make(name).condition(source, given()) for name in ("cmp", "s-cmp"))
        close = torch.allclose(one.latent(source.bags).mean, other.latent(source.bags).mean,
                               rtol=1e-9)
        assert close is equal and (one.objective == pytest.approx(other.objective)) is equal


def matched(seed=5, weights=False) -> Source:
    ours = bags((5, 2, 7, 3, 4, 6), seed, weights)
    value = torch.as_tensor(np.random.default_rng(seed).normal(size=6))
    return Source(ours, Targets(value), "mean", "continuous")


@pytest.mark.parametrize("weights", [False, True])
def test_a_delta_kernel_is_the_aggregated_gp(weights):
    """Bags that know nothing of each other, no ridge: W = I."""
    source = matched(weights=weights)
    values = given(ridge=1e-13, **{"mediator.rbf.lengthscale": 1e-3})
    fit = make("cmp").condition(source, values)
    torch.testing.assert_close(fit.state.operator.weights, torch.eye(6, dtype=F64), atol=1e-9,
                               rtol=0)
    peer = MODELS["aggregated-gp"](kernel="rbf", noise="constant").condition(
        source, {k: values[k] for k in ("mean", "rbf.variance", "rbf.lengthscale",
                                        "noise.variance")})
    for call in ("latent", "over"):
        one, other = getattr(fit, call)(source.bags), getattr(peer, call)(source.bags)
        torch.testing.assert_close(one.mean, other.mean, rtol=1e-7, atol=1e-9)
        torch.testing.assert_close(one.variance, other.variance, rtol=1e-6, atol=1e-9)
    assert fit.objective == pytest.approx(peer.objective, abs=1e-7)


def test_conditional_means_are_those_of_the_joint_normal():
    """g at new mediators, against conditioning of f at all individuals by hand."""
    source = unmatched()
    fit = make("cmp").condition(source, given(mean=0.0))
    new = source.bags.mediators[:3] + 0.2
    law = fit.conditional_mean(new)
    mean, covariance, _, _ = paper(source, fit, 0.05)
    weights = fit.state.mean.weights(fit.state.mediators.transform(new)).detach()
    a = fit.state.operator.base.dense().mT @ weights
    torch.testing.assert_close(law.mean, a.mT @ mean, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(law.variance, (a.mT @ covariance @ a).diagonal(), rtol=1e-6,
                               atol=1e-9)


def test_posterior_covers_what_was_drawn_from_its_prior():
    """Simulation-based: ranks of f in its posterior are uniform when the model is the truth."""
    source, rng, inside = unmatched((4,) * 12, targets=12), np.random.default_rng(0), []
    fit = make("cmp").condition(source, given())
    state = fit.state
    k = sum(term(state.x, state.x) for term in state.field.terms).detach().numpy()
    root = np.linalg.cholesky(k + 1e-9 * np.eye(len(k)))
    a = state.operator.dense().detach().numpy()
    for _ in range(60):
        f = root @ rng.normal(size=len(k))
        z = 0.4 + a @ f + np.sqrt(0.07) * rng.normal(size=12)
        drawn = replace(source, targets=replace(source.targets, value=torch.as_tensor(z)))
        law = make("cmp").condition(drawn, given()).latent(source.bags)
        inside.append(law.cdf(torch.as_tensor(0.4 + f)).numpy())
    ranks = np.concatenate(inside)
    assert abs(ranks.mean() - 0.5) < 0.03
    assert abs(np.mean((ranks > 0.05) & (ranks < 0.95)) - 0.9) < 0.03


@pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")
def test_sparse_form_meets_the_exact_one_with_inducing_inputs_at_the_data():
    for nugget in (0.0, 0.5):
        source = unmatched()
        values = given(**({"nugget.std": nugget} if nugget else {}))
        exact = make("cmp", nugget=nugget).condition(source, values)
        full = make("var-cmp", inducing=100, nugget=nugget).condition(source, values)
        few = make("var-cmp", inducing=5, nugget=nugget).condition(source, values)
        assert full.objective == pytest.approx(exact.objective, abs=1e-4)
        assert few.objective < exact.objective - 1e-3       # a bound
        one, other = full.latent(source.bags), exact.latent(source.bags)
        torch.testing.assert_close(one.mean, other.mean, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(one.variance, other.variance, rtol=1e-3, atol=1e-4)
        new = source.bags.mediators[:2] + 0.3
        for attribute in ("mean", "variance"):
            torch.testing.assert_close(getattr(full.conditional_mean(new), attribute),
                                       getattr(exact.conditional_mean(new), attribute),
                                       rtol=1e-3, atol=1e-4)


def elbo(source, fit, mean, covariance, diagonal=False):
    """Eq. (54) to (57) by hand for any whitened q; of Σ its diagonal alone as in released code."""
    state, field = fit.state, fit.state.field
    projection = field.inducing.project(state.x)
    phi, a = projection.features, state.operator.dense().mT
    whole = sum(t(state.x, state.x) for t in field.terms)
    whole = whole - phi @ phi.mT + phi @ covariance @ phi.mT
    if diagonal:
        whole = torch.diag(whole.diagonal())
    noise = state.noise.variance[0]
    gap = source.targets.value - field.mean - a.mT @ phi @ mean
    fit_term = -0.5 * len(gap) * torch.log(2 * torch.pi * noise) - (
        gap @ gap + (a.mT @ whole @ a).trace()) / (2 * noise)
    standard = MultivariateNormal(torch.zeros_like(mean), torch.eye(len(mean), dtype=F64))
    return float((fit_term - torch.distributions.kl_divergence(
        MultivariateNormal(mean, covariance), standard)).detach())


@pytest.mark.parametrize("kind", [VarCMP, DiagonalVarCMP])
def test_the_collapsed_bound_is_the_papers_at_its_best_q(kind):
    source, diagonal = unmatched((6, 5, 7, 4, 8)), kind is DiagonalVarCMP
    fit = kind(**RBF, inducing=6).condition(source, given())
    q = fit.state.field.inducing
    best = elbo(source, fit, q.q_mean, q.q_covariance, diagonal)
    assert fit.objective == pytest.approx(best, abs=1e-6)
    rng = torch.Generator().manual_seed(0)
    for _ in range(5):
        step = 0.05 * torch.randn(len(q.q_mean), len(q.q_mean), generator=rng, dtype=F64)
        moved = q.q_covariance + 0.3 * step @ step.mT
        assert elbo(source, fit, q.q_mean + step[0], moved, diagonal) < best


def test_the_diagonal_trace_is_no_bound():
    """What the authors' code maximises exceeds the log evidence (notes 1.3)."""
    source = unmatched((30, 25, 20, 30, 25))
    exact = make("cmp").condition(source, given()).objective
    wrong, bound = (kind(**RBF, inducing=60).condition(source, given())
                    for kind in (DiagonalVarCMP, VarCMP))
    assert wrong.objective > exact + 0.1 and bound.objective <= exact + 1e-6


def roll(seed=0, per_bag=30, count=20) -> tuple[Source, torch.Tensor]:
    """A field along one axis, seen through slabs of another that correlates with it."""
    rng = np.random.default_rng(seed)
    height = np.sort(rng.uniform(-2, 2, count * per_bag))
    x = np.stack([height, np.sin(2 * height) + 0.3 * rng.normal(size=len(height))], 1)
    truth = np.sin(1.5 * x[:, 0]) + 0.8 * x[:, 1]
    members = np.repeat(np.arange(count), per_bag)
    mid = np.bincount(members, height) / per_bag
    bag = Bags(torch.as_tensor(x), torch.as_tensor(members), torch.ones(len(x), dtype=F64), count,
               Columns(("a", "b")), tuple(map(str, range(count))), None,
               torch.as_tensor(mid[:, None]), Columns(("height",)))
    value = torch.as_tensor(np.bincount(members, truth) / per_bag + 0.02 * rng.normal(size=count))
    return Source(bag, Targets(value), "mean", "continuous"), torch.as_tensor(truth)


@pytest.mark.slow
def test_unmatched_targets_teach_the_field_and_starts_are_reported():
    source, truth = roll(count=60)
    first = torch.arange(60) % 2 == 0
    rows = first[source.bags.membership]
    renumber = first.long().cumsum(0) - 1
    ours = replace(source.bags, x=source.bags.x[rows], weight=source.bags.weight[rows],
                   membership=renumber[source.bags.membership[rows]], count=30, names=(),
                   mediators=source.bags.mediators[first])
    split = Source(ours, Targets(source.targets.value[~first], None, None,
                                 source.bags.mediators[~first]), "mean", "continuous")
    for name in ("cmp", "s-cmp", "var-cmp"):
        fit = make(name, kernel="ard-rbf", max_steps=60, tolerance=1e-5).fit(split)
        error = (fit.latent(source.bags).mean - truth).square().mean().sqrt()
        assert float(error) < 0.5 * float(truth.std())
        assert any("starts by lengthscale" in note for note in fit.history.notes)


def test_moving_keeps_what_the_kernel_leaves_and_equals_conditioning():
    source = unmatched()
    fit = make("cmp").condition(source, given())
    for change in ({"mediator.rbf.lengthscale": 1.7}, {"rbf.lengthscale": 0.6}, {"ridge": 0.2}):
        moved = fit.with_hyperparameters(change)
        kept = moved.state.operator._kept is fit.state.operator._kept
        assert kept is ("rbf.lengthscale" not in change)
        whole = make("cmp").condition(source, {**given(), **change})
        torch.testing.assert_close(moved.latent(source.bags).mean, whole.latent(source.bags).mean)
        assert moved.objective == pytest.approx(whole.objective)


@pytest.mark.slow
def test_clusters_find_the_start_and_all_individuals_the_end():
    source, _ = roll(per_bag=100)
    options = dict(kernel="ard-rbf", tolerance=1e-8)
    one = make("cmp", compress=10, **options).fit(source)
    other = make("cmp", compress=0, **options).fit(source)
    assert one.objective == pytest.approx(other.objective, abs=0.02)


def test_targets_outside_the_bags_mediators_are_told_or_refused():
    source = unmatched((3,) * 10, targets=10)
    theirs = source.bags.mediators.clone()
    theirs[:3, 0] += 20
    some = replace(source, targets=replace(source.targets, mediators=theirs))
    fit = make("cmp").condition(some, given())
    assert any("3 of 10 targets" in note and "'height'" in note for note in fit.history.notes)
    with pytest.raises(InputError, match="10 of 10 targets have mediators beyond"):
        make("cmp").condition(replace(source, targets=replace(
            source.targets, mediators=source.targets.mediators + 50)), given())


def test_what_is_refused():
    source = unmatched()
    with pytest.raises(InputError, match="the bags have none"):
        replace(source, bags=replace(source.bags, mediators=None))
    with pytest.raises(InputError, match="2 mediators of each of 4 targets"):
        replace(source, targets=replace(source.targets, mediators=torch.ones(4, 3, dtype=F64)))
    with pytest.raises(InputError, match="unmatched targets are means"):
        replace(source, aggregation="sum")
    with pytest.raises(InputError, match="noise_variance for every target; these have none"):
        make("cmp", noise="known").fit(source)
    known = torch.tensor([1.0, 0.0, 1.0, -2.0], dtype=F64)
    gaps = replace(source, targets=replace(source.targets, noise_variance=known))
    with pytest.raises(InputError, match=r"of 4 2 have none \(first: number 1, counted from 0\)"):
        make("cmp", noise="known").fit(gaps)
    with pytest.raises(InputError, match="not support white noise"):
        DiagonalVarCMP(nugget=0.1)
    with pytest.raises(InputError, match="mediators of 5 bags in 2 columns"):
        replace(source.bags, mediators=torch.ones(4, 2, dtype=F64))


@pytest.mark.slow
def test_a_shift_of_all_targets_shifts_the_field_alone():
    """Temperatures in kelvin and in degrees Celsius must give one map."""
    source, _ = roll(per_bag=10)
    warm = replace(source, targets=replace(source.targets, value=source.targets.value + 273.15))
    options = dict(kernel="ard-rbf", tolerance=1e-9, max_steps=200)
    for name in ("cmp", "var-cmp"):
        one, other = (make(name, **options).fit(part) for part in (source, warm))
        assert one.objective == pytest.approx(other.objective, abs=1e-3)
        torch.testing.assert_close(one.latent(source.bags).mean + 273.15,
                                   other.latent(source.bags).mean, rtol=0, atol=2e-2)


def test_known_noise_of_targets():
    source = unmatched()
    known = torch.tensor([0.1, 0.2, 0.05, 0.3], dtype=F64)
    source = replace(source, targets=replace(source.targets, noise_variance=known))
    values = {k: v for k, v in given().items() if k != "noise.variance"}
    fit = make("cmp", noise="known").condition(source, values)
    q = fit.state.operator.gram(list(fit.state.field.terms), fit.state.x) + torch.diag(known)
    law = MultivariateNormal(torch.full((4,), 0.4, dtype=F64), q.detach())
    expected = law.log_prob(source.targets.value)
    assert fit.objective == pytest.approx(float(expected), abs=1e-8)


def test_bagg_gp_as_published():
    """Own bags learn from their own value alone; bags never seen keep the prior."""
    source = matched()
    values = {"mean": 0.4, "rbf.variance": 1.3, "rbf.lengthscale": 1.1, "noise.variance": 0.07}
    fit = MODELS["bagg-gp"](kernel="rbf", noise="constant").condition(source, values)
    x, term = fit.state.field.x, fit.state.field.terms[0]
    total = 0.0
    for j in range(6):
        rows = source.bags.membership == j
        k = term(x[rows], x[rows]).detach()
        variance = k.mean() + 0.07
        gap = source.targets.value[j] - 0.4
        total += float(torch.distributions.Normal(0.0, variance.sqrt()).log_prob(gap))
        law = fit.latent(source.bags)
        torch.testing.assert_close(law.mean[rows], 0.4 + k.mean(1) * gap / variance)
        torch.testing.assert_close(law.variance[rows],
                                   k.diagonal() - k.mean(1) ** 2 / variance)
        over = fit.over(source.bags)
        torch.testing.assert_close(over.mean[j], 0.4 + k.mean() * gap / variance)
        torch.testing.assert_close(over.variance[j], k.mean() - k.mean() ** 2 / variance)
    assert fit.objective == pytest.approx(total, abs=1e-9)
    new = fit.latent(bags((3, 2), seed=9))
    torch.testing.assert_close(new.mean, torch.full((5,), 0.4, dtype=F64))
    torch.testing.assert_close(new.variance, torch.full((5,), 1.3, dtype=F64))


def test_gpr_sees_bags_at_their_centroids():
    source = matched()
    values = {"mean": 0.4, "rbf.variance": 1.3, "rbf.lengthscale": 1.1, "noise.variance": 0.07}
    fit = MODELS["gpr"](kernel="rbf").condition(source, values)
    centres = fit.state.transform(source.bags.centres().x)
    k = fit.state.field.terms[0](centres, centres).detach() + 0.07 * torch.eye(6, dtype=F64)
    expected = MultivariateNormal(torch.full((6,), 0.4, dtype=F64), k)
    assert fit.objective == pytest.approx(float(expected.log_prob(source.targets.value)), abs=1e-8)


@pytest.mark.slow
def test_a_kernel_of_the_users_own_on_mediators_has_starts_and_keeps_its_own():
    import gpytorch

    source, truth = roll(count=30)
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    fit = make("cmp", kernel="ard-rbf", mediator_kernel=kernel).fit(source)
    named = make("cmp", kernel="ard-rbf").fit(source)
    starts = next(note for note in fit.history.notes if "starts by lengthscale" in note)
    assert starts.count(";") == 4           # three steps, the kernel's own, and what was kept
    assert fit.objective > named.objective - 1.0
    with pytest.raises(InputError, match="mediator_kernel a name or a gpytorch kernel"):
        make("cmp", mediator_kernel=3)


def test_targets_between_two_groups_of_bags_are_seen_to_be_far():
    ours = replace(bags((3,) * 10), mediators=torch.tensor(
        [[0.0 + i / 10] for i in range(5)] + [[100.0 + i / 10] for i in range(5)], dtype=F64),
        mediator_columns=Columns(("y",)))
    value = torch.ones(4, dtype=F64)
    theirs = torch.full((4, 1), 50.0, dtype=F64)
    with pytest.raises(InputError, match="4 of 4 targets have mediators far from those of any bag"):
        make("cmp").condition(Source(ours, Targets(value, None, None, theirs), "mean",
                                     "continuous"), given())
    theirs[:3] = torch.tensor([[0.1], [0.2], [100.2]])
    fit = make("cmp").condition(Source(ours, Targets(value, None, None, theirs), "mean",
                                       "continuous"), given())
    assert any("1 of 4 targets" in note for note in fit.history.notes)
    with pytest.warns(UserWarning, match="1 of 2 mediators lie where no bag is"):
        fit.conditional_mean(torch.tensor([[0.3], [50.0]], dtype=F64))


def test_a_mediator_that_is_the_same_for_all_is_told():
    source = unmatched()
    flat = source.bags.mediators.clone()
    flat[:, 1] = 3.0
    theirs = source.targets.mediators.clone()
    theirs[:, 1] = 3.0
    same = replace(source, bags=replace(source.bags, mediators=flat),
                   targets=replace(source.targets, mediators=theirs))
    fit = make("cmp").condition(same, given())
    assert any("tell no bag from another: x" in note for note in fit.history.notes)


def test_means_of_counts_are_not_multiplied_by_weights():
    ours = bags((5, 2, 7, 3), weights=True)
    value = torch.tensor([1.4, 1.5, 1.45, 1.42], dtype=F64)
    source = Source(ours, Targets(value), "mean", "count")
    for name in ("cmp", "aggregated-gp"):
        fit = make(name).fit(source) if name == "cmp" else MODELS[name](kernel="rbf").fit(source)
        assert not fit.state.rescaled
        assert float(fit.simulate_bags(ours, None, 200, 0).mean()) == pytest.approx(1.44, abs=0.1)


def test_bags_are_recognised_in_any_order_and_doubles_are_refused():
    source = matched()
    values = {"mean": 0.4, "rbf.variance": 1.3, "rbf.lengthscale": 1.1, "noise.variance": 0.07}
    model = MODELS["bagg-gp"](kernel="rbf", noise="constant")
    fit, order = model.condition(source, values), torch.arange(27)
    order[:5] = torch.tensor([4, 2, 0, 1, 3])
    shuffled = replace(source.bags, x=source.bags.x[order], weight=source.bags.weight[order])
    torch.testing.assert_close(fit.latent(shuffled).mean, fit.latent(source.bags).mean[order])
    twice = source.bags.x.clone()
    twice[5:7] = twice[14:16]
    pair = replace(source.bags, x=twice[torch.tensor([5, 6, 14, 15])], count=2, names=(),
                   membership=torch.tensor([0, 0, 1, 1]), weight=torch.ones(4, dtype=F64),
                   mediators=None)
    same = model.condition(Source(pair, Targets(torch.tensor([1.0, 5.0], dtype=F64)), "mean",
                                  "continuous"), values)
    with pytest.raises(InputError, match="bag 1 has the inputs of another"):
        same.latent(pair)


def brute_left_out(mean, gram, shares) -> float:
    """The same loss by fitting without each bag in turn, bags weighted by their shares."""
    total, count = 0.0, len(mean.bags)
    for j in range(count):
        others = [i for i in range(count) if i != j]
        ell = mean.kernel(mean.bags, mean.bags).detach()
        ridge = torch.diag(mean.scale().detach() * mean.ridges)
        w = torch.linalg.solve((ell + ridge)[others][:, others], ell[others, j])
        error = gram[j, j] - 2 * w @ gram[others, j] + w @ gram[others][:, others] @ w
        total += shares[j] * error
    return float(total / (shares @ gram.diagonal()))


@pytest.mark.parametrize("name,sizes", [("cmp", [4, 1, 6, 3, 2]), ("s-cmp", [1, 1, 1, 1, 1])])
def test_leaving_out_one_bag_in_closed_form_is_leaving_it_out(name, sizes):
    """A ridge per point is that of a loss over individuals: large bags count for more."""
    from workbench.gp.models.conditional_mean.first_stage import left_out_loss

    shares = torch.tensor(sizes, dtype=F64) / sum(sizes)
    state = make(name).condition(unmatched(), given()).state
    with torch.no_grad():
        gram = state.operator.bag_gram(list(state.field.terms), state.x)
        loss = float(left_out_loss(state.mean, gram))
    assert loss == pytest.approx(brute_left_out(state.mean, gram, shares), rel=1e-9)


@pytest.mark.slow
def test_two_stages_choose_what_predicts_a_left_out_bag():
    from workbench.gp.models.conditional_mean.first_stage import left_out_loss

    source, truth = roll(count=60)
    first = torch.arange(60) % 2 == 0
    rows = first[source.bags.membership]
    ours = replace(source.bags, x=source.bags.x[rows], weight=source.bags.weight[rows], count=30,
                   membership=(first.long().cumsum(0) - 1)[source.bags.membership[rows]], names=(),
                   mediators=source.bags.mediators[first])
    split = Source(ours, Targets(source.targets.value[~first], None, None,
                                 source.bags.mediators[~first]), "mean", "continuous")
    two, one = (make("cmp", kernel="ard-rbf", mediation=how).fit(split)
                for how in ("auto", "evidence"))
    assert any("ℓ and λ by leaving out bags" in note for note in two.history.notes)
    assert not any("leaving out" in note for note in one.history.notes)
    with torch.no_grad():
        gram = two.state.operator.bag_gram(list(two.state.field.terms), two.state.x)
        ours_loss = float(left_out_loss(two.state.mean, gram))
        other = make("cmp", kernel="ard-rbf").condition(split, {
            **two.hyperparameters, **{k: v for k, v in one.hyperparameters.items()
                                      if k == "ridge" or k.startswith("mediator.")}})
        assert ours_loss < float(left_out_loss(other.state.mean, gram)) * 1.05
    error = (two.latent(source.bags).mean - truth).square().mean().sqrt()
    assert float(error) < 0.5 * float(truth.std())
    fixed = make("cmp", kernel="ard-rbf", hyperparameters={
        "ridge": 0.01, "mediator.rbf.lengthscale": 0.3}).fit(split)
    assert fixed.hyperparameters["ridge"]["value"] == pytest.approx(0.01)


def apart(seed=0, told=True) -> Source:
    """Bags along a line and targets between them; the mediator is the place, or nothing."""
    rng, count, per_bag = np.random.default_rng(seed), 24, 4
    x = np.linspace(-2, 2, count * per_bag)
    middle = x.reshape(count, per_bag).mean(1)
    of_bags, of_targets = (middle, middle[:12] + 0.05) if told else rng.normal(size=(2, count))
    members = np.repeat(np.arange(count), per_bag)
    ours = Bags(torch.as_tensor(x[:, None]), torch.as_tensor(members),
                torch.ones(len(x), dtype=F64), count, Columns(("a",)), (), None,
                torch.as_tensor(of_bags[:, None]), Columns(("place",)))
    value = torch.as_tensor(np.sin(2 * middle[:12]) + 0.02 * rng.normal(size=12))
    theirs = torch.as_tensor(of_targets[:12, None])
    return Source(ours, Targets(value, None, None, theirs), "mean", "continuous")


@pytest.mark.parametrize("name", ["cmp", "s-cmp", "var-cmp"])
def test_a_kernel_under_which_no_bag_predicts_another_is_left(name, monkeypatch):
    """The joint ascent is made to end in a basin of short lengthscales, and those after it."""
    from workbench.gp.models.conditional_mean import cmp_state

    real, calls = cmp_state.train_from_starts, []

    def ending_badly(whole, rough, hyperparameters, *rest):
        calls.append(1)
        if len(calls) > 3:                  # the search from where training began
            return real(whole, rough, hyperparameters, *rest)
        for item, value in (("rbf.lengthscale", 0.005), ("noise.variance", 1e-7)):
            hyperparameters[item].set(value)
        return History([-1e3], converged=True)

    monkeypatch.setattr(cmp_state, "train_from_starts", ending_badly)
    fit = make(name, starts=1).fit(apart())
    note = next(n for n in fit.history.notes if "sought twice" in n)
    assert "kept the second" in note
    assert fit.hyperparameters["rbf.lengthscale"]["value"] > 0.1
    assert not any("hardly tell" in n for n in fit.history.notes)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("loss, kept", [(0.3, "first"), (0.15, "second")])
def test_a_second_kernel_has_to_predict_left_out_bags_better_too(loss, kept, monkeypatch):
    """Its evidence holds ℓ and λ for known, and they are others under another kernel."""
    from workbench.gp.models.conditional_mean import two_stages

    ends = iter([(1.0, 0.2), (2.0, loss)])      # evidence and left-out error of the two

    def turns(self, history, *_):
        self.reached, relative = next(ends)
        return history, two_stages.LeftOut(relative, relative)

    monkeypatch.setattr(two_stages.TwoStages, "_turns", turns)
    monkeypatch.setattr(two_stages.TwoStages, "_objective", lambda self: self.reached)
    fit = make("cmp", starts=1, max_steps=3).fit(apart())
    assert any(f"kept the {kept}" in note for note in fit.history.notes)


@pytest.mark.parametrize(("name", "options", "by_all"), [
    ("cmp", {}, True), ("var-cmp", {}, True), ("var-cmp", {"batch": 8}, False),
    ("cmp", {"refine": 10}, False)])
def test_two_ends_are_compared_by_the_evidence_that_was_maximised(
        name, options, by_all, monkeypatch):
    """That of clusters is another one, and only for where there is no other."""
    from workbench.gp.models.conditional_mean import cmp_state

    judged = []

    class Comparing:
        def __init__(self, state, search, evidence):
            judged.extend([state.evidence(), evidence()])

        def train(self, *_):
            return History([0.0], converged=True)

    monkeypatch.setattr(cmp_state, "_SMALL", 10)
    monkeypatch.setattr(cmp_state, "TwoStages", Comparing)
    make(name, starts=1, compress=2, **options).fit(apart())
    of_all, used = (float(one) for one in judged)
    assert (used == pytest.approx(of_all, rel=1e-9)) == by_all


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_mediators_that_tell_nothing_are_said():
    with pytest.warns(FitWarning, match="hardly tell the bags apart.*smoother kernel"):
        fit = make("s-cmp", starts=1, max_steps=20).fit(apart(told=False))
    assert any("hardly tell" in note for note in fit.history.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        known = make("s-cmp", starts=1, max_steps=20, tolerance=1e-3).fit(apart())
    assert not any("sought twice" in note for note in known.history.notes)


def test_the_error_of_the_mean_of_the_others_in_closed_form():
    from workbench.gp.models.conditional_mean.first_stage import loss_of_the_mean

    state = make("cmp").condition(unmatched(), given()).state
    shares = torch.tensor([4, 1, 6, 3, 2], dtype=F64) / 16
    with torch.no_grad():
        gram, total = state.operator.bag_gram(list(state.field.terms), state.x), 0.0
        for j in range(5):
            weight = torch.where(torch.arange(5) == j, 0.0, shares)
            gap = torch.eye(5, dtype=F64)[j] - weight / weight.sum()
            total += shares[j] * (gap @ gram @ gap)
        told = float(loss_of_the_mean(state.mean, gram))
    assert told == pytest.approx(float(total / (shares @ gram.diagonal())), rel=1e-9)


@pytest.mark.parametrize("kernel", ["ard-rbf", "matern12", "matern32+linear", "matern52"])
def test_random_features_estimate_the_map(kernel):
    """Within Monte Carlo error of all pairs, which falls with the number of frequencies."""
    from workbench.gp.kernels.bag_gram import bag_cross
    from workbench.gp.kernels.fourier import FourierBags
    from workbench.gp.kernels.grammar import build

    ours = bags((6, 5, 7))
    terms = build(kernel, ours.columns, ours.x)
    a = torch.rand(18, generator=torch.manual_seed(0), dtype=F64)
    exact = bag_cross(terms, ours.x[:5] + 0.3, ours.x, ours, a)
    size = float(a.sum()) / 3
    errors = [float((FourierBags(terms, ours.x, ours, a, count).cross(ours.x[:5] + 0.3) - exact)
                    .square().mean().sqrt()) / size for count in (100, 10_000)]
    assert errors[1] < 0.02 and errors[1] < errors[0]
    again, same = (FourierBags(terms, ours.x, ours, a, 50) for _ in range(2))
    assert torch.equal(again.cross(ours.x[:5]), same.cross(ours.x[:5]))


def test_features_of_bags_are_made_once_for_a_map_and_anew_for_another_kernel(monkeypatch):
    import workbench.gp.fields.mediated as module

    made, kind = [], module.FourierBags
    monkeypatch.setattr(module, "FourierBags", lambda *given: made.append(1) or kind(*given))
    fit = make("cmp", features=500).condition(unmatched(), given())
    operator, terms, x = fit.state.operator, list(fit.state.field.terms), fit.state.field.x
    parts = torch.cat([operator.cross(terms, part, x) for part in x.split(4)])
    torch.testing.assert_close(parts, operator.cross(terms, x, x))
    assert len(made) == 1
    terms[0].kernel.base_kernel.lengthscale = 2 * terms[0].kernel.base_kernel.lengthscale
    moved = operator.cross(terms, x, x)
    assert len(made) == 2 and not torch.allclose(moved, parts)
    operator.features = 50
    assert not torch.allclose(operator.cross(terms, x, x), moved) and len(made) == 3


def test_a_map_by_random_features_is_near_and_an_unknown_kernel_is_refused():
    source = unmatched()
    exact = make("cmp").condition(source, given()).latent(source.bags)
    near = make("cmp", features=20_000).condition(source, given()).latent(source.bags)
    torch.testing.assert_close(near.mean, exact.mean, rtol=0, atol=0.05)
    torch.testing.assert_close(near.std, exact.std, rtol=0, atol=0.05)
    with pytest.raises(InputError, match="random features are known of RBF and Matérn terms"):
        make("cmp", kernel="rq", features=100).condition(source, {
            "mean": 0.0, "rq.variance": 1.0, "rq.lengthscale": 1.0, "rq.alpha": 1.0, "ridge": 0.1,
            "mediator.rbf.lengthscale": 1.0, "noise.variance": 0.1}).latent(source.bags)


def hill(x):
    return 3.0 + x["c0"] ** 2 - 0.5 * x["c1"]


@pytest.mark.filterwarnings("ignore::workbench.checks.ExtrapolationWarning")
@pytest.mark.parametrize("name", ["cmp", "s-cmp", "var-cmp"])
def test_a_mean_function_is_subtracted_through_the_operator(name):
    """As by hand: targets less Aᵀm, with m added to what is predicted."""
    source, options = unmatched(), {}
    if name == "var-cmp":
        options["inducing"] = 16
    fit = make(name, mean_function=hill, **options).condition(source, given())
    x = source.bags.x
    m = 3.0 + x[:, 0] ** 2 - 0.5 * x[:, 1]
    a = fit.state.operator.dense()                  # (M, N); rows sum to less than one
    known = m.mean() + a @ (m - m.mean())
    less = replace(source, targets=replace(source.targets, value=source.targets.value - known))
    by_hand = make(name, **options).condition(less, given())
    assert fit.objective == pytest.approx(by_hand.objective, abs=1e-9)
    new = bags(seed=9)
    grown = 3.0 + new.x[:, 0] ** 2 - 0.5 * new.x[:, 1]
    one, other = fit.at(new), by_hand.at(new)
    torch.testing.assert_close(one.mean, other.mean + grown, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(one.std, other.std, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(
        fit.over(new).mean, by_hand.over(new).mean + SegmentMean(new)(grown), rtol=1e-9, atol=1e-9)
    at = source.targets.mediators
    torch.testing.assert_close(fit.conditional_mean(at).mean,
                               by_hand.conditional_mean(at).mean + known, rtol=1e-8, atol=1e-9)
    moved = fit.with_hyperparameters({"ridge": 0.3}).latent(new).mean
    anew = make(name, mean_function=hill, **options).condition(source, given(ridge=0.3))
    torch.testing.assert_close(moved, anew.latent(new).mean)


def test_a_mean_function_that_explains_leaves_little_and_starts_there():
    """Learnt from clusters or all: the same function in the truth leaves a field of noise."""
    source, truth = roll(count=40)
    x = source.bags.x
    bump = replace(source, targets=replace(source.targets, value=source.targets.value + SegmentMean(
        source.bags)(50 + 20 * x[:, 0] ** 2)))
    fit = make("cmp", kernel="ard-rbf", starts=1,
               mean_function=lambda c: 20 * c["a"] ** 2).fit(bump)
    assert float(fit.state.hyperparameters["mean"].natural.detach()) == pytest.approx(
        50 + float(source.targets.value.mean()), abs=3.0)
    error = (fit.latent(source.bags).mean - truth - 50 - 20 * x[:, 0] ** 2).square().mean().sqrt()
    assert float(error) < 0.5 * float(truth.std())


def test_mean_functions_that_are_none_are_refused():
    source = matched()
    for function, told in ((lambda x: x["hieght"], "mean_function of the inputs c0, c1"),
                           (lambda x: x["c0"][:3], r"shape \(3,\)"),
                           (lambda x: x["c0"] * np.nan, "not finite at 27 individuals")):
        with pytest.raises(InputError, match=told):
            make("cmp", mean_function=function).condition(source, given())
    with pytest.raises(InputError, match="mean_function a Python function"):
        make("cmp", mean_function="linear")
    flat = make("cmp", mean_function=lambda x: 1.0).condition(source, given(mean=0.4))
    plain = make("cmp").condition(source, given(mean=1.4))
    torch.testing.assert_close(flat.latent(source.bags).mean, plain.latent(source.bags).mean)
