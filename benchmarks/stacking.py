"""How strongly stacking weights should be shrunk to equal ones, by the number of groups.

    python benchmarks/stacking.py     # some three minutes

In each scenario candidate models predict areas in groups; their errors have a part that is common
to a group. Weights are learnt from n groups at multiples of the automatic strength (0: none), and
scored on all 4,000 groups by the CRPS of the mixture, as excess over the best weights, in per cent.
``to equal`` shrinks as strongly towards equal weights; ``best one`` takes the model with the least
score in the n groups, ``equal`` is equal weights.
Writes data/results/stacking.csv.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from workbench.evaluation.stacking import _minimise, _shrinkage, cross_scores

RESULTS = Path(__file__).parents[1] / "data" / "results" / "stacking.csv"
GROUPS = (5, 10, 20, 50, 100)
MULTIPLES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
AREAS, POPULATION, SAMPLES = 4, 4000, 100
# Standard deviations of each model's errors common to a group and of an area; its own spread.
SCENARIOS = {
    "one right of two": ([0.0, 0.7], [0.0, 0.3], 1.0),
    "one slightly better of two": ([0.4, 0.55], [0.3, 0.3], 1.0),
    "two alike": ([0.6, 0.6], [0.3, 0.3], 0.6),
    "one slightly better of five": ([0.4, 0.55, 0.55, 0.55, 0.55], [0.3] * 5, 1.0),
    "one right of five": ([0.0, 0.7, 0.7, 0.7, 0.7], [0.0, 0.3, 0.3, 0.3, 0.3], 1.0),
    "five alike": ([0.6] * 5, [0.3] * 5, 0.6),
    "one of five very bad": ([0.5, 0.5, 0.5, 0.5, 4.0], [0.3] * 5, 1.0),
    "four of five bad": ([0.3, 1.5, 1.5, 1.5, 1.5], [0.3] * 5, 1.0),
    "two good of five, too sure": ([0.5, 0.5, 1.2, 1.2, 1.2], [0.5] * 5, 0.5),
}


def population(common, own, spread, heavy: bool, rng) -> np.ndarray:
    """Cross scores (group, model, model) of many groups; the truth is standard normal."""
    models, units = len(common), POPULATION * AREAS
    z = rng.standard_t(3, (2, POPULATION, models)) / 3**0.5 if heavy else rng.normal(
        size=(2, POPULATION, models))
    error = np.repeat(z[0] * common, AREAS, axis=0) + rng.normal(size=(units, models)) * own
    y = rng.normal(size=units)
    draws = [error[:, k] + spread * rng.normal(size=(SAMPLES, units)) for k in range(models)]
    forms = np.concatenate([cross_scores([x[:, i:i + 1000] for x in draws], y[i:i + 1000])
                            for i in range(0, units, 1000)])
    return forms.reshape(POPULATION, AREAS, models, models).mean(1)


def excess(forms: np.ndarray, n: int, repeats: int, rng) -> dict[str, float]:
    """Mean excess CRPS (per cent) of weights learnt from n groups."""
    models, mean = forms.shape[-1], forms.mean(0)
    even = np.full(models, 1 / models)
    best = _minimise(lambda w: (w @ mean @ w, 2 * mean @ w, 2 * mean), even, 0.0)
    least = best @ mean @ best
    lost: dict[str, list[float]] = {f"{m:g}": [] for m in MULTIPLES}
    lost |= {"to equal": [], "best one": [], "equal": [even @ mean @ even]}
    for _ in range(repeats):
        seen = forms[rng.choice(POPULATION, n, replace=False)]
        form = seen.mean(0)

        def score(w, form=form):
            return w @ form @ w, 2 * form @ w, 2 * form

        strength, target = _shrinkage(np.diagonal(seen, axis1=1, axis2=2), 2 * seen.mean(2),
                                      2 * form, None, None, "auto")
        plans = {f"{m:g}": (m * strength, target) for m in MULTIPLES}
        for name, (factor, to) in (plans | {"to equal": (strength, even)}).items():
            w = _minimise(score, to if factor else even, factor)
            lost[name].append(w @ mean @ w)
        one = np.eye(models)[form.diagonal().argmin()]
        lost["best one"].append(one @ mean @ one)
    return {name: 100 * (np.mean(values) / least - 1) for name, values in lost.items()}


def main(repeats: int = 200, out: Path = RESULTS) -> None:
    """Learn weights again and again, and say what they lose."""
    warnings.simplefilter("error")
    rng, rows = np.random.default_rng(0), []
    for name, (common, own, spread) in SCENARIOS.items():
        for heavy in (False, True):
            forms = population(common, own, spread, heavy, rng)
            for n in GROUPS:
                row = {"scenario": name, "tails": "t3" if heavy else "normal", "groups": n}
                rows.append(row | excess(forms, n, repeats, rng))
    table = pd.DataFrame(rows).round(3)
    table.to_csv(out, index=False)
    numbers = table.drop(columns=["scenario", "tails"])
    print(numbers.groupby("groups").mean().round(2).to_string())


if __name__ == "__main__":
    typer.run(main)
