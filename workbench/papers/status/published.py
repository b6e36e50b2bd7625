"""The numbers that papers print beside ours, of the stored runs: one row for each.

Published numbers are those that the experiments and the stored runs have. The likely causes are our
judgement, reasoned in the documentation's pages of results. The app `compare` and the page
"Reproduction status" show these rows.
"""

from __future__ import annotations

import re
from functools import lru_cache

import pandas as pd

from workbench.papers.law2018.candidates import best
from workbench.papers.registry import experiment_named
from workbench.papers.status.results import Results

SAME, OTHER = "yes", "no"       # whether the data are those of the paper
_OWN_DATA = "other data: compare the order of models, not the numbers"
_FLAT = "the paper's is near that of a flat map, where ours keeps some structure"
_NEAR = 0.06        # of a distance
_UNKNOWN = "not found"
_NOT_PRINTED = "computed from the generator"     # stands in for a number that the paper lacks
_KERNELS = {"normal": "Normal", "poisson": "Poisson"}
_NONE = pd.Series({"sem": float("nan"), "count": float("nan")})


@lru_cache(maxsize=4)
def published(results: Results) -> pd.DataFrame:
    """One row for each published number that there is a number of ours for; not to be changed.

    Parameters
    ----------
    results : Results

    Returns
    -------
    DataFrame
        ``paper``, ``table``, ``what``; ``published`` and ``ours`` as text and as numbers;
        ``standard_error`` and ``runs`` of ours, over repetitions, splits, trials or cities;
        ``same_data``; ``cause`` of a gap; the command that ours is ``made_by``.
    """
    return pd.DataFrame([*_law(results), *_hamelijnck(results), *_chau(results),
                         *_shikuri(results), *_nandi(results)])


def _number(text: str) -> float:
    """The number that a text begins with, NaN of one that bounds or ranges, or is not printed."""
    if _NOT_PRINTED in text:
        return float("nan")
    found = re.match(r"\s*(-?\d+(?:\.\d+)?)(?! *to)", text.replace("−", "-"))
    return float(found.group(1)) if found else float("nan")


def _row(paper: str, table: str, what: str, published: str, ours: str, cause: str, made_by: str,
         same: str = SAME, spread: pd.Series = _NONE) -> dict:
    return {"paper": paper, "table": table, "what": what, "published": published,
            "published_value": _number(published), "ours": ours, "ours_value": _number(ours),
            "standard_error": spread["sem"], "runs": spread["count"],
            "same_data": same, "cause": cause, "made_by": made_by}


def _command(name: str) -> str:
    return f"workbench run --experiment {name} --preset paper"


def roll_means(results: Results, score: str = "nll_stirling") -> pd.DataFrame:
    """A score on the swiss roll: mean over numbers of bags, then over repetitions.

    Parameters
    ----------
    results : Results
    score : str

    Returns
    -------
    DataFrame
        ``mean``, ``sem``, ``count`` (repetitions) by model, the oracle among them.
    """
    runs = best(results.runs("swiss-roll-bags"), ["n_bags", "seed"])
    oracle = runs[runs["model"] == "constant"].assign(model="oracle")
    oracle[score] = oracle.get(f"oracle_{score}", 0.0 if score == "mse" else float("nan"))
    both = pd.concat([runs, oracle])
    each = both.groupby(["model", "seed"])[score].mean()
    return each.groupby("model").agg(["mean", "sem", "count"])


def _law(results: Results) -> list[dict]:
    name = "swiss-roll-bags"
    means = roll_means(results)
    causes = {
        "bag-pixel": "smaller grids of the trained baselines",
        "vbagg-square": "the paper's is read from its figure; ours by L-BFGS, the paper's by Adam",
        "vbagg-exp": "the paper's is read from its figure; ours by L-BFGS, the paper's by Adam"}
    printed = experiment_named(name).paper
    table = "Figure 1 (middle): swiss roll, negative log-likelihood of individuals"
    return [_row("law2018", table, model, text, f"{means.loc[model, 'mean']:.3f}",
                 causes.get(model, ""), _command(name), spread=means.loc[model])
            for model, text in printed.items() if model in means.index]


