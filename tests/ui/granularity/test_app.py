"""The app "granularity" in a browser: offline, linked, editable by hand, and a URL for each state.

To load a page takes seconds, so each test is a journey over one page. Milliseconds are printed,
not asserted: the machine may serve other jobs too.
"""

import math
import re

import pytest
from playwright.sync_api import expect

from tests.ui.kit import BEYOND, FIGURE, WAIT, at_rest, idle, move, press, status, url
from workbench.ui.base.messages import BY_HAND
from workbench.ui.granularity.story import STEPS

pytestmark = pytest.mark.ui

# A number that says what columns of the page's sources hold, by the figure that draws them.
COLUMNS = """([name, columns]) => {
  const plot = (FIGURE)(name)
  return columns.map(column => {
    const held = source => source.data.get?.(column) ?? source.data[column]
    const found = plot.renderers.map(r => r.data_source && held(r.data_source)).find(v => v)
    let total = 0, k = 0
    for (const part of found ?? [])
      for (const v of (part.length === undefined ? [part] : part))
        if (Number.isFinite(v)) total += v * (1 + (k++ % 97))
    return Math.round(total * 1e4)
  })
}""".replace("FIGURE", FIGURE)
# Where the frame of a figure is on the screen, where all of it ends, and its ranges.
FRAME = """name => {
  const plot = (FIGURE)(name)
  const walk = view => view.model === plot ? view
    : [...(view.children?.() ?? [])].map(walk).find(found => found)
  const view = [...Bokeh.index.roots].map(walk).find(found => found)
  const box = view.canvas_view.el.getBoundingClientRect(), frame = view.frame.bbox
  return {left: box.left + frame.left, top: box.top + frame.top, width: frame.width,
          height: frame.height, right: box.right, bottom: box.bottom,
          x: [plot.x_range.start, plot.x_range.end],
          y: [plot.y_range.start, plot.y_range.end]}
}""".replace("FIGURE", FIGURE)


def open_app(page, url):
    page.goto(url, timeout=WAIT)
    expect(status(page)).to_contain_text("Summaries differ", timeout=WAIT)
    idle(page)


def columns(page, figure, *names):
    return page.evaluate(COLUMNS, [figure, names])


def changed(page, figure, name, before):
    page.wait_for_function(f"([figure, name, before]) => ({COLUMNS})([figure, [name]])[0] !== "
                           "before", arg=[figure, name, before], timeout=WAIT)


def at(page, figure, x, y, log=False):
    """Where a point of a figure is on the screen."""
    frame, scale = page.evaluate(FRAME, figure), math.log if log else float
    along = [(scale(v) - scale(low)) / (scale(high) - scale(low))
             for v, (low, high) in ((x, frame["x"]), (y, frame["y"]))]
    return (frame["left"] + along[0] * frame["width"],
            frame["top"] + (1 - along[1]) * frame["height"])


def cost(page, event):
    chip = page.locator(".MuiChip-label").filter(has_text="posterior").first
    print(f"{event}: {chip.inner_text()}")
    return chip


