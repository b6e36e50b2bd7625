"""Three sources of one function, two of them scaled down: who learns the map between them."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from workbench.datasets import load_sources
from workbench.papers.hamelijnck2019 import sources_scores as scores
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame

HIGH, LOW = "high", ("low-1", "low-2")
TRUTH = "truth"                 # without noise: what no model can be better than
_HELD = {f"{name}.noise.variance": 0.1**2 for name in (HIGH, *LOW)}
#: Each model: its name in the registry and options; the first sees the source "high" alone.
MODELS = {
    "single GP": ("mr-gp", {}),
    "vbagg-normal": ("mr-gp", {}),
    "vbagg-normal (noise 0.1)": ("mr-gp", {"hyperparameters": _HELD}),
    "mr-gprn": ("mr-gprn", {}),
    "centre-point": ("centre-point-gprn", {}),
    "mr-cascade": ("mr-cascade", {"deep_inputs": "f,x"}),
    "mr-cascade (f)": ("mr-cascade", {"deep_inputs": "f"}),
    "mr-dgp": ("mr-dgp", {"deep_inputs": "f"}),
    "mr-dgp (linear)": ("mr-dgp", {"deep_inputs": "linear"}),
    "mr-dgp (f, x)": ("mr-dgp", {"deep_inputs": "f,x"}),
}
NETWORKS = ("mr-gprn", "centre-point")
SEEDS = 5
_PAPER = {"mr-cascade": "2.12, 0.16", "vbagg-normal": "1.68, 0.14", "mr-gprn": "1.60, 0.14",
          "mr-dgp": "0.19, 0.02"}
_NOTES = (
    "RMSE and MAPE of 200 noisy readings from -10 to 20, as the released code draws them. The "
    "paper's MAPE cannot be the mean of |error / reading|: on its own data, seed 0, the truth "
    "without noise has 0.25; wape, sum |error| / sum |reading|, of the truth is 0.03. released: "
    "points from 6 to 13; printed: from 7 to 12. Kernel rbf for all, prior means and noise learnt; "
    "'noise 0.1' holds the sources' noise at what the paper prints, so that a biased source cannot "
    "be followed by calling the others noisy. In mr-dgp a deep GP sees the base GP's value alone, "
    "as in the released code, or the input too, as in (6). The paper does not say what MR-CASCADE "
    "is; here a chain from the coarsest source to the finest, each GP on the value before and the "
    "input, or (f) on the value alone; (linear) is our default, a line in the value and what "
    "departs from it. Five seeds. MR-DGP learns layer by layer, in closed form, then all at once, "
    "with the mixture's variance corrected (the released one has means "
    "in it).")


def _score(settings: Settings) -> Row:
    tree = load_sources("biased-sources", seed=settings["seed"], variant=settings["variant"])
    target = tree["target"].to_dataset()
    if settings["model"] == TRUTH:
        return scores.error_scores(target["value"].values, target["truth"].values)
    kind, options = MODELS[settings["model"]]
    names = (HIGH,) if settings["model"] == "single GP" else (HIGH, *LOW)
    fit = scores.fitted(kind, {"kernel": "rbf", **options}, scores.sources_of(tree, *names))
    return scores.reading_scores(fit, target) | scores.learnt(fit)


def _runs(preset: str) -> list[Settings]:
    if preset == "quick":
        models = (TRUTH, "single GP", "vbagg-normal", "mr-dgp")
        return [{"variant": "released", "seed": 0, "model": model} for model in models]
    runs = [{"variant": variant, "seed": seed, "model": model} for seed in range(SEEDS)
            for variant in ("released", "printed") for model in (TRUTH, *MODELS)]
    return sorted(runs, key=lambda run: run["model"] in NETWORKS)


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Errors over seeds (table 2, right), and coverage of readings and of the truth."""
    groups = frame(results).groupby(["variant", "model"], sort=False)
    table = pd.DataFrame({
        "rmse": scores.spread(groups, "rmse"), "median rmse": groups["rmse"].median(),
        "wape": groups["wape"].mean(), "mape": groups["mape"].mean(),
        **{name: groups[name].mean() for name in (
            "rmse_truth", "crps", "cover_reading", "cover_truth", "converged", "seconds")},
        "seeds": groups.size()})
    table["paper (rmse, mape)"] = [_PAPER.get(model, "") for _, model in table.index]
    return table


BIASED = Experiment(
    "biased-sources", "Three sources of one function, two of them scaled down",
    "Hamelijnck et al. 2019, table 2 (right) and figure 2 (right)", _runs, _score, _table, _PAPER,
    _NOTES)
