"""Every law with labels: the same answers as in torch, with names, units and coordinates."""

import numpy as np
import pytest
import xarray as xr

from tests.gp.distributions import EVERY, t
from workbench.checks import InputError
from workbench.gp.predictive import Mixture, Point
from workbench.labelled import LabelledPredictive

LAWS = EVERY | {"mixture": Mixture(t(0.25, 0.75), [EVERY["normal"], EVERY["gamma"]])}
COORDS = {"bag": ["north", "middle", "south"], "bag_x": ("bag", [1.0, 2.0, 3.0])}


@pytest.fixture(params=LAWS)
def law(request):
    return LAWS[request.param]


@pytest.fixture
def labelled(law):
    return LabelledPredictive(law, COORDS, "bag", "cases", "total")


def test_answers_are_those_of_the_law(law, labelled):
    for name in ("mean", "variance", "std"):
        np.testing.assert_array_equal(getattr(labelled, name), getattr(law, name))
    levels = [0.1, 0.5, 0.9]
    np.testing.assert_array_equal(labelled.quantile(levels), law.quantile(levels))
    for found, known in zip(labelled.interval(0.8), law.interval(0.8), strict=True):
        np.testing.assert_array_equal(found, known)
    np.testing.assert_array_equal(labelled.exceedance(1.2), law.exceedance(1.2))
    np.testing.assert_array_equal(labelled.sample(5, seed=2), law.sample(5, seed=2))
    # One threshold per unit, as an array with labels.
    each = xr.DataArray([0.5, 3.5, 7.0], dims="bag")
    np.testing.assert_array_equal(labelled.cdf(each), law.cdf(t(0.5, 3.5, 7.0)))
    np.testing.assert_allclose(labelled.cdf(each) + labelled.exceedance(each), 1)


def test_answers_have_names_units_and_coordinates(labelled):
    mean, high = labelled.mean, labelled.quantile(0.9)
    assert mean.dims == ("bag",) and mean.attrs == {"units": "cases", "long_name": "total"}
    assert labelled.variance.attrs["units"] == "(cases)²"
    assert labelled.exceedance(1.0).attrs["units"] == "probability"
    assert high.dims == ("quantile", "bag") and high["quantile"].values.tolist() == [0.9]
    assert mean.sel(bag="south")["bag_x"] == 3.0
    draws = labelled.sample(4)
    assert draws.dims == ("sample", "bag") and draws["sample"].values.tolist() == [0, 1, 2, 3]


def test_thresholds_with_labels_go_by_them(law, labelled):
    turned = xr.DataArray([7.0, 0.5, 3.5], {"bag": ["south", "north", "middle"]}, "bag")
    np.testing.assert_array_equal(labelled.cdf(turned), law.cdf(t(0.5, 3.5, 7.0)))
    np.testing.assert_array_equal(labelled.exceedance(turned), law.exceedance(t(0.5, 3.5, 7.0)))
    np.testing.assert_array_equal(labelled.cdf(turned.to_series()), labelled.cdf(turned))
    with pytest.raises(InputError, match="other labels along 'bag' .* 'east' beside 'north'"):
        labelled.cdf(turned.assign_coords(bag=["east", "north", "middle"]))
    with pytest.raises(InputError, match=r"one value for each bag \(3,\), got shape \(2,\)"):
        labelled.exceedance([1.0, 2.0])


@pytest.mark.parametrize(("call", "said"), [
    (lambda law: law.interval(-0.2), "level must be above 0 and below 1, got -0.2"),
    (lambda law: law.interval(95), "level must be above 0 and below 1, got 95"),
    (lambda law: law.sample(0), "count must be a whole number of 1 or more, got 0"),
    (lambda law: law.sample(2, seed=-1), "seed must be a whole number of 0 or more, got -1"),
    (lambda law: law.quantile([]), "one probability or more"),
    (lambda law: law.quantile([[0.1], [0.9]]), "one probability or more"),
])
def test_what_cannot_be_asked_is_refused(labelled, call, said):
    with pytest.raises(InputError, match=said):
        call(labelled)


def test_a_changed_answer_leaves_the_distribution_and_other_answers_as_they_are():
    point = LabelledPredictive(Point(t(1.0, 2.0, 3.0)), COORDS, "bag", "cases", "total")
    for answer in (point.mean, point.quantile([0.1, 0.9])[0], point.sample(3)[0]):
        answer[:] = 99.0
    draws = point.sample(3)
    draws[0, 0] = 99.0
    assert draws[1, 0] == 1.0
    np.testing.assert_array_equal(point.mean, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(point.quantile(0.5)[0], [1.0, 2.0, 3.0])