def _hamelijnck(results: Results) -> list[dict]:
    rows = []
    causes = {
        "mr-cascade": "the paper does not say what it is; ours is a chain of GPs",
        "vbagg-normal": "noise is learnt here; fixed at the paper's 0.1 the error is smaller",
        "mr-gprn": f"{_UNKNOWN}; both follow the biased sources",
        "mr-dgp": "within the spread of five seeds"}
    biased = results.table("biased-sources").loc["released"]
    by = ["variant", "model"]
    spreads = {score: results.spread("biased-sources", score, by).loc["released"]
               for score in ("rmse", "mape")}
    for model, text in experiment_named("biased-sources").paper.items():
        error, mape = text.split(", ")
        rows.append(_row("hamelijnck2019", "Table 2 (right): biased sources, RMSE", model, error,
                         biased.loc[model, "rmse"], causes[model], _command("biased-sources"),
                         spread=spreads["rmse"].loc[model]))
        rows.append(_row("hamelijnck2019", "Table 2 (right): biased sources, MAPE", model, mape,
                         f"{biased.loc[model, 'mape']:.2f}",
                         "not the mean of |error / reading|: that of the truth itself is larger",
                         _command("biased-sources"), spread=spreads["mape"].loc[model]))
    city = results.table("city-air").loc["city"]
    cities = {score: results.spread("city-air", f"station_{score.lower()}", ["model"])
              for score in ("RMSE", "MAPE")}
    for model, text in experiment_named("city-air").paper.items():
        for score, value in zip(("RMSE", "MAPE"), text.split(", "), strict=True):
            rows.append(_row("hamelijnck2019", f"Table 2 (left): NO2 over a city, {score}", model,
                             value, city.loc[model, score.lower()],
                             f"a simulation stands for London; {_OWN_DATA}", _command("city-air"),
                             OTHER, cities[score].loc[model]))
    tasks = results.table("inter-task")
    gaps = results.spread("inter-task", "mse", ["model", "hours"])
    for (model, hours), one in tasks.iterrows():
        if one["paper"]:
            rows.append(_row("hamelijnck2019", "Table 1: PM2.5 from PM10, mean squared error",
                             f"{model}, means of {hours} h", one["paper"], one["mse"],
                             f"another station and year, errors on another scale; {_OWN_DATA}",
                             _command("inter-task"), OTHER, gaps.loc[(model, hours)]))
    return rows


def _chau(results: Results) -> list[dict]:
    rows, roll = [], results.table("mediated-roll")
    rolls = results.spread("mediated-roll", "rmse", ["matching", "model"])
    splits = results.spread("temperature", "rmse", ["world", "model"]).loc["cmip6"]
    causes = {"direct": "L-BFGS from several starts, the paper Adam from one",
              "indirect": "values in their right order; the released code mixes bags up"}
    for matching, cause in causes.items():
        one = roll.loc[(matching, "var-cmp")]
        rows.append(_row("chau2021", "Table 1: swiss roll by heights, RMSE",
                         f"VarCMP, {matching} matching", one["paper"],
                         f"{one['rmse']:.3f} ± {one['sd']:.3f}", cause, _command("mediated-roll"),
                         spread=rolls.loc[(matching, "var-cmp")]))
    fields = results.table("temperature").loc["cmip6"]
    for model, one in fields.iterrows():
        if one["paper"]:
            text = one["paper"].removeprefix("RMSE ").split(", corr. ")[0]
            rows.append(_row("chau2021", "Table 2: temperature at cloud top, RMSE in K", model,
                             text, f"{one['rmse']:.2f} ± {one['sd']:.2f}",
                             f"annual means of two of five fields; {_OWN_DATA}",
                             _command("temperature"), OTHER, splits.loc[model]))
    shrinkage = results.table("cmo-ablation").xs("variance", level="spread")
    ridges = results.spread("cmo-ablation", "rmse", ["spread", "bags", "points", "ridge"])
    for text, (bags, points) in {"50 bags of 500": (50, 500), "500 bags of 50": (500, 50)}.items():
        printed = experiment_named("cmo-ablation").paper[text]
        rmse = re.search(r"RMSE ([\d.]+)", printed).group(1)
        faster = re.search(r"about (\d+) times", printed).group(1)
        rows.append(_row("chau2021", "Appendix C.2: shrinkage, RMSE from the standard operator",
                         f"{text}, ridge unscaled", rmse,
                         f"{shrinkage.loc[(bags, points, 'unscaled'), 'rmse']:.3f}",
                         "no reading of the ridge gives both of the paper's numbers",
                         _command("cmo-ablation"),
                         spread=ridges.loc[("variance", bags, points, "unscaled")]))
        rows.append(_row("chau2021", "Appendix C.2: shrinkage, times faster than the naive one",
                         text, faster,
                         f"{shrinkage.loc[(bags, points, 'scaled'), 'naive / shrinkage']:.0f}",
                         "other machine, of one thread here",
                         _command("cmo-ablation")))
    return rows


