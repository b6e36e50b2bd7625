"""Every kind of file that is read, and broken ones, dropped one after the other on one page."""

import re

import pytest
from playwright.sync_api import expect

from tests.ui.disaggregate.made_files import CRS, EVIL, broken, districts, formats
from tests.ui.kit import idle, press, status
from workbench.checks import InputError
from workbench.geo.grid_areas import UNREAD
from workbench.ui.disaggregate import engine, labels, own
from workbench.ui.disaggregate.columns import likely
from workbench.ui.disaggregate.remedies import remedies
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store

PAGE = "/disaggregate?dataset=swiss-roll&granularity=10&model=constant&step=data"
FORMATS = ("GeoPackage and GeoTIFF", "GeoJSON", "zipped shapefile", "loose shapefile",
           "CSV of totals", "CSV of pixels", "NetCDF raster", "bagged NetCDF")
QUICK = FORMATS[:4]         # whose check other tests run, without a browser
BROKEN = ("truncated", "text", "bomb", "climbing", "empty", "no column", "no areas", "no CRS",
          "apart", "something else", "HTML")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return formats(tmp_path_factory.mktemp("formats"))


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    return broken(tmp_path_factory.mktemp("broken"))


@pytest.mark.slow
@pytest.mark.usefixtures("removed", "one_thread")
@pytest.mark.parametrize("name", ["GeoJSON", "CSV of totals", "NetCDF raster", "bagged NetCDF"])
def test_files_of_a_kind_are_checked_and_mapped(made, name):
    files = own.kept(made[name])
    given = own.options_of(files, "cases", next(iter(likely(files.rasters)), ""),
                           next(iter(files.names), ""))
    found = own.check(*given)
    assert found.ok and not found.of("warning")
    state = State()
    state.add("own-1", own.choice_of(found.data, own.title_of(files), *given))
    state.param.update(model="vbagg", kernel="linear")
    scene, answer = engine.scene(state.spec()), engine.quick(state.spec())
    assert dict(zip(scene.data["bag"].values, scene.data["value"].values, strict=True)) == dict(
        zip(districts()["district"], districts()["cases"], strict=True))
    assert scene.data["covariate"].values.tolist() == ["height"]
    assert answer.mean.size == 432 and (answer.mean > 0).all() and answer.mean.std() > 0.01


@pytest.mark.usefixtures("removed")
def test_refusals_name_the_file_and_no_folder_of_the_server(wrong):
    for name in BROKEN[:7]:
        contents, said = wrong[name]
        with pytest.raises(InputError, match=re.escape(said)) as refused:
            own.kept(contents)
        told = str(refused.value)
        assert any(one in told for one in contents) and "/tmp" not in told, told
        assert "workbench-own" not in told and "pandas" not in told and "sqlite" not in told


def test_a_file_without_a_raster_can_be_left_out_at_a_press(wrong):
    store = Store(State())
    try:
        files = store.keep_own(wrong["something else"][0])
        given = own.options_of(files, "cases")
        found = own.check(*given)
        lacking = next(one for one in found.findings if "other.nc" in one.where)
        [press] = remedies(lacking, given[1])
        assert press.label == "Leave out other.nc"
        assert own.check(given[0], press.applied(given[1])).ok
    finally:
        store.leave()


@pytest.mark.usefixtures("removed")
def test_the_crs_of_a_covariate_is_offered_to_areas_without_one_and_no_error_is_said_twice(wrong):
    contents, _ = wrong["no CRS"]
    parts = {name: one for name, one in contents.items() if name != "people.tif"}
    files = own.kept(parts | {"height.tif": contents["people.tif"]})
    given = own.options_of(files, "cases")
    found = own.check(*given)
    [error] = found.of("error")
    assert error.code == "crs-missing"
    [press] = remedies(error, given[1], found.data.attrs["crs"], degrees=False)
    assert press.label == f"Its CRS is {CRS}"
    assert own.check(given[0], press.applied(given[1])).ok
    alone = own.check(*own.options_of(own.kept(parts), "cases"))        # without any raster
    assert [one.code for one in alone.of("error")] == ["crs-missing"]
    assert [one.what for one in alone.of("note")] == [UNREAD]


def drop(page, contents):
    """Give files to the dialog as a browser does."""
    page.locator("input[type=file][multiple]").set_input_files(
        [{"name": name, "mimeType": "application/octet-stream", "buffer": content}
         for name, content in contents.items()])


def remove(page):
    """Remove all files from the dialog."""
    buttons = page.get_by_role("dialog").get_by_role("button", name=re.compile("^Remove "))
    buttons.last.click()            # of all, where there are several
    expect(buttons).to_have_count(0)


