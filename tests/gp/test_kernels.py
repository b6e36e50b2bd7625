"""The kernel grammar, groups of columns, and hyperparameters of every kernel."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import gpytorch
import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.data.bags import Columns
from workbench.gp.kernels.grammar import (
    KERNELS,
    Term,
    build,
    inducing_inputs,
    median_distance,
    parse,
)
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState

COLUMNS = Columns(("evi", "slope", "x", "y"), (2, 3), ("", "", "km", "km"))
PLAIN = Columns(("a", "b"))
NORMAL = {"likelihood": "normal", "link": "identity"}      # q in one step


def shape(text, columns=COLUMNS):
    return [[(f.name, f.ard, f.columns) for f in term] for term in parse(text, columns)]


def test_groups_and_fall_backs():
    assert shape("matern32") == [[("matern32", False, (0, 1, 2, 3))]]
    assert shape("linear+matern32") == [[("linear", False, (0, 1))], [("matern32", False, (2, 3))]]
    assert shape("ard-rbf + matern52") == [[("rbf", True, (0, 1))], [("matern52", False, (2, 3))]]
    assert shape("linear+matern32", PLAIN) == [
        [("linear", False, (0, 1))], [("matern32", False, (0, 1))]]
    assert shape("rbf*periodic(slope)") == [[("rbf", False, (0, 1)), ("periodic", False, (1,))]]
    assert shape("constant+matern32") == [
        [("constant", False, ())], [("matern32", False, (0, 1, 2, 3))]]
    assert shape("matern12(evi)") == [[("matern12", False, (0,))]]
    assert shape("rq(all)") == [[("rq", False, (0, 1, 2, 3))]]
    assert shape("malaria") == shape("ard-rbf(covariates)+ard-matern32(coordinates)")


@pytest.mark.parametrize("text, message", [
    ("matern23", "did you mean 'matern"),
    ("linear+rfb", "did you mean 'rbf'"),
    ("rbf(evo)", r"group of columns .*evi, slope.*'evo'"),
    ("rbf(", "not understood"),
    ("rbf++linear", "not understood"),
    ("", "not understood"),
    ("ard-linear", "ard"),
    ("ard-constant", "ard"),
])
def test_errors_of_the_grammar(text, message):
    with pytest.raises(InputError, match=message):
        parse(text, COLUMNS)


def test_an_empty_group_is_refused():
    with pytest.raises(InputError, match="the data have no coordinates"):
        parse("matern32(coordinates)", PLAIN)


FORMULAS = {
    "rbf": lambda d, ls: np.exp(-0.5 * (d / ls) ** 2),
    "matern12": lambda d, ls: np.exp(-d / ls),
    "matern32": lambda d, ls: (1 + np.sqrt(3) * d / ls) * np.exp(-np.sqrt(3) * d / ls),
    "matern52": lambda d, ls: (1 + np.sqrt(5) * d / ls + 5 * d**2 / 3 / ls**2)
    * np.exp(-np.sqrt(5) * d / ls),
    "rq": lambda d, ls: 1 / (1 + d**2 / (2 * ls**2)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_stationary_kernels_are_their_formulas(name):
    x = torch.randn(6, 2, generator=torch.manual_seed(0), dtype=torch.float64)
    term = build(name, PLAIN, x)[0]
    distance = torch.cdist(x, x).numpy()
    expected = FORMULAS[name](distance, median_distance(x))
    np.testing.assert_allclose(term(x, x).detach(), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(term.diagonal(x).detach(), 1)


def test_weights_represent_linear_and_constant_terms_exactly():
    x = torch.randn(6, 2, generator=torch.manual_seed(0), dtype=torch.float64)
    for term in build("linear+constant", PLAIN, x):
        phi = term.basis(x)
        torch.testing.assert_close(phi @ phi.mT, term(x, x))
        torch.testing.assert_close(term.diagonal(x), term(x, x).diagonal())


def test_median_distance():
    x = torch.tensor([[0.0], [1.0], [1.0]]).double()
    assert median_distance(x) == pytest.approx(np.sqrt(0.5))
    assert median_distance(torch.zeros(4, 2)) == 1.0
    assert median_distance(torch.zeros(1, 2)) == 1.0


def test_inducing_inputs_are_distinct_data_in_the_terms_columns():
    x = torch.randn(50, 4, generator=torch.manual_seed(1), dtype=torch.float64)
    x = torch.cat([x, x[:10]])
    term = build("linear+matern32", COLUMNS, x)[1]
    z = inducing_inputs(term, x, 7, seed=3)
    assert z.shape == (7, 4)
    assert torch.equal(z, inducing_inputs(term, x, 7, seed=3))
    assert (z[:, :2] == 0).all()
    rows = {tuple(r) for r in x[:, 2:].tolist()}
    assert all(tuple(r) in rows for r in z[:, 2:].tolist())
    assert len(inducing_inputs(term, x, 500)) == 50


def test_of_very_many_distinct_rows_inducing_inputs_are_sought_among_a_part(monkeypatch):
    x = torch.randn(50, 4, generator=torch.manual_seed(2), dtype=torch.float64)
    term = build("linear+matern32", COLUMNS, x.repeat(3, 1))[1]
    whole = inducing_inputs(term, x.repeat(3, 1), 7, seed=3)
    monkeypatch.setattr("workbench.gp.kernels.grammar._ENOUGH", 50)     # distinct ones of 150
    assert torch.equal(inducing_inputs(term, x.repeat(3, 1), 7, seed=3), whole)
    monkeypatch.setattr("workbench.gp.kernels.grammar._ENOUGH", 12)
    few = inducing_inputs(term, x[:49], 20, seed=3)
    rows = {tuple(r) for r in x[:, 2:].tolist()}
    assert len({tuple(r) for r in few.tolist()}) == len(few) == 12
    assert all(tuple(r) in rows for r in few[:, 2:].tolist())


EVERY = {
    "constant": {"constant.variance"},
    "linear": {"linear.variance"},
    **{name: {f"{name}.variance", f"{name}.lengthscale"}
       for name in ("rbf", "matern12", "matern32", "matern52")},
    "rq": {"rq.variance", "rq.lengthscale", "rq.alpha"},
    "periodic": {"periodic.variance", "periodic.lengthscale", "periodic.period"},
    "linear+matern32": {"linear.variance", "matern32.variance", "matern32.lengthscale"},
    "rbf+rbf": {"rbf.variance", "rbf.lengthscale", "rbf_2.variance", "rbf_2.lengthscale"},
    "rbf*periodic(c0)": {"rbf*periodic.variance", "rbf*periodic.rbf.lengthscale",
                         "rbf*periodic.periodic.lengthscale", "rbf*periodic.periodic.period"},
    "rbf(c0)*rbf(c1)": {"rbf*rbf.variance", "rbf*rbf.rbf.lengthscale",
                        "rbf*rbf.rbf_2.lengthscale"},
    "linear*rq": {"linear*rq.variance", "linear*rq.rq.lengthscale", "linear*rq.rq.alpha"},
    "malaria": {"rbf.variance", "rbf.lengthscale", "matern32.variance", "matern32.lengthscale"},
}


def test_every_kernel_name_is_covered_here():
    assert set(KERNELS) <= set(EVERY)


@pytest.mark.parametrize("kernel", EVERY)
def test_every_hyperparameter_has_a_name_and_goes_out_and_back_in(kernel):
    source = made.continuous(made.bags(covariates=2))
    model = VBAgg(kernel=kernel, inducing=10, **NORMAL)
    start = VariationalState(model, source).hyperparameters.report()
    moved = {name: 1.1 * np.asarray(entry["value"]) for name, entry in start.items()}
    fit = model.condition(source, moved)
    assert set(fit.hyperparameters) == EVERY[kernel] | {"mean", "noise.variance"}
    free = sum(p.numel() for p in fit.state.field.parameters() if p.requires_grad)
    reported = sum(np.size(v["value"]) for v in fit.hyperparameters.values()) - 1    # noise
    assert free == reported
    again = model.condition(source, fit.hyperparameters)
    for name, value in fit.hyperparameters.items():
        assert again.hyperparameters[name]["value"] == pytest.approx(value["value"], rel=1e-9)
    torch.testing.assert_close(fit.latent(source.bags).mean, again.latent(source.bags).mean)
    assert again.objective == pytest.approx(fit.objective, abs=1e-6)


def test_ard_gives_each_column_its_own_lengthscale_with_its_own_unit_and_prior():
    bags = made.bags(covariates=2)
    x = bags.x.clone()
    x[:, 1] *= 1000.0
    bags = replace(bags, x=x, columns=Columns(bags.columns.names, (2, 3), ("1", "m", "km", "km")))
    fit = VBAgg(kernel="malaria", inducing=8).condition(made.counts(bags), {
        "mean": 3.0, "rbf.variance": 0.2, "rbf.lengthscale": [1.0, 800.0],
        "matern32.variance": 0.1, "matern32.lengthscale": [20.0, 30.0]})
    assert fit.hyperparameters["rbf.lengthscale"] == {
        "value": pytest.approx([1.0, 800.0]), "unit": "1, m"}
    assert fit.hyperparameters["matern32.lengthscale"]["unit"] == "km"
    item = fit.state.hyperparameters["rbf.lengthscale"]
    scale = fit.state.transform.scale[:2]
    standard = fit.state._kernel_terms()[0].kernel.base_kernel.lengthscale.detach().reshape(-1)
    torch.testing.assert_close(standard * scale, torch.tensor([1.0, 800.0]).double())
    # The prior's median is the same number of standard deviations of each covariate.
    state = VariationalState(VBAgg(kernel="malaria", inducing=8), made.counts(bags))
    item = state.hyperparameters["rbf.lengthscale"]
    natural = item.natural.detach().reshape(-1)
    medians = torch.as_tensor(item.prior.median, dtype=torch.float64)
    torch.testing.assert_close(medians, natural)
    str(item.prior)


def test_gpytorch_kernels_are_accepted_and_copied():
    base = gpytorch.kernels
    kernels = {
        "single": (base.ScaleKernel(base.RBFKernel()), 2),
        "sum": (base.ScaleKernel(base.RBFKernel(active_dims=(0,)))
                + base.ScaleKernel(base.MaternKernel(nu=1.5, active_dims=(1, 2))), 4),
        "product": (base.ScaleKernel(base.RBFKernel() * base.PeriodicKernel()), 4),
        "bare": (base.RBFKernel(ard_num_dims=3), 1),
    }
    source = made.continuous(made.bags())
    for kernel, count in kernels.values():
        before = [p.clone() for p in kernel.parameters()]
        model = VBAgg(kernel=kernel, inducing=8, **NORMAL)
        fit = model.condition(source, VariationalState(model, source).hyperparameters.report())
        assert len(fit.hyperparameters) == count + 2        # mean and noise
        assert all(torch.equal(a, b) for a, b in zip(before, kernel.parameters(), strict=True))
        again = model.condition(source, fit.hyperparameters)
        assert again.objective == pytest.approx(fit.objective, abs=1e-6)


def test_two_threads_may_ask_one_kernel():
    """GPyTorch changes a kernel while its matrix is computed; whoever asks meanwhile waits."""
    inside, asked = threading.Event(), threading.Event()

    class Slow(gpytorch.kernels.RBFKernel):
        def forward(self, x1, x2, **options):
            if not inside.is_set():
                inside.set()
                asked.wait(0.3)
            return super().forward(x1, x2, **options)

    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).double()
    kernel = Slow(active_dims=(0, 2)).double()
    term = Term("kernel", kernel, (0, 2))
    with torch.no_grad(), ThreadPoolExecutor(2) as pool:
        first = pool.submit(term, x, x)
        assert inside.wait(10)
        second, diagonal = pool.submit(term, x, x), term.diagonal(x)
        asked.set()
        expected = torch.exp(-0.5 * torch.cdist(x[:, [0, 2]], x[:, [0, 2]]).square()
                             / kernel.lengthscale**2)
        torch.testing.assert_close(first.result(), expected)
        torch.testing.assert_close(second.result(), expected)
        torch.testing.assert_close(diagonal, torch.ones(5).double())


@pytest.mark.parametrize("name", [
    "ard-rbf", "periodic", "rbf*periodic", "linear*rbf", "constant*rq", "linear", "constant",
    "matern32(place)*matern12(a)"])
def test_kernels_at_once_are_those_on_demand(name):
    """What GPyTorch makes of the same kernel: values, diagonals and gradients."""
    x = torch.randn(7, 3, generator=torch.manual_seed(2), dtype=torch.float64)
    z = torch.cat([x[:2], x[2:5] + 0.3])
    term = build(name, Columns(("a", "x", "y"), (1, 2), ("", "km", "km")), x)[0]
    for one, other in ((x, z), (x, x), (x, x.clone())):
        found, expected = term(one, other), term.kernel(one, other).to_dense()
        assert isinstance(found, torch.Tensor)
        torch.testing.assert_close(found, expected)
        free = [p for p in term.parameters() if p.requires_grad]
        for ours, theirs in zip(*(torch.autograd.grad(m.square().sum(), free, allow_unused=True)
                                  for m in (found, expected)), strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None:
                torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(term.diagonal(x), term(x, x).diagonal())


def test_stationary_kernels_do_not_load_sympy():
    code = """import sys, torch
from workbench.gp.data.bags import Columns
from workbench.gp.kernels.grammar import build
x = torch.randn(5, 2).double()
for term in build("rbf*periodic+matern32", Columns(("a", "b"), (), ("", "")), x):
    term(x, x[:2]), term(x, x), term.diagonal(x)
print("sympy" in sys.modules)"""
    assert subprocess.run([sys.executable, "-c", code], text=True, check=True,
                          capture_output=True).stdout.strip() == "False"
