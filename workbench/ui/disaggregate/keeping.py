"""The fit of a session in its file, and back: the same numbers, with nothing learnt again.

Files of one's own are members, too, under numbers; their names are in ``session.json``. A session
comes from a stranger: on opening they are looked at as if they had been dropped.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from workbench.checks import choose, require
from workbench.pipeline.spec import Spec
from workbench.ui.base.session import LIMIT, Session
from workbench.ui.base.state import PLAIN
from workbench.ui.disaggregate import engine, own
from workbench.ui.disaggregate.catalogue import Choice
from workbench.ui.disaggregate.engine import Answer
from workbench.ui.disaggregate.fitted import Fitted
from workbench.ui.disaggregate.portable import by_name
from workbench.ui.disaggregate.remedies import corrections
from workbench.ui.disaggregate.state import State

FIT, OWN = "fit.wbfit", "own"
FILES = tuple(f"{OWN}.{k}" for k in range(1, 51))      # members: files of one's own
KINDS = ("learnt", "stopped", "moved", "start")
_LONGEST = 200          # characters of a name
_WHAT_TO_DO = "choose a file that this app saved"


@dataclass(frozen=True)
class Opened:
    """What a session file becomes: choices, the answer of its fit, and data of one's own.

    Parameters
    ----------
    query : str
        The choices.
    answer : Answer or None
    choice : Choice or None
        Data of one's own as the app offers them, whose name in ``query`` is that of no session.
    files : own.Files or None
        They lie in a folder of this machine.
    problems : tuple of str
        Choices that cannot be used.
    """

    query: str
    answer: Answer | None
    choice: Choice | None
    files: own.Files | None
    problems: tuple[str, ...]


def session_of(query: str, answer: Answer | None, choice: Choice | None = None,
               files: own.Files | None = None) -> Session:
    """What a file keeps of a session.

    Parameters
    ----------
    query : str
        The choices.
    answer : Answer or None
        What is shown, if there is something.
    choice, files : optional
        Data of one's own, if these are chosen.
    """
    facts, members = _own_facts(choice, files) if files is not None else ({}, {})
    if answer is None:
        return Session(query, facts, members)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FIT
        answer.fit.save(path)
        return Session(query, facts | {"kind": answer.kind}, {FIT: path.read_bytes()} | members)


def opened(session: Session) -> Opened:
    """Read what a file keeps, with its fit and its data, which takes seconds.

    Parameters
    ----------
    session : Session

    Raises
    ------
    InputError
        If the fit is none, or of other data than the choices say; or if files of one's own would
        be refused if they were dropped.
    """
    state, choice, files, query = State(), None, None, session.query
    try:
        if OWN in session.facts:
            files = own.kept(own_contents(session))
            choice = _own_choice(files, session.facts[OWN])
            state.add(f"{own.NAME}1", choice)
            query = with_dataset(query, f"{own.NAME}1")
        problems = state.read(query)
        answer = answer_of(session, state.spec(), state.fitted) if (
            FIT in session.members) else None
    except BaseException:
        if files is not None:
            files.remove()
        raise
    return Opened(query, answer, choice, files, tuple(problems))


def own_contents(session: Session) -> dict[str, bytes]:
    """Files of one's own in a session, by name; what they hold is not looked at yet.

    Parameters
    ----------
    session : Session

    Raises
    ------
    InputError
        If names and files do not belong together, or a name is more than one.
    """
    facts = session.facts.get(OWN, {})
    names = facts.get("names") if isinstance(facts, dict) else None
    stored = [session.members[member] for member in FILES if member in session.members]
    require(isinstance(names, list) and len(names) == len(stored) > 0
            and all(isinstance(name, str) for name in names),
            f"the session lacks files of its own data, or their names; {_WHAT_TO_DO}")
    for name in names:
        require(0 < len(name) <= _LONGEST and name.isprintable() and "\\" not in name
                and Path(name).name == name,
                f"the session names a file {name[:40]!r}, which is no plain name; {_WHAT_TO_DO}")
    require(len(set(names)) == len(names), f"the session names a file twice; {_WHAT_TO_DO}")
    return dict(zip(names, stored, strict=True))


def with_dataset(query: str, name: str) -> str:
    """A query with another dataset.

    Parameters
    ----------
    query, name : str
    """
    given = dict(parse_qsl(query.lstrip("?"), keep_blank_values=True))
    return urlencode(given | {"dataset": name}, safe=PLAIN)


def _own_facts(choice: Choice, files: own.Files) -> tuple[dict, dict[str, bytes]]:
    contents = files.contents()
    require(len(contents) <= len(FILES), f"own data of a session are at most {len(FILES)} files, "
            f"got {len(contents)}; take Settings (JSON), and run them beside your files")
    told = {"names": list(contents), "options": by_name(choice.loader)}
    return {OWN: told}, dict(zip(FILES, contents.values(), strict=False))


def _own_choice(files: own.Files, facts: Mapping) -> Choice:
    """Data of one's own as the app offers them, checked as those that were dropped."""
    if "options" not in facts and "value" in facts:
        facts = {"options": _of_version_1(files, facts)}
    given = facts.get("options")
    require(isinstance(given, dict), "the session does not say how its own data are read; "
            f"{_WHAT_TO_DO}")
    given = own.options_of(files, "") if files.polygons is None else (
        "polygons", _read_with(files, given))
    found = own.check(*given)
    errors = "; ".join(str(one.what) for one in found.of("error"))
    require(found.ok, f"the data in the session cannot be used: {errors}")
    return own.choice_of(found.data, own.title_of(files), *given)


