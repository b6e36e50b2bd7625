"""A fitted model with labels, units and provenance."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping

import numpy as np
import torch
import xarray as xr

from workbench import schema
from workbench.bags import Bags
from workbench.checks import require
from workbench.labelled.predictive import LabelledPredictive, coords_of, keep_places, labelled
from workbench.labelled.source import bag_marks, data_hash, to_bags
from workbench.labelled.versions import versions
from workbench.models.options import cast_bags
from workbench.summary import summarise_fit


class Fit:
    """A fitted model with labels: predictions, summaries, and maps with their provenance."""

    def __init__(self, inner, model, ds: xr.Dataset, targets: xr.Dataset | None = None):
        self.inner, self.model = inner, model
        of = ds if targets is None else targets
        observed, self._aggregation = of["value"], schema.aggregation(of)
        self._value_attrs, self._values = dict(observed.attrs), observed.values.copy()
        self._weight_units = ds["weight"].attrs.get("units", "")
        self._names = [str(name) for name in observed[observed.dims[0]].values]
        # Targets of their own are no bags: then none is recognised.
        self._marks = bag_marks(ds) if targets is None else None
        self._title = ds.attrs.get("title", "")
        self._columns = to_bags(ds.isel(individual=slice(0, 0))).columns
        self._hash = "+".join(data_hash(part) for part in (ds, targets) if part is not None)
        self.outside_share = float((self.extrapolation(ds) > 1e-9).mean())

    def __repr__(self) -> str:
        return f"<Fit of {self.model!r} to {self._title or 'data'}: {len(self._names)} bags>"

    def move(self, hyperparameters: Mapping) -> Fit:
        """The posterior at other (natural) values of some; faster than ``model.condition``."""
        moved = copy.copy(self)
        moved.inner = self.inner.move(hyperparameters)
        return moved

    @property
    def hyperparameters(self) -> dict[str, dict]:
        """``{name: {"value": ..., "unit": ...}}`` in natural units; goes back into condition."""
        return self.inner.hyperparameters

    @property
    def history(self) -> list[float]:
        """Objective (with log priors) after each training step."""
        return list(self.inner.history.objective)

    @property
    def notes(self) -> list[str]:
        """What happened in training: back-offs, missed convergence, cancellation."""
        return list(self.inner.history.notes)

    @property
    def converged(self) -> bool:
        """Whether training met its tolerance."""
        return self.inner.history.converged

    @property
    def cancelled(self) -> bool:
        """Whether training was stopped early; the state is the best one reached."""
        return self.inner.history.cancelled

    @property
    def elapsed(self) -> float:
        """Training time in seconds."""
        return self.inner.history.elapsed

    @property
    def objective(self) -> float:
        """Evidence lower bound, its named approximation, or the exact log evidence."""
        return self.inner.objective

    def latent(self, ds: xr.Dataset) -> LabelledPredictive:
        """Law of the Gaussian process f at the individuals."""
        law = self.inner.latent(self._bags(ds))
        return self._individuals(law, ds, "link scale", "latent f")

    def at(self, ds: xr.Dataset, area_effect: bool = False) -> LabelledPredictive:
        """Law of the rate ψ(f) at the individuals, with the nugget of individuals (not of areas).

        Parameters
        ----------
        ds : xr.Dataset
            Any bagged dataset with the training covariates.
        area_effect : bool
            Include the iid effect of the area: for areas of the training data conditional on their
            observed total, for others from its prior. A smooth map leaves it out; a prediction of
            what is observed inside a known area needs it. The Gamma multipliers of the negative
            binomial are part of the observation, not of the rate: `simulate` has them.
        """
        law = self.inner.at(self._bags(ds), self._trained(ds), area_effect)
        return self._individuals(law, ds, self.rate_units, "rate")

    def over(self, ds: xr.Dataset, area_effect: bool = False) -> LabelledPredictive:
        """Law of the bag parameter: the expected total, mean, or share of positives of each bag."""
        bags = self._bags(ds)
        law = self.inner.over(bags, self._trained(ds), area_effect)
        if self.inner.state.rescaled:       # a Normal model of counts works per unit of weight
            law = law.scaled(bags.totals)
        return LabelledPredictive(law, coords_of(ds, "bag"), "bag", self._units, "bag parameter")

    def simulate(self, ds: xr.Dataset, unit: str = "bag", samples: int = 1000, seed: int = 0
                 ) -> xr.DataArray:
        """Posterior predictive draws of observations, with every source of noise.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        unit : {"bag", "individual"}
            What is observed. Variational models draw individuals jointly, so that sums over them
            are draws of totals; the aggregated GP draws them marginally.
        samples : int
            Number of draws.
        seed : int
            Seed.

        Returns
        -------
        xr.DataArray
            (sample, unit).
        """
        require(unit in ("bag", "individual"), f"unit must be 'bag' or 'individual', got {unit!r}")
        draw = getattr(self.inner, "simulate_bags" if unit == "bag" else "simulate_individuals")
        values = draw(self._bags(ds), self._trained(ds), samples, seed)
        return labelled(
            values, ("sample", unit), {"sample": np.arange(samples), **coords_of(ds, unit)},
            {"units": self._value_attrs.get("units", ""),
             "long_name": f"simulated {self._value_attrs.get('long_name', 'value')}"},
        )

    def log_density(self, ds: xr.Dataset, unit: str = "bag", samples: int = 1000, seed: int = 0
                    ) -> xr.DataArray:
        """log p(observation | draw of the parameter), for log scores.

        Where the predictive density has a closed form or an exact quadrature there is one row;
        otherwise one row per draw, and the log score is log mean exp over them.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset; ``unit="individual"`` needs its ``individual_value``.
        unit : {"bag", "individual"}
            Which observations.
        samples, seed : int
            Number of draws, and their seed.
        """
        require(unit in ("bag", "individual"), f"unit must be 'bag' or 'individual', got {unit!r}")
        name = "value" if unit == "bag" else "individual_value"
        require(name in ds, f"the dataset has no {name}, so there is no {unit} density to take")
        bags = self._bags(ds)
        y = torch.as_tensor(ds[name].values.copy()).to(bags.weight)
        values = self.inner.log_density(y, bags, self._trained(ds), unit, samples, seed)
        return labelled(values, ("sample", unit), coords_of(ds, unit), {"units": "nats"})

    def components(self, ds: xr.Dataset) -> xr.Dataset:
        """Mean and std of each additive term of f at the individuals."""
        require(hasattr(self.inner, "components"), f"{self.model.name} does not keep its posterior "
                "term by term; vbagg does")
        parts = self.inner.components(self._bags(ds))
        arrays = {}
        for name, law in parts.items():
            wrapped = self._individuals(law, ds, "link scale", f"{name} term")
            arrays[f"{name}_mean"], arrays[f"{name}_std"] = wrapped.mean, wrapped.std
        return xr.Dataset(arrays)

    def extrapolation(self, ds: xr.Dataset) -> xr.DataArray:
        """How far each individual's covariates lie beyond the range of area means.

        In units of that range, the largest over covariates; zero inside. Positive values mark
        where the map extrapolates a relation that was only seen between areas.
        """
        bags = self._bags(ds)
        # Of what the kernel looks at; a flat map extrapolates nothing.
        used = sorted({c for term in self.inner.state.field.terms for c in term.columns})
        beyond = torch.zeros(len(bags.x)).to(bags.x)
        if used:
            beyond = self.inner.state.transform.outside(bags.x)[:, used].amax(1)
        return labelled(beyond, ("individual",), coords_of(ds, "individual"),
                        {"units": "between-area ranges", "long_name": "extrapolation"})

    def coefficients(self) -> xr.Dataset:
        """Posterior mean and std of the slopes of linear terms, per standardised covariate."""
        state, rows = self.inner.state, []
        terms = {term.name: term for term in state.field.terms}
        for name, (mean, std) in self.inner.coefficients().items():
            columns = [self._columns.names[c] for c in terms[name].columns] or ["intercept"]
            rows += [(f"{name}.{c}", float(m), float(s))
                     for c, m, s in zip(columns, mean, std, strict=True)]
        names = [r[0] for r in rows]
        return xr.Dataset(
            {"mean": ("coefficient", [r[1] for r in rows]),
             "std": ("coefficient", [r[2] for r in rows])},
            coords={"coefficient": names},
        )

    def summary(self) -> str:
        """Model, data, hyperparameters with units and priors, slopes and notes, as text."""
        return summarise_fit(self)

    def to_dataset(self, ds: xr.Dataset, quantiles=(0.05, 0.5, 0.95),
                   threshold: float | None = None, area_effect: bool = False) -> xr.Dataset:
        """The map: all that is usually plotted or written, with provenance in the attributes.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset to predict on.
        quantiles : sequence of float
            Levels of the rate's quantiles.
        threshold : float, optional
            Rate whose exceedance probability is wanted.
        area_effect : bool
            See `at`.

        Returns
        -------
        xr.Dataset
            mean, std, rate_quantile, exceedance, latent_mean, latent_std, expected_count and
            extrapolation per individual; bag_mean, bag_std and value per bag.
        """
        rate, latent, total = self.at(ds, area_effect), self.latent(ds), self.over(ds, area_effect)
        maps = {name: ds[name] for name in ("value", "weight", "membership") if name in ds}
        maps |= {
            "mean": rate.mean.assign_attrs(long_name="posterior mean rate"),
            "std": rate.std.assign_attrs(long_name="posterior std of the rate"),
            "rate_quantile": rate.quantile(quantiles).assign_attrs(long_name="rate quantile"),
            "latent_mean": latent.mean, "latent_std": latent.std,
            "extrapolation": self.extrapolation(ds),
            "bag_mean": total.mean, "bag_std": total.std,
        }
        if self._aggregation == "sum":
            maps["expected_count"] = (rate.mean * ds["weight"]).assign_attrs(
                units=self._value_attrs.get("units", ""), long_name="expected value")
        if threshold is not None:
            maps["exceedance"] = rate.exceedance(threshold).assign_attrs(
                long_name=f"P(rate > {threshold:g})", threshold=float(threshold))
        return keep_places(xr.Dataset(maps), ds).assign_attrs({**ds.attrs, **self.provenance()})

    def provenance(self) -> dict[str, str]:
        """Model, options, hyperparameters, data hash and versions, as strings for attributes."""
        return {
            "model": repr(self.model),
            "hyperparameters": json.dumps(self.hyperparameters),
            "objective": f"{self.objective:.6f}",
            "converged": str(self.converged),
            "cancelled": str(self.cancelled),
            "data_sha256": self._hash,
            "versions": json.dumps(versions()),
        }

    @property
    def rate_units(self) -> str:
        """Units of a rate: of the value, per unit of weight where values are totals."""
        per = f" / {self._weight_units}" if self._aggregation == "sum" else ""
        return self._units + per

    @property
    def _units(self) -> str:
        if self.inner.state.likelihood_name in ("binomial", "bernoulli"):
            return "share"
        return self._value_attrs.get("units", "")

    def _individuals(self, law, ds, units, long_name) -> LabelledPredictive:
        return LabelledPredictive(law, coords_of(ds, "individual"), "individual", units, long_name)

    def _bags(self, ds: xr.Dataset) -> Bags:
        bags = to_bags(schema.check(ds, valued=False))
        require(
            bags.columns.names == self._columns.names,
            f"the model was trained on inputs {', '.join(self._columns.names)}, "
            f"got {', '.join(bags.columns.names)}; pass the same covariates in the same order",
        )
        return cast_bags(bags, self.inner.state.options)

    def _trained(self, ds: xr.Dataset) -> torch.Tensor:
        """Position of each bag among the training bags, -1 for others.

        Known by name, value, and the inputs and weights of its individuals, in any order: names
        such as "0" and small counts recur between datasets.
        """
        if "value" not in ds or self._marks is None:
            return torch.full((ds.sizes["bag"],), -1)
        where = {name: i for i, name in enumerate(self._names)}
        found = np.array([where.get(str(b), -1) for b in ds["bag"].values], dtype=np.int64)
        same = (found >= 0) & (self._values[found] == ds["value"].values)
        if same.any():
            same &= self._marks[found] == bag_marks(ds)
        return torch.as_tensor(np.where(same, found, -1))
