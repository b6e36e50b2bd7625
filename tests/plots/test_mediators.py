"""Mediators of bags beside those of targets, and rates of convergence, as pictures."""

import holoviews as hv
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bokeh.models import Plot

import workbench as wb
from workbench.checks import InputError
from workbench.gp.models.conditional_mean.mediators import _SLACK
from workbench.papers.chau2021.plots import convergence_rates
from workbench.papers.chau2021.rates import RATES
from workbench.papers.tools.running import run_experiment
from workbench.plots import mediators
from workbench.plots.mediators import MARGIN

UNITS = {"pressure": "hPa", "height": "km", "snow": "1", "age": "years"}


def parts(names, bags=30, targets=12, shift=0.0):
    """Bags with mediators between 0 and 1, and targets of which three are shifted."""
    rng = np.random.default_rng(1)
    ds = wb.load("swiss-roll-heights", points=300, bags=bags, seed=1)
    ours = rng.uniform(size=(bags, len(names)))
    ours[:2] = [[0.0], [1.0]]
    table = pd.DataFrame(ours, columns=names, index=ds["bag"].values)
    theirs = pd.DataFrame(rng.uniform(0.1, 0.9, (targets, len(names))), columns=names)
    theirs.iloc[:3, 0] += shift
    return (wb.add_mediators(ds, table, units=UNITS).drop_vars("value"),
            wb.targets_from_table(theirs.assign(z=0.0), "z", list(names), units=UNITS))


def render(element) -> Plot:
    return hv.render(element, backend="bokeh")


@pytest.mark.parametrize("names,pairs", [(["height"], 0), (["height", "snow"], 1),
                                         (["height", "snow", "pressure"], 3),
                                         (["height", "snow", "pressure", "age"], 3)])
def test_one_distribution_each_and_a_scatter_of_every_pair_of_three(names, pairs):
    drawn = list(mediators(*parts(names)))
    assert len(drawn) == len(names) + pairs
    figure = render(drawn[0])
    assert figure.xaxis[0].axis_label == "height (km)" and "share" in figure.yaxis[0].axis_label
    assert {item.label.value for item in figure.legend[0].items} == {"bags", "targets"}
    if pairs:
        pair = render(drawn[len(names)])
        assert (pair.xaxis[0].axis_label, pair.yaxis[0].axis_label) == ("height (km)", "snow")


def test_shares_of_bags_and_of_targets_each_sum_to_one():
    bags, targets = parts(["height"])
    drawn = list(mediators(bags, targets))[0]
    histogram = next(e for e in drawn if isinstance(e, hv.Histogram))
    assert histogram.dimension_values("share").sum() == pytest.approx(1)
    outline = next(e for e in drawn if isinstance(e, hv.Curve)).dimension_values("share")
    assert outline[1:-1:2].sum() == pytest.approx(1)
    rugs = [e for e in drawn if isinstance(e, hv.Segments)]
    assert sorted(map(len, rugs)) == [12, 30]


# the mediators are drawn at random, so that they say nothing of the values
@pytest.mark.filterwarnings("ignore:the mediators hardly tell:workbench.checks.FitWarning",
                            "ignore::workbench.checks.ConvergenceWarning")
def test_targets_beyond_the_bags_are_counted_and_marked_as_the_models_count_them():
    bags, targets = parts(["height", "snow"], shift=2.0)
    drawn = list(mediators(bags, targets))
    assert render(drawn[0]).title.text == "3 of 12 targets outside the bags"
    assert render(drawn[1]).title.text == "0 of 12 targets outside the bags"
    points = {e.label: e for e in drawn[2] if isinstance(e, hv.Points)}
    assert {label: len(e) for label, e in points.items()} == {
        "bags": 30, "targets": 9, "targets outside": 3}
    assert set(points["targets outside"].dimension_values("name")) == {"0", "1", "2"}
    note = wb.CMP(starts=1, tolerance=0.1).fit(bags, targets).notes
    assert any("3 of 12 targets" in line for line in note)
    assert MARGIN == _SLACK
    near = targets.copy(deep=True)
    near["mediators"][:3, 0] = 1.0 + MARGIN / 2
    assert "0 of 12" in render(list(mediators(bags, near))[0]).title.text
    assert "3 of 12" in render(list(mediators(bags, near, margin=0.0))[0]).title.text


def test_targets_that_are_all_inside_or_all_outside_or_all_equal():
    bags, targets = parts(["height", "snow"])
    inside = {e.label for e in list(mediators(bags, targets))[2] if isinstance(e, hv.Points)}
    assert inside == {"bags", "targets"}
    far = targets.assign(mediators=targets["mediators"] + 5)
    outside = {e.label for e in list(mediators(bags, far))[2] if isinstance(e, hv.Points)}
    assert outside == {"bags", "targets outside"}
    equal = [ds.assign(mediators=0 * ds["mediators"]) for ds in (bags, targets)]
    assert "0 of 12" in render(list(mediators(*equal))[0]).title.text


def test_what_is_refused():
    bags, targets = parts(["height"])
    with pytest.raises(InputError, match="bags have no mediators.*add_mediators"):
        mediators(bags.drop_vars("mediators"), targets)
    with pytest.raises(InputError, match="targets have no mediators"):
        mediators(bags, targets.drop_vars("mediators"))
    with pytest.raises(InputError, match="targets have no mediators along 'target'"):
        mediators(bags, bags)
    with pytest.raises(InputError, match="bags' mediators \\['height'\\], got \\['altitude'\\]"):
        mediators(bags, targets.assign_coords(mediator=["altitude"]))
    with pytest.raises(InputError, match="in the bags' units \\['km'\\], got \\['m'\\]"):
        mediators(bags, targets.assign_coords(mediator_units=("mediator", ["m"])))


@pytest.fixture(scope="module")
def rates() -> xr.Dataset:
    return run_experiment(RATES, "quick", only={"a": "1.0"})


def test_rates_have_the_fitted_slope_and_the_theorems_in_the_legend(rates):
    drawn = list(convergence_rates(rates, np.inf, 2.0))
    assert [render(e).title.text for e in drawn] == ["N = M^(3a)", "N = M^a"]
    figure = render(drawn[0])
    label = figure.legend[0].items[0].label.value
    runs = rates.to_dataframe().query("growth == 3")
    slope = f"{runs['slope'].mean():.3f} ± {runs['slope'].sem():.3f}".replace("-", "−")
    assert label == f"a = 1: {slope} (theorem −0.667)"
    curve = next(e for e in drawn[0] if isinstance(e, hv.Curve))
    np.testing.assert_allclose(
        curve.dimension_values(1)[0], np.exp(np.log(runs["excess_64"]).mean()))
    promise = next(e for e in drawn[0] if isinstance(e, hv.Segments) and len(e) == 1)
    (m0, y0, m1, y1), = promise.array(range(4)).astype(float)
    assert np.log(y1 / y0) / np.log(m1 / m0) == pytest.approx(-2 / 3)
    assert len(list(convergence_rates(rates, np.inf, 2.0, growths=(1.0,)))) == 1


def test_rates_refuse_other_results(rates):
    with pytest.raises(InputError, match="not results of the experiment dmo-rates"):
        convergence_rates(rates.drop_vars("slope"), np.inf, 2.0)
    with pytest.raises(InputError, match="no run has b = 2 and c = 1.5"):
        convergence_rates(rates, 2.0, 1.5)
    with pytest.raises(InputError, match="no run has growth"):
        convergence_rates(rates, np.inf, 2.0, growths=(7.0,))
