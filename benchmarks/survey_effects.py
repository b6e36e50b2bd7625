"""Effects of surveyed places: integrated out, as variables of q, or none; time and coverage.

    python benchmarks/survey_effects.py     # some twenty minutes
    python benchmarks/survey_effects.py --least 5000        # these alone, beside what is stored

Places at which 20 to 60 people are tested each, on a smooth map of log-odds, and of their own an
effect of sd 0.5; VBAgg with its defaults but for how effects are treated, on one thread.
Of more than 2,000 places effects that are integrated out are not kept, see `VariationalOptions`.
``known`` and ``new`` are shares of 95 % intervals that hold the probability of the places that were
surveyed, and of as many others. Writes data/results/survey_effects.csv.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr
from scipy.special import expit

import workbench as wb
from workbench.gp.models.vbagg import summed_out

RESULTS = Path(__file__).parents[1] / "data" / "results" / "survey_effects.csv"
EFFECT = 0.5
PLACES = (125, 250, 500, 1_000, 2_000, 5_000, 10_000)
#: Places up to which effects are variables of q: beyond, a fit takes many minutes.
MOST = 500
TREATED = {"integrated out": "auto", "variables of q": "area", "none": "none"}


def survey(places: int, seed: int) -> tuple[xr.Dataset, xr.Dataset, np.ndarray, np.ndarray]:
    """Surveyed places, others, and the probabilities of both."""
    rng = np.random.default_rng([seed, places])
    xy = rng.uniform(0, 10, (2 * places, 2))
    logit = -1 + np.sin(xy[:, 0]) + 0.8 * np.cos(0.7 * xy[:, 1]) + rng.normal(0, EFFECT, len(xy))
    tested = rng.integers(20, 61, len(xy))
    table = pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "n": tested,
                          "positive": rng.binomial(tested, expit(logit))})
    parts = [wb.bag_points(part, "positive", trials="n", kind="count", points_crs="EPSG:32633")
             for part in (table[:places], table[places:].assign(x=lambda t: t["x"] + 1e-6))]
    return *parts, expit(logit[:places]), expit(logit[places:])


@contextmanager
def treated(how: str) -> Iterator[None]:
    """While it lasts effects are variables of q, if that is asked for."""
    usual = summed_out.seen_once
    if how == "variables of q":
        summed_out.seen_once = lambda state: False
    try:
        yield
    finally:
        summed_out.seen_once = usual


def covered(fit: wb.Fit, ds: xr.Dataset, truth: np.ndarray) -> float:
    """Share of 95 % intervals of places that hold their probability."""
    low, high = fit.over(ds).interval(0.95)
    return float(((low.values <= truth) & (truth <= high.values)).mean())


def row(places: int, seed: int, how: str) -> dict:
    """Time and coverage of one fit."""
    ds, others, own, elsewhere = survey(places, seed)
    with treated(how):
        began = time.process_time()
        fit = wb.VBAgg(overdispersion=TREATED[how]).fit(ds)
        spent = time.process_time() - began
        found = {name: value["value"] for name, value in fit.hyperparameters.items()}
        std = found.get("area.std", found.get("persistent.variance", 0.0)**0.5)
        return {"places": places, "seed": seed, "effects": how, "processor": spent,
                "effect_std": std, "known": covered(fit, ds, own),
                "new": covered(fit, others, elsewhere)}


def main(seeds: int = 3, least: int = 0, most: int = PLACES[-1]) -> None:
    """Measure sizes, treatments by turns, and store the table; rows below ``least`` stay in it."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    wb.VBAgg(max_steps=1).fit(survey(50, 0)[0])         # what is loaded once is not counted
    rows = []
    if least:
        rows = pd.read_csv(RESULTS).query("places < @least").to_dict("records")
    for places in (size for size in PLACES if least <= size <= most):
        for seed in range(seeds):
            rows += [row(places, seed, how) for how in TREATED
                     if how != "variables of q" or places <= MOST]
        print(pd.DataFrame(rows).groupby(["places", "effects"]).mean().round(3), flush=True)
        pd.DataFrame(rows).to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