def _shikuri(results: Results) -> list[dict]:
    rows, grids = [], results.table("california-grids").drop(columns="trials")
    trials = {size: results.spread("california-grids", f"rmse_{size.rstrip('°')}",
                                   ["output", "kernel", "reading"]) for size in grids.columns}
    for (output, kernel, reading), one in grids.iterrows():
        if reading != "PAPER":
            continue
        ours, flat = (grids.loc[(output, kernel, name)] for name in ("natural", "flat"))
        for size in grids.columns:
            spread = trials[size].loc[(output, kernel, "natural")]
            rows.append(_row(
                "shikuri2025", "Table 2: California, distance from the map of complete data",
                f"{output}, {kernel}, cells of {size}", f"{one[size]:.2f}", f"{ours[size]:.3f}",
                _grid_cause(size, one[size], ours[size], flat[size], spread["count"]),
                _command("california-grids"), spread=spread))
    causes = {"summaries": "ours {:.0f} trials, the paper 100",
              "summarised VI": "the rival is better here: no setting with the paper's error was "
                               "found",
              "complete VI": "inducing points at k-means++ seeds here, moved in the paper"}
    spreads = results.spread("california-prediction", "rmse",
                             ["grid", "output", "likelihood", "model"])
    for (grid, output, likelihood, model), one in results.table("california-prediction").iterrows():
        if model in causes and pd.notna(one["rmse"]) and pd.notna(one["PAPER rmse"]):
            spread = spreads.loc[(grid, output, likelihood, model)]
            rows.append(_row(
                "shikuri2025", f"Table {3 if grid == 0.4 else 5}: California, RMSE in sds, cells "
                f"of {grid:g}°", f"{output}, {_KERNELS[likelihood]}, {model}",
                f"{one['PAPER rmse']:.3f}", f"{one['rmse']:.3f}",
                _UNKNOWN if model == "summaries" and abs(one["rmse"] - one["PAPER rmse"]) > 0.05
                else causes[model].format(spread["count"]), _command("california-prediction"),
                spread=spread))
    return rows


def _grid_cause(size: str, published: float, ours: float, flat: float, trials: float) -> str:
    if abs(published - ours) < _NEAR:
        return f"ours {trials:.0f} trials, the paper 100"
    coarse = size in ("1.6°", "0.8°")
    return _FLAT if coarse and abs(published - flat) < _NEAR else _UNKNOWN


def _nandi(results: Results) -> list[dict]:
    slopes = results.csv("madagascar_slopes").astype(str)
    cause = {"log tau_u": "a larger area effect here",
             "log rho": "a longer map: Matérn 3/2 without a mesh, another prior of the range",
             "log sigma": "the map is Matérn 3/2 without a mesh"}
    return [_row("nandi2023", "Madagascar: slopes and hyperparameters, mean (sd), by TMB",
                 one["parameter"], one["TMB"], one["ours"].replace(" (nan)", ""),
                 cause.get(one["parameter"], "within a published standard deviation"),
                 "python benchmarks/madagascar.py --part slopes") for _, one in slopes.iterrows()]
