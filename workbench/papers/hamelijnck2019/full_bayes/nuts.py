"""The no-U-turn sampler of NumPyro on the hyperparameters, f integrated out and drawn after.

Needs the extra ``sampling``. Computes in double precision on the device that jax prefers.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy.linalg import LinAlgError

from workbench.checks import package, require
from workbench.papers.hamelijnck2019.full_bayes.chains import Chains
from workbench.papers.hamelijnck2019.full_bayes.evidence import draw_latent, log_evidence
from workbench.papers.hamelijnck2019.full_bayes.modes import JumpProposal, modes
from workbench.papers.hamelijnck2019.full_bayes.problem import NAMES, Problem

_DRAWS = 100        # of a start, before the heaviest mode itself is one


def sample(problem: Problem, *, steps: int = 1000, burn_in: int = 500, chains: int = 4,
           seed: int = 0, target: float = 0.9) -> Chains:
    """Draw hyperparameters by NUTS, and one f per draw from its exact conditional.

    Parameters
    ----------
    problem : Problem
        Data, likelihood and priors.
    steps, burn_in : int
        Draws that are kept, and draws before them, in which step size and mass matrix adapt.
    chains : int
        Number of chains, run one after the other, each from a draw about a mode, most of them about
        the heaviest. No chain leaves the mode that it starts in, if they are far apart: where
        several have mass, draws of all chains together weigh them by the chains that began there.
    seed : int
        Of all randomness.
    target : float
        Mean acceptance probability that the step size adapts to, between 0 and 1.

    Raises
    ------
    InputError
        On numbers out of range, and where no mode is found.
    ImportError
        If the extra ``sampling`` is not installed.

    References
    ----------
    Hoffman and Gelman 2014, The No-U-Turn Sampler.
    """
    for name, value, least in (("steps", steps, 1), ("burn_in", burn_in, 1), ("chains", chains, 1),
                               ("seed", seed, 0)):
        require(isinstance(value, Integral) and value >= least,
                f"expected {name} a whole number of {least} or more, got {value!r}")
    require(0 < target < 1, f"expected target between 0 and 1, got {target!r}")
    infer = package("numpyro.infer", extra="sampling")
    jax = package("jax", extra="sampling")
    linalg = package("jax.scipy.linalg", extra="sampling")
    rng, about = np.random.default_rng(seed), JumpProposal(modes(problem, seed))

    def potential(logs):
        return -log_evidence(problem, logs, jax.numpy, linalg)

    starts = np.stack([_start(problem, about, rng) for _ in range(chains)])
    with jax.enable_x64(True):
        run = infer.MCMC(infer.NUTS(potential_fn=potential, target_accept_prob=target),
                         num_warmup=burn_in, num_samples=steps, num_chains=chains,
                         chain_method="sequential", progress_bar=False)
        first = starts if chains > 1 else starts[0]
        run.run(jax.random.key(seed), init_params=jax.numpy.asarray(first),
                extra_fields=("diverging", "accept_prob"))
        logs = np.asarray(run.get_samples(group_by_chain=True), dtype=float)
        extra = {name: np.asarray(value)
                 for name, value in run.get_extra_fields(group_by_chain=True).items()}
    latent = np.stack([draw_latent(problem, one, rng) for one in logs.reshape(-1, len(NAMES))])
    return Chains(logs, latent.reshape(chains, steps, -1),
                  acceptance={"nuts": extra["accept_prob"].mean(1)},
                  divergences=extra["diverging"].sum(1))


def _start(problem: Problem, about: JumpProposal, rng: np.random.Generator) -> np.ndarray:
    """A draw about a mode at which there is an evidence: elsewhere a chain could not move."""
    for _ in range(_DRAWS):
        drawn = about.draw(rng)
        try:
            if np.isfinite(log_evidence(problem, drawn)):
                return drawn
        except LinAlgError:
            continue
    return about.modes[0].place
