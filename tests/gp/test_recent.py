"""What candidates of a mixture have in common is computed once, and never mixed up."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.data import compression
from workbench.gp.data.compression import compress
from workbench.gp.kernels import grammar as kernels
from workbench.gp.kernels.grammar import build, inducing_inputs
from workbench.gp.models.vbagg import flat as flat_models
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.numerics import recent
from workbench.gp.numerics.recent import ResultCache


def test_equal_content_is_computed_once():
    kept, calls = ResultCache(2), []

    def ask(*arguments):
        return kept.get(lambda: calls.append(1) or len(calls), *arguments)

    x = torch.arange(6.0)
    assert ask(x, 1, "a") == ask(x.clone(), 1, "a") == 1
    others = [(x + 1, 1, "a"), (x, 2, "a"), (x, 1, "b"), (x.double(), 1, "a"), (x, 1.0, "a"),
              (x.reshape(2, 3), 1, "a"), (x, True, "a"), ((x, 1), "a"), ({"b": x}, 1)]
    for number, arguments in enumerate(others, start=2):
        assert ask(*arguments) == number
    assert ask(x, 1, "a") == len(others) + 2        # the oldest were forgotten


@pytest.mark.parametrize("arguments", [(np.ones(2),), (object(),), (lambda: 1,)])
def test_nothing_is_kept_of_what_cannot_be_compared(arguments):
    kept, calls = ResultCache(2), []
    for _ in range(2):
        kept.get(lambda: calls.append(1), *arguments)
    assert len(calls) == 2


def test_nothing_is_kept_of_very_large_data(monkeypatch):
    monkeypatch.setattr(recent, "_LARGEST", 100)
    kept, calls = ResultCache(2), []
    for size in (5, 5, 50, 50):
        kept.get(lambda: calls.append(1), torch.ones(size))
    assert len(calls) == 3


def test_a_failure_is_not_kept():
    kept = ResultCache(2)
    with pytest.raises(ZeroDivisionError):
        kept.get(lambda: 1 / 0, "a")
    assert kept.get(lambda: 7, "a") == 7


def test_clusters_of_equal_inputs_are_found_once(monkeypatch):
    monkeypatch.setattr(compression, "_RECENT", ResultCache(4))
    calls, own = [], compression.compressed
    monkeypatch.setattr(compression, "compressed",
                        lambda *given: calls.append(1) or own(*given))
    bags = made.bags((30, 20, 9))
    one, other = compress(bags, 5), compress(replace(bags, names=("a", "b", "c")), 5)
    assert len(calls) == 1 and torch.equal(one.of, other.of)
    assert other.bags.names == ("a", "b", "c")
    compress(bags, 6)
    compress(bags, 5, seed=1)
    compress(replace(bags, weight=bags.weight + 1), 5)
    compress(replace(bags, x=bags.x + torch.rand_like(bags.x)), 5)
    assert len(calls) == 5


def test_inducing_inputs_of_equal_columns_are_found_once(monkeypatch):
    monkeypatch.setattr(kernels, "_RECENT", ResultCache(4))
    calls, own = [], kernels._spread_out
    monkeypatch.setattr(kernels, "_spread_out", lambda *given: calls.append(1) or own(*given))
    bags = made.bags((30, 20, 9), covariates=2)
    alone = build("matern32(coordinates)", bags.columns, bags.x, 0)[0]
    both = build("linear+matern32", bags.columns, bags.x, 0)[1]
    first, second = inducing_inputs(alone, bags.x, 7), inducing_inputs(both, bags.x, 7)
    assert len(calls) == 1 and torch.equal(first, second)
    assert (first[:, :2] == 0).all() and first[:, 2:].unique(dim=0).shape == (7, 2)
    first[0] = 0.0                                  # what is kept is nobody's to change
    assert torch.equal(inducing_inputs(alone, bags.x, 7), second)
    inducing_inputs(alone, bags.x, 7, seed=1)
    inducing_inputs(build("matern32(covariates)", bags.columns, bags.x, 0)[0], bags.x, 7)
    assert len(calls) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_kernels_share_the_flat_models_objective(monkeypatch):
    monkeypatch.setattr(flat_models, "_RECENT", ResultCache(4))
    flat, own = [], VariationalState.train

    def counted(self, *given):
        flat.append(self.options.kernel == "constant")
        return own(self, *given)

    monkeypatch.setattr(VariationalState, "train", counted)
    source = made.counts(made.bags((4,) * 10))
    for kernel in ("rbf", "matern32", "linear"):
        VBAgg(kernel=kernel, inducing=6, max_steps=5).fit(source)
    assert sum(flat) == 1
    VBAgg(kernel="rbf", inducing=6, max_steps=5, overdispersion="area").fit(source)
    more = replace(source, targets=replace(source.targets, value=source.targets.value + 1))
    VBAgg(kernel="rbf", inducing=6, max_steps=5).fit(more)
    assert sum(flat) == 3
