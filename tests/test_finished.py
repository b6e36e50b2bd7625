"""A map that is finished stays: through signals, kill -9, and on to the same command again."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

from tests.reference import country
from workbench import geo
from workbench.cli import app
from workbench.labelled import Auto, QuasiLikelihoodGP
from workbench.pipeline import run as pipeline
from workbench.pipeline import scoring
from workbench.pipeline.spec import Spec

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore::workbench.checks.ExtrapolationWarning")

REPOSITORY = Path(__file__).parents[1]
#: A flat map takes the same ways as others, and is fitted in a moment.
QUICK = {"max_steps": 4, "kernel": "constant"}
SCORED = dict(dataset="swiss-roll", dataset_options=dict(n_bags=20, mean_size=20, size_std=8))


def workbench(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Stop(Exception):
    """What kills a run in a test."""


def test_a_finished_map_is_there_before_cross_validation(tmp_path, monkeypatch):
    from workbench import comparison

    out = tmp_path / "map.nc"
    seen = {}

    def never(*_, **__):
        seen["attrs"] = geo.read(out).attrs
        raise Stop

    monkeypatch.setattr(comparison, "cross_validate", never)
    spec = Spec(**SCORED, model="constant", folds=3)
    (tmp_path / "spec.json").write_text(spec.to_json())
    result = workbench("run", tmp_path / "spec.json", "--out", out, "--quiet")
    assert result.exit_code == 1 and "unexpected Stop" in result.output
    assert seen["attrs"]["partial"] == "cross-validation has not finished"
    assert seen["attrs"]["spec_key"] == spec.key


def counted(monkeypatch, out: Path, spec: Spec, fits: list, stop_at: int | None = None):
    """Run a Spec and count its fits; die at one of them as kill -9 would."""
    from workbench.labelled import VBAgg

    fit = VBAgg.fit

    def counting(self, ds, *args, **kwargs):
        fits.append(ds.sizes["bag"])
        if len(fits) == stop_at:
            raise SystemExit(137)
        return fit(self, ds, *args, **kwargs)

    monkeypatch.setattr(VBAgg, "fit", counting)
    path = out.parent / "spec.json"
    path.write_text(spec.to_json())
    result = workbench("run", path, "--out", out, "--quiet")
    monkeypatch.setattr(VBAgg, "fit", fit)
    return result


@pytest.mark.slow
def test_cross_validation_goes_on_where_it_was_killed(tmp_path, monkeypatch):
    spec = Spec(**SCORED, model="vbagg", folds=4,
                options={"inducing": 8, "max_steps": 4, "kernel": "rbf"})
    out, whole = tmp_path / "map.nc", tmp_path / "whole.nc"
    fits: list = []
    killed = counted(monkeypatch, out, spec, fits, stop_at=4)       # the map and two folds
    assert killed.exit_code == 137
    assert geo.read(out)["mean"].notnull().all()
    assert (tmp_path / "map.nc.resume").is_dir()
    again: list = []
    result = counted(monkeypatch, out, spec, again)
    assert result.exit_code == 0, (result.output, result.exception)
    assert len(again) == 2                                          # the folds that were missing
    assert not (tmp_path / "map.nc.resume").exists()
    plain: list = []
    counted(monkeypatch, whole, spec, plain)
    assert len(plain) == 5
    resumed, straight = geo.read(out), geo.read(whole)
    assert "partial" not in resumed.attrs
    xr.testing.assert_allclose(scoring.scores(resumed)["scores"],
                               scoring.scores(straight)["scores"])
    xr.testing.assert_identical(resumed["mean"].drop_attrs(), straight["mean"].drop_attrs())


@pytest.mark.slow
def test_another_spec_does_not_take_up_the_kept_map(tmp_path, monkeypatch):
    out, fits, again = tmp_path / "map.nc", [], []
    counted(monkeypatch, out, Spec(**SCORED, folds=3, options=QUICK), fits, stop_at=3)
    counted(monkeypatch, out, Spec(**SCORED, folds=3, options=QUICK | {"max_steps": 3}), again)
    assert len(again) == 4 and not (tmp_path / "map.nc.resume").exists()


def test_a_file_in_the_place_of_the_folds_is_found_before_the_fit(tmp_path):
    (tmp_path / "spec.json").write_text(Spec(**SCORED, model="constant", folds=3).to_json())
    (tmp_path / "map.nc.resume").write_text("mine")
    result = workbench("run", tmp_path / "spec.json", "--out", tmp_path / "map.nc")
    assert result.exit_code == 2 and "finished folds are kept in a folder" in result.stderr
    assert "reading" not in result.output and not (tmp_path / "map.nc").exists()


def test_folds_that_cannot_be_kept_do_not_take_the_map_along(tmp_path, monkeypatch):
    from workbench.evaluation import tasks

    def full(done, file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tasks, "store", full)
    (tmp_path / "spec.json").write_text(Spec(**SCORED, model="constant", folds=3).to_json())
    out = tmp_path / "map.nc"
    result = workbench("run", tmp_path / "spec.json", "--out", out, "--quiet")
    assert result.exit_code == 1 and not isinstance(result.exception, OSError)
    assert ("stopped: cross-validation could not go on (No space left on device); the finished map "
            f"is kept in {out}") in result.stderr
    assert geo.read(out)["mean"].notnull().all()


def test_another_error_of_the_system_is_no_full_disk(tmp_path, monkeypatch):
    from workbench.evaluation import tasks

    def broken(done, file):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(tasks, "store", broken)
    (tmp_path / "spec.json").write_text(Spec(**SCORED, model="constant", folds=3).to_json())
    out = tmp_path / "map.nc"
    result = workbench("run", tmp_path / "spec.json", "--out", out, "--quiet")
    assert result.exit_code == 1 and "error: unexpected OSError" in result.stderr
    assert geo.read(out).attrs["partial"] == "cross-validation has not finished"


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_folds_are_found_again_by_another_number_of_processes(tmp_path):
    spec = Spec(**SCORED, folds=2, options=QUICK)
    pipeline.run(spec, resume=tmp_path)
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(kept) == 1 + 4                               # the map, two folds of two models
    pipeline.run(spec, resume=tmp_path, workers=2)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    assert repr(Auto(effort="quick", workers=3)) == repr(Auto(effort="quick"))


def test_the_cost_of_auto_is_estimated_by_its_fit_alone(monkeypatch, capsys):
    def fit(self, ds, **_):
        raise Stop

    monkeypatch.setattr(Auto, "estimate", None)
    monkeypatch.setattr(Auto, "fit", fit)
    with pytest.raises(Stop):
        pipeline.run(Spec(**SCORED, model="auto", folds=3), progress=True)
    assert "3 folds follow, each about as long as the map" in capsys.readouterr().err


LONG = dict(dataset="swiss-roll", dataset_options=dict(n_bags=40, mean_size=25, size_std=8),
            options={"kernel": "ard-matern32", "inducing": 80, "max_steps": 10_000,
                     "tolerance": 0.0})


def started(folder: Path, spec: Spec) -> subprocess.Popen:
    (folder / "spec.json").write_text(spec.to_json())
    return subprocess.Popen(
        [sys.executable, "-m", "workbench", "run", "spec.json", "--out", "map.nc"], cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)})


def wait_for(process: subprocess.Popen, text: str, seconds: float = 90) -> bytes:
    os.set_blocking(process.stderr.fileno(), False)
    seen, deadline = b"", time.monotonic() + seconds
    while text.encode() not in seen and time.monotonic() < deadline and process.poll() is None:
        seen += process.stderr.read() or b""
        time.sleep(0.02)
    os.set_blocking(process.stderr.fileno(), True)
    assert text.encode() in seen, seen
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_keep_the_best_so_far_as_ctrl_c_does(tmp_path, number):
    signal.signal(number, signal.SIG_DFL)       # what nohup has ignored, children would ignore
    process = started(tmp_path, Spec(**LONG, folds=2))
    seen = wait_for(process, "objective=")
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    err = (seen + err).decode()
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    assert "the best so far is kept in map.partial.nc" in err
    assert geo.read(tmp_path / "map.partial.nc")["mean"].notnull().all()
    assert not (tmp_path / "map.nc").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["recover", "compare"])
def test_comparisons_stop_at_other_signals_too(tmp_path, command):
    geo.write(country(bags=24, size=10), tmp_path / "country.nc")
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", command, "--dataset", "country.nc", "--model",
         "vbagg:kernel=ard-matern32,max-steps=400", "--out", "table.csv",
         *(["--without", "auto"] if command == "compare" else [])],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)})
    seen = wait_for(process, "vbagg:kernel")                # the first fit is done
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    err = (seen + err).decode()
    assert process.returncode == 143, err
    assert "stopped" in err and "Traceback" not in err
    assert not (tmp_path / "table.csv").exists()
    assert (tmp_path / "table.partial.csv").read_text().count("\n") > 1


def test_a_stopped_fit_replaces_no_map(tmp_path):
    pd.DataFrame({"e": np.arange(40.0) % 8, "n": np.arange(40.0) // 8, "m": np.arange(40.0),
                  "k": 5}).to_csv(tmp_path / "areas.csv", index=False)
    fit, former = QuasiLikelihoodGP.fit, geo.write(country(bags=3, size=2), tmp_path / "map.nc")
    before = former.read_bytes()

    def stopped(self, ds, progress, callback):
        return fit(self, ds, progress=progress, callback=stop_after_two(callback))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QuasiLikelihoodGP, "fit", stopped)
        result = workbench("smooth", tmp_path / "areas.csv", "--statistic", "m", "--count", "k",
                           "--x", "e", "--y", "n", "--cells", 10, "--quiet", "--out", former)
    assert result.exit_code == 143, (result.output, result.exception)
    assert former.read_bytes() == before
    assert geo.read(tmp_path / "map.partial.nc")["mean"].notnull().all()


def stop_after_two(callback):
    """A callback before whose third step SIGTERM comes."""
    def stopping(step: int, objective: float, fraction: float) -> None:
        if step == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        callback(step, objective, fraction)
    return stopping


def test_a_hangup_that_is_ignored_stays_ignored(monkeypatch):
    from workbench.cli.interrupt import Interrupt

    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)           # as nohup does
    try:
        with Interrupt():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, former)


@pytest.mark.slow
def test_kill_in_cross_validation_loses_nothing_finished(tmp_path):
    options = {"inducing": 8, "max_steps": 60, "kernel": "ard-matern32"}
    spec = Spec(**SCORED, folds=10, options=options)
    process = started(tmp_path, spec)
    wait_for(process, "vbagg, fold 2")
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    maps = geo.read(tmp_path / "map.nc")
    assert maps["mean"].notnull().all() and maps.attrs["spec_key"] == spec.key
    kept = listed(tmp_path / "map.nc.resume")
    assert len([name for name in kept if name.startswith("map-")]) == 1
    assert len(kept) >= 1 + 5                               # folds 0 and 1 of two models, and one


@pytest.mark.slow
def test_a_signal_in_cross_validation_keeps_map_and_folds(tmp_path):
    options = {"inducing": 8, "max_steps": 60, "kernel": "ard-matern32"}
    process = started(tmp_path, Spec(**SCORED, folds=10, options=options))
    seen = wait_for(process, "vbagg, fold 2")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    err = (seen + err).decode()
    assert process.returncode == 143, err
    assert "the finished map is kept in map.nc; the same command goes on" in err
    maps = geo.read(tmp_path / "map.nc")
    assert maps.attrs["partial"].startswith("cross-validation stopped after ")
    assert scoring.scores(maps)["fold_scores"].notnull().any()
    assert (tmp_path / "map.nc.resume").is_dir()


KILLED_IN_THE_FIT = """
import os, signal, sys
from workbench.cli import app
from workbench.cli.interrupt import Interrupt
from workbench.gp.optimisation import checkpoint

