"""Several sources in the form that Normal models work in: common inputs, tasks on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from workbench.checks import InputError, choose, reject, require
from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.inputs import InputTransform, fit_inputs
from workbench.gp.kernels.operators import OPERATORS, AggregationOperator
from workbench.gp.likelihoods.noise import NoiseModel
from workbench.gp.models import assembly
from workbench.gp.models.options import Options
from workbench.gp.numerics.shapes import Inputs, PerBag
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.priors import LogNormal

_SMALL = 4_000      # individuals for whom looking for clusters saves nothing


@dataclass(frozen=True, eq=False)
class StandardisedSource:
    """One source, its values per unit of weight, on the device and in the dtype of the options.

    Parameters
    ----------
    source : Source
        Totals of counts are divided by their weight.
    x : Tensor (N, D)
        Standardised inputs.
    operator : AggregationOperator
        From individuals to observations.
    noise : NoiseModel
        Variance of the observations.
    task : int
        Position of its task.
    rescaled : bool
        Whether the values were totals of counts.
    """

    source: Source
    x: Inputs
    operator: AggregationOperator
    noise: NoiseModel
    task: int
    rescaled: bool

    @property
    def value(self) -> PerBag:
        """Observations (B,)."""
        return self.source.targets.value

    @property
    def name(self) -> str:
        """Name of the source."""
        return self.source.name

    def clusters(self, most: int, seed: int) -> tuple[Inputs, AggregationOperator]:
        """Standardised inputs and bags of at most so many clusters of individuals per bag."""
        few = assembly.clustered(self.operator, self.x, most, seed)
        return few.bags.x, few


class SourceSet:
    """All sources of a model, ready to be learnt from.

    Parameters
    ----------
    sources : Source or sequence of Source
        The first is of the task, and if tasks are distinguished by resolution the source, that
        predictions are asked of unless said otherwise.
    options : Options
        ``transform``, ``extrapolation``, ``noise``, dtype and device.
    reduce : callable, optional
        From the bags of a source to those the model sees.

    Raises
    ------
    InputError
        If there is none, two have one name, or their columns differ.
    """

    def __init__(self, sources: Source | Sequence[Source], options: Options, reduce=None):
        given = [sources] if isinstance(sources, Source) else list(sources)
        self.given, self.reduce = tuple(given), reduce or (lambda bags: bags)
        check_together(given)
        _check_normal(given)
        self.tasks = tuple(dict.fromkeys(s.task for s in given))
        ready = [assembly.per_weight(source, options) for source in given]
        self.transform: InputTransform = fit_inputs(
            stack([s.bags for s, _ in ready]), options.transform, options.extrapolation)
        self.parts = tuple(self._standardise(*one, options) for one in ready)
        self.bags = stack([p.operator.bags for p in self.parts])
        self.x = torch.cat([p.x for p in self.parts])
        self.extent = self.bags.x.amax(0) - self.bags.x.amin(0)
        self.start = [self._mean(k) for k in range(len(self.tasks))]
        self.scale = [self._spread(k) for k in range(len(self.tasks))]
        self.notes = [note for part in self.parts for note in self._prior(part)]

    def _standardise(self, source: Source, rescaled: bool, options: Options) -> StandardisedSource:
        bags = self.reduce(source.bags)
        noise = NoiseModel(_noise_of(source, options), source)
        if len(self.given) > 1:
            for item in noise.items:
                item.name = f"{source.name}.{item.name}"
        return StandardisedSource(
            source, self.transform(bags.x), OPERATORS[source.aggregation](bags), noise,
            self.tasks.index(source.task), rescaled)

    def __iter__(self):
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def clusters(self, most: int, seed: int) -> list[tuple[Inputs, AggregationOperator]] | None:
        """See `StandardisedSource.clusters`; None where so few individuals gain nothing by it."""
        if most == 0 or len(self.x) <= _SMALL:
            return None
        return [part.clusters(most, seed) for part in self.parts]

    def of_task(self, task: int) -> list[StandardisedSource]:
        """The sources that observe a task, by its position."""
        return [p for p in self.parts if p.task == task]

    def asked(self, task: str | None = None, source: str | None = None) -> StandardisedSource:
        """The source that a question is about: the named one, a task's first, or the first."""
        if task is None:
            return self.named(source)
        found = self.of_task(self.task_of(task))[0]
        if source is None:
            return found
        if self.named(source).task != found.task:
            raise reject(f"a source of task {task!r}", repr(source), "name a task or a source")
        return self.named(source)

    def task_of(self, name: str | None) -> int:
        """Position of a task by its name, which must be known; the first source's without one."""
        return self.parts[0].task if name is None else self.tasks.index(
            choose("task", name, self.tasks))

    def named(self, name: str | None) -> StandardisedSource:
        """A source by name, which must be known; the first without one."""
        names = [p.name for p in self.parts]
        return self.parts[0 if name is None else names.index(choose("source", name, names))]

    def means(self) -> list[Hyperparameter]:
        """One prior mean for each task, in units of its values."""
        items = []
        for task, start in zip(self.tasks, self.start, strict=True):
            name = "mean" if len(self.tasks) == 1 else f"{task}.mean"
            raw = torch.nn.Parameter(torch.tensor([start]).to(self.x))
            items.append(Hyperparameter(name, raw, None, "value"))
        return items

    def noises(self) -> list[Hyperparameter]:
        """Hyperparameters of the noise of all sources."""
        return [item for p in self.parts for item in p.noise.items]

    def _prior(self, part: StandardisedSource) -> list[str]:
        """Give the noise a prior, and a start where the source says nothing of its size.

        Without a prior the noise of few bags falls to nothing, and with it all doubt.
        """
        spread = self.scale[part.task]**2
        flat = len(part.value) > 1 and float(part.value.var()) < 1e-12 * spread
        for item in part.noise.items:
            size = spread / float(part.noise.factor.median())
            item.prior = LogNormal(0.01 * size, 2.0)
            if flat:
                item.set(0.1 * size)
        return [f"all values of source {part.name!r} are the same: its noise is known from the "
                "prior alone"] if flat else []

    def _mean(self, task: int) -> float:
        """Weighted mean of the finest source of the task: coarse ones may be biased."""
        finest = min(self.of_task(task), key=lambda p: float(p.source.bags.sizes.mean()))
        return float(finest.source.mean_rate)

    def _spread(self, task: int) -> float:
        return assembly.spread(torch.cat(
            [p.source.as_rates().targets.value for p in self.of_task(task)]))


