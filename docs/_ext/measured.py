"""Tables of the benchmarks on real data."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tables import RESULTS, digits, figures, percent, pick, plain, stored

PLAIN = ("population split", "GLM on totals", "GLM on area means", "dasymetric classes",
         "Poisson kriging")
#: Pixels and areas of which the cost of learning is projected.
_PROJECTED = ((10_000_000, 10_000), (100_000_000, 10_000), (1_000_000_000, 10_000),
              (1_000_000_000, 100_000))
COVER = {f"cover {level}": (f"cover {level}", lambda v: f"{100 * v:.1f}")
         for level in ("50%", "80%", "95%")}


def _korea(level: str) -> pd.DataFrame:
    raw = pd.read_csv(RESULTS / f"korea_{level}.csv", index_col="method")
    return pick(raw, None, {
        "deviance raw": ("deviance raw", digits(2)),
        "deviance pinned": ("deviance pinned", digits(2)),
        "RMSE pinned": ("RMSE pinned", digits(1)),
        "correlation pinned": ("correlation pinned", digits(3)),
        "CRPS": ("CRPS", digits(2)), **COVER}, "method")


for _level in ("district", "province"):
    stored(f"korea-{_level}", f"korea_{_level}.csv", command="python benchmarks/korea.py")(
        lambda level=_level: _korea(level))


@stored("cases", "cases.csv", command="python benchmarks/cases.py")
def cases() -> pd.DataFrame:
    """The best plain method of each case beside the population split and `auto`."""
    raw = pd.read_csv(RESULTS / "cases.csv", index_col=["case", "method"])
    out = {}
    for case in dict.fromkeys(raw.index.get_level_values(0)):
        one = raw.loc[case]
        deviance, crps = one["deviance pinned"], one["CRPS"]
        best, first = deviance[list(PLAIN)].idxmin(), crps[list(PLAIN)].idxmin()
        out[case] = {
            "best plain method": best, "its deviance": f"{deviance[best]:.4g}",
            "population split": f"{deviance['population split']:.4g}",
            "auto": f"{deviance['auto']:.4g}",
            "CRPS: best plain method": f"{crps[first]:.4g} ({first})",
            "CRPS: auto": f"{crps['auto']:.4g}",
            "auto covers at 95 %": f"{100 * one['cover 95%']['auto']:.1f} %"}
    return pd.DataFrame(out).T.rename_axis("case")


@stored("all-cases", "cases.csv", command="python benchmarks/cases.py")
def all_cases() -> pd.DataFrame:
    """Every method on every case."""
    raw = pd.read_csv(RESULTS / "cases.csv", index_col=["case", "method"])
    raw.index = raw.index.map(": ".join)
    return pick(raw, None, {
        "deviance pinned": ("deviance pinned", figures(3)), "RMSE pinned": ("RMSE pinned",
                                                                          figures(3)),
        "CRPS": ("CRPS", figures(3)), **COVER, "log-sd": ("log-sd", digits(2))}, "case: method")


@stored("recovery", "recovery.csv", command="python benchmarks/recovery.py")
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


@stored("area-effects", "area_effects.csv", command="python benchmarks/area_effects.py")
def area_effects() -> pd.DataFrame:
    """Relative errors and coverage with the effects of areas over their prior and given totals."""
    raw = pd.read_csv(RESULTS / "area_effects.csv", keep_default_na=False, na_values={"cover": ""})
    wide = raw[raw["effects"] != ""].pivot(
        index=["dataset", "model"], columns="effects", values=["error", "cover"])
    wide.columns = [f"{score} {effects}" for score, effects in wide.columns]
    wide["split"] = raw[raw["effects"] == ""].set_index("dataset")["error"].reindex(
        wide.index.get_level_values("dataset")).values
    wide.index = [", ".join(parts) for parts in wide.index]
    return pick(wide, None, {
        "population split, error": ("split", digits(2)),
        "area_effect=False": ("error over their prior", digits(2)),
        "default": ("error given totals", digits(2)),
        "preserve_totals": ("error draws that keep totals", digits(2)),
        "area_effect=False, 95 % intervals cover": ("cover over their prior", percent),
        "default, cover": ("cover given totals", percent)}, "data, model")


@stored("stacking", "stacking.csv", command="python benchmarks/stacking.py")
def stacking() -> pd.DataFrame:
    """Excess CRPS of mixtures with weights learnt from few groups, mean over scenarios."""
    raw = pd.read_csv(RESULTS / "stacking.csv")
    means = raw.groupby("groups")[["0", "1", "to equal", "best one", "equal"]].mean()
    names = {"0": "no shrinkage", "1": "ours", "to equal": "to equal weights",
             "best one": "best one alone", "equal": "equal weights"}
    return pick(means, None, {title: (name, digits(2)) for name, title in names.items()},
                "groups of areas: excess CRPS in %")


@stored("madagascar-scores", "madagascar_scores.csv",
        command="python benchmarks/madagascar.py --part scores")
def madagascar() -> pd.DataFrame:
    """Scores of held-out districts, rounded; sorted by CRPS, the worst first."""
    raw = pd.read_csv(RESULTS / "madagascar_scores.csv", index_col="model")
    raw = raw.sort_values("CRPS (cases)", ascending=False)
    return pick(raw, None, {
        "CRPS": ("CRPS (cases)", digits(0)), "log score": ("log score (nats)", digits(1)),
        "RMSE (cases)": ("RMSE (cases)", digits(0)), "correlation": ("correlation", digits(2)),
        "cover 50 %": ("50 % coverage (%)", digits(0)),
        "cover 80 %": ("80 % coverage (%)", digits(0)),
        "cover 95 %": ("95 % coverage (%)", digits(1))}, "model, held-out districts")


@stored("madagascar-slopes", "madagascar_slopes.csv",
        command="python benchmarks/madagascar.py --part slopes")
def slopes() -> pd.DataFrame:
    """Slopes and other parameters beside the published fit."""
    raw = pd.read_csv(RESULTS / "madagascar_slopes.csv", index_col="parameter", dtype=str)
    raw = raw.apply(lambda column: column.str.replace(" (nan)", ""))
    titles = {"ours": "ours, mean (sd)", "TMB": "TMB", "MCMC": "MCMC"}
    return pick(raw, None, {title: (name, plain) for name, title in titles.items()}, "parameter")


@stored("pixels", "pixels.csv", command="python benchmarks/pixels.py --compress 40 "
                                        "--overdispersion auto --threads 2 [--compress 10 "
                                        "--threads 1, --overdispersion none]")
def pixels() -> pd.DataFrame:
    """Time and memory against the number of pixels: plain Poisson as in the paper, the default."""
    raw = pd.read_csv(RESULTS / "pixels.csv")
    names = {"none": "plain Poisson", "auto": "effects of areas and pixels"}
    raw.index = [f"{count:,}, {names[kind]}, {most} clusters"
                 + (", corrected" if q_on.startswith("corrected") else "")
                 for count, kind, most, q_on in zip(raw["pixels"], raw["overdispersion"],
                                                    raw["compress"], raw["q_on"], strict=True)]
    return pick(raw, None, {
        "q found on": ("q_on", plain), "threads": ("threads", digits(0)),
        "evaluations of all": ("evaluations", digits(0)), "fit, s": ("fit_seconds", digits(0)),
        "map, s": ("map_seconds", digits(1)), "peak memory, GiB": ("peak_gib", digits(2)),
        "correlation of log rates": ("log_rate_correlation", digits(3)),
        "pixels in 95 % intervals, %": ("coverage_95", lambda v: f"{100 * v:.1f}")}, "pixels")


@stored("fit-memory", "fit_memory.csv", command="python benchmarks/fit_memory.py")
def fit_memory() -> pd.DataFrame:
    """Memory of a fit and its map beside the estimate that is told before."""
    raw = pd.read_csv(RESULTS / "fit_memory.csv", index_col="case")
    return pick(raw, None, {
        "estimate, GiB": ("estimate_gib", digits(2)), "fit took": ("fit_gib", digits(2)),
        "map took": ("map_gib", digits(2)), "estimate / most": ("ratio", digits(2))},
        "individuals, areas")


@stored("large-map", "large_map.csv", command="python benchmarks/large_map.py")
def large_map() -> pd.DataFrame:
    """Memory and time of a map in blocks against the number of pixels."""
    raw = pd.read_csv(RESULTS / "large_map.csv", index_col="pixels")
    raw.index = [f"{n:,}" for n in raw.index]
    return pick(raw, None, {
        "memory before, GiB": ("start_gib", digits(2)),
        "added by the map, GiB": ("map_gib", digits(2)),
        "processor s per million": ("processor_per_million", digits(1)),
        "s per million": ("seconds_per_million", digits(1))}, "pixels")


@stored("large-fit", "large_fit.csv", command="python benchmarks/large_fit.py")
def large_fit() -> pd.DataFrame:
    """Memory and time of learning from rasters in parts, and from all pixels at once."""
    raw = pd.read_csv(RESULTS / "large_fit.csv")
    raw.index = [f"{n:,} in {m:,} areas, {way}" for n, m, way in zip(
        raw["pixels"], raw["areas"], raw["way"], strict=True)]
    return pick(raw, None, {
        "bagging, s": ("bag_seconds", digits(0)), "added, GiB": ("bag_gib", digits(2)),
        "learning, s": ("fit_seconds", digits(0)), "added in all, GiB": ("fit_gib", digits(2)),
        "converged": ("converged", lambda v: "yes" if v else "no"),
        "RMSE of the log rate": ("log_rate_rmse", digits(3)),
        "95 % intervals cover": ("coverage_95", digits(3))}, "pixels and areas")


@stored("large-projection", "large_fit.csv", command="python benchmarks/large_fit.py")
def large_projection() -> pd.DataFrame:
    """Processor time and memory of larger rasters, by curves through what was measured."""
    raw = pd.read_csv(RESULTS / "large_fit.csv").query("way == 'in parts'")
    step = raw["fit_processor"] / raw["evaluations"]
    power, factor = np.polyfit(np.log(raw["individuals"]), np.log(step), 1)
    bag = np.poly1d(np.polyfit(raw["pixels"], raw["bag_processor"], 1))
    memory = np.poly1d(np.polyfit(raw["individuals"], raw["fit_gib"], 1))
    rows = []
    for pixels, areas in _PROJECTED:
        clusters = 10 * areas
        learning = np.exp(factor) * clusters**power * raw["evaluations"].max()
        rows.append((f"{pixels:,} in {areas:,} areas", bag(pixels) / 3600, learning / 3600,
                     memory(clusters)))
    found = pd.DataFrame(rows, columns=["pixels and areas", "bagging", "learning", "gib"])
    return pick(found.set_index("pixels and areas"), None, {
        "bagging, hours (a straight line)": ("bagging", digits(2)),
        f"learning, hours (clusters to the power {power:.2f})": ("learning", digits(2)),
        "added by learning, GiB (a straight line)": ("gib", digits(1))}, "pixels and areas")


@stored("summaries-size", "summaries.csv", command="python benchmarks/summaries.py")
def summaries() -> pd.DataFrame:
    """Time and memory of a GP on summaries against the number of areas."""
    raw = pd.read_csv(RESULTS / "summaries.csv")
    raw.index = [f"{n:,}, {solver}" for n, solver in zip(raw["areas"], raw["solver"], strict=True)]
    return pick(raw, None, {
        "fit, processor s": ("fit processor", digits(1)), "fit, s": ("fit seconds", digits(0)),
        "map, s": ("map seconds", digits(1)), "peak memory, GiB": ("peak GiB", digits(2)),
        "RMSE": ("rmse", digits(3))}, "areas, solver")


@stored("devices", "devices.csv", command="python benchmarks/devices.py")
def devices() -> pd.DataFrame:
    """A GPU beside the cores of its machine: seconds of a fit and of a map."""
    raw = pd.read_csv(RESULTS / "devices.csv")
    wide = raw.pivot(index=["pixels", "compress"], columns="way").sort_index(
        ascending=[True, False])
    out = pd.DataFrame({
        "fit, CPU": wide["fit_seconds", "cpu"], "fit, GPU": wide["fit_seconds", "gpu"],
        "times": wide["fit_seconds", "cpu"] / wide["fit_seconds", "gpu"],
        "map, CPU": wide["map_seconds", "cpu"], "map, GPU": wide["map_seconds", "gpu"],
        "largest": wide["difference", "gpu"]})
    out.index = [f"{n:,}, {'all of them' if most == 0 else f'at most {most} clusters an area'}"
                 for n, most in out.index]
    return pick(out, None, {
        "fit, s: 16 cores": ("fit, CPU", digits(2)), "fit, s: GPU": ("fit, GPU", digits(2)),
        "times faster": ("times", digits(1)), "map, s: 16 cores": ("map, CPU", digits(3)),
        "map, s: GPU": ("map, GPU", digits(3)),
        "largest relative difference of maps": ("largest", "{:.0e}".format)},
        "pixels, learnt from")


@stored("peers", "peers.csv", command="python benchmarks/peers.py")
def peers() -> pd.DataFrame:
    """Processor time beside other libraries, by turns in one process."""
    raw = pd.read_csv(RESULTS / "peers.csv")
    raw.index = [f"{task}; {peer}" for task, peer in zip(raw["task"], raw["peer"], strict=True)]
    raw["range"] = [f"{a:.1f} to {b:.1f}" for a, b in zip(raw["least"], raw["most"], strict=True)]
    return pick(raw, None, {
        "ours, s": ("ours", digits(2)), "theirs, s": ("theirs", digits(2)),
        "theirs / ours": ("ratio", digits(1)), "least to most": ("range", str),
        "error, ours": ("found, ours", digits(4)), "theirs": ("found, theirs", digits(4))},
        "task; peer")


@stored("bounds-gap", "bounds_gap.csv", command="python benchmarks/bounds.py")
def bounds_gap() -> pd.DataFrame:
    """The largest error of E log η of every form, by the sd of an individual's f."""
    raw = pd.read_csv(RESULTS / "bounds_gap.csv")
    raw = raw[raw["bound"] != "monte-carlo"].assign(gap=raw["gap"].abs())
    narrow = raw[raw["sd"] < 1.01].groupby(["link", "bound"])["gap"].max()
    wide = raw[raw["sd"] > 1.01].groupby(["link", "bound"])["gap"].max()
    both = pd.DataFrame({"narrow": narrow, "wide": wide})
    both.index = both.index.map(", ".join)
    return pick(both, None, {"largest error, sd of f up to 1": ("narrow", digits(3)),
                             "above": ("wide", digits(3))}, "link, bound")


