import re
import shutil

import holoviews as hv
import numpy as np
import pytest
from bokeh.models import Plot

from tests.reference import FlatModel, FragileModel, TruthModel, country
from workbench.checks import InputError
from workbench.comparison import assessment, cross_validate, evaluate
from workbench.evaluation import FoldWarning
from workbench.plots import (
    covariate_support,
    images,
    observed_vs_predicted,
    pit_histogram,
    reliability_curve,
    save_html,
    save_png,
    score_bars,
    theme,
)


@pytest.fixture(scope="module")
def result():
    fits = {"right": TruthModel(), "sure": TruthModel(0.1)}
    return evaluate(fits, country(bags=80, seed=4), samples=200, constant=FlatModel())


def render(element) -> Plot:
    return hv.render(element, backend="bokeh")


def test_reliability_shows_the_curve_band_and_diagonal(result):
    drawn = reliability_curve(result, "individual")
    curve = drawn.Curve.Right
    np.testing.assert_allclose(
        curve.dimension_values(1), result["coverage"].sel(target="individual", model="right")
    )
    band = next(e for e in drawn if isinstance(e, hv.Area))
    assert (band.dimension_values(1) <= band.dimension_values(0)).all()
    assert (band.dimension_values(2) >= band.dimension_values(0)).all()
    figure = render(drawn)
    labels = [item.label.value for item in figure.legend[0].items]
    assert {"right", "sure", "constant", "own bag, by weight", "perfect"} <= set(labels)
    assert "nominal" in figure.xaxis[0].axis_label and "640 ind" in figure.title.text


def test_models_keep_their_colours_and_baselines_are_grey(result):
    assert theme.colours(["a", "constant", "b"]) == {
        "a": theme.CATEGORIES[0], "constant": theme.FLAT, "b": theme.CATEGORIES[1],
    }  # fmt: skip
    assert theme.OWN_BAG == assessment.OWN_BAG
    one = reliability_curve(result, models=["sure"])
    assert one.Curve.Sure.opts["color"] == theme.CATEGORIES[1]
    assert pit_histogram(result, "sure").Histogram.I.opts["fill_color"] == theme.CATEGORIES[1]


def test_pit_histogram_has_the_densities_and_the_band(result):
    drawn = pit_histogram(result, "sure", "individual")
    density = result["pit_density"].sel(target="individual", model="sure")
    np.testing.assert_allclose(drawn.Histogram.I.dimension_values(1), density)
    low, high = drawn.HSpan.I.data
    assert low < 1 < high and density.max() > high
    assert "calibrated" in render(drawn).yaxis[0].axis_label


def test_score_bars_have_units_and_mark_the_constant_model(result):
    drawn = score_bars(result, "crps")
    flat = result["scores"].sel(target="bag", model="constant", score="crps").item()
    assert drawn.HLine.I.data == pytest.approx(flat)
    figure = render(drawn)
    labels = [axis.axis_label for axis in (*figure.xaxis, *figure.yaxis)]
    assert "CRPS (cases)" in labels
    assert score_bars(result, "coverage_95").HLine.I.data == 95


def test_observed_against_predicted_shows_every_unit(result):
    drawn = observed_vs_predicted(result, "right")
    dots = drawn.Scatter.I
    np.testing.assert_array_equal(dots.dimension_values("observed"), result["bag_observed"])
    sides = drawn.Segments.I
    assert (sides.dimension_values("observed") <= sides.dimension_values("y1")).all()
    assert "cases" in render(drawn).xaxis[0].axis_label


def test_units_that_a_model_did_not_predict_are_counted():
    ds = country(bags=40, size=2, seed=1)
    with pytest.warns(FoldWarning):
        scored = cross_validate([FragileModel("b3"), TruthModel()], ds, 4, samples=50,
                                constant=FlatModel())
    drawn = observed_vs_predicted(scored, "fragile")
    assert len(drawn.Scatter.I) == 10 and np.isfinite(drawn.Curve.I.dimension_values(0)).all()
    assert render(drawn).title.text == "fragile (30 not predicted)"
    assert render(observed_vs_predicted(scored, "truth")).title.text == "truth"
    assert "10 areas" in render(reliability_curve(scored)).title.text


def test_zeros_on_log_axes_are_counted_not_lost():
    few = country(bags=40, size=2, seed=1)
    few["value"] = few["value"].copy(data=np.where(np.arange(40) < 7, 0, few["value"]))
    scored = evaluate(TruthModel(), few, samples=50, constant=FlatModel())
    drawn = observed_vs_predicted(scored, "truth", log=True)
    assert (drawn.Scatter.I.dimension_values("observed") > 0).all()
    assert "7 zeros" in render(drawn).yaxis[0].axis_label


def test_support_says_how_much_weight_is_outside():
    ds = country(bags=10, size=4)
    membership, weight = ds["membership"].values, ds["weight"].values
    column = ds["covariates"].values[:, 0]
    means = np.bincount(membership, weight * column) / np.bincount(membership, weight)
    out = (column < means.min()) | (column > means.max())
    text = covariate_support(ds).Labels.I.dimension_values("text")[0]
    assert text == f"{100 * weight[out].sum() / weight.sum():.1f} % outside"
    render(covariate_support(ds))


def test_unknown_names_are_met_with_the_nearest(result):
    with pytest.raises(InputError, match="did you mean 'right'"):
        pit_histogram(result, "rigt")
    with pytest.raises(InputError, match="did you mean 'bag'"):
        reliability_curve(result, "bags")


def test_html_is_self_contained(result, tmp_path):
    page = save_html(reliability_curve(result), tmp_path / "plot.html").read_text()
    tags = re.findall(r"<(?:script|link|img)\b[^>]*>", page.split("</head>")[0])
    assert tags and not any("http" in tag for tag in tags)


def test_png_needs_a_browser_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_CHROMIUM", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="WORKBENCH_CHROMIUM"):
        save_png(hv.Curve([1, 2]), tmp_path / "a.png")
    with pytest.raises(InputError, match="ending in .png"):
        save_png(hv.Curve([1, 2]), tmp_path / "a.svg")


@pytest.mark.skipif(
    not any(map(shutil.which, images.BROWSERS)), reason="no Chromium on this machine"
)
def test_png_shows_the_plot(result, tmp_path):
    path = save_png(reliability_curve(result), tmp_path / "plot.png", scale=1)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(path.read_bytes()[k : k + 4], "big") for k in (16, 20))
    assert 300 < width < 500 and 300 < height < 500
    assert path.stat().st_size > 8000  # an empty page of this size takes 2 kB
