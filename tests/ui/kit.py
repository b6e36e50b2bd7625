"""Waiting for the work of stores, and driving pages of apps in a browser."""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import expect

WAIT = 150_000     # milliseconds; generous, for two cores may serve other jobs too
# The figure of a name that was drawn last: models that a page no longer shows stay for a while.
FIGURE = """name => Bokeh.documents.flatMap(doc => [...doc._all_models.values()])
    .filter(m => m.type === 'Figure' && m.name === name).at(-1)"""
# A number that says what an image of a map holds.
IMAGE = """name => {
  const plot = (FIGURE)(name)
  const held = plot.renderers[0].data_source.data
  const found = (held.get?.(name) ?? held[name])[0]
  let total = 0
  for (let k = 0; k < found.length; k++)
    if (Number.isFinite(found[k])) total += found[k] * (1 + (k % 97))
  return [Math.round(total * 1e2), found.length]
}""".replace("FIGURE", FIGURE)
# Where the canvas of a figure lies on the screen: left, top, right, bottom.
BOX = """name => {
  const plot = (FIGURE)(name)
  const view = Bokeh.index.find_one_by_id?.(plot.id) ?? [...Bokeh.index].flatMap(
    root => [...root.views?.() ?? []]).find(one => one.model === plot)
  const box = view.el.getBoundingClientRect()
  return [box.left, box.top, box.right, box.bottom].map(Math.round)
}""".replace("FIGURE", FIGURE)
FRAME = """name => [(FIGURE)(name).frame_width, (FIGURE)(name).frame_height]""".replace(
    "FIGURE", FIGURE)
# Elements of the page, also inside shadow roots, that reach beyond the window to the right. Bokeh's
# empty boxes of glyphs keep the place of the last time they were drawn; their canvas is measured.
BEYOND = """() => {
  const wide = []
  const look = root => { for (const one of root.querySelectorAll('*')) {
    if (one.shadowRoot) look(one.shadowRoot)
    const box = one.getBoundingClientRect()
    if (box.width > 0 && box.height > 0 && box.left < innerWidth && box.right > innerWidth + 1
        && !one.closest('.MuiDrawer-root, .wb-scroll')
        && !one.matches('.bk-GlyphRenderer, .bk-BoxAnnotation')
        && getComputedStyle(one).visibility !== 'hidden')
      wide.push(`${one.tagName}.${one.className} ${Math.round(box.right)}`)
  } }
  look(document)
  return wide
}"""

# How much has moved on a page since it began to load.
RECORD = """() => {
  window.shifted = 0
  new PerformanceObserver(list => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value
  }).observe({type: 'layout-shift', buffered: true})
}"""
DRAWN = "() => !document.getElementById('first-frame')"
MOST_SHIFTED = 0.1      # of cumulative layout shift, below which a page is called stable


def settled(store, seconds=100):
    """The store once its work in threads is done."""
    deadline = time.monotonic() + seconds
    while store.work and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not store.work and not store.error, store.error or store.work
    return store


def restored(state, given):
    """Another state read from the URL of one, in which choices are as they were given."""
    for name, value in given.items():
        assert getattr(state, name) == value
    again = type(state)()
    assert again.read("?" + state.query()) == []
    assert again.query() == state.query()
    return again


def refused(state, query):
    """What a new state says of the bad values of a URL, none of which it takes."""
    before = state.query()
    problems = state.read(query)
    assert state.query() == before
    return problems


def status(page):
    """The live region of a page."""
    return page.get_by_role("status").first


def idle(page):
    """Wait until a page is drawn and takes keys."""
    page.wait_for_function("""() => window.Bokeh?.documents.length && Bokeh.documents[0].is_idle
                              && !document.querySelector('body > [inert]')""", timeout=WAIT)


def shift_while_loading(page, address):
    """Load a page; by how much what is seen first moved, below `MOST_SHIFTED` if at rest."""
    page.add_init_script(f"({RECORD})()")
    page.goto(address, timeout=WAIT)
    page.wait_for_function(DRAWN, timeout=WAIT)
    idle(page)
    page.wait_for_timeout(3_000)        # in which maps and scores come
    return page.evaluate("window.shifted")


def url(page, pattern):
    """Wait until the URL is like a pattern."""
    expect(page).to_have_url(re.compile(pattern), timeout=WAIT)


def at_rest(measure, act):
    """Act by mouse on what stays where it is meanwhile: a page that arranges itself moves it."""
    for _ in range(5):
        before = measure()
        act()
        if measure() == before:
            return
    raise AssertionError(f"it does not come to rest: {before}, {measure()}")


def press(page, label):
    """Press a button."""
    page.get_by_role("button", name=label, exact=True).click()


def move(page, slider, key):
    """Press a key on a slider."""
    idle(page)
    page.get_by_role("slider", name=slider).focus()
    page.keyboard.press(key)


def slow_imports(code):
    """Which packages that take seconds to load a fresh interpreter has loaded after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n"
         "print({'torch', 'scipy.stats', 'sklearn'} & set(sys.modules) or '')"],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ran(program):
    """The names that an exported program leaves behind."""
    names = {}
    exec(compile(program, "exported", "exec"), names)   # what a user would run as it is
    return names


def ran_notebook(bundle):
    """The names that the cells of an exported notebook leave behind."""
    cells = [cell for cell in json.loads(bundle.notebook())["cells"]
             if cell["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    assert sources[-1] == "table" and len(sources) > 2
    names = {}
    for source in sources:
        exec(compile(source, "cell", "exec"), names)
    return names


def layer(bundle, name):
    """A layer of the GeoPackage that a page exports."""
    import geopandas

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.gpkg"
        path.write_bytes(bundle.file(".gpkg").getvalue())
        return geopandas.read_file(path, layer=name)
