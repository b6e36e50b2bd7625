"""Inducing variables that are averages over areas: exact where that is known, better elsewhere."""

import dataclasses

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.data.bags import Bags, Columns
from workbench.gp.fields import inducing
from workbench.gp.fields.averages import averages
from workbench.gp.fields.geometry import geometry
from workbench.gp.kernels.grammar import build
from workbench.gp.kernels.operators import SegmentMean
from workbench.gp.models.keeping import keep_state
from workbench.gp.models.registry import MODELS

KERNEL = "linear(covariates)+matern32(covariates)+matern32(coordinates)"
SIZES = tuple(1 + (7 * k) % 9 for k in range(40))
AVERAGES = {"inducing_inputs": "averages"}
NORMAL = {"kernel": "matern32", "likelihood": "normal", "link": "identity", "noise": "constant"}
SMOOTH = {"mean": 0.4, "matern32.variance": 0.6, "matern32.lengthscale": 30.0,
          "noise.variance": 0.05}
COUNTS = {"mean": 3.0, "matern32.variance": 0.3, "matern32.lengthscale": 40.0}


def vbagg(**options):
    return MODELS["vbagg"](**options)


@pytest.mark.parametrize("aggregation", ["mean", "sum"])
def test_normal_values_have_the_exact_posterior_and_evidence(aggregation):
    """As of the exact aggregated GP; values at as many points, k-means++ seeds, have not."""
    source = made.continuous(made.bags(SIZES), aggregation)
    exact = MODELS["aggregated-gp"](noise="constant").condition(source, SMOOTH)
    new, count = made.bags((3, 2, 4), seed=9), len(SIZES)
    errors = []
    for options in (AVERAGES, {}):
        fit = vbagg(**NORMAL, inducing=count, **options).condition(source, SMOOTH)
        assert len(fit.state.field.q_mean) == count
        errors.append([float((a - b).abs().max()) for a, b in (
            (fit.at(new).mean, exact.at(new).mean), (fit.at(new).std, exact.at(new).std),
            (fit.over(new).mean, exact.over(new).mean))] + [exact.objective - fit.objective])
    assert max(errors[0][:-1]) < 1e-5 and -1e-6 < errors[0][-1] < 0.01
    assert all(b > 10 * a for a, b in zip(errors[0][:-1], errors[1][:-1], strict=True))
    assert errors[1][-1] > errors[0][-1]


@pytest.mark.parametrize(("count", "areas"), [(15, 60), (30, 30), (90, 30), (15, 10)])
def test_of_counts_they_are_nearer_than_as_many_points(count, areas):
    """The bound with all individuals as inducing inputs is the highest there is."""
    source = made.counts(made.bags((12,) * areas))
    bounds = [vbagg(kernel="matern32", overdispersion="none", nugget=0.0, **options).condition(
        source, COUNTS).objective for options in (
            {"inducing": 12 * areas}, {"inducing": count, **AVERAGES}, {"inducing": count})]
    assert bounds[0] + 1e-3 > bounds[1] > bounds[2]
    assert bounds[0] - bounds[1] < 0.6 * (bounds[0] - bounds[2])


def found(kernel, bags, count, exact=False):
    """Points, and the share of each in each variable (M, P)."""
    seen = geometry(bags.x, SegmentMean(bags))
    term = build(kernel, bags.columns, bags.x, 0)[0]
    points, operator = averages(term, seen, seen, count, exact=exact)
    return points, torch.eye(len(points)).to(points) if operator is None else operator.dense()


def over_place(place, members, weight=None):
    """Bags of points of a plane, in the order of their bags."""
    order = np.argsort(members, kind="stable")
    place, members = np.asarray(place, float)[order], np.asarray(members)[order]
    weight = np.ones(len(place)) if weight is None else weight[order]
    return Bags(*(torch.as_tensor(part) for part in (place, members, weight)),
                int(members[-1]) + 1, Columns(("x", "y"), (0, 1), ("km", "km")))


