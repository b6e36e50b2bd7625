"""Bags shared out over processes: objective, gradient and fit are those of one process."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.checks import InputError
from workbench.gp.inference import parts, shards
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.labelled.source import to_source

REPOSITORY = Path(__file__).parents[2]
CASES = {
    "exp with effects": {"link": "exp", "overdispersion": "area", "nugget": "learn"},
    "square": {"link": "square", "overdispersion": "none", "nugget": 0.0},
    "negative binomial": {"link": "exp", "likelihood": "negative-binomial"},
    "normal": {"link": "identity", "likelihood": "normal"},         # is not shared out
    "in parts": {"link": "exp", "overdispersion": "area", "nugget": "learn"},
    "begun on fewer": {"link": "exp", "overdispersion": "area", "nugget": "learn"},
}
BEGUN = "begun on fewer"
#: What one process finds of each case; run by each of several.
PROGRAM = """
import json, sys, warnings
import torch, torch.distributed as dist
import workbench as wb
from workbench.gp.inference import coarse, parts
from workbench.gp.inference.shards import shared_out
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.labelled.source import to_source

usual = parts.ENTRIES
warnings.simplefilter("ignore")
torch.set_num_threads(1)
if sys.argv[2] == "shared":
    dist.init_process_group("gloo")
ds, found = wb.load("swiss-roll", n_bags=17, mean_size=20, size_std=8), {}
for name, options in json.loads(sys.argv[1]).items():
    given = {"kernel": "linear+rbf", "inducing": 15, **options}
    # Some bags of a share at a time, which one process sees all together.
    parts.ENTRIES = 1_500 if name == "in parts" and sys.argv[2] == "shared" else usual
    coarse._LONG = 1 if name == "begun on fewer" else 10**9
    coarse._SHARE = 4
    state = VariationalState(VBAgg(**given), to_source(ds))
    with shared_out(state):
        individuals = len(state.learning.x)
        runs = len(getattr(parts.seen_in_learning(state), "bags", [0]))
        value = state.profile()
        value.backward()
        gradient = state.hyperparameters.gradient().tolist()
    fit = wb.VBAgg(**given).fit(ds)
    found[name] = {
        "individuals": individuals, "runs": runs, "value": float(value.detach()),
        "gradient": gradient,
        "objective": fit.objective, "notes": fit.notes, "mean": fit.at(ds).mean.values.tolist()}
if sys.argv[2] == "shared":
    from workbench.checks import Cancelled, InputError
    from workbench.gp.inference.shards import alone

    rank, model = dist.get_rank(), wb.VBAgg(kernel="rbf", inducing=10)
    if rank == 0:                       # knows the flat map already, which the other does not
        with alone():
            model.fit(ds)
    found["once more"] = {"objective": model.fit(ds).objective}

    def stop(step, objective, share):
        if rank == 0 and step == 3:     # as a user's callback in one process
            raise Cancelled
    one = wb.VBAgg(kernel="linear+rbf", inducing=15).fit(ds, callback=stop)
    found["stopped"] = {"cancelled": one.cancelled, "steps": len(one.history)}
    coarse._LONG, coarse.PULSE_SECONDS = 1, 0.0
    def stop_between(step, objective, share):
        if rank == 0 and share == 1 / 3:            # while the curvature is found
            raise Cancelled
    one = wb.VBAgg(kernel="linear+rbf", inducing=15).fit(ds, callback=stop_between)
    found["stopped between"] = {"cancelled": one.cancelled, "steps": len(one.history)}
    coarse._LONG = 10**9
    try:
        model.fit(ds.assign(value=ds["value"] + (rank == 1)))
        found["unlike"] = ""
    except InputError as error:
        found["unlike"] = str(error)
print("FOUND " + json.dumps(found), flush=True)
if sys.argv[2] == "shared":
    dist.destroy_process_group()
