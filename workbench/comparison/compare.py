"""The verdict in one call: baselines, the default model and the user's, by three tests."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import xarray as xr
from tqdm import tqdm

from workbench.bagging import looked_at
from workbench.bagging.assemble import located
from workbench.checks import InputError, choose, require, whole, without_warnings
from workbench.comparison import tests
from workbench.comparison.clock import Clock
from workbench.comparison.crossvalidation import cross_validate
from workbench.comparison.individuals import score_individuals
from workbench.comparison.line_up import AUTO, describe, line_up
from workbench.comparison.result import Comparison
from workbench.comparison.verdict import verdict
from workbench.evaluation.folding import folds as make_folds
from workbench.evaluation.grouping import groupings
from workbench.evaluation.parallel import one_thread
from workbench.evaluation.recovery import recover
from workbench.evaluation.tasks import Interrupted, Progress
from workbench.labelled.timing import cost, duration
from workbench.outputs import versions
from workbench.schema import BAG, GEOMETRY, check, counts_add_up

EFFORTS = ("quick", "normal", "thorough")
_PACKAGES = ("python", "aggregate-workbench", "numpy", "scipy", "scikit-learn", "xarray", "torch")
_TRUTH = ("individual_value", "truth")
_BAR = "{desc}{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} fits [{elapsed}{postfix}]"


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
    progress: Progress = False,
    resume: str | Path | None = None,
    effort: str = "normal",
    only: str | Sequence[str] | None = None,
) -> Comparison:
    """Compare the baselines, the default model and others, and say which one to use.

    Three tests: areas held out; areas recovered from the totals of their groups; and, where the
    dataset knows ``individual_value``, the individuals themselves given their areas' totals. Fine
    truth is used for scores alone.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    models : model, str, list of these, or dict of str to model, str or None, optional
        Beside the population split, the GLM on totals, dasymetric classes, area-to-point
        Poisson kriging and ``auto``. Text names a model of the registry; None leaves out one of
        those, as in ``{"auto": None}``. Values that are not totals of counts are compared beside
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
        Seed of folds, groups, draws and the models that are always compared.
    workers : int
        Number of processes; results do not depend on it.
    progress : bool or callable
        True for a progress bar; a callable gets (done, total, what was just done).
    resume : path, optional
        Folder where finished fits are stored, so that an interrupted run can be resumed.
    effort : {"quick", "normal", "thorough"}
        Effort of the model ``auto``, which is fitted as often as every other and takes most of
        the time.
    only : str or sequence of str, optional
        The tests to do alone: "individuals", "recovered", or one of ``scheme``; by default all
        that the dataset allows.

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
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> result = wb.compare(ds, {"auto": None, "Poisson kriging": None}, folds=2, scheme="random",
    ...                     levels=[6], draws=1, samples=20)
    >>> result.recommended in result.sentence
    True
    """
    ds = looked_at(check(ds))
    require(ds.sizes[BAG] > 1, "a comparison needs two areas or more, got 1: it cannot be held "
            "out, and has no neighbour to be merged with; give a dataset of several areas, or, if "
            "its individual_value is known, use workbench.comparison.score_individuals")
    choose("effort", effort, EFFORTS)
    whole("samples", samples, least=2)
    whole("seed", seed, least=0)
    whole("folds", folds, least=2)
    whole("workers", workers, least=1)
    schemes = [scheme] if isinstance(scheme, str) else list(scheme)
    known = [tests.INDIVIDUALS, tests.RECOVERED, *schemes]
    wanted = known if only is None else [
        choose("test", one, known) for one in ([only] if isinstance(only, str) else only)]
    chosen, baseline, notes = line_up(ds, models, effort, seed)
    settings = {"folds": folds, "scheme": schemes, "draws": draws, "samples": samples,
                "seed": seed, "workers": workers, "effort": effort,
                "only": None if only is None else wanted,
                "levels": "given groups" if isinstance(levels, xr.DataArray) else levels}
    run = _Run(ds, chosen, notes, progress if callable(progress) else None, samples=samples,
               seed=seed, workers=workers, resume=resume)
    run.plan(wanted, min(folds, ds.sizes[BAG]), levels, draws)
    guesses = run.guesses() if progress is True else {}
    if guesses:
        less = "" if effort == EFFORTS[0] or AUTO not in guesses else "; effort='quick' takes less"
        tqdm.write(f"{run.total} fits of {len(chosen)} models, about "
                   f"{duration(run.clock(guesses).left())}{less}", file=sys.stderr)
    with tqdm(total=run.total, disable=progress is not True, bar_format=_BAR) as bar:
        stopped = run.all(bar, run.clock(guesses))
    if not run.found and not stopped:
        raise InputError("no test could be done: " + "; ".join(run.notes))
    result = _result(run, baseline, settings, bool(stopped)) if run.found else None
    if stopped:
        raise Interrupted(result, run.done, run.total) from stopped
    return result


class _Test(NamedTuple):
    """One test: how many fits it takes, how it is done, and how its result is summarised."""

    name: str
    fits: int
    do: Callable[..., xr.Dataset]
    summarise: Callable[[xr.Dataset, bool], xr.Dataset]


class _Run:
    """The tests that are planned, and their results so far."""

    def __init__(self, ds: xr.Dataset, models: dict, notes: list[str], told: Callable | None,
                 **options) -> None:
        self.ds, self.models, self.notes, self.options = ds, models, notes, options
        self.counts, self.told = counts_add_up(ds), told
        self.tests: list[_Test] = []
        self.found, self.details, self.done = {}, {}, 0
        if self.counts and bool((ds["value"] != ds["value"].round()).any()):
            notes.append("some totals are fractional: draws that keep them have the next larger "
                         "whole number of events, each worth a little less than one")

    @property
    def total(self) -> int:
        """Number of fits of all tests."""
        return sum(test.fits for test in self.tests)

    def guesses(self) -> dict[str, float]:
        """Roughly how many seconds a fit takes, of models that can tell before they are fitted."""
        found = {}
        for name, model in self.models.items():
            with contextlib.suppress(Exception):    # of a fit that fails it is said then
                known = cost(model, self.ds) if hasattr(model, "torch_model") else None
                found |= {} if known is None else {name: known[0]}
        return found

    def clock(self, guesses: dict[str, float]) -> Clock:
        """The time that all fits take, each of the models the same number of them."""
        return Clock(dict.fromkeys(self.models, self.total // len(self.models)),
                     {name: seconds / self.options["workers"] for name, seconds in guesses.items()})

    def plan(self, wanted: list[str], folds: int, levels, draws: int) -> None:
        """Make folds and groups; note what cannot be done. The decisive tests come first."""
        ds, models, seed = self.ds, self.models, self.options["seed"]
        known = ds.drop_vars([*_TRUTH, *GEOMETRY], errors="ignore")
        if tests.INDIVIDUALS in wanted and "individual_value" in ds:
            self.tests.append(_Test(tests.INDIVIDUALS, len(models), partial(
                score_individuals, models, ds), tests.of_individuals))
        elif tests.INDIVIDUALS in wanted:
            self.notes.append("there is no fine truth (individual_value) to test individuals by")
        if tests.RECOVERED in wanted:
            self._plan_recovery(known, levels, draws)
        for scheme in (w for w in wanted if w not in (tests.INDIVIDUALS, tests.RECOVERED)):
            if scheme == tests.BLOCKS and not located(ds):
                self.notes.append("spatial blocks are left out: the areas have no coordinates")
                continue
            fold = make_folds(ds, folds, scheme, seed)
            self.tests.append(_Test(
                scheme, len(models) * folds,
                partial(cross_validate, models, known, fold, constant=False),
                partial(tests.of_held_out, scheme)))

    def _plan_recovery(self, known: xr.Dataset, levels, draws: int) -> None:
        try:
            groups = levels if isinstance(levels, xr.DataArray) else groupings(
                self.ds, levels, draws, self.options["seed"])
            self.tests.append(_Test(
                tests.RECOVERED, len(self.models) * int((groups.values[..., 0] >= 0).sum()),
                partial(recover, self.models, known, groups), tests.of_recovered))
        except InputError as error:
            if levels is not None:
                raise
            self.notes.append(f"coarsen and recover is left out: {error}")

    def all(self, bar: tqdm, clock: Clock) -> KeyboardInterrupt | None:
        """Do the tests; return what interrupted them, if anything did."""
        for test in self.tests:
            try:
                self._do(test, bar, clock)
            except KeyboardInterrupt as stop:       # it may also come between the fits
                kept = stop.partial if isinstance(stop, Interrupted) else None
                self._keep(test, self.details.get(test.name) if kept is None else kept)
                return stop
        return None

    def _do(self, test: _Test, bar: tqdm, clock: Clock) -> None:
        before = self.done

        def step(done: int, total: int, what: str) -> None:
            name = max((n for n in self.models if what.startswith(f"{n}, ")), key=len)
            clock.done(name)
            bar.set_description(what, refresh=False)
            bar.set_postfix_str(clock.told(), refresh=False)
            bar.update(before + done - self.done)
            self.done = before + done
            if self.told is not None:
                self.told(self.done, self.total, what)

        with without_warnings(), one_thread():  # they are kept as notes and errors
            try:
                self._keep(test, test.do(progress=step, **self.options))
            except InputError as error:
                self.notes.append(f"{test.name}: left out: {error}")
        bar.update(before + test.fits - self.done)
        self.done = before + test.fits

    def _keep(self, test: _Test, result: xr.Dataset | None) -> None:
        if result is not None:
            self.details[test.name] = result
            self.found[test.name] = test.summarise(result, self.counts)


def _result(run: _Run, baseline: str, settings: dict, partial: bool) -> Comparison:
    order = [t for t in tests.DECIDES if t in run.found]
    order += [t for t in run.found if t not in order]
    data = xr.concat([run.found[t] for t in order], xr.DataArray(order, dims="test", name="test"))
    main = tests.names(run.counts)[0]
    kept = {n: run.ds.attrs[n] for n in ("title", "source", "licence") if n in run.ds.attrs}
    data.attrs = kept | {
        "headline": main, "baseline": baseline, "notes": "\n".join(run.notes),
        "settings": json.dumps(settings), "versions": json.dumps(versions(*_PACKAGES)),
        "models": json.dumps({name: describe(model) for name, model in run.models.items()}),
        "areas": run.ds.sizes[BAG], "individuals": run.ds.sizes["individual"],
        "partial": f"stopped after {run.done} of {run.total} fits" if partial else ""}
    data.attrs["recommended"], data.attrs["sentence"] = verdict(data)
    return Comparison(data, run.details)
