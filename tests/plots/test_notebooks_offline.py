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
#: A small plot for a notebook that uses hvplot further down than its first plot.
HVPLOT = ("import hvplot.pandas, pandas as pd\n"
          "pd.DataFrame({'a': [1, 2, 3]}).hvplot.line()")
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
KERNEL_STATUS = "() => jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
DONE = """() => [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')]
  .every(one => /[0-9]/.test(one.textContent))"""


def code_cells(path: Path) -> list:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def drawn(cell) -> bool:
    """Whether a stored cell shows a plot, which is stored as a picture."""
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


def up_to_a_plot(path: Path) -> list[str]:
    """Cells of a notebook up to the first that draws."""
    cells = code_cells(path)
    last = next(number for number, cell in enumerate(cells) if drawn(cell))
    return [cell.source for cell in cells[:last + 1]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_makes_its_plots_offline_in_the_first_cell(path):
    assert "plots.notebook()" in code_cells(path)[0].source.splitlines()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on a folder of small notebooks; its address, and the folder."""
    from tests.conftest import free_port

    folder, port = tmp_path_factory.mktemp("lab"), free_port()
    (folder / "notebooks").mkdir()          # they look for stored results beside them
    (folder / "data").symlink_to(REPOSITORY / "data")
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
            env={name: value for name, value in os.environ.items()
                 if name != "WORKBENCH_STATIC_PLOTS"} | settings | {
                     "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"})
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
    """Its own cells up to its first plot, and one by hvplot if it has some further down."""
    url, folder = lab
    page, cells = blocked, up_to_a_plot(path)
    plots = [len(cells) - 1]
    if ".hvplot" in path.read_text(encoding="utf-8") and ".hvplot" not in cells[-1]:
        cells, plots = [*cells, HVPLOT], [*plots, len(cells)]
    nbformat.write(new_notebook(cells=[new_code_cell(one) for one in cells], metadata=KERNEL),
                   folder / "notebooks" / path.name)
    page.goto(f"{url}/lab/tree/notebooks/{path.name}?reset", timeout=120_000)
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
    shown = page.locator(".jp-CodeCell")
    assert shown.count() == len(cells) > 1
    for plot in plots:
        shown.nth(plot).scroll_into_view_if_needed()        # cells out of view are not drawn
        shown.nth(plot).locator("canvas").first.wait_for(state="attached", timeout=60_000)
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    page.evaluate("""async () => {         // saved, else leaving asks; its kernel makes room
        const {context, sessionContext} = jupyterapp.shell.currentWidget
        await context.save()
        await sessionContext.shutdown()}""")
