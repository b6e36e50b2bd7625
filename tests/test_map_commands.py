"""The commands that make maps go from Spec to file alike: repeated, stopped, and with help."""

import json
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

import workbench as wb
from workbench import geo
from workbench.cli import app
from workbench.pipeline.base import BaseSpec
from workbench.pipeline.spec import CombineSpec, MediateSpec, SmoothSpec, Spec

# Short fits to few areas warn of it, as they should.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.ExtrapolationWarning",
    "ignore::workbench.checks.FitWarning")
REPOSITORY = Path(__file__).parents[1]
ROLL = ["--dataset", "swiss-roll", "--n-bags", 12, "--mean-size", 10, "--size-std", 4]
COMMANDS = {
    "disaggregate": (Spec, [*ROLL, "--model", "vbagg", "--threshold", 0.5], "rate_quantile"),
    "smooth": (SmoothSpec, ["areas.csv", "--statistic", "m", "--count", "n", "--x", "e", "--y",
                            "k", "--cells", 12, "--threshold", 0.5], "exceedance"),
    "mediate": (MediateSpec, ["bags.nc", "targets.csv", "--value", "z", "--model", "s-cmp",
                              "--mediator-kernel", "rbf"], "rate_quantile"),
    "combine": (CombineSpec, ["fine=points.nc", "aggregates.nc", "--at", "grid.nc", "--trust",
                              "aggregates=0.5", "--fix", "mean=1"], "rate_quantile"),
}
SHORT = ["--kernel", "rbf", "--max-steps", 4]
LONG = ["--kernel", "ard-matern32+rbf", "--max-steps", 10_000, "--tolerance", 0]


