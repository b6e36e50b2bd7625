"""Several bagged datasets as sources, and the labelled fit to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
import xarray as xr

from workbench import schema
from workbench.bags import Source
from workbench.checks import choose, reject, require
from workbench.labelled.fit import Fit
from workbench.labelled.predictive import (
    DISTRIBUTIONS,
    LabelledPredictive,
    coords_of,
    keep_places,
    labelled,
)
from workbench.labelled.source import data_hash, to_source

TASK = "task"
Several = xr.Dataset | xr.DataTree | Mapping[str, xr.Dataset]


def datasets_of(data: Several) -> dict[str, xr.Dataset]:
    """One bagged dataset for each source and task.

    Parameters
    ----------
    data : xr.Dataset, xr.DataTree or mapping of xr.Dataset
        A bagged dataset; or several by name, of a tree the children (of its node ``sources``, if
        there is one). The attribute ``task`` of ``value`` names what was observed. A ``value``
        (bag, task) holds several tasks observed in the same bags, NaN where one is missing; it
        becomes one source for each task, ``name.task``, with the bags that have it.

    Raises
    ------
    InputError
        If there is nothing, or a task has no value at all.
    """
    if isinstance(data, xr.DataTree):
        node = data["sources"] if "sources" in data.children else data
        given = {name: child.to_dataset() for name, child in node.children.items()}
        require(bool(given), "the tree holds no sources; put bagged datasets under 'sources'")
    elif isinstance(data, xr.Dataset):
        given = {str(data.attrs.get("title", "source")): data}
    elif isinstance(data, Mapping):
        given = dict(data)
        require(bool(given), "there are no sources; pass bagged datasets by name")
    else:
        raise reject("a bagged Dataset, a DataTree, or Datasets by name", type(data).__name__,
                     "pass {'stations': ds, 'satellite': other}")
    out: dict[str, xr.Dataset] = {}
    for name, ds in given.items():
        if isinstance(ds, xr.Dataset) and "value" in ds and TASK in ds["value"].dims:
            out |= {f"{name}.{task}": part for task, part in _tasks(name, ds)}
        else:
            out[str(name)] = ds
    return out


def _tasks(name: str, ds: xr.Dataset):
    require(TASK in ds.coords, f"source {name!r} has a dimension 'task' without names; give it a "
            "coordinate")
    for task in ds[TASK].values:
        part = ds.sel({TASK: task}, drop=True)
        seen = np.flatnonzero(~np.isnan(part["value"].values))
        require(len(seen) > 0, f"source {name!r} has no value of task {str(task)!r}; leave it out")
        members = part["membership"].values
        rows = np.flatnonzero(np.isin(members, seen))
        part = part.isel({schema.BAG: seen, schema.INDIVIDUAL: rows})
        part["membership"] = (schema.INDIVIDUAL, np.searchsorted(seen, members[rows]))
        part["value"].attrs = {**ds["value"].attrs, TASK: str(task)}
        yield str(task), part


def to_sources(data: Several, trust: Mapping[str, float] | None = None) -> list[Source]:
    """Sources in torch, in their order; of several tasks or places.

    Parameters
    ----------
    data : see `datasets_of`
    trust : mapping, optional
        Powers of the likelihoods by source; one for those not named.

    Raises
    ------
    InputError
        If a dataset is no bagged one (the source is named), or trust names no source.
    """
    found, trust = datasets_of(data), dict(trust or {})
    for name, value in trust.items():
        choose("source in trust", name, found)
        require(np.isfinite(value) and value > 0, f"trust of {name!r} must be positive, got "
                f"{value}; leave out a source that is not to count")
    out, units = [], {}
    for name, ds in found.items():
        try:
            source = to_source(ds)
        except ValueError as error:
            raise type(error)(f"source {name!r}: {error}") from error
        task = str(ds["value"].attrs.get(TASK, "value"))
        own = ds["value"].attrs.get("units", "")
        first, theirs = units.setdefault(task, (name, own))
        require(own == theirs or not own or not theirs, f"task {task!r} is in {theirs!r} in source "
                f"{first!r} and in {own!r} in {name!r}; convert one, or give them different tasks "
                "by value.attrs['task']")
        out.append(replace(source, name=name, task=task, trust=float(trust.get(name, 1.0))))
    return out


class SourcesFit(Fit):
    """A fit to one source or several: see `Fit`; predictions name a task, or a source.

    Without a name they are of the first source.
    """

    def __init__(self, inner, model, data: Several):
        found = datasets_of(data)
        first = next(iter(found.values()))
        super().__init__(inner, model, first)
        self._attrs = {name: dict(ds["value"].attrs) for name, ds in found.items()}
        self._per = {name: ds["weight"].attrs.get("units", "") for name, ds in found.items()}
        self._hash = "+".join(data_hash(ds) for ds in found.values())
        self._counts = {name: ds.sizes[schema.BAG] for name, ds in found.items()}

    def __repr__(self) -> str:
        told = ", ".join(f"{name} ({count})" for name, count in self._counts.items())
        return f"<Fit of {self.model!r} to bags of {told}>"

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks."""
        return self.inner.tasks

    @property
    def composite_weights(self) -> xr.DataArray:
        """Power of each source's likelihood in the posterior (source)."""
        weights = self.inner.composite_weights
        return xr.DataArray(list(weights.values()), dims="source",
                            coords={"source": list(weights)}, attrs={
                                "long_name": "composite weight", "units": ""})

    def at(self, ds: xr.Dataset, area_effect: bool = False, task: str | None = None, **which
           ) -> LabelledPredictive:
        """Law of a task's field at the individuals.

        Parameters
        ----------
        ds : xr.Dataset
            Any bagged dataset with the training covariates.
        area_effect : bool
            See `Fit.at`; only ``mr-vbagg`` has such effects.
        task : str, optional
            Of the first source unless named.
        **which
            ``source=`` for models that tell sources of one task apart (``mr-vbagg``, whose
            sources have links of their own).
        """
        bags, trained = self._bags(ds), self._trained(ds)
        law = self.inner.at(bags, trained, area_effect, task=task, **which)
        joint = self._joint(bags, trained if area_effect else None, task, which)
        return self._individuals(law, ds, self._units_of(task, **which), "field",
                                 DISTRIBUTIONS[area_effect], joint)

    def _joint(self, bags, trained, task: str | None, which: dict):
        """Joint draws of what `at` is the distribution of, where the model has them."""
        if hasattr(self.inner, "of"):               # mr-vbagg: a fit for each source
            source = which.get("source")
            return lambda count, seed: self.inner.draw_rates(
                bags, trained, count, seed, task, source)
        if hasattr(self.inner, "draw") and not which:
            return lambda count, seed: self.inner.draw(bags, count, seed, task)
        return None

    def latent(self, ds: xr.Dataset, task: str | None = None) -> LabelledPredictive:
        """Law of the latent field; where there is no link the same as `at`."""
        return self._individuals(self.inner.latent(self._bags(ds), task=task), ds, "link scale",
                                 "latent f")

    def over(self, ds: xr.Dataset, area_effect: bool = False, task: str | None = None, **which
             ) -> LabelledPredictive:
        """Law of the mean (or total) of a task's field over each bag; arguments as of `at`."""
        bags = self._bags(ds)
        law = self.inner.over(bags, self._trained(ds), area_effect, task=task, **which)
        if self.inner.rescaled(task, **which):
            law = law.scaled(bags.totals)
        return LabelledPredictive(law, coords_of(ds, "bag"), "bag",
                                  self._units_of(task, rates=False, **which), "bag parameter")

    def to_dataset(self, ds: xr.Dataset, quantiles=(0.05, 0.5, 0.95),
                   threshold: float | None = None, area_effect: bool = False,
                   task: str | None = None) -> xr.Dataset:
        """The map of a task, with provenance: see `Fit.to_dataset`.

        Values of ``ds`` are kept only if they are of that task.
        """
        field = self.at(ds, area_effect, task=task)
        total = self.over(ds, area_effect, task=task)
        wanted = self.tasks[0] if task is None else task
        mine = "value" in ds and str(ds["value"].attrs.get(TASK, "value")) == wanted
        maps = {name: ds[name] for name in ("weight", "membership") if name in ds}
        maps |= {"value": ds["value"]} if mine else {}
        maps |= {
            "mean": field.mean.assign_attrs(long_name=f"posterior mean of {wanted}"),
            "std": field.std.assign_attrs(long_name=f"posterior std of {wanted}"),
            "rate_quantile": field.quantile(quantiles).assign_attrs(long_name="quantile"),
            "extrapolation": self.extrapolation(ds),
            "bag_mean": total.mean, "bag_std": total.std,
        }
        if threshold is not None:
            maps["exceedance"] = field.exceedance(threshold).assign_attrs(
                long_name=f"P({wanted} > {threshold:g})", threshold=float(threshold))
        weights = json.dumps({k: round(v, 6) for k, v in self.inner.composite_weights.items()})
        return keep_places(xr.Dataset(maps), ds).assign_attrs({
            **ds.attrs, **self.provenance(), "task": wanted, "source_weights": weights})

    def simulate(self, ds: xr.Dataset, unit: str = "bag", samples: int = 1000, seed: int = 0,
                 source: str | None = None) -> xr.DataArray:
        """Posterior predictive observations by a source, with its noise (sample, unit)."""
        require(unit in ("bag", "individual"), f"unit must be 'bag' or 'individual', got {unit!r}")
        draw = getattr(self.inner, "simulate_bags" if unit == "bag" else "simulate_individuals")
        values = draw(self._bags(ds), self._trained(ds), samples, seed, source=source)
        return labelled(
            values, ("sample", unit), {"sample": np.arange(samples), **coords_of(ds, unit)},
            {"units": self._units_of(None, source, rates=False), "long_name": "simulated value"})

    def draw(self, ds: xr.Dataset, samples: int = 100, seed: int = 0, task: str | None = None
             ) -> xr.DataArray:
        """Joint draws of a task's field at the individuals (sample, individual).

        Raises
        ------
        InputError
            If the model has none (``mr-gp`` and ``mr-gprn`` have).
        """
        require(hasattr(self.inner, "draw"), f"{self.model.name} draws no joint fields; mr-gp and "
                "mr-gprn do")
        values = self.inner.draw(self._bags(ds), samples, seed, task)
        return labelled(values, ("sample", "individual"),
                        {"sample": np.arange(samples), **coords_of(ds, "individual")},
                        {"units": self._units_of(task), "long_name": "field"})

    def expert_weights(self, ds: xr.Dataset, task: str | None = None) -> xr.DataArray:
        """Weights of a task's experts at the individuals (expert, individual), adding up to one.

        Raises
        ------
        InputError
            If the model has no experts (``mr-dgp`` has).
        """
        self._require_experts()
        values = self.inner.expert_weights(self._bags(ds), task)
        return labelled(values, ("expert", "individual"),
                        {"expert": list(self.inner.expert_names(task)),
                         **coords_of(ds, "individual")},
                        {"units": "", "long_name": "weight of an expert"})

    def expert(self, ds: xr.Dataset, name: str, task: str | None = None) -> LabelledPredictive:
        """Distribution of one expert's field: of a source mapped to the task's first."""
        self._require_experts()
        law = self.inner.expert(self._bags(ds), name, task)
        return self._individuals(law, ds, self._units_of(task), f"expert {name}")

    def _require_experts(self) -> None:
        require(hasattr(self.inner, "expert_weights"), f"{self.model.name} is no mixture of "
                "experts; mr-dgp is")

    def noise_std(self, ds: xr.Dataset, source: str | None = None) -> xr.DataArray:
        """Standard deviation of an observation of each bag by a source."""
        values: torch.Tensor = self.inner.noise_std(self._bags(ds), source)
        return labelled(values, ("bag",), coords_of(ds, "bag"),
                        {"units": self._units_of(None, source), "long_name": "noise"})

    def _units_of(self, task: str | None, source: str | None = None, rates: bool = True) -> str:
        """Units of a task's field, or of what is observed of it (``rates=False``)."""
        wanted = self.tasks[0] if task is None else task
        for name, attrs in self._attrs.items():
            if name == source or (source is None and str(attrs.get(TASK, "value")) == wanted):
                totals = rates and attrs.get("aggregation", "sum") == "sum"
                units, per = attrs.get("units", ""), self._per[name] if totals else ""
                return f"{units or 1} / {per}" if per else units
        return ""

    def _bags(self, ds: xr.Dataset):
        """Bags of a dataset whose values may be of several tasks, and are not looked at."""
        if "value" in ds and TASK in ds["value"].dims:
            ds = ds.drop_vars("value")
        return super()._bags(ds)

    def _trained(self, ds: xr.Dataset) -> torch.Tensor:
        if "value" in ds and TASK in ds["value"].dims:
            ds = ds.drop_vars("value")
        return super()._trained(ds)
