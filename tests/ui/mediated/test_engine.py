"""Posteriors of the app "mediated" are those of the package; fields are cut alike at both sizes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.ui.mediated import background
from workbench.ui.mediated.data import cut
from workbench.ui.mediated.engine import Bench
from workbench.ui.mediated.model import KERNELS, KINDS, MEDIATED, Model
from workbench.ui.mediated.state import State
from workbench.ui.mediated.worlds import world

CLASSES = {"cmp": wb.CMP, "s-cmp": wb.ShrinkageCMP, "var-cmp": wb.VarCMP,
           "aggregated-gp": wb.AggregatedGP,
           "gpr": wb.CentroidGP, "bagg-gp": wb.IndependentBagsGP}
pytestmark = pytest.mark.usefixtures("one_thread")



def bench_of(state: State) -> tuple[Bench, Model]:
    model = state.chosen
    data = cut(world(*state.world_key), state.side, state.share, state.split, state.mediator)
    return Bench(data, model.grammar, model.mediator_kernel), model


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("kind", CLASSES)
def test_posteriors_are_those_of_the_package(kind, share):
    bench, model = bench_of(State(source="made", share=share, side=9, noise=1.0, model=kind))
    predicted = bench.posterior(model)
    values = bench.data.values if kind in MEDIATED else bench.values()
    given = model.hyperparameters(bench.labels, float(values.mean()))
    options = {"kernel": model.grammar, "noise": "constant"}
    if kind in MEDIATED:
        options["mediator_kernel"] = model.mediator_kernel
        fit = CLASSES[kind](**options).condition(bench.data.bags, given, bench.data.targets)
    else:
        bags = bench.data.imputed(model.mediator_kernel)
        fit = CLASSES[kind](**options).condition(bags, given)
    # The published model knows bags by their pixels: blocks without a value keep their prior.
    expected = fit.latent(bench.data.pixels)
    np.testing.assert_allclose(predicted.mean, expected.mean.values, rtol=0, atol=1e-8)
    np.testing.assert_allclose(predicted.sd, expected.std.values, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel, mediator, joint", [
    *((kernel, "theta_19.place", "sum") for kernel in KERNELS.values()),
    *(("matern32.rbf", mediator, joint) for mediator, joint in (
        ("place", "sum"), ("theta_19", "sum"), ("theta_19.place", "product")))])
def test_every_kernel_and_mediator_is_that_of_the_package(kernel, mediator, joint):
    bench, model = bench_of(State(side=15, kernel=kernel, mediator=mediator, joint=joint,
                                  ridge=1e-4))
    given = model.hyperparameters(bench.labels, float(bench.data.values.mean()))
    fit = wb.CMP(kernel=model.grammar, mediator_kernel=model.mediator_kernel).condition(
        bench.data.bags, given, bench.data.targets)
    expected, predicted = fit.latent(bench.data.pixels), bench.posterior(model)
    np.testing.assert_allclose(predicted.mean, expected.mean.values, rtol=0, atol=1e-8)
    np.testing.assert_allclose(predicted.sd, expected.std.values, rtol=0, atol=1e-8)
    assert predicted.evidence == pytest.approx(fit.inner.state.evidence().item(), abs=1e-6)


def test_kept_means_give_what_new_ones_give():
    bench, model = bench_of(State(side=12))
    bench.posterior(model)
    moves = ({"spread": 1.1}, {"noise": 0.3}, {"far": 100.0}, {"ridge": 1e-3}, {"near": 1.1},
             {"lengthscale": 40.0}, {"detail": 100.0}, {"detail_spread": 0.2})
    for move in moves:
        before = bench.evaluations
        model = replace(model, **move)
        predicted = bench.posterior(model)
        spent = bench.evaluations - before
        assert (spent > 0) == (next(iter(move)) in ("lengthscale", "detail"))
        anew = Bench(bench.data, bench.kernel, bench.mediator_kernel).posterior(model)
        np.testing.assert_allclose(predicted.mean, anew.mean, atol=1e-9)
        np.testing.assert_allclose(predicted.sd, anew.sd, atol=1e-9)


@pytest.mark.parametrize("kind", ["cmp", "var-cmp"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_answers_after_a_change_are_those_of_a_cold_start(share, kind):
    for side in (3, 4):
        state = State(side=side, share=share, model=kind)
        bench, model = bench_of(state)
        setting = background.Setting(state.world_key, side, share, 0, state.mediator, "", "")
        bags = bench.data.bags.sizes["bag"]
        assert bags <= 500 or not share
        bench.posterior(model)
        for name, value in (("far", 400.0), ("ridge", 1e-5), ("noise", 0.2), ("spread", 0.8),
                            ("lengthscale", 112.0), ("detail", 200.0)):
            changed = replace(model, **{name: value})
            found = background.answer(setting, bench, changed)
            cold = bench_of(state)[0].posterior(changed)
            np.testing.assert_allclose(found.posterior.mean, cold.mean, atol=1e-8)
            np.testing.assert_allclose(found.posterior.sd, cold.sd, atol=1e-8)
            assert 0 < found.scores["rmse"] < 2


def test_both_grids_have_the_same_bags_and_targets():
    fields = world("made")
    thin, full = (cut(fields, 9, 0.5, 3, "pressure.place", fine) for fine in (False, True))
    assert full.pixels.sizes["individual"] == 16 * thin.pixels.sizes["individual"]
    assert thin.bags["bag"].values.tolist() == full.bags["bag"].values.tolist()
    np.testing.assert_allclose(thin.values, full.values, atol=1e-9)
    np.testing.assert_allclose(thin.bags["mediators"], full.bags["mediators"], atol=1e-6)
    assert np.isnan(thin.observed).sum() == thin.bags.sizes["bag"]
    assert (thin.bag_of_pixel >= 0).sum() == thin.individuals.size
    np.testing.assert_array_equal(
        thin.pixels["truth"].values[thin.individuals], thin.bags["truth"].values)


def test_the_map_in_full_reports_its_progress():
    state = State(source="made", side=15, share=0.75)
    model = state.chosen
    data = cut(world(*state.world_key), 15, 0.75, 0, state.mediator, fine=True)
    told = []
    predicted = Bench(data, model.grammar, model.mediator_kernel).posterior(model, told.append)
    assert predicted.mean.size == data.pixels.sizes["individual"] > 60_000
    assert told == sorted(told) and len(told) > 20 and told[0] == 0 and told[-1] < 1


def test_short_lengthscales_of_the_mediator_leave_targets_unused():
    short, model = bench_of(State(mediator="place", far=4.0, ridge=1e-4))
    predicted = short.posterior(model)
    assert predicted.weights.total < 0.1 and predicted.weights.own == 0
    noisy = short.posterior(replace(model, noise=4.0))
    assert noisy.mean.std() < 0.1 and noisy.sd.min() > 0.9 * model.spread    # as assumed
    matched, model = bench_of(State(mediator="place", far=4.0, share=0.0, ridge=1e-6))
    predicted = matched.posterior(model)
    aggregated = matched.posterior(replace(model, kind="aggregated-gp"))
    assert predicted.weights.own > 0.9        # the limit of a delta kernel
    assert np.abs(predicted.mean - aggregated.mean).max() < 0.1


def test_learnt_values_come_back_as_choices():
    state = State()
    bench, model = bench_of(state)
    given = model.hyperparameters(bench.labels, 0.0)
    given["mediator.matern32.variance"] *= 7        # only the ratio to λ counts
    given["mediator.rbf.variance"] *= 7
    given["ridge"] *= 7
    found = model.learnt(given, bench.labels)
    for name, value in found.items():
        assert value == pytest.approx(getattr(model, name)), name
    assert set(KINDS.values()) >= set(CLASSES)


@pytest.mark.parametrize("source, side, share, fine", [
    ("uk", 4, 0.0, False), ("uk", 5, 0.5, False), ("made", 9, 0.5, False), ("made", 15, 0.5, True)])
@pytest.mark.parametrize("kernel", ["matern12", "matern32", "rbf"])
def test_displacements_give_the_means_of_all_pairs(source, side, share, fine, kernel):
    from workbench.gp.kernels.grammar import build

    state = State(source=source, side=side, share=share)
    data = cut(world(*state.world_key), side, share, 0, state.mediator, fine)
    bench = Bench(data, f"{kernel}(coordinates)", state.mediator_kernel)
    columns = bench.state.source.bags.columns
    lattice = data.lattice(bench.new, columns.coordinates)
    term, = build(bench.kernel, columns, bench.state.x)
    rows = torch.linspace(0, len(bench.new) - 1, 300).long()
    with torch.no_grad():
        found = lattice.means(term)[rows]
        pairs = bench.state.operator.base.cross([term], bench.new[rows], bench.state.x)
    assert lattice.covers(term)
    # Of all pairs, distances are differences of squares: nearly equal places lose digits.
    np.testing.assert_allclose(found, pairs, rtol=0, atol=1e-6 if kernel == "matern12" else 1e-12)
    other, = build("rbf(covariates)", columns, bench.state.x)
    assert not lattice.covers(other)
