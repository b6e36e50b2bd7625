"""What a paper leaves unsaid about a Gaussian process on summaries, each reading by its name."""

from __future__ import annotations

import warnings

import gpytorch
import numpy as np
import scipy.optimize
import xarray as xr

from workbench.gp.models.summaries.model import QuasiState
from workbench.labelled import Fit, QuasiLikelihoodGP, to_source

READINGS = {
    "logarithms": "L-BFGS-B on logarithms; white noise in each cell, none in predictions",
    "natural": "the same, L-BFGS-B on natural values",
    "no white noise": "no white noise beside the likelihood's own",
    "shared": "no white noise; summaries with the hyperparameters of the complete data",
    "flat": "summaries say nothing: a flat map at their mean beside the complete data's",
    "same place": "white noise is shared by all observations of one place, seen or predicted",
}
_LOWEST, _HIGHEST = 1e-5, 1e10      # bounds on natural values; SciPy's defaults have none


class SamePlace(gpytorch.kernels.Kernel):
    """One where two inputs are the same place, else zero: white noise as a kernel of places."""

    def forward(self, x1, x2, diag=False, **_):
        """Indicator of equal inputs."""
        if diag:
            return (x1 == x2).all(-1).to(x1)
        return (x1[..., :, None, :] == x2[..., None, :, :]).all(-1).to(x1)


def fit_reading(reading: str, kernel: str, ds: xr.Dataset, complete: Fit | None = None) -> Fit:
    """A Gaussian likelihood GP on complete data (one observation per bag) or on summaries.

    Everything starts at one, as in the paper, and has no prior.

    Parameters
    ----------
    reading : str
        One of `READINGS`.
    kernel : {"matern12", "rbf"}
        The paper's Laplacian and Gaussian.
    ds : xr.Dataset
        Complete data or summaries, with ``sample_variance`` if summaries.
    complete : Fit, optional
        The fit to complete data; ``ds`` then holds summaries.
    """
    # Of single observations white noise and the likelihood's own are one and the same.
    white = complete is not None and reading in ("logarithms", "natural", "same place")
    names = [f"{kernel}.variance", f"{kernel}.lengthscale", "noise.variance"]
    names += ["nugget.std"] if white else []
    chosen = kernel
    if reading == "same place" and complete is None:    # cells are places of their own anyway
        chosen = _same_place(kernel)
        names = ["kernel.kernels.0.outputscale", "kernel.kernels.0.base_kernel.lengthscale",
                 "kernel.kernels.1.outputscale", "noise.variance"]
    model = QuasiLikelihoodGP(
        kernel=chosen, nugget="learn" if white else 0.0, initial=dict.fromkeys(names, 1.0),
        priors=dict.fromkeys(names, "none"))
    if reading == "shared" and complete is not None:
        values = complete.hyperparameters | {"mean": _mean(ds)}
        return model.condition(ds, values)
    if reading == "flat" and complete is not None:
        values = {names[0]: 1e-12, names[1]: 1.0, names[2]: 1.0}
        return model.condition(ds, values | {"mean": _mean(ds)})
    if reading == "natural":
        return model.condition(ds, natural_optimum(model, ds, names) | {"mean": _mean(ds)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(ds)


def natural_optimum(model: QuasiLikelihoodGP, ds: xr.Dataset, names: list[str]) -> dict[str, float]:
    """Hyperparameters found by SciPy's L-BFGS-B with its defaults on natural values, from one."""
    state = QuasiState(model._inner, to_source(ds))
    items = [state.hyperparameters[name] for name in names]

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        for item, value in zip(items, values, strict=True):
            item.set(float(value))
            item.raw.grad = None
        evidence = state.evidence()
        evidence.backward()
        slopes = np.array([float(item.raw.grad) for item in items])    # raw values are logarithms
        return -float(evidence.detach()), -slopes / values

    found = scipy.optimize.minimize(loss, np.ones(len(items)), jac=True, method="L-BFGS-B",
                                    bounds=[(_LOWEST, _HIGHEST)] * len(items))
    return dict(zip(names, found.x.tolist(), strict=True))


def _mean(ds: xr.Dataset) -> float:
    weight = ds["weight"].values
    return float((weight * ds["value"].values).sum() / weight.sum())


def _same_place(kernel: str) -> gpytorch.kernels.Kernel:
    smooth = (gpytorch.kernels.MaternKernel(nu=0.5) if kernel == "matern12"
              else gpytorch.kernels.RBFKernel())
    return gpytorch.kernels.ScaleKernel(smooth) + gpytorch.kernels.ScaleKernel(SamePlace())
