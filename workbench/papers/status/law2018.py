"""Rows of Law et al. 2018, of whose appendices no numbers are in the copy at hand."""

from __future__ import annotations

import json

import pandas as pd

from workbench.papers.law2018.candidates import OBJECTIVE, VALIDATION, best
from workbench.papers.law2018.landmarks import differences
from workbench.papers.status.costs import further_runs, larger_runs
from workbench.papers.status.items import (
    CODE,
    DRAWN,
    IMPOSSIBLE,
    Finding,
    Item,
    Size,
    distinct,
)
from workbench.papers.status.published import roll_means
from workbench.papers.status.results import Results, with_error
from workbench.papers.tools.significance import signed_rank

PAPER = "law2018"
VBAGG = ["vbagg-square", "vbagg-exp"]
FLAT = ["bag-constant", "constant"]
TRAINED = ["nystrom", "neural-network", "bag-pixel"]
_NO_APPENDIX = "numbers not in the copy at hand"
_CLOSED = "the malaria data are confidential; a simulated country stands for them"


def _told(spread: pd.Series, places: int = 3) -> str:
    return with_error(spread["mean"], spread["sem"], spread["count"], places)


def _bags(results: Results) -> list[Finding]:
    runs = best(results.runs("swiss-roll-bags"), ["n_bags", "seed"])
    at = runs.groupby(["n_bags", "model"])["nll_stirling"].mean().unstack()
    means = roll_means(results)
    flat, square = means.loc["bag-constant"], means.loc["vbagg-square"]
    worst = at[VBAGG].max(axis=1)
    ahead, trained = (int((worst < at[rivals].min(axis=1)).sum()) for rivals in (FLAT, TRAINED))
    judged = int(at[TRAINED].notna().any(axis=1).sum())
    few, many = at["vbagg-square"].iloc[[0, -1]]
    return [
        Finding("a constant within each bag", "2.22", _told(flat), round(flat["mean"], 2) == 2.22),
        Finding("VBAgg-Sq lies between the true rates and that", "2.13 to 2.22",
                _told(square), 2.13 < square["mean"] < 2.22),
        Finding("bag-pixel is far above", "> 2.4", _told(means.loc["bag-pixel"]),
                bool((at["bag-pixel"].dropna() > 2.4).all())),
        Finding("VBAgg improves with more bags", "falls with n",
                f"{few:.3f} to {many:.3f}", few > many),
        Finding("both VBAgg are ahead of flat models", "at every n", f"at {ahead} of {len(at)}",
                ahead == len(at)),
        Finding("and of Nyström, network and bag-pixel", "at every n, significantly",
                f"at {trained} of {judged}", trained == judged)]


def _sizes(results: Results) -> list[Finding]:
    spread = results.spread("swiss-roll-sizes", "nll_stirling", ["model", "mean_size"])
    square = spread.loc["vbagg-square"]["mean"]
    return [
        Finding("VBAgg's NLL is stable as bags grow", "stable",
                " ".join(f"{value:.3f}" for value in square) + f" (bags of {square.index[0]} to "
                f"{square.index[-1]})", square.max() - square.min() < 0.02),
        Finding("VBAgg is ahead of Nyström and the network", "significantly",
                "neither is run at 600 bags", None)]


def _area_order(name: str, models: dict[str, str]):
    def findings(results: Results) -> list[Finding]:
        runs = best(results.runs(name), ["seed"])
        log, nll = (runs.groupby("model")[score].agg(["mean", "sem", "count"])
                    for score in ("test_log_mse", "test_nll"))
        low = log["mean"].loc[[*models.values(), "nystrom"]].idxmin()
        said = "; ".join(f"{title} {_told(log.loc[model])}" for title, model in
                         [*models.items(), ("Nyström", "nystrom"), ("network", "neural-network")])
        nlls = "; ".join(f"{title} {_told(nll.loc[model], 1)}" for title, model in
                         [*models.items(), ("Nyström", "nystrom"), ("network", "neural-network")])
        behind = log["mean"].loc["neural-network"] > log["mean"].loc[
            [*models.values(), "nystrom"]].max()
        return [Finding("Nyström is best, by a lead over VBAgg that is not significant",
                        "order of MSE", f"MSE of log totals: {said}", low == "nystrom"),
                Finding("VBAgg and Nyström are ahead of the network", "significantly",
                        f"NLL: {nlls}", bool(behind))]
    return findings


