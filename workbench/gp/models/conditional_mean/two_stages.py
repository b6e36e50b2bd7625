"""Learning in two stages: ℓ and λ by leaving out bags under k, and k by the evidence, in turn.

Both have more than one answer that agrees with itself. Under a k of short lengthscales no bag looks
like another, so that no mediator predicts one; with that ℓ and λ the targets are explained by as
short a k without noise, or as noise alone. The evidence of a smooth k is better, but no ascent from
there finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from workbench.checks import FitWarning, InputError, stops, warn
from workbench.gp.models.conditional_mean.first_stage import DOUBTFUL, USELESS, LeftOut
from workbench.gp.models.conditional_mean.starts import STARTS, Evidence
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.training import Callback, History, scaled_callback

Searcher = Callable[[Callback | None, bool], History]
Marks = tuple[np.ndarray, list[list[Tensor | None]]]
_PARTS = 5          # the evidence of all, then two turns from each of at most two kernels


class Learnt(Protocol):
    """What `TwoStages` needs of a state."""

    hyperparameters: HyperparameterSet

    def first_stage(self) -> HyperparameterSet:
        """ℓ and λ."""

    def leave_out(self) -> LeftOut:
        """Set ℓ and λ by leaving out bags under the present k."""

    def marks(self) -> Marks:
        """All that a search moves."""

    def put_back(self, marks: Marks) -> None:
        """Take up what `marks` gave."""


class TwoStages:
    """Training of a conditional mean process whose ℓ and λ are chosen by leaving out bags.

    Parameters
    ----------
    state : CMPState
        Its hyperparameters are where training starts.
    search : callable
        ``search(callback, progress)``: maximises the evidence over all that is free.
    evidence : callable
        By which two ends are compared, beside the left-out error, with the first stage at its
        optimum in both.
    """

    def __init__(self, state: Learnt, search: Searcher, evidence: Evidence):
        self.state, self.search, self.evidence = state, search, evidence
        self.learnt = state.first_stage().free

    def train(self, progress: bool, callback: Callback | None) -> History:
        """k from where the evidence of all puts it.

        If bags are predicted badly then, from its start, too; that is kept if both the evidence and
        the left-out error are better.
        """
        begin = self.state.marks()
        history = self.search(scaled_callback(callback, 0, _PARTS), False)
        history, told = self._turns(history, 1, progress, callback)
        if told is None:
            return history
        if told.relative > DOUBTFUL and not history.cancelled:
            history, told = self._once_more(begin, history, told, progress, callback)
        history.notes.insert(0, "ℓ and λ by leaving out bags; a left-out bag's squared error, "
                             f"of its embedding's square: {told.loss:.3g}")
        if told.relative >= USELESS:
            said = self._useless(told.relative)
            history.notes.append(said)
            warn(said, FitWarning)
        return history

    def _turns(self, history: History, part: int, progress: bool, callback: Callback | None
               ) -> tuple[History, LeftOut | None]:
        """ℓ and λ under the present k, then k; twice."""
        told = None
        for turn in (0, 1):
            if history.cancelled:
                break
            told = self.state.leave_out()
            with_k = self._held(lambda turn=turn: self.search(
                scaled_callback(callback, part + turn, _PARTS), progress and turn == 1))
            with_k.elapsed += history.elapsed
            with_k.notes[:0] = [n for n in history.notes if n.startswith(STARTS)]
            history = with_k
        return history, told

    def _held(self, call: Callable):
        """What a call gives while ℓ and λ are held."""
        for item in self.learnt:
            item.fixed = True
        try:
            return call()
        finally:
            for item in self.learnt:
                item.fixed = False

    @torch.no_grad()
    def _objective(self) -> float:
        def both() -> float:
            return float(self.evidence() + self.state.hyperparameters.log_prior())
        return self._held(both)

    def _once_more(self, begin: Marks, history: History, told: LeftOut, progress: bool,
                   callback: Callback | None) -> tuple[History, LeftOut]:
        """The same from the kernel that training began with; the better end and what it told."""
        end, reached = self.state.marks(), self._objective()
        self.state.put_back(begin)
        try:
            other, theirs = self._turns(History(), 3, progress, callback)
            found = -np.inf if other.cancelled else self._objective()
        except stops():
            other, theirs, found = History(cancelled=True), told, -np.inf
        except InputError:          # no evidence could be computed from there
            other, theirs, found = History(), told, -np.inf
        elapsed = history.elapsed + other.elapsed
        # The evidence holds ℓ and λ for known, which under another k are others: by it alone a k
        # under which bags are predicted worse may win.
        before, after = told.relative, theirs.relative
        if found <= reached or after >= before:
            self.state.put_back(end)
            kept, cancelled = "first", other.cancelled
        else:
            other.notes[:0] = [n for n in history.notes if n.startswith(STARTS)]
            history, told, kept, cancelled = other, theirs, "second", False
        history = replace(history, elapsed=elapsed)
        if cancelled:
            history.cancel()
        history.notes.append(
            "the kernel was sought twice, as left-out bags were predicted badly: from where the "
            f"evidence of all put it (objective {reached:.2f}, left-out error {before:.3g} of that "
            f"of the mean), and from its start ({found:.2f}, {after:.3g}); kept the {kept}, as the "
            "second has to be better in both")
        return history, told

    @staticmethod
    def _useless(relative: float) -> str:
        return (
            "the mediators hardly tell the bags apart: a left-out bag is predicted from the "
            f"others' mediators with {relative:.0%} of the squared error of predicting their mean "
            f"(from {USELESS:.0%} on this is said), so that targets say little of any place, and "
            "the map may be far off. Give a smoother kernel, such as "
            "'linear(NAME)+matern32(coordinates)' with what drives the values, mediators that vary "
            "with the inputs of the bags, or more bags; set against mediation='evidence'")
