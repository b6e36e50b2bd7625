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


def found(term, bags, count):
    """Points, and the share of each in each average (M, P)."""
    seen = geometry(bags.x, SegmentMean(bags))
    operator = averages(term, seen, seen, count)
    return operator.bags.x, operator.dense()


@pytest.mark.parametrize("count", [5, 40, 41, 100, 1000])
def test_there_are_so_many_at_most_and_each_is_an_average_of_its_areas(count):
    bags = made.bags(SIZES)
    place = build("matern32(coordinates)", bags.columns, bags.x, 0)[0]
    points, shares = found(place, bags, count)
    assert min(count, len(SIZES)) - 5 <= len(shares) <= count
    torch.testing.assert_close(shares.sum(1), torch.ones(len(shares)).to(shares))
    assert torch.all(points[:, 0] == 0)                  # a covariate, which place ignores
    if len(SIZES) <= count:         # averages over parts of an area add up to the area's own
        centres = bags.centres().x[:, 1:]
        distance = torch.cdist(shares @ points[:, 1:], centres).min(1).values
        assert distance.max() < 30
    if count == len(SIZES):
        assert distance.max() < 1e-5


def test_a_place_at_several_times_is_one_variable_of_a_map_that_does_not_change():
    """Areas over time would else be variables that are one and the same."""
    rng = np.random.default_rng(0)
    place = np.tile(rng.uniform(0, 100, (60, 2)), (3, 1))
    x = torch.as_tensor(np.column_stack([place, np.repeat([0.0, 1.0, 2.0], 60)]))
    columns = Columns(("x", "y", "time"), (0, 1), ("km", "km", "year"))
    members = torch.as_tensor(np.repeat(np.arange(36), 5))
    bags = Bags(x, members, torch.ones(180).double(), 36, columns)
    still, moving = build("matern32(coordinates)+matern32", columns, x, 0)
    assert len(found(still, bags, 12)[1]) == 12 == len(found(moving, bags, 12)[1])
    assert len(found(moving, bags, 40)[1]) == 36
    points, shares = found(still, bags, 36)
    assert len(shares) == 36            # twelve places in three parts
    assert len(torch.unique(points[:, :2], dim=0)) == 60


def test_a_ring_is_not_what_it_surrounds():
    """Though both have one centre."""
    place = torch.tensor([[x, y] for x in range(-2, 3) for y in range(-2, 3)]).double()
    ring = place.abs().max(1).values.long() // 2
    order = ring.argsort(stable=True)
    bags = Bags(place[order], ring[order], torch.ones(25).double(), 2,
                Columns(("x", "y"), (0, 1), ("km", "km")))
    torch.testing.assert_close(*bags.centres().x)
    shares = found(build("matern32", bags.columns, bags.x, 0)[0], bags, 2)[1]
    assert len(shares) == 2


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_a_fit_is_kept_warmed_and_taken_apart():
    source = made.counts(made.bags(SIZES))
    fit = vbagg(kernel=KERNEL, inducing=25, max_steps=4, **AVERAGES).fit(source)
    new = made.bags((4, 4), seed=5)
    widths = {stop - start for start, stop in fit.state.field.blocks().values()}
    assert widths <= {1, *range(15, 26)}
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
