"""Print the stored benchmark results as the Markdown tables of the README."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from workbench.experiments import experiment_named, read_results

RESULTS = Path(__file__).parents[1] / "data" / "results"
#: Columns of the README's table of Shikuri's Table 3, and those of the experiment they are from.
SHIKURI = {
    "paper's summaries": ("summaries", "PAPER rmse"),
    "paper's summarised VI": ("summarised VI", "PAPER rmse"),
    "ours, white noise as there": ("summaries", "rmse"),
    "ours without": ("summaries, no white noise", "rmse"),
    "our summarised VI": ("summarised VI", "rmse"),
    "GPy's summarised VI": ("summarised VI (GPy)", "rmse"),
    "our complete VI": ("complete VI", "rmse"),
    "GPy's complete VI": ("complete VI (GPy)", "rmse"),
}
DUELS = [("paper's summaries", "paper's summarised VI"),
         ("ours, white noise as there", "our summarised VI"),
         ("ours, white noise as there", "GPy's summarised VI"),
         ("ours without", "our summarised VI"),
         ("ours without", "GPy's summarised VI")]
MARGIN = 0.01       # of RMSE, by which the paper calls two losses different
COUNTRY = {
    "VBAgg-Exp, moment, area effect": "vbagg-exp-moment + area effect",
    "VBAgg-Exp (jensen)": "vbagg-exp", "VBAgg-Exp, moment": "vbagg-exp-moment",
    "VBAgg-Sq (taylor)": "vbagg-square", "Nyström": "nystrom",
    "neural network": "neural-network", "bag-pixel": "bag-pixel", "constant": "constant",
}


def markdown(table: pd.DataFrame) -> str:
    """A table of strings as Markdown, its index as the first column."""
    head = [table.index.name or "", *map(str, table.columns)]
    rows = [[str(name), *map(str, table.loc[name])] for name in table.index]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def korea(level: str) -> pd.DataFrame:
    """One level of the Korea benchmark, rounded."""
    raw = pd.read_csv(RESULTS / f"korea_{level}.csv", index_col="method")
    out = pd.DataFrame(index=raw.index)
    for column, digits in {"deviance raw": 2, "deviance pinned": 2, "RMSE pinned": 1,
                           "correlation pinned": 3, "CRPS": 2}.items():
        out[column] = raw[column].map(f"{{:.{digits}f}}".format)
    for level_name in ("50%", "80%", "95%"):
        out[f"cover {level_name}"] = (100 * raw[f"cover {level_name}"]).map("{:.1f}".format)
    return out


def cases() -> pd.DataFrame:
    """Plain methods on the real cases with known fine truth, rounded."""
    raw = pd.read_csv(RESULTS / "cases.csv", index_col=["case", "method"])
    out = pd.DataFrame(index=raw.index.map(": ".join).rename("case: method"))
    for column in ("deviance pinned", "RMSE pinned", "CRPS"):
        out[column] = raw[column].map("{:.3g}".format).values
    for level in ("50%", "80%", "95%"):
        out[f"cover {level}"] = (100 * raw[f"cover {level}"]).map("{:.1f}".format).values
    return out


def madagascar() -> pd.DataFrame:
    """Scores of held-out districts, rounded; sorted by CRPS, the worst first."""
    raw = pd.read_csv(RESULTS / "madagascar_scores.csv", index_col="model")
    raw = raw.sort_values("CRPS (cases)", ascending=False)
    out = pd.DataFrame(index=raw.index.rename("model, held-out districts"))
    for name, column, digits in (
            ("CRPS", "CRPS (cases)", 0), ("log score", "log score (nats)", 1),
            ("RMSE (cases)", "RMSE (cases)", 0), ("correlation", "correlation", 2),
            ("cover 50 %", "50 % coverage (%)", 0), ("cover 80 %", "80 % coverage (%)", 0),
            ("cover 95 %", "95 % coverage (%)", 1)):
        out[name] = raw[column].map(f"{{:.{digits}f}}".format)
    return out


def recovery() -> pd.DataFrame:
    """Rank correlation of candidates' recovery errors with their pinned deviances, by case."""
    raw = pd.read_csv(RESULTS / "recovery.csv", index_col=["case", "candidate"])
    out = {}
    for case in dict.fromkeys(raw.index.get_level_values(0)):
        one = raw.loc[case]
        ranks = one.rank().corr()["pinned deviance"]
        out[case] = {"best candidate": one["pinned deviance"].idxmin(),
                     "largest weight": one["weight"].idxmax(),
                     **{name: f"{ranks[name]:.2f}" for name in ("error, held",
                                                                "error, learnt anew")}}
    return pd.DataFrame(out).T.rename_axis("case")


