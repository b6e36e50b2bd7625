"""Rehearsal: would a model find the truth from such data? Simulate, refit, compare.

References
----------
Talts, Betancourt, Simpson, Vehtari and Gelman 2018, Validating Bayesian Inference Algorithms with
Simulation-Based Calibration, arXiv:1804.06788.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from workbench.bagging import looked_at
from workbench.checks import InputError, choose, number, require, warn, whole
from workbench.comparison.rehearsal.resolutions import Resolution, resolutions
from workbench.comparison.rehearsal.start import Start, start_of
from workbench.comparison.rehearsal.summary import summarise
from workbench.comparison.rehearsal.truths import Truth, rehearse_one, some_places
from workbench.comparison.rehearsal.words import finest, verdict
from workbench.evaluation.baselines import simple_maps
from workbench.evaluation.tasks import FoldWarning, Interrupted, Progress, Store, Task, outcomes
from workbench.gp.models.options import non_defaults
from workbench.labelled import make_model
from workbench.schema import GEOMETRY, check_learnable

KINDS = ("fitted", "prior", "posterior")


def rehearse(
    ds: xr.Dataset,
    model=None,
    truths: int = 20,
    *,
    truth: str = "fitted",
    hyperparameters: Mapping | None = None,
    samples: int = 199,
    threshold: float = 0.5,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = False,
    resume: str | Path | None = None,
) -> xr.Dataset:
    """Simulate truths on one's own areas, fit to their totals, and see what is found again.

    Places, covariates, weights and areas are those of the dataset; its values only say where the
    truths lie. Of each truth totals are drawn under the likelihood, the model is fitted to them as
    to real ones, and its map is set against the truth, which here is known at every individual.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    model : model or str, optional
        `workbench.VBAgg` (the default), ``Auto``, ``CentrePointGP``, ``Constant`` or
        ``AggregatedGP``. Of ``Auto`` each truth is drawn from one of its candidates, each from as
        many as it weighs on the dataset's own values, and all candidates are fitted to it and
        weighed.
    truths : int
        How many.
    truth : {"fitted", "prior", "posterior"}
        ``fitted``: fields are drawn from the Gaussian process at the hyperparameters that the model
        learns from the dataset's own values. ``prior``: at hyperparameters drawn from their priors,
        anew for each truth; one without a prior (the mean, a noise) keeps the value that a fit
        starts from, and refits have the same priors. ``posterior``: maps that the fit to the
        dataset holds possible. They give back nearly the same totals and fit, so that the skill is
        what the fit claims to resolve, and coverage is as it should by construction.
    hyperparameters : mapping, optional
        Values of the truths' hyperparameters, by name in natural units, whatever ``truth`` says of
        the others. The model still learns them: what the model itself fixes (its own option
        ``hyperparameters``) is fixed in both.
    samples : int
        Draws of each fit that the truth is ranked among.
    threshold : float
        Skill from which a resolution counts as identifiable, see
        `workbench.comparison.rehearsal.resolutions`.
    seed : int
        Seed of everything; results do not depend on the number of workers.
    workers : int
        Number of processes.
    progress : bool or callable
        True for a progress bar with the time left; a callable gets (done, total, what).
    resume : path, optional
        Folder (made if missing) where finished truths are kept; what it holds already is not
        computed again. More truths go on from fewer.

    Returns
    -------
    xr.Dataset
        ``coverage`` (unit, level) of central intervals, of the rates of individuals and of the
        expected values of areas, with ``coverage_lower`` and ``coverage_upper``, a 95 % Monte Carlo
        interval over truths; ``bias``, ``bias_error`` (Monte Carlo standard error) and ``rmse``
        (hyperparameter) of logarithms (``on_log``) or of values; ``skill`` (resolution), median
        over truths, its quartiles, ``correlation``, and ``reached``, the share of truths in which
        the skill reached the threshold; of totals of counts ``beside_skill`` (map, resolution),
        ``beside_coverage`` (map, level) of individuals, and ``nearer`` (map, resolution), the share
        of truths in which the model has more skill, of the population split and the GLM on totals
        given the same totals; ``rank`` (truth, quantity), ``place_rank`` (truth,
        place), ``area_rank`` (truth, area), ranks of the true value among draws as a PIT from 0 to
        1, and ``p_value`` (test) of their uniformity; ``..._by_truth``, ``true_hyperparameters``
        (JSON), ``note`` (warnings of the fit) and ``seconds`` (truth); of ``Auto`` also
        ``candidate`` (truth), what a truth was drawn from, and ``weight`` (truth, model), what it
        was found to be. Attributes: ``sentence``
        (the verdict), ``finest`` (finest identifiable resolution, or empty), ``about``, ``failed``.

    Raises
    ------
    InputError
        If the model has no prior to draw from, there are several sources, an option is wrong, or
        every truth failed.
    Interrupted
        On Ctrl-C; its ``partial`` is the result of the truths finished.

    Notes
    -----
    Ranks are uniform where the posterior is exact under the prior that truths come from. A model
    that learns hyperparameters as single values is not exact, so that departures are to be
    expected; what matters is their size, which coverage shows.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
    >>> model = wb.AggregatedGP(kernel="rbf", max_steps=5)
    >>> result = wb.rehearse(ds, model, truths=2, samples=50)
    >>> result["coverage"].dims
    ('unit', 'level')
    """
    ds = looked_at(check_learnable(_of_one_source(ds)))
    model = make_model("vbagg") if model is None else (
        make_model(model) if isinstance(model, str) else model)
    if workers > 1 and hasattr(model.options, "workers"):       # the truths share the processors
        model = type(model)(**{**non_defaults(model.options), "workers": 1})
    choose("truth", truth, KINDS)
    whole("truths", truths, least=2)
    whole("samples", samples, least=19)
    whole("seed", seed, least=0)
    require(0 < number("threshold", threshold) < 1,
            f"threshold must lie strictly between 0 and 1, got {threshold}")
    plan = _Plan(model, ds, truth, dict(hyperparameters or {}), samples, threshold, seed,
                 resolutions(ds))
    done: list[Truth] = []
    try:
        store = Store(resume, ds.drop_vars(GEOMETRY, errors="ignore"), samples, seed)
        start = start_of(model, ds, truth, plan.given, store, progress)
        for one in outcomes(rehearse_one, Truth, _tasks(plan, start, store, truths), workers,
                            progress):
            _tell(one)
            done.append(one)
        if all(one.error for one in done):
            raise InputError(f"every truth failed; the first: {done[0].error}")
        return _result(plan, start, done, truths)
    except KeyboardInterrupt as stop:
        good = any(not one.error for one in done)
        partial = _result(plan, start, done, truths) if good else None
        raise Interrupted(partial, len(done), truths) from stop


class _Plan(NamedTuple):
    model: object
    ds: xr.Dataset
    truth: str
    given: dict
    samples: int
    threshold: float
    seed: int
    partitions: list[Resolution]


def _tasks(plan: _Plan, start: Start, store: Store, truths: int) -> list[Task]:
    said = json.dumps([plan.truth, start.values], sort_keys=True, default=repr)
    mark = np.frombuffer(hashlib.sha256(said.encode()).digest(), np.uint8)
    bare = plan.ds.drop_vars(GEOMETRY, errors="ignore")
    return [Task(f"truth {k}", store.file(plan.model, np.append(mark, k)),
                 (k, start.kind(k, plan.seed), start.refit, bare, plan.truth == "posterior",
                  plan.partitions, plan.samples, plan.seed)) for k in range(truths)]


def _of_one_source(ds) -> xr.Dataset:
    require(not isinstance(ds, xr.DataTree | Mapping) or isinstance(ds, xr.Dataset), "a rehearsal "
            "is of one source: of several nobody says how their truths hang together; rehearse "
            "each by itself, such as wb.rehearse(sources['name'], 'vbagg')")
    return ds


def _tell(one: Truth) -> None:
    if one.error:
        warn(f"truth {one.number} failed and is left out: {one.error}", FoldWarning)


def _result(plan: _Plan, start: Start, done: list[Truth], truths: int) -> xr.Dataset:
    out = summarise(done, plan.partitions, start.learnt, plan.threshold, list(simple_maps(plan.ds)))
    failed = [f"truth {one.number}: {one.error}" for one in done if one.error]
    where = {"fitted": "at the hyperparameters fitted to the data",
             "prior": "with hyperparameters from their priors",
             "posterior": "given the data's own values"}[plan.truth]
    given = start.all_given and plan.truth != "posterior"
    where = "at given hyperparameters" if given else where
    if start.kinds[0].name:
        of = out["candidate"].values.tolist()
        where += ", of " + ", ".join(f"{name} {of.count(name)}" for name in dict.fromkeys(of))
    about = (f"{len(out['truth'])} of {truths} truths drawn from {plan.model!r} {where}, on "
             f"{plan.ds.sizes['individual']:,} individuals in {plan.ds.sizes['bag']:,} areas; "
             f"{plan.samples} draws of each fit")
    about += f"; {len(failed)} failed (the first: {failed[0]})" if failed else ""
    kept = {n: plan.ds.attrs[n] for n in ("title", "source", "licence") if n in plan.ds.attrs}
    out = out.assign_coords(
        place=some_places(plan.ds.sizes["individual"], 0), area=plan.ds["bag"].values.astype(str))
    out.attrs |= {**kept, "rehearsal": plan.truth, "model": repr(plan.model), "seed": plan.seed,
                  "samples": plan.samples, "threshold": plan.threshold, "about": about,
                  "values": json.dumps(start.values), "failed": "\n".join(failed)}
    out.attrs["finest"] = finest(out)
    out.attrs["sentence"] = verdict(out)
    return out
