"""The kernels that terms are made of: GPyTorch's, dense at once, Matérn's in double precision."""

from __future__ import annotations

import threading
import weakref
from functools import reduce

import gpytorch
import torch
from linear_operator import to_dense
from torch import Tensor

from workbench.gp.numerics.shapes import Inputs

# GPyTorch takes a user's kernel's columns away while its matrix is computed: another thread that
# asks it meanwhile (two sessions of an app with one fit) would get that of other columns.
_GUARD, _LOCKS = threading.Lock(), weakref.WeakKeyDictionary()


def alone(kernel: gpytorch.kernels.Kernel) -> threading.Lock:
    """The lock of a kernel, for one thread at a time to ask it."""
    with _GUARD:
        return _LOCKS.setdefault(kernel, threading.Lock())


def dense(kernel: gpytorch.kernels.Kernel, x1: Inputs, x2: Inputs) -> Tensor:
    """Kernel matrix (..., n, m) at once.

    To prepare it on demand, as GPyTorch does, takes longer than small matrices do.
    """
    if kernel.active_dims is not None:
        x1, x2 = (x.index_select(-1, kernel.active_dims) for x in (x1, x2))
    return to_dense(kernel.forward(x1, x2))


class Matern(gpytorch.kernels.MaternKernel):
    """GPyTorch's Matérn kernel with distances taken in double precision.

    Squared distances are differences of squares, right to 1e-7 in single precision: between two
    inputs at one place that is a distance of 3e-4 and more, by which Matérn 1/2 falls linearly.
    """

    def covar_dist(self, x1: Tensor, x2: Tensor, **options) -> Tensor:
        """Distances between inputs, in the inputs' own precision."""
        return super().covar_dist(x1.double(), x2.double(), **options).to(x1.dtype)


class _Unbatched:
    """Kernels made of others, never a batch of them.

    GPyTorch asks torch for the shape that batches of theirs broadcast to, which imports sympy for
    it, a third of a second in every process (as linear and constant kernels still do).
    """

    batch_shape = torch.Size()


class Scaled(_Unbatched, gpytorch.kernels.ScaleKernel):
    """A variance times a kernel."""


class SameArea(_Unbatched, gpytorch.kernels.Kernel):
    """One between inputs of the same area, by a column of numbers of areas, else zero."""

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **options) -> Tensor:
        """Whether areas are the same (..., n, m), or with ``diag`` of each pair (..., n)."""
        numbers = (x1[..., 0], x2[..., 0]) if diag else (x1[..., :, None, 0], x2[..., None, :, 0])
        return (numbers[0] - numbers[1]).abs().lt(0.5).to(x1)


class Product(_Unbatched, gpytorch.kernels.ProductKernel):
    """A product of kernels, each on its own columns."""

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **options) -> Tensor:
        """Product of the kernels' matrices, or of their diagonals."""
        return reduce(torch.mul, (one(x1, x2, diag=True, **options) if diag else dense(one, x1, x2)
                                  for one in self.kernels))
