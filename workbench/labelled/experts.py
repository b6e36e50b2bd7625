"""The experts behind a fit to several sources, where its model is a mixture of them."""

from __future__ import annotations

import xarray as xr

from workbench.checks import require
from workbench.labelled.fit import Fit
from workbench.labelled.predictive import LabelledPredictive, coords_of, labelled


class Experts(Fit):
    """What each expert says of a task, and how much it counts. Parameters as of `Fit`."""

    def expert_weights(self, ds: xr.Dataset, task: str | None = None) -> xr.DataArray:
        """Weights of a task's experts at the individuals.

        Parameters
        ----------
        ds, task
            As of `at`.

        Returns
        -------
        xr.DataArray
            (expert, individual), which add up to one.

        Raises
        ------
        InputError
            If the model has no experts (``mr-dgp`` has).
        """
        self._require_experts()
        values = self.inner.expert_weights(self._bags(self._data(ds)), task)
        return labelled(values, ("expert", "individual"),
                        {"expert": list(self.inner.expert_names(task)),
                         **coords_of(ds, "individual")},
                        {"units": "", "long_name": "weight of an expert"})

    def expert(self, ds: xr.Dataset, name: str, task: str | None = None) -> LabelledPredictive:
        """Distribution of one expert's field: of a source mapped to the task's first.

        Parameters
        ----------
        ds, task
            As of `at`.
        name : str
            Of the expert, as `expert_weights` lists them.

        Returns
        -------
        LabelledPredictive
            Along ``individual``.
        """
        self._require_experts()
        data = self._data(ds)
        return self._individuals(self.inner.expert(self._bags(data), name, task), data,
                                 self._units_of(task), f"expert {name}")

    def _require_experts(self) -> None:
        require(hasattr(self.inner, "expert_weights"), f"{self.model.name} is not a mixture of "
                "experts; mr-dgp is")
