"""Block Metropolis-Hastings within Gibbs: the kernel's hyperparameters, f, and the noise in turn.

- ``kernel``, (log variance, log lengthscale), and ``noise``, the logarithms of both standard
  deviations: Gaussian random walks, of the posterior's shape as burn-in shows it;
- ``latent``, f.

Three schemes have the same posterior and differ in what moves along with the kernel:

- ``algorithm-3``: nothing, as the paper prints. f takes preconditioned Crank-Nicolson proposals,
  v' = √(1 - β²) v + β ξ, ξ ~ N(0, I), of the white values v of f = L_θ v: they leave the prior
  invariant and are accepted by the ratio of likelihoods (the paper names no proposal). A draw of f
  all but determines θ, so the kernel hardly moves;
- ``white``: f = L_θ v moves along at fixed v; f as before. Noise far below the signal makes both
  slow: R̂ of the lengthscale stays above 1.4 after thousands of steps on the data of App. B.1;
- ``collapsed``, the default: f is integrated out, one walk moves all four hyperparameters by the
  ratio of evidences, a ``jump`` proposes a draw about any of their modes (`modes`), and f is drawn
  from its exact conditional after them.

Step sizes adapt in burn-in only: afterwards the chain is Markov and its posterior exact. Walks
alone do not come from one far mode to another: likelihoods that count the points twice have modes
with noise of the right size and of nearly none, and where all chains end in the lesser one no R̂
shows it. The other schemes have walks alone.

References
----------
Hamelijnck et al. 2019, App. B.5, Algorithm 3. Cotter et al. 2013, MCMC methods for functions,
eq. (4.8). Murray and Adams 2010, Slice sampling covariance hyperparameters of latent Gaussian
models, section 2. Liu 1994, The collapsed Gibbs sampler in Bayesian computations.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral

import numpy as np
import scipy.linalg

from workbench.checks import choose, require
from workbench.papers.hamelijnck2019.full_bayes.chains import Chains
from workbench.papers.hamelijnck2019.full_bayes.evidence import draw_latent, log_evidence
from workbench.papers.hamelijnck2019.full_bayes.modes import JumpProposal, modes
from workbench.papers.hamelijnck2019.full_bayes.problem import NAMES, Problem

# Proposals of each block in one step. Given f those of f and of the noise are cheap.
MOVES = {"collapsed": {"hyperparameters": 4, "jump": 1, "latent": 1},
         "white": {"kernel": 1, "latent": 20, "noise": 4},
         "algorithm-3": {"kernel": 1, "latent": 20, "noise": 4}}
SCHEMES = tuple(MOVES)
# A walk's step is one of these times its size, at random. The product likelihood's posterior of the
# noises has two thin arms (either may vanish), into and out of which steps of one size rarely lead.
_SPREAD = (0.4, 1.0, 3.0)
_WALKS = {"kernel": slice(0, 2), "noise": slice(2, 4), "hyperparameters": slice(0, 4)}


def sample(problem: Problem, *, steps: int = 4000, burn_in: int = 2000, chains: int = 4,
           seed: int = 0, scheme: str = "collapsed", moves: Mapping[str, int] | None = None,
           start: Mapping[str, float] | None = None) -> Chains:
    """Draw from the joint posterior of hyperparameters and f.

    Parameters
    ----------
    problem : Problem
        Data, likelihood and priors.
    steps, burn_in : int
        Steps that are kept, and steps before them, in which step sizes adapt.
    chains : int
        Number of chains, each from its own start.
    seed : int
        Chains draw from independent streams spawned of it.
    scheme : {"collapsed", "white", "algorithm-3"}
        How f moves; see the module. Blocks are ``hyperparameters``, ``jump`` and ``latent`` of the
        first, ``kernel``, ``latent`` and ``noise`` of the others.
    moves : mapping of str to int, optional
        Proposals per block in one step, `MOVES` of the scheme where not given. What no block moves
        stays where it starts; a ``jump`` moves what ``hyperparameters`` does.
    start : mapping of str to float, optional
        Hyperparameters to start all chains at, in natural units; others start at half a prior
        standard deviation about the prior median. f starts at a draw of its prior.

    Raises
    ------
    InputError
        On numbers out of range, an unknown block, hyperparameter or scheme, and where jumps are
        asked for and no mode is found.
    """
    for name, value, least in (("steps", steps, 1), ("burn_in", burn_in, 0), ("chains", chains, 1),
                               ("seed", seed, 0)):
        require(isinstance(value, Integral) and value >= least,
                f"expected {name} a whole number of {least} or more, got {value!r}")
    choose("scheme", scheme, SCHEMES)
    for name, value in (moves or {}).items():
        choose("block", name, MOVES[scheme])
        require(isinstance(value, Integral) and value >= 0,
                f"expected a whole number of moves of {name}, zero or more, got {value!r}")
    for name, value in (start or {}).items():
        choose("hyperparameter", name, NAMES)
        require(np.isfinite(value) and value > 0, f"expected {name} to start at a positive number, "
                f"got {value!r}")
    per_step = MOVES[scheme] | dict(moves or {})
    require(scheme != "collapsed" or per_step["latent"] > 0, "the collapsed scheme redraws f "
            "after the hyperparameters: give it one move of latent or more")
    jumps = JumpProposal(modes(problem, seed)) if per_step.get("jump") else None
    runs = [_Chain(problem, np.random.default_rng(stream), per_step, scheme,
                   start or {}, jumps).run(steps, burn_in)
            for stream in np.random.SeedSequence(seed).spawn(chains)]
    logs, latent, rates, scales = (list(part) for part in zip(*runs, strict=True))
    return Chains(np.stack(logs), np.stack(latent), _by_block(rates), _by_block(scales))


def _by_block(values: list[dict[str, float]]) -> dict[str, np.ndarray]:
    return {name: np.array([one[name] for one in values]) for name in values[0]}


class _Tuner:
    """A step size that Robbins-Monro steps take to a target acceptance, and what was accepted."""

    def __init__(self, target: float, scale: float, largest: float = np.inf):
        self.target, self.largest, self.log_scale = target, largest, np.log(scale)
        self.restart()

    @property
    def scale(self) -> float:
        return float(min(np.exp(self.log_scale), self.largest))

    def restart(self) -> None:
        """Restart the counts; after this the next steps of adaptation are large again."""
        self.tried = self.accepted = 0

    def note(self, accepted: bool, adapting: bool) -> None:
        self.tried += 1
        self.accepted += accepted
        if adapting:
            self.log_scale += (accepted - self.target) * min(1, 2 * self.tried**-0.6)
            self.log_scale = min(self.log_scale, np.log(self.largest))   # no drift beyond it


class _Chain:
    """The chain: logs and f; white values v with f = L v, L the factor of the kernel, beside it."""

    def __init__(self, problem: Problem, rng: np.random.Generator, moves: dict[str, int],
                 scheme: str, start: Mapping[str, float], jumps: JumpProposal | None):
        self.problem, self.rng, self.moves, self.scheme = problem, rng, moves, scheme
        self.jumps = jumps
        middle = np.log(problem.priors.median)
        self.logs = middle + 0.5 * (problem.priors.draw(rng) - middle)
        for name, value in start.items():
            self.logs[NAMES.index(name)] = np.log(value)
        self.white = rng.standard_normal(problem.count)
        self.factor = problem.cholesky(self.logs)
        self._place(self.factor @ self.white)
        # Acceptance rates near the best ones: of walks in two and four dimensions 0.35 and 0.3
        # (Gelman, Roberts and Gilks 1996), of Crank-Nicolson as of a walk in many.
        self.tuners = {"kernel": _Tuner(0.35, 0.3), "noise": _Tuner(0.35, 0.3),
                       "hyperparameters": _Tuner(0.3, 0.3), "jump": _Tuner(1.0, 1.0),
                       "latent": _Tuner(0.25, 0.1, largest=1.0)}
        # Jumps, and f drawn from its conditional, have no step size: only acceptance is counted.
        self.sized = set(_WALKS) | (set() if scheme == "collapsed" else {"latent"})
        self.shapes = {name: np.eye(4)[block, block] for name, block in _WALKS.items()}
        self.move = {"kernel": self._move_kernel, "noise": self._move_noise,
                     "hyperparameters": self._move_hyperparameters, "jump": self._jump,
                     "latent": self._move_latent}
        if scheme == "collapsed":
            self.evidence = log_evidence(problem, self.logs)
            self.move["latent"] = self._draw_latent

    def _place(self, f: np.ndarray) -> None:
        self.f, self.misfits = f, self.problem.misfits(f)
        self.fit = self.problem.log_likelihood(self.misfits, self.logs)

    def run(self, steps: int, burn_in: int) -> tuple[np.ndarray, np.ndarray, dict, dict]:
        """Logs (S, 4) and f (S, N) after burn-in, acceptance rates and scales by block."""
        walked, logs = np.empty((burn_in, 4)), np.empty((steps, 4))
        latent = np.empty((steps, self.problem.count))
        for step in range(burn_in + steps):
            adapting = step < burn_in
            if step == burn_in:
                for tuner in self.tuners.values():
                    tuner.restart()
            for name, often in self.moves.items():
                for _ in range(often):
                    tuner = self.tuners[name]
                    tuner.note(self.move[name](tuner.scale), adapting and name in self.sized)
            if adapting:
                walked[step] = self.logs
                if step + 1 in (burn_in // 8, burn_in // 4, burn_in // 2, 3 * burn_in // 4):
                    self._reshape(walked[step // 2:step + 1])
            else:
                logs[step - burn_in], latent[step - burn_in] = self.logs, self.f
        free = [name for name, often in self.moves.items() if often]
        return (logs, latent,
                {name: self.tuners[name].accepted / self.tuners[name].tried for name in free},
                {name: self.tuners[name].scale for name in free if name in self.sized})

    def _reshape(self, walked: np.ndarray) -> None:
        """Walks take the covariance of recent draws, a little widened."""
        for name, block in _WALKS.items():
            if self.moves.get(name) and len(walked) > 20:
                covariance = np.cov(walked[:, block].T)
                size = len(covariance)
                self.shapes[name] = scipy.linalg.cholesky(covariance + 1e-4 * np.eye(size),
                                                          lower=True)
                self.tuners[name].log_scale = np.log(2.38 / np.sqrt(size))
                self.tuners[name].restart()

    def _accept(self, log_ratio: float) -> bool:
        return -self.rng.exponential() < log_ratio

    def _walk(self, name: str, scale: float) -> tuple[np.ndarray, float]:
        """Logs with one block moved, and the log ratio of their priors."""
        proposed = self.logs.copy()
        shape, scale = self.shapes[name], scale * self.rng.choice(_SPREAD)
        proposed[_WALKS[name]] += scale * shape @ self.rng.standard_normal(len(shape))
        priors = self.problem.priors
        return proposed, priors.log_density(proposed) - priors.log_density(self.logs)

    def _move_hyperparameters(self, scale: float) -> bool:
        return self._go_to(self._walk("hyperparameters", scale)[0], 0.0)

    def _jump(self, _: float) -> bool:
        """To a draw about any of the modes, wherever the chain is."""
        proposed = self.jumps.draw(self.rng)
        back = self.jumps.log_density(self.logs) - self.jumps.log_density(proposed)
        return self._go_to(proposed, back)

    def _go_to(self, proposed: np.ndarray, log_ratio: float) -> bool:
        """Take up hyperparameters by the ratio of evidences and of what proposes them."""
        try:
            evidence = log_evidence(self.problem, proposed)
        except scipy.linalg.LinAlgError:    # so far out that rounding leaves no covariance
            return False
        accepted = self._accept(evidence - self.evidence + log_ratio)
        if accepted:
            self.logs, self.evidence = proposed, evidence
        return accepted

    def _draw_latent(self, _: float) -> bool:
        """f from its conditional at the present hyperparameters, whatever the scale."""
        self.f = draw_latent(self.problem, self.logs, self.rng)
        return True

    def _move_kernel(self, scale: float) -> bool:
        proposed, log_ratio = self._walk("kernel", scale)
        factor = self.problem.cholesky(proposed)
        white, f = self.white, factor @ self.white
        if self.scheme == "algorithm-3":
            f = self.f
            white = scipy.linalg.solve_triangular(factor, f, lower=True, check_finite=False)
            log_ratio += (0.5 * (self.white @ self.white - white @ white)
                          - np.log(factor.diagonal() / self.factor.diagonal()).sum())
        misfits = self.problem.misfits(f)
        fit = self.problem.log_likelihood(misfits, proposed)
        accepted = self._accept(log_ratio + fit - self.fit)
        if accepted:
            self.logs, self.factor, self.white = proposed, factor, white
            self.f, self.misfits, self.fit = f, misfits, fit
        return accepted

    def _move_latent(self, scale: float) -> bool:
        white = np.sqrt(1 - scale**2) * self.white + scale * self.rng.standard_normal(
            self.problem.count)
        f = self.factor @ white
        misfits = self.problem.misfits(f)
        fit = self.problem.log_likelihood(misfits, self.logs)
        accepted = self._accept(fit - self.fit)
        if accepted:
            self.white, self.f, self.misfits, self.fit = white, f, misfits, fit
        return accepted

    def _move_noise(self, scale: float) -> bool:
        proposed, log_ratio = self._walk("noise", scale)
        fit = self.problem.log_likelihood(self.misfits, proposed)
        accepted = self._accept(log_ratio + fit - self.fit)
        if accepted:
            self.logs, self.fit = proposed, fit
        return accepted
