"""Heat maps of conditional mean operators, and the figure of a lower bound."""

import re
from pathlib import Path

import drawn
import numpy as np
import pandas as pd
import pytest

from tests.docs.pages import said
from workbench.checks import InputError
from workbench.papers.chau2021.ablation import SHAPES, median_distance, operator_values
from workbench.papers.chau2021.plots import operator_maps
from workbench.papers.chau2021.theory import GramEstimator
from workbench.papers.status.results import Results

RESULTS = Path(__file__).parents[2] / "data" / "results"
SAID = said("results")


@pytest.mark.parametrize("ridge", ["scaled", "unscaled"])
def test_the_standard_operator_is_the_naive_one(ridge):
    found = operator_values(6, 8, ridge=ridge)

    def gaussian(a, b, scale):
        return np.exp(-0.5 * ((np.asarray(a)[:, None] - b) / scale) ** 2)

    members = np.repeat(np.arange(6), 8)
    y = found.y[::8]
    scale = median_distance(y)
    naive = GramEstimator(gaussian(y, y, scale), members, 0.1, "naive", scaled=ridge == "scaled")
    values = gaussian(found.at_x, found.x, median_distance(found.x)) @ naive.point_weights(
        gaussian(y, found.at_y, scale))
    np.testing.assert_allclose(found.standard, values, atol=1e-10)
    assert (found.difference < 1e-10) is (ridge == "scaled")


def test_maps_show_what_the_stored_runs_say():
    runs = Results(RESULTS).runs("cmo-ablation").query("spread == 'variance' and seed == 0")
    stored = runs.set_index(["bags", "points", "ridge"])["rmse"]
    for ridge in ("scaled", "unscaled"):
        for bags, points in SHAPES[:3]:
            found = operator_values(bags, points, ridge=ridge)
            assert found.difference == pytest.approx(stored[bags, points, ridge], abs=1e-8)
    page = drawn.CHARTS["operators"]()
    shown = [float(value) for value in re.findall(r"square difference (\d\.\d+)</text>", page)]
    np.testing.assert_allclose(shown, [stored[b, n, "unscaled"] for b, n in SHAPES], rtol=0.01)
    assert page.count("<image") == 4 * 3 + 4 * 3 + 2 and page.count("<circle") == 300


def test_an_unknown_reading_is_refused():
    with pytest.raises(InputError, match="ridge"):
        operator_maps(3, 5, ridge="half")


def test_the_lower_bound_is_drawn_and_is_as_the_page_says():
    table = pd.read_csv(RESULTS / "bounds_gap.csv").query("link == 'square'")
    page = drawn.CHARTS["lower-bound"]()
    assert page.count("<svg") == 2 and page.count('stroke="#d55e00"') == 6
    bound, zeta = (table[table["bound"] == name] for name in ("jensen", "taylor"))
    assert (bound["gap"] <= 3 * bound["error"]).all()
    sweep, several = bound[bound["regime"].str.startswith("sd ")], "size > 1 and sd == {}"
    for sd in (0.5, 1.5):
        low, high = (-sweep.query(several.format(sd))["gap"]).agg(["min", "max"])
        assert f"{low:.1f} to {high:.1f}" in SAID
    alone = zeta[(zeta["size"] == 1) & (zeta["sd"] <= 1.5)]["gap"].max()
    assert f"by up to {alone:.2f} where a bag has one individual" in SAID
    assert zeta[zeta["size"] > 1]["gap"].abs().max() < 0.09
