import subprocess
import sys

import gpytorch
import numpy as np
import pytest
import torch

from workbench.checks import InputError
from workbench.granularity.correlations import CORRELATIONS, correlation, gram, rq

KERNELS = {
    "matern12": gpytorch.kernels.MaternKernel(nu=0.5),
    "matern32": gpytorch.kernels.MaternKernel(nu=1.5),
    "matern52": gpytorch.kernels.MaternKernel(nu=2.5),
    "rbf": gpytorch.kernels.RBFKernel(),
    "rq": gpytorch.kernels.RQKernel(),
}


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("d", [1, 3])
def test_kernels_are_those_of_gpytorch(name, d):
    rng = np.random.default_rng(d)
    a, b = rng.normal(size=(20, d)), rng.normal(size=(9, d))
    kernel = KERNELS[name].double()
    kernel.lengthscale = 0.7
    if name == "rq":
        kernel.alpha = 1.0
    theirs = kernel(torch.tensor(a), torch.tensor(b)).to_dense().detach().numpy()
    np.testing.assert_allclose(gram(a, b, name, 0.7, 2.5), 2.5 * theirs, atol=1e-7)


def test_aliases_and_callables():
    assert correlation("laplacian") is correlation("matern12")
    assert correlation("gaussian") is correlation("rbf")
    a = np.array([0.0, 0.4, 2.0])
    np.testing.assert_allclose(gram(a, a, lambda r: rq(r, 2.0), 1.0),
                               (1 + np.subtract.outer(a, a) ** 2 / 4) ** -2)


def test_one_lengthscale_per_dimension():
    a = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_allclose(gram(a, a, "rbf", [2.0, 0.5]), gram(a / [2.0, 0.5], a / [2.0, 0.5],
                                                                  "rbf", 1.0))


@pytest.mark.parametrize("call", [
    lambda: gram([0.0], [1.0], "gausian"),
    lambda: gram([0.0], [1.0], lambda r: 2 * np.exp(-r)),
    lambda: gram([0.0], [1.0], "rbf", 0.0),
    lambda: gram([0.0], [1.0], "rbf", [1.0, 2.0]),
    lambda: gram([0.0], [1.0], "rbf", 1.0, -1.0),
    lambda: gram([[0.0, 1.0]], [1.0], "rbf"),
    lambda: gram([np.nan], [1.0], "rbf"),
    lambda: gram(np.zeros((2, 2, 2)), [1.0], "rbf"),
])
def test_bad_input_is_named(call):
    with pytest.raises(InputError):
        call()


def test_neither_torch_nor_xarray_nor_pandas_is_imported():
    slow = {"torch", "xarray", "pandas", "scipy.optimize", "scipy.stats"}
    code = f"import sys, workbench.granularity; print({slow} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
