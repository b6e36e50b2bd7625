"""The joint density of a VBAgg model's field and hyperparameters given its totals, in jax.

    v = mean + L z + τ e + s a + t u,   η = A ψ(v),   y ~ p(y | η),

with z, e, a, u standard normal, K = L Lᵀ the whole prior covariance of the individuals, without
inducing inputs; τ the nugget's, s the area effect's and t the standard deviation of what an area
keeps over periods. Nothing is approximated but by a jitter of 1e-8 of K's diagonal.
"""

from __future__ import annotations

import numpy as np

from workbench.checks import package, require
from workbench.gp.kernels.grammar import JointTerm
from workbench.gp.kernels.persistent import VARIANCE
from workbench.gp.models.vbagg.persistent import keeps_effects
from workbench.gp.optimisation.priors import goes_by
from workbench.gp.sampling.kernels import covariance, log_prior

_JITTER = 1e-8
_LIKELIHOODS = ("poisson", "normal", "binomial")


class Density:
    """The log posterior density of a fitted variational state's model, in whitened coordinates.

    Parameters
    ----------
    state : VariationalState
        Of a fit: its hyperparameters are where those start that are sampled.
    fixed : bool
        Whether all hyperparameters stay where they are.

    Raises
    ------
    InputError
        If the model has a likelihood, kernel or prior that is not known here.
    ImportError
        If the extra ``sampling`` is not installed.
    """

    def __init__(self, state, fixed: bool = False):
        self.jax = package("jax", extra="sampling")
        self.jnp = self.jax.numpy
        kind = state.likelihood.name
        require(kind in _LIKELIHOODS, f"the sampler knows no {kind} likelihood; it knows "
                f"{', '.join(_LIKELIHOODS)}")
        require(state.source.bags.concentration is None, "the sampler needs individuals, and these "
                "are clusters of them (workbench.condense): give it the dataset before")
        self.kind, self.link = kind, state.link.name
        self.y = state.source.targets.value.numpy(force=True).astype(float)
        trials = state.source.bags.trials
        self.trials = None if trials is None else trials.numpy(force=True).astype(float)
        self.members = state.bags.membership.numpy(force=True)
        self.share = state.operator.coefficients().numpy(force=True).astype(float)
        self.n, self.bags = len(self.members), len(self.y)
        x = state.x.numpy(force=True).astype(float)
        terms = [part for term in state.field.terms
                 for part in (term.parts if isinstance(term, JointTerm) else [term])]
        self.lasting = keeps_effects(state)     # the last term, which is no part of f
        self._covariance = covariance(terms[:-1], x[:, :-1]) if self.lasting else (
            covariance(terms, x))
        self._noise = state.noise if state.likelihood.has_noise else None
        self.items = [] if fixed else [item for item in state.hyperparameters if not item.fixed]
        self.start = (np.concatenate([_raw(i) for i in self.items]) if self.items else np.zeros(0))
        self._fixed = {id(p): _raw(p) for term in terms for p in term.kernel.parameters()}
        self._fixed |= {id(item.raw): _raw(item) for item in state.hyperparameters}
        self._named = {item.name: item for item in state.hyperparameters}
        self.nugget, self.area = "nugget.std" in self._named, "area.std" in self._named
        self.own = np.arange(self.n)        # whose nugget it is: of a place in all periods
        if self.lasting:
            kept = [*state.transform.columns.coordinates, -1]
            self.areas = np.unique(x[:, -1], return_inverse=True)[1].reshape(-1)
            if len(kept) > 1:
                self.own = np.unique(x[:, kept], axis=0, return_inverse=True)[1].reshape(-1)
        self.places = int(self.own.max()) + 1
        self.width = self.n + self.places * self.nugget + self.bags * self.area
        self.width += (int(self.areas.max()) + 1) if self.lasting else 0
        self._priors = [([item.name, *goes_by(item.prior)], log_prior(item.prior, self.jnp))
                        for item in state.hyperparameters.judged if self.items]
        self._root = None if self.items else self._factor(self._values(self.start))

    def _values(self, raws):
        """Raw values of torch parameters, of those that are sampled from a vector (P,)."""
        given, start = {}, 0
        for item in self.items:
            stop = start + item.raw.numel()
            given[id(item.raw)] = raws[start:stop]
            start = stop
        return lambda parameter: given.get(id(parameter), self._fixed[id(parameter)])

    def natural(self, raws) -> dict:
        """Hyperparameters in natural units by name, from raw values (P,)."""
        return {item.name: self._natural(item, self._values(raws)) for item in self.items}

    def _natural(self, item, value):
        raw = value(item.raw)
        factor = np.asarray(item.factor.numpy(force=True) if hasattr(item.factor, "numpy")
                            else item.factor).reshape(-1)
        return (raw if item.constraint is None else self.jnp.exp(raw)) * factor

    def _factor(self, value):
        k = self._covariance(value)
        white = _JITTER * self.jnp.trace(k) / self.n * self.jnp.eye(self.n)
        return self.jnp.linalg.cholesky(k + white)

    def fields(self, raws, z) -> tuple:
        """f, and v with all effects, at the individuals (N,), from raw values and whitened ones."""
        value, jnp = self._values(raws), self.jnp
        root = self._factor(value) if self._root is None else self._root
        f = self._natural(self._named["mean"], value)[0] + root @ z[:self.n]
        v = f
        if self.nugget:
            std = self._natural(self._named["nugget.std"], value)[0]
            v = v + jnp.take(std * z[self.n:self.n + self.places], self.own)
        if self.area:
            start = self.n + self.places * self.nugget
            effects = self._natural(self._named["area.std"], value)[0] * z[start:start + self.bags]
            v = v + jnp.take(effects, self.members)
        if self.lasting:
            start = self.n + self.places * self.nugget + self.bags * self.area
            std = jnp.sqrt(self._natural(self._named[VARIANCE], value)[0])
            v = v + jnp.take(std * z[start:], self.areas)
        return f, v

    def rate(self, v):
        """ψ(v), elementwise."""
        psi = {"identity": lambda u: u, "exp": self.jnp.exp, "square": self.jnp.square,
               "logit": self.jax.nn.sigmoid, "probit": self.jax.scipy.stats.norm.cdf}
        return psi[self.link](v)

    def parameter(self, raws, z):
        """η of the bags (B,)."""
        rates = self.share * self.rate(self.fields(raws, z)[1])
        return self.jax.ops.segment_sum(rates, self.members, self.bags)

    def variance(self, raws):
        """Variance of Normal observations (B,)."""
        variance = self._noise.known.numpy(force=True).astype(float) if self._noise.knows else 0.0
        for item in self._noise.items:
            factor = self._noise.factor.numpy(force=True).astype(float)
            variance = variance + factor * self._natural(item, self._values(raws))[0]
        return variance

    def log_likelihood(self, raws, z):
        """log p(y | z, hyperparameters) (), up to a constant."""
        jnp, eta = self.jnp, self.parameter(raws, z)
        if self.kind == "poisson":
            return (self.y * jnp.log(eta) - eta).sum()
        if self.kind == "binomial":
            return (self.y * jnp.log(eta) + (self.trials - self.y) * jnp.log1p(-eta)).sum()
        variance = self.variance(raws)
        return -0.5 * (jnp.square(self.y - eta) / variance + jnp.log(variance)).sum()

    def log_density(self, raws, z):
        """Log density of raw hyperparameters (P,) and whitened values (width,)."""
        value = self._values(raws)
        prior = sum(density(*(self._natural(self._named[name], value) for name in names))
                    for names, density in self._priors)
        return self.log_likelihood(raws, z) + prior - 0.5 * self.jnp.square(z).sum()

    def information(self, raws, z):
        """Fisher information of each bag's observation about its η (B,)."""
        eta = self.parameter(raws, z)
        if self.kind == "poisson":
            return 1 / eta
        return 1 / self.variance(raws) if self.kind == "normal" else (
            self.trials / (eta * (1 - eta)))


def _raw(item) -> np.ndarray:
    return getattr(item, "raw", item).detach().cpu().double().numpy().reshape(-1)
