"""A session as one file: a zip of JSON and files of plain numbers, in which no code can hide.

It has a member ``session.json`` (which app, and its choices as a URL has them), and those of the
app. Any other name is refused, and so is what unpacks to more than a limit. Nothing is ever
unpacked to a name that the file gives. Names of files that a page gives are made here too.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workbench.checks import InputError, require

SUFFIX = ".wbsession"
FORMAT, VERSION = "workbench session", 2
FACTS = "session.json"
LIMIT = 512 * 2**20         # bytes that a session may unpack to
_MOST_FACTS = 2**20
_LONGEST = 60               # characters of a part of a file's name
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, ValueError, RuntimeError,
           EOFError, OSError)       # whatever zipfile raises of bytes that are no archive
_EPOCH = (1980, 1, 1, 0, 0, 0)      # the same session makes the same file
_WHAT_TO_DO = "choose a file that this app saved"


@dataclass(frozen=True)
class Session:
    """What a session file holds.

    Parameters
    ----------
    query : str
        The choices as a URL has them.
    facts : Mapping
        What the app noted besides.
    members : Mapping
        Files of the app by name, as bytes.
    """

    query: str
    facts: Mapping
    members: Mapping[str, bytes]


def file_stem(*parts: str) -> str:
    """Parts of the name of a file, joined to a name that every system takes.

    Parameters
    ----------
    *parts : str
        Of any characters; empty ones are left out, long ones are cut.

    Examples
    --------
    >>> file_stem("disaggregated", "Kreise / 2020 (neu)", "fitted")
    'disaggregated-Kreise-2020-neu-fitted'
    """
    plain = (re.sub(r"[^\w]+", "-", part[:_LONGEST]).strip("-_") for part in parts)
    return "-".join(filter(None, plain))


def pack(app: str, session: Session) -> bytes:
    """A session as the bytes of one file.

    Parameters
    ----------
    app : str
        Name of the app.
    session : Session
        What is kept.
    """
    told = {"format": FORMAT, "version": VERSION, "app": app, "query": session.query,
            "facts": dict(session.facts)}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in {FACTS: json.dumps(told, indent=1).encode(),
                              **session.members}.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return packed.getvalue()


def unpack(content: bytes, app: str, allowed: Iterable[str] = (), limit: int = LIMIT) -> Session:
    """The session of a file that `pack` made.

    Parameters
    ----------
    content : bytes
        Of the file; may be anything.
    app : str
        The app that is to open it.
    allowed : iterable of str
        Names of members besides ``session.json``.
    limit : int
        Most bytes that it may unpack to.

    Raises
    ------
    InputError
        If it is no session, one of another app or of a later version, holds anything else, or
        unpacks to more than the limit.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            held = archive.infolist()
            names, known = [info.filename for info in held], [FACTS, *allowed]
            unknown = set(names) - set(known)
            some = ", ".join(known[:3]) + ", ..." * (len(known) > 3)
            require(FACTS in names and not unknown and len(set(names)) == len(names),
                    f"this is no session: expected {some} in it, found "
                    f"{', '.join(sorted(names)[:5]) or 'nothing'}; {_WHAT_TO_DO}")
            size = sum(info.file_size for info in held)
            require(size <= limit and archive.getinfo(FACTS).file_size <= _MOST_FACTS,
                    f"the session unpacks to {size / 2**20:,.0f} MiB, more than the limit of "
                    f"{limit / 2**20:,.0f} MiB; {_WHAT_TO_DO}")
            # A size that the file understates ends the reading there, as damage.
            members = {name: archive.read(name) for name in names}
    except InputError:
        raise
    except _DAMAGE as error:
        raise InputError(f"this is no session, or a damaged one ({error}); {_WHAT_TO_DO}") from None
    return _checked(members, app)


def _checked(members: dict[str, bytes], app: str) -> Session:
    try:
        told = json.loads(members.pop(FACTS))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{FACTS} is not valid JSON ({error}); {_WHAT_TO_DO}") from None
    require(isinstance(told, dict) and told.get("format") == FORMAT,
            f"this is no session; {_WHAT_TO_DO}")
    version, owner = told.get("version"), told.get("app")
    require(isinstance(version, int) and 1 <= version <= VERSION,
            f"the session has version {version!r} of the format, this workbench reads up to "
            f"{VERSION}; update it")
    require(owner == app, f"this is a session of the app {owner!r}, not of {app!r}; open it there")
    query, facts = told.get("query"), told.get("facts")
    require(isinstance(query, str) and isinstance(facts, dict),
            f"{FACTS} lacks the choices; {_WHAT_TO_DO}")
    return Session(query, facts, members)
