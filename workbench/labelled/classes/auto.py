"""`Auto`: the model that chooses among structures by what the data can test, and averages."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping

import xarray as xr

from workbench import schema
from workbench.checks import SimpleMapWarning, choose, require, stops, warn
from workbench.gp.models.options import BEST, non_defaults
from workbench.gp.models.vbagg.mixture import Auto as Inner
from workbench.gp.models.vbagg.mixture import MixtureFit
from workbench.gp.optimisation.training import History
from workbench.labelled.auto_fit import AutoFit
from workbench.labelled.candidate_fits import fit_candidates, part_of, reasons
from workbench.labelled.candidates import (
    Candidate,
    Effort,
    candidates_for,
    effort_named,
    inducing_of,
    options_for,
    options_of_values,
)
from workbench.labelled.caveats import warn_of_extrapolation, warn_of_one_area, warn_of_values
from workbench.labelled.classes.base import LabelledModel
from workbench.labelled.classes.vbagg import VBAgg
from workbench.labelled.fit import Fit
from workbench.labelled.source import Converted, to_source
from workbench.labelled.weighing import GIVEN, Weighing, equal_weights, weigh

_EVALUATIONS = 300      # of the objective in a typical fit, for the estimate of time


class Auto(LabelledModel):
    """A mixture of structurally different models, weighted by coarsen and recover.

    A few models are fitted: a flat rate, slopes of covariates, a smooth map, smooth functions of
    covariates, and their combinations; counts with an effect of each area and of each individual,
    other values with the exp link if they are positive and clearly nearer to log-normal than to
    normal (Box and Cox), else the identity, and with an effect of each individual, whose standard
    deviation means do not tell: with eight individuals or more in an area, and no standard errors,
    it is taken as twice what areas differ by from those about them, which is typical of tables
    whose individuals are known, or as the most that lets areas be as smooth as they are; with fewer
    it is learnt and, from two on, expected by what areas differ by.
    Of areas over time (`workbench.bag_polygons` with ``time``) also maps that change from period to
    period. Each is then conditioned, with the hyperparameters of that fit, on totals of *merged*
    neighbouring areas and has to recover the known areas from them. Weights minimise the error of
    the mixture there (stacking), shrunk, the more the fewer the areas, towards equal weights of all
    that are not certainly worse than the best; a weight below 2 % is set to zero. Two simple maps,
    fitted to the merged totals alone, stand beside it: the population split and a GLM on
    the totals; beside other values areas' own means or rates. The fit
    warns where one of them recovers the areas better. Positives out of trials,
    which cannot be drawn given those of their union, are predicted by candidates learnt anew
    without some of the areas, in turns, beside one share for all of them. Known variances of means
    (``noise_variance``) are used, and beside them one variance of what areas differ by is learnt.

    Parameters
    ----------
    effort : {"quick", "normal", "thorough"}, default "normal"
        quick: five models, one grouping; normal: eight models, four groupings; thorough: twelve
        groupings, each model averaged over its hyperparameters.
    workers : int, default 0
        Processes that share the fits; 0 is as many as there are processors, at most eight; from 0
        to 1,024.
    seed : int, default 0
        Seed of inducing inputs, groupings and draws; from 0 to 2,147,483,647.
    dtype : {"float64", "float32"}, default "float64"
        Floating point type.
    device : str, default "cpu"
        Torch device, such as cpu or cuda.

    Raises
    ------
    InputError
        On an unknown option or choice (the nearest is suggested).

    References
    ----------
    Yao, Vehtari, Simpson and Gelman 2018, Using stacking to average Bayesian predictive
    distributions. Box and Cox 1964, An analysis of transformations.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=30, mean_size=10, size_std=4)
    >>> fit = wb.Auto(effort="quick", workers=1).fit(ds)
    >>> float(fit.weights.sum().round(6))
    1.0
    >>> fit.at(ds).mean.sizes["individual"] == ds.sizes["individual"]
    True
    """

    torch_model = Inner

    def __init__(self, *, effort: str = "normal", workers: int = 0, seed: int = 0,
                 dtype: str = "float64", device: str = "cpu") -> None:
        self._set(locals())

    def __repr__(self) -> str:
        """Without the processes, on which no result depends."""
        return repr(Inner(**non_defaults(self.options) | {"workers": 0}))

    def fit(self, ds: xr.Dataset, *, progress: bool = False, callback: Callable | None = None
            ) -> AutoFit:
        """Fit the candidates, weigh them, and mix them.

        Parameters
        ----------
        ds : xr.Dataset
            As of `LabelledModel.fit`.
        progress : bool
            Show an estimate of the time, and bars with the time left.
        callback : callable, optional
            ``callback(step, objective, fraction)`` as work goes on; it may raise
            `workbench.Cancelled` to stop with the candidates fitted so far.

        Returns
        -------
        AutoFit
            Also when cancelled (``fit.cancelled``).

        Raises
        ------
        InputError
            If the dataset cannot be used, or no candidate could be fitted.
        """
        data, started = self._learnable(ds), time.perf_counter()
        ds = data.ds
        effort = effort_named(self.options.effort)
        chosen, workers = candidates_for(ds, effort), self._workers(ds)
        fitting = 1 / (1 + effort.weighing("trials" in ds))         # share of the time
        if progress:
            from workbench.labelled.timing import cost, duration

            seconds, size = cost(self, ds)
            told = (f"auto: {len(chosen)} models on {workers} "
                    f"{'process' if workers == 1 else 'processes'}, about "
                    f"{duration(seconds)} and {workers * size / 2**30:.1f} GiB")
            print(told, file=sys.stderr)
        fits, notes, cancelled = fit_candidates(
            self._models(data, chosen, effort), data, workers, bool(effort.average), progress,
            part_of(callback, 0.0, fitting))
        require(bool(fits), "no candidate could be fitted: " + reasons(notes))
        weighing = None
        if not cancelled:
            try:
                weighing = weigh({name: fit.model for name, fit in fits.items()}, ds, effort,
                                 self.options.seed, workers, progress,
                                 part_of(callback, fitting, 1.0),
                                 {name: fit.hyperparameters for name, fit in fits.items()})
            except stops():
                cancelled = True
                notes.append("weighing the candidates was cancelled")
        weighing = weighing or equal_weights(list(fits), "the work was stopped")
        return self._mixed(data, chosen, fits, weighing, notes, cancelled, started)

    def condition(self, ds: xr.Dataset, hyperparameters: Mapping) -> AutoFit:
        """Mix candidates with given weights and hyperparameters, and none trained.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        hyperparameters : mapping
            ``{candidate: {"weight": w, "hyperparameters": {...}}}`` as `Fit.hyperparameters` of a
            fitted `Auto` gives. Plain numbers, without units, are taken under the link that `fit`
            would choose for these data.

        Returns
        -------
        AutoFit
            The mixture at these values.

        Raises
        ------
        InputError
            On a candidate that these data do not allow, or where nothing has any weight.
        """
        data = Converted(schema.check_learnable(ds))
        effort, started = effort_named(self.options.effort), time.perf_counter()
        possible = {one.name: one for one in candidates_for(ds, effort_named("thorough"))}
        chosen = [possible[choose("candidate", name, possible)] for name in hyperparameters]
        for name, given in hyperparameters.items():
            require(isinstance(given, Mapping) and {"weight", "hyperparameters"} <= given.keys()
                    and isinstance(given["hyperparameters"], Mapping),
                    f"the candidate {name!r} needs a weight and hyperparameters, as "
                    "fit.hyperparameters has them")
        weights = {name: float(given["weight"]) for name, given in hyperparameters.items()}
        total = sum(weights.values())
        require(total > 0 and min(weights.values()) >= 0, "weights must not be negative, and one "
                f"of them must be positive, got {weights}")
        models = self._models(data, chosen, effort, hyperparameters)
        fits = {name: model.condition(ds, hyperparameters[name]["hyperparameters"])
                for name, model in models.items()}
        weights = {name: weight / total for name, weight in weights.items()}
        return self._mixed(data, chosen, fits, Weighing(weights, None, GIVEN, ()),
                           [], False, started)

    def starting_values(self, ds: xr.Dataset) -> dict[str, dict]:
        """Weights and hyperparameters before anything is learnt or tested.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.

        Returns
        -------
        dict
            As `condition` takes it: the flat candidate weighs as much as the others together.
        """
        models = self.candidates(ds)
        weights = equal_weights(list(models)).weights
        return {name: {"weight": weights[name], "hyperparameters": model.starting_values(ds)}
                for name, model in models.items()}

    def _recalled(self, datasets, facts, kept) -> AutoFit:
        return AutoFit.recalled(self, VBAgg, datasets, facts, kept)

    def candidates(self, ds: xr.Dataset) -> dict[str, VBAgg]:
        """The models that are weighed on a dataset.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.

        Returns
        -------
        dict of str to VBAgg
            By name, not fitted.
        """
        effort = effort_named(self.options.effort)
        data = Converted(schema.check_learnable(ds))
        return self._models(data, candidates_for(data.ds, effort), effort)

    def estimate(self, ds: xr.Dataset) -> float:
        """Roughly how many seconds `fit` will take, from one evaluation of each candidate.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.

        Returns
        -------
        float
            Seconds.
        """
        from workbench.labelled.timing import evaluation_seconds

        effort, source = effort_named(self.options.effort), to_source(ds)
        workers = self._workers(ds)
        groupings = len(effort.shares) * effort.draws
        each = [evaluation_seconds(model._inner, source) for model in self.candidates(ds).values()]
        fits = _EVALUATIONS * sum(each) * effort.averaging
        share = 1 if effort.average else min(workers, len(each))    # see `fit_candidates`
        parts = len(each) * (effort.folds if "trials" in ds else groupings)
        return fits / share + effort.weighing("trials" in ds) * fits / min(workers, parts)

    def _workers(self, ds: xr.Dataset) -> int:
        if self.options.device != "cpu":
            return 1
        if self.options.workers:
            return self.options.workers
        # A process takes some seconds to start: not worth it where the fits are done by then.
        small = ds.sizes["individual"] < 1_000 or self.options.effort == "quick"
        return 1 if small else min(8, os.cpu_count() or 1)

    def _models(self, data: Converted, chosen: list[Candidate], effort: Effort,
                given: Mapping | None = None) -> dict[str, VBAgg]:
        shared = options_of_values(data, given) | {
            "inducing": inducing_of(data.ds), "inducing_inputs": BEST,
            "dtype": self.options.dtype, "device": self.options.device}
        return {one.name: VBAgg(**options_for(one, effort, self.options.seed), **shared)
                for one in chosen}

    def _mixed(self, data: Converted, chosen: list[Candidate], fits: dict[str, Fit],
               weighing: Weighing, notes: list[str], cancelled: bool, started: float) -> AutoFit:
        inner = MixtureFit({name: fit.inner for name, fit in fits.items()}, weighing.weights)
        inner.history = History(
            list(inner.history.objective), [*notes, *weighing.notes],
            all(fit.converged for fit in fits.values()), cancelled,
            time.perf_counter() - started)
        says = {one.name: one.told(fits[one.name].model.options.link) for one in chosen
                if one.name in fits}
        fit = AutoFit(inner, self, data, fits, weighing.recovery, weighing.verdict, says)
        if data.bags.count == 1:
            warn_of_one_area(fit)
        elif weighing.simple_wins or weighing.untested and not cancelled:
            warn(weighing.verdict, SimpleMapWarning)
        warn_of_extrapolation(fit)
        warn_of_values(fit, data)
        return fit
