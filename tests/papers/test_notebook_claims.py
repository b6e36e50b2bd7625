"""What notebooks say of stored runs, beyond the numbers that they print, holds of the files."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from workbench.papers import experiment_named, frame, read_results, signed_rank
from workbench.papers.hamelijnck2019.full_bayes.figure5 import relative_sds
from workbench.papers.law2018.candidates import best
from workbench.papers.shikuri2025.california import GRIDS

RESULTS = Path(__file__).parents[2] / "data" / "results"


def _results(name):
    return read_results(RESULTS / f"{name.replace('-', '_')}.nc")


def _table(name):
    return experiment_named(name).table(_results(name))


def test_swiss_roll_order_is_the_printed_one_and_the_objective_chooses_as_well():
    table = _table("swiss-roll-bags").reset_index("mean_size", drop=True)
    order = table["nll_stirling"].groupby("model").mean()
    printed = ["oracle", "vbagg-square", "bag-constant", "constant", "bag-pixel"]
    assert list(order[printed].sort_values().index) == printed
    wide, sets = (table[c].unstack("n_bags") for c in ("nll_stirling", "sets"))
    nll = wide[wide.index.str.endswith(" (objective)")]
    shift = (nll - wide.loc[nll.index.str.removesuffix(" (objective)")].values).abs()
    assert shift.max(axis=None) < 0.005
    sets = sets.max(axis=1)
    assert sets[["vbagg-square-gamma", "vbagg-square-jensen"]].max() < sets["vbagg-square"]


def test_swiss_roll_errors_fall_with_bags_and_are_less_under_the_square_link():
    chosen = best(frame(_results("swiss-roll-bags")), ["n_bags", "seed"])
    curves = chosen.groupby(["n_bags", "model"])["mse"].mean().unstack("model")
    forms = ["vbagg-square", "vbagg-exp", "vbagg-exp-moment"]
    assert (curves.loc[350, forms] < curves.loc[100, forms]).all()     # not each step
    by_seed = chosen.groupby(["seed", "model"])["mse"].mean().unstack("seed")
    assert by_seed.loc["vbagg-square"].mean() < by_seed.loc["vbagg-exp"].mean()


def test_malaria_pixels_follow_areas_in_order_and_not_in_size():
    made, errors = _table("country-malaria"), ["test_log_mse", "pixel_log_mse"]
    assert made[errors].corr("spearman").iloc[0, 1] > 0.6         # the order is nearly the same,
    network, constant, sq, ex = (made.loc[name, errors] for name in (
        "neural-network", "constant", "vbagg-square", "vbagg-exp"))
    assert (network < constant).tolist() == [True, False]             # with exceptions
    assert (sq < 2 * ex).tolist() == [True, False]
    assert (made.loc["nystrom", errors] < made.loc["bag-pixel", errors]).tolist() == [True, False]
    assert made.loc["nystrom", "pixel_log_mse"] > 2 * ex["pixel_log_mse"]
    plain = made.loc[["vbagg-square", "vbagg-exp", "vbagg-exp-moment"], "pixel_cover_95"]
    assert plain.max() < 0.6 < made.loc["vbagg-exp-moment + area effect", "pixel_cover_95"]
    runs = frame(_results("country-malaria"))
    grid = runs[runs["model"].str.startswith("vbagg")].groupby("model")["point"].nunique()
    assert (grid == 1).all()
    picked = best(runs, ["seed"])
    found = np.exp(picked["river_contrast"] - picked["river_contrast_true"]).groupby(
        picked["model"]).mean()
    assert found.drop(["constant", "bag-pixel", "neural-network"]).sub(1).abs().max() < 0.35
    assert found["constant"] < 0.5 and found["bag-pixel"] < 0.85 and found["neural-network"] > 1


@pytest.fixture(scope="module")
def toy():
    runs = frame(_results("granularity-toy")).rename(columns={"lengthscale": "θ"})
    return runs, runs.pivot(index="areas", columns=["kernel", "θ"])


def test_granularity_the_fall_of_eta_is_the_work_of_the_search(toy):
    runs, wide = toy
    searched = runs.dropna(subset="eta_search").set_index(["kernel", "θ", "areas"]).sort_index()
    assert (searched["kappa_search"] > 0.9999 * searched["kappa"]).all()
    assert searched.loc[("matern12", 10, 40), "kappa_search"] > 100 * 2.93
    assert (wide["eta_search"].dropna().diff().iloc[1:] < 0).all(axis=None)
    assert (searched["eta_search"].unstack("θ").loc[(slice(None), slice(10, 40)), :].diff(
        axis=1).iloc[:, 1:] < 0).all(axis=None)
    # With the exact κ, η rises with m at long lengthscales, and never says anything
    assert wide["eta"]["matern12", 10].idxmin() == 14 and wide["eta"]["rbf", 10].idxmin() <= 3
    assert wide["eta"]["rbf", 1].idxmin() == 9
    assert (runs["eta"] > 1).all() and (runs["certificate"] <= 1.0001 * runs["eta"]).all()


def test_granularity_sharper_bounds_fall_with_areas_and_lengthscale(toy):
    _, wide = toy
    kernels = ("matern12", "rbf")
    assert (wide["direct"].diff().iloc[1:] < 0).all(axis=None)
    assert (wide["certificate"].diff().iloc[2:] < 0).all(axis=None)     # from 3 areas on
    assert all((wide["direct"][k].diff(axis=1).iloc[:, 1:] < 0).all(axis=None) for k in kernels)
    assert all((wide["certificate"][k].diff(axis=1).loc[7:].iloc[:, 1:] < 0).all(axis=None)
               for k in kernels)


def test_granularity_errors_fall_but_evidence_at_short_lengthscales_does_not(toy):
    runs, wide = toy
    gap, moved = wide["gap"], wide["rmse"]
    assert runs["identity"].max() < 1e-9
    assert (moved.diff().iloc[1:] > 0).sum().sum() <= 13                # of 228 steps
    assert (moved.diff().iloc[1:].max() < 0.03).all()
    assert (moved.loc[40] < 0.37 * moved.loc[2]).all()
    assert all((moved[k].diff(axis=1).iloc[:, 1:] < 0).all(axis=None) for k in ("matern12", "rbf"))
    assert (gap.loc[40] < 0.1 * gap.loc[2]).loc[:, [1, 10]].all()
    assert (gap.loc[10] > 2 * gap.loc[4]).loc[:, 0.1].all() and (gap.idxmax() == 3).all()
    signed = wide["signed_gap"].loc[4:]
    assert (signed.loc[:, (slice(None), 0.1)] > 0).all(axis=None)
    assert all((signed[k][0.1] > signed[k][[1, 10]].max(axis=1)).all()
               for k in ("matern12", "rbf"))


def test_granularity_measures_rank_settings_as_errors_do(toy):
    runs, _ = toy
    rank = runs[["rms", "direct", "certificate", "eta", "rmse", "gap"]].corr("spearman")
    assert rank.loc[["rms", "direct", "certificate"], "rmse"].min() > 0.95
    assert rank.loc["eta", ["rmse", "gap"]].max() < 0.3
    fine = runs[runs["rms"] <= 0.3]
    assert fine["rmse_max"].max() < 0.3 and (runs["rmse"] < runs["direct"]).all()


def test_california_coarse_grids_of_the_paper_are_flat_and_complete_vi_is_slow():
    table = _table("california-grids")["1.6°"].unstack("reading")
    gap = (table["flat"] - table["PAPER"]).xs("Laplacian", level="kernel").drop("Population").abs()
    assert gap.median() < 0.06
    seconds = _table("california-prediction").loc[0.4]["cpu_seconds"].unstack("model")
    assert (seconds["complete VI (GPy)"] > 7 * seconds["summaries"]).all()


def test_california_is_nearest_by_natural_values_and_population_is_half_met():
    table = _table("california-grids").drop(columns="trials").stack().unstack("reading")
    away = table[["natural", "logarithms"]].sub(table["PAPER"], axis=0)
    np.testing.assert_allclose(away.abs().mean(), [0.093, 0.127], atol=0.0006)
    np.testing.assert_allclose(away.mean(), [-0.036, -0.108], atol=0.0006)
    assert (away.abs() < 0.1).sum().tolist() == [56, 30]
    coarse = frame(_results("california-grids")).query(
        "reading == 'natural' and output == 'Population'").groupby("kernel")["rmse_1.6"]
    assert coarse.mean().round(2).tolist() == [0.16, 0.16] and (coarse.sem() < 0.025).all()
    flat = table.loc["Population"].drop(columns=["natural", "PAPER"])
    assert (flat < 0.005).all(axis=None)
    runs = frame(_results("california-grids")).query("reading == 'natural'").groupby(
        ["output", "kernel"])
    error = runs[[f"rmse_{size}" for size in GRIDS]].sem()
    error.columns = [f"{size}°" for size in GRIDS]
    assert (away["natural"].abs() > 2 * error.stack().reindex(away.index)).sum() == 45


def test_california_natural_values_fail_where_it_is_said():
    table = _table("california-grids").drop(columns="trials")
    ours, theirs = (table.xs(name, level="reading") for name in ("natural", "PAPER"))
    near = (theirs - table.xs("flat", level="reading"))["1.6°"]
    assert (near.abs() < 0.06).groupby("kernel").sum().to_dict() == {"Gaussian": 2, "Laplacian": 4}
    assert (near[near.abs() >= 0.06] > 0).all()
    fell = ours["1.6°"] - ours["0.05°"] > 5e-5
    assert list(fell.index[~fell]) == [("HouseAge", "Gaussian")]
    assert ours.loc["HouseAge", "Gaussian"].round(2).iloc[[0, -1]].tolist() == [0.55, 0.55]
    assert theirs.loc["HouseAge", "Gaussian"].iloc[-1] == 0.17
    assert ours.loc["AveBedrms", "Gaussian"].iloc[0].round(2) == 1.0
    assert (ours - theirs).loc["MedValue"].min(axis=None).round(2) == -0.32


def test_summaries_of_few_observations_break_the_assumption_and_medians_beat_means():
    runs = frame(_results("summary-statistics")).query("boundary == 'half'")
    runs = runs.groupby(["case", "per_cell"]).mean(numeric_only=True)
    few, many = runs.xs(2, level="per_cell"), runs.xs(100, level="per_cell")
    assert few.loc["poisson, mean", "bias"] > 0.2
    assert few.loc["bernoulli, proportion", "cover_95"] < 0.6
    assert (many["bias"].abs() < 0.05).all() and (many["cover_95"] > 0.85).all()
    assert many.loc["laplace, median", "rmse"] < many.loc["laplace, mean", "rmse"]


def test_dependent_sources_contract_under_the_product_and_come_back_under_weights():
    released = _table("dependent-sources").loc["released"]
    width, held = released["relative variance"], released["cover_window"]
    assert width["product"] < 0.2 and held["product"] < 0.5
    assert released.loc["product", "noise aggregates"] < 0.5 * np.sqrt(0.25 / 3)
    assert 0.6 < width["ribatet"] < 1.1 and held["ribatet"] > 0.85 and held["lyddon"] > 0.85
    assert width["ribatet, induced noise"] > 0.85 and held["ribatet, induced noise"] > 0.93
    assert width["product, induced noise"] < 0.7        # noise alone does not correct it
    assert held["network ribatet"] > 0.85 > 0.7 > held["network product"]
    runs = frame(_results("dependent-sources")).query("case == 'released'")
    assert runs[runs["model"] == "released weight"]["weight points"].min() >= 0.5


def test_full_bayes_contracts_under_the_product_and_two_samplers_agree():
    gibbs, nuts, walks = (xr.load_dataset(RESULTS / f"full_bayes{name}.nc", engine="h5netcdf")
                          for name in ("", "_nuts", "_walks"))
    sd = {name: relative_sds(one) for name, one in (("gibbs", gibbs), ("nuts", nuts))}
    for one in (gibbs, nuts):
        assert one.sizes["seed"] == 3 and (one["rhat"] < 1.05).all()
    np.testing.assert_allclose(sd["nuts"], sd["gibbs"], rtol=0.03)
    assert (sd["gibbs"].sel(likelihood="product") < 0.3).all()
    assert (gibbs["point_noise"].sel(likelihood="product").median("draw") < 0.2).all()
    for name in ("lyddon", "ribatet"):
        assert ((0.85 < sd["gibbs"].sel(likelihood=name)) & (
            sd["gibbs"].sel(likelihood=name) < 1.2)).all()
    # In the second data set walks alone stay at the truth's noise, and no R-hat tells.
    assert (gibbs["jumps"] > 0.05).all() and walks.sizes["seed"] == 3
    stuck = walks.sel(seed=1, likelihood="product")
    assert float(stuck["point_noise"].min()) > 0.5 and float(stuck["rhat"]) < 1.05


def test_biased_sources_need_the_deep_gp():
    table, runs = _table("biased-sources").loc["released"], frame(_results("biased-sources"))
    mean = runs.query("variant == 'released'").groupby("model")["rmse"].mean()
    assert mean["mr-dgp"] < 0.25
    assert (mean.drop(["mr-dgp", "mr-dgp (linear)", "truth"]) > 1).all()
    assert table.loc["truth", "mape"] > 0.2 and table.loc["truth", "wape"] < 0.05
    assert table.loc["mr-dgp", "cover_truth"] > 0.9 > 0.5 > table.loc["vbagg-normal",
                                                                      "cover_truth"]


@pytest.fixture(scope="module")
def roll():
    runs = frame(_results("mediated-roll"))
    return runs, runs.groupby(["matching", "model"])


IMPUTED = ["aggregated-gp", "vbagg", "gpr", "var-gpr"]


def test_roll_direct_all_that_see_bags_exactly_find_it_at_every_seed(roll):
    runs, groups = roll
    middle = groups["rmse"].median()["direct"]
    learners = ["cmp", "s-cmp", "var-cmp", "aggregated-gp", "vbagg"]
    direct = runs[(runs["matching"] == "direct") & runs["model"].isin(learners)]
    assert (direct["rmse"] <= 0.5).all()
    assert middle[learners].max() < 0.25 and middle[["bagg-gp", "gpr", "var-gpr"]].min() > 0.5
    assert abs(middle["cmp"] - middle["aggregated-gp"]) < 0.03
    exact = signed_rank(runs[(runs["matching"] == "direct") & runs["model"].isin(
        ["aggregated-gp", "cmp", "s-cmp", "var-cmp"])], "rmse", ["seed"])
    assert exact[exact["p"] < 0.05]["difference"].max() < 0.05


def test_roll_indirect_most_of_the_margin_is_the_order_of_bags(roll):
    runs, groups = roll
    middle = groups["rmse"].median()
    assert middle["mixed-up"][[*IMPUTED, "bagg-gp"]].min() > 1 > middle["indirect"][IMPUTED].max()
    by_seed = runs.pivot(index="seed", columns=["matching", "model"], values="rmse")
    margin = {kind: (by_seed[kind, "vbagg"] - by_seed["indirect", "var-cmp"]).mean()
              for kind in ("mixed-up", "indirect", "released", "indirect, 100 steps")}
    assert margin["mixed-up"] > 0.2 and margin["indirect"] < 0.4 * margin["mixed-up"]
    assert abs(margin["released"] - margin["mixed-up"]) < 0.05
    assert margin["indirect, 100 steps"] < 0.4 * margin["released"]
    mean = groups["rmse"].mean()["indirect"]
    assert mean["s-cmp"] < mean["cmp"] + 0.02 and mean["var-cmp"] < 0.87 + 0.05
    well = runs[(runs["matching"] == "indirect") & (runs["rmse"] < 0.7)]["model"].value_counts()
    assert well["cmp"] >= 2 and not set(IMPUTED) & set(well.index)


def test_roll_intervals_of_imputed_models_are_far_too_narrow(roll):
    _, groups = roll
    cover = groups["cover_95"].mean().unstack("matching")
    assert cover.loc[IMPUTED, "indirect"].max() < 0.5
    assert cover.loc[["cmp", "s-cmp", "var-cmp"], "indirect"].min() > 0.75
    assert cover.loc[["cmp", "s-cmp", "var-cmp", "aggregated-gp", "vbagg"], "direct"].min() > 0.9


def test_ablation_compares_an_estimator_with_itself():
    whole = _table("cmo-ablation").reset_index()
    whole = whole[whole["spread"] == "variance"]
    shape, large = ["bags", "points"], [(50, 500), (500, 50)]
    wide = whole.pivot(index=shape, columns="ridge", values="rmse")
    assert wide["scaled"].max() < 1e-10 and wide["unscaled"].min() > 0.01
    assert wide.loc[large, "unscaled"].min() > 1.5 * 0.03
    timed = whole[whole["ridge"] == "scaled"].set_index(shape).loc[large]
    assert (timed["naive / shrinkage"] > 200).all()
    assert (timed["seconds_identity"] < 2 * timed["seconds_shrinkage"]).all()


def test_rates_keep_the_theorem_where_there_are_enough_points():
    table = _table("dmo-rates")
    slopes, other = table.loc[(np.inf, 2.0)], table.loc[(2.0, 1.5)]
    kept = slopes["slope"] <= slopes["theorem"] + 0.03
    assert kept[3.0].all() and kept[1.0].all() and not kept[0.5].any()
    assert (slopes.loc[3.0]["late"] > slopes.loc[3.0]["theorem"] + 0.01)[[0.5, 0.75]].all()
    assert (other["slope"] <= other["theorem"] + 0.01)[[3.0, 1.0]].all()
