"""Plots of the notebooks in JupyterLab, in a browser that reaches no other machine."""

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlparse

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

REPOSITORY = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
#: Small plots of each kind, by what in a notebook's text shows that it has some.
PLOTS = {
    "plots.notebook()": "import holoviews as hv\nhv.Curve([1, 2, 3])",
    ".hvplot": "import hvplot.pandas, pandas as pd\n"
               "pd.DataFrame({'a': [1, 2, 3]}).hvplot.line()",
}
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
KERNEL_STATUS = "() => jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
DONE = """() => [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')]
  .every(one => /[0-9]/.test(one.textContent))"""


def first_cell(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return next(cell.source for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_makes_its_plots_offline_in_the_first_cell(path):
    assert "plots.notebook()" in first_cell(path).splitlines()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on a folder of small notebooks; its address, and the folder."""
    from tests.conftest import free_port

    folder, port = tmp_path_factory.mktemp("lab"), free_port()
    settings = {name: str(tmp_path_factory.mktemp(name.lower()))
                for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    log = folder.with_suffix(".log")
    with log.open("w") as stream:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
             "--port", str(port), "--ServerApp.port_retries=0", "--IdentityProvider.token=",
             f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None",
             "--LabApp.expose_app_in_browser=True"],
            stdout=stream, stderr=subprocess.STDOUT, cwd=REPOSITORY,
            env=os.environ | settings | {"PYTHONPATH": str(REPOSITORY)})
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 90
    while True:
        try:
            urllib.request.urlopen(f"{url}/api", timeout=5).close()
            break
        except OSError:
            assert server.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
    yield url, folder
    server.terminate()
    server.wait(timeout=30)


@pytest.fixture(scope="module")
def blocked(browser):
    """A page, the same for all notebooks, from which no other machine is reached."""
    context = browser.new_context()
    page = context.new_page()

    def guard(route):
        address = route.request.url
        if urlparse(address).hostname == "127.0.0.1" or address.startswith(("data:", "blob:")):
            route.continue_()
        else:
            route.abort()

    page.route("**/*", guard)
    yield page
    context.close()


@pytest.mark.ui
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_draws_without_network(lab, blocked, path):
    """Its own first cell, where the order of imports decides, and plots of the kinds it has."""
    url, folder = lab
    page, source = blocked, path.read_text(encoding="utf-8")
    plots = [text for kind, text in PLOTS.items() if kind in source]
    nbformat.write(new_notebook(cells=[new_code_cell(one) for one in (first_cell(path), *plots)],
                                metadata=KERNEL), folder / path.name)
    page.goto(f"{url}/lab/tree/{path.name}?reset", timeout=120_000)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=120_000)
    # By the application's own commands, as a dialog may lie over its menus at any moment.
    deadline = time.monotonic() + 120
    while page.evaluate(KERNEL_STATUS) != "idle":
        assert time.monotonic() < deadline, "no kernel"
        if (accept := page.locator(".jp-Dialog .jp-mod-accept").first).is_visible():
            accept.click(force=True)        # it may ask for the kernel
        page.wait_for_timeout(200)
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(DONE, timeout=150_000)
    cells = page.locator(".jp-CodeCell")
    assert cells.count() == 1 + len(plots) > 1
    for output in range(1, cells.count()):
        cells.nth(output).locator("canvas").first.wait_for(state="attached", timeout=60_000)
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    page.evaluate("""async () => {         // saved, else leaving asks; its kernel makes room
        const {context, sessionContext} = jupyterapp.shell.currentWidget
        await context.save()
        await sessionContext.shutdown()}""")
