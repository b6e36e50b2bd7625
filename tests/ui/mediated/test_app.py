"""The app "mediated" in a browser: offline, linked, models on one scale, and a URL for each state.

To load a page takes seconds, so each test is a journey over one page. Milliseconds are printed,
not asserted: the machine may serve other jobs too.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.ui.kit import FIGURE, IMAGE, WAIT, idle, move, press, status, url
from workbench.ui.mediated.model import NAMES

pytestmark = pytest.mark.ui

SCALES = """() => ['target', 'truth', 'mean'].map(name => {
  const plot = (FIGURE)(name)
  const colours = plot.renderers[0].glyph.color_mapper
  return [colours.low, colours.high]
})""".replace("FIGURE", FIGURE)
RANGE = """name => { const plot = (FIGURE)(name)
  return [plot.x_range.start, plot.x_range.end] }""".replace("FIGURE", FIGURE)


def open_app(page, url):
    page.goto(url, timeout=WAIT)
    expect(status(page)).to_contain_text("RMSE", timeout=WAIT)
    idle(page)


def image(page, name):
    return page.evaluate(IMAGE, name)


def changed(page, name, before):
    page.wait_for_function(f"([name, before]) => ({IMAGE})(name)[0] !== before",
                           arg=[name, before[0]], timeout=WAIT)


def cost(page, event):
    chip = page.locator(".MuiChip-label").filter(
        has_text=re.compile("exact|interpolated|inducing")).first
    print(f"{event}: {chip.inner_text()}")
    return chip


def test_sliders_and_models_move_the_maps_on_one_scale(page, apps_url):
    """The fixture fails the test on any request off this machine and on any script error."""
    open_app(page, f"{apps_url}/mediated?side=8")
    expect(page.get_by_text("28 bags report covariates, 28 other blocks of 36 km")).to_be_visible()
    expect(page.get_by_text("pixels of 4.5 km.")).to_be_visible()
    controls = re.findall(r"- (button|slider|combobox|radio|checkbox|switch|link)\b(.*)",
                          page.locator("body").aria_snapshot())
    assert len(controls) >= 12          # the rest is asked for
    assert [c for c in controls if '"' not in c[1]] == []
    cost(page, "start")
    scales = page.evaluate(SCALES)
    assert scales[0] == scales[1] == scales[2]
    shown = {name: image(page, name) for name in ("target", "truth", "mean", "width", "error")}

    assert not page.get_by_label("Ridge λ").first.is_visible()
    press(page, "Advanced")
    move(page, "Lengthscale of k (places)", "ArrowRight")
    url(page, "lengthscale=100&")
    changed(page, "mean", shown["mean"])
    expect(cost(page, "lengthscale of k")).to_contain_text(
        re.compile(r"\d kernel evaluations"), timeout=WAIT)      # of the grid's displacements alone
    moved = image(page, "mean")
    move(page, "Ridge λ", "ArrowRight")
    url(page, "ridge=1e-05&")
    changed(page, "mean", moved)
    expect(cost(page, "ridge")).to_contain_text("no new kernel evaluations", timeout=WAIT)
    assert image(page, "target") == shown["target"] and image(page, "truth") == shown["truth"]

    for name in ("var-cmp", "aggregated-gp", "bagg-gp", "bilinear"):
        label = NAMES[name]
        before = image(page, "mean")
        page.get_by_role("combobox", name=re.compile("^Model")).click()
        page.get_by_role("menuitem", name=label, exact=True).click()
        url(page, f"model={name}&")
        changed(page, "mean", before)
        expect(status(page)).to_contain_text(f"{label}: RMSE")
        cost(page, label)
        assert page.evaluate(SCALES) == scales
    assert page.locator("table.wb-table tbody tr").count() == 5
    page.evaluate("""() => { for (const m of Bokeh.documents[0]._all_models.values())
        if (m.type === 'Figure' && m.name === 'truth') m.x_range.setv({start: -200, end: 0}) }""")
    assert page.evaluate(RANGE, "mean") == [-200, 0]                # zoom is linked


def test_new_bags_learning_and_the_map_in_full(page, apps_url):
    open_app(page, f"{apps_url}/mediated?side=12&share=0&mediator=place&far=4&ridge=1e-07")
    expect(status(page)).to_contain_text("CMP equals the aggregated GP")
    page.get_by_role("combobox", name=re.compile("^Unmatched")).click()
    page.get_by_role("menuitem", name=re.compile("^50 %")).click()
    expect(status(page)).to_contain_text("No bag is similar to any target", timeout=WAIT)
    url(page, "share=0.5&")
    press(page, "Fit hyperparameters (moves the sliders)")
    expect(page.get_by_text("Fitted to the targets")).to_be_visible(timeout=WAIT)
    cost(page, "learn it")
    url(page, "status=fitted&at=.*lengthscale:.*evidence:")
    told = page.get_by_text("Fitted to the targets").inner_text()
    page.reload()                           # somebody else at the same address
    expect(page.get_by_text(told, exact=True)).to_be_visible(timeout=WAIT)
    coarse = image(page, "mean")
    press(page, "Full resolution: 1.5 km pixels")
    expect(page.get_by_text("pixels of 1.5 km.")).to_be_visible(timeout=WAIT)
    assert image(page, "mean")[1] == 9 * coarse[1]
    cost(page, "full resolution")
    move(page, "Noise σ of a target", "ArrowRight")
    expect(page.get_by_text("pixels of 4.5 km.")).to_be_visible(timeout=WAIT)
    expect(page.get_by_text("Preview, not fitted: hyperparameters are those")).to_be_visible()
    url(page, "status=preview&at=$")


def test_urls_restore_states_and_what_cannot_be_is_said(page, apps_url):
    open_app(page, f"{apps_url}/mediated?source=made&side=9&model=gpr&noise=7&shape=hexagon")
    expect(status(page)).to_contain_text("(GPR): RMSE")
    expect(page.get_by_text("noise=7 (")).to_be_visible()
    expect(page.get_by_text("shape (no such setting)")).to_be_visible()
    url(page, "source=made.*side=9.*model=gpr.*noise=1.4")
