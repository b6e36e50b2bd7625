"""From the server's first page to a report on a map of one's own areas, with the keyboard alone."""

import re

import geopandas
import numpy as np
import pytest
import rasterio
from playwright.sync_api import TimeoutError, expect

from tests.ui.disaggregate.made_files import districts, kit
from tests.ui.kit import idle, status, url

pytestmark = pytest.mark.ui

FOCUSED = "one => one.getRootNode().activeElement === one"
MOST = 90           # presses of Tab that lead round the page


def tab_to(page, target):
    """Press Tab until something has the focus."""
    expect(target).to_be_enabled()
    for _ in range(MOST):
        if target.evaluate(FOCUSED):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"no Tab leads to {target}")


def enter(page, role, name, within=None):
    """Go to a control by Tab, and press Enter on it."""
    tab_to(page, (within or page).get_by_role(role, name=name, exact=isinstance(name, str)))
    page.keyboard.press("Enter")


def chooser(page, field):
    """What the browser asks when a field of files is opened by key; a page still busy may not."""
    for _ in range(20):
        tab_to(page, field)
        try:
            with page.expect_file_chooser(timeout=4_000) as asked:
                page.keyboard.press("Space")
            return asked.value
        except TimeoutError:
            continue
    pytest.fail("the field of files cannot be opened by key")


def saved(page, name, path):
    """What a button of the exports downloads."""
    with page.expect_download() as download:
        enter(page, "button", name)
    download.value.save_as(path)
    return path


def test_own_areas_become_a_judged_map_an_export_and_a_report_by_keys_alone(
        page, apps_url, tmp_path):
    page.goto(apps_url + "/")
    enter(page, "link", "Map your own areas")
    dialog = page.get_by_role("dialog", name="Your own data")
    expect(dialog).to_be_visible()
    idle(page)
    chosen = chooser(page, page.locator("input[type=file][multiple]"))
    chosen.set_files([
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        for name, content in kit(tmp_path, missing=5).items()])
    expect(dialog).to_contain_text(
        "Taken as areas: districts.gpkg; population: people.tif; covariates: height.tif.")
    enter(page, "button", "Check", dialog)
    expect(dialog).to_contain_text("1 area has no value")
    expect(dialog.get_by_role("button", name="Use these data")).to_have_count(0)
    enter(page, "button", "Leave these areas out", dialog)
    expect(dialog).to_contain_text("Done: leave these areas out")
    enter(page, "button", "Use these data", dialog)
    expect(dialog).to_be_hidden()
    expect(status(page)).to_contain_text("11 areas → 396 pixels. Mean rate")

    enter(page, "button", "Fit")
    verdict = page.get_by_role("note").filter(has_text="of the held-out areas")
    expect(verdict).to_be_visible()
    expect(page.get_by_role("note").filter(has_text=re.compile("^ready$"))).to_be_visible()
    url(page, "status=fitted")

    enter(page, "button", re.compile("^Report: "))
    url(page, "step=report")
    pixels = geopandas.read_file(saved(page, "GeoPackage", tmp_path / "map.gpkg"), layer="pixels")
    with rasterio.open(saved(page, "GeoTIFF", tmp_path / "map.tif")) as file:
        bands = {name: file.read(k, masked=True) for k, name in enumerate(file.descriptions, 1)}
        assert file.crs.to_epsg() == 32738
    mean, people = (bands[name].compressed() for name in ("mean", "weight"))
    assert mean.size == len(pixels) == 396
    np.testing.assert_allclose(np.sort(mean), np.sort(pixels["mean"]), rtol=1e-5)
    told = float(re.search(r"Mean rate ([\d.]+)", status(page).inner_text())[1])
    assert 1000 * np.average(mean, weights=people) == pytest.approx(told, rel=0.006)
    counted = (bands["observed"].compressed() * people).sum()
    assert counted == pytest.approx(districts(missing=5)["cases"].sum(), rel=1e-4)
    report = saved(page, "Report (HTML)", tmp_path / "report.html").read_text()
    assert "<script" not in report and "Preview, not fitted" not in report
    for said in ("cases of districts", "11 areas, 396 individuals", "recovered from merged ones"):
        assert said in report


def test_a_place_is_explained_and_left_by_keys_alone(page, apps_url):
    page.goto(f"{apps_url}/disaggregate?dataset=simulated-country&granularity=region&model=constant")
    expect(status(page)).to_contain_text("Mean rate")
    idle(page)
    enter(page, "button", "Explain the highest estimate")
    expect(page.get_by_role("group", name=re.compile("^Place: "))).to_be_focused()
    heading = page.get_by_role("heading", name=re.compile("in area Region"))
    first = heading.inner_text()
    page.keyboard.press("ArrowDown")
    expect(heading).not_to_have_text(first)
    page.keyboard.press("Escape")
    expect(heading).to_be_hidden()
    expect(page.get_by_role("button", name="Explain the highest estimate")).to_be_focused()