def _rivers(results: Results) -> list[Finding]:
    runs = best(results.runs("country-malaria"), ["seed"])
    log = runs.assign(river_contrast=runs["river_contrast"].abs()).groupby("model")[
        "river_contrast"].agg(["mean", "sem", "count"])
    true = runs["river_contrast_true"].mean()
    near = (log["mean"] - true).abs()
    return [Finding("VBAgg-Sq finds the rivers", f"map; here log contrast {true:.2f}",
                    _told(log.loc["vbagg-square"], 2), near["vbagg-square"] < 0.2 * true),
            Finding("VBAgg-Exp is sometimes too smooth to find them", "map",
                    _told(log.loc["vbagg-exp"], 2), near["vbagg-exp"] > 0.2 * true),
            Finding("Nyström is sometimes too smooth to find them", "map",
                    _told(log.loc["nystrom"], 2), near["nystrom"] > 0.2 * true)]


def _calibration(results: Results) -> list[Finding]:
    found = []
    for model, well in (("vbagg-square", True), ("vbagg-exp", False)):
        cover = 100 * roll_means(results, "cover_95").loc[model, ["mean", "sem"]]
        count = roll_means(results, "cover_95").loc[model, "count"]
        found.append(Finding(
            "VBAgg-Sq is calibrated" if well else "VBAgg-Exp is not", "plots: 95 % intervals cover",
            f"{with_error(cover['mean'], cover['sem'], count, 0)} %",
            (abs(cover["mean"] - 95) < 5) == well))
    return found


def _objective(results: Results) -> list[Finding]:
    runs, found = results.runs("swiss-roll-bags"), []
    both = [best(runs, ["n_bags", "seed"], rule) for rule in (VALIDATION, OBJECTIVE)]
    for model in VBAGG:
        one, other = (part[part["model"] == model].set_index(["n_bags", "seed"])["nll_stirling"]
                      for part in both)
        gap = (one - other).abs()
        found.append(Finding(f"{model}: choosing by the objective changes little", "plots",
                             f"at most {gap.max():.4f} nats in {len(gap)} sets",
                             bool(gap.max() < 0.01)))
    return found


def _errors(results: Results) -> list[Finding]:
    mse = roll_means(results, "mse")
    rivals = [name for name in ("bag-constant", *TRAINED)]
    return [Finding("VBAgg has the least MSE of individuals", _NO_APPENDIX, "; ".join(
        f"{name} {_told(mse.loc[name])}" for name in (*VBAGG, *rivals)),
        bool(mse["mean"].loc[VBAGG].max() < mse["mean"].loc[rivals].min()))]


def _tests(results: Results) -> list[Finding]:
    runs = best(results.runs("swiss-roll-bags"), ["n_bags", "seed"])
    wide = runs.groupby(["seed", "model"])["nll_stirling"].mean().unstack()
    worst = wide[VBAGG].max(axis=1)
    wins = int((worst < wide["bag-constant"]).sum())
    beaten = int((worst < wide[TRAINED].min(axis=1)).sum())
    return [Finding("VBAgg's lead is significant by signed ranks", _NO_APPENDIX,
                    f"ahead of bag-constant in {wins} of {len(wide)} repetitions: p = "
                    f"{2 / 2 ** len(wide):.4f} at least; of the trained baselines in "
                    f"{beaten} of {len(wide)}", None)]


def _forms(results: Results) -> list[Finding]:
    row = signed_rank(results.runs(FORMS), "nll_stirling", ["seed"]).iloc[0]
    return [Finding("the two forms of VBAgg differ by signed ranks", _NO_APPENDIX,
                    f"{row['better']} is ahead by {row['difference']:.4f} nats (median), p = "
                    f"{row['p']:.2g} over {row['sets']} repetitions of 200 bags", None)]