def _of_version_1(files: own.Files, facts: Mapping) -> dict:
    """Options as sessions of the first version have them: columns and a raster, no corrections."""
    key = facts.get("key")
    named = {"polygons": files.polygons.name if files.polygons else "", "value": facts["value"],
             "weight": facts.get("weight"), "id": facts.get("name"),
             "population": facts.get("population")}
    named |= {"covariates": [name for name in files.rasters if name != facts.get("weight")]}
    if files.table is not None and isinstance(key, list) and len(key) >= 2:
        named |= {"totals": files.table.path.name, "join": key[0], "id": key[1],
                  "encoding": files.table.encoding}
    return {name: value for name, value in named.items() if value}


def _read_with(files: own.Files, given: Mapping) -> dict:
    """Options that files are read with, whose files and columns are those of the session alone."""
    options = {}
    for name, value in given.items():
        choose("option of the session's own data", name, (*_PATHS, *_COLUMNS, *corrections()))
        each = value if isinstance(value, list) and name in _LISTS else [value]
        offered = _offered(files, name)
        require(all(isinstance(one, _TYPES.get(name, (str,))) and not isinstance(one, bool)
                    and (offered is None or one in offered) for one in each)
                and (name != "covariates" or isinstance(value, list)),
                f"the session says that {name} is {str(value)[:40]!r}, which its files do not "
                f"have; {_WHAT_TO_DO}")
        found = [str(offered[one]) for one in each] if name in _PATHS else each
        options[name] = found if isinstance(value, list) else found[0]
    require({"polygons", "value"} <= set(options), "the session lacks the areas of its own data, "
            f"or the column of their values; {_WHAT_TO_DO}")
    for name in ("polygon_crs", "raster_crs"):
        require(_PLAIN_CRS.match(options.get(name, "EPSG:4326")) is not None, f"the session gives "
                f"{name} as {options.get(name, '')[:40]!r}, which is no code such as EPSG:4326; "
                f"{_WHAT_TO_DO}")
    return options


def _offered(files: own.Files, name: str) -> Mapping | tuple | None:
    """What an option may be, files by their names; None of what names neither file nor column."""
    keys = files.table.keys if files.table else ()
    if name in _PATHS:
        return {"polygons": {files.polygons.name: files.polygons},
                "totals": {files.table.path.name: files.table.path} if files.table else {},
                }.get(name, files.rasters)
    if name == "classes":               # else the path of a raster
        return tuple(Path(one).stem for one in files.rasters)
    return {"join": tuple(key[0] for key in keys),
            "id": (*files.names, *(key[1] for key in keys))}.get(
                name, files.numbers if name in _COLUMNS else None)


_PATHS = ("polygons", "totals", "covariates", "weight")
_COLUMNS = ("value", "population", "standard_error", "trials", "join", "id")
_LISTS = ("covariates", "classes", "nodata", "variable")
_TYPES = {"nodata": (int, float), "grid_size": (int, float)}
# A code, or WKT without the words by which PROJ opens files.
_PLAIN_CRS = re.compile(r"\w+:\w+$|(?!.*(EXTENSION|GRID|FILE))[A-Z_]+\[", re.IGNORECASE | re.DOTALL)


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
    from workbench.labelled.identity import same_data

    kind = choose("kind of the fit in the session", session.facts.get("kind"), KINDS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FIT
        path.write_bytes(session.members[FIT])
        fit = load_fit(path, limit=LIMIT)
    data = engine.scene(spec).plain
    require(same_data(fit.data, data),
            "the fit in the session is of other data than its settings name; fit again")
    return replace(engine.answer_of(engine.fit_spec(spec), fit, kind, fitted), own=True)
