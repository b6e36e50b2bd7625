"""Tables of the experiments of Chau et al. 2021."""

from __future__ import annotations

import pandas as pd
from tables import RESULTS, digits, experiment, percent, pick, plain, stored, summary

from workbench.papers.chau2021.minibatches import FORMS

ROLL = {
    "CMP": "cmp", "CMP, two stages": "cmp (two stages)", "S-CMP": "s-cmp",
    "S-CMP, two stages": "s-cmp (two stages)", "VarCMP": "var-cmp",
    "VarCMP, trace of the released code": "var-cmp (diagonal)",
    "aggregated GP (indirect: imputed)": "aggregated-gp", "VBAGG (indirect: imputed)": "vbagg",
    "BAGG-GP as published (indirect: imputed)": "bagg-gp",
    "GPR on centroids (indirect: imputed)": "gpr",
    "variational GPR (indirect: imputed)": "var-gpr",
}
WORLDS = {"uk": "UK", "simulated": "simulated globe", "cmip6": "CMIP6 annual"}
FIELDS = {
    "VarCMP, evidence": "var-cmp",
    "VarCMP, evidence, individual noise": "var-cmp (individual noise)",
    "VarCMP, two stages": "var-cmp (two stages)", "CMP, evidence": "cmp",
    "VBAGG, imputed": "vbagg", "VarGPR, imputed": "var-gpr", "bilinear": "bilinear",
    "bilinear + lapse rate (sees the targets' altitude)": "bilinear + lapse rate",
}


def _spread(places: int):
    return lambda pair: "" if pd.isna(pair[0]) else (
        f"{pair[0]:.{places}f}" if pd.isna(pair[1]) else
        f"{pair[0]:.{places}f} ± {pair[1]:.{places}f}")


def _pairs(raw: pd.DataFrame) -> list:
    return list(zip(raw["rmse"], raw["sd"], strict=True))


@experiment("mediated-roll")
def mediated_roll() -> pd.DataFrame:
    """Error and coverage on the swiss roll by heights, direct and indirect."""
    raw, out = summary("mediated-roll"), {}
    for matching in ("direct", "indirect"):
        one = raw.loc[matching].reindex(list(ROLL.values()))
        out[f"{matching}, {int(one['seeds'].max())} seeds: RMSE"] = [
            _spread(3)(pair) for pair in _pairs(one)]
        out[f"{matching}: 95 % intervals cover, %"] = [percent(v) for v in one["cover_95"]]
        out[f"paper, {matching}"] = [plain(v) for v in one["paper"]]
    return pd.DataFrame(out, index=pd.Index(list(ROLL), name="model"))


@experiment("mediated-roll", "mediated-roll-imputed")
def mixed_up() -> pd.DataFrame:
    """Indirect matching of imputed models in other orders of values and with fewer steps."""
    raw = summary("mediated-roll")
    raw = raw[~raw.index.get_level_values("matching").isin(["direct", "indirect"])]
    raw.index = raw.index.map(": ".join)
    return pick(raw, None, {"RMSE": ("rmse", digits(3)), "sd": ("sd", digits(3)),
                            "95 % intervals cover, %": ("cover_95", percent)}, "matching: model")


@experiment("cmp-minibatches")
def minibatches() -> pd.DataFrame:
    """VarCMP by minibatches, with learnt inducing inputs, by features."""
    raw, out = summary("cmp-minibatches"), {}
    forms = [form for form in FORMS if form in raw.loc["direct"].index]
    for matching in ("direct", "indirect"):
        one = raw.loc[matching].reindex(forms)
        out[f"{matching}: RMSE"] = [_spread(3)(pair) for pair in _pairs(one)]
        out[f"{matching}: 95 % intervals cover, %"] = [percent(v) for v in one["cover_95"]]
        out[f"{matching}: objective"] = [digits(2)(v) for v in one["objective"]]
        out[f"{matching}: seeds"] = [digits(0)(v) for v in one["seeds"]]
    return pd.DataFrame(out, index=pd.Index(forms, name="VarCMP by"))