def _normal(results: Results) -> list[Finding]:
    spread = results.spread("normal-bags", "mse", ["dataset", "model"])
    found = []
    for data in ("swiss-roll", "elevators"):
        one = spread.loc[data]
        found.append(Finding(
            f"VBAgg has the least MSE on {data}", _NO_APPENDIX, "; ".join(
                f"{name} {_told(one.loc[name], 4)}"
                for name in ("vbagg-normal", "nystrom", "neural-network", "bag-constant")),
            one["mean"].idxmin() == "vbagg-normal"))
    return found


def _bounds(results: Results) -> list[Finding]:
    raw = results.csv("bounds_gap").query("link == 'square' and bound == 'jensen'")
    worst = (raw["gap"] - 3 * raw["error"]).max()
    return [Finding("the bound of E log Σ p v² lies below it", "lemma 1",
                    f"in all {len(raw)} regimes, within the error of the truth, and at most "
                    f"{-raw['gap'].min():.2f} nats below", bool(worst <= 1e-6))]


def _million(results: Results) -> list[Finding]:
    largest = results.csv("pixels").iloc[-1]
    return [Finding("fits areas of so many pixels", "957 areas, 1,044,683 pixels",
                    f"{largest['areas']:.0f} areas, {largest['pixels']:,.0f} pixels in "
                    f"{largest['fit_seconds'] / 60:.0f} min with {largest['peak_gib']:.1f} GiB (1)",
                    bool(largest["pixels"] >= 1_044_683 and largest["converged"]))]


def _areas(results: Results) -> int:
    return json.loads(results.runs(COUNTRY)["data"].iloc[0])["districts"]


def _landmarks(results: Results) -> list[Finding]:
    found, runs = [], results.runs(LANDMARKS)
    for score, title, places in (("nll_stirling", "NLL", 4), ("mse", "MSE", 4)):
        for count, gap in differences(runs, score).iterrows():
            clear = abs(gap["mean"]) > 2 * gap["sem"]
            found.append(Finding(
                f"{count} learnt landmarks are better than held ones, {title}", "no experiment",
                f"by {_told(gap, places)}", bool(gap["mean"] < 0) if clear else None))
    return found


