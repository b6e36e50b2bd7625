"""What all tests share: quiet threads, a served app, and a browser that may not leave this machine.

Browser tests carry the marker ``ui`` and ask for ``page`` and ``apps_url`` (all apps of the
repository, served once per process) or ``panel_server`` (any script). Without Chromium they are
skipped loudly; with WORKBENCH_REQUIRE_BROWSER=1, as in CI, its absence is an error.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")   # before torch: several test processes, few cores
# Where a test asks for more, threads that wait must not take the cores from those that work: on
# two busy cores spinning makes a fit of three seconds one of minutes.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Chains of tests are short: to compile them takes longer than to run them.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import gc
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlparse

import pytest

from tests.kit import NO_ZARR

# Packages make a million objects that stay, which are to be looked through less often.
gc.set_threshold(20_000, 20, 20)

REPOSITORY = Path(__file__).parents[1]
APPS = Path(__file__).parent / "ui"
# A shell without windows draws a page with a fifth less of the processor.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("WORKBENCH_CHROMIUM") or next(
    filter(None, map(shutil.which, BROWSERS)), None
)
NO_BROWSER = ("no Chromium found (Debian: apt-get install chromium-headless-shell, or chromium; or "
              "set WORKBENCH_CHROMIUM)")
CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]
# As `python -m panel`, which would look for garbage among all that it imports a hundred times.
PANEL = "import gc; gc.set_threshold(20_000, 20, 20); from panel.command import main; main()"
# Ports that Chromium refuses to open (ERR_UNSAFE_PORT), above the privileged ones.
UNSAFE_PORTS = {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
                6668, 6669, 6679, 6697, 10080}
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def pytest_configure(config):
    if os.environ.get("WORKBENCH_REQUIRE_BROWSER") == "1" and CHROMIUM is None:
        raise pytest.UsageError(f"WORKBENCH_REQUIRE_BROWSER=1, but {NO_BROWSER}")


def pytest_collection_modifyitems(items):
    _order(items)
    for item in items:                  # the pages say what the short fits of apps warn of
        if item.path.is_relative_to(APPS):
            item.add_marker(pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning"))
    if CHROMIUM is None:
        for item in items:
            if item.get_closest_marker("ui"):
                item.add_marker(pytest.mark.skip(reason=NO_BROWSER))


def _order(items):
    """What takes longest first: a module or notebook that comes last would keep a process alone."""
    slow = Counter(item.path for item in items
                   if item.get_closest_marker("slow") or item.get_closest_marker("ui")
                   or item.path.suffix == ".ipynb")
    items.sort(key=lambda item: -slow[item.path])


def pytest_terminal_summary(terminalreporter):
    reports = terminalreporter.stats.get("skipped", [])
    for what, reason in (("BROWSER", NO_BROWSER), ("ZARR", NO_ZARR)):
        count = sum(reason in str(report.longrepr) for report in reports)
        if count:
            terminalreporter.write_sep("!", f"{count} {what} TESTS SKIPPED", red=True, bold=True)
            terminalreporter.write_line(reason, red=True)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": CHROMIUM_FLAGS}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    return {**browser_context_args, "viewport": {"width": 1400, "height": 1000}}


@pytest.fixture
def page(page):
    """A browser page; the test fails if it asks anything of another machine or its scripts fail."""
    offsite, errors = [], []

    def guard(route):
        url = urlparse(route.request.url)
        if url.scheme in ("data", "blob") or url.hostname in LOOPBACK:
            route.continue_()
        else:
            offsite.append(route.request.url)
            route.abort()

    def watch_socket(websocket):
        if urlparse(websocket.url).hostname not in LOOPBACK:
            offsite.append(websocket.url)

    page.route("**/*", guard)
    page.on("websocket", watch_socket)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert not offsite, f"requests left this machine: {offsite}"
    assert not errors, f"scripts of the page failed: {errors}"


def free_port() -> int:
    """A free port of this machine that browsers agree to open."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port not in UNSAFE_PORTS:
            return port


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts the test and its children; shells start background jobs that ignore it."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.fixture
def port() -> int:
    """A free port for a server of the test's own."""
    return free_port()


class Server:
    """A server in a process of its own, and what it prints."""

    def __init__(self, command, log, port):
        self.url, self.port, self._log = f"http://127.0.0.1:{port}", port, log
        self.begun = time.monotonic()
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        with log.open("w") as stream:
            self.process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT,
                                            env=environment)

    @property
    def printed(self):
        return self._log.read_text()

    def wait(self, until, seconds=90):
        """Wait for something that the server does."""
        deadline = time.monotonic() + seconds
        while not until():
            assert self.process.poll() is None, self.printed
            assert time.monotonic() < deadline, self.printed
            time.sleep(0.05)

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self, how):
        """Ask it to stop; seconds until it has."""
        begun = time.monotonic()
        self.process.send_signal(how)
        self.process.wait(timeout=60)
        return time.monotonic() - begun


@pytest.fixture
def serve(tmp_path, port):
    """Start a server with a command; it is stopped when the test is over."""
    servers = []

    def start(*command):
        servers.append(Server([sys.executable, *command], tmp_path / "log.txt", port))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


@pytest.fixture(scope="session")
def panel_server(tmp_path_factory) -> Iterator[Callable[..., str]]:
    """Call it with scripts to serve them with Panel in a process of their own; returns the URL."""
    servers = []

    def start(*scripts: Path, environment: dict[str, str] | None = None,
              more: tuple[str, ...] = ()) -> str:
        port = free_port()
        log = tmp_path_factory.mktemp("server") / "log.txt"
        command = [
            sys.executable, "-c", PANEL, "serve", *map(str, scripts), "--liveness",
            "--address", "127.0.0.1", "--port", str(port), "--num-threads", "4",
            "--allow-websocket-origin", f"127.0.0.1:{port}", *more,
        ]
        with log.open("w") as stream:
            server = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT,
                                      cwd=REPOSITORY, env=os.environ | (environment or {}))
        servers.append(server)
        url = f"http://127.0.0.1:{port}"
        _wait_until_alive(server, url, log)
        return url

    yield start
    for server in servers:
        server.terminate()
    for server in servers:
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture(scope="session")
def apps_url(panel_server) -> str:
    """URL of a server of all apps and their first page; add ``"/disaggregate"`` for one of them."""
    from workbench.ui.serving import LANDING, PICTURES, ROOM_PLUGIN

    return panel_server(*sorted((REPOSITORY / "apps").glob("*.py")), more=(
        "--plugins", ROOM_PLUGIN, "--index", str(LANDING),
        "--static-dirs", f"{PICTURES}={REPOSITORY / 'apps' / PICTURES}"))


def _wait_until_alive(server: subprocess.Popen, url: str, log: Path, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.fail(f"the server stopped with code {server.returncode}:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(f"{url}/liveness", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"no answer from {url} in {seconds} s:\n{log.read_text()}")
