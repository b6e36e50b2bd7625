"""NO2 at the stations of a simulated city in hours when the satellite alone observes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import summarise
from workbench.datasets import load_sources
from workbench.evaluation.calibration import covered
from workbench.papers.hamelijnck2019 import sources_scores as scores
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame

STATIONS, SATELLITE = "stations", "satellite"
#: What stays at a place, told by its features; the weather; what recurs every day at a place.
PLACE = "rbf(road_length)*rbf(canyon_ratio)*rbf(green_area)*matern32(coordinates)"
KERNEL = f"matern32(time)+{PLACE}+periodic(time)*{PLACE}"
_PERIOD = "periodic*rbf*rbf*rbf*matern32.periodic.period"
_DAY = 24.0                     # h
_COMMON = {"kernel": KERNEL, "hyperparameters": {_PERIOD: _DAY}}
_SPARSE = {**_COMMON, "inducing": 80, "max_steps": 200}
_NETWORK = {**_SPARSE, "hyperparameters": {f"f.{_PERIOD}": _DAY}, "weight_kernel": PLACE}
_TREE = {**_SPARSE, "samples": 8}
STATION_MEAN = "station mean"
#: Each model: its name in the registry and options; see `_data` for what it sees.
MODELS = {
    "single GP": ("mr-gp", _COMMON),
    "centre-point GP": ("mr-gp", _SPARSE),
    "centre-point": ("centre-point-gprn", _NETWORK),
    "vbagg-normal": ("mr-gp", _SPARSE),
    "mr-gprn": ("mr-gprn", _NETWORK),
    "mr-gprn (weights)": ("mr-gprn", {**_NETWORK, "composite": "ribatet"}),
    "mr-dgp": ("mr-dgp", {**_TREE, "deep_inputs": f"rbf(parent)*{PLACE}"}),
    "mr-dgp (f)": ("mr-dgp", {**_TREE, "deep_inputs": "f"}),
}
#: In the hourly world every model learns the paper's kernel: one ARD squared exponential of all
#: inputs.
_ARD = "ard-rbf"
_ARD_PLACE = "rbf(road_length)*rbf(canyon_ratio)*rbf(green_area)*ard-rbf(coordinates)"
_ARD_SPARSE = {"kernel": _ARD, "inducing": 100, "max_steps": 200}
_ARD_NETWORK = {**_ARD_SPARSE, "weight_kernel": _ARD}
_ARD_TREE = {**_ARD_SPARSE, "samples": 8}
ARD_MODELS = {
    "single GP": ("mr-gp", {"kernel": _ARD}),
    "centre-point GP": ("mr-gp", _ARD_SPARSE),
    "centre-point": ("centre-point-gprn", {**_ARD_NETWORK, "max_steps": 400}),
    "vbagg-normal": ("mr-gp", _ARD_SPARSE),
    "mr-gprn": ("mr-gprn", {**_ARD_NETWORK, "max_steps": 400}),
    "mr-gprn (weights)": ("mr-gprn", {**_ARD_NETWORK, "composite": "ribatet"}),
    "mr-dgp": ("mr-dgp", {**_ARD_TREE, "deep_inputs": f"rbf(parent)*{_ARD_PLACE}"}),
    "mr-dgp (f)": ("mr-dgp", {**_ARD_TREE, "deep_inputs": "f"}),
}
#: Options of the dataset; a small world's models have less time, too.
#: Seed 0 is left out: the kernel of the first world was chosen on it.
SEEDS = (1, 2, 3)
HOURLY = "hourly"
WORLDS = {"city": {"points": 4}, HOURLY: {"stations": 41, "hours": 24, "every": 1, "points": 4},
          "small": {"stations": 8, "hours": 12, "points": 2}}
_SMALL = {"max_steps": 6, "inducing": 12}
_PAPER = {
    "single GP": "20.55 ± 9.44, 0.80 ± 0.16", "centre-point": "18.74 ± 12.65, 0.65 ± 0.21",
    "vbagg-normal": "16.16 ± 9.44, 0.69 ± 0.37", "mr-gprn": "12.97 ± 9.22, 0.56 ± 0.32",
    "mr-gprn (weights)": "11.92 ± 6.80, 0.45 ± 0.17", "mr-dgp": "6.27 ± 2.77, 0.38 ± 0.32",
}
_NOTES = (
    "A simulation stands for London, whose data are not shipped here "
    "(workbench.sources_from_tables makes the task of your own tables): compare models, not "
    "numbers, and mind that their order depends on the kernel. Errors are of each of the stations "
    "in the second half, when only the satellite observes; ± is their standard deviation over "
    "stations, as in the paper, both averaged over seeds. One kernel for all: Matérn 3/2 of time, "
    "a static part of place and its features, and a part of them that recurs every 24 h; with an "
    "ARD squared exponential of all inputs, the paper's, the single GP was behind the station's "
    "own mean on seed 0. The kernel is the best of four for the single GP on the second half of "
    "seed 0, which is left out of the runs; cells are integrated by 4 x 4 points (the paper: 10 x "
    "10) and read every six hours, 360 values (the paper: hourly, 196 rows). 80 inducing inputs "
    "per term, 200 evaluations at most. W is of place and features alone. In mr-dgp the deep GP "
    "sees the satellite's field, place and features, but no time, as in the released code; (f): "
    "the field alone. 'centre-point GP' is the released code's single GP on cells' centres, "
    "'centre-point' the network of the paper.")

_HOURLY_NOTES = (
    "The paper's setting as far as it is printed: every model learns one ARD squared exponential "
    "of all inputs (W of MR-GPRN, too), the satellite is read every hour, 41 stations for a day, "
    "the day after with the satellite alone. A simulation stands for London: compare models, not "
    "numbers. The satellite's 30 cells of 4 x 4 points have 1,440 values and 23,040 points over "
    "both days; the paper's 196 values of 10 x 10, 19,600 points (what that changes: "
    "city-air-nodes). 100 inducing inputs (the paper: 100 to 400), 200 evaluations at most, 400 "
    "of centre-point and mr-gprn, of which two fits had not converged after 200, and 200 of the "
    "layers of mr-dgp together. In mr-dgp the deep GP sees the satellite's field, place and "
    "features, but no time, as in the released code; (f): the field alone.")

_NODE_NOTES = (
    "The hourly city with 2 x 2 and the paper's 10 x 10 nodes a cell, all else as in "
    "city-air-hourly, where they are 4 x 4: 144,000 points over both days at 10 x 10.")


def _score(settings: Settings) -> Row:
    tree = load_sources("simulated-city", seed=settings["seed"], **WORLDS[settings["world"]])
    target, both = tree["target"].to_dataset(), scores.sources_of(tree, STATIONS, SATELLITE)
    observed = target["value"].values
    if settings["model"] == STATION_MEAN:
        return by_station(target, _station_means(both[STATIONS], target)) | {
            "rmse": scores.error_scores(observed, _station_means(both[STATIONS], target))["rmse"]}
    kind, options = (ARD_MODELS if settings["world"] == HOURLY else MODELS)[settings["model"]]
    if settings["world"] == "small":
        options = {**options, **_SMALL}
    fit = scores.fitted(kind, options, _data(settings["model"], both))
    draws = scores.reading_draws(fit, target)
    return (by_station(target, fit.at(target).mean.values, draws)
            | scores.reading_scores(fit, target, draws) | scores.learnt(fit))


def _score_nodes(settings: Settings) -> Row:
    world = WORLDS[HOURLY] | {"points": settings["points"]}
    tree = load_sources("simulated-city", seed=settings["seed"], **world)
    target = tree["target"].to_dataset()
    kind, options = ARD_MODELS[settings["model"]]
    fit = scores.fitted(kind, options, scores.sources_of(tree, STATIONS, SATELLITE))
    draws = scores.reading_draws(fit, target)
    return (by_station(target, fit.at(target).mean.values, draws)
            | scores.reading_scores(fit, target, draws) | scores.learnt(fit))


def _data(model: str, both: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """What a model sees: the single GP no satellite, the centre-point GP only cells' centres."""
    if model == "single GP":
        return {STATIONS: both[STATIONS]}
    if model == "centre-point GP":
        return {**both, SATELLITE: summarise(both[SATELLITE])}
    return both


