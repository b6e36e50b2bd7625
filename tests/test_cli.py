"""The command line as a person meets it: exit codes, one message, files written, Ctrl-C."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from tests.reference import country
from workbench import geo
from workbench.cli import app
from workbench.cli.options import default_model
from workbench.comparison import Comparison
from workbench.labelled import models
from workbench.pipeline.spec import Spec

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore::workbench.checks.ExtrapolationWarning",
    "ignore::workbench.checks.FitWarning")

ROLL = dict(n_bags=12, mean_size=10, size_std=4)


def workbench(*arguments: object):
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments])


def error_of(result) -> str:
    """The one message of a command that refused its input."""
    assert result.exit_code == 2, (result.output, result.exception)
    assert "Traceback" not in result.output
    lines = [line for line in result.stderr.splitlines() if line.lower().startswith("error: ")]
    assert len(lines) == 1, result.output
    return lines[0]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """Six areas with whole counts, two covariates and a population, as files."""
    geopandas = pytest.importorskip("geopandas")
    rasterio = pytest.importorskip("rasterio")
    from shapely.geometry import box

    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    rows, columns = 8, 12
    transform = rasterio.Affine(10, 0, 0, 0, -10, 80)
    grids = {"elevation": rng.normal(size=(rows, columns)),
             "wetness": rng.normal(size=(rows, columns)),
             "population": rng.uniform(50, 150, size=(rows, columns))}
    for name, grid in grids.items():
        with rasterio.open(folder / f"{name}.tif", "w", driver="GTiff", height=rows, width=columns,
                           count=1, dtype="float64", crs="EPSG:32638", transform=transform) as file:
            file.write(grid, 1)
    areas = [box(40 * i, 40 * j, 40 * (i + 1), 40 * (j + 1)) for j in range(2) for i in range(3)]
    geopandas.GeoDataFrame(
        {"name": list("abcdef"), "cases": [30, 41, 52, 60, 71, 12],
         "odd": [30.5, 41, 52, 60, 71, 12]},
        geometry=areas, crs="EPSG:32638").to_file(folder / "areas.shp")
    return folder


def inputs(files: Path, value: str = "cases") -> list[object]:
    return ["--polygons", files / "areas.shp", "--value", value,
            "--covariates", files / "elevation.tif", "--covariates", files / "wetness.tif",
            "--weight", files / "population.tif", "--id", "name"]


MODEL = ["--model", "vbagg", "--link", "exp", "--kernel", "linear+matern32",
         "--overdispersion", "area", "--inducing", 10, "--max-steps", 5, "--quiet"]


@pytest.fixture(scope="module")
def made(files):
    out = files / "map.nc"
    result = workbench("disaggregate", *inputs(files), *MODEL, "--threshold", 0.1,
                       "--threshold", 0.05, "--fix", "matern32.lengthscale=50", "--cv", 3,
                       "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    return result, out


def test_disaggregate_writes_a_map_and_says_what_it_learnt(made):
    result, out = made
    assert f"wrote {out}" in result.stdout
    assert "matern32.lengthscale" in result.stdout
    assert "constant" in result.stdout and "CRPS" in result.stdout
    assert "score of bags" in result.stdout
    assert "scores are over all 6 bags, each predicted while held out" in result.stdout
    with xr.open_dataset(out) as maps:
        assert dict(maps.sizes).items() >= {"individual": 96, "bag": 6, "quantile": 3}.items()
        assert np.isfinite(maps["mean"]).all() and (maps["std"] > 0).all()
        assert maps["exceedance"].dims == ("threshold", "individual")
        assert maps["threshold"].values.tolist() == [0.05, 0.1]
        assert (maps["exceedance"].diff("threshold") <= 0).all()
        assert json.loads(maps.attrs["spec"])["threshold"] == [0.05, 0.1]
        assert sorted(maps["bag"].values) == list("abcdef")
        # Totals are fitted: each posterior total is within four of its own spreads.
        spread = np.hypot(maps["bag_std"], maps["value"] ** 0.5)
        assert float((np.abs(maps["bag_mean"] - maps["value"]) / spread).max()) < 4


@pytest.mark.parametrize("command", [
    "aggregate", "check", "combine", "compare", "disaggregate", "engines", "mediate", "predict",
    "recover", "rehearse", "smooth"])
def test_help_says_something_of_every_option(command):
    shown = workbench(command, "--help").output
    options = re.findall(r"^ *(--\S+).*?  +(\S.*)$", shown, re.MULTILINE)
    assert len(options) > 5 and [name for name, said in options if said.startswith(".")] == []


@pytest.mark.parametrize("command", ["check", "disaggregate", "compare", "rehearse", "recover"])
def test_help_names_what_an_option_takes_in_words(command):
    shown = workbench(command, "--help").output
    assert "--polygons FILE" in shown and "--value NAME" in shown and "<" not in shown



def test_areas_and_a_column_are_enough(files, tmp_path):
    out = tmp_path / "place.nc"
    result = workbench("disaggregate", "--polygons", files / "areas.shp", "--value", "cases",
                       "--model", "vbagg", "--inducing", 10, "--max-steps", 3, "--quiet",
                       "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "no weight was given: every km² counts alike" in result.stdout
    assert "place alone" in result.stdout
    with xr.open_dataset(out) as maps:
        assert maps["weight"].attrs["units"] == "km²"
        assert np.isfinite(maps["mean"]).all()


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_folds_by_a_scheme_on_two_processes_and_a_map_that_adds_up(files, tmp_path):
    out = tmp_path / "shared.nc"
    arguments = [a for a in MODEL if a != "--quiet"]
    result = workbench("disaggregate", *inputs(files), *arguments, "--cv", 2, "--folds-scheme",
                       "blocks", "--workers", 2, "--rescale-to-totals", "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "96 individuals in 6 areas: about" in result.stderr
    assert "GiB; then 2 folds" in result.stderr and "on 2 processes" in result.stderr
    with xr.open_dataset(out) as maps:
        spec = json.loads(maps.attrs["spec"])
        summed = np.bincount(maps["membership"].values, maps["expected_count"].values)
        np.testing.assert_allclose(summed, maps["value"].values, rtol=1e-6)
    assert (spec["folds_scheme"], spec["rescale_to_totals"]) == ("blocks", True)
    wrong = workbench("disaggregate", *inputs(files), "--cv", 2, "--folds-scheme", "blokcs",
                      "--out", out)
    assert "did you mean 'blocks'" in error_of(wrong)


def test_all_that_is_missing_is_said_at_once():
    message = error_of(workbench("disaggregate", "--out", "map.nc"))
    assert "missing --polygons and --value" in message
    assert "--covariates and --weight may be left out" in message


@pytest.mark.slow
def test_a_map_is_made_again_from_what_it_carries(made, files):
    _, out = made
    again = workbench("run", out, "--out", files / "again.nc", "--quiet")
    assert again.exit_code == 0, again.output
    with xr.open_dataset(out) as first, xr.open_dataset(files / "again.nc") as second:
        xr.testing.assert_identical(first["mean"], second["mean"])
    assert "give --out" in error_of(workbench("run", out))


@pytest.mark.parametrize("suffix, reader", [(".tif", "rasterio"), (".gpkg", "geopandas")])
def test_maps_for_other_programs(files, suffix, reader):
    out = files / f"flat{suffix}"
    result = workbench("disaggregate", *inputs(files), "--model", "constant", "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    package = pytest.importorskip(reader)
    if reader == "rasterio":
        with package.open(out) as raster:
            assert "mean" in raster.descriptions
            assert raster.shape == (8, 12)
    else:
        assert len(package.read_file(out, layer="bag")) == 6


def test_a_spec_can_be_written_first_and_run_later(files):
    spec, out = files / "spec.json", files / "later.nc"
    arguments = [*inputs(files), "--model", "constant", "--seed", 3]
    assert workbench("disaggregate", *arguments, "--spec-only", "--out", spec).exit_code == 0
    assert Spec.read(spec).seed == 3
    assert workbench("run", spec, "--out", out, "--quiet").exit_code == 0
    with xr.open_dataset(out) as maps:
        assert Spec.from_json(maps.attrs["spec"]) == Spec.read(spec)
    made = out.read_bytes()
    for name in (out, files / "later.cog.tif"):             # a map is never replaced by its Spec
        refused = workbench("disaggregate", *arguments, "--spec-only", "--out", name)
        assert f"give --out {name.with_suffix('.json')}" in error_of(refused)
    assert out.read_bytes() == made and not (files / "later.cog.tif").exists()


def test_treatments_are_flags(files):
    refused = workbench("disaggregate", *inputs(files, "odd"), "--model", "constant",
                        "--fractional", "error", "--out", files / "odd.nc")
    assert "fractional" in error_of(refused)
    assert not (files / "odd.nc").exists()
    kept = workbench("disaggregate", *inputs(files, "odd"), "--model", "constant",
                     "--fractional", "keep", "--out", files / "odd.nc")
    assert kept.exit_code == 0, kept.output
    assert "fractional count was kept" in kept.output
    with xr.open_dataset(files / "odd.nc") as maps:
        assert 30.5 in maps["value"].values


@pytest.mark.parametrize("change, message", [
    (["--polygons", "absent.shp"], "the polygons file 'absent.shp' does not exist"),
    (["--weight", "absent.tif"], "the weight file 'absent.tif' does not exist"),
    (["--covariates", "absent.tif"], "the covariate file 'absent.tif' does not exist"),
    (["--value", "case"], "cases"),
    (["--lnk", "exp"], "'--lnk' is unknown; did you mean '--link'"),
    (["--link", "expp"], "option link 'expp' is unknown; did you mean 'exp'"),
    (["--inducing", "many"], "expected option inducing a whole number or 'auto', got 'many'"),
    (["--compress", "many"], "--compress expects int, got 'many'"),
    (["--inducing", "0"], "inducing in [1, 20000], got 0"),
    (["--nugget", "lern"], "nugget"),
    (["--kernel", "mattern32"], "matern32"),
    (["--model", "vbag"], "model 'vbag' is unknown; did you mean 'vbagg'"),
    (["--fix", "matern32.lengthscale"], "--fix expects name=value"),
    (["--fix", "matern32.lengthscal=5"], "matern32.lengthscale"),
    (["--fix", "mean=5", "--fix", "mean=6"], "--fix is given twice for 'mean'"),
    (["--missing", "drp"], "did you mean 'drop'"),
    (["--cv", "1"], "folds must be 0 (none) or at least 2, got 1"),
    (["--cv", "7"], "expected 2 to 6 folds"),
    (["--quantiles", "0.9,0.1"], "strictly between 0 and 1 and ascend"),
    (["--quantiles", "low"], "quantiles"),
    (["--level", "region"], "level 'region' is not a label of the areas: they have none; pass "
                            "--labels region=COLUMN"),
    (["--polygons", "."], "cannot read '.' as polygons"),
    (["--weight", "."], "the weight '.' is a directory; name the file in it"),
    (["--threshold", "-0.1"], "the threshold -0.1 is negative, but under link 'exp'"),
    (["--dataset", "korea"], "--dataset and --polygons both give data"),
    (["--out", "map.docx"], "format of the output '.docx' is unknown"),
    (["--out", "absent/map.nc"], "the folder 'absent' of the output does not exist"),
    (["stray"], "unexpected argument 'stray'"),
])
def test_bad_input_ends_in_one_message(files, tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    arguments = [*inputs(files), "--max-steps", 2, "--quiet", "--out", "map.nc", *change]
    assert message in error_of(workbench("disaggregate", *arguments))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments, message", [
    (["run", "absent.json"], "the Spec file 'absent.json' does not exist"),
    (["disaggregate", "--out", "map.nc"], "missing --polygons and --value"),
    (["disaggregate", "--dataset", "swis-roll", "--out", "map.nc"], "did you mean 'swiss-roll'"),
    (["disaggregate", "--dataset", "swiss-roll", "--nbags", "3", "--out", "map.nc"], "'--n-bags'"),
    (["disaggregate", "--polygons", "x.shp"], "Missing option '--out'"),
    (["datasets", "korean"], "did you mean 'korea'"),
    (["models", "vbag"], "did you mean 'vbagg'"),
    (["serve", "disagregate"], "did you mean 'disaggregate'"),
    (["modles"], "No such command 'modles'"),
])
def test_bad_commands_end_in_one_message(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in error_of(workbench(*arguments))


def test_a_spec_with_a_wrong_key_ends_in_one_message(tmp_path):
    path = tmp_path / "spec.json"
    path.write_text('{"dataset": "swiss-roll", "modle": "vbagg"}')
    assert "did you mean 'model'" in error_of(workbench("run", path))


def test_named_datasets_and_their_options(tmp_path):
    out = tmp_path / "roll.nc"
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in ROLL.items()]
    result = workbench("disaggregate", "--dataset", "swiss-roll", *flags, "--model", "constant",
                       "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    with xr.open_dataset(out) as maps:
        assert dict(Spec.from_json(maps.attrs["spec"]).dataset_options) == ROLL


@pytest.mark.slow
def test_auto_is_the_model_where_none_is_named(tmp_path):
    out = tmp_path / "roll.nc"
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in ROLL.items()]
    result = workbench("disaggregate", "--dataset", "swiss-roll", *flags, "--effort", "quick",
                       "--workers", 1, "--quiet", "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "the mixture has an error of" in result.stdout and "model vbagg" not in result.output
    with xr.open_dataset(out) as maps:
        spec, weights = Spec.from_json(maps.attrs["spec"]), json.loads(maps.attrs["weights"])
        assert spec.model == "auto" and dict(spec.options) == {"effort": "quick"}
        assert sum(weights.values()) == pytest.approx(1.0, abs=1e-5) and len(weights) == 3
        assert np.isfinite(maps["mean"]).all() and (maps["std"] > 0).all()
    again = workbench("run", out, "--out", tmp_path / "again.nc", "--quiet")
    assert again.exit_code == 0, (again.output, again.exception)
    with xr.open_dataset(out) as first, xr.open_dataset(tmp_path / "again.nc") as second:
        xr.testing.assert_identical(first["mean"], second["mean"])
        assert first.attrs["weights"] == second.attrs["weights"]


@pytest.mark.parametrize("arguments, fixed, model, said", [
    ([], False, "auto", ""),
    (["--effort", "quick"], False, "auto", ""),
    (["--workers=2", "--seed", "3", "--device", "cpu"], False, "auto", ""),
    (["--n-bags", "12"], False, "auto", ""),                # an option of the data
    (["--kernel", "linear"], False, "vbagg", "model vbagg, as --kernel is an option of it"),
    (["--max-steps=5", "--link", "exp"], False, "vbagg", "as --link, --max-steps is an option"),
    ([], True, "vbagg", "model vbagg, as --fix is an option of it (default: auto)"),
])
def test_options_of_vbagg_choose_it(capsys, arguments, fixed, model, said):
    assert default_model(arguments, fixed) == model
    told = capsys.readouterr().err
    assert said in told and bool(told) == bool(said)


def test_an_option_of_another_model_is_refused(tmp_path):
    out = ["--quiet", "--out", tmp_path / "map.nc"]
    both = workbench("disaggregate", "--dataset", "swiss-roll", "--effort", "quick", "--kernel",
                     "linear", *out)
    assert "'--effort' is unknown" in error_of(both)
    held = workbench("disaggregate", "--dataset", "swiss-roll", "--model", "auto", "--fix",
                     "mean=1", *out)
    assert "hyperparameters" in error_of(held)
    path = tmp_path / "spec.json"
    path.write_text('{"dataset": "swiss-roll", "model": "auto", "options": {"efort": "quick"}}')
    assert "did you mean 'effort'" in error_of(workbench("run", path, *out))


def test_lists_are_derived_from_the_registries():
    listed = workbench("models").stdout
    for name, model in models().items():
        assert f"{name}: " in listed
        for option in (one.name for one in fields(model.torch_model.options_type)):
            if option not in ("seed", "hyperparameters"):
                assert f"--{option.replace('_', '-')} " in listed
    assert listed.count("--inducing ") >= 1
    assert "swiss-roll" in workbench("datasets").stdout
    assert "--n-bags" in workbench("datasets", "swiss-roll").stdout
    assert workbench("--version").stdout.startswith("aggregate-workbench ")


def test_help_of_disaggregate_lists_options_and_treatments():
    text = workbench("disaggregate", "--help-all").stdout
    for flag in ("--overdispersion", "--kernel", "--fractional", "--align", "--missing"):
        assert f"{flag} " in text


def test_help_answers_without_torch():
    code = ("import sys; from typer.testing import CliRunner; from workbench.cli import app; "
            "print(CliRunner().invoke(app, ['--help']).stdout, 'torch' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().endswith("False"), done.stdout + done.stderr
    assert "disaggregate" in done.stdout


def test_a_taken_port_ends_in_one_message():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in error_of(workbench("serve", "--port", port))


def start(folder: Path, spec: Spec) -> subprocess.Popen:
    (folder / "spec.json").write_text(spec.to_json())
    return subprocess.Popen(
        [sys.executable, "-m", "workbench", "run", "spec.json", "--out", "map.nc"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )


def stop_at(process: subprocess.Popen, text: str, seconds: float = 60) -> tuple[str, str]:
    """Press Ctrl-C when a text appears on standard error; return both outputs of the process."""
    os.set_blocking(process.stderr.fileno(), False)
    seen, deadline = b"", time.monotonic() + seconds
    while text.encode() not in seen and time.monotonic() < deadline:
        seen += process.stderr.read() or b""
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    os.set_blocking(process.stderr.fileno(), True)
    out, err = process.communicate(timeout=120)
    assert text.encode() in seen, seen + err
    return out.decode(), (seen + err).decode()


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_keeps_the_best_so_far_and_names_it(tmp_path):
    # Eighteen lengthscales to learn: far more steps than pass before the key is pressed.
    spec = Spec("swiss-roll", {"n_bags": 20, "mean_size": 20, "size_std": 8}, folds=2,
                options={"kernel": "ard-matern32", "inducing": 20, "max_steps": 10_000,
                         "tolerance": 0.0})
    process = start(tmp_path, spec)
    out, err = stop_at(process, "objective=")
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "the best so far is kept in map.partial.nc" in err
    assert "matern32.lengthscale" in out
    maps = geo.read(tmp_path / "map.partial.nc")
    assert maps.attrs["partial"].startswith("the fit was stopped after")
    assert np.isfinite(maps["mean"]).all()
    assert not (tmp_path / "map.nc").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_before_the_fit_writes_nothing(tmp_path):
    spec = Spec("simulated-country", {"pixels": 400_000})
    process = start(tmp_path, spec)
    _, err = stop_at(process, "reading simulated-country")
    assert process.returncode == 130, err
    assert "stopped before there was anything to keep; no file was written" in err
    assert "Traceback" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["spec.json"]


def test_recover_compares_models_on_merged_areas(files, tmp_path):
    out, table = tmp_path / "recovered.nc", tmp_path / "recovered.csv"
    ds = bagged(tmp_path)
    arguments = ["recover", "--dataset", ds, "--model", "vbagg:kernel=linear,max-steps=3",
                 "--model", "vbagg:kernel=matern32", "--max-steps", 2, "--inducing", 5,
                 "--levels", "6", "--groupings", 2, "--samples", 50, "--quiet",
                 "--resume", tmp_path / "kept"]
    result = workbench(*arguments, "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "Merged into 6 groups, the 12 areas are recovered" in result.stdout
    assert "cannot be seen" in result.stdout                # the caveat
    with xr.open_dataset(out) as recovered:
        assert recovered["model"].values.tolist() == [
            "vbagg:kernel=linear,max-steps=3", "vbagg:kernel=matern32", "constant"]
        specs = [Spec.from_json(text) for text in json.loads(recovered.attrs["specs"]).values()]
        assert [s.options["max_steps"] for s in specs] == [3, 2]    # its own goes before the shared
        assert recovered["scores"].notnull().all()
    again = workbench(*arguments, "--out", table)
    assert again.exit_code == 0 and table.read_text().count("\n") == 4
    kept = len(list((tmp_path / "kept").iterdir()))
    assert kept == 6                                        # three models, two draws


@pytest.mark.parametrize("command, arguments, message", [
    *((command, *case) for command in ("recover", "compare") for case in (
        (["--model", "vbag"], "did you mean 'vbagg'"),
        (["--model", "vbagg:kernl=rbf"], "did you mean 'kernel'"),
        (["--levels", "12"], "from 2 to 11"),
        (["--out", "table.xlsx"], "format of the output"))),
    ("recover", ["--model", "vbagg:kernel"], "write vbagg:option=value"),
    ("recover", ["--model", "vbagg", "--model", "vbagg"], "given twice"),
    ("recover", ["--levels", "provinces"], "level 'provinces' is unknown"),
    ("compare", ["--scheme", "blokcs"], "did you mean 'blocks'"),
    ("compare", ["--without", "kriging"], "did you mean 'Poisson kriging'"),
    ("compare", ["--effort", "fast"], "effort 'fast' is unknown"),
])
def test_recover_and_compare_refuse_in_one_message(tmp_path, command, arguments, message):
    ds = bagged(tmp_path)
    assert message in error_of(workbench(command, "--dataset", ds, "--quiet", *arguments))


def bagged(folder: Path) -> Path:
    """Twelve areas of a country as a stored dataset."""
    ds = country(bags=12, size=4)
    geo.write(ds.assign_coords(province=("bag", ["p", "q"] * 6)), folder / "country.nc")
    return folder / "country.nc"


@pytest.mark.slow
def test_compare_gives_a_verdict_and_writes_it(files, tmp_path):
    ds, page = bagged(tmp_path), tmp_path / "verdict.html"
    arguments = ["compare", "--dataset", ds, "--model", "constant:max-steps=2", "--folds", 3,
                 "--scheme", "random", "--levels", "6", "--groupings", 1, "--samples", 50,
                 "--without", "auto", "--quiet", "--resume", tmp_path / "kept"]
    result = workbench(*arguments, "--out", page)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "Areas recovered from the totals of their groups: 12 areas in 6 groups" in result.stdout
    assert "model constant:max-steps=2" in result.stdout
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    stored, table = tmp_path / "verdict.nc", tmp_path / "verdict.csv"
    for out in (stored, table, tmp_path / "verdict.txt"):
        again = workbench(*arguments, "--out", out)
        assert again.exit_code == 0, (again.output, again.exception)
    found = Comparison.read(stored)
    assert "population split" in found.scores["model"].values
    specs = [Spec.from_json(text) for text in json.loads(found.data.attrs["specs"]).values()]
    assert [s.options["max_steps"] for s in specs] == [2]
    assert found.sentence in (tmp_path / "verdict.txt").read_text(encoding="utf-8")
    assert "random,population split," in table.read_text()