@stored("posterior-bounds", "posterior_bounds.csv", command="python benchmarks/posterior.py")
def posterior_bounds() -> pd.DataFrame:
    """Posterior sds relative to MCMC's at common hyperparameters, and scores of the true rates."""
    raw = pd.read_csv(RESULTS / "posterior_bounds.csv")
    raw = raw[(raw["hyperparameters"] == "common") & raw["sd_median"].notna()]
    grouped = raw.groupby(["link", "bound"])
    both = grouped[["sd_median", "error", "cover_95", "mse", "seconds"]].mean()
    both.index = both.index.map(", ".join)
    return pick(both, None, {
        "sd / MCMC's": ("sd_median", digits(2)), "error of means, in sds": ("error", digits(2)),
        "95 % intervals cover, %": ("cover_95", lambda v: f"{100 * v:.0f}"),
        "MSE": ("mse", digits(3))}, "link, bound")


@stored("posterior-lengthscale", "posterior_lengthscale.csv",
        command="python benchmarks/posterior.py")
def posterior_lengthscale() -> pd.DataFrame:
    """Where each objective's lengthscale lies in its posterior."""
    raw = pd.read_csv(RESULTS / "posterior_lengthscale.csv")
    raw = raw[raw["below rbf.lengthscale"].notna()]
    share = raw.groupby(["link", "method"])["below rbf.lengthscale"].agg(["mean", "min", "max"])
    share.index = share.index.map(", ".join)
    return pick(share, None, {
        title: (name, lambda v: f"{100 * v:.0f}") for name, title in
        {"mean": "mean, %", "min": "least, %", "max": "most, %"}.items()},
        "posterior mass below the learnt lengthscale")
