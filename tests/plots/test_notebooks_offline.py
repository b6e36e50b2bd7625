"""Plots of the notebooks in JupyterLab, in a browser that reaches no other machine.

To open JupyterLab, start a kernel and import takes longer than to draw. So the first cells of all
notebooks are run one after the other in one of them, and each is told of by its own test; those
that import hvplot, which loads scripts itself, come last.
"""

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
CELLS = "jupyterapp.shell.currentWidget.content.widgets"
DONE = f"() => {CELLS}.every(one => one.model.executionCount)"
OUTPUTS = f"() => {CELLS}.map(one => one.model.outputs.toJSON())"
SHOW = "number => jupyterapp.shell.currentWidget.content.scrollToItem(number, 'center')"
LOADER = "application/vnd.holoviews_load.v0+json"
#: A cell that fails leaves those of other notebooks to be run.
GO_ON = {"tags": ["raises-exception"]}


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


def with_hvplot(path: Path) -> bool:
    """Whether a notebook imports hvplot in its first cell, and so loads scripts before it says."""
    return "import hvplot" in code_cells(path)[0].source


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


@pytest.fixture(scope="module")
def drawn_together(lab, blocked):
    """Cells of all notebooks up to their first plots.

    By notebook the numbers of its cells, those of them that draw, and what all cells have put out.
    """
    (url, folder), page, cells, where = lab, blocked, [], {}
    for path in sorted(NOTEBOOKS, key=with_hvplot):
        own, begin = up_to_a_plot(path), len(cells)
        plots = [begin + len(own) - 1]
        if ".hvplot" in path.read_text(encoding="utf-8") and ".hvplot" not in own[-1]:
            own, plots = [*own, HVPLOT], [*plots, begin + len(own)]
        cells += own
        where[path] = range(begin, len(cells)), plots
    name = "all.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(one, metadata=GO_ON) for one in cells],
                                metadata=KERNEL), folder / "notebooks" / name)
    page.goto(f"{url}/lab/tree/notebooks/{name}?reset", timeout=120_000)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=120_000)
    # By the application's own commands, as a dialog may lie over its menus at any moment.
    deadline = time.monotonic() + 120
    while page.evaluate(KERNEL_STATUS) != "idle":
        assert time.monotonic() < deadline, "no kernel"
        if (accept := page.locator(".jp-Dialog .jp-mod-accept").first).is_visible():
            accept.click(force=True)        # it may ask for the kernel
        page.wait_for_timeout(200)
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(DONE, timeout=300_000)
    return where, page.evaluate(OUTPUTS)


@pytest.mark.ui
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_draws_without_network(drawn_together, blocked, path):
    """Its own cells up to its first plot, and one by hvplot if it has some further down."""
    where, outputs = drawn_together
    cells, plots = where[path]
    assert len(cells) > 1
    put_out = [output for number in cells for output in outputs[number]]
    assert [output for output in put_out if output["output_type"] == "error"] == []
    # Scripts that another notebook has brought along serve its plots, too: it has its own.
    loaders = [output["data"][LOADER] for output in put_out if LOADER in output.get("data", {})]
    assert len([one for one in loaders if "js_urls" in one][-1]) > 1_000_000
    for plot in plots:
        blocked.evaluate(SHOW, plot)                # cells out of view are not drawn
        cell = blocked.locator(f".jp-Cell[data-windowed-list-index='{plot}']")
        cell.locator("canvas").first.wait_for(state="attached", timeout=60_000)