@experiment("cmo-ablation")
def cmo_ablation() -> pd.DataFrame:
    """Estimators of the conditional mean operator: seconds, and distance from each other."""
    raw = summary("cmo-ablation").xs("variance", level="spread")
    raw.index = [f"{bags} bags of {points}, {ridge}" for bags, points, ridge in raw.index]
    return pick(raw, None, {
        "naive, s": ("seconds_naive", digits(4)), "identity, s": ("seconds_identity", digits(4)),
        "shrinkage, s": ("seconds_shrinkage", digits(4)),
        "naive / shrinkage": ("naive / shrinkage", digits(0)),
        "RMS difference": ("rmse", digits(3))}, "bags, ridge")


@experiment("dmo-rates")
def dmo_rates() -> pd.DataFrame:
    """Slopes of the excess risk beside those of theorem 4.2."""
    raw = summary("dmo-rates")
    raw.index = [f"b = {b:g}, c = {c:g}, N = M^({growth:g} a), a = {a:g}"
                 for b, c, growth, a in raw.index]
    raw["both"] = [f"{v:.3f} ± {e:.3f}" for v, e in zip(raw["slope"], raw["slope_error"],
                                                        strict=True)]
    return pick(raw, None, {"theorem": ("theorem", digits(3)), "slope": ("both", plain)},
                "setting")


@experiment("temperature")
def temperature() -> pd.DataFrame:
    """RMSE in K and coverage of the 95 % interval in three worlds."""
    raw, out = summary("temperature"), {}
    for world, title in WORLDS.items():
        one = raw.loc[world].reindex(list(FIELDS.values()))
        places = 1 if world == "cmip6" else 3 if world == "uk" else 2
        out[f"{title}: RMSE"] = [_spread(places)(pair) for pair in _pairs(one)]
        out[f"{title}: cover, %"] = [percent(v) for v in one["coverage"]]
        out[f"{title}: splits"] = [digits(0)(v) for v in one["splits"]]
    return pd.DataFrame(out, index=pd.Index(list(FIELDS), name="model"))


@stored("random-features", "random_features.csv", command="python benchmarks/random_features.py")
def random_features() -> pd.DataFrame:
    """The map of exact CMP by all pairs and by random Fourier features."""
    raw = pd.read_csv(RESULTS / "random_features.csv", index_col="features")
    raw.index = ["all pairs" if n == 0 else f"{n:,}" for n in raw.index]
    return pick(raw, None, {
        "RMSE, K": ("rmse", digits(1)), "95 % intervals cover, %": ("coverage", percent),
        "sd, median ratio to all pairs": ("sd_ratio", digits(2)), "map, s": ("seconds", digits(0)),
    }, "features a term")


@stored("cmp", "cmp.csv", command="python benchmarks/cmp.py")
def speed() -> pd.DataFrame:
    """Time, evidence and error beside the published recipe: medians over seeds, and extremes."""
    raw = pd.read_csv(RESULTS / "cmp.csv")
    groups = raw.groupby(["kind", "method"])
    found = groups[["processor", "evidence", "rmse", "steps", "peak GiB", "individuals"]].median()
    found = found.assign(seeds=groups.size(), least=groups["evidence"].min(),
                         most=groups["rmse"].max())
    found.index = found.index.map(", ".join)
    return pick(found, None, {
        "seeds": ("seeds", digits(0)), "processor, s": ("processor", digits(1)),
        "evidence": ("evidence", digits(1)), "least": ("least", digits(1)),
        "RMSE": ("rmse", digits(3)), "most": ("most", digits(3)),
        "steps": ("steps", digits(0)), "peak memory, GiB": ("peak GiB", digits(2)),
        "individuals": ("individuals", digits(0))}, "model, recipe")
