"""A fitted model with labels, units and provenance."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping

import numpy as np
import torch
import xarray as xr

from workbench import schema
from workbench.bagging.sanity import MARK
from workbench.bags import Bags
from workbench.checks import require
from workbench.labelled.drawing import PRESERVED, Drawing
from workbench.labelled.predictive import (
    DISTRIBUTIONS,
    LabelledPredictive,
    coords_of,
    keep_places,
    labelled,
)
from workbench.labelled.source import bag_marks, data_hash, to_bags
from workbench.labelled.versions import versions
from workbench.models.options import cast_bags
from workbench.predictive import Point
from workbench.summary import summarise_fit


class Fit(Drawing):
    """A fitted model with labels: predictions, summaries, and maps with their provenance."""

    def __init__(self, inner, model, ds: xr.Dataset, targets: xr.Dataset | None = None):
        self.inner, self.model = inner, model
        of = ds if targets is None else targets
        observed, self._aggregation = of["value"], schema.aggregation(of)
        self._value_attrs, self._values = dict(observed.attrs), observed.values.copy()
        self._weight_units = ds["weight"].attrs.get("units", "")
        self._names = [str(name) for name in observed[observed.dims[0]].values]
        self._marks = bag_marks(ds) if targets is None else None    # targets alone are no bags
        self._title, self._sanity = ds.attrs.get("title", ""), ds.attrs.get(MARK, "not looked at")
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
        """Distribution of the Gaussian process f at the individuals; draws are joint."""
        bags = self._bags(ds)
        return self._individuals(self.inner.latent(bags), ds, "link scale", "latent f", "posterior",
                                 lambda count, seed: self.inner.draw_latent(bags, count, seed))

    def at(self, ds: xr.Dataset, area_effect: bool = False) -> LabelledPredictive:
        """Predictive distribution of the rate at the individuals.

        Nuggets of individuals, effects of areas and multipliers of a negative binomial belong to
        it. By default those of an area have their prior: the rate in an area with these covariates
        of which no total was observed, so that the mean is an expected rate and ``mean * weight``
        adds up to the data within sampling error. `latent` is without all of them.

        Parameters
        ----------
        ds : xr.Dataset
            Any bagged dataset with the training covariates.
        area_effect : bool
            Take effects of areas of the training data given their observed total, for what is
            inside a known area. The mean is then no longer a smooth function of the covariates.

        Returns
        -------
        LabelledPredictive
            Its ``sample`` draws all individuals jointly.
        """
        bags, trained = self._bags(ds), self._trained(ds)
        law = self.inner.at(bags, trained, area_effect)
        known = trained if area_effect else None
        joint = law.sample if isinstance(law, Point) else (
            lambda count, seed: self.inner.draw_rates(bags, known, count, seed))
        return self._individuals(
            law, ds, self.rate_units, "rate", DISTRIBUTIONS[area_effect], joint)

    def over(self, ds: xr.Dataset, area_effect: bool = False) -> LabelledPredictive:
        """Distribution of the bag parameter: the expected total, mean, or share of positives.

        In the same sense as `at`, whose means add up to its mean.
        """
        bags, trained = self._bags(ds), self._trained(ds)
        law = self.inner.over(bags, trained, area_effect)
        known, factor = trained if area_effect else None, 1.0
        if self.inner.state.rescaled:       # a Normal model of counts works per unit of weight
            law, factor = law.scaled(bags.totals), bags.totals
        joint = law.sample if isinstance(law, Point) else (
            lambda count, seed: factor * self.inner.draw_totals(bags, known, count, seed))
        return LabelledPredictive(law, coords_of(ds, "bag"), "bag", self._units, "bag parameter",
                                  DISTRIBUTIONS[area_effect], joint)

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
        return xr.Dataset(
            {"mean": ("coefficient", [r[1] for r in rows]),
             "std": ("coefficient", [r[2] for r in rows])},
            coords={"coefficient": [r[0] for r in rows]})

    def summary(self) -> str:
        """Model, data, hyperparameters with units and priors, slopes and notes, as text."""
        return summarise_fit(self)

    def to_dataset(self, ds: xr.Dataset, quantiles=(0.05, 0.5, 0.95),
                   threshold: float | None = None, area_effect: bool = False, *,
                   preserve_totals: bool = False, samples: int = 1000, seed: int = 0) -> xr.Dataset:
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
        preserve_totals : bool
            Take mean, std, quantiles, exceedance and expected_count from draws that add up to the
            areas' totals (see `sample`): rates are averages over draws of the total's share per
            unit of weight, not a mean scaled to the total; and ``value_quantile`` is there, of what
            an individual is observed as. Effects of areas are then given their totals.
        samples, seed : int
            Of those draws.

        Returns
        -------
        xr.Dataset
            mean, std, rate_quantile, exceedance, latent_mean, latent_std, expected_count and
            extrapolation per individual; bag_mean, bag_std, bag_quantile and value per bag. The
            attribute ``distribution`` of each says what it is conditional on.
        """
        area_effect = area_effect or preserve_totals
        rate, latent, total = self.at(ds, area_effect), self.latent(ds), self.over(ds, area_effect)
        maps = {name: ds[name] for name in ("value", "weight", "membership") if name in ds}
        maps |= {
            "latent_mean": latent.mean, "latent_std": latent.std,
            "extrapolation": self.extrapolation(ds),
            "bag_mean": total.mean, "bag_std": total.std, "bag_quantile": total.quantile(quantiles),
        }
        if preserve_totals:
            levels = np.atleast_1d(np.asarray(quantiles, dtype=float))
            maps |= self._shared_out(ds, levels, threshold, samples, seed)
        else:
            maps |= self._marginal_maps(rate, ds, quantiles, threshold)
        maps = keep_places(xr.Dataset(maps), ds).assign_attrs({**ds.attrs, **self.provenance()})
        return maps.assign_attrs(
            distribution=PRESERVED if preserve_totals else DISTRIBUTIONS[area_effect])

    def _marginal_maps(self, rate: LabelledPredictive, ds, quantiles, threshold) -> dict:
        maps = {
            "mean": rate.mean.assign_attrs(long_name="posterior mean rate"),
            "std": rate.std.assign_attrs(long_name="posterior std of the rate"),
            "rate_quantile": rate.quantile(quantiles).assign_attrs(long_name="rate quantile"),
        }
        if self._aggregation == "sum":
            maps["expected_count"] = (rate.mean * ds["weight"]).assign_attrs(
                units=self._value_attrs.get("units", ""), long_name="expected value",
                distribution=rate.distribution)
        if threshold is not None:
            maps["exceedance"] = rate.exceedance(threshold).assign_attrs(
                long_name=f"P(rate > {threshold:g})", threshold=float(threshold))
        return maps

    def provenance(self) -> dict[str, str]:
        """Model, options, hyperparameters, data hash and versions, as strings for attributes."""
        return {
            "model": repr(self.model),
            "hyperparameters": json.dumps(self.hyperparameters),
            "objective": f"{self.objective:.6f}",
            "converged": str(self.converged),
            "cancelled": str(self.cancelled),
            "data_sha256": self._hash,
            "extrapolation": f"{self.outside_share:.1%} of individuals outside the areas' range",
            "versions": json.dumps(versions()), MARK: self._sanity,
        }

    @property
    def rate_units(self) -> str:
        """Units of a rate: of the value, per unit of weight where values are totals."""
        per = self._weight_units if self._aggregation == "sum" else ""
        return f"{self._units or 1} / {per}" if per else self._units

    @property
    def _units(self) -> str:
        if self.inner.state.likelihood_name in ("binomial", "bernoulli"):
            return "share"
        return self._value_attrs.get("units", "")

    def _individuals(self, law, ds, units, long_name, distribution="posterior", joint=None
                     ) -> LabelledPredictive:
        return LabelledPredictive(law, coords_of(ds, "individual"), "individual", units, long_name,
                                  distribution, joint)

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