@pytest.mark.parametrize(("count", "variables"), [(5, 5), (40, 40), (41, 40), (100, 75)])
def test_there_are_so_many_at_most_and_each_is_an_average_of_its_areas(count, variables):
    bags = made.bags(SIZES)
    points, shares = found("matern32(coordinates)", bags, count)
    assert len(shares) == variables
    torch.testing.assert_close(shares.sum(1), torch.ones(len(shares)).to(shares))
    assert torch.all(points[:, 0] == 0)                  # a covariate, which place ignores
    if variables == len(SIZES):
        distance = torch.cdist(shares @ points[:, 1:], bags.centres().x[:, 1:])
        assert torch.all(distance.min(1).values < 1e-5)
        assert torch.all(distance.min(0).values < 1e-5)


@pytest.mark.parametrize("exact", [False, True])
def test_few_inputs_are_the_variables_themselves(exact):
    """A covariate of three classes, however its rounding differs in the areas' means."""
    bags = made.bags(SIZES)
    classes = np.random.default_rng(0).integers(0, 3, len(bags.x)) / 7
    bags = dataclasses.replace(bags, x=torch.cat([torch.as_tensor(classes)[:, None],
                                                  bags.x[:, 1:]], 1))
    points, shares = found("matern32(covariates)", bags, 30, exact)
    assert points.shape == (3, 3) and torch.equal(shares, torch.eye(3).to(shares))
    torch.testing.assert_close(points[:, 0], torch.tensor([0, 1, 2]).to(points) / 7)


@pytest.mark.parametrize("changing", [False, True])
def test_a_place_at_several_times_is_one_variable_of_a_map_that_does_not_change(changing):
    """Whether or not its people change; of a map of place and time each is its own."""
    rng = np.random.default_rng(0)
    place = np.tile(rng.uniform(0, 100, (60, 2)), (3, 1))
    x = torch.as_tensor(np.column_stack([place, np.repeat([0.0, 1.0, 2.0], 60)]))
    weight = torch.as_tensor(rng.uniform(1, 2, 180) if changing else np.ones(180))
    bags = Bags(x, torch.as_tensor(np.repeat(np.arange(36), 5)), weight, 36,
                Columns(("x", "y", "time"), (0, 1), ("km", "km", "year")))
    still, moving = "matern32(coordinates)", "matern32"
    assert len(found(still, bags, 12)[1]) == 12 and len(found(moving, bags, 40)[1]) == 36
    points, shares = found(still, bags, 36)
    assert len(shares) == 36            # twelve places in three parts
    assert len(points) == len(torch.unique(points[:, :2], dim=0)) == 60
    assert len(found(still, bags, 36, exact=True)[1]) == (36 if changing else 12)