def workbench(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Files for every command."""
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(0)
    east, north = rng.uniform(0, 10, size=(2, 150))
    pd.DataFrame({"e": east, "k": north, "n": 20,
                  "m": np.sin(east) + np.cos(2 * north) + rng.normal(0, 0.2, size=150)}
                 ).to_csv(folder / "areas.csv", index=False)
    bags, targets = wb.unmatch(wb.load("swiss-roll-heights", points=900, bags=45, seed=1), 0.5)
    wb.write(bags, folder / "bags.nc")
    pd.DataFrame({"z": targets["value"].values, "height": targets["mediators"].values[:, 0]}
                 ).to_csv(folder / "targets.csv", index=False)
    tree = wb.load_sources("dependent-sources")
    for name, child in tree["sources"].children.items():
        wb.write(child.to_dataset(), folder / f"{name}.nc")
    wb.write(tree["target"].to_dataset(), folder / "grid.nc")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_any_map_is_made_again_from_what_it_carries(folder, tmp_path, monkeypatch, command):
    monkeypatch.chdir(folder)
    kind, arguments, asked = COMMANDS[command]
    out, again = tmp_path / "map.nc", tmp_path / "again.nc"
    made = workbench(command, *arguments, *SHORT, "--quiet", "--out", out)
    assert made.exit_code == 0, (made.output, made.exception)
    repeated = workbench("run", out, "--out", again, "--quiet")
    assert repeated.exit_code == 0, (repeated.output, repeated.exception)
    first, second = geo.read(out), geo.read(again)
    assert asked in first and first["mean"].notnull().all()
    xr.testing.assert_identical(first.drop_attrs(), second.drop_attrs())
    for name in ("spec", "spec_key", "versions", "data_sha256", "hyperparameters"):
        assert first.attrs[name] == second.attrs[name]
    spec = BaseSpec.from_json(first.attrs["spec"])
    assert type(spec) is kind and spec.key == first.attrs["spec_key"]
    assert spec.options["max_steps"] == 4 and "partial" not in first.attrs
    assert "give --out" in workbench("run", out).stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_spec_written_first_makes_the_same_map(folder, tmp_path, monkeypatch, command):
    monkeypatch.chdir(folder)
    kind, arguments, _ = COMMANDS[command]
    spec, out = tmp_path / "spec.json", tmp_path / "map.nc"
    only = workbench(command, *arguments, *SHORT, "--seed", 3, "--spec-only", "--out", spec)
    assert only.exit_code == 0 and type(kind.read(spec)) is kind and kind.read(spec).seed == 3
    # The order of the keys in the file is of no account.
    content = json.loads(spec.read_text())
    spec.write_text(json.dumps(dict(reversed(content.items()))))
    done = workbench("run", spec, "--quiet", "--out", out)
    assert done.exit_code == 0, (done.output, done.exception)
    assert geo.read(out).attrs["spec_key"] == kind.read(spec).key
    assert wb.run(kind.read(spec))["mean"].equals(geo.read(out)["mean"])


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("command", ["smooth", "mediate", "combine"])
def test_ctrl_c_keeps_the_best_so_far(folder, tmp_path, command):
    out = tmp_path / "map.nc"
    out.write_text("former")
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", command, *map(str, COMMANDS[command][1]),
         *map(str, LONG), "--out", str(out)], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(REPOSITORY)})
    os.set_blocking(process.stderr.fileno(), False)
    seen, deadline = b"", time.monotonic() + 90
    while b"objective=" not in seen and time.monotonic() < deadline and process.poll() is None:
        seen += process.stderr.read() or b""
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    os.set_blocking(process.stderr.fileno(), True)
    told, err = process.communicate(timeout=120)
    err = (seen + err).decode()
    assert process.returncode == 130 and "Traceback" not in err, err
    partial = tmp_path / "map.partial.nc"
    assert f"the best so far is kept in {partial}" in err
    assert "lengthscale" in told.decode()
    maps = geo.read(partial)
    assert maps.attrs["partial"].startswith("the fit was stopped after")
    assert maps["mean"].notnull().all()
    assert BaseSpec.from_json(maps.attrs["spec"]).command == command
    assert out.read_text() == "former"


@pytest.mark.parametrize("command", [*COMMANDS, "recover", "compare"])
def test_help_fits_on_two_screens_in_groups(command):
    done = CliRunner().invoke(app, [command, "--help"], terminal_width=100)
    lines = done.stdout.splitlines()
    assert done.exit_code == 0 and len(lines) <= 100 and max(map(len, lines)) <= 100
    groups = [line.rstrip(":") for line in lines if line.endswith(":") and line[0] != " "]
    assert groups == ["Data", "Model", "Output", "Advanced"]
    every = CliRunner().invoke(app, [command, "--help-all"], terminal_width=100).stdout
    assert all(line in every for line in lines if line.startswith("  --"))
    assert "--max-steps " in every and "--max-steps " not in done.stdout
    assert max(map(len, every.splitlines())) <= 100


def test_help_of_a_command_loads_neither_torch_nor_xarray():
    code = ("import sys; from typer.testing import CliRunner; from workbench.cli import app; "
            "print(CliRunner().invoke(app, ['disaggregate', '--help']).stdout, "
            "{'torch', 'xarray'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().endswith("set()") and "--polygons" in done.stdout


@pytest.mark.parametrize("spec, message", [
    ({"command": "smoth", "table": "a.csv"}, "did you mean 'smooth'"),
    ({"command": "smooth", "table": "a.csv"}, 'lacks "statistic"'),
    ({"command": "combine", "sources": "a.nc"}, "expected sources as a list of names, got 'a.nc'"),
    ({"command": "combine", "sources": []}, "there are no sources"),
    ({"command": "combine", "sources": [3]}, "expected sources as a name, got 3"),
    ({"command": "mediate", "bags": "a.nc", "targets": "b.csv", "value": "z", "folds": 3},
     "'folds' is unknown"),
])
def test_specs_of_other_commands_are_as_strict(tmp_path, spec, message):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec))
    refused = workbench("run", path, "--out", tmp_path / "map.nc")
    assert refused.exit_code == 2 and message in refused.stderr


@pytest.mark.parametrize("command, extra, message", [
    ("smooth", ["--kernl", "rbf"], "did you mean '--kernel'"),
    ("mediate", ["--model", "vbagg"], "model 'vbagg' is unknown"),
    ("combine", ["--model", "cmp"], "model 'cmp' is unknown"),
    ("combine", ["--trust", "other=2"], "'other'"),
    ("mediate", ["--out", "none/map.nc"], "folder 'none' of the output does not exist"),
    ("smooth", ["--out", "map.docx"], "format of the output '.docx' is unknown"),
])
def test_bad_input_is_one_message(folder, tmp_path, monkeypatch, command, extra, message):
    monkeypatch.chdir(folder)
    refused = workbench(command, *COMMANDS[command][1], *SHORT, "--quiet", "--out",
                        tmp_path / "map.nc", *extra)
    assert refused.exit_code == 2 and message in refused.stderr, refused.output
    assert refused.stderr.count("error: ") == 1 and not list(tmp_path.iterdir())
