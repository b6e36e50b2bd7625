"""Stored tables have the columns that scripts write; what is said of them is what they hold."""

import importlib.util
from pathlib import Path

import all_tables as tables
import numpy as np
import pandas as pd
import pytest

from tests.docs.pages import DOCS
from tests.reference import country
from workbench.evaluation import correlation, rescale_to_totals, rmse
from workbench.papers import frame, read_results

ROOT = Path(__file__).parents[2]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_random_features_table_is_the_one_that_the_script_writes():
    stored = pd.read_csv(ROOT / "data" / "results" / "random_features.csv")
    module = script("random_features")
    assert list(stored.columns) == module.COLUMNS
    assert tuple(stored["features"]) == module.FEATURES
    assert (stored["zero_sds"] == 0).all() and stored["sd_ratio"].between(0.9, 1.1).all()


@pytest.mark.parametrize("level", ["district", "province"])
def test_korea_tables_say_which_scores_are_of_pinned_maps(level):
    ds, module = country(bags=6, size=5), script("korea")
    y = ds["individual_value"].values
    expected = ds["weight"].values * np.linspace(0.1, 0.9, y.size)
    draws = np.random.default_rng(0).poisson(expected, (20, y.size))
    got = module.scores(ds, expected, draws)
    pinned = rescale_to_totals(ds, expected).values
    assert got["RMSE pinned"] == pytest.approx(rmse(y, pinned))
    assert got["RMSE pinned"] != pytest.approx(rmse(y, expected))
    assert got["correlation pinned"] == pytest.approx(correlation(y, pinned))
    stored = pd.read_csv(ROOT / "data" / "results" / f"korea_{level}.csv", index_col="method")
    assert list(stored.columns) == [*got, "seconds", "objective"]
    shown = tables.TABLES[f"korea-{level}"].make()
    assert list(shown.columns[2:4]) == ["RMSE pinned", "correlation pinned"]
    assert list(shown.index) == list(stored.index)


def test_what_the_pages_say_of_surveys_is_what_is_stored():
    raw = pd.read_csv(ROOT / "data" / "results" / "surveys.csv")
    noise, maps = raw[raw["kind"] == "noise"], raw[raw["kind"] != "noise"]
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    by_map = maps.pivot(index=["kind", "seed"], columns="method", values=["rmse", "crps"])
    for score in ("rmse", "crps"):
        assert (by_map[score]["auto"] < by_map[score]["VBAgg"]).all()
    assert len(by_map) == 12 and "On twelve simulated surveys" in changes
    assert len(noise) == 24 and not noise["surely"].astype(bool).any()
    assert "of 24 surveys of pure noise it calls none surely better" in changes
    found = maps.groupby(["kind", "method"])[["rmse", "cover_50", "cover_95"]].mean()
    plain, said = "VBAgg without effects", _said("cases")
    ratio = found["rmse"].xs("VBAgg", level=1) / found["rmse"].xs(plain, level=1)
    assert round(ratio["uneven"], 1) == 0.7 and "take three tenths off VBAgg's error" in said
    assert ratio[["smooth", "covariate"]].between(1.005, 1.035).all() and "cost 1 to 3 %" in said
    assert "cover 97 % of the pixels instead of 84 %" in said
    covered = found["cover_95"].dropna()
    assert round(covered["uneven", "VBAgg"], 2) == 0.97
    assert round(covered["uneven", plain], 2) == 0.84
    assert (covered.drop(("uneven", plain)) > 0.96).all()
    assert (found["cover_50"].dropna().drop(("uneven", plain)) > 0.5).all()
    assert "RMSE 0.030 and 0.022; it was 0.030 and 0.021" in said
    auto = found["rmse"].xs("auto", level=1)
    assert auto[["smooth", "covariate"]].round(3).tolist() == [0.030, 0.022]
    assert maps.groupby("kind").size().eq(20).all()
    assert "means over four maps each" in _said("cases")


