"""Korea: fit on area totals alone, predict 3,487 neighbourhoods, score against their real deaths.

    python benchmarks/korea.py                    # both levels; writes data/results/korea_*.csv
    python benchmarks/korea.py --level province

The fine truth is used for scores only, never for fitting or choosing. "oracle GLM" is the one
exception, as a yardstick: a Poisson regression fitted to the neighbourhoods themselves.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr
from sklearn.linear_model import PoissonRegressor
from sklearn.preprocessing import StandardScaler

import workbench as wb
from workbench.evaluation import (
    correlation,
    coverage,
    crps,
    poisson_deviance,
    rescale_to_totals,
    rmse,
)
from workbench.evaluation.baselines import PopulationSplit, TotalsGLM

RESULTS = Path(__file__).parents[1] / "data" / "results"
SAMPLES, LEVELS = 2000, (0.5, 0.8, 0.95)
KERNEL = "linear+matern32"
#: Methods whose predictive distribution of individuals is given the totals of their areas.
WHOLE = {
    "population split, fitted dispersion": PopulationSplit(),
    "GLM on totals, log-sd 0.2": TotalsGLM(mean_covariates=True, log_sd=0.2),
    "GLM on totals, fitted dispersion": TotalsGLM(mean_covariates=True),
    "GLM by the aggregated likelihood, fitted dispersion": TotalsGLM(),
    "auto, quick": wb.Auto(effort="quick"),
    "auto": wb.Auto(),
}
MODELS = {
    "VBAgg, no option": dict(kernel="matern32"),
    "VBAgg, Poisson alone": dict(overdispersion="none", nugget=0.0),
    "VBAgg, negative binomial": dict(likelihood="negative-binomial"),
    "VBAgg, area effect": dict(overdispersion="area", nugget=0.0),
    "VBAgg, area effect + nugget": dict(overdispersion="area", nugget="learn"),
    "VBAgg, area effect + nugget, averaged": dict(
        overdispersion="area", nugget="learn", average=32),
    "VBAgg, nugget": dict(nugget="learn", overdispersion="none"),
    "VBAgg square, nugget": dict(link="square", nugget="learn", overdispersion="none"),
}


def proportional(ds: xr.Dataset, share: np.ndarray) -> np.ndarray:
    """Expected deaths that split each area's total in proportion to ``share``."""
    total = ds["value"].values.sum() * share / share.sum()
    return rescale_to_totals(ds, total).values


def glm(ds: xr.Dataset, fine: bool) -> np.ndarray:
    """Expected deaths of a log-linear Poisson regression on area means, or on the fine truth."""
    x, weight = ds["covariates"].values, ds["weight"].values
    members = ds["membership"].values
    totals = np.bincount(members, weight)
    scaler = StandardScaler().fit(x)
    z = scaler.transform(x)
    means = np.stack([np.bincount(members, weight * c) for c in z.T], 1) / totals[:, None]
    value = ds["individual_value"].values if fine else ds["value"].values
    inputs, exposure = (z, weight) if fine else (means, totals)
    # Seventeen provinces cannot carry thirteen slopes unpenalised: a ridge keeps them finite.
    ridge = 0.0 if len(exposure) > 5 * z.shape[1] else 1e-3
    model = PoissonRegressor(alpha=ridge, max_iter=10_000, tol=1e-10)
    model.fit(inputs, value / exposure, sample_weight=exposure)
    return model.predict(z) * weight


def scores(ds: xr.Dataset, expected: np.ndarray, draws: np.ndarray) -> dict[str, float]:
    """Scores of expected deaths, raw or pinned (scaled to the totals), and of predictive draws."""
    y = ds["individual_value"].values
    pinned = rescale_to_totals(ds, expected).values
    inside = coverage(y, draws, LEVELS)
    return {
        "deviance raw": poisson_deviance(y, expected),
        "deviance pinned": poisson_deviance(y, pinned),
        "RMSE pinned": rmse(y, pinned),
        "correlation pinned": correlation(y, pinned),
        "CRPS": float(np.mean(crps(y, draws))),
        **{f"cover {level:.0%}": float(c) for level, c in zip(LEVELS, inside, strict=True)},
    }


def point_method(ds: xr.Dataset, expected: Callable[[], np.ndarray]) -> dict[str, float]:
    """Scores of a method without uncertainty of its own: Poisson draws at pinned expectations."""
    started = time.perf_counter()
    mean = expected()
    seconds = time.perf_counter() - started
    rng = np.random.default_rng(0)
    draws = rng.poisson(rescale_to_totals(ds, mean).values, (SAMPLES, ds.sizes["individual"]))
    return scores(ds, mean, draws) | {"seconds": seconds, "objective": np.nan}


def model(ds: xr.Dataset, options: dict) -> dict[str, float]:
    """Scores of a fitted model: raw expectations without, draws with, what is known of areas."""
    fit = wb.VBAgg(**{"kernel": KERNEL, **options}).fit(ds)
    expected = (fit.at(ds, area_effect=False).mean * ds["weight"]).values
    draws = fit.simulate(ds, unit="individual", samples=SAMPLES).values
    print(fit.summary(), "\n", flush=True)
    beyond = float((fit.extrapolation(ds) > 0).mean())
    print(f"{beyond:.1%} of neighbourhoods lie outside the range of area means\n")
    return scores(ds, expected, draws) | {"seconds": fit.elapsed, "objective": fit.objective}


def whole(ds: xr.Dataset, method) -> dict[str, float]:
    """Scores of a method with a predictive distribution of its own, given the areas' totals."""
    started = time.perf_counter()
    fit = method.fit(ds)
    seconds = time.perf_counter() - started
    expected = (fit.at(ds, area_effect=False).mean * ds["weight"]).values
    draws = fit.sample(ds, SAMPLES, preserve_totals=True).values
    print(fit.summary(), "\n", flush=True)
    return scores(ds, expected, draws) | {"seconds": seconds, "objective": np.nan}


def table(level: str, only: str) -> pd.DataFrame:
    """All methods at one level; of the models those whose name holds ``only``."""
    ds = wb.load("korea", level=level)
    weight = ds["weight"].values
    rows = {
        "area-proportional": point_method(ds, lambda: proportional(ds, ds["area"].values)),
        "population-proportional": point_method(ds, lambda: proportional(ds, weight)),
        "GLM on totals": point_method(ds, lambda: glm(ds, fine=False)),
        "oracle GLM (saw the truth)": point_method(ds, lambda: glm(ds, fine=True)),
    }
    rows |= {name: whole(ds, method) for name, method in WHOLE.items() if only in name}
    for name, options in MODELS.items():
        if only in name:
            rows[name] = model(ds, options)
    return pd.DataFrame(rows).T.rename_axis("method")


def main(level: str = "both", threads: int = 1, only: str = "") -> None:
    """Print and store the table of one level or of both."""
    torch.set_num_threads(threads)
    warnings.simplefilter("always")
    RESULTS.mkdir(parents=True, exist_ok=True)
    for one in ("district", "province") if level == "both" else (level,):
        result, file = table(one, only), RESULTS / f"korea_{one}.csv"
        if only:        # the other rows stay as they are
            stored = pd.read_csv(file, index_col="method")
            result = pd.concat([stored[~stored.index.isin(result.index)], result]).loc[stored.index]
        result.to_csv(file, float_format="%.4g")
        print(f"Korea, {one} totals\n{result.round(3).to_string()}\n", flush=True)


if __name__ == "__main__":
    typer.run(main)