ROLL, COUNTRY, LANDMARKS = "swiss-roll-bags", "country-malaria", "learnt-landmarks"
FORMS = "swiss-roll-tests"
ITEMS = (
    Item(PAPER, "Figure 1 (left)", "samples of the swiss roll", state=DRAWN,
         why="notebook 01 draws it; tests hold the generator"),
    Item(PAPER, "Figure 1 (middle)", "NLL of individuals by the number of bags", ROLL,
         findings=_bags, table="Figure 1 (middle)", sizes=(
             Size("repetitions of VBAgg", 5, distinct(ROLL, "seed", model=VBAGG)),
             Size("repetitions of trained baselines", 5, distinct(ROLL, "seed", model=TRAINED)),
             Size("numbers of bags", 6, distinct(ROLL, "n_bags", model=[*VBAGG, *TRAINED]))),
         why="grids of all models have fewer points than the paper's, the same for each kind of "
             "option"),
    Item(PAPER, "Figure 1 (right)", "NLL of individuals by the size of bags", "swiss-roll-sizes",
         findings=_sizes, sizes=(
             Size("repetitions", 5, distinct("swiss-roll-sizes", "seed", model=VBAGG),
                  "each repetition has all sizes, and they are compared within it",
                  further_runs("swiss-roll-sizes")),
             Size("sizes of bags", 4, distinct("swiss-roll-sizes", "mean_size"))),
         why="Nyström and the network are not in this experiment: a point of their grids takes a "
             "minute at the 350 bags of Figure 1 (middle); six points of twenty sets are two hours "
             "there, and bags are larger here"),
    Item(PAPER, "Figure 2", "maps of malaria with rivers", COUNTRY, findings=_rivers, sizes=(
        Size("splits", 3, distinct(COUNTRY, "seed", model=[*VBAGG, "nystrom"])),),
        why=f"{_CLOSED}, with rivers of known effect; VBAgg-Exp has the better pixels there"),
    Item(PAPER, "Section 4.2, appendix G", "NLL and MSE of held-out areas", COUNTRY,
         findings=_area_order(COUNTRY, {"VBAgg-Exp": "vbagg-exp", "VBAgg-Sq": "vbagg-square"}),
         sizes=(Size("splits", 10, distinct(COUNTRY, "seed", model=[*VBAGG, "nystrom"]),
                     "the order between VBAgg and Nyström is the same in four or all of five",
                     further_runs(COUNTRY)),
                Size("areas", 957, _areas, "all eight models and their grids are run in it",
                     larger_runs(COUNTRY))),
         why=f"{_CLOSED}; there rates follow covariates, in the paper they vary smoothly between "
             "areas. Landmarks, penalty and link do not explain it (nystrom-country on the "
             "paper's page)"),
    Item(PAPER, "Section 4.2, on public data", "held-out districts of Madagascar",
         "madagascar-malaria", findings=_area_order("madagascar-malaria", {
             "VBAgg-Exp + area effect": "vbagg-exp + area effect",
             "VBAgg-Sq + area effect": "vbagg-square + area effect"}), sizes=(
             Size("splits", 10, distinct("madagascar-malaria", "seed", model=["nystrom"]),
                  "further splits of 109 districts share most of them",
                  further_runs("madagascar-malaria")),),
         why="real counts are overdispersed: models without an area effect are hopeless by NLL"),
    Item(PAPER, "Section 4.2, size", "a million pixels", command="python benchmarks/pixels.py",
         findings=_million, why="one simulated country of the paper's size"),
    Item(PAPER, "Section 3.1", "landmarks that are learnt", LANDMARKS, findings=_landmarks, sizes=(
        Size("repetitions", 0, distinct(LANDMARKS, "seed")),),
        why="VBAgg(inducing_inputs='learnt'); the paper says that landmarks might be learnt, and "
            "its experiments hold them, as ours do by default"),
    Item(PAPER, "Appendix A", "normal and exponential bags", state=CODE,
         why="likelihoods of VBAgg; the exponential's bound is derived anew, as the text of the "
             "appendix is not at hand"),
    Item(PAPER, "Appendix B", "baselines", state=CODE,
         why="Nystrom, NeuralNetwork, BagPixel, BagConstant, Constant; experiments above"),
    Item(PAPER, "Appendix E.2", "lower bound for the square link",
         command="python benchmarks/bounds.py", findings=_bounds,
         why="the paper prints no numbers; figure and table on the page of bounds"),
    Item(PAPER, "Appendix G.1", "maps in three splits, instability of the network",
         state=IMPOSSIBLE, why=f"{_CLOSED}; Figure 2's row has the contrasts"),
    Item(PAPER, "Appendix G.2", "the covariates of the malaria data", state=IMPOSSIBLE,
         why=_CLOSED),
    Item(PAPER, "Appendix H.1.1, MSE", "squared error of individuals", ROLL, findings=_errors,
         sizes=(Size("repetitions", 5, distinct(ROLL, "seed", model=[*VBAGG, *TRAINED])),)),
    Item(PAPER, "Appendix H.1.1, calibration", "coverage of true rates", ROLL,
         findings=_calibration,
         sizes=(Size("repetitions", 5, distinct(ROLL, "seed", model=VBAGG)),)),
    Item(PAPER, "Appendix H.1.1, VBAgg-Obj", "choice by the training objective", ROLL,
         findings=_objective, sizes=(Size("repetitions", 5, distinct(ROLL, "seed", model=VBAGG)),)),
    Item(PAPER, "Appendix H.1.1, tests", "signed ranks of models", ROLL, findings=_tests, sizes=(
        Size("repetitions", 5, distinct(ROLL, "seed", model=[*VBAGG, *TRAINED])),),
        why="sets of one repetition share most points, so that five repetitions cannot be "
            "significant"),
    Item(PAPER, "Appendix H.1.1, tests of the forms", "signed ranks of VBAgg-Sq and VBAgg-Exp",
         FORMS, findings=_forms, sizes=(Size("repetitions", 5, distinct(FORMS, "seed")),)),
    Item(PAPER, "Appendix H.2", "normal observations", "normal-bags", findings=_normal, sizes=(
        Size("splits", 0, distinct("normal-bags", "seed")),),
        why="settings are those of the released code's defaults; trained baselines are not tuned"),
)
