"""The picture of a stored map, and the command that draws it."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from PIL import Image
from typer.testing import CliRunner

from tests.conftest import CHROMIUM
from tests.kit import kit_inputs, write_kit
from workbench import geo, plots
from workbench.checks import InputError
from workbench.cli import app, plotting

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore::workbench.checks.ExtrapolationWarning")


def workbench(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    folder = write_kit(tmp_path_factory.mktemp("kit"))
    out = folder / "map.nc"
    result = workbench("disaggregate", *kit_inputs(folder), "--model", "vbagg", "--max-steps", 5,
                       "--inducing", 8, "--threshold", 0.05, "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    return out


def titles(picture) -> list[str]:
    """Titles of the maps of a layout, under outlines or without, and of charts."""
    def title(panel) -> str | None:
        return panel.opts.get("plot").kwargs.get("title")

    return [title(panel) or title(panel.get(0)) for panel in picture]


def test_all_that_a_map_holds_is_drawn(stored):
    maps = geo.read(stored)
    share = 100 * float((maps["extrapolation"] > 0).mean())
    assert share > 0
    assert titles(plots.map_picture(maps)) == [
        "Observed areas", "Posterior mean", "Standard deviation", "Exceedance",
        f"Extrapolation ({share:.1f} % of all)"]
    inside = maps.assign(extrapolation=maps["extrapolation"] * 0).drop_vars("exceedance")
    assert titles(plots.map_picture(inside)) == [
        "Observed areas", "Posterior mean", "Standard deviation"]


def test_information_and_components_are_drawn_if_there(stored):
    maps = geo.read(stored)
    part = maps["latent_mean"].drop_vars("component", errors="ignore")
    stack = xr.concat([part * 0 + 1, part, part * 2], "component", coords="minimal")
    stack = stack.assign_coords(component=["intercept", "rbf", "place"],
                                role=("component", ["intercept", "covariates", "place"]))
    told = maps.drop_vars(["exceedance", "extrapolation"]).assign(
        information=maps["exceedance"], component_mean=stack)
    assert titles(plots.map_picture(told))[3:] == [
        "Information", "Component: rbf (covariates)", "Component: place"]


def test_a_map_without_observed_areas_is_drawn(stored):
    maps = geo.read(stored).drop_vars(["value", "extrapolation"])
    shown = ["Posterior mean", "Standard deviation", "Exceedance"]
    assert titles(plots.map_picture(maps.drop_vars("bag_mean"))) == shown
    # Of areas of another region their totals are what is asked.
    assert titles(plots.map_picture(maps))[:4] == [*shown, "Predicted for the areas"]
    assert len(plots.map_picture(maps)) == 5


def test_several_thresholds_are_a_map_each(stored):
    maps = geo.read(stored)
    two = xr.concat([maps["exceedance"], maps["exceedance"] / 2], "threshold", coords="minimal"
                    ).assign_coords(threshold=[0.05, 0.1]).assign_attrs(threshold=None)
    two.attrs.pop("threshold")
    wanted = ["Exceedance of 50", "Exceedance of 100"]      # of 1,000 people
    maps = maps.drop_vars(["exceedance", "extrapolation"]).assign(exceedance=two)
    assert titles(plots.map_picture(maps))[3:] == wanted
    assert [one.title for one in plots.still_maps(maps)][3:] == wanted
    bare = titles(plots.map_picture(maps.drop_vars(["value", "bag_mean"])))
    assert bare[2:] == ["Exceedance of 0.05", "Exceedance of 0.1"]


def test_degrees_are_named_where_only_the_crs_says_so(stored):
    maps = geo.read(stored).drop_vars("value").assign_attrs(crs="EPSG:4326")
    bare = maps.assign_coords({n: maps[n].drop_attrs() for n in ("x", "y")})
    first = plots.map_picture(bare).values()[0].get(0)
    assert first.opts.get("plot").kwargs["xlabel"] == "longitude (degree)"


def test_what_is_no_map_is_refused(stored, tmp_path):
    with pytest.raises(InputError, match="there is no map to draw"):
        plots.map_picture(xr.Dataset())
    (tmp_path / "a.csv").write_text("a")
    for arguments, message in (([tmp_path / "a.csv"], "expected a dataset stored as .nc"),
                               ([stored, "--out", stored.with_suffix(".pdf")],
                                "format of the output '.pdf' is unknown"),
                               ([stored, "--axes", "x"], "takes two names")):
        result = workbench("plot", *arguments)
        assert result.exit_code == 2 and message in result.stderr, result.output


class Links(HTMLParser):
    """Scripts of a page, and what it would fetch."""

    def __init__(self):
        super().__init__()
        self.scripts, self.links = 0, []

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.links += [value for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_no_network(stored, tmp_path):
    out = tmp_path / "picture.HTML"
    result = workbench("plot", stored, "--out", out)
    assert result.exit_code == 0 and f"wrote {out}" in result.stdout, result.output
    page = out.read_text(encoding="utf-8")
    assert "Posterior mean" in page and len(page) > 500_000         # Bokeh is inside
    reader = Links()
    reader.feed(page)
    assert reader.scripts > 1 and reader.links == []


def test_without_a_chromium_it_is_a_page(stored, monkeypatch):
    monkeypatch.setattr(plotting, "_can_draw", lambda: False)
    result = workbench("plot", stored)
    assert f"wrote {stored.with_suffix('.html')}" in result.stdout
    refused = workbench("plot", stored, "--out", stored.with_suffix(".png"))
    assert refused.exit_code == 2 and "--out with .html needs none" in refused.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_picture_shows_maps(stored):
    result = workbench("plot", stored)
    assert f"wrote {stored.with_suffix('.png')}" in result.stdout, result.output
    with Image.open(stored.with_suffix(".png")) as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
        assert image.width > 1500 and image.height > 1000           # three maps by two
    assert len(np.unique(pixels, axis=0)) > 100
    white = (pixels > 250).all(axis=1).mean()
    assert 0.2 < white < 0.8                                        # neither blank nor black