def callback(self, step, objective, fraction):
    if step == 6:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.EVERY, Interrupt.callback = 0.0, callback
app(["run", sys.argv[1], "--out", sys.argv[2], "--quiet"])
"""


@pytest.mark.slow
def test_a_fit_that_was_killed_goes_on_to_the_same_map(tmp_path):
    spec = Spec(**SCORED, model="vbagg", options={"inducing": 8, "max_steps": 12, "kernel": "rbf"})
    path, out, whole = (tmp_path / name for name in ("spec.json", "map.nc", "whole.nc"))
    path.write_text(spec.to_json())
    died = subprocess.run([sys.executable, "-c", KILLED_IN_THE_FIT, path, out],
                          capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert [n.partition("-")[0] for n in listed(tmp_path / "map.nc.resume")] == ["fit"]
    told = workbench("run", path, "--out", out)
    assert told.exit_code == 0 and "going on from what a run that was ended left" in told.stderr
    assert not (tmp_path / "map.nc.resume").exists()
    straight = workbench("run", path, "--out", whole)
    assert straight.exit_code == 0 and "going on" not in straight.stderr
    resumed, plain = geo.read(out), geo.read(whole)
    xr.testing.assert_identical(resumed.drop_attrs(), plain.drop_attrs())
    assert resumed.attrs["hyperparameters"] == plain.attrs["hyperparameters"]
