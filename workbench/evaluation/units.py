"""How one model's predictions fare unit by unit: at bags, at individuals, and at the true rate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from workbench.evaluation.area_scores import square_root
from workbench.evaluation.calibration import (
    LEVELS,
    central_intervals,
    covered_by_pit,
    pit,
)
from workbench.evaluation.folding import subset
from workbench.evaluation.scoring import (
    crps,
    interval_score,
    log_score,
    weighted_interval_score,
)
from workbench.schema import BAG, INDIVIDUAL, aggregation, kind

TARGETS = {"bag": BAG, "individual": INDIVIDUAL, "rate": INDIVIDUAL}
QUANTILES = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
BUDGET = 20_000_000  # draws x individuals that a model is asked for at once


def targets(ds: xr.Dataset) -> list[str]:
    """What can be scored on this dataset: "bag" always, and "individual" and "rate" if known."""
    known = {"bag": True, "individual": "individual_value" in ds, "rate": "truth" in ds}
    return [name for name, there in known.items() if there]


def score_units(fit, ds: xr.Dataset, chosen: list[str], samples: int, seed: int
                ) -> dict[str, xr.Dataset]:
    """Scores of each unit of each chosen target, in the order of the dataset.

    Large datasets are taken some bags at a time, so that at most 20 million draws are held.

    Parameters
    ----------
    fit : Fit
        Has ``at`` and ``simulate``.
    ds : xr.Dataset
        Bagged dataset.
    chosen : list of str
        Targets, of `targets`.
    samples, seed : int
        Draws from each predictive distribution, and seed.

    Returns
    -------
    dict of xr.Dataset
        Per target: observed, mean, std, quantile, pit, crps, wis, log_score, covered, interval
        score, each over the target's dimension; of counts of bags also crps_sqrt, the CRPS of
        their square roots.
    """
    judges = {"bag": _bags, "individual": _individuals, "rate": _rates}
    parts: dict[str, list[xr.Dataset]] = {name: [] for name in chosen}
    for number, part in enumerate(_pieces(ds, max(1, BUDGET // samples))):
        rate = fit.at(part, area_effect=True)
        for name in chosen:
            parts[name].append(judges[name](fit, part, rate, samples, seed + number))
    return {name: xr.concat(found, TARGETS[name]) for name, found in parts.items()}


def crps_of(fit, ds: xr.Dataset, target: str, samples: int, seed: int) -> np.ndarray:
    """The CRPS of each unit of a target alone, as of `score_units`, in a fraction of its time.

    Parameters
    ----------
    fit, ds, samples, seed
        As of `score_units`.
    target : str
        One of `targets`.

    Returns
    -------
    array (units,)
        In the units of the values.
    """
    observed = {"bag": "value", "individual": "individual_value", "rate": "truth"}[target]
    parts = []
    for number, part in enumerate(_pieces(ds, max(1, BUDGET // samples))):
        draws = (_singly(fit.at(part, area_effect=True), samples, seed + number)
                 if target == "rate" else
                 fit.simulate(part, unit=target, samples=samples, seed=seed + number).values)
        parts.append(crps(part[observed].values, draws))
    return np.concatenate(parts)


def _pieces(ds: xr.Dataset, most: int) -> Iterator[xr.Dataset]:
    if ds.sizes[INDIVIDUAL] <= most:
        yield ds
        return
    ends = np.cumsum(np.bincount(ds["membership"].values))
    group = ends // most
    for number in np.unique(group):
        yield subset(ds, group == number)


def _individual_expectation(ds: xr.Dataset, rate) -> np.ndarray:
    mean, weight = np.asarray(rate.mean.values, dtype=float), ds["weight"].values
    if "trials" in ds:          # an individual's positives among its bag's participants
        membership = ds["membership"].values
        share = weight / np.bincount(membership, weights=weight)[membership]
        return mean * share * ds["trials"].values[membership]
    return mean * weight if aggregation(ds) == "sum" else mean


def _bags(fit, ds: xr.Dataset, rate, samples: int, seed: int) -> xr.Dataset:
    return _from_draws(fit, ds, "bag", ds["value"], _bag_expectation(fit, ds, rate), samples, seed)


def _bag_expectation(fit, ds: xr.Dataset, rate) -> np.ndarray:
    if hasattr(fit, "over"):
        mean = np.asarray(fit.over(ds, area_effect=True).mean.values, dtype=float)
        return mean * ds["trials"].values if "trials" in ds else mean
    membership, weight = ds["membership"].values, ds["weight"].values
    mean = np.bincount(membership, weights=np.asarray(rate.mean.values, dtype=float) * weight)
    return mean if aggregation(ds) == "sum" else mean / np.bincount(membership, weights=weight)


def _individuals(fit, ds: xr.Dataset, rate, samples: int, seed: int) -> xr.Dataset:
    mean = _individual_expectation(ds, rate)
    return _from_draws(fit, ds, "individual", ds["individual_value"], mean, samples, seed)


def _from_draws(fit, ds, unit: str, observed: xr.DataArray, mean, samples: int, seed: int):
    draws = fit.simulate(ds, unit=unit, samples=samples, seed=seed).values
    y, tails = np.asarray(observed.values, dtype=float), _tails()
    ends = central_intervals(draws, LEVELS)
    inside = (ends[0] <= y) & (y <= ends[1])
    quantiles = np.quantile(draws, QUANTILES, axis=0, method="inverted_cdf")
    density = getattr(fit, "log_density", None)
    score = (
        log_score(np.asarray(density(ds, unit=unit, samples=samples, seed=seed)))
        if density is not None
        else np.full(y.size, np.nan)  # draws alone give no density
    )
    packed = _pack(
        observed,
        mean,
        draws.std(0, dtype=float),
        quantiles,
        pit(y, draws, seed),
        crps(y, draws),
        score,
        inside,
        ends,
        tails,
    )
    if unit == BAG and kind(ds) == "count":     # so that large bags do not decide alone
        packed["crps_sqrt"] = (unit, crps(square_root(y), square_root(draws)))
    return packed


def _rates(fit, ds: xr.Dataset, rate, samples: int, seed: int) -> xr.Dataset:
    truth = ds["truth"]
    tail = (1 - np.asarray(LEVELS)) / 2
    u = np.asarray(rate.cdf(truth).values, dtype=float)
    # At once: of some distributions quantiles are those of many draws.
    found = rate.quantile([*tail, *(1 - tail), *QUANTILES]).values
    lower, upper, quantiles = np.split(found, [tail.size, 2 * tail.size])
    return _pack(
        truth,
        rate.mean.values,
        rate.std.values,
        quantiles,
        u,
        crps(truth.values, _singly(rate, samples, seed)),
        np.full(truth.size, np.nan),
        covered_by_pit(u),
        (lower, upper),
        _tails(),
    )


def _singly(rate, samples: int, seed: int) -> np.ndarray:
    """Draws of each unit; what units share does not matter to their own scores."""
    if hasattr(rate, "distribution"):       # a labelled one, which would draw jointly
        return rate.sample(samples, seed=seed, joint=False).values
    return rate.sample(samples, seed=seed).values


def _tails() -> list[int]:
    return [LEVELS.index(level) for level in (0.5, 0.8, 0.95)]


def _pack(observed, mean, std, quantile, u, crps, log_score, inside, ends, tails) -> xr.Dataset:
    y, dim = np.asarray(observed.values, dtype=float), observed.dims[0]
    lower, upper = ends
    levels = np.asarray(LEVELS)
    median = quantile[QUANTILES.index(0.5)]
    return xr.Dataset(
        {
            "observed": (dim, y),
            "mean": (dim, mean),
            "std": (dim, std),
            "quantile": (("quantile_level", dim), quantile),
            "pit": (dim, u),
            "crps": (dim, crps),
            "wis": (dim, weighted_interval_score(y, median, lower, upper, levels)),
            "log_score": (dim, log_score),
            "covered": (("level", dim), inside),
            "interval_score": (
                ("interval", dim),
                interval_score(y, lower[tails], upper[tails], levels[tails]),
            ),
            "width": (("interval", dim), upper[tails] - lower[tails]),
        },
        coords={
            dim: observed[dim],
            "quantile_level": list(QUANTILES),
            "level": levels,
            "interval": levels[tails],
        },
    )
