"""Fifty people at one server: opening, sliders, memory, and whether sessions stay apart.

    python benchmarks/load.py                        # each app in turn, about fifteen minutes
    python benchmarks/load.py --apps disaggregate --sessions 20

Each app has a server of its own. Sessions are what a browser sends: the page, its websocket, the
document, and then a control that is moved, by every session another way and five a second in all;
nothing is drawn. `taken` is when the server has answered the message, `shown` when it has sent what
changed. After that four fits begin, each in a further session, and the sliders are moved again.
Memory in MiB is of the server's process. Loopback only; needs the extra `apps`, and Linux. Writes
data/results/load.csv.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import time
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import typer
from first_page import PORT, REST, server
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

RESULTS = Path(__file__).parents[1] / "data" / "results" / "load.csv"
FORGOTTEN = 120.0       # seconds after which a server has forgotten fifty sessions that were left
EVERY = 0.2             # seconds between events, of all sessions
PATIENCE = 300.0        # seconds to wait for an answer before it counts as none
#: The control of each app that is moved.
CONTROLS = {"granularity": "Lengthscale", "mediated": "Lengthscale of k (places)",
            "sources": "Composite weight φ", "disaggregate": "Threshold", "compare": "Ranked by"}
#: Fits that take long, of the app that has them; each of other areas, so that none is shared.
FITS = [f"disaggregate?dataset=simulated-country&model=vbagg&granularity={areas}&status=fitted"
        for areas in ("district", "region", "60", "40")]


#: Of its own, as the default one looks names up: that must not wait for pages.
_ASKING = ThreadPoolExecutor(64)


class Session:
    """One page of an app, without a browser."""

    def __init__(self, address: str):
        self.address, self.app = address, address.split("?")[0]
        self._answers: dict[str, asyncio.Future] = {}
        self.patched, self._welcomed = asyncio.Event(), asyncio.Event()
        self.control: dict = {}
        self.wanted: object = None

    async def open(self) -> float:
        """Seconds until the document is there."""
        began = time.perf_counter()
        page = await asyncio.get_running_loop().run_in_executor(
            _ASKING, _page, f"http://127.0.0.1:{PORT}/{self.address}")
        token = re.search(r'"token":\s*"([^"]+)"', page).group(1)
        self._socket = await websocket_connect(
            HTTPRequest(f"ws://127.0.0.1:{PORT}/{self.app}/ws", connect_timeout=PATIENCE,
                        request_timeout=PATIENCE),
            subprotocols=["bokeh", token], max_message_size=2**30)
        self._reading = asyncio.create_task(self._read())
        await asyncio.wait_for(self._welcomed.wait(), PATIENCE)     # it hears nothing before that
        found = _control(await self.document(), CONTROLS[self.app])
        self.control = found
        await self._ask("PATCH-DOC", {"events": [{
            "kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": {
                "type": "event", "name": "document_ready", "values": {"type": "map"}}}]})
        return time.perf_counter() - began

    async def document(self) -> dict:
        """The document as the server has it."""
        return (await self._ask("PULL-DOC-REQ", {}))["doc"]

    async def move(self, number: int) -> tuple[float, float]:
        """Move the control; seconds until it is taken, and until something has changed."""
        options = self.control["attributes"]["options"]
        place = number % len(options)
        index = isinstance(self.control["attributes"]["value"], int)
        chosen = place if index else options[place]
        if self.wanted == chosen or (self.wanted is None
                                     and chosen == self.control["attributes"]["value"]):
            place = (place + 1) % len(options)
            chosen = place if index else options[place]
        self.wanted = chosen
        self.patched.clear()
        began = time.perf_counter()
        await self._ask("PATCH-DOC", {"events": [{
            "kind": "ModelChanged", "model": {"id": self.control["id"]}, "attr": "value",
            "new": self.wanted}]})
        taken = time.perf_counter() - began
        await asyncio.wait_for(self.patched.wait(), PATIENCE)
        return taken, time.perf_counter() - began

    async def keeps_its_own(self) -> bool:
        """Whether the control still has the value that this session gave it."""
        found = _control(await self.document(), CONTROLS[self.app])
        return found["attributes"]["value"] == self.wanted

    async def close(self) -> None:
        """Leave, as a browser whose tab is closed."""
        self._reading.cancel()
        self._socket.close()

    async def _ask(self, kind: str, content: dict) -> dict:
        number = uuid.uuid4().hex
        self._answers[number] = asyncio.get_running_loop().create_future()
        for part in ({"msgid": number, "msgtype": kind}, {}, content):
            await self._socket.write_message(json.dumps(part))
        return await asyncio.wait_for(self._answers[number], PATIENCE)

    async def _read(self) -> None:
        while True:
            first = await self._socket.read_message()
            if first is None:
                raise SystemExit(f"the server has closed a session of {self.app}")
            header = json.loads(first)
            await self._socket.read_message()
            content = json.loads(await self._socket.read_message())
            for _ in range(2 * header.get("num_buffers", 0)):
                await self._socket.read_message()
            if header.get("reqid") in self._answers:
                self._answers.pop(header["reqid"]).set_result(content)
            elif header["msgtype"] == "ACK":
                self._welcomed.set()
            elif header["msgtype"] == "PATCH-DOC":
                self.patched.set()


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def _control(document: object, label: str) -> dict:
    """The model of a document that has a label, a value and options."""
    if isinstance(document, dict):
        mine = document.get("attributes")
        if isinstance(mine, dict) and mine.get("label") == label and "options" in mine:
            return document
        parts = list(document.values())
    else:
        parts = document if isinstance(document, list) else []
    for part in parts:
        found = _control(part, label)
        if found:
            return found
    return {}


def _memory(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


async def _moved(sessions: list[Session], shift: int) -> np.ndarray:
    """Seconds (taken, shown) of one event of every session, five a second."""
    async def one(number: int, session: Session) -> tuple[float, float]:
        await asyncio.sleep(EVERY * number)
        return await session.move(number + shift)

    return np.array(await asyncio.gather(*(one(k, s) for k, s in enumerate(sessions))))


async def _measured(app: str, process: int, count: int) -> dict:
    row = {"app": app, "sessions": count, "started_mib": _memory(process)}
    sessions = [Session(app) for _ in range(count)]
    await sessions[0].open()
    await asyncio.sleep(20)
    row["first_mib"] = _memory(process)
    opened = await asyncio.gather(*(one.open() for one in sessions[1:]))
    row |= {"open_median": np.median(opened), "open_p95": np.quantile(opened, 0.95)}
    await asyncio.sleep(30)
    row["all_mib"] = _memory(process)
    row["mib_a_session"] = (row["all_mib"] - row["first_mib"]) / max(1, count - 1)
    row |= _quantiles("", await _moved(sessions, 1))
    row["mixed_up"] = sum([not await one.keeps_its_own() for one in sessions])
    if app == "disaggregate":
        fits = [Session(address) for address in FITS]
        await asyncio.gather(*(one.open() for one in fits))
        row |= _quantiles("beside_fits_", await _moved(sessions, 2))
        sessions += fits
    for one in sessions:
        await one.close()
    await asyncio.sleep(FORGOTTEN)
    row["after_mib"] = _memory(process)
    return row


def _quantiles(prefix: str, seconds: np.ndarray) -> dict[str, float]:
    return {f"{prefix}{name}_{told}": np.quantile(seconds[:, k], share)
            for k, name in enumerate(("taken", "shown"))
            for told, share in (("median", 0.5), ("p95", 0.95))}


def main(apps: str = ",".join(CONTROLS), sessions: int = 50) -> None:
    """Measure the named apps and store the table."""
    facts = {"machine": platform.machine(), "processors": os.cpu_count(),
             "python": platform.python_version()}
    rows = []
    for app in apps.split(","):
        load = os.getloadavg()[0]
        with server() as process:
            time.sleep(REST)
            rows.append(asyncio.run(_measured(app, process.pid, sessions)) | {"load": load} | facts)
        print(pd.Series(rows[-1]).to_string(), flush=True)
    found = pd.DataFrame(rows)
    if RESULTS.exists():
        old = pd.read_csv(RESULTS)
        found = pd.concat([old[~old["app"].isin(found["app"])], found])
    found.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
