"""Rows of Chau et al. 2021."""

from __future__ import annotations

import pandas as pd

from workbench.papers.chau2021.minibatches import ALL, BATCHES, LEARNT, differences
from workbench.papers.chau2021.minibatches import PAPER as PAPER_ROLL
from workbench.papers.status.costs import further_runs
from workbench.papers.status.items import CODE, DRAWN, MAPS, Finding, Item, Size, distinct
from workbench.papers.status.results import Results, with_error
from workbench.papers.tools.significance import signed_rank

PAPER = "chau2021"
ROLL, TEMPERATURE, ABLATION, RATES = "mediated-roll", "temperature", "cmo-ablation", "dmo-rates"
MINIBATCHES = "cmp-minibatches"
WORLDS = {"cmip6": "CMIP6 annual", "uk": "UK", "simulated": "simulated globe"}
#: Two-sided p of table 3 that decide its claims: matching, models, as printed.
PRINTED_P = (("direct", "s-cmp", "bagg-gp", 0.00006), ("direct", "cmp", "bagg-gp", 0.00006),
             ("direct", "var-cmp", "vbagg", 0.005723), ("indirect", "var-cmp", "vbagg", 0.000089),
             ("indirect", "cmp", "bagg-gp", 0.011129), ("indirect", "s-cmp", "vbagg", 0.000140))
PICTURES = "python benchmarks/pictures.py"


def _told(spread: pd.Series, places: int = 3) -> str:
    return with_error(spread["mean"], spread["sem"], spread["count"], places)


def _roll(matching: str, printed: str, claims: tuple[tuple[str, str], ...]):
    def findings(results: Results) -> list[Finding]:
        each = results.spread(ROLL, "rmse", ["matching", "model"]).loc[matching]
        mean, number = each["mean"], float(printed.split(" ")[0])
        found = [Finding("RMSE of VarCMP", printed, _told(each.loc["var-cmp"]),
                         bool(mean["var-cmp"] <= 1.15 * number))]
        return found + [Finding(
            f"{one} is ahead of {other}", "other numbers cannot be read in the copy at hand",
            f"{_told(each.loc[one])}; {_told(each.loc[other])}", bool(mean[one] < mean[other]))
            for one, other in claims]
    return findings


def _order(results: Results) -> list[Finding]:
    each = results.spread(ROLL, "rmse", ["matching", "model"])
    cmp, sparse = each.loc[("indirect", "var-cmp")], each.loc[("released", "vbagg")]
    return [Finding("imputed VBAGG is far behind VarCMP, as the code ran",
                    "by a substantial margin", f"{_told(cmp)}; {_told(sparse)}",
                    bool(sparse["mean"] > 1.2 * cmp["mean"])),
            Finding("the same with values at their own bags", "not in the paper",
                    f"{_told(cmp)}; {_told(each.loc[('indirect', 'vbagg')])}",
                    bool(each.loc[("indirect", "vbagg"), "mean"] > 1.2 * cmp["mean"]))]


def _ranks(results: Results) -> list[Finding]:
    runs, found = results.runs(ROLL), []
    for matching, one, other, printed in PRINTED_P:
        part = runs[(runs["matching"] == matching) & runs["model"].isin([one, other])]
        row = signed_rank(part, "rmse", ["seed"]).iloc[0]
        found.append(Finding(
            f"{matching}: {one} differs from {other}", f"p = {printed:g}",
            f"p = {row['p']:.2g} over {row['sets']} seeds, {row['better']} ahead",
            bool(row["p"] < 0.05 and row["better"] == one)))
    return found


def _fields(results: Results) -> list[Finding]:
    each = results.spread(TEMPERATURE, "rmse", ["world", "model"])
    raw = results.table(TEMPERATURE)
    found = [Finding(f"RMSE of {model}, in K", raw.loc[("cmip6", model), "paper"],
                     _told(each.loc[("cmip6", model)], 2), None)
             for model in ("var-cmp", "vbagg", "var-gpr")]
    for world, title in WORLDS.items():
        mean = each.loc[world]["mean"]
        best = mean[["var-cmp", "var-cmp (two stages)"]].idxmin()
        rival = mean[["vbagg", "var-gpr"]].idxmin()
        found.append(Finding(
            f"VarCMP is ahead of both imputed models, {title}", "7.40, 8.02 and 8.25",
            f"{best} {_told(each.loc[(world, best)], 2)}; {rival} "
            f"{_told(each.loc[(world, rival)], 2)}",
            bool(mean[best] < mean[rival])))
    return found


def _field_ranks(results: Results) -> list[Finding]:
    runs = results.runs(TEMPERATURE).query("world == 'cmip6'")
    found = []
    for rival, printed in (("vbagg", 0.005062), ("var-gpr", 0.006910)):
        row = signed_rank(runs[runs["model"].isin(["var-cmp", rival])], "rmse", ["seed"]).iloc[0]
        found.append(Finding(f"VarCMP differs from {rival} in RMSE", f"p = {printed:g}",
                             f"p = {row['p']:.2g} over {row['sets']} splits, {row['better']} ahead",
                             bool(row["p"] < 0.05 and row["better"] == "var-cmp")))
    return found


