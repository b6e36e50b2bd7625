"""How fast the deconditional mean operator converges, beside what Theorem 4.2 promises.

The world is `workbench.papers.chau2021.theory.CosineWorld`; every run draws samples of all sizes
once and fits a line to the logarithm of the excess risk over that of M.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.papers.chau2021.theory import CosineWorld, schedule
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame

#: Logarithms to base two of M; of N no more than 62, the integers that NumPy draws.
FIRST, LAST, MOST = 6, 20, 62
#: Readings of the class of P_Y: (b, c) and the a on both sides of the theorem's threshold.
READINGS = {(np.inf, 2.0): (0.5, 0.75, 1.0, 1.5, 2.0), (2.0, 1.5): (0.5, 0.75, 1.0, 1.25, 2.0)}
GROWTHS = (3.0, 1.0, 0.5)           # N = M^(growth a); 3 is the theorem's for c' = 2, ι = 1
_NOTES = (
    "The theorem asks for a finite-dimensional H_l and for a conditional and a deconditional "
    "mean operator that are both Hilbert-Schmidt. DC is the identity on the functions that "
    "conditioning keeps, and an identity is Hilbert-Schmidt in finite dimension only: T_Gamma "
    "has finite rank, so b is infinite in effect, c = c' = 2 holds, and so does every smaller b "
    "and c with other constants. At b = infinity the theorem reads M^(-2a/3) up to a = 3/2, then "
    "M^-1, with N = M^(3a). The second reading, b = 2 and c = 1.5, is a weaker promise about the "
    "same world, with larger or smaller ridges. N = M^a asks a third of the theorem's exponent: "
    "there lambda^2 and epsilon^2 are both M^(-2a/3), and 1/N is smaller; with N = M^(a/2) "
    "lambda^2 = M^(-a/3) rules. The world has 3 cosines that conditioning keeps and 2 that it "
    "destroys (E_d(D_P) = 2, the noise of the second regression), X and Y on 32 midpoints, the "
    "kernel k scaled so that the least eigenvalue of E[mu_Y mu_Y] is one. Samples are "
    "multinomial counts, so that the theorem's own N = M^(3a) is drawn exactly, up to 2^62. M "
    "runs from 2^6 to 2^20, or to where N is 2^62: a = 1.5 and 2 at N = M^(3a) end at M = 2^13 "
    "and 2^10. deterministic is the slope of what the ridges alone do, with infinite samples; "
    "far from the theorem's exponent, the sizes are not yet asymptotic. late is the slope over "
    "the upper half of the sizes. A bound is kept by any slope at or below its exponent."
)


def sizes(points: float) -> list[int]:
    """The M of a study with N = M^points."""
    return [2**k for k in range(FIRST, min(LAST, int(MOST / points)) + 1)]


def slope(m: list[int], error: list[float]) -> float:
    """Slope of log error over log M."""
    return float(np.polyfit(np.log(m), np.log(error), 1)[0])


def _score(settings: Settings) -> Row:
    plan = schedule(settings["a"], settings["b"], settings["c"], growth=settings["growth"])
    world, m = CosineWorld(), sizes(plan.points)
    rng = np.random.default_rng((settings["seed"], round(100 * settings["a"]),
                                 round(100 * settings["growth"]), round(100 * settings["c"])))
    error, ridges = [], []
    for places in m:
        points, first, second = plan.at(places)
        error.append(world.excess(world.estimate(points, places, first, second, rng)))
        ridges.append(world.excess(world.limit(first, second)))
    half = len(m) // 2
    return ({"slope": slope(m, error), "late": slope(m[half:], error[half:]),
             "deterministic": slope(m, ridges), "theorem": plan.error,
             "threshold": plan.threshold, "log2_m": float(np.log2(m[-1])),
             "log2_n": float(np.log2(plan.at(m[-1])[0]))}
            | {f"excess_{places}": value for places, value in zip(m, error, strict=True)})


def _runs(preset: str) -> list[Settings]:
    quick = preset == "quick"
    readings = {(np.inf, 2.0): (1.0, 1.5)} if quick else READINGS
    return [{"b": b, "c": c, "a": a, "growth": growth, "seed": seed}
            for (b, c), values in readings.items() for a in values
            for growth in ((3.0, 1.0) if quick else GROWTHS)
            for seed in range(4 if quick else 20)]


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Slopes beside the theorem's exponents: means, standard errors, that of the ridges."""
    groups = frame(results).groupby(["b", "c", "growth", "a"])
    table = groups[["theorem", "slope", "late", "deterministic", "log2_m", "log2_n"]].mean()
    table.insert(2, "slope_error", groups["slope"].sem())
    table.insert(4, "late_error", groups["late"].sem())
    return table.assign(repetitions=groups.size())


RATES = Experiment(
    "dmo-rates", "Convergence of the deconditional mean operator",
    "Chau et al. 2021, theorem 4.2 (no experiment there)", _runs, _score, _table,
    {"a up to b(c + 1)/(bc + 1)": "excess risk O(M^(-ac/(c + 1))), epsilon = M^(-a/(c + 1))",
     "larger a": "excess risk O(M^(-bc/(bc + 1))), epsilon = M^(-b/(bc + 1))"}, _NOTES)