def _station_means(known: xr.Dataset, target: xr.Dataset) -> np.ndarray:
    """Mean of a station's readings in the first half, at its later hours."""
    means = pd.Series(known["value"].values).groupby(known["station"].values).mean()
    return means.reindex(target["station"].values).fillna(means.mean()).to_numpy()


def by_station(target: xr.Dataset, predicted: np.ndarray, draws: np.ndarray | None = None) -> Row:
    """Scores over stations: means, standard deviations, and by kind of place.

    Parameters
    ----------
    target : xr.Dataset
        Singletons with ``station`` and ``kind``.
    predicted : array (n,)
        Point predictions.
    draws : array (sample, n), optional
        Of readings.

    Returns
    -------
    dict
        ``station_rmse``, ``station_mape`` and ``..._sd``; ``rmse_road``, ``rmse_background``;
        of draws ``cover_station`` (95 %) with the lowest and highest of a station, ``cover_road``,
        ``cover_background``.
    """
    observed, kind = target["value"].values, target["kind"].values
    name = target["station"].values
    each = pd.DataFrame([scores.error_scores(observed[name == one], predicted[name == one])
                         for one in np.unique(name)])
    row: Row = {}
    for score in ("rmse", "mape"):
        row |= {f"station_{score}": float(each[score].mean()),
                f"station_{score}_sd": float(each[score].std())}
    for one in ("road", "background"):
        of_kind = kind == one
        row[f"rmse_{one}"] = scores.error_scores(observed[of_kind], predicted[of_kind])["rmse"]
    if draws is not None:
        inside = pd.Series(covered(observed, draws, [0.95])[0].astype(float))
        stations = inside.groupby(name).mean()
        row |= {"cover_station_low": float(stations.min()),
                "cover_station_high": float(stations.max()),
                "cover_road": float(inside[kind == "road"].mean()),
                "cover_background": float(inside[kind == "background"].mean())}
    return row


