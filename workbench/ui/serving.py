"""Serve the apps with Panel: find them, check the port, say where to look."""

from __future__ import annotations

import ast
import os
import socket
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import workbench
from workbench.checks import InputError, choose, package, require

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SWITCH = 0.0005     # seconds after which work hands over to answering browsers; Python's is 0.005
PATIENCE = 2.0      # seconds that running work has to end when the server does
PAGE = Path("build", "docs", "index.html")
PLACES = (Path(workbench.__file__).parents[1], Path())      # that the documentation is built in
HOW_TO_BUILD = "make docs"
LANDING = Path(__file__).with_name("landing.html")
ROOM_PLUGIN = "workbench.ui.base.first_room"     # loaded by Panel, after it is configured
PICTURES = "pictures"       # folder beside the apps' files, and its address


def apps() -> dict[str, Path]:
    """The apps by name: those shipped in the installed package, else those of the repository.

    Raises
    ------
    InputError
        If there are none.
    """
    inside = Path(workbench.__file__).parent
    repository = inside.parent
    folders = [inside / "_apps"]
    if (repository / "pyproject.toml").is_file():   # else "apps" may be anybody's
        folders.append(repository / "apps")
    for folder in folders:
        found = {p.stem: p for p in sorted(folder.glob("*.py")) if not p.stem.startswith("_")}
        if found:
            return found
    raise InputError(f"no apps found in {' or '.join(map(str, folders))}; install again")


@dataclass(frozen=True)
class Card:
    """What the first page says of an app.

    Parameters
    ----------
    title, purpose : str
    question : str
        That the app answers.
    audience : str
        For whom it is.
    example : tuple of str
        Query of an address at which the app shows something else worth seeing, and what.
    picture : Path or None
        Of the app at work.
    moving : Path or None
        The same while one of its controls is moved.
    own : tuple of str
        Query of an address at which the app takes data of one's own, and what to call it.
    """

    title: str
    purpose: str
    question: str = ""
    audience: str = ""
    example: tuple[str, str] | None = None
    picture: Path | None = None
    moving: Path | None = None
    own: tuple[str, str] | None = None


def about(name: str) -> Card:
    """What the docstring of an app's file says of it, line by line, and its pictures.

    Parameters
    ----------
    name : str
        As of `apps`.

    Returns
    -------
    Card
    """
    file = apps()[name]
    first, *lines = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or name
                     ).splitlines()
    title, _, purpose = first.partition(": ")
    told = {key: value for key, found, value in (line.partition(": ") for line in lines) if found}
    still, moving = (one if one.is_file() else None for one in (
        file.parent / PICTURES / f"{name}.{kind}" for kind in ("png", "webp")))

    def address(key: str) -> tuple[str, str] | None:
        query, _, what = told.get(key, "").partition(" ")
        return (query, what) if query else None

    return Card(title, purpose.rstrip("."), told.get("Question", ""), told.get("For", ""),
                address("Example"), still, moving, address("Own data"))


@cache
def documentation(folders: tuple[Path, ...] | None = None) -> Path | None:
    """Folder of the built documentation, looked for once: a server has it from its start, or not.

    Parameters
    ----------
    folders : tuple of Path, optional
        Where it may have been built; by default in the repository or the current folder.

    Returns
    -------
    Path or None
        None if it is not built.
    """
    found = [folder / PAGE for folder in folders or PLACES if (folder / PAGE).is_file()]
    return found[0].parent.resolve() if found else None


def serve(names: list[str], port: int, address: str, origins: list[str]) -> None:
    """Serve apps until stopped.

    Parameters
    ----------
    names : list of str
        Apps to serve; all if empty.
    port : int
    address : str
        The default elsewhere is 127.0.0.1: this machine alone.
    origins : list of str
        HOST:PORT from which browsers may connect; needed if the address is not this machine.

    Raises
    ------
    InputError
        If an app is unknown, the port is taken, or the origins are missing.
    """
    package("panel", extra="apps")
    known = apps()
    for name in names:
        choose("app", name, known)
    require(address in LOOPBACK or bool(origins),
            f"--address {address} opens the apps to other machines; say with --origin HOST:PORT "
            "from where browsers may connect")
    _require_free(address, port)
    files = [str(path) for name, path in known.items() if not names or name in names]
    print(f"serving {', '.join(Path(f).stem for f in files)} at http://{address}:{port} "
          "(Ctrl-C stops)", flush=True)
    pictures = next(iter(known.values())).parent / PICTURES
    _panel(["serve", *files, *_settings(port, address, origins, pictures)],
           [Path(file).stem for file in files])


def _settings(port: int, address: str, origins: list[str], pictures: Path) -> list[str]:
    allowed = origins or [f"{host}:{port}" for host in ("127.0.0.1", "localhost")]
    site = documentation()
    folders = {PICTURES: pictures if pictures.is_dir() else None, "documentation": site}
    static = [f"{route}={folder}" for route, folder in folders.items() if folder is not None]
    return [
        "--address", address, "--port", str(port), "--liveness", "--index", str(LANDING),
        *(["--static-dirs", *static] if static else []),
        "--plugins", ROOM_PLUGIN, "--unused-session-lifetime", "15000",
        *[f"--allow-websocket-origin={origin}" for origin in allowed],
    ]


def _require_free(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise InputError(
                f"cannot listen on {address}:{port} ({error.strerror}); another server may be "
                f"running there: stop it, or try another port: make serve PORT={port + 1}, "
                f"workbench serve --port {port + 1}"
            ) from error


def _panel(arguments: list[str], served: list[str]) -> None:
    from workbench.ui import warm_up
    from workbench.ui.base import jobs, words

    warm_up.pause_collection()
    from panel.command import main

    if documentation() is not None:
        words.DOCUMENTED.set()
    # Read when torch is loaded, by every thread: several sessions share few cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.setswitchinterval(SWITCH)
    sys.argv = ["panel", *arguments]   # Panel reads its command line from here alone
    warm_up.start(served)
    code = 1
    try:
        main()
        code = 0
    finally:
        if not jobs.shut_down(PATIENCE):
            # What is in the middle of a step would hold up the end, and nothing of it is kept.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
