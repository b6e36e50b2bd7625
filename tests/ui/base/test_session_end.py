"""What a session has computed goes when the session does, and not before its page has connected."""

import subprocess
import sys
from pathlib import Path

import pytest

APPS = Path(__file__).parents[3] / "apps"
# Nothing here looks for what refers to itself in circles: at rest the server has to, itself.
# A page is fetched twice as a browser does it, and left; the server checks for that often. A third
# one connects late, as where many are opened at once.
SERVED = f"""
import os, re, socket, sys, time, traceback, urllib.request, weakref
import panel as pn
from bokeh.client import pull_session
from bokeh.util.token import get_session_id
from workbench.ui.base.jobs import load_models
from workbench.ui.base.store import Store
from workbench.ui.granularity.views import page

made, begun = [], Store.__init__
def init(store, *given, **named):
    begun(store, *given, **named)
    made.extend((weakref.ref(store), weakref.ref(pn.state.curdoc)))
Store.__init__ = init
port = int(sys.argv[1])
load_models()       # a session is asked for once, and must not wait for long
pn.serve({{"granularity": {str(APPS / "granularity.py")!r}}}, port=port, show=False, threaded=True,
         unused_session_lifetime_milliseconds=100, check_unused_sessions_milliseconds=100)
try:
    while socket.socket().connect_ex(("localhost", port)):
        time.sleep(0.1)
    for _ in range(2):
        session = pull_session(url=f"http://localhost:{{port}}/granularity")
        assert session.document.roots
        session.close()
        del session
    address = f"http://localhost:{{port}}/granularity"
    with urllib.request.urlopen(address) as answer:
        page = answer.read().decode()
    time.sleep(3)
    token = re.search(r'"token":"([^"]+)"', page)[1]
    session = pull_session(session_id=get_session_id(token), url=address)
    assert session.document.roots
    same = all(root.id in page for root in session.document.roots)
    session.close()
    del session
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(one() for one in made):
        time.sleep(0.2)
    print(same, len(made), sum(one() is not None for one in made), flush=True)
except BaseException:
    traceback.print_exc()
os._exit(0)
"""


@pytest.mark.slow
def test_a_server_forgets_the_sessions_that_have_ended(port):
    done = subprocess.run([sys.executable, "-c", SERVED, str(port)], capture_output=True,
                          text=True, timeout=150, cwd=APPS.parent)
    assert done.stdout.endswith("True 6 0\n"), done.stdout + done.stderr[-2000:]
