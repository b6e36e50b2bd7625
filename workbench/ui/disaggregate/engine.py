"""From a Spec to what the views show: maps and scores, kept in bounded caches.

Pure functions of Specs and small values; results are frozen, arrays too, as all sessions share
them. They import the models, not this module: a page can be drawn before that is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench.checks import require
from workbench.pipeline.spec import Spec
from workbench.ui.base.cache import Cache
from workbench.ui.base.fitted import CANCELLED, FITTED
from workbench.ui.disaggregate import given, mixtures
from workbench.ui.disaggregate.fitted import UNFITTED, Fitted
from workbench.ui.disaggregate.scenes import Scene, data_spec, frozen, ready_scene, scene
from workbench.ui.disaggregate.verdict import beside, scores_of

if TYPE_CHECKING:
    from workbench.labelled import Fit, LabelledPredictive

__all__ = ["Answer", "Scene", "data_spec", "ready_scene", "scene"]

EXACT_LIMIT = 4_500     # individuals; the exact model holds all their pairs in memory
SAMPLES = 300

# A fit holds up to some 70 MB; the answers without an effect share the fits of the others.
_ANSWERS, _SCORES, _BESIDE = Cache(14), Cache(24), Cache(6)
_WITHOUT_EFFECT = Cache(6)


@dataclass(frozen=True)
class Answer:
    """Maps of one fit, and how they were come by.

    ``spec`` is that of the fit (`fit_spec`). ``kind`` is ``learnt`` (hyperparameters learnt),
    ``stopped`` (learning was cancelled), ``moved`` (those of an earlier fit, but for the
    sliders') or ``start`` (starting values). ``fitted`` is the fit that was asked for: with
    ``spec`` it makes the answer again, in any session. ``restored`` says whether the answer was
    made at hyperparameters that were given, not learnt here; ``own`` that it came from a file, and
    belongs to one session. ``area_effect`` says whether the maps include what is particular to
    each area, given its total. ``rough`` says whether q was found in a hurry: see `settled`.
    """

    spec: Spec
    fit: Fit
    predictive: LabelledPredictive
    mean: np.ndarray
    std: np.ndarray
    kind: str
    seconds: float
    area_effect: bool = True
    fitted: Fitted = UNFITTED
    restored: bool = False
    own: bool = False
    rough: bool = False

    @property
    def exact(self) -> bool:
        """Whether the posterior is computed in closed form."""
        return self.spec.model == "aggregated-gp"

    @property
    def history(self) -> tuple[float, ...]:
        """Objective by step; empty if nothing was learnt."""
        learnt = self.kind in ("learnt", "stopped") and not self.restored
        return tuple(self.fit.history) if learnt else ()

    @property
    def reached(self) -> float | None:
        """Where the curve of ``history`` ends: the objective of the fit shown, with log priors."""
        return self.fit.objective_with_priors if self.history else None

    @property
    def relearnt(self) -> bool:
        """Whether learning what the Spec leaves open makes it again: a fit nothing fixed later."""
        return self.kind == "learnt" and dict(self.spec.hyperparameters) == self.fitted.fixed

    @property
    def again(self) -> bool:
        """Whether spec and fitted make it again for anybody."""
        return not self.own and (self.fitted.status != CANCELLED or bool(self.fitted.at))

    def answers(self, spec: Spec, fitted: Fitted) -> bool:
        """Whether it is what is asked for, not of former settings."""
        return (self.spec, self.fitted) == (fit_spec(spec), fitted)

    @cached_property
    def extrapolation(self) -> np.ndarray:
        """How far individuals' covariates lie beyond the areas' means (`Fit.extrapolation`)."""
        return frozen(self.fit.extrapolation(scene(self.spec).plain).values)

    @cached_property
    def summary(self) -> str:
        """The fit in words."""
        return self.fit.summary()

    def exceedance(self, threshold: float) -> np.ndarray:
        """P(rate > threshold) of each individual, threshold in natural units."""
        return frozen(self.predictive.exceedance(threshold).values)


def base_spec(spec: Spec) -> Spec:
    """The same Spec with everything learnt: what a slider moves away from."""
    return replace(fit_spec(spec), hyperparameters={})


def fit_spec(spec: Spec) -> Spec:
    """A Spec without what does not change its fit, such as the threshold: what maps are made of."""
    return replace(spec, threshold=None, area_effect=True, rescale_to_totals=False)


def ready(spec: Spec, fitted: Fitted = UNFITTED) -> Answer | None:
    """The answer to a Spec at a fit if it is there: what `quick` would return."""
    key = fit_spec(spec), fitted
    found = _ANSWERS.peek(key)
    if found is None or spec.area_effect:
        return found
    return _WITHOUT_EFFECT.peek((*key, found.rough))


def quick(spec: Spec, fitted: Fitted = UNFITTED) -> Answer:
    """Maps at once: hyperparameters are given, and only the posterior of the field is found.

    Those that sliders fix have their values, the others those of the fit, or their starting values
    where nothing is fitted. A fit that has no hyperparameters to give is learnt again.

    Parameters
    ----------
    spec : Spec
        Data, model, and what sliders fix.
    fitted : Fitted
        The fit whose maps are wanted.
    """
    key = fit_spec(spec), fitted
    return including(_ANSWERS.get(key, lambda: _at(*key)), spec.area_effect)


def learn(spec: Spec, tick: Callable[[int, float, float], None] | None = None,
          stage: Callable = lambda _: None) -> Answer:
    """Maps with all hyperparameters learnt that the Spec does not fix.

    Those of a mixture, of whose parts ``stage`` hears, are rough: see `settled`.
    """
    from workbench.labelled import stages
    from workbench.pipeline.run import model_of

    key = fit_spec(spec)
    if (found := _ANSWERS.peek((key, "learnt"))) is not None:
        return found
    started, data = time.perf_counter(), _possible(key)
    with stages.heard_by(stage):
        fit = model_of(key).fit(data, callback=tick)
    status, kind = (CANCELLED, "stopped") if fit.cancelled else (FITTED, "learnt")
    found = Fitted(status, mixtures.address(key, fit))
    rough = key.model == mixtures.AUTO and bool(found.at)
    answer = replace(_answer(key, fit, data, kind, started, found), rough=rough)
    return _kept(answer, not fit.cancelled)


def including(answer: Answer, area_effect: bool) -> Answer:
    """The maps of the same fit with or without what is particular to each area (`Fit.at`)."""
    if answer.area_effect == area_effect:
        return answer

    def make() -> Answer:
        predictive = answer.fit.at(scene(answer.spec).plain, area_effect)
        return replace(answer, predictive=predictive, mean=frozen(predictive.mean.values),
                       std=frozen(predictive.std.values), area_effect=area_effect)

    if not answer.again:
        return make()
    key = answer.spec, answer.fitted
    return (_ANSWERS.get(key, make) if area_effect
            else _WITHOUT_EFFECT.get((*key, answer.rough), make))


def settled(answer: Answer) -> Answer:
    """The same hyperparameters with q found on all individuals, as `workbench run` has it.

    Takes seconds where a rough answer takes a tenth of one; any other is returned as it is.
    """
    if not answer.rough:
        return answer
    here = answer.spec.model == mixtures.AUTO and not answer.restored     # learning counts, too
    started, data = time.perf_counter() - here * answer.seconds, scene(answer.spec).plain
    fit = (mixtures.settled(answer.fit, answer.fitted, data) if here
           else answer.fit.model.condition(data, answer.fit.hyperparameters))
    found = replace(_answer(answer.spec, fit, data, answer.kind, started, answer.fitted),
                    restored=not here, own=answer.own)
    return including(_kept(found, here and found.kind == "learnt"), answer.area_effect)


def _kept(answer: Answer, learnt: bool) -> Answer:
    if answer.again:
        _ANSWERS.keep((answer.spec, answer.fitted), answer)
        if learnt:
            _ANSWERS.keep((answer.spec, "learnt"), answer)
    return answer


def scores(answer: Answer) -> xr.Dataset:
    """Scores and calibration of an answer beside the flat model (`workbench.evaluate`)."""
    def make() -> xr.Dataset:
        from workbench.labelled import make_model

        data = scene(answer.spec).plain
        others = _BESIDE.get(data_spec(answer.spec), lambda: beside(
            data, make_model("constant").fit(data), SAMPLES))
        return scores_of(answer.fit, data, others, SAMPLES)

    return _SCORES.get((answer.spec, answer.fitted), make) if answer.again else make()


def ready_scores(answer: Answer) -> xr.Dataset | None:
    """The scores of an answer if they are there."""
    return _SCORES.peek((answer.spec, answer.fitted)) if answer.again else None


def _possible(spec: Spec) -> xr.Dataset:
    data = scene(spec).plain
    count = data.sizes["individual"]
    require(
        spec.model != "aggregated-gp" or count <= EXACT_LIMIT,
        f"the exact model needs all pairs of individuals: {count:,} are too many here (limit "
        f"{EXACT_LIMIT:,}); choose the model VBAgg, or Korea or the swiss roll as data",
    )
    return data


def _start(spec: Spec) -> Answer:
    from workbench.pipeline.run import model_of

    started, data = time.perf_counter(), _possible(spec)
    # A mixture has nothing to show before it is fitted: one of its models stands in for it.
    model = model_of(replace(spec, model="vbagg", options={}) if spec.model == "auto" else spec)
    fit = model.condition(data, model.starting_values(data))
    return replace(_answer(spec, fit, data, "start", started), restored=True)


def _at(spec: Spec, fitted: Fitted) -> Answer:
    """The answer at a fit's hyperparameters and those that sliders fix."""
    sliders, base = dict(spec.hyperparameters), base_spec(spec)
    if fitted == UNFITTED:
        return _moved(spec, quick(base), sliders, "start") if sliders else _start(spec)
    if not fitted.at:
        return learn(spec)
    if sliders == fitted.fixed:
        return _restored(spec, fitted)
    # From the fit itself, if it is still there, q is found soonest.
    own = quick(replace(base, hyperparameters=fitted.fixed), fitted)
    if fitted.fixed.items() <= sliders.items() and all(
            _alike(value, fitted.values.get(name)) for name, value in sliders.items()):
        if (found := _SCORES.peek((own.spec, fitted))) is not None:
            _SCORES.keep((spec, fitted), found)
        return replace(own, spec=spec)      # fixed where the fit is: nothing moves
    return _moved(spec, own, fitted.values | sliders, "moved", fitted)


def _alike(fixed: float, learnt: float | list[float] | None) -> bool:
    """Whether a value is that of the fit, as far as an address has it."""
    return isinstance(learnt, float) and f"{fixed:g}" == f"{learnt:g}"


def _restored(spec: Spec, fitted: Fitted) -> Answer:
    """The fit at its hyperparameters, as exact as when they were learnt."""
    from workbench.pipeline.run import model_of

    started, data = time.perf_counter(), _possible(spec)
    fit = model_of(spec).condition(data, mixtures.values_of(spec.model, fitted, data))
    kind = "learnt" if fitted.status == FITTED else "stopped"
    return replace(_answer(spec, fit, data, kind, started, fitted), restored=True)


def _moved(spec: Spec, base: Answer, values: dict, kind: str, fitted: Fitted = UNFITTED) -> Answer:
    started, data = time.perf_counter(), _possible(spec)
    fit = base.fit.with_hyperparameters(values)
    made = _answer(spec, fit, data, kind, started, fitted)
    return replace(made, restored=True, rough=not made.exact)


def answer_of(spec: Spec, fit: Fit, kind: str, fitted: Fitted) -> Answer:
    """The answer of a fit that is there already."""
    return _answer(spec, fit, scene(spec).plain, kind, time.perf_counter(), fitted)


def _answer(spec: Spec, fit: Fit, data: xr.Dataset, kind: str, started: float,
            fitted: Fitted = UNFITTED) -> Answer:
    predictive = given.told(fit, spec.hyperparameters).at(data)
    mean, std = frozen(predictive.mean.values), frozen(predictive.std.values)
    return Answer(spec, fit, predictive, mean, std, kind, time.perf_counter() - started,
                  fitted=fitted)
