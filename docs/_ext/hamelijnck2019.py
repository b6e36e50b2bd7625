"""Tables of the experiments of Hamelijnck et al. 2019."""

from __future__ import annotations

import pandas as pd
from tables import RESULTS, digits, experiment, percent, pick, plain, stored, summary

from workbench.papers.hamelijnck2019.full_bayes.figure5 import relative_sds
from workbench.papers.hamelijnck2019.positive_weights import ONE

DEPENDENT = {
    "points alone": "points", "product of likelihoods": "product", "Ribatet": "ribatet",
    "Lyddon": "lyddon", "the released code's scalar (5 seeds)": "released weight",
    "φ = ½": "phi 1/2", "network (MR-GPRN), product": "network product",
    "network (MR-GPRN), Ribatet": "network ribatet",
}
CASES = {"released": "noise 0.5 (released)", "B.6": "0.1 (B.6)", "B.1": "1.0 (B.1)"}
BIASED = {
    "MR-DGP, our default (a line in the parent)": "mr-dgp (linear)",
    "MR-DGP, f alone as coded": "mr-dgp", "MR-DGP, (f, x) as printed": "mr-dgp (f, x)",
    "MR-GPRN": "mr-gprn", "CENTER-POINT": "centre-point", "VBAGG-NORMAL": "vbagg-normal",
    "VBAGG-NORMAL, noise fixed at 0.1": "vbagg-normal (noise 0.1)",
    "MR-CASCADE, (f, x)": "mr-cascade", "MR-CASCADE, f": "mr-cascade (f)",
    "single GP on the points": "single GP", "the truth itself": "truth",
}
TASKS = {
    "constant": "constant", "single GP on PM2.5": "single GP", "CENTER-POINT": "centre-point",
    "MR-GPRN": "mr-gprn", "MR-GPRN, two bases": "mr-gprn (2 bases)",
    "MR-GPRN, the paper's start": "mr-gprn (paper's start)", "MR-DGP": "mr-dgp",
    "MR-DGP, (f, x)": "mr-dgp (f, x)",
}
CITY = {
    "station's own mean": "station mean", "single GP, stations alone": "single GP",
    "VBAGG-NORMAL": "vbagg-normal", "CENTER-POINT, GP as coded": "centre-point GP",
    "CENTER-POINT, network as printed": "centre-point", "MR-GPRN": "mr-gprn",
    "MR-GPRN, composite weights": "mr-gprn (weights)", "MR-DGP, parent and place": "mr-dgp",
    "MR-DGP, parent alone": "mr-dgp (f)",
}


@experiment("dependent-sources")
def dependent() -> pd.DataFrame:
    """Posterior variance relative to that of the points alone, and coverage of f."""
    raw, out = summary("dependent-sources"), {}
    for case, title in CASES.items():
        one = raw.loc[case].reindex(list(DEPENDENT.values()))
        out[f"{title}: variance"] = [digits(2)(v) for v in one["relative variance"]]
        out[f"{title}: cover, %"] = [percent(v) for v in one["cover_truth"]]
    return pd.DataFrame(out, index=pd.Index(list(DEPENDENT), name="posterior"))


@experiment("dependent-sources", "dependent-sources-weights")
def weights() -> pd.DataFrame:
    """Estimated weights and noises."""
    raw = summary("dependent-sources").loc["released"]
    names = {t: n for t, n in DEPENDENT.items() if n in raw.index and n != "points"}
    return pick(raw, names, {
        "weight of points": ("weight points", digits(2)),
        "of aggregates": ("weight aggregates", digits(2)),
        "noise of points": ("noise points", digits(2)),
        "of aggregates (true 0.29)": ("noise aggregates", digits(2))}, "posterior")


@experiment("biased-sources")
def biased() -> pd.DataFrame:
    """Errors and coverage with sources that are scaled down."""
    raw = summary("biased-sources")
    one, other = (raw.loc[variant].reindex(list(BIASED.values()))
                  for variant in ("released", "printed"))
    return pd.DataFrame({
        "RMSE": [plain(v) for v in one["rmse"]], "MAPE": [digits(1)(v) for v in one["mape"]],
        "weighted": [digits(2)(v) for v in one["wape"]],
        "95 % intervals cover, %": [percent(v) for v in one["cover_truth"]],
        "RMSE, printed range": [plain(v) for v in other["rmse"]],
        "paper: RMSE, MAPE": [plain(v) for v in one["paper (rmse, mape)"]],
        "converged, %": [percent(v) for v in one["converged"]],
        "seconds": [digits(0)(v) for v in one["seconds"]],
    }, index=pd.Index(list(BIASED), name="model"))


@experiment("inter-task")
def inter_task() -> pd.DataFrame:
    """PM2.5 in a gap from PM10 in means of hours."""
    raw, out, paper = summary("inter-task"), {}, []
    for hours in (2, 5, 10, 24):
        one = raw.xs(hours, level="hours").reindex(list(TASKS.values()))
        cells = zip(one["mse"], one["of constant"], one["cover_reading"], strict=True)
        out[f"{hours} h"] = [f"{_short(mse)}; {ratio:.2f}" + (
            "" if pd.isna(cover) else f"; {percent(cover)} %") for mse, ratio, cover in cells]
        paper.append([plain(v) for v in one["paper"]])
    out["paper (MSE)"] = [", ".join(filter(None, row)) for row in zip(*paper, strict=True)]
    return pd.DataFrame(out, index=pd.Index(list(TASKS), name="PM10 in means of"))


def _short(spread: str) -> str:
    mean, sd = spread.split(" ± ")
    return f"{float(mean):.0f} ± {float(sd):.0f}"


