"""The recipe that Chau et al. 2021 published, written again from its description, as a peer.

Single precision, all matrices over N individuals, Adam on the evidence (exact) or on the bound with
the diagonal of q's covariance (variational), softplus parameters from the values that GPyTorch
starts with, zero mean, λ fixed. Nothing of `workbench` is used. What differs from the release:
GPyTorch of today, the start of q (zero mean instead of tiny random numbers).
"""

from __future__ import annotations

import math
import warnings

import gpytorch
import torch
from linear_operator.operators import DenseLinearOperator, DiagLinearOperator
from sklearn.cluster import KMeans
from torch import Tensor


class Conditional(torch.nn.Module):
    """Kernels k and ℓ, λ and σ²; A = (L + N λ I)⁻¹ L_yỹ with covariates replicated per point."""

    def __init__(self, x: Tensor, y: Tensor, targets: Tensor, ridge: float):
        super().__init__()
        self.k = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=x.shape[1]))
        self.ell = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        self.k.base_kernel.lengthscale = torch.ones(x.shape[1])
        self.ell.base_kernel.lengthscale = 1.0
        self.raw_noise = torch.nn.Parameter(torch.zeros(()))
        self.x, self.y, self.targets, self.ridge = x, y, targets, ridge

    @property
    def noise(self) -> Tensor:
        """σ²."""
        return torch.nn.functional.softplus(self.raw_noise) + 1e-4

    def weights(self, first: bool = False) -> Tensor:
        """A (N, M) by an N x N system, its root by Lanczos above 800 individuals.

        In the first step of the released exact model the root carries no gradient.
        """
        count = len(self.x)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not first):
            gram = DenseLinearOperator(self.ell(self.y, self.y).to_dense())
            system = gram + DiagLinearOperator(torch.full((count,), count * self.ridge))
            root = system.root_inv_decomposition().root.to_dense()
        return root @ (root.mT @ self.ell(self.y, self.targets).to_dense())


def exact(x: Tensor, y: Tensor, targets: Tensor, z: Tensor, ridge: float = 0.01,
          rate: float = 0.1, epochs: int = 100, each=None) -> tuple[Conditional, Tensor]:
    """Exact CMP; the model and the posterior mean at the individuals."""
    model = Conditional(x, y, targets, ridge)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)

    def covariance(first: bool = False) -> tuple[Tensor, Tensor]:
        a = model.weights(first)
        cross = model.k(x, x).to_dense() @ a
        return cross, a.mT @ cross + model.noise * torch.eye(len(z))

    for epoch in range(epochs):
        optimiser.zero_grad()
        q = covariance(epoch == 0)[1]
        root = torch.linalg.cholesky(q + 1e-5 * torch.eye(len(z)))
        alpha = torch.cholesky_solve(z[:, None], root)[:, 0]
        loss = (0.5 * z @ alpha + root.diagonal().log().sum()
                + 0.5 * len(z) * math.log(2 * math.pi)) / len(z)
        loss.backward()
        optimiser.step()
        if each is not None:
            each(epoch, float(loss.detach()))
    with torch.no_grad():
        cross, q = covariance()
        return model, cross @ torch.linalg.solve(q, z)


class Sparse(gpytorch.models.ApproximateGP):
    """A whitened sparse variational GP with learnt inducing inputs."""

    def __init__(self, inducing: Tensor, k: gpytorch.kernels.Kernel):
        q = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
        super().__init__(gpytorch.variational.VariationalStrategy(
            self, inducing, q, learn_inducing_locations=True, jitter_val=1e-3))
        self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), k

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        """Prior."""
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def variational(x: Tensor, y: Tensor, targets: Tensor, z: Tensor, ridge: float = 1e-4,
                rate: float = 0.05, epochs: int = 300, inducing: int = 200, each=None
                ) -> tuple[Conditional, Tensor]:
    """VarCMP; the model and the posterior mean at the individuals."""
    model = Conditional(x, y, targets, ridge)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        centres = KMeans(inducing, n_init=10, random_state=42).fit(x.numpy()).cluster_centers_
    sparse = Sparse(torch.as_tensor(centres, dtype=x.dtype), model.k)
    parameters = {id(p): p for p in [*model.parameters(), *sparse.parameters()]}
    optimiser = torch.optim.Adam(parameters.values(), lr=rate)
    for epoch in range(epochs):
        optimiser.zero_grad()
        a, q = model.weights(), sparse(x)
        gap = z - a.mT @ q.mean
        spread = (q.variance * a.square().sum(1)).sum()
        fit = -0.5 * len(z) * (2 * math.pi * model.noise).log() - (
            gap @ gap + spread) / (2 * model.noise)
        loss = -(fit - sparse.variational_strategy.kl_divergence()) / len(z)
        loss.backward()
        optimiser.step()
        if each is not None:
            each(epoch, float(loss.detach()))
    sparse.eval()
    with torch.no_grad():
        return model, sparse(x).mean
