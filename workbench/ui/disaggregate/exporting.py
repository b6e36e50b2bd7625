"""What can be taken away from a map: a report, and the Python that makes it again."""

from __future__ import annotations

from dataclasses import replace
from pprint import pformat
from typing import TYPE_CHECKING

import xarray as xr

from workbench.ui.base.messages import sentence
from workbench.ui.base.views.bundle import Bundle, places
from workbench.ui.disaggregate import (
    engine,
    exports,
    labels,
    layers,
    messages,
    mixtures,
    own,
    totals,
)
from workbench.ui.disaggregate.quantity import in_files, with_unit
from workbench.ui.disaggregate.state import AUTO
from workbench.ui.disaggregate.stops import in_digits

if TYPE_CHECKING:
    import pandas as pd

    from workbench.evaluation.judgement import Verdict
    from workbench.preflight import Check
    from workbench.ui.disaggregate.engine import Answer, Scene
    from workbench.ui.disaggregate.layers import Layer
    from workbench.ui.disaggregate.store import Store

#: Columns of the table that a map may have, and the ends of its 90 % interval, called as in the
#: GeoPackage of the page and in the tables of the command line.
_COLUMNS = ("weight", "observed", "known", "mean", "std", "exceedance", "extrapolation")
_ENDS = {f"rate_quantile_{level:g}": level for level in (0.05, 0.95)}


def maps_of(answer: Answer, scene: Scene, threshold: float, rescale: bool = False,
            verdict: Verdict | None = None) -> xr.Dataset:
    """The map as `workbench.run` would store it, and whether it was fitted.

    Its Spec learns what was learnt, and has the hyperparameters of what no fit has found.

    Parameters
    ----------
    answer : Answer
    scene : Scene
    threshold : float
        Natural units.
    rescale : bool
        Whether the map is to add up to the areas' totals.
    verdict : Verdict, optional
        What the page says of the map.
    """
    spec = own.portable(
        replace(answer.spec, threshold=threshold, area_effect=answer.area_effect,
                rescale_to_totals=rescale)
        if answer.relearnt else exports.as_shown(answer, threshold, rescale))
    maps = exports.mapped(answer, scene, spec)
    said = {"spec": spec.to_json(indent=None), "spec_key": spec.key}
    if answer.kind != "learnt":
        said["partial"] = messages.KINDS[answer.kind]
    return exports.told(maps.assign_attrs(said), answer, scene, verdict)