def _shape(bags: int, points: int, rmse: str, times: int, small: bool):
    def findings(results: Results) -> list[Finding]:
        error = results.spread(ABLATION, "rmse", ["spread", "bags", "points", "ridge"]).loc[
            ("variance", bags, points)]
        speed = results.table(ABLATION).loc[(bags, points, "variance", "scaled")]
        scaled, plain = error.loc["scaled"], error.loc["unscaled"]
        near = plain["mean"] < 0.1 if small else abs(plain["mean"] - float(rmse)) < 0.01
        return [Finding("shrinkage against the standard operator, RMSE", rmse,
                        f"{_told(scaled)} with ridges as in the equations, {_told(plain)} unscaled",
                        bool(near)),
                Finding("both take little time" if small else "shrinkage is faster",
                        f"about {times / 100:g} s" if small else f"about {times} times",
                        f"{speed['seconds_naive']:.2g} s and {speed['seconds_shrinkage']:.2g} s"
                        if small else f"{speed['naive / shrinkage']:.0f} times",
                        bool(speed["seconds_naive"] < 0.05 if small
                             else speed["naive / shrinkage"] > times / 3))]
    return findings


def _rates(results: Results) -> list[Finding]:
    raw = results.table(RATES).reset_index()
    full = raw[raw["growth"] == raw["growth"].max()] if "growth" in raw else raw
    return [Finding("the risk falls at least as fast, "
                    f"b = {row['b']:g}, c = {row['c']:g}, a = {row['a']:g}",
                    f"{row['theorem']:.3f}",
                    with_error(row["slope"], row["slope_error"], float("nan")),
                    bool(row["slope"] < row["theorem"] + max(2 * row["slope_error"], 0.02)))
            for _, row in full.iterrows()]


def _noise(results: Results) -> list[Finding]:
    each = results.spread(TEMPERATURE, "coverage", ["world", "model"]) * [100, 100, 1]
    models = ("var-cmp", "var-cmp (individual noise)")
    return [Finding(f"individual noise widens intervals, {WORLDS[world]}", "no numbers",
                    " to ".join(_told(each.loc[(world, m)], 0) for m in models) + " % covered",
                    bool(each.loc[(world, "var-cmp (individual noise)"), "mean"]
                         > each.loc[(world, "var-cmp"), "mean"])) for world in ("uk", "simulated")]


def _cost(results: Results) -> list[Finding]:
    groups = results.csv("cmp").groupby(["kind", "method"])["processor"]
    seconds, seeds = groups.median(), groups.size()
    return [Finding(f"time of {kind} CMP, 5,000 points",
                    f"the recipe here: {seconds[kind, 'published']:.0f} s",
                    f"{seconds[kind, 'workbench']:.1f} s ({seeds[kind, 'workbench']})",
                    bool(seconds[kind, "workbench"] < seconds[kind, "published"]))
            for kind in ("exact", "variational")]


def _stochastic(results: Results) -> list[Finding]:
    each = results.spread(MINIBATCHES, "rmse", ["matching", "form"])
    runs, found = results.runs(MINIBATCHES), []
    for form in (BATCHES, LEARNT):
        for matching, printed in PAPER_ROLL.items():
            gap = differences(runs, "rmse", form).loc[matching]
            found.append(Finding(
                f"{form}: {matching} error is no larger than by all data at once", printed,
                f"{_told(each.loc[(matching, form)])}; {_told(each.loc[(matching, ALL)])}",
                bool(gap["mean"] < 2 * gap["sem"])))
    return found


_FILES = ("the paper's five monthly fields are public at ESGF and not shipped here "
          "(wb.load('cmip6-temperature', source='esgf', directory=FOLDER, date='1950-03') reads "
          "them); annual means of two of them, the UK and a simulated globe stand for them")
_SPLITS = (Size("splits", 10, distinct(TEMPERATURE, "seed", world="cmip6", model="var-cmp")),)
_RIDGE = ("no reading of the ridge gives the paper's numbers; scaled as in its equations both are "
          "equal")
_INDIRECT = _roll("indirect", "0.87 ± 0.07", (("cmp", "bagg-gp"), ("var-cmp", "vbagg")))
_REPEATS = (Size("repetitions", 0, distinct(ABLATION, "seed")),)
_HEAT = "heat maps of both operators are on the page of this paper's results, unscaled and scaled"
_ONCE = "the standard operator at 25,000 points, a matrix of 5 GB, was run once"


def _image(world: str) -> str:
    return f"data/pictures/{world}.png; {_FILES}"


