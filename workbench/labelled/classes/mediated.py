"""The class of models that can also learn from targets that belong to no bag."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from workbench import schema
from workbench.bagging import looked_at
from workbench.bagging.sanity import marks_of_targets
from workbench.checks import DataWarning, warn
from workbench.gp.models.keeping import Kept
from workbench.labelled.caveats import warn_of_few_targets, warn_of_normal
from workbench.labelled.classes.base import LabelledModel
from workbench.labelled.mediated import MediatedFit
from workbench.labelled.source import Converted


class MediatedModel(LabelledModel):
    """A model that can also learn from targets that belong to no bag."""

    def fit(self, ds: xr.Dataset, targets: xr.Dataset | None = None, *, progress: bool = False,
            callback: Callable | None = None) -> MediatedFit:
        """Learn from bags, and from their values or from targets that belong to none of them.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset; with ``mediators`` if there are targets.
        targets : xr.Dataset, optional
            Targets with the same mediators (`workbench.targets_from_table`, `workbench.unmatch`);
            values of the bags are then ignored.
        progress, callback
            As of `LabelledModel.fit`.

        Returns
        -------
        MediatedFit
            Also when cancelled (``fit.cancelled``).

        Warns
        -----
        FewAreasWarning
            Of fewer than ten targets.
        FitWarning
            Where counts of 100 or less are taken for Normal, or a default of ``noise`` passes over
            variances that the data state; and of other things that the data cannot support.
        """
        data = self._given(ds, targets)
        inner = self._inner.fit(data.source(targets), progress=progress, callback=callback)
        fit = MediatedFit(inner, self, data, targets)
        warn_of_normal(fit, {"": data.ds if targets is None else targets})
        warn_of_few_targets(fit, targets)
        return fit

    def starting_values(self, ds: xr.Dataset, targets: xr.Dataset | None = None
                        ) -> dict[str, dict]:
        """Hyperparameters that learning would start from; no posterior is looked for.

        Parameters
        ----------
        ds, targets
            As of `fit`.

        Returns
        -------
        dict
            As of `LabelledModel.starting_values`.
        """
        return self._inner.starting_values(self._given(ds, targets).source(targets))

    def _given(self, ds: xr.Dataset, targets: xr.Dataset | None) -> Converted:
        """What there is to learn from, checked."""
        if targets is None:
            return self._learnable(ds)
        for odd in marks_of_targets(targets):       # before learning, which it may spoil
            warn(str(odd), DataWarning)
        return Converted(looked_at(schema.check(ds, valued=False)))

    def _recalled(self, datasets: Mapping[str, xr.Dataset], facts: Mapping, kept: Kept
                 ) -> MediatedFit:
        """The fit that was kept, without training, from what `Fit.save` wrote."""
        targets = datasets.get("targets")
        data = Converted(schema.check(datasets["data"], valued=targets is None))
        return MediatedFit(self._inner.recall(data.source(targets), kept), self, data, targets)

    def condition(self, ds: xr.Dataset, hyperparameters: Mapping,
                  targets: xr.Dataset | None = None) -> MediatedFit:
        """Condition with every hyperparameter given and none trained.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        hyperparameters : mapping
            As of `LabelledModel.condition`.
        targets : xr.Dataset, optional
            As of `fit`.

        Returns
        -------
        MediatedFit
            The posterior at these values.
        """
        data = Converted(schema.check(ds, valued=targets is None))
        inner = self._inner.condition(data.source(targets), hyperparameters)
        return MediatedFit(inner, self, data, targets)
