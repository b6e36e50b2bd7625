"""Real cases with known fine truth: fit on area totals alone, score the inside of areas.

    python benchmarks/cases.py                           # writes data/results/cases.csv
    python benchmarks/cases.py --only italy --threads 2

To add a model, put it into `MODELS`: a name and an object with ``fit(ds)``, whose result has
``sample(ds, samples, preserve_totals=True, seed=...)`` and ``at(ds).mean``. The fine truth is used
for scores only; "oracle GLM" is the one exception, as a yardstick. Data are found as `wb.load`
finds them; a case whose data are absent is left out with a word.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import typer
import xarray as xr
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import workbench as wb
from workbench.checks import InputError
from workbench.datasets import load
from workbench.evaluation import coverage, crps, poisson_deviance, rescale_to_totals, rmse
from workbench.evaluation.baselines import (
    BaselineFit,
    DasymetricClasses,
    PoissonKriging,
    PopulationSplit,
    TotalsGLM,
)
from workbench.evaluation.baselines.dispersion import log_sds

RESULTS = Path(__file__).parents[1] / "data" / "results" / "cases.csv"
SAMPLES, LEVELS = 1000, (0.5, 0.8, 0.95)
CASES: dict[str, Callable[[], xr.Dataset]] = {
    "korea, 250 districts": lambda: load("korea"),
    "korea, 17 provinces": lambda: load("korea", level="province"),
    "italy, 107 provinces": lambda: load("italy"),
    "italy, 20 regions": lambda: load("italy", level="region"),
    "us, 48 states": lambda: load("us-unemployment"),
    "california, 58 counties": lambda: load("california-households"),
}


class OracleGLM:
    """Log-linear Poisson regression fitted to the fine truth, pinned to the totals.

    How far a log-linear map of these covariates can get; nobody has it where it is needed.
    """

    def fit(self, ds: xr.Dataset) -> BaselineFit:
        """Fit to individuals; the dispersion is theirs within areas."""
        x, weight, y = (ds[name].values for name in ("covariates", "weight", "individual_value"))
        model = make_pipeline(StandardScaler(), PoissonRegressor(alpha=0, max_iter=10_000,
                                                                 tol=1e-10))
        model.fit(x, y / weight, poissonregressor__sample_weight=weight)
        pinned = rescale_to_totals(ds, model.predict(x) * weight).values
        spread, _ = log_sds(y, pinned, np.arange(y.size), ds.sizes["bag"] + x.shape[1],
                            "individual")
        return BaselineFit(
            "oracle GLM", lambda new: model.predict(new["covariates"].values), spread)


MODELS: dict[str, object] = {
    "population split": PopulationSplit(),
    "GLM on totals": TotalsGLM(),
    "GLM on area means": TotalsGLM(mean_covariates=True),
    "dasymetric classes": DasymetricClasses(),
    "Poisson kriging": PoissonKriging(),
    "oracle GLM (saw the truth)": OracleGLM(),
    "VBAgg, no option": wb.VBAgg(),
    "auto, quick": wb.Auto(effort="quick"),
    "auto": wb.Auto(),
}


def scores(ds: xr.Dataset, model: object) -> dict[str, float]:
    """Scores of one model: of its map pinned to the totals, and of its draws that keep them."""
    started = time.perf_counter()
    fit = model.fit(ds)
    seconds = time.perf_counter() - started
    y = ds["individual_value"].values
    expected = fit.at(ds, area_effect=False).mean.values * ds["weight"].values
    pinned = rescale_to_totals(ds, expected).values
    draws = fit.sample(ds, SAMPLES, preserve_totals=True, seed=0).values
    inside = coverage(y, draws, LEVELS)
    return {
        "deviance pinned": poisson_deviance(y, pinned),
        "deviance of mean": poisson_deviance(y, np.maximum(draws.mean(0), 0.5 / SAMPLES)),
        "RMSE pinned": rmse(y, pinned),
        "CRPS": float(np.mean(crps(y, draws))),
        **{f"cover {level:.0%}": float(c) for level, c in zip(LEVELS, inside, strict=True)},
        "log-sd": getattr(fit, "log_sd", np.nan),
        "seconds": seconds,
    }


def cases_at_hand(only: str) -> Iterator[tuple[str, xr.Dataset]]:
    """Cases whose names hold ``only``; those whose data are absent are left out with a word."""
    for case, loader in CASES.items():
        if only not in case:
            continue
        try:
            yield case, loader()
        except (ImportError, InputError) as error:
            print(f"{case}: left out, {error}\n", flush=True)


def main(only: str = "", model: str = "", threads: int = 1) -> None:
    """Print and store the table of the cases and models whose names hold ``only`` and ``model``."""
    rows = {}
    for given, known in ((only, CASES), (model, MODELS)):
        if not any(given in name for name in known):
            raise SystemExit(f"no name holds {given!r}; known are {', '.join(known)}")
    for case, ds in cases_at_hand(only):
        with threadpool_limits(threads):
            for name, method in MODELS.items():
                if model in name:
                    rows[case, name] = scores(ds, method)
        names = [key for key in rows if key[0] == case]
        shown = pd.DataFrame([rows[key] for key in names], index=[key[1] for key in names])
        print(f"{case}: {ds.sizes['individual']:,} individuals, {ds['value'].attrs['long_name']}\n"
              f"{shown.round(3).to_string()}\n", flush=True)
        _keep(rows)


def _keep(rows: dict) -> None:
    """Put rows into the stored table by case and method, so that parts can be made alone."""
    table = pd.DataFrame(rows).T.rename_axis(["case", "method"])
    if RESULTS.exists():
        stored = pd.read_csv(RESULTS, index_col=[0, 1])
        table = pd.concat([stored.drop(index=[key for key in table.index if key in stored.index]),
                           table])
    order = {key: i for i, key in enumerate((c, m) for c in CASES for m in MODELS)}
    table = table.loc[sorted(table.index, key=lambda key: order.get(key, len(order)))]
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(RESULTS, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
