"""Tables of the experiments of Law et al. 2018."""

from __future__ import annotations

import pandas as pd
from tables import RESULTS, digits, experiment, percent, pick, plain, results, stored, summary

from workbench.papers.status.published import roll_means

ROLL = {
    "oracle (true rates)": "oracle", "VBAgg-Sq (taylor)": "vbagg-square",
    "VBAgg-Exp, moment (ours)": "vbagg-exp-moment", "VBAgg-Exp (jensen)": "vbagg-exp",
    "Nyström": "nystrom", "neural network": "neural-network",
    "bag-constant": "bag-constant", "global mean": "constant",
    "bag-pixel": "bag-pixel",
}
PRINTED = {
    "oracle (true rates)": "2.13", "VBAgg-Sq (taylor)": "2.13 to 2.22",
    "VBAgg-Exp (jensen)": "2.13 to 2.22, intervals not to be trusted",
    "Nyström": "above VBAgg", "neural network": "above VBAgg",
    "bag-constant": "2.22", "global mean": "2.33", "bag-pixel": "> 2.4",
}
COUNTRY = {
    "VBAgg-Exp, moment, area effect": "vbagg-exp-moment + area effect",
    "VBAgg-Exp (jensen)": "vbagg-exp", "VBAgg-Exp, moment": "vbagg-exp-moment",
    "VBAgg-Sq (taylor)": "vbagg-square", "Nyström": "nystrom",
    "neural network": "neural-network", "bag-pixel": "bag-pixel", "constant": "constant",
}
LEVELS = (70, 80, 90, 95)


@experiment("swiss-roll-bags")
def swiss_roll_bags() -> pd.DataFrame:
    """Accuracy and coverage of individuals on the swiss roll."""
    scores = ["nll_stirling", "mse", *(f"cover_{level}" for level in LEVELS)]
    raw = pd.DataFrame({score: roll_means(results(), score)["mean"] for score in scores})
    table = pick(raw, ROLL, {
        "NLL": ("nll_stirling", digits(3)), "MSE": ("mse", digits(3)),
        **{f"covers at {level} %": (f"cover_{level}", percent) for level in LEVELS}})
    table.insert(0, "paper", [PRINTED.get(name, "–") for name in table.index])
    return table


@experiment("swiss-roll-sizes")
def swiss_roll_sizes() -> pd.DataFrame:
    """Negative log-likelihood by the size of bags."""
    raw = summary("swiss-roll-sizes")["nll_stirling"].unstack("mean_size").loc[600]
    names = {name: key for name, key in ROLL.items() if key in raw.index}
    return pick(raw, names, {f"bags of {size}": (size, digits(3)) for size in raw.columns})


@experiment("swiss-roll-tests")
def swiss_roll_tests() -> pd.DataFrame:
    """Signed-rank tests of the forms of VBAgg over independent repetitions."""
    raw = summary("swiss-roll-tests")
    short = {key: name for name, key in ROLL.items()}
    shown = {"nll_stirling": "NLL", "mse": "MSE"}
    raw.index = [f"{shown[row.score]}: {short[row.better]} less than {short[row.worse]}"
                 for row in raw.itertuples()]
    return pick(raw, None, {
        "median difference": ("difference", digits(4)), "repetitions": ("sets", digits(0)),
        "p": ("p", digits(3))}, "compared")


@experiment("learnt-landmarks")
def landmarks() -> pd.DataFrame:
    """Landmarks held beside learnt ones, and the difference on the same data."""
    raw = summary("learnt-landmarks")
    raw.index = [f"{count} landmarks, {where}" for count, where in raw.index]
    return pick(raw, None, {
        "NLL": ("nll_stirling", digits(4)), "less held": ("nll_stirling: learnt less held", plain),
        "MSE": ("mse", digits(3)), "less that of held": ("mse: learnt less held", plain),
        "covers at 95 %": ("cover_95", percent), "objective": ("objective", digits(1)),
        "seconds": ("seconds", digits(0))}, "VBAgg-Sq, n = 100")


@experiment("country-malaria")
def country() -> pd.DataFrame:
    """Held-out areas of the simulated country."""
    raw = summary("country-malaria")
    raw["river_contrast"] = raw["river_contrast"].abs()
    true = raw["river_contrast_true"].iloc[0]
    return pick(raw, COUNTRY, {
        "NLL of totals": ("test_nll", lambda v: f"{v:.{int(v < 100)}f}"),
        "MSE of log totals": ("test_log_mse", digits(3)),
        "correlation of log rates of pixels": ("pixel_correlation", digits(3)),
        "MSE of them": ("pixel_log_mse", digits(2)),
        "pixels in 95 % intervals, %": ("pixel_cover_95", percent),
        f"rivers: log contrast (true {true:.2f})": ("river_contrast", digits(2))})


@stored("nystrom-country", "nystrom_country.csv", command="python benchmarks/nystrom.py")
def nystrom() -> pd.DataFrame:
    """Settings of Nyström changed one at a time."""
    raw = pd.read_csv(RESULTS / "nystrom_country.csv")
    means = raw.groupby("model")[["test_log_mse", "pixel_log_mse"]].mean()
    return pick(means, None, {"MSE of log totals": ("test_log_mse", digits(3)),
                              "MSE of log rates of pixels": ("pixel_log_mse", digits(2))})


@experiment("madagascar-malaria")
def madagascar() -> pd.DataFrame:
    """Held-out districts of Madagascar."""
    return pick(summary("madagascar-malaria"), None, {
        "MSE of log totals": ("test_log_mse", digits(2)), "NLL of totals": ("test_nll", digits(0)),
        "standard error": ("test_nll (se)", digits(1))})


@experiment("normal-bags")
def normal_bags() -> pd.DataFrame:
    """Normal observations on two datasets."""
    raw = summary("normal-bags")
    raw.index = raw.index.map(", ".join)
    return pick(raw, None, {"MSE of individuals": ("mse", digits(4)),
                            "MSE of test individuals": ("test_mse", digits(4)),
                            "95 % intervals cover, %": ("cover_95", percent)}, "dataset, model")
