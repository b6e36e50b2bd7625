"""The folds of a cross-validation put together: scores of every area while it was held out."""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

from workbench.checks import InputError, warn
from workbench.comparison.assessment import assemble
from workbench.evaluation.summary import SCORES, average
from workbench.evaluation.tasks import FoldWarning, Outcome
from workbench.evaluation.units import TARGETS, targets
from workbench.schema import BAG, INDIVIDUAL, kind


@dataclasses.dataclass
class HeldOut(Outcome):
    """The outcome of one model fitted without one fold.

    Parameters
    ----------
    model : str
        Name of the model.
    number : int
        The fold that was held out.
    units : dict of str to xr.Dataset, optional
        Scores of the units of each target; None if the fit failed.
    warned : list of tuple
        Text and category of each warning of the fit.
    """

    model: str
    number: int
    units: dict[str, xr.Dataset] | None = None
    warned: list[tuple] = dataclasses.field(default_factory=list)


class Folds:
    """Outcomes so far, fold by fold.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    fold : xr.DataArray (bag,)
        Fold of each bag.
    names : list of str
        The models.
    """

    def __init__(self, ds: xr.Dataset, fold: xr.DataArray, names: list[str]) -> None:
        self.ds, self.fold, self.names = ds, fold, names
        self.numbers, self.targets = np.unique(fold.values).tolist(), targets(ds)
        self.units: dict[tuple[str, int], dict[str, xr.Dataset]] = {}
        self.done: dict[tuple[str, int], HeldOut] = {}

    def add(self, one: HeldOut) -> None:
        """Add an outcome; pass on the warnings of its fit, and warn if it failed."""
        self.done[one.model, one.number] = one
        for text, category in one.warned:
            warn(text, category)
        if one.units is not None:
            self.units[one.model, one.number] = one.units
            return
        warn(
            f"{one.model}, fold {one.number} ({int((self.fold.values == one.number).sum())} bags) "
            f"failed and is left out of the comparison of scores: {one.error}",
            FoldWarning)

    def result(self) -> xr.Dataset:
        """Put the folds together, in the order of the dataset.

        Returns
        -------
        xr.Dataset
            See `workbench.cross_validate`.
        """
        own = [name for name in self.names if name != "constant"] or self.names
        failed = [one.error for one in self.done.values() if one.model in own and one.error]
        if failed and not any(name in own for name, _ in self.units):
            raise InputError(f"every fold failed; the first: {failed[0]}")
        scored = {name: self._joined(name) for name in self.names}
        scored = {name: units for name, units in scored.items() if units}
        result = assemble(scored, self.ds, pinned=False).reindex(model=self.names)
        result["units_predicted"] = result["units_predicted"].fillna(0)
        counts = kind(self.ds) == "count"
        scores = [[self._fold_scores(name, number, counts) for number in self.numbers]
                  for name in self.names]
        grid = [(name, number) for name in self.names for number in self.numbers]
        shape = (len(self.names), len(self.numbers))
        told = {what: np.array([getattr(self.done[key], what) if key in self.done else empty
                                for key in grid]).reshape(shape)
                for what, empty in (("seconds", np.nan), ("error", ""), ("note", ""))}
        return result.assign(
            fold_of_bag=self.fold.reset_coords(drop=True),
            fold_scores=(("model", "fold", "score"), np.array(scores)),
            seconds=(("model", "fold"), told["seconds"],
                     {"units": "s", "long_name": "time to fit"}),
            error=(("model", "fold"), told["error"]), note=(("model", "fold"), told["note"]),
        ).assign_coords(fold=self.numbers).assign_attrs(
            comparison=self._comparison(result))

    def _comparison(self, result: xr.Dataset) -> str:
        """On which bags the scores compare the models, and what failed, in words."""
        bags, total = result.sel(target="bag"), self.ds.sizes[BAG]
        lacking = [f"{name} predicted {count} of {total} bags ({self._why(name)})"
                   for name in self.names
                   if (count := int(bags["units_predicted"].sel(model=name))) < total]
        if not lacking:
            return f"scores are over all {total} bags, each predicted while held out"
        return "\n".join([
            f"scores are over {int(bags['units_scored'].max())} of {total} bags, those that every "
            "model with any predictions predicted while held out", *lacking,
        ])

    def _why(self, name: str) -> str:
        reasons: dict[str, list[str]] = {}
        for number in self.numbers:
            if (name, number) not in self.units:
                one = self.done.get((name, number))
                reason = "not run" if one is None else one.error
                reasons.setdefault(reason, []).append(str(number))
        return "; ".join(f"fold {', '.join(numbers)}: {reason}" for reason, numbers
                         in reasons.items()) or "the others are not finite"

    def _joined(self, name: str) -> dict[str, xr.Dataset]:
        found = [self.units[name, number] for number in self._finished(name)]
        joined = {}
        for target in self.targets if found else ():
            dim = TARGETS[target]
            together = xr.concat([units[target] for units in found], dim)
            where = np.full(self.ds.sizes[dim], -1)
            where[self._order(name, dim)] = np.arange(together.sizes[dim])
            placed = together.isel({dim: where})
            hole = xr.DataArray(where >= 0, dims=dim)
            placed = placed.where(hole).assign_coords({dim: self.ds[dim]})
            placed["observed"] = self._observed(target)
            joined[target] = placed
        return joined

    def _order(self, name: str, dim: str) -> np.ndarray:
        fold = self.fold.values
        if dim == INDIVIDUAL:
            fold = fold[self.ds["membership"].values]
        return np.concatenate([np.flatnonzero(fold == number) for number in self._finished(name)])

    def _finished(self, name: str) -> list[int]:
        """Folds of a model in their order, whichever was done first."""
        return [number for number in self.numbers if (name, number) in self.units]

    def _observed(self, target: str) -> xr.DataArray:
        name = {"bag": "value", "individual": "individual_value", "rate": "truth"}[target]
        return self.ds[name].astype(float).reset_coords(drop=True)

    def _fold_scores(self, name: str, number: int, counts: bool) -> np.ndarray:
        if (name, number) not in self.units:
            return np.full(len(SCORES), np.nan)
        return average(self.units[name, number]["bag"], counts).values
