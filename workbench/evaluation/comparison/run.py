"""The verdict in one call: plain methods, the default model and the user's, by three tests."""

from __future__ import annotations

import json
import platform
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import xarray as xr
from tqdm import tqdm

from workbench.bagging import looked_at
from workbench.checks import InputError, choose, require, whole
from workbench.evaluation.comparison import tests
from workbench.evaluation.comparison.individuals import score_individuals
from workbench.evaluation.comparison.models import AUTO, describe, line_up
from workbench.evaluation.comparison.result import Comparison
from workbench.evaluation.comparison.verdict import verdict
from workbench.evaluation.crossvalidation import FoldWarning, Interrupted, cross_validate
from workbench.evaluation.folds import folds as make_folds
from workbench.evaluation.groupings import groupings
from workbench.evaluation.parallel import one_thread
from workbench.evaluation.recovery import recover
from workbench.schema import BAG, GEOMETRY, aggregation, check, kind

EFFORTS = ("quick", "normal", "thorough")
_PACKAGES = ("aggregate-workbench", "numpy", "scipy", "scikit-learn", "xarray", "torch")
_TRUTH = ("individual_value", "truth")


def compare(
    ds: xr.Dataset,
    models=None,
    *,
    folds: int = 10,
    scheme: str | Sequence[str] = ("random", "blocks"),
    levels: Sequence[int | str] | xr.DataArray | None = None,
    draws: int = 2,
    samples: int = 500,
    seed: int = 0,
    workers: int = 1,
    progress: bool | Callable[[int, int, str], None] = False,
    resume: str | Path | None = None,
    effort: str = "normal",
) -> Comparison:
    """Compare the plain methods, the default model and others, and say which one to use.

    Three tests: areas held out; areas recovered from the totals of their groups; and, where the
    dataset knows ``individual_value``, the individuals themselves given their areas' totals. Fine
    truth is used for scores alone.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    models : model, str, list of these, or dict of str to model, str or None, optional
        Beside the split by population, the GLM on totals, dasymetric classes, area-to-point
        Poisson kriging and ``auto``. Text names a model of the registry; None leaves out one of
        those, as in ``{"auto": None}``. Values that are no totals of counts are compared beside
        the constant model instead.
    folds : int
        Folds of held-out areas, at most as many as areas.
    scheme : str or sequence of str
        How areas are held out, see `workbench.evaluation.folds`; blocks need coordinates.
    levels : sequence of int or str, or xr.DataArray, optional
        Groups that areas are recovered from, see `workbench.recover`.
    draws : int
        Groupings of each level.
    samples : int
        Draws from each predictive distribution.
    seed : int
        Of folds, groups, draws and the models that are always compared.
    workers : int
        Processes; results do not depend on it.
    progress : bool or callable
        True for a bar with the time left; a callable gets (done, in all, what was just done).
    resume : path, optional
        Folder where finished fits are kept, so that a run that was stopped can be taken up.
    effort : {"quick", "normal", "thorough"}
        Of the model ``auto``, which is fitted as often as every other; it takes most of the time.

    Returns
    -------
    Comparison
        Scores with paired differences and their intervals (``data``), the full results of each
        test (``details``), ``sentence``, ``recommended``, `Comparison.table`, text and HTML.

    Raises
    ------
    InputError
        If the dataset or an option cannot be used, or no test could be done at all.
    Interrupted
        On Ctrl-C; its ``partial`` is the comparison by what is finished, or None.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("us-unemployment")                           # doctest: +SKIP
    >>> result = wb.compare(ds, effort="quick", workers=2)        # doctest: +SKIP
    >>> print(result.sentence)                                    # doctest: +SKIP
    >>> result.to_html("verdict.html")                            # doctest: +SKIP
    """
    ds = looked_at(check(ds))
    require(ds.sizes[BAG] > 1, "a comparison needs two areas or more, got 1: it cannot be held "
            "out, and has no neighbour to be merged with; give a dataset of several areas, or, if "
            "its individual_value is known, use workbench.evaluation.score_individuals")
    choose("effort", effort, EFFORTS)
    whole("samples", samples, least=2)
    whole("seed", seed, least=0)
    whole("folds", folds, least=2)
    schemes = [scheme] if isinstance(scheme, str) else list(scheme)
    chosen, baseline, notes = line_up(ds, models, effort, seed)
    settings = {"folds": folds, "scheme": schemes, "draws": draws, "samples": samples,
                "seed": seed, "workers": workers, "effort": effort,
                "levels": "given groups" if isinstance(levels, xr.DataArray) else levels}
    run = _Run(ds, chosen, notes, samples=samples, seed=seed, workers=workers, resume=resume)
    run.plan(schemes, min(folds, ds.sizes[BAG]), levels, draws)
    if progress is True and hasattr(chosen.get(AUTO), "estimate"):
        minutes = chosen[AUTO].estimate(ds) * run.total / len(chosen) / workers / 60
        less = "" if effort == EFFORTS[0] else "; effort='quick' takes less"
        tqdm.write(f"auto alone takes about {minutes:.0f} minutes{less}", file=sys.stderr)
    with tqdm(total=run.total, disable=progress is not True, unit="fit") as bar:
        run.show(bar, progress if callable(progress) else None)
        stopped = run.all()
    if not run.found and not stopped:
        raise InputError("no test could be done: " + "; ".join(run.notes))
    result = _result(run, baseline, settings, bool(stopped)) if run.found else None
    if stopped:
        raise Interrupted(result, run.done, run.total) from stopped
    return result


