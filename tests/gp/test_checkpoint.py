"""A fit whose process is killed goes on where it was, to the same result bit for bit."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch

from tests.gp import made
from workbench.gp.inference import coarse
from workbench.gp.models.registry import MODELS
from workbench.gp.optimisation import trails
from workbench.gp.optimisation.checkpoint import SUFFIX, checkpoints
from workbench.gp.optimisation.trails import CheckpointWarning

CASES = {
    "vbagg": {"kernel": "rbf", "inducing": 10},
    "vbagg-annealed": {"kernel": "rbf", "inducing": 4, "overdispersion": "none", "nugget": 0.0,
                       "max_steps": 5},
    "vbagg-normal": {"kernel": "rbf", "inducing": 10, "likelihood": "normal",
                     "link": "identity"},
    "aggregated-gp": {"kernel": "rbf"},
    "vbagg-coarse": {"kernel": "rbf", "inducing": 10},      # begun on fewer clusters
    "vbagg-some": {"kernel": "rbf", "inducing": 10, "likelihood": "normal",
                   "link": "identity"},                     # begun on some of the areas
}
KILLED = """
import os, signal, sys
from tests.gp.test_checkpoint import fitted
from workbench.gp.optimisation.checkpoint import checkpoints

def callback(step, objective, fraction):
    if step == int(sys.argv[3]) and fraction >= float(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)

with checkpoints(sys.argv[2], every=0.0):
    fitted(sys.argv[1], callback)
"""


def fitted(case, callback=None):
    """A fit of one of the cases, the same in every process."""
    torch.set_num_threads(1)
    sizes = {"vbagg-annealed": (3, 2, 4), "vbagg-coarse": (12, 11) * 6,
             "vbagg-some": (1, 3, 2) * 8}
    bags = made.bags(sizes.get(case, (4, 3, 6, 2, 5, 4, 3, 7)))
    if case in ("aggregated-gp", "vbagg-normal", "vbagg-some"):
        source = made.continuous(bags)
    else:
        source = made.counts(bags, scale=1e3 if case == "vbagg-annealed" else 2.0)
    name = "aggregated-gp" if case == "aggregated-gp" else "vbagg"
    begun = case in ("vbagg-coarse", "vbagg-some")
    with mock.patch.multiple(coarse, _LONG=1 if begun else coarse._LONG, _MANY=24, _ENOUGH=8):
        return MODELS[name](**CASES[case]).fit(source, callback=callback)


def numbers(fit):
    """All that was learnt, and the path to it."""
    kept = fit.keep()
    history = {name: value for name, value in kept.facts["history"].items() if name != "elapsed"}
    return history, kept.tensors


def same(one, other):
    """Whether two fits are the same to the last bit."""
    (history, tensors), (again, those) = numbers(one), numbers(other)
    return history == again and tensors.keys() == those.keys() and all(
        torch.equal(value, those[name]) for name, value in tensors.items())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning",
                            "ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize(("case", "after"), [
    *((case, 1 / 3 if case == "vbagg-coarse" else 0.0) for case in CASES)])  # in its second search
def test_a_fit_killed_in_the_middle_goes_on_to_the_same_bits(case, after, tmp_path):
    whole = fitted(case)
    steps, notes = len(whole.history.objective), " ".join(whole.history.notes)
    assert ("annealed" in notes) == (case == "vbagg-annealed")
    assert ("fewer clusters" in notes) == (case == "vbagg-coarse")
    kill = 1 if after else 3 if steps < 8 else steps // 2
    died = subprocess.run([sys.executable, "-c", KILLED, case, str(tmp_path), str(kill),
                           str(after)],
                          capture_output=True, text=True, cwd=Path(__file__).parents[2],
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert len(list(tmp_path.glob(f"*{SUFFIX}"))) == 1
    computed = []
    evaluated = trails.Record.again

    def counting(self, vector):
        one = evaluated(self, vector)
        computed.append(one is None)
        return one

    with pytest.MonkeyPatch.context() as patch, checkpoints(tmp_path, every=0.0):
        patch.setattr(trails.Record, "again", counting)
        resumed = fitted(case)
    assert same(whole, resumed)
    assert computed.count(False) >= kill - 1 and computed == sorted(computed)
    assert not tmp_path.exists()        # a block that ends leaves nothing


def stop(after):
    """A callback that ends a fit as Ctrl-C would at once, before anything is finished."""
    def callback(step, objective, fraction):
        if step == after:
            raise RuntimeError("stopped")
    return callback


def left_behind(folder, case="aggregated-gp"):
    """The file that a fit of some steps has left."""
    with pytest.raises(RuntimeError), checkpoints(folder, every=0.0):
        fitted(case, stop(4))
    (file,) = folder.glob(f"*{SUFFIX}")
    return file


@pytest.mark.parametrize("damage", [lambda raw: raw[:len(raw) // 2], lambda raw: b"",
                                    lambda raw: raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:]])
def test_a_damaged_checkpoint_is_not_used_and_that_is_said(damage, tmp_path):
    file = left_behind(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(CheckpointWarning, match="is damaged and not used: the fit begins anew"), (
            checkpoints(tmp_path, every=0.0)):
        resumed = fitted("aggregated-gp")
    assert same(fitted("aggregated-gp"), resumed)


def test_other_options_data_and_threads_begin_anew(tmp_path):
    file = left_behind(tmp_path)
    bags = made.bags((4, 3, 6, 2, 5, 4, 3, 7))
    others = [(MODELS["aggregated-gp"](kernel="rbf", max_steps=90), made.continuous(bags)),
              (MODELS["aggregated-gp"](kernel="rbf"), made.continuous(bags, seed=3))]
    for number, (model, source) in enumerate(others, start=2):
        with pytest.raises(RuntimeError), checkpoints(tmp_path, every=0.0):
            model.fit(source, callback=stop(2))
        assert len(list(tmp_path.glob(f"*{SUFFIX}"))) == number
    assert file.exists()


def test_a_full_disk_does_not_end_the_fit(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(trails, "write_bytes", full)
    with pytest.warns(CheckpointWarning, match="No space left on device.*the fit goes on"), (
            checkpoints(tmp_path, every=0.0)):
        fit = fitted("aggregated-gp")
    assert same(fitted("aggregated-gp"), fit)


def test_a_search_that_takes_another_path_begins_anew(tmp_path):
    file = left_behind(tmp_path)
    (trail,) = trails._read(file)
    trail.evaluations[2].vector[0] += 1e-9
    file.write_bytes(trails._bytes([trail]))
    with checkpoints(tmp_path, every=0.0):
        resumed = fitted("aggregated-gp")
    assert same(fitted("aggregated-gp"), resumed)


def test_short_fits_write_nothing(tmp_path):
    with checkpoints(tmp_path / "kept"):
        fitted("aggregated-gp")
        assert not (tmp_path / "kept").exists()
