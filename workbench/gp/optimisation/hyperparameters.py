"""Named hyperparameters in natural units: learnt, or fixed by name at a value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from gpytorch.constraints import Positive
from torch import Tensor, nn

from workbench.checks import InputError, choose
from workbench.gp.optimisation.priors import Multiple, Prior, goes_by, log_prior


@dataclass
class Hyperparameter:
    """One named hyperparameter: a raw tensor, its constraint, its unit and its prior.

    Parameters
    ----------
    name : str
        For example ``matern32.lengthscale``.
    raw : nn.Parameter
        Unconstrained value that the optimiser moves.
    constraint : gpytorch constraint or None
        Maps raw to the internal value; None is the identity.
    unit : str
        Unit of the natural value.
    factor : Tensor
        natural = factor x internal.
    prior : Prior or None
        Density in natural units.
    fixed : bool
        Whether the value is held.
    """

    name: str
    raw: nn.Parameter
    constraint: object = None
    unit: str = ""
    factor: Tensor | float = 1.0
    prior: Prior | Multiple | None = None
    fixed: bool = False

    @property
    def natural(self) -> Tensor:
        """Value in natural units, differentiable in ``raw``."""
        value = self.raw if self.constraint is None else self.constraint.transform(self.raw)
        return value * self.factor

    def set(self, value: float | list[float]) -> None:
        """Set from natural units.

        Raises
        ------
        InputError
            If the value is not finite, not positive where it must be, or of the wrong length.
        """
        try:
            given = torch.as_tensor(value, dtype=torch.float64).to(self.raw)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{self.name} must be a number or a list of numbers, got {value!r}"
            ) from error
        if given.numel() not in (1, self.raw.numel()):
            raise InputError(
                f"{self.name} has {self.raw.numel()} values, got {given.numel()}; "
                "pass one value, or one per column"
            )
        internal = (given.reshape(-1) / torch.as_tensor(self.factor).to(self.raw).reshape(-1))
        if not torch.isfinite(internal).all() or (self.constraint and (internal <= 0).any()):
            positive = "positive and " if self.constraint else ""
            raise InputError(f"{self.name} must be {positive}finite, got {value}")
        raw = internal if self.constraint is None else self.constraint.inverse_transform(internal)
        with torch.no_grad():
            self.raw.copy_(raw.expand(self.raw.numel()).reshape(self.raw.shape))

    def report(self) -> dict:
        """``{"value": float or list, "unit": str}`` in natural units."""
        values = self.natural.detach().cpu().reshape(-1).tolist()
        return {"value": values[0] if len(values) == 1 else values, "unit": self.unit}


def scalar_hyperparameter(name: str, value: float, unit: str, prior: Prior | Multiple | None,
                          like: Tensor) -> Hyperparameter:
    """A positive scalar hyperparameter on its own, such as ``area.std``, as its logarithm.

    Parameters
    ----------
    name, unit : str
        As of `Hyperparameter`.
    value : float
        Where it starts.
    prior : Prior or None
        Density in natural units.
    like : Tensor
        Gives dtype and device.
    """
    constraint = Positive(transform=torch.exp, inv_transform=torch.log)
    raw = nn.Parameter(torch.tensor([math.log(value)], dtype=torch.float64).to(like))
    return Hyperparameter(name, raw, constraint, unit, 1.0, prior)


class HyperparameterSet:
    """The hyperparameters of a model by name, and the free ones as one vector for an optimiser.

    Where processes share the bags, ``gathered(gradient, like)`` sums gradients over them, and
    ``together(function)`` calls what may end the search, so that it ends everywhere.
    """

    gathered: Callable[[np.ndarray, Tensor], np.ndarray] | None = None
    together = staticmethod(lambda function: function())

    def __init__(self, items: list[Hyperparameter]):
        self._items = {item.name: item for item in items}

    def __iter__(self):
        return iter(self._items.values())

    def __getitem__(self, name: str) -> Hyperparameter:
        return self._items[choose("hyperparameter", name, self._items)]

    def __contains__(self, name: str) -> bool:
        return name in self._items

    def fix(self, values: Mapping[str, object]) -> None:
        """Fix hyperparameters by name at values in natural units.

        A value is a number, a list, or an entry of `report` (``{"value": ..., "unit": ...}``).
        """
        for name, value in values.items():
            item = self[name]
            item.set(value["value"] if isinstance(value, Mapping) else value)
            item.fixed = True

    def require_all(self, values: Mapping[str, object]) -> None:
        """Raise unless every hyperparameter has a value.

        Raises
        ------
        InputError
            With the names that are missing.
        """
        missing = [item.name for item in self if item.name not in values and not item.fixed]
        if missing:
            raise InputError(
                "condition() trains nothing, so every hyperparameter needs a value; missing: "
                + ", ".join(missing)
            )

    @property
    def free(self) -> list[Hyperparameter]:
        """Those that are learnt."""
        return [item for item in self if not item.fixed]

    def log_prior(self) -> Tensor:
        """Sum of the log prior densities of the free hyperparameters (of their logarithms)."""
        return sum((log_prior(self.prior_of(item), item.natural) for item in self.judged),
                   torch.zeros(()))

    @property
    def judged(self) -> list[Hyperparameter]:
        """Those whose priors count: free ones, and fixed ones by what is expected of a free one."""
        return [item for item in self if not item.fixed or any(
            not self[name].fixed for name in goes_by(item.prior))]

    def prior_of(self, item: Hyperparameter, given: Mapping[str, object] | None = None
                 ) -> Prior | None:
        """Its prior; one that goes by another hyperparameter is that at the other's value.

        Parameters
        ----------
        item : Hyperparameter
        given : mapping, optional
            Values in natural units by name, where they are not the present ones.
        """
        if not isinstance(item.prior, Multiple):
            return item.prior
        values, known = [], given or {}
        for name in item.prior.others:
            present = self[name].natural
            values.append(torch.as_tensor(known[name]).to(present) if name in known else present)
        return item.prior.given(*values)

    def draw(self, generator: np.random.Generator, given: Mapping[str, object] | None = None
             ) -> dict[str, float | list[float]]:
        """Free hyperparameters drawn from their priors, in natural units.

        One without a prior keeps its present value.

        Parameters
        ----------
        generator : numpy.random.Generator
        given : mapping, optional
            Values in natural units by name that are not drawn; priors go by them.

        Returns
        -------
        dict
            Values by name.

        Raises
        ------
        InputError
            If a prior of the user's own has no ``quantile``.
        """
        drawn, given = {}, given or {}
        for item in sorted(self.free, key=lambda one: isinstance(one.prior, Multiple)):
            like, prior = item.natural.detach(), self.prior_of(item, drawn | given)
            at = torch.as_tensor(generator.uniform(size=tuple(like.shape)))
            if prior is None:
                values = like
            elif hasattr(prior, "quantile"):
                values = prior.quantile(at).detach()
            else:
                raise InputError(f"the prior of {item.name} has no quantile(probability), by which "
                                 "it would be drawn from; give one, or fix its value")
            listed = values.reshape(-1).tolist()
            drawn[item.name] = listed[0] if len(listed) == 1 else listed
        return drawn

    def vector(self) -> np.ndarray:
        """Raw values of the free hyperparameters in one vector."""
        parts = [item.raw.detach().cpu().reshape(-1).numpy() for item in self.free]
        return np.concatenate(parts).astype(float) if parts else np.zeros(0)

    def assign(self, vector: np.ndarray) -> None:
        """Write a vector of raw values back."""
        start = 0
        with torch.no_grad():
            for item in self.free:
                stop = start + item.raw.numel()
                item.raw.copy_(torch.as_tensor(vector[start:stop]).to(item.raw).reshape(
                    item.raw.shape))
                start = stop

    def gradient(self) -> np.ndarray:
        """Gradients of the free raw values in one vector (zero where there is none)."""
        parts = [
            (torch.zeros_like(item.raw) if item.raw.grad is None else item.raw.grad)
            .detach().cpu().reshape(-1).numpy()
            for item in self.free
        ]
        found = np.concatenate(parts).astype(float) if parts else np.zeros(0)
        return self.gathered(found, self.free[0].raw) if self.gathered and parts else found

    def report(self) -> dict[str, dict]:
        """All values by name in natural units, ready to be passed back in."""
        return {name: item.report() for name, item in self._items.items()}