def _runs(preset: str) -> list[Settings]:
    if preset == "quick":
        models = (STATION_MEAN, "single GP", "centre-point GP", "vbagg-normal", "mr-dgp")
        return [{"world": "small", "seed": 0, "model": model} for model in models]
    runs = [{"world": "city", "seed": seed, "model": model} for seed in SEEDS
            for model in (STATION_MEAN, *MODELS)]
    return sorted(runs, key=lambda run: run["model"] == "mr-gprn (weights)")    # the slowest last


def _hourly_runs(preset: str) -> list[Settings]:
    seeds, models = ((SEEDS[:1], (STATION_MEAN, "single GP", "centre-point GP"))
                     if preset == "quick" else (SEEDS, (STATION_MEAN, *ARD_MODELS)))
    return [{"world": HOURLY, "seed": seed, "model": model} for seed in seeds for model in models]


def _node_runs(preset: str) -> list[Settings]:
    if preset == "quick":
        return [{"points": points, "seed": SEEDS[-1], "model": "vbagg-normal"} for points in (2, 4)]
    runs = [{"points": points, "seed": seed, "model": "vbagg-normal"} for seed in SEEDS
            for points in (2, 10)]
    deep = [{"points": 10, "seed": seed, "model": "mr-dgp"} for seed in SEEDS]   # half an hour each
    return runs + deep


def _node_table(results: xr.Dataset) -> pd.DataFrame:
    """Errors over stations by the number of nodes of a cell."""
    columns = ["station_rmse", "station_mape", "cover_reading", "crps", "converged", "seconds"]
    return frame(results).set_index(["model", "seed", "points"])[columns].sort_index()


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Errors over stations (table 2, left), means over seeds; coverage and CRPS of readings."""
    groups = frame(results).groupby(["world", "model"], sort=False)
    mean = groups.mean(numeric_only=True)
    table = pd.DataFrame({
        f"{score}": [f"{m:.2f} ± {s:.2f}" for m, s in zip(
            mean[f"station_{score}"], mean[f"station_{score}_sd"], strict=True)]
        for score in ("rmse", "mape")}, index=mean.index)
    each = groups.obj.pivot(index=["world", "model"], columns="seed", values="station_rmse")
    for seed in each:
        table[f"rmse, seed {seed}"] = each[seed].reindex(table.index)
    for name in ("rmse_road", "rmse_background", "crps", "cover_reading", "cover_truth",
                 "cover_road", "cover_background"):
        if name in mean:
            table[name] = mean[name]
    if "cover_station_low" in mean:
        table["cover, worst station"] = groups["cover_station_low"].min()
    for name in (f"weight {STATIONS}", f"weight {SATELLITE}", "converged", "seconds"):
        if name in mean:
            table[name] = mean[name]
    table["seeds"] = groups.size()
    table["paper (rmse, mape)"] = [_PAPER.get(model, "") for _, model in table.index]
    return table


CITY = Experiment(
    "city-air", "NO2 at stations of a simulated city when the satellite alone observes",
    "Hamelijnck et al. 2019, table 2 (left) and figure 4", _runs, _score, _table, _PAPER, _NOTES)
HOURLY_CITY = Experiment(
    "city-air-hourly", "NO2 at stations of a simulated city, read hourly, every kernel learnt",
    "Hamelijnck et al. 2019, table 2 (left) and appendix C.2", _hourly_runs, _score, _table, _PAPER,
    _HOURLY_NOTES)
NODES = Experiment(
    "city-air-nodes", "NO2 at stations, read hourly, by the nodes that a cell's mean is taken of",
    "Hamelijnck et al. 2019, appendix C.2 (10 x 10 nodes)", _node_runs, _score_nodes, _node_table,
    {}, _NODE_NOTES)
