"""Bags shared out over the processes of `torch.distributed`, while hyperparameters are learnt.

Every process has all data and takes the same steps; each projects its own run of bags alone, which
is what takes time and memory. The expected log-likelihood and all gradients are summed over the
processes, so that they are those of one process with all bags, and so is the optimum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from workbench.checks import Cancelled, require
from workbench.gp.inference.parts import in_parts, part, runs
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.numerics.shapes import PerBag
from workbench.gp.optimisation.checkpoint import unkept

_ELSEWHERE = "another process was stopped, or failed"


@dataclass(frozen=True)
class Shard:
    """The bags of one process.

    Parameters
    ----------
    bags : slice
        Which of all bags.
    processes : int
        How many share them.
    device : torch.device
        That they compute on.
    """

    bags: slice
    processes: int
    device: torch.device

    def total(self, expected: Callable[[slice, Tensor, Tensor], Tensor], mean: Tensor,
              covariance: Tensor) -> Tensor:
        """The expected log-likelihood of all bags (), with the gradients of all in q's moments.

        Parameters
        ----------
        expected : callable
            ``expected(bags, mean, covariance)`` of the process's own bags.
        mean, covariance : Tensor (M,), (M, M)
            Of q, the same everywhere.

        Raises
        ------
        FactorisationError
            If that of any process is not to be had: on all of them, as they go on together.
        Cancelled
            If another process was stopped, or failed.
        """
        own, wrong = mean.new_zeros(()), None
        try:
            own = expected(self.bags, *_Spread.apply(mean, covariance))
        except BaseException as error:          # told to the others before it is raised
            wrong = error
        failed = mean.new_tensor([isinstance(wrong, FactorisationError), wrong is not None])
        found = _Total.apply(torch.cat([own.reshape(1), failed]))
        if wrong is not None:
            raise wrong
        factorisations, errors = found[1:].detach().tolist()
        if errors > factorisations:
            raise Cancelled(_ELSEWHERE)
        if factorisations:
            raise FactorisationError("an expected total is not finite")
        return found[0]

    def together(self, function: Callable[[], None]) -> None:
        """Call a function that may end the fit, such as a callback: then it ends everywhere."""
        wrong = None
        try:
            function()
        except BaseException as error:
            wrong = error
        ended = torch.tensor([float(wrong is not None)], device=self.device)
        dist.all_reduce(ended)
        if wrong is not None:
            raise wrong
        if float(ended) > 0:
            raise Cancelled(_ELSEWHERE)

    def once(self, value: Tensor) -> Tensor:
        """What all processes compute alike, so that the sum of their gradients counts it once."""
        return value / self.processes + (value * (1 - 1 / self.processes)).detach()


_ALONE: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def alone() -> Iterator[None]:
    """Inside, fits are not shared out: other processes may have them already, or need none."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


@contextmanager
def shared_out(state) -> Iterator[list[str]]:
    """Inside, each process projects its own bags alone; yields what there is to say of it.

    Observations with a noise or a number of trials of each bag are not shared out: every process
    computes with all of them.

    Parameters
    ----------
    state : VariationalState
        Changed inside: what is learnt on, its objective, and gradients of hyperparameters.

    Raises
    ------
    InputError
        If there are fewer bags than processes.
    """
    there = dist.is_available() and dist.is_initialized() and not _ALONE.get()
    processes = dist.get_world_size() if there else 1
    if processes == 1:
        yield []
        return
    if not in_parts(state):
        yield [f"each of {processes} processes computed with all areas: only counts without "
               "trials, and exponential values, are shared out"]
        return
    whole = state.learning
    sizes = whole.operator.bags.sizes.cpu().numpy()
    require(processes <= len(sizes), f"{processes} processes cannot share {len(sizes)} areas; "
            "start at most as many")
    _require_alike(state)
    bags = runs(sizes, processes)[dist.get_rank()]
    state.shard = Shard(bags, processes, state.x.device)
    state.learning, state.hyperparameters.gathered = part(whole, bags), _summed
    state.hyperparameters.together = state.shard.together
    try:
        with unkept():          # files of several processes would differ by when they are written
            yield [f"learnt by {processes} processes, each with its share of the areas"]
    finally:
        state.shard, state.learning, state.hyperparameters.gathered = None, whole, None
        del state.hyperparameters.together


def _require_alike(state) -> None:
    """Refuse other data, options or versions in one process than in another."""
    bags, told = state.source.bags, hashlib.sha256()
    averaged = [part for one in state.field.averaging if one is not None
                for part in (one.bags.membership, one.bags.weight)]
    for one in (bags.x, bags.weight, bags.membership, bags.concentration,
                state.source.targets.value, *state.field.inducing, *averaged):
        told.update(b"-" if one is None else one.detach().cpu().numpy().tobytes())
    told.update(repr((state.options, torch.__version__)).encode())
    told.update(state.hyperparameters.vector().tobytes())
    all_told = [None] * dist.get_world_size()
    dist.all_gather_object(all_told, told.hexdigest())
    require(len(set(all_told)) == 1, "processes that share a fit must be given the same data, "
            "options and versions, but these have others: each must call fit with all of the data")


def _summed(gradient: np.ndarray, like: PerBag) -> np.ndarray:
    """The sum over all processes of their gradients."""
    found = torch.as_tensor(gradient).to(like.device)
    dist.all_reduce(found)
    return found.cpu().numpy()


class _Total(torch.autograd.Function):
    """The sum over all processes; each has the gradient of its own summand."""

    @staticmethod
    def forward(ctx, value: Tensor) -> Tensor:
        found = value.clone()
        dist.all_reduce(found)
        return found

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return gradient


class _Spread(torch.autograd.Function):
    """What all processes have alike; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx, mean: Tensor, covariance: Tensor) -> tuple[Tensor, Tensor]:
        return mean.clone(), covariance.clone()

    @staticmethod
    def backward(ctx, of_mean: Tensor, of_covariance: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat([of_mean, of_covariance.reshape(-1)])
        dist.all_reduce(both)
        size = len(of_mean)
        return both[:size], both[size:].reshape(of_covariance.shape)
