"""Fits on a GPU give what they give on the CPU. Skipped where there is none."""

import numpy as np
import pytest
import torch

import workbench as wb
from tests.labelled.small_fits import ENTRIES, data_of, learnt, made

# Few steps do not converge, and few areas warn, which is not what is tested here.
pytestmark = [pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning"),
              pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]
DRAWS = 2000


def same(one, other, tolerance=1e-6):
    size = float(np.abs(one).mean()) + 1e-12
    np.testing.assert_allclose(other, one, rtol=0, atol=tolerance * size)


def alike(here, there, new, tolerance=1e-6):
    """All that can be asked of two fits at the same hyperparameters."""
    assert there.objective == pytest.approx(here.objective, rel=tolerance, abs=tolerance)
    for ask in (lambda fit: fit.at(new), lambda fit: fit.latent(new), lambda fit: fit.over(new),
                lambda fit: fit.at(fit.data, area_effect=True)):
        one, other = ask(here), ask(there)
        same(one.mean, other.mean, tolerance)
        same(one.std, other.std, tolerance)
        same(one.quantile([0.1, 0.9]), other.quantile([0.1, 0.9]), max(tolerance, 1e-5))
    # Draws of one seed are others on another device: eigenvectors have any sign.
    draws = [fit.simulate(new, "individual", DRAWS, 1).transpose("sample", ...).values
             for fit in (here, there)]
    error = 5 * draws[0].std(0) / np.sqrt(DRAWS / 2)
    assert (np.abs(draws[0].mean(0) - draws[1].mean(0)) <= error).all()
    maps = [fit.to_dataset(new) for fit in (here, there)]
    for name in maps[0].data_vars:
        if maps[0][name].dtype.kind == "f":
            same(maps[0][name].fillna(0.0), maps[1][name].fillna(0.0), max(tolerance, 1e-5))


# Inducing inputs of deep GPs are chosen among draws that lie symmetrically: rounding decides.
TREES = ("mr-cascade", "mr-dgp")


@pytest.mark.parametrize("name", ["auto", *(name for name in ENTRIES if name not in TREES)])
def test_every_model_learns_the_same_on_a_gpu(name):
    here, new = learnt(name)
    there, _ = learnt(name, device="cuda")
    assert there.objective == pytest.approx(here.objective, rel=1e-6)
    if name == "auto":
        alike(here, there, new, 1e-3)
        return
    at, data = here.hyperparameters, data_of(name)
    alike(here.model.condition(data, at), there.model.condition(data, at), new)


def test_single_precision_on_a_gpu():
    here, new = learnt("vbagg")
    there, _ = learnt("vbagg", device="cuda", dtype="float32")
    at = here.hyperparameters
    one, other = (fit.model.condition(fit.data, at).at(new) for fit in (here, there))
    same(one.mean, other.mean, 1e-3)
    same(one.std, other.std, 1e-2)


@pytest.mark.parametrize("name", ["auto", *ENTRIES])
def test_a_stored_fit_changes_its_device(name, tmp_path):
    fit, new = learnt(name)
    fit.save(tmp_path / "fit.wbfit")
    there = wb.load_fit(tmp_path / "fit.wbfit", device="cuda")
    alike(fit, there, new)
    there.save(tmp_path / "there.wbfit")
    back = wb.load_fit(tmp_path / "there.wbfit", device="cpu")
    same(fit.at(new).mean, back.at(new).mean)


@pytest.mark.parametrize("name", TREES)
def test_deep_models_learn_on_a_gpu(name):
    fit, new = learnt(name, device="cuda")
    assert np.isfinite(fit.objective) and np.isfinite(fit.at(new).std).all()


def test_averages_and_scores_on_a_gpu():
    data, new = made(12), made(5, 3)
    model = wb.VBAgg(kernel="rbf", inducing=6, max_steps=20, average=8, device="cuda")
    assert np.isfinite(model.fit(data).at(new).std).all()
    scores = [wb.cross_validate(wb.VBAgg(inducing=6, max_steps=5, device=device), data, folds=3)
              for device in ("cpu", "cuda")]
    here, there = (one["scores"].sel(score="crps", model="vbagg").values for one in scores)
    same(here, there, 0.05)             # draws are others