def test_the_line_by_slider_and_by_hand(page, apps_url):
    """The fixture fails the test on any request off this machine and on any script error."""
    open_app(page, f"{apps_url}/granularity?known=sine&lengthscale=1")
    expect(status(page)).to_contain_text("12 cells of 0.524 rad instead of 400 points")
    cost(page, "start")
    controls = re.findall(r"- (button|slider|combobox|radio|checkbox|switch|link)\b(.*)",
                          page.locator("body").aria_snapshot())
    assert len(controls) >= 16
    assert [c for c in controls if '"' not in c[1]] == []

    complete, summary = columns(page, "line", "complete", "summary")
    kernel = columns(page, "kernel", "k")
    assert complete and summary and kernel[0]
    move(page, "Cells m", "ArrowRight")
    expect(status(page)).to_contain_text("13 cells", timeout=WAIT)
    changed(page, "line", "summary", summary)
    assert columns(page, "line", "complete") == [complete]          # these data are the same
    url(page, "cells=13&edges=&")
    expect(cost(page, "cells")).to_contain_text("1 posterior", timeout=WAIT)
    move(page, "Lengthscale", "ArrowLeft")
    expect(status(page)).to_contain_text("13 cells")
    changed(page, "line", "complete", complete)
    changed(page, "kernel", "k", kernel[0])
    url(page, "lengthscale=0.8&")
    expect(cost(page, "lengthscale")).to_contain_text("2 posteriors", timeout=WAIT)

    def drag():                                                     # a boundary
        x, y = at(page, "line", 2 * math.pi * 4 / 13, 0.0)
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(1, 9):
            page.mouse.move(x + 6 * step, y + step)
        page.mouse.up()

    at_rest(lambda: page.evaluate(FRAME, "line"), drag)
    found = 2 * math.pi * (4 / 13 + 48 / page.evaluate(FRAME, "line")["width"])
    url(page, rf"cells=13&edges=0.483_0.967_1.45_{str(found)[:3]}\d*_2.417_")
    page.mouse.click(*at(page, "line", 0.7, 0.0))                   # a cell is chosen
    url(page, "cell=1&")
    expect(page.get_by_text("Cell 2: 0.48 to 0.97 rad")).to_be_visible(timeout=WAIT)
    press(page, "Merge with next")
    expect(status(page)).to_contain_text("12 cells", timeout=WAIT)
    url(page, "cells=12&edges=0.483_1.45_")
    press(page, "Split in half")
    expect(status(page)).to_contain_text("13 cells", timeout=WAIT)
    url(page, "edges=0.483_0.96[67]_1.45_")
    press(page, "Right edge →")
    url(page, "edges=0.483_1.06[67]_1.45_")
    cost(page, "edges")
    press(page, "Equal cells")
    url(page, "edges=&cell=-1&")

    press(page, "Fit hyperparameters (moves the sliders)")
    expect(page.get_by_text("Fitted to the summaries")).to_be_visible(timeout=WAIT)
    url(page, "lengthscale=(1.25|1.6|2|2.5)&")
    cost(page, "learn it")


def test_the_plane_calibration_and_curves_follow(page, apps_url):
    open_app(page, f"{apps_url}/granularity?known=sine&lengthscale=1&points=100&cells=4")
    expect(page.get_by_text(BY_HAND, exact=True)).to_be_visible(timeout=WAIT)
    error, held = columns(page, "plane", "error"), columns(page, "calibration", "summary")
    curves = columns(page, "curve", "error", "bound", "certificate")
    assert error[0] and held[0] and all(curves)
    text = status(page).inner_text()
    page.mouse.click(*at(page, "plane", 2 * math.pi / 24, 0.5, log=True))
    url(page, "cells=24&edges=&cell=-1&lengthscale=0.5&")
    expect(status(page)).to_contain_text("24 cells", timeout=WAIT)
    cost(page, "click on the plane")
    changed(page, "calibration", "summary", held[0])
    changed(page, "curve", "error", curves[0])
    changed(page, "plane", "error", error[0])                       # refined where one looks
    assert status(page).inner_text() != text
    line = columns(page, "plane", "limit")
    page.get_by_role("combobox", name=re.compile("^Tolerance")).click()
    page.get_by_role("menuitem", name="0.3 sd", exact=True).click()
    expect(status(page)).to_contain_text("tolerance of 0.3", timeout=WAIT)
    changed(page, "plane", "limit", line[0])


def test_the_story_leads_to_the_map(page, apps_url):
    open_app(page, f"{apps_url}/granularity?story=5")
    press(page, "‹ Back")
    expect(page.get_by_text(STEPS[3].name)).to_be_visible(timeout=WAIT)
    url(page, "story=4&.*known=rougher")
    press(page, "Next ›")
    press(page, "Next ›")
    expect(page.get_by_text(STEPS[5].name)).to_be_visible(timeout=WAIT)
    url(page, "story=6&lecture=no&tab=map")
    expect(status(page)).to_contain_text("of 1.6 km instead of 700 points", timeout=WAIT)
    press(page, "Difference")
    complete, summary, gap = columns(page, "last", "complete", "summary", "difference")
    assert complete and summary and gap
    move(page, "Cell side", "ArrowRight")
    expect(status(page)).to_contain_text("of 1.25 km", timeout=WAIT)
    changed(page, "last", "summary", summary)
    assert columns(page, "last", "complete") == [complete]
    cost(page, "cell side")
    move(page, "Lengthscale", "ArrowRight")
    url(page, "map_lengthscale=1.25&")
    changed(page, "last", "complete", complete)
    cost(page, "lengthscale of the map")
    before = page.evaluate(FRAME, "summary")["x"]                   # zoom is linked
    page.evaluate("""() => { for (const m of Bokeh.documents[0]._all_models.values())
        if (m.type === 'Figure' && m.name === 'complete') m.x_range.setv({start: 2, end: 6}) }""")
    assert page.evaluate(FRAME, "summary")["x"] == [2, 6] != before
    page.get_by_role("combobox", name=re.compile("^Likelihood")).click()
    page.get_by_role("menuitem", name="Poisson", exact=True).click()
    url(page, "likelihood=poisson")
    expect(status(page)).to_contain_text("Summaries differ", timeout=WAIT)
    press(page, "1-D line")
    expect(status(page)).to_contain_text("20 cells of 0.314 rad", timeout=WAIT)
    expect(page.get_by_text("The controls no longer match this step")).to_be_visible(timeout=WAIT)
    press(page, "Leave the story")
    url(page, "story=0&lecture=no&tab=line")


