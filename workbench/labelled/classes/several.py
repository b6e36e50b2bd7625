"""The class of models that learn from several sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from workbench.gp.models.keeping import Kept
from workbench.labelled.caveats import warn_of_distance, warn_of_normal
from workbench.labelled.classes.base import LabelledModel
from workbench.labelled.disagreement import warn_of_disagreement
from workbench.labelled.several import SourcesFit
from workbench.labelled.sources import Several, converted, to_sources


class MultiSourceModel(LabelledModel):
    """A model of one source or of several, with one task or several."""

    def fit(self, data: Several, *, trust: Mapping[str, float] | None = None,
            progress: bool = False, callback: Callable | None = None) -> SourcesFit:
        """Learn from a bagged dataset, or from several by name.

        Parameters
        ----------
        data : xr.Dataset, xr.DataTree or mapping of xr.Dataset
            Sources; the first is the one that predictions are asked of unless they say otherwise.
            ``value.attrs["task"]`` names the quantity of a source; a ``value`` (bag, task) holds
            several, NaN where missing.
        trust : mapping, optional
            Power of a source's likelihood, by name; multiplied with estimated composite weights.
        progress, callback
            As of `LabelledModel.fit`.

        Returns
        -------
        SourcesFit
            Also when cancelled (``fit.cancelled``).

        Warns
        -----
        DataWarning
            Of a source that lies far beside all others.
        FitWarning
            Where counts of 100 or less are taken for Normal, or a default of ``noise`` passes over
            variances that the data state; where sources that the model takes to measure the same
            clearly do not where they overlap; and of other things that the data cannot support.
        """
        found = converted(data)
        warn_of_distance({name: one.ds for name, one in found.items()})
        inner = self._inner.fit(to_sources(found, trust), progress=progress, callback=callback)
        fit = SourcesFit(inner, self, found)
        warn_of_normal(fit, {name: one.ds for name, one in found.items()})
        warn_of_disagreement(fit)
        return fit

    def starting_values(self, data: Several, trust: Mapping[str, float] | None = None
                        ) -> dict[str, dict]:
        """Hyperparameters that learning would start from; no posterior is looked for.

        Parameters
        ----------
        data, trust
            As of `fit`.

        Returns
        -------
        dict
            As of `LabelledModel.starting_values`.
        """
        return self._inner.starting_values(to_sources(converted(data), trust))

    def _recalled(self, datasets: Mapping[str, xr.Dataset], facts: Mapping, kept: Kept
                 ) -> SourcesFit:
        """The fit that was kept, without training, from what `Fit.save` wrote."""
        found = converted(dict(datasets))
        inner = self._inner.recall(to_sources(found, facts["trust"]), kept)
        return SourcesFit(inner, self, found)

    def condition(self, data: Several, hyperparameters: Mapping,
                  trust: Mapping[str, float] | None = None) -> SourcesFit:
        """Condition with every hyperparameter given and none trained.

        Parameters
        ----------
        data, trust
            As of `fit`.
        hyperparameters : mapping
            As of `LabelledModel.condition`.

        Returns
        -------
        SourcesFit
            The posterior at these values.
        """
        found = converted(data)
        inner = self._inner.condition(to_sources(found, trust), hyperparameters)
        return SourcesFit(inner, self, found)
