"""Memory of the server of the apps, in MB: after its start, its first pages, and ten sessions.

    python benchmarks/memory.py

Each page is opened in Chromium, and read when it is ready and has had a while to rest; the sessions
are then closed, and read when the server has forgotten them. Needs what `first_page` needs, and
Linux.
"""

from __future__ import annotations

import time
from pathlib import Path

import typer
from first_page import APPS, IDLE, PORT, REST, WAIT, server, tab
from playwright.sync_api import Page

FORGOTTEN = 40.0        # seconds after which a server has forgotten sessions that were left


def main(sessions: int = 10, rest: float = 12.0) -> None:
    """Print each number as soon as it is there."""
    with server() as process:
        time.sleep(REST)
        _tell("started", process.pid)
        for app in APPS:
            with tab() as page:
                _look(page, app, rest)
                _tell(app, process.pid)
        for number in range(sessions):
            with tab() as page:
                _look(page, APPS[number % len(APPS)], 0.0)
        _tell(f"{sessions} sessions", process.pid)
        time.sleep(FORGOTTEN if sessions else 0)
        _tell("forgotten", process.pid)
        _tell("the most", process.pid, "VmHWM")


def _tell(what: str, process: int, field: str = "VmRSS") -> None:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith(field))
    print(f"{what:<14}{kilobytes / 1000:6.0f}", flush=True)


def _look(page: Page, app: str, rest: float) -> None:
    page.goto(f"http://127.0.0.1:{PORT}/{app}", timeout=WAIT, wait_until="commit")
    page.wait_for_function(IDLE, timeout=WAIT)
    time.sleep(rest)


if __name__ == "__main__":
    typer.run(main)