@experiment("city-air")
def city_air() -> pd.DataFrame:
    """Stations of a simulated city while the satellite alone observes."""
    return _cities("city-air", "city")


@experiment("city-air-hourly")
def hourly_city() -> pd.DataFrame:
    """The same, hourly, and with a kernel that every model learns."""
    return _cities("city-air-hourly", "hourly")


@experiment("city-air-nodes")
def nodes() -> pd.DataFrame:
    """Errors at stations by the number of nodes that a cell's mean is taken of."""
    raw = summary("city-air-nodes")["station_rmse"].unstack("seed")
    runs = summary("city-air-hourly").loc["hourly"]
    for model in raw.index.unique("model"):         # those at 4 x 4 nodes are among the runs above
        raw.loc[(model, 4), :] = [runs.loc[model, f"rmse, seed {seed}"] for seed in raw]
    raw, titles = raw.sort_index(), {name: title for title, name in CITY.items()}
    raw.index = [f"{titles[model]}, {n} × {n}" for model, n in raw.index]
    return pick(raw, None, {f"city {seed}": (seed, digits(1)) for seed in raw}, "model, nodes")


def _cities(name: str, world: str) -> pd.DataFrame:
    raw = summary(name).loc[world].copy()
    raw["cities"] = [", ".join(f"{row[f'rmse, seed {seed}']:.1f}" for seed in (1, 2, 3))
                     for _, row in raw.iterrows()]
    columns = {"RMSE": ("rmse", plain), "cities 1, 2, 3": ("cities", plain),
               "MAPE": ("mape", plain), "readings in 95 %": ("cover_reading", percent),
               "truth in 95 %": ("cover_truth", percent),
               "worst station": ("cover, worst station", percent),
               "paper: RMSE, MAPE": ("paper (rmse, mape)", plain)}
    return pick(raw, CITY, columns)


@experiment("positive-weights")
def positive_weights() -> pd.DataFrame:
    """The network with W beside exp(W), and the difference on the same data."""
    raw = summary("positive-weights").rename(index={"gp": "W", "exp": "exp(W)"}, level="weights")
    raw.index = [f"{case}, {weights}" if case == ONE else f"PM10 in means of {case}, {weights}"
                 for case, weights in raw.index]
    return pick(raw, None, {
        "RMSE / constant": ("of_constant", digits(3)),
        "exp(W) less W": ("of_constant: exp less gp", plain), "CRPS": ("crps", digits(2)),
        "less that of W": ("crps: exp less gp", plain),
        "readings in 95 %, %": ("cover_reading", percent), "bound": ("objective", digits(1)),
        "converged, %": ("converged", percent), "seconds": ("seconds", digits(0))}, "data, weights")


@stored("networks-speed", "networks_speed.csv", command="python benchmarks/networks.py")
def networks() -> pd.DataFrame:
    """Cost of a bound against size, and learning beside the published recipe."""
    raw = pd.read_csv(RESULTS / "networks_speed.csv")
    raw.index = [f"{part}: {of}" + ("" if pd.isna(size) else f" {size:,.0f}")
                 for part, of, size in zip(raw["part"], raw["of"], raw["size"], strict=True)]
    return pick(raw, None, {
        "a bound, s": ("evaluation_seconds", digits(3)),
        "a round, s": ("round_seconds", digits(3)),
        "processor, s": ("processor_seconds", digits(1)), "RMSE": ("rmse", digits(2)),
        "bound": ("bound", digits(0)), "exponent": ("evaluation_exponent", digits(1))},
        "part: size")


@experiment("mixtures")
def mixtures() -> pd.DataFrame:
    """The best optimum of the network's q, and what a mixture of all optima brings."""
    raw = summary("mixtures")
    raw.index = [case if case == ONE else f"PM10 in means of {case}" for case in raw.index]
    return pick(raw, None, {
        "optima": ("optima", digits(1)), "second, nats below": ("next", digits(1)),
        "mixture adds, nats": ("gain", digits(3)),
        "RMSE / constant": ("of_constant", digits(3)),
        "mixture less best": ("of_constant: mixture less one", plain),
        "CRPS": ("crps", digits(2)), "less that of the best": ("crps: mixture less one", plain),
        "seconds": ("seconds", digits(0))}, "data")


@stored("full-bayes", "full_bayes.nc", "full_bayes_nuts.nc", "full_bayes_walks.nc",
        command="python benchmarks/full_bayes.py, and with --sampler nuts or walks")
def full_bayes() -> pd.DataFrame:
    """Convergence of the samplers, and the sd of f relative to that of the true likelihood."""
    import xarray as xr

    out = {}
    for name in ("full_bayes", "full_bayes_nuts", "full_bayes_walks"):
        with xr.open_dataset(RESULTS / f"{name}.nc", engine="h5netcdf") as raw:
            wide, sampler = relative_sds(raw), raw.attrs["sampler"]
            for likelihood in raw["likelihood"].values:
                ratio, one = (part.sel(likelihood=likelihood) for part in (wide, raw))
                jumps = one["jumps"] if sampler == "gibbs" else ()
                out[f"{sampler}, {likelihood}"] = {
                    "sd of f / true": f"{float(ratio.mean()):.2f}",
                    "of each data set": ", ".join(f"{float(each):.2f}" for each in ratio),
                    "noise of points": f"{float(one['point_noise'].median('draw').mean()):.2f}",
                    "worst R̂": f"{float(one['rhat'].max()):.3f}",
                    "jumps taken, %": f"{100 * float(jumps.mean()):.0f}" if len(jumps) else "",
                    "weight": f"{float(one['weight'].mean()):.2f}"}
    return pd.DataFrame(out).T.rename_axis("sampler, likelihood")
