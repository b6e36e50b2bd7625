"""VarCMP on minibatches of targets and individuals, with learnt inducing inputs, and features."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
import torch

from tests.gp.test_cmp import F64, given, make, roll, unmatched
from workbench.checks import Cancelled, InputError
from workbench.gp.kernels import bag_gram
from workbench.gp.kernels.operators import SegmentMean
from workbench.gp.models.conditional_mean import minibatches
from workbench.gp.models.conditional_mean.minibatch_bound import Anchor, Draws, bound_of
from workbench.gp.models.keeping import keep_state, recall_state

#: The start may end before it converges.
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
ADAM = {"inducing": 10, "batch": 10, "mediation": "evidence", "max_steps": 200}


def everyone(state) -> SegmentMean:
    return SegmentMean(replace(state.source.bags, x=state.x))


def whole(state) -> float:
    each = torch.arange(len(state.value))
    return float(bound_of(state, state.field, each, everyone(state), everyone(state)).detach())


def drawn(state) -> list[tuple[float, SegmentMean]]:
    """All sets of one individual of each bag, with their probabilities."""
    bags = state.source.bags
    shares = SegmentMean(bags).coefficients()
    inside = [torch.nonzero(bags.membership == j)[:, 0].tolist() for j in range(bags.count)]
    return [(float(shares[list(rows)].prod()), SegmentMean(replace(
        bags, x=state.x[list(rows)], membership=torch.arange(bags.count),
        weight=torch.ones(bags.count, dtype=F64)))) for rows in product(*inside)]


@pytest.mark.parametrize("anchored", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "rbf+linear"])
def test_the_estimate_is_unbiased_over_all_minibatches(kernel, anchored):
    """Every pair of sets of individuals with every batch of targets, by its probability."""
    source = unmatched((2, 1, 3), targets=3, weights=True)
    values = given(**({"linear.variance": 0.6} if "linear" in kernel else {}))
    state = make("var-cmp", kernel=kernel, inducing=3).condition(source, values).state
    anchor = Anchor.of(state.field) if anchored else None
    if anchored:        # where hyperparameters have moved on from
        with torch.no_grad():
            for item in state.hyperparameters:
                item.raw += 0.2
    total = 0.0
    sets, batches = drawn(state), list(combinations(range(3), 2))
    assert sum(share for share, _ in sets) == pytest.approx(1)
    for (p, one), (q, other) in product(sets, sets):
        for batch in batches:
            value = bound_of(state, state.field, torch.tensor(batch), one, other, anchor)
            total += p * q / len(batches) * float(value.detach())
    assert total == pytest.approx(whole(state), rel=1e-7)


def test_all_targets_and_individuals_are_the_collapsed_bound_and_the_exact_evidence():
    source = unmatched()
    few, many = (make("var-cmp", inducing=m).condition(source, given()) for m in (5, 100))
    assert whole(few.state) == pytest.approx(few.objective, abs=1e-6)
    exact = make("cmp").condition(source, given()).objective
    assert whole(many.state) == pytest.approx(exact, abs=1e-3)
    assert whole(few.state) < exact


def test_individuals_are_drawn_of_every_bag_by_their_weights():
    state = make("var-cmp", inducing=3).condition(
        unmatched((2, 1, 3), targets=3, weights=True), given()).state
    draws = Draws(state.operator.base, torch.arange(12, dtype=F64).reshape(6, 2), 5000,
                  torch.Generator().manual_seed(0))
    found = draws().bags
    assert found.membership.bincount().tolist() == [5000] * 3
    rows = found.x[:, 0].long() // 2
    assert torch.equal(state.source.bags.membership[rows], found.membership)
    torch.testing.assert_close(rows.bincount(minlength=6).double() / 5000,
                               state.operator.base.coefficients(), atol=0.03, rtol=0)


def test_an_anchor_takes_the_error_of_few_individuals_away():
    state = make("var-cmp", inducing=15).condition(roll()[0], {
        **given(), "mediator.rbf.lengthscale": 0.2, "noise.variance": 1e-3}).state
    draw = Draws(state.operator.base, state.x, 4, torch.Generator().manual_seed(0))
    each, anchor = torch.arange(len(state.value)), Anchor.of(state.field)
    spread = [np.std([float(bound_of(state, state.field, each, draw(), draw(), by).detach())
                      for _ in range(20)]) for by in (None, anchor)]
    assert spread[1] < 0.1 * spread[0]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["held", "learnt"])
def test_minibatches_end_where_all_data_do(where):
    source, truth = roll(per_bag=80)
    all_at_once = make("var-cmp", inducing=10, mediation="evidence", inducing_inputs="held").fit(
        source)
    fit = make("var-cmp", **ADAM, inducing_inputs=where).fit(source)
    assert fit.history.converged
    assert fit.objective > all_at_once.objective - 1.0
    errors = [(one.latent(source.bags).mean - truth).square().mean().sqrt()
              for one in (fit, all_at_once)]
    assert errors[0] < 1.1 * errors[1]
    assert any("minibatches of 10 targets" in note for note in fit.history.notes)


def test_learnt_inducing_inputs_raise_the_bound_and_are_kept():
    source = roll(per_bag=6)[0]
    options = {"inducing": 4, "mediation": "evidence", "max_steps": 200}
    held, learnt = (make("var-cmp", **options, inducing_inputs=where).fit(source)
                    for where in ("held", "learnt"))
    assert learnt.objective > held.objective + 0.1
    places = learnt.state.field.inducing.inducing[0]
    assert not torch.allclose(places, held.state.field.inducing.inducing[0])
    again = learnt.with_hyperparameters({"noise.variance": 0.01})
    assert torch.equal(again.state.field.inducing.inducing[0], places)
    twin = make("var-cmp", **options, inducing_inputs="learnt")._assemble(source)
    recall_state(twin, keep_state(learnt.state, learnt.history))
    assert torch.equal(twin.field.inducing.inducing[0], places)


def test_cancelled_minibatches_leave_a_posterior():
    def stop(step, objective, fraction):
        if step > 2:
            raise Cancelled

    fit = make("var-cmp", **ADAM).fit(roll(per_bag=6)[0], callback=stop)
    assert fit.history.cancelled and len(fit.history.objective) == 3
    assert torch.isfinite(fit.state.field.inducing.q_mean).all()


def test_a_stop_in_the_first_pass_keeps_the_start(monkeypatch):
    source, options = roll(per_bag=80)[0], {**ADAM, "max_steps": 20, "starts": 1}
    start = make("var-cmp", **{**options, "batch": 0, "refine": 0}).fit(source)
    values, estimate = [], minibatches.bound_of

    def third(*given):
        if len(values) == 2:
            raise KeyboardInterrupt
        values.append(estimate(*given))
        return values[-1]

    monkeypatch.setattr(minibatches, "bound_of", third)
    fit = make("var-cmp", **options, inducing_inputs="learnt").fit(source)
    assert fit.history.cancelled and "cancelled: the start is kept" in fit.history.notes
    assert torch.equal(*(one.state.field.inducing.inducing[0] for one in (fit, start)))
    assert fit.hyperparameters == start.hyperparameters


def test_a_nugget_ties_targets_together():
    with pytest.raises(InputError, match="leave out nugget or batch"):
        make("var-cmp", batch=5, nugget=0.1)


@pytest.mark.parametrize("name", ["cmp", "var-cmp"])
def test_features_in_training_are_near_the_kernel(name, monkeypatch):
    source = unmatched()
    state = make(name, train_features=20_000).condition(
        source, given(**{"noise.variance": 1.0})).state
    field = state.training_field()
    near = state._evidence(field, field.operator)
    exact = state.evidence()
    assert float(near.detach()) == pytest.approx(float(exact.detach()), abs=0.05)
    raw = state.hyperparameters["rbf.lengthscale"].raw
    slopes = [float(torch.autograd.grad(one, raw)[0]) for one in (near, exact)]
    assert slopes[0] == pytest.approx(slopes[1], abs=0.05)
    monkeypatch.setattr(bag_gram, "_STORED", 40_000 * 3)        # three individuals at once
    parts = state._evidence(field, field.operator)
    assert float(parts.detach()) == pytest.approx(float(near.detach()), abs=1e-9)
    assert float(torch.autograd.grad(parts, raw)[0]) == pytest.approx(slopes[0], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cmp", "var-cmp"])
def test_a_fit_by_features_takes_all_individuals(name):
    source = roll(per_bag=80)[0]
    options = {"refine": 0, "mediation": "evidence"}
    fit, few = (make(name, **options, train_features=count).fit(source) for count in (500, 0))
    said = [any("on at most 20 clusters" in note for note in one.history.notes)
            for one in (fit, few)]
    assert said == [False, True]
    assert fit.objective > few.objective - 0.5