@pytest.mark.ui
def test_files_are_added_and_removed_and_those_without_content_are_said(page, apps_url, made):
    kit = made["GeoPackage and GeoTIFF"]
    page.goto(apps_url + PAGE)
    dialog = page.get_by_role("dialog", name="Your own data")
    expect(dialog).to_be_visible()
    idle(page)
    check, refusal = (dialog.get_by_role("button", name="Check", exact=True),
                      dialog.get_by_role("alert"))
    drop(page, {"people.tif": kit["people.tif"]})
    expect(refusal).to_contain_text("the areas are missing")
    drop(page, {"districts.gpkg": kit["districts.gpkg"], "totals.csv": b""})
    expect(refusal).to_contain_text("totals.csv has no content (0 bytes); export or copy it again")
    expect(check).to_be_disabled()
    # A file without content is told of at once, the other one when it has been sent.
    expect(dialog.get_by_role("button", name="Remove districts.gpkg")).to_be_visible()
    idle(page)
    press(page, "Remove totals.csv")
    expect(refusal).to_have_count(0)
    expect(dialog).to_contain_text(
        "Taken as areas: districts.gpkg; population: people.tif; no covariates")
    expect(dialog.get_by_role("combobox", name="The values are")).to_have_text("counts")
    expect(check).to_be_enabled()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    press(page, "Your own data")
    expect(dialog).to_contain_text("Taken as areas: districts.gpkg; population: people.tif;")
    expect(check).to_be_enabled()

    field = page.locator("label:has(input[type=file][multiple])")     # dropped, not chosen
    field.evaluate("""label => {
      const files = new DataTransfer(), kind = {bubbles: true, composed: true, cancelable: true}
      files.items.add(new File([], 'height.tif'))
      label.dispatchEvent(new DragEvent('drop', {dataTransfer: files, ...kind}))
    }""")
    expect(refusal).to_contain_text("height.tif has no content (0 bytes)")
    drop(page, {"height.tif": kit["height.tif"]})           # that of the same name is replaced
    expect(dialog).to_contain_text("population: people.tif; covariates: height.tif.")
    expect(refusal).to_have_count(0)
    expect(check).to_be_enabled()
    expect(field).to_contain_text(labels.DROPPED)
    remove(page)
    expect(field).to_contain_text(labels.DROP)      # nothing is there to be added to
    expect(check).to_be_disabled()
    drop(page, {"height.tif": kit["height.tif"]})           # the same file once more
    expect(dialog.get_by_role("button", name="Remove height.tif")).to_be_visible()


@pytest.mark.ui
def test_all_formats_are_taken_and_broken_files_are_explained_on_one_page(
        page, apps_url, made, wrong):
    problems = []
    page.on("console", lambda told: told.type == "error" and problems.append(told.text))
    page.on("dialog", lambda opened: (problems.append(opened.message), opened.dismiss()))
    page.goto(apps_url + PAGE)
    dialog = page.get_by_role("dialog", name="Your own data")
    expect(dialog).to_be_visible()
    idle(page)
    check = dialog.get_by_role("button", name="Check", exact=True)
    for name in BROKEN:
        contents, said = wrong[name]
        drop(page, contents)
        if name in BROKEN[:7]:
            expect(dialog.get_by_role("alert")).to_contain_text(said)
            expect(check).to_be_disabled()
        else:
            expect(dialog).to_contain_text(f"Taken as areas: {next(iter(contents))};")
            expect(check).to_be_enabled()
            check.click()
            expect(dialog).to_contain_text(said)
        expect(page.locator("img[src=x]")).to_have_count(0)
        if name != BROKEN[-1]:
            remove(page)
    expect(dialog.get_by_role("combobox", name="Column of the values")).to_contain_text(EVIL)
    for name in FORMATS:
        contents = made[name]
        remove(page)
        drop(page, contents)
        areas = next(one for one in contents if not one.endswith((".dbf", ".prj", ".csv", ".tif")))
        if name == "bagged NetCDF":
            expect(dialog.get_by_text("Taken as")).to_have_count(0)
        else:
            expect(dialog).to_contain_text(f"Taken as areas: {areas};")
            expect(dialog).to_contain_text("population: people.tif")
        expect(dialog.get_by_text("Check of the data")).to_have_count(0)    # of former files
        expect(check).to_be_enabled()
        if name in QUICK:
            continue
        check.click()
        if name == "CSV of pixels":
            dialog.get_by_role("button", name="Its CRS is EPSG:32738").click()
        expect(dialog.get_by_role("status").filter(has_text="a fit would start")).to_be_visible()
        expect(dialog.get_by_role("button", name="Use these data")).to_be_enabled()
    press(page, "Use these data")
    expect(dialog).to_be_hidden()
    expect(status(page)).to_contain_text("12 areas → 432 pixels. Mean rate")
    assert problems == []