def test_areas_that_differ_are_not_taken_as_one():
    """A ring and what it surrounds have one centre; two crosses one spread, too."""
    grid = np.array([[x, y] for x in range(-2, 3) for y in range(-2, 3)])
    ring = over_place(grid, np.abs(grid).max(1) // 2)
    torch.testing.assert_close(*ring.centres().x)
    crosses = over_place([[5, 5], [-5, -5], [5, -5], [-5, 5]], [0, 0, 1, 1])
    torch.testing.assert_close(*crosses.centres().x)
    for bags in (ring, crosses):
        points, shares = found("matern32", bags, 2, exact=True)
        assert len(shares) == 2 and not torch.allclose(*(shares > 0).double())


def test_with_fewer_than_five_points_for_each_there_are_fewer_or_seeds(monkeypatch):
    bags = made.bags((12,) * 40)
    for each, averaged in ((5, 20), (4, 16), (2.5, 10), (2.4, 0)):
        monkeypatch.setattr("workbench.gp.fields.averages._MOST", int(each * 20 * 480))
        points, shares = found("matern32", bags, 20)
        if averaged:
            assert (len(shares), len(points)) == (averaged, 5 * averaged)
        else:
            assert torch.equal(shares, torch.eye(20).to(shares))


@pytest.mark.parametrize(("share", "averaged"), [(1, 40), (0.5, 40), (0.49, 0), (0.2, 0)])
def test_exact_averages_of_every_area_may_have_twice_as_many_points(monkeypatch, share, averaged):
    """Fewer are no longer exact: the error of a map of smooth values grows at once."""
    bags = made.bags((12,) * 40)
    monkeypatch.setattr("workbench.gp.fields.averages._ALL", 0)
    monkeypatch.setattr("workbench.gp.fields.averages._MOST", int(share * 5 * 40 * 480))
    points, shares = found("matern32", bags, 60, exact=True)
    if averaged:
        assert len(shares) == averaged and len(points) >= 5 * averaged
    else:
        assert torch.equal(shares, torch.eye(60).to(shares))


@pytest.mark.parametrize("each", [5, 3.75, 2.5, 2.25])
def test_few_inputs_are_the_variables_however_many_averages_are_affordable(monkeypatch, each):
    bags = made.bags((12,) * 40)
    x = torch.cat([torch.arange(480)[:, None] % 16 / 7, bags.x[:, 1:]], 1)
    bags = dataclasses.replace(bags, x=x.to(bags.x))
    monkeypatch.setattr("workbench.gp.fields.averages._MOST", int(each * 20 * 480))
    points, shares = found("matern32(covariates)", bags, 20)
    assert len(points) == 16 and torch.equal(shares, torch.eye(16).to(shares))


@pytest.mark.parametrize("lengthscale", [10.0, 30.0])
def test_clusters_that_stand_for_areas_hardly_matter(lengthscale):
    """Values of areas of 60 beside one dense Gaussian; of so many, ten clusters stand for each."""
    bags = made.bags((60,) * 90, weights=False)
    source = made.continuous(bags)
    theta = {**SMOOTH, "matern32.lengthscale": lengthscale}
    exact = MODELS["aggregated-gp"](noise="constant").condition(source, theta)
    new, gaps = made.bags((3, 2, 4), seed=9), []
    for options in (AVERAGES, {}):
        fit = vbagg(**NORMAL, inducing=90, **options).condition(source, theta)
        gaps.append([exact.objective - fit.objective,
                     float((fit.at(new).mean - exact.at(new).mean).abs().max())])
    assert -1e-6 < gaps[0][0] < 0.1 * gaps[1][0] and gaps[0][1] < gaps[1][1]


def test_few_large_areas_are_averages_of_a_thousand_points_and_as_good_as_of_all(monkeypatch):
    """All individuals as points take the square of their number in time and in memory."""
    source = made.continuous(made.bags((450,) * 5, weights=False))
    theta = {**SMOOTH, "matern32.lengthscale": 3.0}

    def fitted():
        fit = vbagg(**NORMAL, **AVERAGES).condition(source, theta)
        return len(fit.state.field.inducing[0]), fit.objective

    many, objective = fitted()
    assert many == 1_000
    monkeypatch.setattr("workbench.gp.fields.averages._TOGETHER", 10)
    few, worse = fitted()
    monkeypatch.setattr("workbench.gp.fields.averages._ALL", 2_250)
    every, best = fitted()
    assert (few, every) == (50, 2_250)
    assert abs(objective - best) < 0.2 * abs(worse - best)


def test_large_areas_among_many_small_ones_have_points_enough():
    """Each had one where clusters were the points, and as many were given to every area."""
    source = made.continuous(made.bags((3,) * 150 + (700,) * 3, weights=False))
    theta = {**SMOOTH, "matern32.lengthscale": 5.0}
    exact = MODELS["aggregated-gp"](noise="constant").condition(source, theta)
    fit = vbagg(**NORMAL, **AVERAGES, inducing=200).condition(source, theta)
    points = len(fit.state.field.inducing[0])
    assert 1_400 < points <= 1_530
    assert 0 < exact.objective - fit.objective < 1e-3
    new = made.bags((3, 2, 4), seed=9)
    torch.testing.assert_close(fit.at(new).mean, exact.at(new).mean, atol=1e-3, rtol=0)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_a_fit_is_kept_warmed_and_taken_apart():
    source = made.counts(made.bags(SIZES))
    fit = vbagg(kernel=KERNEL, inducing=25, max_steps=4, **AVERAGES).fit(source)
    new = made.bags((4, 4), seed=5)
    widths = {stop - start for start, stop in fit.state.field.blocks().values()}
    assert widths == {1, 25}
    kept = keep_state(fit.state, fit.history)
    again = fit.model.recall(source, kept)
    for other, exact in ((again, 1e-12), (fit.model.warm_start(fit, fit.hyperparameters), 1e-3)):
        torch.testing.assert_close(other.at(new).mean, fit.at(new).mean, rtol=exact, atol=1e-9)
        torch.testing.assert_close(other.at(new).std, fit.at(new).std, rtol=exact, atol=1e-9)
    total = sum(part.mean for part in fit.components(new).values())
    torch.testing.assert_close(total, fit.latent(new).mean)
    fewer = dataclasses.replace(kept, tensors={
        name: value for name, value in kept.tensors.items() if "averaging" not in name})
    with pytest.raises(ValueError, match="lacks 'field/0/averaging/1/membership'"):
        fit.model.recall(source, fewer)


def test_gradients_are_those_of_differences_and_parts_change_nothing(monkeypatch):
    source = made.counts(made.bags(SIZES))
    state = vbagg(kernel="matern32", inducing=20, **AVERAGES).condition(source, {
        **COUNTS, "area.std": 0.1, "nugget.std": 0.1}).state
    raw = state.hyperparameters["matern32.lengthscale"].raw

    def objective(shift=0.0):
        with torch.no_grad():
            raw.add_(shift)
        try:
            return state.objective(state.project(), state.field.q_mean, state.field.q_covariance)
        finally:
            with torch.no_grad():
                raw.sub_(shift)

    slope, = torch.autograd.grad(objective(), raw)
    step = 1e-5
    assert float(slope) == pytest.approx(
        float(objective(step) - objective(-step)) / (2 * step), rel=1e-5)
    whole = float(objective())
    monkeypatch.setattr(inducing, "_ENTRIES", 500)
    assert float(objective()) == pytest.approx(whole, rel=1e-12)


def test_single_precision_is_near_double():
    source = made.counts(made.bags(SIZES))
    theta = {**COUNTS, "area.std": 0.1, "nugget.std": 0.1}
    single, double = (vbagg(kernel="matern32", inducing=20, dtype=dtype, **AVERAGES).condition(
        source, theta) for dtype in ("float32", "float64"))
    assert single.objective == pytest.approx(double.objective, rel=1e-4)


def test_a_field_of_the_prior_is_drawn_of_points():
    """Averages would leave it without what they average out."""
    source = made.counts(made.bags(SIZES))
    drawn = [vbagg(kernel="matern32", inducing=10, **options).imagine(source, COUNTS, 0)[0]
             for options in (AVERAGES, {})]
    torch.testing.assert_close(*drawn)


@pytest.mark.parametrize("link", ["identity", "exp"])
def test_noise_is_no_smaller_than_what_clusters_miss(link):
    """With all clusters of few areas as points nothing seemed missed; the bound fell far."""
    bags = made.bags((600,) * 8, weights=False)
    value = np.log(made.rates(bags)) if link == "identity" else made.rates(bags)
    mean = torch.as_tensor(np.bincount(bags.membership.numpy(), value) / 600)
    source = made.continuous(bags)
    source = dataclasses.replace(source, targets=dataclasses.replace(source.targets, value=mean))
    learnt = [vbagg(kernel="matern32(coordinates)", link=link, likelihood="normal", compress=10,
                    inducing=inducing, inducing_inputs=where).fit(source).objective
              for where, inducing in (("averages", 100), ("held", 40))]
    assert learnt[0] > learnt[1] - 10       # of 80 clusters half are averaged over at most


def test_terms_behind_one_set_of_variables_are_exact_too():
    """``layout="joint"``: averages of the sum of all terms."""
    source = made.continuous(made.bags(SIZES))
    kernel = "matern32(covariates)+matern32(coordinates)"
    theta = {**SMOOTH, "matern32_2.variance": 0.3, "matern32_2.lengthscale": 40.0,
             "matern32.lengthscale": 1.5}
    exact = MODELS["aggregated-gp"](kernel=kernel, noise="constant").condition(source, theta)
    fit = vbagg(**NORMAL | {"kernel": kernel}, layout="joint", **AVERAGES).condition(source, theta)
    assert len(fit.state.field.q_mean) == len(SIZES)
    assert fit.objective == pytest.approx(exact.objective, abs=1e-4)
    new = made.bags((3, 2, 4), seed=9)
    torch.testing.assert_close(fit.at(new).mean, exact.at(new).mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(fit.at(new).std, exact.at(new).std, rtol=1e-5, atol=1e-6)
