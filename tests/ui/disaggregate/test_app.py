"""The app in a browser: offline, alive while it works, linkable, and plain about errors.

To load a page takes seconds, so each test is a journey over one page, or two.
"""

import json
import re

import pytest
from playwright.sync_api import expect

import workbench as wb
from tests.ui.disaggregate.pages import FINGERPRINT, fingerprint, moved_from, open_app
from tests.ui.kit import FIGURE, WAIT, press, status

pytestmark = pytest.mark.ui

SMALL = "/disaggregate?dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear"
QUICK = "/disaggregate?dataset=simulated-country&granularity=region&model=vbagg&kernel=linear"
# Kind and ends of the colours of a map.
COLOURS = """name => {
  const shown = (FIGURE)(name)
  const glyph = shown.renderers[0].glyph
  const mapper = glyph.color_mapper ?? glyph.fill_color.transform
  return [mapper.type, mapper.low, mapper.high]
}""".replace("FIGURE", FIGURE)


def badge(page):
    return page.locator(".MuiChip-label").first


def combobox(page, label):
    return page.get_by_role("combobox", name=re.compile(f"^{label}"))


def choose(page, label, option):
    combobox(page, label).click()
    page.get_by_role("menuitem", name=option, exact=True).click()


def test_the_first_page_and_a_fit_that_is_cancelled(page, apps_url):
    """The fixture fails the test on any request off this machine and on any script error."""
    open_app(page, f"{apps_url}/disaggregate")
    expect(status(page)).to_contain_text("120 areas → 10,000 pixels")
    expect(badge(page)).to_contain_text("Preview, not fitted: one model at its starting values")
    assert all(fingerprint(page))
    snapshot = page.locator("body").aria_snapshot()
    controls = re.findall(r"- (button|slider|combobox|textbox|radio|checkbox|switch|link)\b(.*)",
                          snapshot)
    assert len(controls) >= 16
    assert [c for c in controls if '"' not in c[1]] == []
    for name in ("Lengthscale", "Variance"):
        expect(page.get_by_role("slider", name=name)).to_have_count(1)
    for name in ("Fit", "NetCDF", "Settings (JSON)", "autoscale"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(1)

    press(page, "Fit")
    expect(page.get_by_text(re.compile(r"fitting model 1 of \d.*step \d"))).to_be_visible(
        timeout=WAIT)
    locked = page.evaluate(COLOURS, "mean")
    press(page, "autoscale")                                # the page answers meanwhile
    expect(page).to_have_url(re.compile("colours=auto"))
    page.wait_for_function(f"([name, before]) => ({COLOURS})(name)[2] !== before[2]",
                           arg=["mean", locked], timeout=WAIT)
    press(page, "Cancel")
    expect(badge(page)).to_contain_text("cancelled: best state so far", timeout=WAIT)
    # The last step says so, too, once the map was tested.
    expect(page.get_by_text("ready", exact=True).first).to_be_visible(timeout=WAIT)


def test_auto_is_fitted_and_says_what_weighs_what(page, apps_url):
    open_app(page, f"{apps_url}/disaggregate?dataset=swiss-roll&granularity=10")
    before = fingerprint(page)
    for name in ("Kernel", "Link"):
        expect(page.get_by_role("combobox", name=re.compile(f"^{name}"))).to_be_disabled()
    press(page, "Fit")
    expect(badge(page)).to_contain_text("hyperparameters learnt", timeout=WAIT)
    moved_from(page, before)
    expect(page.get_by_role("row", name=re.compile("^Auto"))).to_be_visible(timeout=WAIT)
    choose(page, "Model", "VBAgg: GP on individuals, variational")
    expect(page).to_have_url(re.compile("model=vbagg"))
    expect(badge(page)).to_contain_text("starting values. Press Fit", timeout=WAIT)
    expect(page.get_by_role("combobox", name=re.compile("^Kernel"))).to_be_enabled()


def test_controls_move_map_text_and_url_and_results_can_be_downloaded(page, apps_url, tmp_path):
    open_app(page, apps_url + QUICK)
    ready = page.get_by_text("ready", exact=True).first
    expect(ready).to_be_visible(timeout=WAIT)
    before, text = fingerprint(page), status(page).inner_text()
    page.get_by_role("slider", name="Variance").focus()
    page.keyboard.press("ArrowRight")
    expect(status(page)).not_to_have_text(text, timeout=WAIT)
    expect(page).to_have_url(re.compile("variance=0.001"), timeout=WAIT)
    moved_from(page, before)        # a first answer, which is then found on all individuals
    expect(ready).to_be_visible(timeout=WAIT)
    moved = fingerprint(page)
    choose(page, "Threshold", "150")
    expect(status(page)).to_contain_text("above 150", timeout=WAIT)
    assert moved_from(page, moved, 2)[:2] == moved[:2]
    page.get_by_label("Logarithmic colours").click()
    page.wait_for_function(f"name => ({COLOURS})(name)[0] === 'LogColorMapper'", arg="known",
                           timeout=WAIT)
    page.get_by_role("slider", name="Variance").focus()
    page.keyboard.press("ArrowLeft")

    press(page, "Fit")
    expect(badge(page)).to_contain_text("hyperparameters learnt", timeout=WAIT)
    given = fingerprint(page)
    expect(badge(page)).not_to_contain_text("area effect")
    page.get_by_label("Include area effect").click()
    expect(badge(page)).to_contain_text("area effect left out", timeout=WAIT)
    moved_from(page, given)
    expect(page).to_have_url(re.compile("area_effect=no"))
    with page.expect_download() as download:
        press(page, "Settings (JSON)")
    download.value.save_as(tmp_path / "spec.json")
    spec = json.loads((tmp_path / "spec.json").read_text())
    assert (spec["dataset"], spec["level"], spec["options"]["kernel"], spec["area_effect"]) == (
        "simulated-country", "region", "linear", False)
    with page.expect_download() as download:
        press(page, "NetCDF")
    download.value.save_as(tmp_path / "maps.nc")
    maps = wb.read(tmp_path / "maps.nc")
    assert maps.sizes["individual"] == 10_000 and "exceedance" in maps
    carried = wb.Spec.from_json(maps.attrs["spec"])
    assert (carried.model, carried.threshold, carried.area_effect) == ("vbagg", 0.15, False)

    choose(page, "Overdispersion", "none")
    choose(page, "Nugget", "none")
    expect(page.get_by_label("Include area effect")).to_be_hidden()
    expect(badge(page)).not_to_contain_text("area effect", timeout=WAIT)


def test_urls_restore_states_sessions_are_apart_and_errors_are_said(page, apps_url, context):
    open_app(page, apps_url + QUICK + "&threshold=30&variance=0.1&lengthscale=-7&link=cubic")
    expect(status(page)).to_contain_text("24 areas")
    expect(status(page)).to_contain_text("above 30")
    expect(page.get_by_text("link=cubic (exp used); lengthscale=-7 (learnt used)")).to_be_visible(
        timeout=WAIT)
    expect(page).to_have_url(re.compile("link=exp"))
    expect(page).to_have_url(re.compile("variance=0.1&"))

    other = context.new_page()
    open_app(other, apps_url + QUICK)
    mine, theirs = fingerprint(page), fingerprint(other)
    choose(other, "Threshold", "20")
    expect(status(other)).to_contain_text("above 20", timeout=WAIT)
    moved_from(other, theirs, 2)
    assert fingerprint(page) == mine
    expect(status(page)).to_contain_text("above 30")
    other.close()

    combobox(page, "Link").click()                          # what cannot work is not offered
    expect(page.get_by_role("menuitem", name="identity", exact=True)).to_be_disabled()
    page.keyboard.press("Escape")
    choose(page, "Likelihood", "Normal")
    normal = moved_from(page, mine)
    choose(page, "Link", "identity")
    moved_from(page, normal)
    expect(page.get_by_text("Not offered: these likelihoods need positive rates")).to_have_count(0)
    combobox(page, "Likelihood").click()
    expect(page.get_by_role("menuitem", name="Poisson", exact=True)).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.get_by_role("row", name=re.compile("^VBAgg"))).to_be_visible(timeout=WAIT)
    choose(page, "Areas seen", "6 provinces")
    expect(status(page)).to_contain_text("6 areas", timeout=WAIT)