def stack(bags: Sequence[Bags]) -> Bags:
    """The bags of several sources as those of one, in order."""
    offset = torch.tensor([0, *(b.count for b in bags)]).cumsum(0).tolist()
    return Bags(
        x=torch.cat([b.x for b in bags]),
        membership=torch.cat([b.membership + o for b, o in zip(bags, offset, strict=False)]),
        weight=torch.cat([b.weight for b in bags]), count=offset[-1], columns=bags[0].columns)


def check_together(sources: Sequence[Source]) -> None:
    """Refuse sources that cannot be learnt from together.

    Raises
    ------
    InputError
        If there is none, two have one name, targets belong to no bag, or columns differ.
    """
    require(len(sources) > 0, "there are no sources; pass one bagged dataset or several")
    names = [s.name for s in sources]
    twice = sorted({n for n in names if names.count(n) > 1})
    require(not twice, f"sources must have different names, but these repeat: {twice}")
    for source in sources:
        require(source.matched, f"source {source.name!r} has targets that belong to no bag, which "
                "only conditional mean processes can learn from")
        for what, values in (("values", source.targets.value), ("inputs", source.bags.x)):
            bad = int((~torch.isfinite(values)).sum())
            require(bad == 0, f"{bad} {what} of source {source.name!r} are not finite; leave out "
                    "bags without a value, and fill or leave out individuals without inputs")
        theirs, ours = source.bags.columns, sources[0].bags.columns
        if theirs.names != ours.names or theirs.units != ours.units:
            raise reject(
                f"the columns of source {sources[0].name!r}, {_listed(ours)}",
                f"{_listed(theirs)} of source {source.name!r}",
                "give all sources the same covariates in the same units")


def _noise_of(source: Source, options: Options) -> str:
    """Convention of a source's noise: its own, or that of all.

    Raises
    ------
    InputError
        If it is to be known, and is not.
    """
    wanted = getattr(options, "noises", {}).get(source.name, options.noise)
    known = source.targets.noise_variance
    if wanted == "known" and (known is None or not bool((known > 0).all())):
        raise InputError("noise='known' needs a positive noise_variance for every bag in the "
                         f"dataset, which source {source.name!r} has not; say noises="
                         f"{{{source.name!r}: 'constant'}} to learn it there")
    return wanted


def _check_normal(sources: list[Source]) -> None:
    for source in sources:
        require(source.bags.trials is None, f"source {source.name!r} holds positives out of "
                "trials, which a Normal model does not fit; use mr-vbagg")


def _listed(columns) -> str:
    units = columns.units or ("",) * len(columns.names)
    return ", ".join(f"{n} [{u}]" if u else n for n, u in zip(columns.names, units, strict=True))
