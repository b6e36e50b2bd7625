"""Draws of a fit's model by Markov chains, with labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from workbench.checks import require
from workbench.labelled.fit import Fit
from workbench.labelled.predictive import coords_of


def sample_posterior(fit: Fit, *, draws: int = 500, warmup: int = 500, chains: int = 4,
                     fix_hyperparameters: bool = False, seed: int = 0, limit: float = 15.0,
                     progress: bool = False) -> xr.Dataset:
    """Draws from the exact posterior of a fitted VBAgg model, by the no-U-turn sampler.

    The field has its whole covariance, without inducing inputs; effects of areas and individuals
    are sampled too, and so are the hyperparameters that the fit has learnt, under their priors.

    Parameters
    ----------
    fit : Fit
        Of `workbench.VBAgg` or `workbench.Constant`; chains start at its hyperparameters.
    draws, warmup : int
        Draws that are kept of each chain, and draws before them.
    chains : int
        Number of chains.
    fix_hyperparameters : bool
        Hold all hyperparameters where the fit has them.
    seed : int
        Of all randomness.
    limit : float
        Minutes that it may take, roughly.
    progress : bool
        Show a bar.

    Returns
    -------
    xr.Dataset
        ``rate``, all effects included, and ``latent`` (chain, draw, individual); ``total`` (chain,
        draw, bag), the bag parameter; ``hyperparameter`` (chain, draw, name) in natural units;
        attribute ``divergences``.

    Raises
    ------
    InputError
        If it would take longer, or the model is of another kind.
    ImportError
        If the extra ``sampling`` is not installed.
    """
    from workbench.gp.sampling.nuts import sample

    require(fit.model.name in ("vbagg", "constant"), f"the sampler is for vbagg and constant, not "
            f"for {fit.model.name}")
    found = sample(fit.inner.state, draws=draws, warmup=warmup, chains=chains,
                   fixed=fix_hyperparameters, seed=seed, limit=limit, progress=progress)
    factor = fit._training_bags().totals.numpy(force=True) if fit.inner.state.rescaled else 1.0
    chain = ("chain", "draw")
    variables = {"rate": ((*chain, "individual"), found.rate),
                 "latent": ((*chain, "individual"), found.latent),
                 "total": ((*chain, "bag"), found.total * factor)}
    coords = {**coords_of(fit.data, "individual"), **coords_of(fit.data, "bag")}
    names, values = _by_name(found.hyperparameters, (chains, draws))
    return xr.Dataset(variables | {"hyperparameter": ((*chain, "name"), values)},
                      coords | {"name": names}, {"divergences": found.divergences})


def check_cost(ds: xr.Dataset, *, draws: int, warmup: int, chains: int,
               fix_hyperparameters: bool, limit: float) -> None:
    """Refuse what would take too long to sample, before any work is done.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    draws, warmup, chains, fix_hyperparameters, limit
        As of `sample_posterior`.

    Raises
    ------
    InputError
        With an estimate of the time.
    """
    from workbench.gp.sampling.nuts import affordable

    affordable(ds.sizes["individual"], ds.sizes["bag"], draws=draws, warmup=warmup, chains=chains,
               fixed=fix_hyperparameters, limit=limit)


def point_values(fit: Fit) -> dict[str, float]:
    """Hyperparameters of a fit, one number each; those with several values are numbered.

    Parameters
    ----------
    fit : Fit
        Any fit.

    Returns
    -------
    dict of str to float
        In natural units.
    """
    given = {name: np.atleast_1d(one["value"])[None, None] for name, one in
             fit.hyperparameters.items()}
    names, values = _by_name(given, (1, 1))
    return dict(zip(names, values[0, 0].tolist(), strict=True))


def _by_name(given: Mapping[str, np.ndarray], shape: tuple[int, int]
             ) -> tuple[list[str], np.ndarray]:
    names, parts = [], [np.zeros((*shape, 0))]
    for name, values in given.items():
        count = values.shape[-1]
        names += [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]
        parts.append(values)
    return names, np.concatenate(parts, -1)
