"""What can be taken away from a map: a report, and the Python that makes it again."""

from __future__ import annotations

from dataclasses import replace
from pprint import pformat
from typing import TYPE_CHECKING

import xarray as xr

from workbench.ui.disaggregate import engine, exports, messages, own

if TYPE_CHECKING:
    from workbench.preflight import Check
    from workbench.ui.disaggregate.engine import Answer, Scene


def maps_of(answer: Answer, scene: Scene, threshold: float) -> xr.Dataset:
    """The map as `workbench.run` would store it, and whether it was fitted.

    Its Spec learns what was learnt, and has the hyperparameters of what no fit has found. A mixture
    that was stopped has none to give; its Spec learns it again.

    Parameters
    ----------
    answer : Answer
    scene : Scene
    threshold : float
        Natural units.
    """
    spec = own.portable(
        replace(answer.spec, threshold=threshold, area_effect=answer.area_effect)
        if answer.relearnt else exports.as_shown(answer, threshold))
    maps = answer.fit.to_dataset(scene.data, threshold=threshold, area_effect=answer.area_effect)
    said = {"spec": spec.to_json(indent=None), "spec_key": spec.key, "summary": answer.summary}
    if answer.kind != "learnt":
        said["partial"] = messages.KINDS[answer.kind]
    return maps.assign_attrs(said)


def report(answer: Answer, scene: Scene, threshold: float, *, check: Check | None,
           recovered: xr.Dataset | None, axes: tuple[str, str]) -> str:
    """The report of a map as one page of HTML, see `workbench.report`.

    Parameters
    ----------
    answer, scene, threshold
        As of `maps_of`.
    check : Check or None
    recovered : xr.Dataset or None
        From `recovery.recover`.
    axes : (str, str)
        Coordinates that make the map.
    """
    from workbench.reporting import report

    return report(maps_of(answer, scene, threshold), check=check, recover=recovered,
                  axes=axes).to_html()


def program(answer: Answer, threshold: float) -> str:
    """The Python that makes the map of an answer again.

    A fit is learnt again; what no fit has found, such as a preview or a slider's setting, is
    conditioned on at its hyperparameters.

    Parameters
    ----------
    answer : Answer
    threshold : float
        Natural units.

    Returns
    -------
    str
        A program that ends with ``maps``.
    """
    from workbench.reporting.code import model_call, steps_of

    spec = replace(own.portable(answer.spec), threshold=threshold, area_effect=answer.area_effect)
    steps = steps_of(spec)
    model, fit = steps.model, steps.fit
    if not answer.relearnt:
        stands_in = answer.fit.model.name != spec.model     # a preview of a mixture
        model = "model = " + model_call(replace(
            engine.base_spec(spec), **{"model": answer.fit.model.name, "options": {}}
            if stands_in else {}))
        values = pformat(_values(answer.fit.hyperparameters), sort_dicts=False, width=96)
        fit = f"# {messages.KINDS[answer.kind]}\nfit = model.condition(ds, {values})"
    files = own.needed(answer.spec)
    told = [f"# {files[0].upper()}{files[1:]}."] if files else []
    return "\n".join([*told, "import workbench as wb", "", steps.data, model, fit, steps.maps, ""])


def _values(given: dict) -> dict:
    """Hyperparameters as plain values, those of a mixture by candidate."""
    def plain(one):
        if not isinstance(one, dict):
            return one
        if "weight" in one and "hyperparameters" in one:
            return {"weight": one["weight"], "hyperparameters": _values(one["hyperparameters"])}
        return one.get("value", one)

    return {name: plain(one) for name, one in given.items()}