def test_urls_restore_states_and_what_cannot_be_is_said(page, apps_url):
    open_app(page, f"{apps_url}/granularity?cells=9&edges=1_2.5_4&cell=2&lengthscale=0.5"
                   "&kernel=matern12&tolerance=0.05&noise=7&shape=hexagon&colour=red")
    expect(status(page)).to_contain_text("4 cells of 1.57 rad")
    expect(status(page)).to_contain_text("tolerance of 0.05")
    expect(page.get_by_text("noise=7 (")).to_be_visible()
    expect(page.get_by_text("shape=hexagon (")).to_be_visible()
    expect(page.get_by_text("colour (no such setting)")).to_be_visible()
    expect(page.get_by_text("Cell 3: 2.50 to 4.00 rad")).to_be_visible()
    url(page, "kernel=matern12.*noise=0.3&draw=1&cells=4&edges=1_2.5_4&cell=2&lengthscale=0.5")


def test_a_lecture_by_keys_alone(page, apps_url):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_app(page, f"{apps_url}/granularity")
    badge = page.locator(".MuiChip-label").filter(has_text="tolerance")
    expect(badge).to_contain_text("too coarse")                     # the first view
    expect(page.get_by_role("slider", name="Noise (sd) in the data")).to_be_visible()
    page.keyboard.press("l")
    url(page, "story=0&lecture=yes")
    expect(page.get_by_role("slider", name="Noise (sd) in the data")).to_be_hidden(timeout=WAIT)
    expect(page.get_by_role("slider")).to_have_count(2)             # and one list of functions
    assert page.evaluate(f"""() => {{ const plot = ({FIGURE})('line')
        return [plot.title.text_font_size, ...plot.renderers.map(r => r.glyph)
          .filter(g => g.type === 'Line').map(g => Math.min(3, g.line_width.value ?? 3))] }}
        """) == ["20px", 3, 3, 3]
    for key, step in (("ArrowRight", 1), ("ArrowRight", 2), ("PageDown", 3), ("ArrowLeft", 2)):
        page.keyboard.press(key)
        expect(page.get_by_text(f"{step} of 8. {STEPS[step - 1].name}")).to_be_visible(timeout=WAIT)
        url(page, f"story={step}&")
    expect(badge).to_contain_text("fine enough", timeout=WAIT)
    shown = page.get_by_text("12 cells", exact=True).filter(visible=True)
    expect(shown).to_be_visible(timeout=WAIT)                       # the step has set the slider
    move(page, "Cells m", "ArrowLeft")                              # a slider keeps its arrows
    url(page, "story=2&.*cells=11&")
    expect(page.get_by_text("The controls no longer match this step")).to_be_visible(timeout=WAIT)
    press(page, "Return to the step")
    url(page, "story=2&.*cells=12&")
    expect(page.get_by_text("The controls no longer match this step")).to_be_hidden(timeout=WAIT)
    page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth", timeout=WAIT)
    page.keyboard.press("Escape")
    url(page, "story=2&lecture=no")
    expect(page.get_by_role("slider", name="Noise (sd) in the data")).to_be_visible(timeout=WAIT)


