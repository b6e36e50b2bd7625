"""What can be downloaded of an answer, each with what makes it again and whether it is fitted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.pipeline.spec import Spec
from workbench.ui.base.session import file_stem
from workbench.ui.disaggregate import messages, mixtures, own, verdict_words
from workbench.ui.disaggregate.engine import Answer, Scene
from workbench.ui.disaggregate.facts import in_words
from workbench.ui.disaggregate.kinds import kind_of
from workbench.ui.disaggregate.layers import COMPONENTS, EXPOSURE, RANKED, Layer
from workbench.ui.disaggregate.state import AUTO, State
from workbench.ui.disaggregate.verdict import OPEN, Verdict, in_full

#: How hyperparameters were come by, in names of files and in words.
STATUS = {
    "learnt": ("fitted", "Fitted"),
    "stopped": ("cancelled", "Cancelled: the best state by then, not converged"),
    "moved": ("moved", "As fitted, but for hyperparameters that sliders fixed afterwards"),
    "start": ("preview", "Preview, not fitted: hyperparameters at their starting values"),
}


def as_shown(answer: Answer, threshold: float | None = None, rescale: bool = False) -> Spec:
    """The Spec that makes the maps of an answer again on the command line, nothing learnt.

    Parameters
    ----------
    answer : Answer
        What is shown.
    threshold : float, optional
        Rate whose exceedance is shown, natural units.
    rescale : bool
        Whether the map is to add up to the areas' totals.
    """
    spec = replace(own.portable(answer.spec), threshold=threshold, area_effect=answer.area_effect,
                   rescale_to_totals=rescale)
    if spec.model == AUTO and answer.kind == "start":
        spec = replace(spec, model=answer.fit.model.name, options={})   # it stands in
    return replace(spec, hyperparameters=mixtures.plain(answer.fit.hyperparameters))


def subject(spec: Spec) -> str:
    """The dataset of a Spec for names of files: of own data the name of their file.

    Parameters
    ----------
    spec : Spec
    """
    return Path(spec.dataset_options.get("polygons", spec.dataset)).stem


def file_name(stem: str, about: str, answer: Answer | None, suffix: str) -> str:
    """The name of a file to be downloaded: of which data, and whether the answer is fitted.

    Parameters
    ----------
    stem, about : str
        What it holds, and of which data.
    answer : Answer or None
        What is shown.
    suffix : str
    """
    status = STATUS["start" if answer is None else answer.kind][0]
    return file_stem(stem, about, status) + suffix


def settings(answer: Answer | None, state: State) -> str:
    """The Spec of what is shown as JSON, with its status; before there is a map, that of the state.

    Parameters
    ----------
    answer : Answer or None
        What is shown.
    state : State
        Of the session.
    """
    spec, kind = own.portable(state.spec()), "start"
    if answer is not None:
        spec, kind = as_shown(answer, spec.threshold, state.rescale), answer.kind
    files = own.needed(state.spec() if answer is None else answer.spec)
    return json.dumps({"status": STATUS[kind][0]} | ({"files": files} if files else {})
                      | json.loads(spec.to_json()), indent=2)


def maps(answer: Answer, scene: Scene, state: State, layer: Layer | None = None,
         verdict: Verdict | None = None) -> xr.Dataset:
    """What the page shows as maps, with Spec, status, address and the fit in words as attributes.

    Parameters
    ----------
    answer, scene
        What is shown.
    state : State
        Of the session.
    layer : Layer, optional
        What stands beside the estimate.
    verdict : Verdict, optional
        What the page says of the map.

    Returns
    -------
    xr.Dataset
        As of `Fit.to_dataset`, in natural units; with the rate of each individual's area as
        ``observed``, the fine rate as ``known`` where there is one, and the layer's maps.
    """
    spec = as_shown(answer, state.spec().threshold, state.rescale)
    made = mapped(answer, scene, spec)
    about = {"units": made["mean"].attrs.get("units", "")}
    beside = {"observed": scene.observed[scene.data["membership"].values]}
    beside |= {} if scene.known is None else {"known": scene.known}
    made = made.assign({name: ("individual", values, about) for name, values in beside.items()}
                       | {name: ("individual", values) for name, values in columns(layer).items()})
    made.attrs |= {"spec": spec.to_json(indent=None), "spec_key": spec.key,
                   "status": STATUS[answer.kind][1]}
    made = told(made, answer, scene, verdict)
    shown = answer.answers(state.spec(), state.fitted)      # not while others are worked on
    if shown and not state.dataset.startswith(own.NAME):    # which this session alone knows
        made.attrs["address"] = f"disaggregate?{state.query()}"
    return made


def told(maps: xr.Dataset, answer: Answer, scene: Scene, verdict: Verdict | None) -> xr.Dataset:
    """Maps with what the page says of them as the attributes ``verdict`` and ``summary``.

    What a mixture found when it weighed its models is another test, and is kept as
    ``verdict_of_weights``.

    Parameters
    ----------
    maps : xr.Dataset
        As of `mapped`.
    answer, scene
        What is shown.
    verdict : Verdict or None
        What the page says of the map.
    """
    attrs = dict(maps.attrs)
    if "verdict" in attrs:
        attrs["verdict_of_weights"] = attrs.pop("verdict")
    if said := said_in_files(verdict):
        attrs["verdict"] = said
    attrs["summary"] = "\n\n".join(filter(None, in_words(answer, kind_of(scene.data))))
    maps = maps.copy()
    maps.attrs = attrs
    return maps


def said_in_files(verdict: Verdict | None) -> str:
    """What pictures, notebooks and attributes of files say of a map; empty without a map.

    Of one that was not judged by then they say so, and neither how far a test is nor what to press.

    Parameters
    ----------
    verdict : Verdict or None
        What the page says of the map.
    """
    if verdict is None or not verdict.sentence:
        return ""
    passes = (messages.PREVIEW, messages.SCORING)
    if verdict.light == OPEN and (verdict.sentence in passes
                                  or verdict.sentence.startswith(verdict_words.UNDER_WAY)):
        return verdict_words.UNTESTED
    return in_full(verdict)


def mapped(answer: Answer, scene: Scene, spec: Spec) -> xr.Dataset:
    """The map of an answer as of `Fit.to_dataset`, where the Spec says so adding up to the totals.

    Parameters
    ----------
    answer, scene
        What is shown.
    spec : Spec
        With the threshold, and whether totals are kept.
    """
    return answer.fit.to_dataset(
        scene.data, threshold=spec.threshold, area_effect=answer.area_effect,
        preserve_totals=spec.rescale_to_totals, seed=spec.seed)


def columns(layer: Layer | None) -> dict[str, np.ndarray]:
    """The maps of a layer by names that files and tables take; the exposure is there anyhow."""
    if layer is None:
        return {}
    if layer.name != COMPONENTS:
        return {RANKED.get(name, name): values for name, values in layer.maps.items()}
    return {f"component_{name}".replace(" ", "_"): values for name, values in layer.maps.items()
            if name != EXPOSURE}
