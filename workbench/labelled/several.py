"""The labelled fit to one source or several."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray as xr

from workbench.checks import require
from workbench.labelled.experts import Experts
from workbench.labelled.maps import field_maps
from workbench.labelled.predictive import (
    LabelledPredictive,
    conditional_on,
    coords_of,
    keep_places,
    labelled,
)
from workbench.labelled.recognition import TrainingBags
from workbench.labelled.source import Converted
from workbench.labelled.sources import TASK, units_of


class SourcesFit(Experts):
    """A fit to several sources: a `Fit` whose predictions are of the first one unless named.

    Parameters
    ----------
    inner : SourcesFit
        The fit in torch.
    model : MultiSourceModel
        What was fitted.
    sources : mapping of str to Converted
        What it was fitted to, by name.
    """

    def __init__(self, inner, model, sources: Mapping[str, Converted]):
        super().__init__(inner, model, next(iter(sources.values())))
        found = self._given = {name: source.ds for name, source in sources.items()}
        self._attrs = {name: dict(ds["value"].attrs) for name, ds in found.items()}
        self._trainings = {name: TrainingBags.of(source) for name, source in sources.items()}
        self._identify()
        self._per = {name: ds["weight"].attrs.get("units", "") for name, ds in found.items()}

    def _trained(self, data: Converted, task: str | None = None, source: str | None = None
                 ) -> torch.Tensor:
        """Position of each bag among those of the source that is asked for, -1 for others."""
        if not hasattr(self.inner, "named"):        # no effects, and no use for it
            return super()._trained(data)
        return self._trainings[self.inner.named(task, source)].positions(data)

    def __repr__(self) -> str:
        return f"<Fit of {self.model!r} to bags of " + ", ".join(
            f"{name} ({ds.sizes['bag']})" for name, ds in self._given.items()) + ">"

    def _facts(self) -> dict:
        return {"trust": {one.name: one.trust for one in self.inner.state.given}}

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks."""
        return self.inner.tasks

    @property
    def composite_weights(self) -> xr.DataArray:
        """Power of each source's likelihood in the posterior (source)."""
        weights = self.inner.composite_weights
        return xr.DataArray(list(weights.values()), {"source": list(weights)}, "source",
                            attrs={"long_name": "composite weight", "units": ""})

    def at(self, ds: xr.Dataset, area_effect: bool = True, task: str | None = None, **which
           ) -> LabelledPredictive:
        """Predictive distribution of a task's field at the individuals.

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

        Returns
        -------
        LabelledPredictive
            Along ``individual``.
        """
        data = self._data(ds)
        bags, trained = self._bags(data), self._trained(data, task=task, **which)
        predictive = self.inner.at(bags, trained, area_effect, task=task, **which)
        joint = self._joint(bags, trained if area_effect else None, task, which)
        return self._individuals(predictive, data, self._units_of(task, **which), "field",
                                 conditional_on(self.inner, area_effect, trained, task=task,
                                                **which), joint)

    def _joint(self, bags, trained, task: str | None, which: dict):
        """Joint draws of what `at` is the distribution of, where the model has them."""
        if hasattr(self.inner, "of"):               # mr-vbagg: a fit for each source
            return lambda count, seed: self.inner.draw_rates(
                bags, trained, count, seed, task, which.get("source"))
        if hasattr(self.inner, "draw") and not which:
            return lambda count, seed: self.inner.draw(bags, count, seed, task)
        return None

    def latent(self, ds: xr.Dataset, task: str | None = None) -> LabelledPredictive:
        """Distribution of the latent field; where there is no link the same as `at`.

        Parameters
        ----------
        ds, task
            As of `at`.

        Returns
        -------
        LabelledPredictive
            Along ``individual``, on the link scale.
        """
        data = self._data(ds)
        return self._individuals(self.inner.latent(self._bags(data), task=task), data,
                                 "link scale", "latent f")

    def over(self, ds: xr.Dataset, area_effect: bool = True, task: str | None = None, **which
             ) -> LabelledPredictive:
        """Distribution of the mean (or total) of a task's field over each bag.

        Parameters
        ----------
        ds, area_effect, task, **which
            As of `at`.

        Returns
        -------
        LabelledPredictive
            Along ``bag``.
        """
        data = self._data(ds)
        bags = self._bags(data)
        trained = self._trained(data, task=task, **which)
        predictive = self.inner.over(bags, trained, area_effect, task=task, **which)
        if self.inner.rescaled(task, **which):
            predictive = predictive.scaled(bags.totals)
        return LabelledPredictive(predictive, coords_of(data.ds, "bag"), "bag",
                                  self._units_of(task, rates=False, **which), "bag parameter",
                                  conditional_on(self.inner, area_effect, trained, task=task,
                                                 **which))

    def to_dataset(self, ds: xr.Dataset, quantiles=(0.05, 0.5, 0.95),
                   threshold: float | Sequence[float] | None = None, area_effect: bool = True,
                   task: str | None = None) -> xr.Dataset:
        """The map of a task, with provenance: see `Fit.to_dataset`.

        Values of ``ds`` are kept only if they are of that task.

        Parameters
        ----------
        ds, area_effect, task
            As of `at`.
        quantiles, threshold
            As of `Fit.to_dataset`.

        Returns
        -------
        xr.Dataset
            mean, std, rate_quantile, exceedance and extrapolation per individual; bag_mean and
            bag_std per bag.
        """
        data = self._data(ds)       # converted once for all of the map
        field = self.at(data, area_effect, task=task)
        total = self.over(data, area_effect, task=task)
        wanted = self.tasks[0] if task is None else task
        mine = "value" in ds and str(ds["value"].attrs.get(TASK, "value")) == wanted
        maps = {name: ds[name] for name in ("weight", "membership") if name in ds}
        maps |= {"value": ds["value"]} if mine else {}
        maps |= field_maps(field, wanted, quantiles, threshold) | {
            "extrapolation": self.extrapolation(data),
            "bag_mean": total.mean, "bag_std": total.std,
        }
        weights = json.dumps({k: round(v, 6) for k, v in self.inner.composite_weights.items()})
        return keep_places(xr.Dataset(maps), ds).assign_attrs({
            **ds.attrs, **self.provenance(), "task": wanted, "source_weights": weights})

    def simulate(self, ds: xr.Dataset, unit: str = "bag", samples: int = 1000, seed: int = 0,
                 source: str | None = None) -> xr.DataArray:
        """Posterior predictive observations by a source, with its noise.

        Parameters
        ----------
        ds, unit, samples, seed
            As of `Fit.simulate`.
        source : str, optional
            Whose observations; the first source unless named.

        Returns
        -------
        xr.DataArray
            (sample, unit).
        """
        return super().simulate(ds, unit, samples, seed, source=source).assign_attrs(
            units=self._units_of(None, source, rates=False), long_name="simulated value")

    def draw(self, ds: xr.Dataset, samples: int = 100, seed: int = 0, task: str | None = None
             ) -> xr.DataArray:
        """Joint draws of a task's field at the individuals.

        Parameters
        ----------
        ds, samples, seed, task
            As of `simulate` and `at`.

        Returns
        -------
        xr.DataArray
            (sample, individual).

        Raises
        ------
        InputError
            If the model has none (``mr-gp`` and ``mr-gprn`` have).
        """
        require(hasattr(self.inner, "draw"), f"{self.model.name} draws no joint fields; mr-gp and "
                "mr-gprn do")
        values = self.inner.draw(self._bags(self._data(ds)), samples, seed, task)
        return labelled(values, ("sample", "individual"),
                        {"sample": np.arange(samples), **coords_of(ds, "individual")},
                        {"units": self._units_of(task), "long_name": "field"})

    def noise_std(self, ds: xr.Dataset, source: str | None = None) -> xr.DataArray:
        """Standard deviation of an observation of each bag by a source.

        Parameters
        ----------
        ds, source
            As of `simulate`: whose noise.

        Returns
        -------
        xr.DataArray
            (bag,), in units of the source's values.
        """
        values = self.inner.noise_std(self._bags(self._data(ds)), source)
        return labelled(values, ("bag",), coords_of(ds, "bag"),
                        {"units": self._units_of(None, source), "long_name": "noise"})

    def _units_of(self, task: str | None, source: str | None = None, rates: bool = True) -> str:
        """Units of a task's field, or of what is observed of it (``rates=False``)."""
        wanted = self.tasks[0] if task is None else task
        found = (name for name, attrs in self._attrs.items() if name == source or (
            source is None and str(attrs.get(TASK, "value")) == wanted))
        name = next(found, None)
        return "" if name is None else units_of(self._attrs[name], self._per[name] * rates)

    def _data(self, ds: xr.Dataset | Converted) -> Converted:
        """As of `Fit`; values of several tasks are ignored."""
        if isinstance(ds, xr.Dataset) and "value" in ds and TASK in ds["value"].dims:
            ds = ds.drop_vars("value")
        return super()._data(ds)
