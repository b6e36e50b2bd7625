"""The conditional mean process through inducing inputs, for more individuals than pairs allow.

References
----------
Chau et al. 2021, appendix B and E.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from workbench.checks import stops
from workbench.gp.fields.collapsed import CollapsedField
from workbench.gp.fields.inducing import InducingField
from workbench.gp.fields.mediated import ConditionalMeanOperator
from workbench.gp.fields.moves import InducingMoves
from workbench.gp.kernels.grammar import Term
from workbench.gp.models import assembly
from workbench.gp.models.conditional_mean.cmp import CMP, CMPFit
from workbench.gp.models.conditional_mean.cmp_options import VarCMPOptions
from workbench.gp.models.conditional_mean.cmp_state import CMPState
from workbench.gp.models.conditional_mean.minibatches import MOVE, ascend
from workbench.gp.models.conditional_mean.starts import Evidence
from workbench.gp.models.conditional_mean.two_stages import Searcher
from workbench.gp.numerics.shapes import Inputs
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.training import History, maximise_evidence, scaled_callback

_STEP = 3.0             # standardised units of an inducing input to one of L-BFGS's search


class VarCMPState(CMPState):
    """A variational conditional mean process assembled for one source."""

    field_type = CollapsedField

    def _field(self, terms: list[Term], x: Inputs, operator: ConditionalMeanOperator
               ) -> CollapsedField:
        inducing = assembly.inducing_field(terms, x, self.options.inducing, self.options.seed)
        return self.field_type(inducing, x, operator)

    def _field_like(self, x: Inputs, operator: ConditionalMeanOperator,
                    terms: list[Term] | None = None) -> CollapsedField:
        inducing = self.field.inducing
        if terms is not None:
            inducing = InducingField(terms, inducing.inducing)
            inducing.mean = self.field.mean
        return self.field_type(inducing, x, operator)

    def _too_many(self) -> bool:
        return super()._too_many() and not self.options.batch

    def _judge(self, whole: Evidence | None, rough: Evidence | None) -> Evidence:
        # Minibatches are for individuals too many to have all of them at once.
        return (rough or whole) if self.options.batch else super()._judge(whole, rough)

    def _searcher(self, whole: Evidence | None, rough: Evidence | None) -> Searcher:
        if not self.options.batch and self.options.inducing_inputs == "held":
            return super()._searcher(whole, rough)
        return lambda callback, progress: self._further(whole, rough, callback, progress)

    def _further(self, whole: Evidence | None, rough: Evidence | None, callback, progress: bool
                 ) -> History:
        """From the best start by minibatches, or with inducing inputs that are learnt, or both."""
        options, start = self.options, History()
        first = None if options.batch else whole
        if first or rough:
            start = super()._searcher(first, rough)(scaled_callback(callback, 0, 2), False)
            callback = scaled_callback(callback, 1, 2)
        if start.cancelled or not self.hyperparameters.free:
            return start
        field = self.training_field() if whole else self._field_like(*reversed(self._few))
        learnt, step = options.inducing_inputs == "learnt", MOVE if options.batch else _STEP
        moves = InducingMoves(field.inducing, step) if learnt else None
        before = self.hyperparameters.vector()
        try:
            found = (ascend(self, field, moves, progress, callback) if options.batch else
                     self._climb(field, moves, progress, callback))
        except stops():
            if not start.objective:
                raise
            self.hyperparameters.assign(before)
            if learnt:
                moves.undo()
            found = History(cancelled=True, notes=["cancelled: the start is kept"])
        finally:
            if learnt:
                moves.leave()
                self.field.inducing.inducing = list(field.inducing.inducing)
        found.objective[:0], found.notes[:0] = start.objective, start.notes
        found.elapsed += start.elapsed
        if learnt:
            found.notes.append(f"{moves.count} inducing inputs learnt")
        return found

    def _climb(self, field: CollapsedField, moves: InducingMoves, progress: bool, callback
               ) -> History:
        def evidence() -> Tensor:
            moves.place()
            return self._evidence(field, field.operator)

        return maximise_evidence(
            evidence, HyperparameterSet([*self.hyperparameters, *moves.items]), self.options,
            progress=progress, callback=callback)

    def inducing_fields(self) -> list[InducingField]:
        """The one field behind the collapsed one."""
        return [self.field.inducing]

    def conditional_means(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance (n,) of means of f - m with weights of bags (B, n)."""
        return self.field.conditional_means(weights)


class VarCMP(CMP):
    """Conditional mean process with a sparse posterior: `CMP` where all pairs are too many."""

    name = "var-cmp"
    summary = "the conditional mean process through inducing inputs"
    options_type = VarCMPOptions
    state_type = VarCMPState

    def warm_start(self, fit: CMPFit, hyperparameters: Mapping) -> CMPFit:
        """As of `CMP`; inducing inputs that were learnt stay where they are."""
        state = self._assemble(fit.state.given)
        state.operator.share_cache(fit.state.operator)
        state.field.inducing.inducing = list(fit.state.field.inducing.inducing)
        return self._conditioned(state, hyperparameters)
