"""The app in a browser: offline, alive while it works, linkable, and plain about errors."""

import json
import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.ui

QUICK = "/disaggregate?dataset=simulated-country&granularity=region&kernel=linear"
WAIT = 150_000     # milliseconds; generous, for two cores may serve other jobs too
# What is shown of the fine maps, as one number per column of their source.
FINGERPRINT = """() => {
  const wanted = ['mean', 'std', 'exceedance']
  const column = (model, name) => model.data.get?.(name) ?? model.data[name]
  for (const doc of Bokeh.documents)
    for (const model of doc._all_models.values())
      if (model.type === 'ColumnDataSource' && column(model, 'mean') !== undefined)
        return wanted.map(name => {
          let total = 0, k = 0
          for (const part of column(model, name))
            for (const v of (part.length === undefined ? [part] : part))
              if (Number.isFinite(v)) total += v * (1 + (k++ % 97))
          return Math.round(total * 1000)
        })
  return null
}"""


def open_app(page, url):
    page.goto(url, timeout=WAIT)
    expect(status(page)).to_contain_text("areas →", timeout=WAIT)
    expect_ready(page)


def status(page):
    return page.get_by_role("status").first


def badge(page):
    return page.locator(".MuiChip-label").first


def expect_ready(page):
    expect(page.get_by_text("ready", exact=True)).to_be_visible(timeout=WAIT)


def fingerprint(page):
    found = page.evaluate(FINGERPRINT)
    assert found is not None, "no fine maps on the page"
    return found


def moved_from(page, before, column=0):
    """The maps once a column of them is another than before; text and maps come one by one."""
    page.wait_for_function(f"([before, k]) => ({FINGERPRINT})()[k] !== before[k]",
                           arg=[before, column], timeout=WAIT)
    return fingerprint(page)


def choose(page, label, option):
    page.get_by_role("combobox", name=re.compile(f"^{label}")).click()
    page.get_by_role("menuitem", name=option, exact=True).click()


def test_the_default_page_shows_maps_and_its_controls_have_names(page, apps_url):
    """The fixture fails the test on any request off this machine and on any script error."""
    open_app(page, f"{apps_url}/disaggregate")
    expect(status(page)).to_contain_text("120 areas → 10,000 individuals")
    expect(badge(page)).to_contain_text("quick look")
    assert all(fingerprint(page))
    snapshot = page.locator("body").aria_snapshot()
    controls = re.findall(r"- (button|slider|combobox|textbox|radio|checkbox|link)\b(.*)", snapshot)
    assert len(controls) >= 14
    assert [c for c in controls if '"' not in c[1]] == []
    for name in ("Lengthscale", "Variance"):
        expect(page.get_by_role("slider", name=name)).to_have_count(1)
    for name in ("Fit", "Maps (NetCDF)", "Settings (JSON)", "autoscale"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(1)


def test_a_slider_and_a_selector_move_map_text_and_url(page, apps_url):
    open_app(page, apps_url + QUICK)
    before, text = fingerprint(page), status(page).inner_text()
    page.get_by_role("slider", name="Variance").focus()
    page.keyboard.press("ArrowRight")
    expect(status(page)).not_to_have_text(text, timeout=WAIT)
    expect_ready(page)
    moved = moved_from(page, before)
    expect(page).to_have_url(re.compile("variance=0.001"))
    choose(page, "Threshold", "150")
    expect(status(page)).to_contain_text("above 150")
    assert moved_from(page, moved, 2)[:2] == moved[:2]
    choose(page, "Areas seen", "6 provinces")
    expect(status(page)).to_contain_text("6 areas", timeout=WAIT)


def test_a_fit_shows_progress_and_can_be_cancelled(page, apps_url):
    open_app(page, f"{apps_url}/disaggregate")
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.get_by_text(re.compile(r"learning.*step \d"))).to_be_visible(timeout=WAIT)
    page.get_by_role("button", name="autoscale").click()    # the page answers meanwhile
    expect(page).to_have_url(re.compile("colours=auto"))
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(badge(page)).to_contain_text("stopped early", timeout=WAIT)
    expect_ready(page)


def test_a_finished_fit_is_learnt_and_can_be_downloaded(page, apps_url, tmp_path):
    open_app(page, apps_url + QUICK)
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(badge(page)).to_contain_text("hyperparameters learnt", timeout=WAIT)
    expect_ready(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Settings (JSON)").click()
    download.value.save_as(tmp_path / "spec.json")
    spec = json.loads((tmp_path / "spec.json").read_text())
    assert (spec["dataset"], spec["level"], spec["options"]["kernel"]) == (
        "simulated-country", "region", "linear")
    with page.expect_download() as download:
        page.get_by_role("button", name="Maps (NetCDF)").click()
    download.value.save_as(tmp_path / "maps.nc")
    import workbench as wb

    maps = wb.read(tmp_path / "maps.nc")
    assert maps.sizes["individual"] == 10_000 and "exceedance" in maps
    assert wb.Spec.from_json(maps.attrs["spec"]).model == "vbagg"


def test_a_url_restores_the_state_and_bad_values_are_said(page, apps_url):
    open_app(page, apps_url + QUICK + "&threshold=30&variance=0.1&lengthscale=7&link=cubic")
    expect(status(page)).to_contain_text("24 areas")
    expect(status(page)).to_contain_text("above 30")
    expect(page.get_by_text("link=cubic is not offered here")).to_be_visible()
    expect(page.get_by_text("lengthscale=7 is not offered here")).to_be_visible()
    expect(page).to_have_url(re.compile("link=exp"))
    expect(page).to_have_url(re.compile("variance=0.1&"))


def test_an_impossible_request_is_explained_and_the_maps_stay(page, apps_url):
    open_app(page, apps_url + QUICK)
    before = fingerprint(page)
    choose(page, "Link", "identity")
    expect(page.get_by_text("needs positive rates").first).to_be_visible(timeout=WAIT)
    assert fingerprint(page) == before
    choose(page, "Likelihood", "Normal")
    expect(page.get_by_text("needs positive rates")).to_have_count(0, timeout=WAIT)
    expect_ready(page)
    moved_from(page, before)


def test_two_sessions_do_not_disturb_each_other(page, apps_url, context):
    open_app(page, apps_url + QUICK)
    other = context.new_page()
    open_app(other, apps_url + QUICK)
    before = fingerprint(page)
    choose(other, "Threshold", "20")
    expect(status(other)).to_contain_text("above 20")
    moved_from(other, before, 2)
    assert fingerprint(page) == before
    expect(status(page)).to_contain_text("above 75")


@pytest.mark.parametrize("data, text", [
    ("swiss-roll&granularity=50", "50 areas"), ("korea&granularity=province", "17 areas")])
def test_points_and_polygons_are_drawn(page, apps_url, data, text):
    open_app(page, f"{apps_url}/disaggregate?dataset={data}&model=constant")
    expect(status(page)).to_contain_text(text)
    assert fingerprint(page)[0] != 0