def test_what_the_page_says_of_pm25_is_what_is_stored():
    runs = frame(read_results(ROOT / "data" / "results" / "inter_task.nc"))
    wide = runs.pivot(index=["hours", "gap"], columns="model", values="mse")
    others = wide[["single GP", "centre-point", "mr-gprn"]]
    means = wide.groupby("hours").mean()
    assert (means["mr-dgp"] < means[others.columns].min(axis=1)).all()
    best = (wide["mr-dgp"] < others.min(axis=1)).groupby("hours").sum()
    said = _said("hamelijnck2019")
    assert best.sum() == 11 and best[10] == 1 and "it is best in 11 of 20, at 10 h in one" in said
    deep = runs[runs["model"] == "mr-dgp"]
    assert deep["converged"].all() and (runs["code"] != "").all()
    printed = runs[runs["model"] == "mr-dgp (f, x)"]
    share = printed.groupby("hours")["of_constant"].mean()
    apart = share - deep.groupby("hours")["of_constant"].mean()
    assert printed["converged"].all() and (abs(apart[[2, 5]]) < 0.01).all()
    assert f"at 2 and 5 h ({share[2]:.2f} and {share[5]:.2f} of a constant)" in said
    assert f"At 10 and 24 h ({share[10]:.2f} and {share[24]:.2f}) it is no better than" in said
    gaps = runs.pivot(index=["hours", "gap"], columns="model", values="of_constant")
    better = (gaps["mr-dgp (f, x)"] - gaps["single GP"]).groupby("hours").agg(["mean", "sem"])
    assert (better["mean"] > -2 * better["sem"]).loc[[10, 24]].all()
    others = runs[runs["model"].isin(["single GP", "centre-point", "mr-gprn"])]
    assert others["converged"].all() and "the fits of all of these models converge" in said
    share = runs.pivot_table(index="hours", columns="model", values="of_constant")
    spread = gaps["mr-gprn"][24]
    assert f"at 24 h: {spread.min():.2f} to {spread.max():.2f} of a constant" in said
    start = share["mr-gprn (paper's start)"]
    assert (start > share["mr-gprn"]).loc[[2, 5, 10]].all()
    assert f"({start[2]:.2f}, {start[5]:.2f} and {start[10]:.2f} of a constant)" in said
    behind = 100 * (share["centre-point"] / share["mr-gprn"] - 1)
    assert f"{behind[2]:.0f} % behind the mean at 2 h and {behind[5]:.0f} % at 5" in said
    assert (abs(behind[[10, 24]]) < 5).all()


def test_what_the_page_says_of_gpus_is_what_is_stored():
    raw = pd.read_csv(ROOT / "data" / "results" / "devices.csv")
    assert raw["pixels"].max() == 100_000
    assert "A million pixels were to be measured and were not" in _said("cost")
    assert raw["difference"].max() < 1e-9 and "are the same to rounding." in _said("cost")
    assert set(raw["device"]) == {"cpu", "NVIDIA H200"} and set(raw["threads"]) == {16}
    assert (raw["evaluations"] == 6).all()      # the first, and five steps
    shown = tables.TABLES["devices"].make()
    assert list(shown["times faster"]) == ["1.9", "2.4", "2.8", "6.3"]


def _said(page: str) -> str:
    return " ".join((DOCS / "results" / f"{page}.md").read_text(encoding="utf-8").split())


