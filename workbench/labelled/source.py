"""Bagged datasets as torch tensors."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
import xarray as xr

from workbench import schema
from workbench.checks import require
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.models.casting import cast_bags
from workbench.labelled.predictive import coords_of
from workbench.labelled.recognition import Content
from workbench.labelled.recurring import KnownAreas, numbered
from workbench.schema import AREA


def to_source(ds: xr.Dataset, targets: xr.Dataset | None = None,
              dtype: torch.dtype = torch.float64) -> Source:
    """A bagged dataset as torch tensors: covariates, then coordinates, as input columns.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    targets : xr.Dataset, optional
        Targets that belong to no bag; values of the bags are then ignored.
    dtype : torch.dtype
        Of all numbers.

    Raises
    ------
    InputError
        If the dataset is not a valid bagged dataset, or bags and targets have other mediators.

    Returns
    -------
    Source
        Bags and targets.
    """
    return Converted(schema.check(ds, valued=targets is None)).source(targets, dtype)


class Converted:
    """A checked dataset and its bags, converted once for all that one call wants of it.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset that `workbench.schema.check` has accepted.
    """

    def __init__(self, ds: xr.Dataset):
        self.ds, self._cast, self.warned = ds, {}, False

    @cached_property
    def bags(self) -> Bags:
        """The individuals in double precision."""
        return to_bags(self.ds)

    def cast(self, options, areas: KnownAreas | None = None) -> Bags:
        """The individuals as a model computes with them.

        Parameters
        ----------
        options : Options
            Of the model; ``dtype`` and ``device`` are used.
        areas : KnownAreas, optional
            Of the data that a fit was learnt from, whose numbers areas here have, too.

        Returns
        -------
        Bags
        """
        key = options.dtype, options.device, id(areas)
        if key not in self._cast:
            own = self.bags if areas is None else areas.seen(self)
            self._cast[key] = cast_bags(own, options), areas       # kept, as is its id
        return self._cast[key][0]

    @cached_property
    def places(self) -> dict[str, xr.DataArray]:
        """Coordinates of the individuals."""
        return coords_of(self.ds, "individual")

    @cached_property
    def content(self) -> Content:
        """What the bags are recognised by in other data."""
        return Content(self.ds)

    def source(self, targets: xr.Dataset | None = None, dtype: torch.dtype = torch.float64
               ) -> Source:
        """What a model learns from: the bags with their values, or with targets of no bag.

        Parameters
        ----------
        targets, dtype
            As of `to_source`.

        Returns
        -------
        Source
        """
        bags = self.bags if dtype == torch.float64 else to_bags(self.ds, dtype)
        return _matched(self.ds, bags, dtype) if targets is None else (
            _unmatched(self.ds, bags, targets, dtype))


def _matched(ds: xr.Dataset, bags: Bags, dtype: torch.dtype) -> Source:
    return Source(
        bags=bags,
        targets=Targets(
            torch.as_tensor(ds["value"].values.copy(), dtype=dtype),
            *(None if name not in ds else torch.as_tensor(ds[name].values.copy(), dtype=dtype)
              for name in ("noise_variance", "sample_variance")),
        ),
        aggregation=schema.aggregation(ds),
        kind=schema.kind(ds),
        name=str(ds.attrs.get("title", "source")),
        attributes={"statistic": schema.statistic(ds)},
    )


def _unmatched(ds: xr.Dataset, bags: Bags, targets: xr.Dataset, dtype: torch.dtype) -> Source:
    schema.check_targets(targets)
    theirs = [str(m) for m in targets["mediator"].values]
    ours = [str(m) for m in ds["mediator"].values] if "mediators" in ds else []
    require(bool(ours), f"the bags have no mediators, the targets have {', '.join(theirs)}; give "
            "the bags the same ones with workbench.add_mediators")
    require(ours == theirs, f"the bags have mediators {', '.join(ours)}, the targets "
            f"{', '.join(theirs)}; give both the same ones in the same order")
    for name, one, other in zip(ours, _mediator_units(ds), _mediator_units(targets), strict=True):
        require(one == other or not one or not other, f"mediator {name!r} is in {one!r} of bags "
                f"and in {other!r} of targets; convert one of them")
    tensor = {name: torch.as_tensor(targets[name].values.copy(), dtype=dtype)
              for name in ("value", "noise_variance", "mediators") if name in targets}
    return Source(
        bags=bags,
        targets=Targets(tensor["value"], tensor.get("noise_variance"), None, tensor["mediators"]),
        aggregation="mean", kind="continuous", name=str(ds.attrs.get("title", "source")))


def _mediator_units(ds: xr.Dataset) -> list[str]:
    if "mediator_units" in ds.coords:
        return [str(u) for u in ds["mediator_units"].values]
    return [""] * ds.sizes[schema.MEDIATOR]


def _mediators(ds: xr.Dataset, dtype: torch.dtype) -> dict:
    if "mediators" not in ds:
        return {}
    names = tuple(str(m) for m in ds["mediator"].values)
    coordinates = tuple(i for i, name in enumerate(names) if name in ("x", "y"))
    return {
        "mediators": torch.as_tensor(ds["mediators"].transpose(
            schema.BAG, schema.MEDIATOR).values.astype(float), dtype=dtype),
        "mediator_columns": Columns(names, coordinates, tuple(_mediator_units(ds))),
    }


def to_bags(ds: xr.Dataset, dtype: torch.dtype = torch.float64) -> Bags:
    """The individuals of a bagged dataset as `Bags`, with trials and known variances but no values.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset; it is not checked.
    dtype : torch.dtype
        Of all numbers but the membership.

    Returns
    -------
    Bags
        Columns are the covariates, then x and y where there are coordinates.
    """
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
        **{name: torch.as_tensor(ds[name].values.astype(float), dtype=dtype)
           for name in ("trials", "noise_variance", "individual_noise_variance", "concentration")
           if name in ds},
        areas=torch.as_tensor(ds[AREA].values.astype(np.int64)) if AREA in ds else None,
        recurring=numbered(ds),
        **_mediators(ds, dtype),
    )
