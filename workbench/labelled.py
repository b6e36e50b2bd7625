"""The bridge: a bagged Dataset goes in as a Source, a Fit answers with labels and units.

This is the only module that knows both torch and xarray.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import torch
import xarray as xr

from workbench import schema
from workbench.bags import Bags, Columns, Source, Targets
from workbench.checks import require
from workbench.models.registry import MODELS, model_named
from workbench.predictive import Predictive
from workbench.summary import summarise_fit

_SHARED = ("x", "y", "row", "column", "coverage", "individual_geometry")


def to_source(ds: xr.Dataset, dtype: torch.dtype = torch.float64) -> Source:
    """A bagged dataset as torch tensors: covariates, then coordinates, as input columns.

    Raises
    ------
    InputError
        If the dataset is not a valid bagged dataset.
    """
    schema.check(ds)
    return Source(
        bags=to_bags(ds, dtype),
        targets=Targets(
            torch.as_tensor(ds["value"].values.copy(), dtype=dtype),
            None if "noise_variance" not in ds
            else torch.as_tensor(ds["noise_variance"].values.copy(), dtype=dtype),
        ),
        aggregation=schema.aggregation(ds),
        kind=schema.kind(ds),
        name=str(ds.attrs.get("title", "source")),
    )


def to_bags(ds: xr.Dataset, dtype: torch.dtype = torch.float64) -> Bags:
    """The individuals of a bagged dataset as `Bags`, without their values."""
    names = [str(name) for name in ds["covariate"].values]
    units = [str(u) for u in ds["covariate_units"].values] if "covariate_units" in ds else [
        "" for _ in names]
    table = [np.asarray(ds["covariates"].transpose("individual", "covariate").values, dtype=float)]
    coordinates = ()
    if "x" in ds:
        coordinates = (len(names), len(names) + 1)
        table.append(np.stack([ds["x"].values, ds["y"].values], 1))
        names, units = [*names, "x", "y"], [*units, *(ds[c].attrs.get("units", "") for c in "xy")]
    return Bags(
        x=torch.as_tensor(np.concatenate(table, 1), dtype=dtype),
        membership=torch.as_tensor(ds["membership"].values.astype(np.int64)),
        weight=torch.as_tensor(ds["weight"].values.copy(), dtype=dtype),
        count=ds.sizes["bag"],
        columns=Columns(tuple(names), coordinates, tuple(units)),
        names=tuple(str(b) for b in ds["bag"].values),
    )


def data_hash(ds: xr.Dataset) -> str:
    """Short sha256 of what a model sees: covariates, coordinates, weights, membership, values."""
    digest = hashlib.sha256()
    for name in ("covariates", "x", "y", "weight", "membership", "value"):
        if name in ds:
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(ds[name].values).tobytes())
    return digest.hexdigest()[:16]


class LabelledModel:
    """A model of the registry that takes bagged Datasets and returns a labelled `Fit`.

    Parameters
    ----------
    **options
        Options of the model; ``workbench models`` lists them with their help.
    """

    torch_model: type

    def __init__(self, **options):
        self._inner = self.torch_model(**options)

    def __repr__(self) -> str:
        return repr(self._inner)

    @property
    def name(self) -> str:
        """Registry name, such as ``vbagg``."""
        return self.torch_model.name

    @property
    def options(self):
        """The options as a frozen dataclass."""
        return self._inner.options

    def fit(self, ds: xr.Dataset, *, progress: bool = False, callback=None) -> Fit:
        """Learn from a bagged dataset.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset; only covariates, coordinates, weights, membership and bag values are
            used, never ``truth`` or ``individual_value``.
        progress : bool
            Show a progress bar with objective and time left.
        callback : callable, optional
            ``callback(step, objective, fraction)`` after each step; it may raise
            `workbench.Cancelled` to stop with the best state so far.

        Returns
        -------
        Fit
            Also when cancelled (``fit.cancelled``).
        """
        source = to_source(ds)
        return Fit(self._inner.fit(source, progress=progress, callback=callback), self, ds)

    def condition(self, ds: xr.Dataset, hyperparameters: Mapping) -> Fit:
        """Condition on a bagged dataset with every hyperparameter given and none trained.

        ``hyperparameters`` maps names to values in natural units, as `Fit.hyperparameters` gives.
        """
        return Fit(self._inner.condition(to_source(ds), hyperparameters), self, ds)


def _public(name: str, inner: type) -> type[LabelledModel]:
    return type(name, (LabelledModel,), {
        "torch_model": inner, "__doc__": inner.__doc__, "__module__": "workbench",
    })


VBAgg = _public("VBAgg", MODELS["vbagg"])
Constant = _public("Constant", MODELS["constant"])
CentrePointGP = _public("CentrePointGP", MODELS["centre-point"])
AggregatedGP = _public("AggregatedGP", MODELS["aggregated-gp"])
_CLASSES = {cls.torch_model.name: cls for cls in (Constant, CentrePointGP, AggregatedGP, VBAgg)}


def models() -> dict[str, type[LabelledModel]]:
    """All models by registry name."""
    return dict(_CLASSES)


def make_model(name: str, **options) -> LabelledModel:
    """A model by registry name; an unknown name suggests the nearest."""
    return _CLASSES[model_named(name).name](**options)


class LabelledPredictive:
    """A law per individual or bag, answering with labelled arrays and units.

    Parameters
    ----------
    law : Predictive
        The law in torch.
    coords : dict
        Coordinates of the unit dimension.
    dim : str
        ``individual`` or ``bag``.
    units, long_name : str
        Written to the arrays' attributes.
    """

    def __init__(self, law: Predictive, coords: dict, dim: str, units: str, long_name: str):
        self.law, self._coords, self.dim = law, coords, dim
        self._attrs = {"units": units, "long_name": long_name}

    def _wrap(self, values, extra: dict | None = None, **attrs) -> xr.DataArray:
        extra = extra or {}
        array = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else values
        return xr.DataArray(array, dims=(*extra, self.dim), coords={**extra, **self._coords},
                            attrs={**self._attrs, **attrs})

    @property
    def mean(self) -> xr.DataArray:
        """Expected value."""
        return self._wrap(self.law.mean)

    @property
    def variance(self) -> xr.DataArray:
        """Variance, in squared units."""
        return self._wrap(self.law.variance, units=f"({self._attrs['units']})²")

    @property
    def std(self) -> xr.DataArray:
        """Standard deviation."""
        return self._wrap(self.law.std)

    def quantile(self, levels) -> xr.DataArray:
        """Quantiles with a leading ``quantile`` dimension."""
        levels = np.atleast_1d(np.asarray(levels, dtype=float))
        return self._wrap(self.law.quantile(levels), {"quantile": levels})

    def interval(self, level: float = 0.95) -> tuple[xr.DataArray, xr.DataArray]:
        """Lower and upper end of the central interval that holds ``level``."""
        lower, upper = self.law.interval(level)
        return self._wrap(lower), self._wrap(upper)

    def cdf(self, value) -> xr.DataArray:
        """P(unit <= value); a number or one value per unit."""
        return self._wrap(self.law.cdf(np.asarray(value)), units="probability")

    def exceedance(self, threshold) -> xr.DataArray:
        """P(unit > threshold)."""
        return self._wrap(self.law.exceedance(np.asarray(threshold)), units="probability")

    def sample(self, count: int, seed: int = 0) -> xr.DataArray:
        """Independent draws of each unit with a leading ``sample`` dimension."""
        return self._wrap(self.law.sample(count, seed), {"sample": np.arange(count)})


class Fit:
    """A fitted model with labels: predictions, summaries, and maps with their provenance."""

    def __init__(self, inner, model: LabelledModel, ds: xr.Dataset):
        self.inner, self.model = inner, model
        self._value_attrs, self._weight_units = dict(ds["value"].attrs), ds["weight"].attrs.get(
            "units", "")
        self._names = [str(b) for b in ds["bag"].values]
        self._values = ds["value"].values.copy()
        self._aggregation, self._title = schema.aggregation(ds), ds.attrs.get("title", "")
        self._columns, self._hash = to_bags(ds.isel(individual=slice(0, 0))).columns, data_hash(ds)

    def __repr__(self) -> str:
        return f"<Fit of {self.model!r} to {self._title or 'data'}: {len(self._names)} bags>"

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
        """Law of the rate ψ(f) at the individuals, nugget included.

        Parameters
        ----------
        ds : xr.Dataset
            Any bagged dataset with the training covariates.
        area_effect : bool
            Include the iid effect of the area: for areas of the training data conditional on their
            observed total, for others from its prior. A smooth map leaves it out; a prediction of
            what is observed inside a known area needs it.
        """
        law = self.inner.at(self._bags(ds), self._trained(ds), area_effect)
        return self._individuals(law, ds, self.rate_units, "rate")

    def over(self, ds: xr.Dataset, area_effect: bool = False) -> LabelledPredictive:
        """Law of the bag parameter: the expected total (or mean) of each bag."""
        law = self.inner.over(self._bags(ds), self._trained(ds), area_effect)
        units = self.rate_units if self.inner.state.rescaled else self._value_attrs.get("units", "")
        return LabelledPredictive(law, _coords(ds, "bag"), "bag", units, "bag parameter")

    def simulate(self, ds: xr.Dataset, unit: str = "bag", samples: int = 1000, seed: int = 0
                 ) -> xr.DataArray:
        """Posterior predictive draws of observations, with every source of noise.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        unit : {"bag", "individual"}
            What is observed. Individuals are drawn jointly: sums over them are draws of totals.
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
        return xr.DataArray(
            values.cpu().numpy(), dims=("sample", unit),
            coords={"sample": np.arange(samples), **_coords(ds, unit)},
            attrs={"units": self._value_attrs.get("units", ""),
                   "long_name": f"simulated {self._value_attrs.get('long_name', 'value')}"},
        )

    def components(self, ds: xr.Dataset) -> xr.Dataset:
        """Mean and std of each additive term of f at the individuals."""
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
        beyond = self.inner.state.transform.outside(bags.x).amax(1)
        return xr.DataArray(beyond.cpu().numpy(), dims="individual",
                            coords=_coords(ds, "individual"),
                            attrs={"units": "between-area ranges", "long_name": "extrapolation"})

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
            mean, std, quantile, exceedance, latent_mean, latent_std, expected_count and
            extrapolation per individual; bag_mean, bag_std and value per bag.
        """
        rate, latent, total = self.at(ds, area_effect), self.latent(ds), self.over(ds, area_effect)
        maps = {
            "mean": rate.mean.assign_attrs(long_name="posterior mean rate"),
            "std": rate.std.assign_attrs(long_name="posterior std of the rate"),
            "rate_quantile": rate.quantile(quantiles).assign_attrs(long_name="rate quantile"),
            "latent_mean": latent.mean, "latent_std": latent.std,
            "extrapolation": self.extrapolation(ds),
            "bag_mean": total.mean, "bag_std": total.std,
            "value": ds["value"], "weight": ds["weight"], "membership": ds["membership"],
        }
        if self._aggregation == "sum":
            maps["expected_count"] = (rate.mean * ds["weight"]).assign_attrs(
                units=self._value_attrs.get("units", ""), long_name="expected value")
        if threshold is not None:
            maps["exceedance"] = rate.exceedance(threshold).assign_attrs(
                long_name=f"P(rate > {threshold:g})", threshold=float(threshold))
        out = xr.Dataset(maps)
        for name in ("bag_geometry", "individual_geometry", "bag_x", "bag_y"):
            if name in ds.coords:
                out = out.assign_coords({name: ds[name]})
        return out.assign_attrs({**ds.attrs, **self.provenance()})

    def provenance(self) -> dict[str, str]:
        """Model, options, hyperparameters, data hash and versions, as strings for attributes."""
        packages = {}
        for name in ("aggregate-workbench", "torch", "gpytorch", "xarray", "numpy"):
            try:
                packages[name] = version(name)
            except PackageNotFoundError:
                packages[name] = "not installed as a package"
        packages["python"] = platform.python_version()
        return {
            "model": repr(self.model),
            "hyperparameters": json.dumps(self.hyperparameters),
            "objective": f"{self.objective:.6f}",
            "converged": str(self.converged),
            "cancelled": str(self.cancelled),
            "data_sha256": self._hash,
            "versions": json.dumps(packages),
        }

    @property
    def rate_units(self) -> str:
        """Units of a rate: of the value, per unit of weight where values are totals."""
        units = self._value_attrs.get("units", "")
        return f"{units} / {self._weight_units}" if self._aggregation == "sum" else units

    def _individuals(self, law, ds, units, long_name) -> LabelledPredictive:
        return LabelledPredictive(law, _coords(ds, "individual"), "individual", units, long_name)

    def _bags(self, ds: xr.Dataset) -> Bags:
        bags = to_bags(schema.check(ds))
        require(
            bags.columns.names == self._columns.names,
            f"the model was trained on inputs {', '.join(self._columns.names)}, "
            f"got {', '.join(bags.columns.names)}; pass the same covariates in the same order",
        )
        return self._cast(bags)

    def _cast(self, bags: Bags) -> Bags:
        from workbench.models.options import cast_bags

        return cast_bags(bags, self.inner.state.options)

    def _trained(self, ds: xr.Dataset) -> torch.Tensor:
        """Position of each bag among the training bags, -1 for others.

        A bag is recognised by its name *and* its value: names such as "0" recur between datasets.
        """
        where = {name: i for i, name in enumerate(self._names)}
        found = [where.get(str(b), -1) for b in ds["bag"].values]
        same = [i >= 0 and self._values[i] == v for i, v in zip(found, ds["value"].values,
                                                               strict=True)]
        return torch.as_tensor([i if s else -1 for i, s in zip(found, same, strict=True)])


def _coords(ds: xr.Dataset, dim: str) -> dict:
    names = ("bag", "bag_name", "bag_x", "bag_y") if dim == "bag" else ("individual", *_SHARED)
    return {name: ds[name] for name in names if name in ds.coords or name in ds.dims}
