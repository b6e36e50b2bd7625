"""Options of MR-DGP and MR-CASCADE."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.checks import reject
from workbench.gp.models.options import option
from workbench.gp.models.several_sources.options import MultiSourceOptions

_GRAMMAR = (" in the grammar of ``kernel``, with the further column 'parent' and the group 'inputs'"
            " of all others")


@dataclass(frozen=True)
class CascadeOptions(MultiSourceOptions):
    """Options of MR-CASCADE, and those that MR-DGP shares with it."""

    kernel: object = option(
        "rbf", "kernel of the base GPs, named as elsewhere: names joined by + and *")
    inducing: int = option(
        100, "inducing inputs of each stationary term of each GP", bounds=(1, 20_000))
    deep_inputs: str = option(
        "f,x", "inputs of the deep GPs: f,x, the parent's value times the inputs as the paper "
        "prints it; f, the value alone as in the authors' MR-DGP; linear, a line in it and what "
        "departs from that; or a kernel" + _GRAMMAR)
    samples: int = option(
        32, "draws of the parents that deep GPs learn and predict from; a power of two",
        bounds=(8, 4096))
    joint_steps: int = option(
        200, "evaluations of the objective over all GPs at once, after they were learnt one by "
        "one; 0 leaves the lower ones as they are, as the authors' code does: faster, and less "
        "sure of what the parents are", bounds=(0, 100_000))

    def __post_init__(self):
        super().__post_init__()
        if self.samples & (self.samples - 1):
            raise reject("option samples a power of two", repr(self.samples), "write samples=32")


@dataclass(frozen=True)
class MRDGPOptions(CascadeOptions):
    """Options of MR-DGP."""

    deep_inputs: str = option(
        "linear", "inputs of the deep GPs: linear, a line in the parent's value and what departs "
        "from it; f, the value alone as in the authors' code, which reverts to the mean beyond "
        "values that were seen; f,x, the value times the inputs as the paper prints it, which "
        "reverts far from the target's data; or a kernel" + _GRAMMAR)
