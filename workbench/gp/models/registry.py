"""All models by name, one entry each: the command line, apps, contract tests and tables read this.

A model's module is imported when the model is first asked for. To add a model, write its class,
give it an entry here, and run ``make signatures``, which writes the class that users see.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

_HOME = "workbench.gp.models"


@dataclass(frozen=True)
class Entry:
    """Where a model is, and what can be known of it before its module is imported.

    Parameters
    ----------
    name : str
        Registry name, such as ``vbagg``.
    cls : str
        Name of the class, here and in `workbench`.
    module : str
        Module of the class, below `workbench.gp.models`.
    several : bool
        Whether it learns from several sources.
    mediated : bool
        Whether it can learn from targets that belong to no bag.
    stops_early : bool
        Whether held-out bags can stop its training.
    """

    name: str
    cls: str
    module: str
    several: bool = False
    mediated: bool = False
    stops_early: bool = False

    def load(self) -> type:
        """The class of the model in torch.

        Returns
        -------
        type
            Imported now, if it was not before.
        """
        return getattr(importlib.import_module(f"{_HOME}.{self.module}"), self.cls)


ENTRIES = {entry.name: entry for entry in (
    Entry("constant", "Constant", "vbagg.model"),
    Entry("bag-constant", "BagConstant", "baselines.bag_constant"),
    Entry("bag-pixel", "BagPixel", "baselines.models", stops_early=True),
    Entry("centre-point", "CentrePointGP", "vbagg.model"),
    Entry("neural-network", "NeuralNetwork", "baselines.models", stops_early=True),
    Entry("nystrom", "Nystrom", "baselines.models", stops_early=True),
    Entry("aggregated-gp", "AggregatedGP", "exact.bagged_gp"),
    Entry("gpr", "CentroidGP", "exact.bagged_baselines"),
    Entry("bagg-gp", "IndependentBagsGP", "exact.bagged_baselines"),
    Entry("quasi-likelihood", "QuasiLikelihoodGP", "summaries.model"),
    Entry("cmp", "CMP", "conditional_mean.cmp", mediated=True),
    Entry("s-cmp", "ShrinkageCMP", "conditional_mean.cmp", mediated=True),
    Entry("var-cmp", "VarCMP", "conditional_mean.var_cmp", mediated=True),
    Entry("vbagg", "VBAgg", "vbagg.model"),
    Entry("mr-gp", "MRGP", "several_sources.mr_gp", several=True),
    Entry("mr-vbagg", "MRVBAgg", "several_sources.mixed", several=True),
    Entry("centre-point-gprn", "CentrePointGPRN", "several_sources.gprn", several=True),
    Entry("mr-gprn", "MRGPRN", "several_sources.gprn", several=True),
    Entry("mr-cascade", "MRCascade", "several_sources.tree.cascade", several=True),
    Entry("mr-dgp", "MRDGP", "several_sources.tree.mr_dgp", several=True),
)}


#: The mixture of models; it is assembled where datasets are, and fits no `Source`.
AUTO = Entry("auto", "Auto", "vbagg.mixture")


class Loaded(Mapping):
    """Classes by name, each imported when it is asked for.

    Parameters
    ----------
    names : iterable of str
        In the order in which lists show them.
    load : callable
        Gives the class of a name.
    """

    def __init__(self, names: Iterable[str], load: Callable[[str], type]):
        self._names, self._load = tuple(names), load

    def __getitem__(self, name: str) -> type:
        if name not in self._names:
            raise KeyError(name)
        return self._load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


MODELS = Loaded(ENTRIES, lambda name: ENTRIES[name].load())