ITEMS = (
    Item(PAPER, "Figure 1", "unmatched data", state=DRAWN, why="a diagram"),
    Item(PAPER, "Figure 2", "bags by height", state=DRAWN, why="notebook 05 draws it"),
    Item(PAPER, "Table 1, direct matching", "swiss roll by heights", ROLL, findings=_roll(
        "direct", "0.18 ± 0.04", (("cmp", "bagg-gp"), ("s-cmp", "bagg-gp"), ("var-cmp", "vbagg"))),
        table="Table 1", sizes=(Size("seeds", 20, distinct(ROLL, "seed", matching="direct")),),
        why="the true aggregated GP is level with CMP: what the paper shows is a gain over BAGG-GP "
            "with bags independent a priori"),
    Item(PAPER, "Table 1, indirect matching", "swiss roll by heights, mediated", ROLL,
         findings=lambda r: [*_INDIRECT(r), *_order(r)],
         sizes=(Size("seeds", 20, distinct(ROLL, "seed", matching="indirect")),),
         why="the released code puts imputed values at other bags; in their order most of the "
             "margin is gone"),
    Item(PAPER, "Table 3", "signed ranks on the swiss roll", ROLL, findings=_ranks, sizes=(
        Size("seeds", 20, distinct(ROLL, "seed", matching="indirect")),),
        why="rivals are learnt to their end and have their values in order here"),
    Item(PAPER, "Table 2", "temperature at cloud top", TEMPERATURE, findings=_fields,
         table="Table 2", sizes=_SPLITS,
         why=f"{_FILES}; on these, where position mediates, imputing is nearer"),
    Item(PAPER, "Table 4", "signed ranks on temperature", TEMPERATURE, findings=_field_ranks,
         sizes=_SPLITS, why=_FILES),
    Item(PAPER, "Figure 3", "fields and reconstruction by VarCMP", state=MAPS,
         command=PICTURES, why=_image("cmip6_figure3")),
    Item(PAPER, "Figure 4", "3 bags of 50", ABLATION, findings=_shape(3, 50, "negligible", 1, True),
         sizes=_REPEATS, why=_HEAT),
    Item(PAPER, "Figure 5", "50 bags of 3", ABLATION,
         findings=_shape(50, 3, "larger, still small", 3, True), sizes=_REPEATS,
         why=_HEAT),
    Item(PAPER, "Figure 6", "50 bags of 500", ABLATION,
         findings=_shape(50, 500, "0.03", 600, False),
         table="Appendix C.2", sizes=_REPEATS,
         why=f"{_RIDGE}. {_ONCE}. {_HEAT}"),
    Item(PAPER, "Figure 7", "500 bags of 50", ABLATION,
         findings=_shape(500, 50, "0.02", 200, False),
         sizes=_REPEATS, why=f"{_RIDGE}. {_ONCE}. {_HEAT}"),
    Item(PAPER, "Theorem 4.2, appendix D", "rates of convergence", RATES, findings=_rates, sizes=(
        Size("seeds", 0, distinct(RATES, "seed")),), why="the paper has no experiment on it"),
    Item(PAPER, "Appendix B", "variational posterior", state=CODE,
         why="VarCMP; the released bound takes the diagonal of the trace, a model of its own in "
             "the swiss roll's table"),
    Item(PAPER, "Appendix B.1, stochastic gradients", "minibatches, learnt inducing inputs",
         MINIBATCHES, findings=_stochastic, sizes=(Size("seeds", 20, distinct(
             MINIBATCHES, "seed", form=[ALL, BATCHES, LEARNT]),
             "the question is whether minibatches lose accuracy, and five pairs decide it",
             further_runs(MINIBATCHES, form=[ALL, BATCHES, LEARNT])),),
         why="VarCMP(batch=, inducing_inputs='learnt', train_features=); the paper names them "
             "and prints no comparison, its numbers are those of table 1"),
    Item(PAPER, "Appendix C.1", "shrinkage posterior", state=CODE,
         why="ShrinkageCMP; tests/gp/test_cmp.py holds it equal to CMP with bags of one size"),
    Item(PAPER, "Appendix E.1.2, E.3.4", "cost", command="python benchmarks/cmp.py",
         findings=_cost, why="the paper has a GPU and prints no times: both sides are ours"),
    Item(PAPER, "Appendix E.2", "noise of individuals", TEMPERATURE, findings=_noise, sizes=(
        Size("splits", 10, distinct(TEMPERATURE, "seed", world="uk",
                                    model="var-cmp (individual noise)")),
        Size("fields", 3, distinct(TEMPERATURE, "world", model="var-cmp (individual noise)"),
             "both fields that are run agree, and CMIP6 is left out",
             further_runs(TEMPERATURE, 20, world="cmip6", model="var-cmp"))),
        why="without individual noise a run on CMIP6 takes as long at least"),
    Item(PAPER, "Figure 8", "maps of the fields", state=MAPS, command=PICTURES,
         why=_image("cmip6_figure8")),
    *(Item(PAPER, f"Figure {number}", f"map by {model}", state=MAPS, command=PICTURES,
           why=_image("cmip6_figures9_to_11"))
      for number, model in ((9, "VarGPR"), (10, "VBAGG"), (11, "VarCMP"))),
)
