"""What a labelled fit knows of itself: its data and their range, training and provenance."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import torch
import xarray as xr

from workbench import schema
from workbench.bagging.sanity import MARK
from workbench.checks import require
from workbench.gp.data.bags import Bags
from workbench.labelled.card import CARD, card_of
from workbench.labelled.identity import data_hash
from workbench.labelled.once import converted
from workbench.labelled.places import same_crs
from workbench.labelled.predictive import conditional_on, coords_of, labelled
from workbench.labelled.recognition import TrainingBags
from workbench.labelled.recurring import KnownAreas
from workbench.labelled.saving import save_fit
from workbench.labelled.source import Converted
from workbench.labelled.summary import summarise_fit
from workbench.outputs import versions

#: What a result depends on.
PACKAGES = ("aggregate-workbench", "torch", "gpytorch", "xarray", "numpy", "python")


class FitRecord:
    """A fit with its data, units, training and provenance; `Fit` adds the predictions.

    Parameters
    ----------
    inner, model, data, targets
        As of `Fit`.

    Attributes
    ----------
    sums : bool
        Whether values are totals, so that a rate is per unit of weight.
    value_units : str
        Units of the observed values.
    """

    def __init__(self, inner, model, data: Converted, targets: xr.Dataset | None = None):
        # A copy, as set_params may give the user's model other options later.
        self.inner, self.model = inner, copy.copy(model)
        self._given = {"data": data.ds} | ({} if targets is None else {"targets": targets})
        ds = data.ds
        of = ds if targets is None else targets
        observed, self._aggregation = of["value"], schema.aggregation(of)
        self.sums, self.value_units = self._aggregation == "sum", observed.attrs.get("units", "")
        self._value_attrs, self._training = dict(observed.attrs), TrainingBags(
            [str(name) for name in observed[observed.dims[0]].values], observed.values.copy(),
            data.content if targets is None else None)        # targets alone are no bags
        self._weight_units = ds["weight"].attrs.get("units", "")
        self._title, self._sanity = ds.attrs.get("title", ""), ds.attrs.get(MARK, "not looked at")
        self._columns, self._areas = data.bags.columns, KnownAreas.of(data)
        self._identify()
        self.outside_share = float((self.extrapolation(data) > 1e-9).mean())

    def __repr__(self) -> str:
        count = len(self._training.names)
        return f"<Fit of {self.model!r} to {self._title or 'data'}: {count} bags>"

    @property
    def data(self) -> xr.Dataset:
        """What it was fitted to; of several sources the first."""
        return next(iter(self._given.values()))

    def save(self, path: str | Path) -> None:
        """Write the fit to one file, which `workbench.load_fit` reads without any training.

        The file holds the data, too. It is a zip of JSON and safetensors, without code.

        Parameters
        ----------
        path : str or Path
            Ending in ``.wbfit``.

        Raises
        ------
        InputError
            If the name ends otherwise, an option of the model is code, such as a kernel object, or
            the data were changed in place since.
        """
        require(self._seen() == self._hash, "the data were changed in place after they were fitted "
                "to, so that the file would hold others; fit again, or fit to ds.copy(deep=True)")
        save_fit(self, path, PACKAGES)

    def _parts(self) -> dict[str, xr.Dataset]:
        """Datasets that belong to the fit, by role: ``data``, and what else the class has."""
        return dict(self._given)

    def _identify(self) -> None:
        """Note which data it was fitted to, before anybody may change them."""
        self._hash = self._seen()

    def _seen(self) -> str:
        return "+".join(data_hash(part) for part in self._given.values())

    def _facts(self) -> dict:
        """What the fit says of itself beside its numbers, as far as JSON knows it."""
        return {}

    def _training_bags(self) -> Bags:
        """What it was fitted to, of several sources the first, as its model has it."""
        return self._bags(Converted(self.data))

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

    @property
    def objective_with_priors(self) -> float:
        """The objective plus the log priors, which training maximises: where `history` ends.

        Of all individuals, where hyperparameters were learnt on clusters of them.
        """
        return self.objective + float(self.inner.state.hyperparameters.log_prior().detach())

    def summary(self) -> str:
        """Model, data, hyperparameters with units and priors, slopes and notes.

        Returns
        -------
        str
            Text of several lines.
        """
        return summarise_fit(self)

    def provenance(self) -> dict[str, str]:
        """Model, options, hyperparameters, data hash and versions, for attributes.

        Returns
        -------
        dict of str to str
            By name of the attribute.
        """
        return {
            "model": repr(self.model),
            "hyperparameters": json.dumps(self.hyperparameters),
            "objective": f"{self.objective:.6f}",
            "converged": str(self.converged),
            "cancelled": str(self.cancelled),
            "data_sha256": self._hash,
            "extrapolation": f"{self.outside_share:.1%} of individuals outside the areas' range, "
                             "of those learnt from",
            "versions": json.dumps(versions(*PACKAGES)), MARK: self._sanity,
            CARD: json.dumps(self._card()),
        }

    def _card(self) -> dict:
        return card_of(self)

    def extrapolation(self, ds: xr.Dataset) -> xr.DataArray:
        """How far each individual's covariates lie beyond the range of area means.

        In units of that range, the largest over covariates; zero inside. Positive values mark
        where the map extrapolates a relation that was only seen between areas. Of a mixture it is
        averaged over the models by weight; one that does not use a covariate extrapolates nothing
        in it.

        Parameters
        ----------
        ds : xr.Dataset
            As of `Fit.latent`.

        Returns
        -------
        xr.DataArray
            (individual,), zero or more.
        """
        return self._beyond(self._data(ds)).assign_attrs(
            units="between-area ranges", long_name="extrapolation")

    def _beyond(self, data: Converted) -> xr.DataArray:
        bags = self._bags(data)
        used = self._followed()
        beyond = torch.zeros(len(bags.x)).to(bags.x)
        if used:
            beyond = self.inner.state.transform.outside(bags.x)[:, used].amax(1)
        return labelled(beyond, ("individual",), data.places, {})

    def _followed(self) -> list[int]:
        """What the kernel looks at; a flat map extrapolates nothing."""
        return sorted({c for term in self.inner.state.field.terms for c in term.columns})

    @property
    def covariates_used(self) -> list[str]:
        """Names of the covariates that the map follows: those that the kernel looks at."""
        names = [str(name) for name in self.data["covariate"].values]
        return [names[c] for c in self._followed() if c < len(names)]

    @property
    def rate_units(self) -> str:
        """Units of a rate: of the value, per unit of weight where values are totals."""
        per = self._weight_units if self.sums else ""
        return f"{self._units or 1} / {per}" if per else self._units

    @property
    def of_tested(self) -> bool:
        """Whether observations are numbers of positives of those tested, and rates are shares."""
        return self.inner.state.likelihood.proportions

    @property
    def _units(self) -> str:
        if self.of_tested:
            return "share"
        return self.value_units

    def _data(self, ds: xr.Dataset | Converted) -> Converted:
        """A dataset checked and converted, unless that was done earlier in the same call."""
        if isinstance(ds, Converted):
            return ds
        data = converted(ds)
        columns = data.bags.columns
        require(
            columns.names == self._columns.names,
            f"the model was trained on inputs {', '.join(self._columns.names)}, "
            f"got {', '.join(columns.names)}; pass the same covariates in the same order",
        )
        ours, theirs = (one.attrs.get("crs") for one in (self.data, data.ds))
        require(same_crs(ours, theirs), f"the model was trained in the CRS {ours}, got {theirs}; "
                "bag the data in the same one, for the model knows places by it")
        return data

    def learnt_from(self, ds: xr.Dataset) -> xr.DataArray:
        """Which bags of a dataset this was fitted to, whose values therefore are no test of it.

        Parameters
        ----------
        ds : xr.Dataset
            As of `Fit.latent`.

        Returns
        -------
        xr.DataArray (bag,)
            True where name, value, inputs and weights are those of a bag that it was fitted to.
        """
        data = self._data(ds)
        return labelled(self._trained(data) >= 0, ("bag",), coords_of(data.ds, "bag"), {})

    def _bags(self, data: Converted) -> Bags:
        """Its bags as this fit's model sees them."""
        return data.cast(self.inner.state.options, self._areas)

    def _trained(self, data: Converted, **which) -> torch.Tensor:
        """Position of each bag among the training bags, -1 for others; ``which`` see `at`."""
        return self._training.positions(data)

    def _conditional_on(self, data: Converted, area_effect: bool) -> str:
        """What rates are conditional on, in words; see `conditional_on`."""
        return conditional_on(
            self.inner, area_effect, self._trained(data), self._bags(data))
