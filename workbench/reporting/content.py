"""What a report says, section by section, from the map and what is given beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr
from markupsafe import Markup

from workbench.checks import InputError
from workbench.checks.figures import figure
from workbench.evaluation.evidence import SURE, WHERE
from workbench.evaluation.judgement import Verdict as Judged
from workbench.labelled.card import CARD
from workbench.pipeline.base import BaseSpec
from workbench.pipeline.own_files import POLYGONS
from workbench.pipeline.scoring import COMPARISON, is_scored, scores
from workbench.pipeline.spec import AggregateSpec, Spec
from workbench.reporting import cite
from workbench.reporting.code import call, class_of, command_of, steps_of
from workbench.reporting.formula import Described, describe
from workbench.reporting.verdict import ASSUMED, can_be_scored, verdict_of
from workbench.reporting.words import data_facts, learnt

# What a test is called in the contents and in full, by whether areas were held out.
_RECOVERED = {False: ("Areas recovered", "Known areas recovered from merged ones"),
              True: ("Areas held out", "Areas predicted from the others")}
_WORTH = 0.05           # weight from which the parts of a candidate are shown
_BODY = re.compile(r"<body[^>]*>(.*)</body>", re.DOTALL | re.IGNORECASE)
_STYLE = re.compile(r"<style[^>]*>.*?</style>", re.DOTALL | re.IGNORECASE)


def content_of(maps: xr.Dataset, check, compare, recover, sections: Mapping[str, Any], log: bool,
               axes: tuple[str, str], title: str | None, judged: Judged | None = None
               ) -> dict[str, Any]:
    """What the page shows, by the names that its template has.

    Parameters
    ----------
    maps, check, compare, recover, sections, log, axes, title
        As of `workbench.report`.
    judged : Verdict, optional
        What was said of the map before.

    Returns
    -------
    dict
        Text that the template escapes, and markup of our own pictures and formulas.
    """
    card = json.loads(maps.attrs.get(CARD, "{}"))
    spec = BaseSpec.from_json(maps.attrs["spec"]) if "spec" in maps.attrs else None
    title = title or str(maps.attrs.get("title") or _named(spec))
    still, undrawn = _drawn(maps, log, axes)
    areas = _of_areas(maps, axes)
    further = [{"id": f"section-{k}", "title": name, "html": embedded(one)}
               for k, (name, one) in enumerate(sections.items(), 1)]
    content = {
        "title": title, "subtitle": _subtitle(maps, card), "assumed": ASSUMED,
        "verdict": verdict_of(maps, card, compared=None if compare is None else compare.data,
                              recovered=recover, judged=judged), "sure": f"{SURE:g}",
        "facts": data_facts(maps, card), "treatments": _lines(maps, "treatments"),
        "oddities": _lines(maps, "sanity"), "check": embedded(check), "still": still,
        "undrawn": undrawn, "areas": areas, "distribution": maps.attrs.get("distribution", ""),
        "trials": bool(card.get("trials")), "summary": maps.attrs.get("summary", ""),
        "recovered": _recovered(recover), "compared": embedded(compare), "sections": further,
        "provenance": _provenance(maps), "can_be_scored": can_be_scored(maps),
        "spec": "" if spec is None else spec.to_json(),
        "programs": _programs(card, spec),
    }
    content |= _of_model(maps, card) | _of_scores(maps) | _cited(card)
    shown = [("data", "Data"), ("check", "Before the fit"), ("maps", "Maps"),
             *((f"areas-{one['id']}", one["name"]) for one in areas), ("model", "Model"),
             ("convergence", "Convergence"), ("calibration", "Calibration"),
             ("recovered", (content["recovered"] or {}).get("title", "")),
             ("compared", "Other models")]
    absent = {key for key in ("check", "recovered", "compared") if not content[key]}
    absent |= {"maps"} if areas and not (still or undrawn) else set()
    shown = [(key, name) for key, name in shown if key not in absent]
    shown += [(one["id"], one["title"]) for one in further]
    content["contents"] = [*shown, ("provenance", "Provenance"), ("cite", "How to cite"),
                           ("again", "Making it again")]
    return content


def embedded(section) -> Markup:
    """HTML of an object, or escaped text; of a whole page its body and its styles.

    Parameters
    ----------
    section : object
        With ``_repr_html_`` or ``to_html()``; a page that says so itself (``__html__``); or text.

    Returns
    -------
    Markup
        Empty for None.
    """
    if section is None or section == "":
        return Markup("")
    if hasattr(section, "__html__"):
        return Markup(section)
    for name in ("_repr_html_", "to_html"):
        if hasattr(section, name):
            page = str(getattr(section, name)())
            body = _BODY.search(page)
            return Markup("".join(_STYLE.findall(page[:body.start()])) + body[1] if body else page)
    return Markup("<pre>{}</pre>").format(str(section))


def _drawn(maps: xr.Dataset, log: bool, axes: tuple[str, str]):
    from workbench.plots import still_maps
    from workbench.plots.intervals import is_aggregate

    if is_aggregate(maps):              # whose maps are those of its areas
        return [], ""
    try:
        found = still_maps(maps, log=log, axes=axes)
    except InputError as error:
        return [], str(error)
    return [{"title": one.title, "caption": one.caption, "svg": Markup(one.svg)}
            for one in found], ""


_AREAS = {      # what a map may hold of its areas: a name for the contents, a title
    "totals": ("Polygons", "Totals of the polygons"),
    "ranks": ("Ranks", "Which areas are the highest"),
    "residuals": ("Residuals", "What the model leaves of the areas"),
}


def _of_areas(maps: xr.Dataset, axes: tuple[str, str]) -> list[dict[str, Any]]:
    from workbench.plots import still_areas

    found = still_areas(maps, axes=axes)
    said = str(maps.attrs.get("residual_check", ""))
    told = {"ranks": "Every joint draw is ranked, so that a rank has an interval: where those of "
                     "two areas overlap widely, nobody knows which is higher.",
            "residuals": f"{said[:1].upper()}{said[1:]}." if said else "",
            "totals": "A pixel counts by the fraction of it that lies inside its polygon."}
    return [{"id": key, "name": name, "title": title, "told": told[key], "still": [
        {"title": one.title, "caption": one.caption, "svg": Markup(one.svg)}
        for one in found[key]]} for key, (name, title) in _AREAS.items() if key in found]


def _named(spec: BaseSpec | None) -> str:
    """A title for data that have none: the column and the file."""
    if isinstance(spec, Spec) and spec.dataset == POLYGONS:
        return f"{spec.dataset_options['value']} of {Path(spec.dataset_options['polygons']).stem}"
    if isinstance(spec, AggregateSpec):
        return f"{Path(spec.map).stem} by {Path(spec.to).stem}"
    return "A map without a title" if spec is None else f"A map of {Path(spec.source).stem}"


def _subtitle(maps: xr.Dataset, card: dict[str, Any]) -> str:
    parts = [f"{maps.sizes[dim]:,} {name}" for dim, name in (("bag", "areas"), (
        "individual", "individuals")) if dim in maps.sizes and maps.sizes[dim]]
    model = maps.attrs.get("model", card.get("class", ""))
    return ", ".join([*parts, *([f"model {model}"] if model else [])])


def _lines(maps: xr.Dataset, name: str) -> list[str]:
    text = str(maps.attrs.get(name, "none"))
    return [] if text in ("none", "not looked at", "") else [
        re.sub(r"^[-•]\s*", "", line) for line in text.split("\n") if line.strip()]


def _of_model(maps: xr.Dataset, card: dict[str, Any]) -> dict[str, Any]:
    candidates = []
    errors = card.get("recovery_errors", {})
    for one in sorted(card.get("candidates", ()), key=lambda one: -one["weight"]):
        worth = one["weight"] >= _WORTH
        candidates.append({
            "name": one["name"], "weight": f"{one['weight']:.3f}", "says": one["says"],
            "error": _figure(errors.get(one["name"])),
            "model": describe(one) if worth else None, "learnt": learnt(one) if worth else [],
            "coefficients": one.get("coefficients", [])})
    names = {one["name"] for one in candidates}
    candidates += [{"name": name, "weight": "", "says": "", "error": _figure(error), "model": None}
                   for name, error in errors.items() if name not in names]
    notes = [str(note) for note in card.get("notes", ())]
    if not card:            # a map of before, of which the summary alone is known
        notes = [line.removeprefix("note: ") for line in str(maps.attrs.get(
            "summary", "")).split("\n") if line.startswith("note: ")]
    return {
        "model": describe(card) if card else Described([f"{maps.attrs.get('model', 'unknown')}"],
                                                       []),
        "candidates": candidates, "learnt": [] if candidates else learnt(card),
        "coefficients": card.get("coefficients", []), "notes": notes,
        "training": _training(maps, card)}


def _training(maps: xr.Dataset, card: dict[str, Any]) -> str:
    converged = {"True": "Training converged", "False": "Training has NOT converged"}.get(
        str(maps.attrs.get("converged")), "Nothing is known of convergence")
    if maps.attrs.get("cancelled") == "True":
        converged = "Training was stopped before it converged; the best so far is shown"
    if card:
        took = f"{card['seconds']:,.1f} s"
        done = (f"{len(card['candidates'])} models were fitted" if card.get("candidates")
                else f"{card['steps']:,} steps")
        converged += f": {done} in {took}"
    objective = maps.attrs.get("objective")
    return f"{converged}." + (f" Objective {float(objective):,.3f}." if objective else "")


def _of_scores(maps: xr.Dataset) -> dict[str, Any]:
    if not is_scored(maps):
        return {"table": None, "charts": [], "comparison": ""}
    from workbench.evaluation import table
    from workbench.plots.still_charts import still_coverage, still_predicted

    result = scores(maps)
    frame = table(result)
    models = [str(name) for name in result["model"].values]
    charts = [Markup(still_coverage(result))]
    charts += [Markup(still_predicted(result, name)) for name in models
               if bool(result["bag_mean"].sel(model=name).notnull().any())]
    said = str(maps.attrs.get(COMPARISON, ""))
    return {"charts": charts, "comparison": f"{said[:1].upper()}{said[1:]}.".replace("..", "."),
            "table": {"models": [str(n) for n in frame.index], "rows": [
                (str(name), [_figure(v) for v in frame[name]]) for name in frame]}}


def _recovered(result: xr.Dataset | None) -> dict[str, Any] | None:
    if result is None:
        return None
    from workbench.evaluation import recovery_table

    frame, (title, heading) = recovery_table(result), _RECOVERED[WHERE in result.attrs]
    return {"title": title, "heading": heading,
            "columns": [str(name) for name in frame], "sentence": result.attrs.get("sentence", ""),
            "comparison": result.attrs.get("comparison", ""),
            "caveat": result.attrs.get("caveat", ""),
            "rows": [(str(name), [_figure(v) for v in row]) for name, row in zip(
                frame.index, frame.values.tolist(), strict=True)]}


def _provenance(maps: xr.Dataset) -> list[tuple[str, str]]:
    rows = [(told, str(maps.attrs[name])) for name, told in (
        ("model", "model"), ("data_sha256", "hash of the data (SHA-256)"),
        ("spec_key", "hash of the Spec (SHA-256)"), ("extrapolation", "extrapolation"),
        ("source_weights", "weights of the sources"), ("partial", "missing"))
        if maps.attrs.get(name)]
    if "spec" in maps.attrs:
        rows.append(("seed", str(json.loads(maps.attrs["spec"]).get("seed", ""))))
    versions = json.loads(maps.attrs.get("versions", "{}"))
    if versions:
        rows.append(("versions", ", ".join(f"{name} {found}" for name, found in versions.items())))
    return rows


def _cited(card: dict[str, Any]) -> dict[str, Any]:
    papers = cite.papers_of(str(card.get("paper", "")), bool(card.get("candidates")))
    return {"citations": [cite.software(), *map(str, papers)], "bibtex": cite.bibtex(papers)}


def _programs(card: dict[str, Any], spec: BaseSpec | None) -> list[tuple[str, str]]:
    if spec is None:
        if not card:
            return []
        objects = [n for n, v in card["options"].items() if isinstance(v, dict) and "object" in v]
        options = {n: v for n, v in card["options"].items() if n not in objects}
        told = "".join(f"\n# {name}={card['options'][name]['object']}" for name in objects)
        return [("In Python, with the same dataset", "import workbench as wb\n\n"
                 f"model = {call(class_of(card['model']), options)}{told}\n"
                 "maps = model.fit(ds).to_dataset(ds)")]
    steps = steps_of(spec)
    parts = [("From the map itself", "workbench run map.nc --out again.nc")]
    command = command_of(spec)
    parts += [("On the command line", command)] if command else []
    code = "\n".join(filter(None, (steps.data, steps.model, steps.fit, steps.maps, steps.scores)))
    return [*parts, ("In Python", f"import workbench as wb\n\n{code}"),
            ("As a notebook that checks its numbers",
             "workbench notebook map.nc --out map.ipynb")]


def _figure(value: object) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, str):
        return value
    return figure(value).replace("-", "−", int(value < 0))