def test_what_the_pages_say_of_auto_is_what_is_stored():
    cases = pd.read_csv(ROOT / "data" / "results" / "cases.csv", index_col=["case", "method"])
    text, ahead, shown = _said("cases"), 0, tables.TABLES["cases"].make()
    plain = list(tables.measured.PLAIN)
    for case in dict.fromkeys(cases.index.get_level_values(0)):
        one = cases.loc[case]
        deviance, crps = one["deviance pinned"], one["CRPS"]
        best, first = deviance[plain].idxmin(), crps[plain].idxmin()
        assert shown.loc[case, "best plain method"] == best
        assert shown.loc[case, "auto"] == f"{deviance['auto']:.4g}"
        ahead += deviance["auto"] < deviance[best] and crps["auto"] < crps[first]
    assert ahead == 4 and "`auto` has the best map and CRPS in four of the six cases" in text
    korea = cases.loc["korea, 250 districts"]
    assert korea["deviance pinned"]["auto"] <= 3.40             # what was asked of it
    assert 0.92 <= korea["cover 95%"]["auto"] <= 0.98
    assert cases.loc["korea, 17 provinces"]["deviance pinned"]["auto"] <= 7.6
    covered = 100 * cases.xs("auto", level="method")["cover 95%"]
    assert (f"intervals of `auto` cover {covered.min():.0f} to {covered.max():.0f} %: too narrow "
            "in California,") in text and covered.idxmin() == "california, 58 counties"
    left = cases.xs("oracle GLM (saw the truth)", level="method")["log-sd"]
    assert f"with an sd of {left.min():.2f} to {left.max():.2f} in these data" in text


def test_what_the_pages_say_of_korea_is_what_is_stored():
    text = _said("korea")
    stored = {level: pd.read_csv(ROOT / "data" / "results" / f"korea_{level}.csv",
                                 index_col="method") for level in ("district", "province")}
    one = stored["district"].loc["auto"]
    inside = "{:.0f}, {:.0f} and {:.0f} %".format(
        *(100 * one[f"cover {level}"] for level in ("50%", "80%", "95%")))
    assert (f"pinned deviance of {one['deviance pinned']:.2f} and a CRPS of {one['CRPS']:.2f}, "
            "ahead of every plain method") in text
    assert f"Its 50, 80 and 95 % intervals cover {inside}." in text
    default = stored["district"].loc["VBAgg, no option"]
    assert (f"without any option: {default['deviance pinned']:.2f} and "
            f"{100 * default['cover 95%']:.0f} %.") in text
    one = stored["province"].loc["auto"]
    assert f"`auto` ({one['deviance pinned']:.1f}, {one['CRPS']:.1f}) is behind" in text
    assert f"Its 95 % intervals cover {100 * one['cover 95%']:.1f} %;" in text


def test_what_the_pages_say_of_recovery_is_what_is_stored():
    table = tables.measured.recovery()
    held, anew = (table[name].astype(float) for name in ("error, held", "error, learnt anew"))
    unseen = {"korea, 17 provinces", "us, 48 states"}
    # One time in twenty eight candidates have a rank correlation of 0.64 or more by chance.
    assert (held[list(unseen)] < 0.32).all() and (held.drop(list(unseen)) >= 0.64).all()
    said, pair = _said("cases"), ("korea, 17 provinces", "us, 48 states")
    assert ("({:.2f} and {:.2f} with fixed hyperparameters, {:.2f} and {:.2f} with those learnt "
            "anew) arise by chance".format(*held[list(pair)], *anew[list(pair)])) in said
    assert held.drop(list(unseen)).idxmin() == "italy, 20 regions"
    for case in ("italy, 20 regions", "california, 58 counties"):
        assert held[case] > anew[case] and f"({held[case]:.2f} against {anew[case]:.2f})" in said
    assert held["us, 48 states"] > anew["us, 48 states"]
    least = "korea, 250 districts"
    assert (f"districts those that are learnt anew are ({anew[least]:.2f} against "
            f"{held[least]:.2f})") in said
    rest = (held - anew)[["korea, 17 provinces", "italy, 107 provinces"]]
    assert f"differ by {rest.abs().max():.2f} at most" in said


def test_what_the_pages_say_of_madagascar_is_what_is_stored():
    text = _said("madagascar")
    crps = tables.measured.madagascar()["CRPS"].str.replace(",", "").astype(float)
    assert list(crps.nsmallest(2).index) == ["auto", "auto, quick"]
    assert f"({crps['auto, quick']:,.0f} quick, {crps['auto']:,.0f} normal; its 95 %" in text
    assert crps["auto"] <= 4090                                 # the best row before it