def test_a_fit_is_in_the_address_the_history_and_a_file(page, apps_url, tmp_path):
    open_app(page, apps_url + SMALL)
    before = fingerprint(page)
    expect(badge(page)).to_contain_text("Preview, not fitted")
    expect(page).to_have_url(re.compile("status=preview&at=$"))
    press(page, "Fit")
    expect(page).to_have_url(re.compile("status=fitted&at=mean:"), timeout=WAIT)
    after, address = moved_from(page, before), page.url

    page.go_back()
    expect(badge(page)).to_contain_text("Preview, not fitted", timeout=WAIT)
    page.wait_for_function(f"before => ({FINGERPRINT})()[0] === before[0]", arg=before,
                           timeout=WAIT)
    with page.expect_download() as download:
        press(page, "Settings (JSON)")
    assert download.value.suggested_filename == "settings-swiss-roll-preview.json"
    press(page, "Redo")
    expect(badge(page)).to_contain_text("hyperparameters learnt", timeout=WAIT)
    with page.expect_download() as download:
        press(page, "Save session")
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)

    press(page, "Reset to the example")
    expect(status(page)).to_contain_text("120 areas", timeout=WAIT)
    page.locator("input[type=file]").set_input_files(file)
    expect(page).to_have_url(address, timeout=WAIT)
    expect(status(page)).to_contain_text("10 areas → 4,285", timeout=WAIT)
    expect(badge(page)).to_contain_text("hyperparameters learnt", timeout=WAIT)
    page.wait_for_function(f"after => ({FINGERPRINT})()?.[1] === after[1]", arg=after, timeout=WAIT)


def test_points_and_polygons_scores_and_a_narrow_page(page, apps_url):
    open_app(page, f"{apps_url}/disaggregate?dataset=swiss-roll&model=constant")
    expect(status(page)).to_contain_text("50 areas")
    points = fingerprint(page)
    assert points[0] != 0
    expect(page.get_by_role("row", name=re.compile("^One rate"))).to_be_visible(timeout=WAIT)
    press(page, "bars")
    expect(page.get_by_role("row", name=re.compile("^One rate"))).to_be_hidden()
    page.wait_for_function("""() => [...Bokeh.documents[0]._all_models.values()].filter(
        m => m.type === 'Figure' && m.title?.text?.includes('lower is better')).length === 2""",
                           timeout=WAIT)

    page.set_viewport_size({"width": 900, "height": 700})
    maps = page.get_by_text("Compare with the estimate")
    charts = page.get_by_text("Calibration and scores of", exact=True)
    below = maps.bounding_box()
    assert charts.bounding_box()["y"] >= below["y"] + below["height"]   # nothing lies over the maps

    choose(page, "Dataset", "Korea: deaths 2020 (real)")
    expect(status(page)).to_contain_text("250 areas → 3,487 individuals. Mean", timeout=WAIT)
    moved_from(page, points)
