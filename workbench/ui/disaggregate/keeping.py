"""The fit of a session in its file, and back: the same numbers, with nothing learnt again."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from workbench.checks import choose, require
from workbench.pipeline.spec import Spec
from workbench.ui.base.session import LIMIT, Session
from workbench.ui.disaggregate import engine
from workbench.ui.disaggregate.engine import Answer
from workbench.ui.disaggregate.fitted import Fitted

FIT = "fit.wbfit"
KINDS = ("learnt", "stopped", "moved", "start")


def session_of(query: str, answer: Answer | None) -> Session:
    """What a file keeps of a session.

    Parameters
    ----------
    query : str
        The choices.
    answer : Answer or None
        What is shown, if there is something.
    """
    if answer is None:
        return Session(query, {}, {})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FIT
        answer.fit.save(path)
        return Session(query, {"kind": answer.kind}, {FIT: path.read_bytes()})


def answer_of(session: Session, spec: Spec, fitted: Fitted) -> Answer:
    """The answer that a file keeps, of the opening session alone.

    Parameters
    ----------
    session : Session
        With a fit.
    spec, fitted
        What its choices say.

    Raises
    ------
    InputError
        If the fit is none, or of other data than the choices say.
    """
    from workbench.labelled import load_fit
    from workbench.labelled.source import data_hash

    kind = choose("kind of the fit in the session", session.facts.get("kind"), KINDS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FIT
        path.write_bytes(session.members[FIT])
        fit = load_fit(path, limit=LIMIT)
    data = engine.scene(spec).plain
    require(data_hash(fit.data) == data_hash(data),
            "the fit in the session is of other data than its settings name; fit again")
    return replace(engine.answer_of(engine.fit_spec(spec), fit, kind, fitted), own=True)