def report(answer: Answer, scene: Scene, threshold: float, *, check: Check | None,
           recovered: xr.Dataset | None, axes: tuple[str, str],
           verdict: Verdict | None = None, rescale: bool = False) -> str:
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
    verdict : Verdict, optional
        What the page says of the map, which the report then says, too.
    rescale : bool
        As of `maps_of`.
    """
    from workbench.reporting import report

    return report(maps_of(answer, scene, threshold, rescale, verdict), check=check,
                  recover=recovered, axes=axes, verdict=verdict).to_html()


def bundle(store: Store, verdict: Verdict | None = None) -> Bundle | None:
    """What can be taken away of a store; None while there is no map of the present settings.

    Parameters
    ----------
    store : Store
    verdict : Verdict, optional
        What the page says of the map.
    """
    answer, scene, state = store.answer, store.scene, store.state
    said = [*filter(None, [exports.said_in_files(verdict)])]
    if answer is None or scene is None or store.stale or answer.rough:
        return None
    layer = store.layer if store.layer is not None and store.layer.name == state.beside else None
    spec, status = state.spec(), exports.STATUS[answer.kind][1]
    title = str(scene.data.attrs.get("title", "")) or "A map of totals of areas"
    drawn = places(scene.data)
    return Bundle(
        exports.file_name("disaggregated", exports.subject(answer.spec), answer, ""), title,
        (f"{status}.", *said, in_files(scene.noun, scene.unit),
         *filter(None, [totals.said(answer, scene, state.rescale)])),
        {"model": spec.model, "status": status,
         "threshold": with_unit(in_digits(store.threshold), scene.unit)},
        lambda: program(answer, spec.threshold, scene, layer, state.choice.axes, state.rescale),
        lambda: table(exports.maps(answer, scene, state, layer, verdict), state.choice.axes),
        lambda: exports.maps(answer, scene, state, layer, verdict), (*drawn, ".nc"),
        " ".join([f"{title}. {status}.", *said]),
        lambda: report(answer, scene, spec.threshold, check=store.check,
                       recovered=store.recovered, axes=state.choice.axes, verdict=verdict,
                       rescale=state.rescale))


def table(maps: xr.Dataset, axes: tuple[str, str]) -> pd.DataFrame:
    """The individuals of a map: area, place, weight, and all that is known of their rates.

    Parameters
    ----------
    maps : xr.Dataset
        Of `exports.maps`.
    axes : (str, str)
        Coordinates that make the map.
    """
    found = maps.reset_coords()[[*axes, *_numbers(maps)]].to_dataframe().reset_index(drop=True)
    found.insert(0, "area", maps["bag"].values[maps["membership"].values])
    for name, level in _ENDS.items():
        found[name] = maps["rate_quantile"].sel(quantile=level).values
    return found[["area", *axes, *_numbers(maps), *_ENDS]]


def _numbers(maps: xr.Dataset) -> list[str]:
    """Variables of a map that a table has a column for."""
    more = [str(name) for name in maps.data_vars if name in (*layers.RANKED.values(),
            layers.INFORMATION) or str(name).startswith("component_")]
    return [name for name in (*_COLUMNS, *more) if name in maps]


def program(answer: Answer, threshold: float | None, scene: Scene | None = None,
            layer: Layer | None = None, axes: tuple[str, str] = ("x", "y"),
            rescale: bool = False) -> str:
    """The Python that makes the map of an answer again.

    A fit of one model is learnt again; a mixture, which takes longest, and what no fit has found,
    such as a preview or a slider's setting, are conditioned on at their hyperparameters.

    Parameters
    ----------
    answer : Answer
    threshold : float or None
        Natural units.
    scene, layer : optional
        What is shown; with them it ends with ``table``, the numbers of the page.
    axes : (str, str)
        Coordinates that make the map.
    rescale : bool
        Whether the map is to add up to the areas' totals.

    Returns
    -------
    str
        A program that ends with ``maps``, and ``table`` if there is a scene.
    """
    from workbench.reporting.code import model_call, steps_of

    spec = replace(own.portable(answer.spec), threshold=threshold, area_effect=answer.area_effect,
                   rescale_to_totals=rescale)
    steps = steps_of(spec)
    model, fit = steps.model, steps.fit
    mixture = spec.model == AUTO and answer.kind != "start"
    if mixture or not answer.relearnt:
        stands_in = answer.fit.model.name != spec.model     # a preview of a mixture
        model = "model = " + model_call(replace(
            engine.base_spec(spec), **{"model": answer.fit.model.name, "options": {}}
            if stands_in else {}))
        values = pformat(mixtures.plain(answer.fit.hyperparameters), sort_dicts=False, width=96)
        again = f" {labels.LEARN_AGAIN}" * mixture
        fit = f"# {exports.STATUS[answer.kind][1]}.{again}\nfit = model.condition(ds, {values})"
    files = own.needed(answer.spec)
    said = [f"# {sentence(files)}."] if files else []
    tables = [] if scene is None else ["from workbench.plots import observed_rate"]
    parts = ["\n".join([*said, "import workbench as wb", *tables]), steps.data,
             f"{model}\n{fit}", steps.maps]
    if scene is not None:
        parts[3] += "\n" + _beside(answer, scene, layer)
        parts.append(_table(scene, layer, axes))
    return "\n\n".join(parts) + "\n"


def _beside(answer: Answer, scene: Scene, layer: Layer | None) -> str:
    """Python that puts what stands beside the estimate into the maps."""
    lines = ['member = ds["membership"].values',
             'maps["observed"] = "individual", observed_rate(ds).values[member]']
    if scene.known is not None:
        known = 'ds["truth"]'
        if "truth" not in scene.data:
            total = scene.data["value"].attrs.get("aggregation", "sum") == "sum"
            known = 'ds["individual_value"]' + (' / ds["weight"]' if total else "")
            known = f"({known})" if total else known
        lines.append(f'maps["known"] = "individual", {known}.values')
    if layer is None or not layer.maps:
        return "\n".join(lines)
    if layer.name == layers.INFORMATION:
        lines.append('maps["information"] = fit.information(ds)')
    elif layer.name == layers.RANKS:
        lines += [f"ranks = fit.ranks(ds, samples={layers.SAMPLES}, area_effect=True)",
                  f"for name in {list(layers.RANKED.values())}:",
                  '    maps[name] = "individual", ranks[name].values[member]']
    else:
        effect = layers.summands(answer.fit, scene.plain)[1]
        names = [name for name in layer.maps if name != layers.EXPOSURE]
        lines += [f'parts = fit.component_maps(ds, {effect}, "role")["component_mean"]',
                  f"for name in {names}:",
                  '    maps[f"component_{name}".replace(" ", "_")] = "individual", parts.sel('
                  "component=name).values"]
    return "\n".join(lines)


def _table(scene: Scene, layer: Layer | None, axes: tuple[str, str]) -> str:
    """Python that makes the table of a map."""
    names = [*axes, *(name for name in _COLUMNS if name != "known"
                                     or scene.known is not None), *exports.columns(layer)]
    listed = pformat(names, width=92, compact=True).replace("\n", "\n   ")
    return f"""\
names = {listed}
table = maps.reset_coords()[names].to_dataframe()[names].reset_index(drop=True)
table.insert(0, "area", ds["bag"].values[member])
for name, level in {_ENDS}.items():
    table[name] = maps["rate_quantile"].sel(quantile=level).values"""