"""


def free_port() -> int:
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        return there.getsockname()[1]


@pytest.fixture(scope="module")
def found():
    """What one process finds of every case, and what each of two does."""
    port = str(free_port())
    given = os.environ | {"OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                          "WORLD_SIZE": "2", "GLOO_SOCKET_IFNAME": "lo"}
    started = [subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(CASES), how], cwd=REPOSITORY, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=given | {"RANK": rank})
        for how, rank in (("alone", "0"), ("shared", "0"), ("shared", "1"))]
    told = []
    try:
        for one in started:
            out, wrong = one.communicate(timeout=400)
            assert one.returncode == 0, wrong[-3000:]
            told.append(json.loads(out.split("FOUND ")[1]))
    finally:
        for one in started:
            one.kill()
    return told


@pytest.mark.parametrize("name", CASES)
def test_two_processes_find_what_one_does(found, name):
    alone, *both = (told[name] for told in found)
    whole, shared = alone["individuals"], name != "normal"
    assert sum(one["individuals"] for one in both) == whole * (1 if shared else 2)
    assert min(one["individuals"] for one in both) > 0.3 * whole
    for one in both:
        assert (one["runs"] > 1) == (name == "in parts")
        assert any("search began on" in note for note in one["notes"]) == (name == BEGUN)
        assert one["value"] == pytest.approx(alone["value"], rel=1e-9)
        np.testing.assert_allclose(one["gradient"], alone["gradient"], rtol=1e-5, atol=1e-6)
        assert one["objective"] == pytest.approx(alone["objective"], abs=1e-4)
        np.testing.assert_allclose(one["mean"], alone["mean"], rtol=1e-3)
        assert any(("learnt by 2 processes" if shared else "each of 2 processes computed") in note
                   for note in one["notes"])
    assert both[0]["mean"] == both[1]["mean"]       # to the bit: all steps are common
    assert not any("processes" in note for note in alone["notes"])


def test_what_one_process_knows_already_holds_up_none(found):
    _, *both = found
    assert both[0]["once more"] == both[1]["once more"]


def test_a_stop_of_one_process_stops_all(found):
    _, *both = found
    assert [one["stopped"]["cancelled"] for one in both] == [True, True]
    assert both[0]["stopped"]["steps"] == both[1]["stopped"]["steps"] >= 3
    assert [one["stopped between"]["cancelled"] for one in both] == [True, True]
    assert both[0]["stopped between"]["steps"] == both[1]["stopped between"]["steps"]


def test_other_data_in_one_process_are_refused_by_all(found):
    _, *both = found
    assert all("must be given the same data" in one["unlike"] for one in both)


@pytest.mark.parametrize("processes", [1, 2, 3, 7, 12])
def test_every_bag_belongs_to_one_process(processes):
    sizes = np.array([400, 1, 1, 1, 30, 30, 2, 2, 2, 1, 1, 900])
    found = parts.runs(sizes, processes)
    assert len(found) == processes and [run.start for run in found] == [
        0, *(run.stop for run in found[:-1])]
    assert found[-1].stop == len(sizes) and all(run.stop > run.start for run in found)


def test_parts_of_a_geometry_have_its_clusters(monkeypatch):
    ds = wb.load("swiss-roll", n_bags=9, mean_size=400, size_std=80)
    monkeypatch.setattr("workbench.gp.fields.geometry.MOST_PAIRS", 2_000)
    model = VBAgg(kernel="rbf", inducing=10, compress=0)
    whole = VariationalState(model, to_source(ds)).learning
    assert whole.clusters is not None
    found = [parts.part(whole, slice(0, 4)), parts.part(whole, slice(4, 9))]
    seen, clusters = 0, 0
    for one in found:
        end, last = seen + len(one.x), clusters + len(one.clusters.bags.x)
        assert (one.x == whole.x[seen:end]).all()
        assert (one.clusters.bags.x == whole.clusters.bags.x[clusters:last]).all()
        assert (one.clusters.of + clusters == whole.clusters.of[seen:end]).all()
        assert (one.clusters.partner + seen == whole.clusters.partner[seen:end]).all()
        seen, clusters = end, last
    assert seen == len(whole.x) and clusters == len(whole.clusters.bags.x)


def test_more_processes_than_areas_are_refused(monkeypatch):
    ds = wb.load("swiss-roll", n_bags=4, mean_size=6, size_std=3)
    state = VariationalState(VBAgg(kernel="linear"), to_source(ds))
    monkeypatch.setattr(shards.dist, "is_initialized", lambda: True)
    monkeypatch.setattr(shards.dist, "get_world_size", lambda: 5)
    with pytest.raises(InputError, match="5 processes cannot share 4 areas"), (
            shards.shared_out(state)):
        pass