def test_all_that_a_lecture_speaks_of_is_seen_unscrolled(page, apps_url):
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(f"{apps_url}/granularity?story=8&lecture=yes", timeout=WAIT)
    idle(page)
    said = page.get_by_text("more probable under A")
    expect(said).to_be_visible(timeout=WAIT)
    for width, height in ((1024, 768), (1280, 800), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(f"""([width, height]) =>
            ['summary', 'complete', 'last'].map({FRAME}).every(plot =>
              plot.bottom <= height && plot.right <= width && plot.width > 0.19 * width)""",
                               arg=[width, height], timeout=WAIT)
        thumbs = [page.get_by_role("slider", name=name).locator("xpath=..")
                  for name in ("Cell side", "Lengthscale")]
        for part in (said, *thumbs, page.get_by_text("8 of 8. Two lengthscales.")):
            expect(part).to_be_in_viewport(ratio=0.99, timeout=WAIT)

    # Other frames and fewer cells come at once: maps are not drawn with some of the former cells.
    failed = []
    page.on("console", lambda said: said.type == "error" and failed.append(said.text))
    page.evaluate(f"""() => {{ const plot = ({FIGURE})('summary')
        const source = plot.renderers.find(r => r.glyph.type === 'Patches').data_source
        const few = [...source.columns()].map(name => [name, source.get(name).slice(0, 2)])
        plot.frame_width -= 5
        source.data = Object.fromEntries(few) }}""")
    page.wait_for_timeout(1_000)
    assert not failed


def test_the_truth_of_a_map_after_a_guess_and_draws_that_move(page, apps_url):
    open_app(page, f"{apps_url}/granularity?tab=map&show=truth")
    expect(page.get_by_role("button", name="Reveal the truth")).to_be_disabled()
    expect(status(page)).not_to_contain_text("Error against the truth")
    assert columns(page, "cells", "mean")[0] and columns(page, "last", "truth") == [0]
    press(page, "further still")
    press(page, "Reveal the truth")
    expect(page.get_by_text("You said: further still.")).to_be_visible(timeout=WAIT)
    expect(status(page)).to_contain_text("Error against the truth")
    url(page, "guess=further&reveal=yes")
    changed(page, "last", "truth", 0)

    press(page, "Moving draws")
    url(page, "show=draws")
    page.wait_for_function(f"() => ({COLUMNS})(['last', ['draw']])[0]", timeout=WAIT)
    chip = cost(page, "draws")
    for _ in range(3):
        changed(page, "last", "draw", columns(page, "last", "draw")[0])
    expect(chip).to_contain_text("posterior")
    page.mouse.click(*at(page, "last", 5, 5))                       # and rest
    page.wait_for_timeout(300)
    before = columns(page, "last", "draw")
    page.wait_for_timeout(500)
    assert columns(page, "last", "draw") == before

    page.get_by_role("combobox", name=re.compile("^Cell shape")).click()
    page.get_by_role("menuitem", name="Strips", exact=True).click()
    url(page, "shape=strips")
    expect(status(page)).to_contain_text("(strips 0.204 km wide, as many as squares",
                                         timeout=WAIT)
    expect(page.get_by_text("Error by shape of as many cells")).to_contain_text(
        "strips", timeout=WAIT)
    page.get_by_role("combobox", name=re.compile("^Second lengthscale")).click()
    page.get_by_role("menuitem", name="half", exact=True).click()
    expect(page.get_by_text("B: lengthscale 0.5 km, log evidence")).to_be_visible(timeout=WAIT)


@pytest.mark.parametrize("tab, shown", [("line", "line"), ("map", "cells")])
def test_pages_fit_their_window(page, apps_url, tab, shown):
    """The smaller window is loaded, the larger one is what it is then made."""
    page.set_viewport_size({"width": 1280, "height": 800})
    open_app(page, f"{apps_url}/granularity?tab={tab}")
    narrow = page.evaluate(FRAME, shown)["width"]
    for width, height in ((1280, 800), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(f"""([width, least]) => {{ const found = ({FRAME})('{shown}')
            return found.left + found.width <= width && found.width >= least }}""",
                               arg=[width, narrow + (width > 1280)], timeout=WAIT)
        frame = page.evaluate(FRAME, shown)
        assert 0 <= frame["left"] and frame["left"] + frame["width"] <= width
        assert frame["top"] < 0.6 * height                          # and is seen at once
        box = page.locator(".main-content")
        assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
    page.set_viewport_size({"width": 390, "height": 844})           # what was wide shrinks again
    page.wait_for_function(f"() => ({BEYOND})().length === 0", timeout=WAIT)
