"""From a Spec to what the views show: data, maps and scores, kept in bounded caches.

Pure functions of Specs and small values; results are frozen and their arrays read-only, because
all sessions share them. They import the models, not this module: a page can be drawn before that
is done.
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
from workbench.interrupt import Cancelled
from workbench.pipeline.spec import Spec
from workbench.plots import ColourScale, colour_scale, observed_rate, rate_unit, simplified
from workbench.schema import GEOMETRY
from workbench.ui.base.cache import Cache
from workbench.ui.disaggregate.verdict import with_split

if TYPE_CHECKING:
    from workbench.labelled import Fit, LabelledPredictive

EXACT_LIMIT = 4_000     # individuals; the exact model holds all their pairs in memory
SCREEN = 500            # pixels along a map for which outlines are simplified
SAMPLES = 300

# A fit holds up to some 70 MB; the answers with an effect share the fits of the others.
_SCENES, _ANSWERS, _SCORES, _FLAT = Cache(6), Cache(12), Cache(24), Cache(6)
_WITH_EFFECT = Cache(6)


@dataclass(frozen=True)
class Scene:
    """A dataset ready to be shown: values in the unit shown, and scales locked to the data."""

    data: xr.Dataset
    plain: xr.Dataset           # the same without outlines, which are slow to copy: for models
    drawn: xr.Dataset           # the same with outlines simplified to the screen
    factor: float
    unit: str
    observed: np.ndarray        # rate of each area
    known: np.ndarray | None    # fine rate, where the dataset knows it
    known_title: str
    rate: ColourScale
    spread: ColourScale


@dataclass(frozen=True)
class Answer:
    """Maps of one fit, and how they were come by.

    ``spec`` is that of the fit (`fit_spec`). ``kind`` is ``learnt`` (hyperparameters learnt),
    ``stopped`` (learning was cancelled), ``moved`` (those of an earlier fit, but for the
    sliders') or ``start`` (starting values). ``area_effect`` says whether the maps include what
    is particular to each area.
    """

    spec: Spec
    fit: Fit
    predictive: LabelledPredictive
    mean: np.ndarray
    std: np.ndarray
    kind: str
    seconds: float
    area_effect: bool = False

    @property
    def exact(self) -> bool:
        """Whether the posterior is computed in closed form."""
        return self.spec.model == "aggregated-gp"

    @property
    def history(self) -> tuple[float, ...]:
        """Objective by step; empty if nothing was learnt."""
        return tuple(self.fit.history) if self.kind in ("learnt", "stopped") else ()

    @cached_property
    def extrapolation(self) -> np.ndarray:
        """How far individuals' covariates lie beyond the areas' means (`Fit.extrapolation`)."""
        return _frozen(self.fit.extrapolation(scene(self.spec).plain).values)

    @cached_property
    def summary(self) -> str:
        """The fit in words."""
        return self.fit.summary()

    def exceedance(self, threshold: float) -> np.ndarray:
        """P(rate > threshold) of each individual, threshold in natural units."""
        return _frozen(self.predictive.exceedance(threshold).values)


def data_spec(spec: Spec) -> Spec:
    """The part of a Spec that says which data: the key of `scene`."""
    return Spec(dataset=spec.dataset, dataset_options=spec.dataset_options, level=spec.level,
                areas=spec.areas)


def base_spec(spec: Spec) -> Spec:
    """The same Spec with everything learnt: what a slider moves away from."""
    return replace(fit_spec(spec), hyperparameters={})


def fit_spec(spec: Spec) -> Spec:
    """A Spec without what does not change its fit: the threshold and the area effect's share."""
    return replace(spec, threshold=None, area_effect=False)


def scene(spec: Spec) -> Scene:
    """The data of a Spec, loaded once."""
    from workbench.pipeline.run import data_of

    key = data_spec(spec)
    return _SCENES.get(key, lambda: _scene(data_of(key)))


def ready_scene(spec: Spec) -> Scene | None:
    """The data of a Spec if they are loaded."""
    return _SCENES.peek(data_spec(spec))


def ready(spec: Spec) -> Answer | None:
    """The best answer there is without computing: learnt, else quick."""
    key, base = fit_spec(spec), _ANSWERS.peek((base_spec(spec), "learnt"))
    quick_kind = "moved" if base and spec.hyperparameters else "start"
    found = _ANSWERS.peek((key, "learnt")) or _ANSWERS.peek((key, quick_kind))
    if found is None or not spec.area_effect:
        return found
    return _WITH_EFFECT.peek((key, found.kind))


def quick(spec: Spec) -> Answer:
    """Maps at once, with nothing learnt but the posterior of the field.

    Hyperparameters fixed by sliders have their values; the others keep those of the fit with
    everything learnt, if there is one, else their starting values.
    """
    key = fit_spec(spec)
    found = _ANSWERS.peek((key, "learnt"))
    if found is None and spec.hyperparameters:
        base = quick(base_spec(spec))
        kind = "moved" if base.kind == "learnt" else "start"
        found = _ANSWERS.get((key, kind), lambda: _moved(key, base, kind))
    elif found is None:
        found = _ANSWERS.get((key, "start"), lambda: _start(key))
    return including(found, spec.area_effect)


def learn(spec: Spec, tick: Callable[[int, float, float], None]) -> Answer:
    """Maps with all hyperparameters learnt that the Spec does not fix, area effect left out.

    A cancelled fit is returned as it is, and not kept for others.
    """
    from workbench.pipeline.run import model_of

    key = fit_spec(spec)
    found = _ANSWERS.peek((key, "learnt"))
    if found is not None:
        return found
    started = time.perf_counter()
    data = _possible(key)
    fit = model_of(key).fit(data, callback=tick)
    answer = _answer(key, fit, data, "stopped" if fit.cancelled else "learnt", started)
    if not fit.cancelled:
        _ANSWERS.keep((key, "learnt"), answer)
    return answer


def including(answer: Answer, area_effect: bool) -> Answer:
    """The maps of the same fit with or without what is particular to each area (`Fit.at`)."""
    if answer.area_effect == area_effect:
        return answer

    def make() -> Answer:
        predictive = answer.fit.at(scene(answer.spec).plain, area_effect)
        return replace(answer, predictive=predictive, mean=_frozen(predictive.mean.values),
                       std=_frozen(predictive.std.values), area_effect=area_effect)

    kept = _WITH_EFFECT if area_effect else _ANSWERS
    key = (answer.spec, answer.kind)
    return make() if answer.kind == "stopped" else kept.get(key, make)


def scores(answer: Answer) -> xr.Dataset:
    """Scores and calibration of an answer beside the flat model (`workbench.evaluate`)."""
    def make() -> xr.Dataset:
        from workbench.comparison import evaluate
        from workbench.labelled import make_model

        data = scene(answer.spec).plain
        fits = {answer.fit.model.name: answer.fit}
        if "constant" not in fits:
            fits["constant"] = _FLAT.get(data_spec(answer.spec),
                                         lambda: make_model("constant").fit(data))
        return with_split(evaluate(fits, data, samples=SAMPLES), data, SAMPLES)

    return make() if answer.kind == "stopped" else _SCORES.get((answer.spec, answer.kind), make)


def ready_scores(answer: Answer) -> xr.Dataset | None:
    """The scores of an answer if they are there."""
    return None if answer.kind == "stopped" else _SCORES.peek((answer.spec, answer.kind))


def _scene(data: xr.Dataset) -> Scene:
    factor, unit = rate_unit(data)
    observed = observed_rate(data).values
    known, title = _known(data)
    shown = [observed] if known is None else [observed, known]
    rate = colour_scale(*shown, label="rate", unit=unit, factor=factor)
    spread = ColourScale("standard deviation", unit, 0.0, (rate.upper - rate.lower) / 2, "spread",
                         factor, source="zero to half the span of the rates")
    # scores have a "coverage" of their own beside that of pixels cut by a border
    plain = data.drop_vars([*GEOMETRY, "coverage"], errors="ignore")
    return Scene(data, plain, simplified(data, SCREEN), factor, unit, _frozen(observed),
                 None if known is None else _frozen(known), title, rate, spread)


def _known(data: xr.Dataset) -> tuple[np.ndarray | None, str]:
    if "truth" in data:
        return data["truth"].values, "True rate"
    if "individual_value" in data:
        total = data["value"].attrs.get("aggregation", "sum") == "sum"
        fine = data["individual_value"] / data["weight"] if total else data["individual_value"]
        return fine.values, "Observed, fine (never used in fitting)"
    return None, ""


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

    def stop(*_):
        raise Cancelled

    return _answer(spec, model.fit(data, callback=stop), data, "start", started)


def _moved(spec: Spec, base: Answer, kind: str) -> Answer:
    started, data = time.perf_counter(), _possible(spec)
    fit = base.fit.with_hyperparameters(spec.hyperparameters.plain())
    return _answer(spec, fit, data, kind, started)


def _answer(spec: Spec, fit: Fit, data: xr.Dataset, kind: str, started: float) -> Answer:
    predictive = fit.at(data)
    mean, std = _frozen(predictive.mean.values), _frozen(predictive.std.values)
    return Answer(spec, fit, predictive, mean, std, kind, time.perf_counter() - started)


def _frozen(values: np.ndarray) -> np.ndarray:
    values = np.array(values, dtype=float)
    values.flags.writeable = False
    return values