def california(grid: float) -> pd.DataFrame:
    """RMSE of Tables 3 and 5 of Shikuri 2025 by output and likelihood, NaN where a fit failed."""
    results = read_results(RESULTS / "california_prediction.nc")
    table = experiment_named("california-prediction").table(results).loc[grid]
    wide = {score: table[score].unstack("model") for score in ("rmse", "PAPER rmse")}
    return pd.DataFrame({name: wide[score][model] for name, (model, score) in SHIKURI.items()})


def shikuri(grid: float = 0.4) -> pd.DataFrame:
    """The same as the README has it: one row for each output, Normal / Poisson."""
    raw = california(grid)
    text = raw.map(lambda v: "–" if pd.isna(v) else f"{v:.3f}")
    pairs = text.xs("normal", level=1) + " / " + text.xs("poisson", level=1)
    outputs = ["MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "MedValue"]
    return pairs.loc[outputs].rename_axis("output, Normal / Poisson")


def duels() -> pd.DataFrame:
    """In how many rows summaries are ahead of summarised VI, level, and behind, on both grids."""
    out = {}
    for one, other in DUELS:
        for grid in (0.4, 0.8):
            raw = california(grid)
            away = (raw[one] - raw[other]).dropna()
            ahead, behind = int((away < -MARGIN).sum()), int((away > MARGIN).sum())
            out[f"{one}, against {other}", f"{grid}°"] = (
                f"{ahead}, {len(away) - ahead - behind}, {behind}")
    return pd.Series(out).unstack(sort=False).rename_axis("ahead, level, behind")


def country() -> pd.DataFrame:
    """Held-out areas of the simulated country, rounded."""
    results = read_results(RESULTS / "country_malaria.nc")
    raw = experiment_named("country-malaria").table(results).loc[list(COUNTRY.values())]
    share = [f"{100 * v:.0f} %" if pd.notna(v) else "" for v in raw["pixel_cover_95"]]
    return pd.DataFrame({
        "NLL of totals": [f"{v:.{int(v < 100)}f}" for v in raw["test_nll"]],
        "MSE of log totals": raw["test_log_mse"].map("{:.3f}".format).values,
        "correlation of log rates of pixels": raw["pixel_correlation"].map("{:.3f}".format).values,
        "MSE of them": raw["pixel_log_mse"].map("{:.2f}".format).values,
        "coverage of pixels by 95 % intervals": share,
        f"rivers: log contrast (true {raw['river_contrast_true'].iloc[0]:.2f})":
            raw["river_contrast"].abs().map("{:.2f}".format).values,
    }, index=pd.Index(COUNTRY, name="model"))


def main() -> None:
    """Print every stored table."""
    print(f"\n### Law et al. 2018, simulated country\n\n{markdown(country())}")
    print(f"\n### Shikuri 2025, Table 3\n\n{markdown(shikuri())}\n\n{markdown(duels())}")
    for level in ("district", "province"):
        print(f"\n### Korea, {level}\n\n{markdown(korea(level))}")
    print(f"\n### Real cases with known fine truth\n\n{markdown(cases())}")
    slopes = pd.read_csv(RESULTS / "madagascar_slopes.csv", index_col="parameter", dtype=str)
    print(f"\n### Madagascar, slopes\n\n{markdown(slopes)}")
    scores = pd.read_csv(RESULTS / "madagascar_scores.csv", index_col=0)
    print(f"\n### Madagascar, held-out districts\n\n{markdown(scores)}")


if __name__ == "__main__":
    main()
