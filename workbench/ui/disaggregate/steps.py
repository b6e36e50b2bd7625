"""The way from files to a report: which steps are done, which is next, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.evaluation.evidence import FEW
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.verdict import AMBER, GREEN, OPEN, RED, Verdict

if TYPE_CHECKING:
    from workbench.ui.disaggregate.store import Store

DONE, DOUBT, WRONG, NEXT, BUSY = "done", "doubt", "wrong", "next", "busy"
_LIGHTS = {GREEN: DONE, AMBER: DOUBT, RED: WRONG}


@dataclass(frozen=True)
class Step:
    """One step as it stands.

    Parameters
    ----------
    name : str
        Of `state.STEPS`.
    mark : {"done", "doubt", "wrong", "next", "busy"}
    told : str
        What it stands for, in a few words.
    """

    name: str
    mark: str
    told: str


def steps_of(store: Store, verdict: Verdict) -> tuple[Step, ...]:
    """Where a session is on its way from files to a report.

    Parameters
    ----------
    store : Store
    verdict : Verdict
        On what it shows.

    Returns
    -------
    tuple of Step
        In the order of `state.STEPS`.
    """
    return (_data(store), _check(store), _areas(store), _model(store), _map(store, verdict),
            _report(store, verdict))


def _data(store: Store) -> Step:
    if store.own_refused:
        return Step("data", WRONG, labels.STEP_REFUSED)
    busy = store.scene is None or store.reading
    return Step("data", BUSY if busy else DONE, store.state.choice.title)


def _check(store: Store) -> Step:
    if store.unchecked:
        return Step("check", WRONG, labels.STEP_UNCHECKED)
    if store.check is None:
        return Step("check", BUSY, labels.STEP_BUSY)
    for severity, mark in (("error", WRONG), ("warning", DOUBT)):
        if count := len(store.check.of(severity)):
            return Step("check", mark, labels.counted(count, severity))
    notes = len(store.check.of("note"))
    return Step("check", DONE, labels.counted(notes, "note") if notes else labels.STEP_CLEAN)


def _areas(store: Store) -> Step:
    if store.scene is None or store.reading:
        return Step("areas", BUSY, labels.STEP_READING)
    count = store.scene.data.sizes["bag"]
    return Step("areas", DOUBT if count < FEW else DONE, labels.step_areas(count, count < FEW))


def _model(store: Store) -> Step:
    if store.fitting:
        return Step("model", BUSY, labels.STEP_LEARNING)
    if store.blocked:
        return Step("model", WRONG, labels.STEP_BLOCKED)
    if store.answer is None or store.reading or store.answer.kind == "start":
        return Step("model", NEXT, labels.STEP_FIT)
    mark = DONE if store.answer.kind == "learnt" and store.answer.fit.converged else DOUBT
    return Step("model", mark, labels.STEP_KINDS[store.answer.kind])


def _map(store: Store, verdict: Verdict) -> Step:
    if store.answer is None or store.reading:
        return Step("map", NEXT if store.blocked else BUSY, labels.STEP_NO_MAP)
    if store.answer.kind == "start":
        return Step("map", NEXT, labels.STEP_PREVIEW)
    return Step("map", _LIGHTS.get(verdict.light, NEXT), labels.STEP_LIGHTS[verdict.light])


def _report(store: Store, verdict: Verdict) -> Step:
    if store.answer is None or store.reading or store.answer.kind == "start":
        return Step("report", NEXT, labels.STEP_AFTER_FIT)
    if verdict.light == OPEN:       # a report says what the map is worth, which nobody knows yet
        busy = bool(store.testing[1]) or bool(store.work)
        return Step("report", BUSY if busy else NEXT, labels.STEP_LIGHTS[OPEN])
    return Step("report", DONE, labels.STEP_REPORT)
