"""What notebooks say of stored runs, beyond the numbers that their cells print, holds of the files."""

from pathlib import Path

import numpy as np
import pytest

from workbench.papers import experiment_named, frame, read_results
from workbench.papers.law2018.candidates import best

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
    assert made[errors].corr("spearman").iloc[0, 1] > 0.6             # the order is nearly the same,
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
