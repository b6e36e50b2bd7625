"""What all models have as users see them: Dataset in, `Fit` out.

Each model is a class in a module of its own with its keywords written out, which
``make signatures`` keeps equal to the options of the torch model.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Self

import xarray as xr

from workbench import schema
from workbench.bagging import looked_at
from workbench.checks import choose
from workbench.gp.models.alike import alike
from workbench.gp.models.retired import refuse_retired
from workbench.labelled.caveats import warn_of_fit, warn_of_normal
from workbench.labelled.fit import Fit
from workbench.labelled.source import Converted, to_source

if TYPE_CHECKING:
    from workbench.gp.models.keeping import Kept
    from workbench.gp.models.options import Options


class LabelledModel:
    """A model that takes bagged datasets and returns a labelled `Fit`.

    Its options are keyword arguments, described with each model.
    """

    torch_model: type

    def __init_subclass__(cls) -> None:
        """Refuse unknown options with the nearest name, where Python raises a bare TypeError."""
        written = cls.__dict__.get("__init__")
        if written is None:
            return

        @functools.wraps(written)
        def checked(self, *args, **options):
            had = getattr(getattr(cls, "torch_model", None), "name", "")
            refuse_retired(had, options, dict.fromkeys(written.__kwdefaults__))
            for name in options:
                choose(f"option of {cls.__name__}", name, written.__kwdefaults__)
            written(self, *args, **options)

        cls.__init__ = checked

    def _set(self, given: Mapping) -> None:
        """Build the torch model from the local variables of ``__init__``.

        None stands for a mapping that is empty, as a default cannot be mutable.
        """
        chosen = {name: dict(value) if isinstance(value, Mapping) else value    # not the user's own
                  for name, value in given.items() if value is not None}
        del chosen["self"]
        self._inner = self.torch_model(**chosen)

    def __repr__(self) -> str:
        return repr(self._inner)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return alike(self.options, other.options)

    def __hash__(self) -> int:
        return hash(type(self))         # options may change, by set_params

    def __sklearn_clone__(self) -> Self:
        return copy.deepcopy(self)      # a model holds nothing but its options

    def get_params(self, deep: bool = True) -> dict:
        """The options by name, as in scikit-learn.

        Parameters
        ----------
        deep : bool
            For scikit-learn alone: no option is a model that has options.

        Returns
        -------
        dict
            Keywords that make the same model.

        Examples
        --------
        >>> import workbench as wb
        >>> model = wb.VBAgg(kernel="rbf")
        >>> model.get_params()["kernel"], wb.VBAgg(**model.get_params()) == model
        ('rbf', True)
        """
        values = {one.name: getattr(self.options, one.name)
                  for one in fields(self.options) if one.init}
        return {name: dict(value) if isinstance(value, Mapping) else value
                for name, value in values.items()}

    def set_params(self, **params) -> Self:
        """Give the model other options, as in scikit-learn; fits keep those they were made with.

        Parameters
        ----------
        **params
            Options by name.

        Returns
        -------
        LabelledModel
            Itself.

        Raises
        ------
        InputError
            As of the constructor; the model is then left as it was.

        Examples
        --------
        >>> import workbench as wb
        >>> wb.VBAgg(kernel="rbf").set_params(inducing=50)
        VBAgg(kernel='rbf', inducing=50)
        """
        self._inner = type(self)(**self.get_params() | params)._inner
        return self

    @property
    def name(self) -> str:
        """Registry name, such as ``vbagg``."""
        return self.torch_model.name

    @property
    def options(self) -> Options:
        """The options as a frozen dataclass."""
        return self._inner.options

    def fit(self, ds: xr.Dataset, *, progress: bool = False, callback: Callable | None = None
            ) -> Fit:
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

        Warns
        -----
        FitWarning
            Where counts of 100 or less are taken for Normal, or a default of ``noise`` passes over
            variances that the data state; and of other things that the data cannot support.
        """
        data = self._learnable(ds)
        inner = self._for_values(data)._inner.fit(
            data.source(), progress=progress, callback=callback)
        fit = Fit(inner, self.settled_as(inner.model.options), data)
        warn_of_fit(fit, data)
        warn_of_normal(fit, {"": data.ds})
        return fit

    def condition(self, ds: xr.Dataset, hyperparameters: Mapping) -> Fit:
        """Condition on a bagged dataset with every hyperparameter given and none trained.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        hyperparameters : mapping
            Values by name in natural units, as `Fit.hyperparameters` gives them.

        Returns
        -------
        Fit
            The posterior at these values.
        """
        data = Converted(schema.check(ds))
        inner = self._for_values(data, hyperparameters)._inner.condition(
            data.source(), hyperparameters)
        return Fit(inner, self.settled_as(inner.model.options), data)

    def starting_values(self, ds: xr.Dataset) -> dict[str, dict]:
        """Hyperparameters that learning would start from, in no time: no posterior is looked for.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset, by which starting values are scaled.

        Returns
        -------
        dict
            Values by name in natural units, as `condition` takes them; fixed ones as they are.

        Examples
        --------
        >>> import workbench as wb
        >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
        >>> model = wb.VBAgg(kernel="rbf")
        >>> model.starting_values(ds)["rbf.variance"]["value"] > 0
        True
        >>> preview = model.condition(ds, model.starting_values(ds))
        """
        data = self._learnable(ds)
        return self._for_values(data)._inner.starting_values(data.source())

    def settled_as(self, options: Options) -> Self:
        """The model with options as a fit has them, which settles those that go by the data.

        Parameters
        ----------
        options : Options
            Of a fit of this model.

        Returns
        -------
        LabelledModel
            Itself, where nothing had to be settled.
        """
        if options is self.options or alike(self.options, options):
            return self
        return type(self)(**{one.name: getattr(options, one.name)
                             for one in fields(options) if one.init})

    def _for_values(self, data: Converted, given: Mapping | None = None) -> Self:
        """The model whose options go by the values, where that is not left to the torch model.

        ``given`` are all hyperparameters, where they are given.
        """
        return self

    def _recalled(self, datasets: Mapping[str, xr.Dataset], facts: Mapping, kept: Kept) -> Fit:
        """The fit that was kept, without training, from what `Fit.save` wrote."""
        data = Converted(schema.check(datasets["data"]))
        return Fit(self._inner.recall(data.source(), kept), self, data)

    @staticmethod
    def _learnable(ds: xr.Dataset) -> Converted:
        return Converted(looked_at(schema.check_learnable(ds)))


class EarlyStoppedModel(LabelledModel):
    """A model whose training may stop early, by bags that are held out."""

    def fit(self, ds: xr.Dataset, *, early_stop: xr.Dataset | None = None, progress: bool = False,
            callback: Callable | None = None) -> Fit:
        """Learn from a bagged dataset.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        early_stop : xr.Dataset, optional
            Other bags of the same kind: training by adam stops when their likelihood no longer
            improves, and the state in which it was best is kept.
        progress, callback
            As of `LabelledModel.fit`.

        Returns
        -------
        Fit
            Also when cancelled (``fit.cancelled``).
        """
        held_out = None if early_stop is None else to_source(early_stop)
        data = self._learnable(ds)
        return Fit(self._inner.fit(data.source(), early_stop=held_out, progress=progress,
                                   callback=callback), self, data)
