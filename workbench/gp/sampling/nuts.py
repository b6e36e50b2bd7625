"""The no-U-turn sampler on the field of an aggregate model, where it is nearly white.

The posterior's mode at the starting hyperparameters and the Fisher information of the totals there
give a linear change of coordinates, in which chains need few steps. It changes no result.

References
----------
Hoffman and Gelman 2014, The No-U-Turn Sampler; Betancourt and Girolami 2015 for the whitening.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize

from workbench.checks import package, require
from workbench.gp.sampling.density import Density

#: Most individuals whose dense covariance is sampled with.
MOST_INDIVIDUALS = 2_000
# Gradients of a draw where hyperparameters are held, and where not; operations in a second.
_STEPS, _SPEED, _OVERHEAD = {True: 15, False: 40}, 4.5e9, 1e-4


@dataclass(frozen=True)
class Draws:
    """Draws by chain.

    Parameters
    ----------
    rate : array (C, S, N)
        Rates at the individuals, all effects included.
    latent : array (C, S, N)
        The Gaussian process f there.
    total : array (C, S, B)
        Bag parameters.
    hyperparameters : dict of str to array (C, S, n)
        In natural units; none where they were held.
    divergences : int
        Divergent transitions.
    """

    rate: np.ndarray
    latent: np.ndarray
    total: np.ndarray
    hyperparameters: dict[str, np.ndarray]
    divergences: int


def seconds(individuals: int, effects: int, steps: int, fixed: bool) -> float:
    """Roughly how long chains take.

    Parameters
    ----------
    individuals : int
        In all bags.
    effects : int
        Nuggets and area effects.
    steps : int
        Draws of all chains, warm-up included.
    fixed : bool
        Whether hyperparameters are held.
    """
    size = individuals + effects
    cost = 2 * individuals**2 + 8 * size + (0 if fixed else 3 * individuals**3)
    return steps * _STEPS[fixed] * (_OVERHEAD + cost / _SPEED)


def affordable(individuals: int, bags: int, *, draws: int, warmup: int, chains: int,
               fixed: bool, limit: float) -> None:
    """Refuse what would take too long, before any work is done.

    Parameters
    ----------
    individuals, bags : int
        Of the data.
    draws, warmup, chains, fixed, limit
        As of `sample`.

    Raises
    ------
    InputError
        With an estimate of the time.
    """
    for name, value, least in (("draws", draws, 4), ("warmup", warmup, 1), ("chains", chains, 1)):
        require(isinstance(value, int) and value >= least,
                f"expected {name} a whole number of {least} or more, got {value!r}")
    steps = chains * (draws + warmup)
    minutes = seconds(individuals, individuals + bags, steps, fixed) / 60
    told = (f"sampling {individuals:,} individuals in {bags:,} areas for {steps:,} steps would "
            f"take about {minutes:,.0f} minutes")
    remedy = ("take fewer individuals (coarser rasters, fewer areas), fewer draws or chains, or "
              "fix the hyperparameters; the variational engine is for large data")
    require(individuals <= MOST_INDIVIDUALS, f"{told} and a matrix of {individuals:,} squared; "
            f"the most is {MOST_INDIVIDUALS:,} individuals: {remedy}")
    require(minutes <= limit, f"{told}, more than the limit of {limit:g}: {remedy}")


def sample(state, *, draws: int = 500, warmup: int = 500, chains: int = 4, fixed: bool = False,
           seed: int = 0, limit: float = 15.0, progress: bool = False) -> Draws:
    """Draws from the exact posterior of a variational state's model.

    Parameters
    ----------
    state : VariationalState
        Of a fit.
    draws, warmup : int
        Draws that are kept of each chain, and draws before them, in which it adapts.
    chains : int
        Number of chains, one after the other.
    fixed : bool
        Hold all hyperparameters where the state has them.
    seed : int
        Of all randomness.
    limit : float
        Minutes that it may take, roughly.
    progress : bool
        Show a bar.

    Raises
    ------
    InputError
        If it would take longer, or the model is none that the sampler knows.
    ImportError
        If the extra ``sampling`` is not installed.
    """
    affordable(len(state.x), state.bags.count, draws=draws, warmup=warmup, chains=chains,
               fixed=fixed, limit=limit)
    jax, infer = package("jax", extra="sampling"), package("numpyro.infer", extra="sampling")
    with jax.enable_x64(True):
        density = Density(state, fixed)
        centre, root = _white(density)
        place = _coordinates(density, centre, root)

        def potential(at):
            return -density.log_density(*place(at))

        size, count = density.width, len(density.start)
        rng = np.random.default_rng(seed)
        starts = np.concatenate([
            np.tile(density.start, (chains, 1)) + 0.1 * rng.standard_normal((chains, count)),
            rng.standard_normal((chains, size))], 1)
        run = infer.MCMC(infer.NUTS(potential_fn=potential, target_accept_prob=0.9,
                                    max_tree_depth=8),
                         num_warmup=warmup, num_samples=draws, num_chains=chains,
                         chain_method="sequential", progress_bar=progress)
        run.run(jax.random.key(seed), extra_fields=("diverging",),
                init_params=jax.numpy.asarray(starts if chains > 1 else starts[0]))
        found = run.get_samples(group_by_chain=True)
        diverged = int(np.asarray(run.get_extra_fields()["diverging"]).sum())

        def answers(at):
            raws, z = place(at)
            f, v = density.fields(raws, z)
            return density.rate(v), f, density.parameter(raws, z), density.natural(raws)

        each = jax.jit(lambda chain: jax.lax.map(answers, chain))
        parts = [each(chain) for chain in found]
    rate, latent, total = (np.stack([np.asarray(p[k], float) for p in parts]) for k in range(3))
    natural = {name: np.stack([np.asarray(p[3][name], float) for p in parts])
               for name in parts[0][3]}
    return Draws(rate, latent, total, natural, diverged)


def _white(density: Density) -> tuple[np.ndarray, tuple]:
    """Mode of z at the starting hyperparameters, and what turns white noise into its posterior.

    The covariance there is (I + MᵀM)⁻¹ with M = W^½ ∂η/∂z, of rank B: its root is
    I + V ((1 + s²)^-½ - 1) Vᵀ by the singular values s and right vectors V of M.
    """
    jax, at = density.jax, density.start
    climb = jax.jit(jax.value_and_grad(lambda z: -density.log_density(at, z)))

    def objective(z):
        value, slope = climb(z)
        return float(value), np.asarray(slope, dtype=float)

    mode = scipy.optimize.minimize(objective, np.zeros(density.width), jac=True,
                                   method="L-BFGS-B", options={"maxiter": 500}).x
    slopes = np.asarray(jax.jit(jax.jacrev(lambda z: density.parameter(at, z)))(mode))
    weights = np.sqrt(np.asarray(density.information(at, mode)))
    _, values, rows = np.linalg.svd(weights[:, None] * slopes, full_matrices=False)
    return mode, (rows, 1 / np.sqrt(1 + values**2) - 1)


def _coordinates(density: Density, centre: np.ndarray, root: tuple):
    """From the sampler's coordinates to raw hyperparameters and whitened values."""
    rows, gains = root
    count = len(density.start)

    def place(at):
        white = at[count:]
        return at[:count], centre + white + rows.T @ (gains * (rows @ white))

    return place
