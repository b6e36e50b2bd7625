"""Pages of the app, and what their maps show."""

from playwright.sync_api import expect

from tests.ui.kit import WAIT, status

# What is shown of the fine maps, as one number per column of their source. Models that a page no
# longer shows stay for a while: the last is the one shown.
FINGERPRINT = """() => {
  const column = (model, name) => model.data.get?.(name) ?? model.data[name]
  const shown = Bokeh.documents.flatMap(doc => [...doc._all_models.values()])
    .filter(m => m.type === 'ColumnDataSource' && column(m, 'mean') !== undefined).at(-1)
  return shown && ['mean', 'std', 'exceedance'].map(name => {
    let total = 0, k = 0
    for (const part of column(shown, name))
      for (const v of (part.length === undefined ? [part] : part))
        if (Number.isFinite(v)) total += v * (1 + (k++ % 97))
    return Math.round(total * 1000)
  })
}"""


def open_app(page, url):
    """Open a page and wait for its maps; what is done before the scores come spares them."""
    page.goto(url, timeout=WAIT)
    expect(status(page)).to_contain_text("Mean rate", timeout=WAIT)
    page.wait_for_function(f"() => ({FINGERPRINT})()?.[0]", timeout=WAIT)


def fingerprint(page):
    found = page.evaluate(FINGERPRINT)
    assert found, "no fine maps on the page"
    return found


def moved_from(page, before, column=0):
    """The maps once a column of them is another than before; text and maps come one by one."""
    page.wait_for_function(f"([before, k]) => ({FINGERPRINT})()[k] !== before[k]",
                           arg=[before, column], timeout=WAIT)
    return fingerprint(page)