class _Run:
    """The tests that are planned, and what came of them."""

    def __init__(self, ds, models, notes, **how) -> None:
        self.ds, self.models, self.notes, self.how = ds, models, notes, how
        self.counts = kind(ds) == "count" and aggregation(ds) == "sum"
        self.found, self.details, self.total, self.done = {}, {}, 0, 0
        self.folds: dict[str, xr.DataArray] = {}
        self.groups: xr.DataArray | None = None
        if self.counts and bool((ds["value"] != ds["value"].round()).any()):
            notes.append("some totals are fractional: draws that keep them have the next larger "
                         "whole number of events, each worth a little less than one")

    def plan(self, schemes, folds: int, levels, draws: int) -> None:
        """Make folds and groups; note what cannot be done."""
        for scheme in schemes:
            if scheme == tests.BLOCKS and "bag_x" not in self.ds.coords:
                self.notes.append("spatial blocks are left out: the areas have no coordinates")
                continue
            self.folds[scheme] = make_folds(self.ds, folds, scheme, self.how["seed"])
            self.total += len(self.models) * folds
        try:
            self.groups = levels if isinstance(levels, xr.DataArray) else groupings(
                self.ds, levels, draws, self.how["seed"])
        except InputError as error:
            if levels is not None:
                raise
            self.notes.append(f"coarsen and recover is left out: {error}")
        if self.groups is not None:
            self.total += len(self.models) * int((self.groups.values[..., 0] >= 0).sum())
        if "individual_value" in self.ds:
            self.total += len(self.models)
        else:
            self.notes.append("there is no fine truth (individual_value) to test individuals by")

    def show(self, bar: tqdm, told: Callable | None) -> None:
        """Where progress is told."""
        self.bar, self.told = bar, told

    def step(self, done: int, what: str) -> None:
        """So many fits are done; some may have been kept from an earlier run."""
        if done <= self.done:
            return
        self.bar.set_description(what)
        self.bar.update(done - self.done)
        self.done = done
        if self.told is not None:
            self.told(done, self.total, what)

    def all(self) -> KeyboardInterrupt | None:
        """Do the tests, the decisive ones first; what stopped them, if something did."""
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore", FoldWarning)     # kept as notes and errors
            if "individual_value" in self.ds:
                result, stopped = score_individuals(
                    self.models, self.ds, step=lambda what: self.step(self.done + 1, what),
                    **self.how)
                self._keep(tests.INDIVIDUALS, result, tests.of_individuals)
                if stopped:
                    return stopped
            if self.groups is not None:
                stopped = self._do(tests.RECOVERED, recover, self.groups, tests.of_recovered)
                if stopped:
                    return stopped
            for scheme, fold in self.folds.items():
                stopped = self._do(
                    scheme, cross_validate, fold,
                    lambda result, counts, scheme=scheme: tests.of_held_out(result, scheme, counts),
                    constant=False)
                if stopped:
                    return stopped
        return None

    def _do(self, test: str, function: Callable, split, brought: Callable, **more
            ) -> KeyboardInterrupt | None:
        known = self.ds.drop_vars([*_TRUTH, *GEOMETRY], errors="ignore")
        before = self.done
        after = before + len(self.models) * (np.unique(split.values).size if split.dims == (BAG,)
                                             else int((split.values[..., 0] >= 0).sum()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")     # the fits' own are kept as notes
            try:
                result, stopped = function(
                    self.models, known, split,
                    progress=lambda done, total, what: self.step(before + done, what),
                    **self.how, **more), None
                self.step(after, test)
            except Interrupted as stop:
                result, stopped = stop.partial, stop
            except InputError as error:
                result, stopped = None, None
                self.notes.append(f"{test}: left out: {error}")
        if result is not None:
            self._keep(test, result, brought)
        return stopped

    def _keep(self, test: str, result: xr.Dataset, brought: Callable) -> None:
        self.details[test] = result
        self.found[test] = brought(result, self.counts)


def _result(run: _Run, baseline: str, settings: dict, partial: bool) -> Comparison:
    order = [t for t in tests.DECIDES if t in run.found]
    order += [t for t in run.found if t not in order]
    data = xr.concat([run.found[t] for t in order], xr.DataArray(order, dims="test", name="test"))
    main = tests.names(run.counts)[0]
    kept = {n: run.ds.attrs[n] for n in ("title", "source", "licence") if n in run.ds.attrs}
    data.attrs = kept | {
        "headline": main, "baseline": baseline, "notes": "\n".join(run.notes),
        "settings": json.dumps(settings), "versions": json.dumps(_versions()),
        "models": json.dumps({name: describe(model) for name, model in run.models.items()}),
        "areas": run.ds.sizes[BAG], "individuals": run.ds.sizes["individual"],
        "partial": f"stopped after {run.done} of {run.total} fits" if partial else ""}
    data.attrs["recommended"], data.attrs["sentence"] = verdict(data)
    return Comparison(data, run.details)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed as a package"
    return found
