"""The app "sources" in a browser: offline, sliders and bars that move posteriors, and URLs.

To load a page takes seconds, so each test is a journey over one page. Milliseconds are printed,
not asserted: the machine may serve other jobs too.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.ui.kit import FIGURE, WAIT, at_rest, idle, move, status, url

pytestmark = pytest.mark.ui

# A number that says what a column of a figure's first glyph's source holds.
COLUMN = """([figure, column]) => {
  const plot = (FIGURE)(figure)
  for (const drawn of plot.renderers) {
    const held = drawn.data_source?.data, found = held?.get?.(column) ?? held?.[column]
    if (found === undefined || !found.length) continue
    const values = typeof found[0] === 'object' ? found[0] : found
    let total = 0
    for (let k = 0; k < values.length; k++)
      if (Number.isFinite(values[k])) total += values[k] * (1 + (k % 97))
    return Math.round(total * 1e3)
  }
  return null
}""".replace("FIGURE", FIGURE)
# Where a place of a figure is on the page.
WHERE = """([figure, x, y]) => {
  for (const view of Bokeh.index.all_views()) {
    if (view.model.type !== 'Figure' || view.model.name !== figure) continue
    if (!view.is_displayed) continue
    const {left, top} = view.el.getBoundingClientRect()
    return [left + view.frame.x_scale.compute(x), top + view.frame.y_scale.compute(y)]
  }
}"""


def open_app(page, url):
    page.goto(url, timeout=WAIT)
    expect(page.get_by_text("ready", exact=True)).to_be_visible(timeout=WAIT)
    idle(page)


def column(page, figure, name):
    return page.evaluate(COLUMN, [figure, name])


def changed(page, figure, name, before):
    page.wait_for_function(f"([f, c, before]) => ({COLUMN})([f, c]) !== before",
                           arg=[figure, name, before], timeout=WAIT)


def drag(page, figure, start, end):
    page.mouse.move(*page.evaluate(WHERE, [figure, *start]))
    page.mouse.down()
    there = page.evaluate(WHERE, [figure, *end])
    page.mouse.move(*there, steps=12)
    page.mouse.up()


def test_sliders_bars_and_presets_move_the_posteriors(page, apps_url):
    """The fixture fails the test on any request off this machine and on any script error."""
    open_app(page, f"{apps_url}/sources")
    expect(status(page)).to_contain_text("the posterior variance is 0.56 times")
    expect(status(page)).to_contain_text("Estimated weights: Ribatet 0.5", timeout=WAIT)
    controls = re.findall(r"- (button|slider|combobox|radio|checkbox|switch|link)\b(.*)",
                          page.locator("body").aria_snapshot())
    assert len(controls) >= 20
    assert [c for c in controls if '"' not in c[1]] == []

    product, composite = column(page, "line", "product"), column(page, "line", "composite_low")
    move(page, "Composite weight φ", "ArrowRight")
    url(page, "weight=0.51&")
    changed(page, "line", "composite_low", composite)
    assert column(page, "line", "product") == product
    page.get_by_role("button", name=re.compile("^Use Ribatet's 0.5")).click()
    url(page, "weight=0.54&")
    move(page, "Lengthscale", "ArrowLeft")
    url(page, "lengthscale=1&")
    changed(page, "line", "product", product)
    print(page.locator(".MuiChip-label").filter(has_text="exact").first.inner_text())

    drag(page, "strip", (15, 2), (9, 2))                # the right end of source 2's bar
    url(page, "~-2_9_100_3_")
    drag(page, "strip", (3, 2), (6, 2))                 # all of it
    url(page, "~1_12_100_3_.*chosen=2")
    expect(page.get_by_text(re.compile("^Support"))).to_contain_text("1 .. 12", timeout=WAIT)
    page.get_by_role("button", name="Add a source").click()
    url(page, "chosen=3")
    page.get_by_role("button", name="Remove source").click()
    url(page, "chosen=2")

    page.get_by_role("button", name="Teach: duplicated source").click()
    expect(status(page)).to_contain_text("it is 1.00 times, and they cover", timeout=WAIT)
    expect(status(page)).to_contain_text("Ribatet 0.50, Lyddon 0.50", timeout=WAIT)


def test_a_function_is_drawn_and_mr_dgp_learnt_beside_it(page, apps_url):
    open_app(page, f"{apps_url}/sources?truth=drawn&sources=-2_15_50_1_1_0_0.3_0~"
                   "-2_15_100_5_0.5_0_0.1_0")
    before = column(page, "line", "truth")
    at_rest(lambda: page.evaluate(WHERE, ["line", 0, 0]),
            lambda: drag(page, "line", (0, 1), (12, 5)))
    url(page, r"drawn=2.5_2.5_.*_[34](\.\d)?_.*&draw=0")      # a line that climbs from 1 to 5
    changed(page, "line", "truth", before)
    page.get_by_role("switch", name="Fit deep GPs too").or_(
        page.get_by_role("checkbox", name="Fit deep GPs too")).first.click()
    url(page, "experts=yes")
    expect(page.locator("table.wb-table").first).to_contain_text("MR-DGP", timeout=WAIT)
    assert column(page, "shares", "high0") is not None


def test_the_city_is_mapped_and_its_stations_are_clicked(page, apps_url):
    open_app(page, f"{apps_url}/sources?tab=city&hour=6")
    expect(status(page)).to_contain_text("(MR-DGP), fitted to stations and satellite:",
                                         timeout=WAIT)
    shown = column(page, "city", "mean")
    move(page, "Hour", "ArrowRight")
    url(page, "hour=7&")
    changed(page, "city", "mean", shown)
    page.get_by_role("button", name="error", exact=True).click()
    url(page, "shown=error&")
    where = page.evaluate("""() => {
      const models = Bokeh.documents.flatMap(doc => [...doc._all_models.values()])
      const plot = models.filter(m => m.type === 'Figure' && m.name === 'city').at(-1)
      for (const drawn of plot.renderers) {
        const held = drawn.data_source.data, get = name => held.get?.(name) ?? held[name]
        if (get('kind')) return [get('name')[3], get('x')[3], get('y')[3]]
      }
    }""")
    page.mouse.click(*page.evaluate(WHERE, ["city", *where[1:]]))
    url(page, f"station={where[0]}")
    expect(page.locator("table.wb-table").last).to_contain_text("converged, stored")


def test_urls_restore_states_and_what_cannot_be_is_said(page, apps_url):
    open_app(page, f"{apps_url}/sources?weight=1.2&lengthscale=7&kernel=matern32&shape=round"
                   "&sources=1_2_3")
    expect(page.get_by_text("lengthscale=7 (")).to_be_visible()
    expect(page.get_by_text("shape (no such setting)")).to_be_visible()
    expect(page.get_by_text("sources=1_2_3 (")).to_be_visible()
    url(page, "kernel=matern32.*lengthscale=1.1.*weight=1.2")
    expect(status(page)).to_contain_text("at weight 1.2")


def test_pictures_report_and_table_are_taken_away(page, apps_url):
    open_app(page, f"{apps_url}/sources?weight=0.9")

    def content(button):
        with page.expect_download(timeout=WAIT) as made:
            page.get_by_role("button", name=button, exact=True).click()
        assert made.value.suggested_filename.startswith("sources-line-waves.")
        return made.value.path().read_bytes()

    assert content("PNG").startswith(b"\x89PNG")
    assert content("SVG").count(b"<svg") > 2
    report = content("Report (HTML)").decode()
    assert report.count("data:image/png;base64,") >= 3 and "<!-- pictures -->" not in report
    assert "at weight 0.9" in report and "wb.MRGP(" in report
    assert content("CSV").startswith(b"x,truth,alone,")
