"""The Normal model of Law et al.: the swiss roll with Normal observations, and elevators."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import xarray as xr

from workbench.datasets import load
from workbench.labelled import BagConstant, CentrePointGP, Constant, NeuralNetwork, Nystrom, VBAgg
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame
from workbench.papers.tools.scores import individual_scores, learning

_MODELS = {
    "bag-constant": (BagConstant, {}, False),
    "constant": (Constant, {}, False),
    "centre-point": (CentrePointGP, {"link": "identity"}, True),
    "vbagg-normal": (VBAgg, {"link": "identity", "inducing_inputs": "held"}, True),
    "nystrom": (Nystrom, {"link": "identity", "intercept": "learn", "inducing": 100,
                          "manifold_penalty": 0.0, "weight_penalty": 1.0}, True),
    "neural-network": (NeuralNetwork, {"link": "identity", "intercept": "learn", "hidden": 30,
                                       "learning_rate": 0.01, "manifold_penalty": 0.0}, False),
}
_NOTES = (
    "Settings of the paper's appendix H.2 are not known: bags of 50 (sd 25) as in its code's "
    "defaults, 100 landmarks, ARD kernel on elevators, sums with N_a sigma^2; the split and the "
    "bag sizes are drawn by our own generator. Trained baselines stop early and are not tuned. "
    "Intervals are those of f: on elevators the truth is the label itself, with its noise, so that "
    "they must hold less than their level."
)


def _score(settings: Settings) -> Row:
    where = json.loads(settings["data"])
    parts = {fold: load(settings["dataset"], fold=fold, seed=settings["seed"], **where)
             for fold in ("train", "estop", "test")}
    kind, options, kernelled = _MODELS[settings["model"]]
    if kernelled:
        options = {"kernel": settings["kernel"], **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        early = {"early_stop": parts["estop"]} if kind in (Nystrom, NeuralNetwork) else {}
        fit = kind(**options).fit(parts["train"], **early)
    row = individual_scores(fit, parts["train"]) | learning(fit)
    if settings["model"] != "bag-constant":
        new = individual_scores(fit, parts["test"])
        row |= {f"test_{name}": value for name, value in new.items()}
    bags = parts["train"]
    row["r2"] = 1 - row["mse"] / float(np.mean(
        (BagConstant().fit(bags).at(bags).mean.values - bags["truth"].values) ** 2))
    return row


def _runs(preset: str) -> list[Settings]:
    quick = preset == "quick"
    data = {"swiss-roll": {"n_bags": 40 if quick else 200, "mean_size": 30 if quick else 100,
                           "size_std": 10 if quick else 50, "likelihood": "normal"},
            "elevators": {}}
    models = ("bag-constant", "constant", "vbagg-normal") if quick else tuple(_MODELS)
    return [{"dataset": name, "data": json.dumps(where), "model": model, "seed": seed,
             "kernel": "rbf" if name == "swiss-roll" else "ard-rbf"}
            for name, where in data.items() if not (quick and name == "elevators")
            for seed in range(1 if quick else 3) for model in models]


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Mean over the splits."""
    runs = frame(results)
    scores = [c for c in ("mse", "r2", "cover_80", "cover_95", "test_mse", "test_cover_95")
              if c in runs]
    groups = runs.groupby(["dataset", "model"])
    return groups[scores].mean().assign(splits=groups.size())


NORMAL = Experiment(
    "normal-bags", "Normal observations: swiss roll and elevators",
    "Law et al. 2018, appendix H.2 (tables not available)", _runs, _score, _table, {}, _NOTES)
