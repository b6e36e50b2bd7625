"""A result that is made again says whether it is what it was."""

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench import geo
from workbench.cli import app
from workbench.papers import read_results
from workbench.pipeline.matching import differences, matched


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def former():
    return xr.Dataset(
        {"mean": ("individual", [1.0, -4.0, np.nan]), "count": ("bag", [3, 5]),
         "label": ("bag", ["a", "b"])}, {"x": ("individual", [0.0, 1.0, 2.0])},
        {"data_sha256": "1f", "versions": '{"torch": "2.13.0"}'})


def test_the_same_numbers_match_to_the_bit_and_nan_is_nan(former):
    assert differences(former, former.copy(deep=True)).empty
    assert matched(former, former, "a.nc") == "matches a.nc to the bit"
    last_bit = former.assign(mean=former["mean"] * (1 + 1e-16 + 2e-16))
    assert not differences(former, last_bit).empty


def test_each_variable_says_how_far_it_is_away(former):
    now = former.assign(mean=former["mean"] + [0.0, 1.0, 0.0], count=former["count"] + [0, 1])
    now = now.assign_coords(x=("individual", [0.0, 1.0, np.nan]))
    found = differences(former, now)
    assert found.loc["mean"].tolist() == [1.0, 0.25]
    assert found.loc["count"].tolist() == [1.0, 0.2]
    assert found.loc["x"].isna().all()
    told = matched(former, now, "a.nc").splitlines()
    assert told[0] == "differs from a.nc in 3 of 4 variables:"
    assert [line.split(":")[0].strip() for line in told[1:]] == ["x", "mean", "count"]
    renamed = former.assign(label=("bag", ["a", "c"]))
    assert "label: other entries" in matched(former, renamed, "a.nc")
    assert differences(former, former.drop_vars("count")).index.tolist() == ["count"]
    assert differences(former, former.isel(bag=[0])).index.tolist() == ["count", "label"]


def test_what_else_is_different_is_named(former):
    other = former.assign(mean=2 * former["mean"])
    assert "variables:" in matched(former, other, "a.nc")
    assert "(the data are not the same to the bit)" in matched(
        former, other.assign_attrs(data_sha256="2f"), "a.nc")
    assert "(torch 2.13.0 then, 2.14.0 now)" in matched(
        former, other.assign_attrs(versions='{"torch": "2.14.0"}'), "a.nc")
    assert "is not compared" in matched(former.assign_attrs(partial="stopped"), other, "a.nc")


@pytest.mark.slow
def test_the_command_says_whether_a_map_is_made_again_as_it_was(tmp_path):
    out, again, touched = (tmp_path / f"{name}.nc" for name in ("map", "again", "touched"))
    assert command("disaggregate", "--dataset", "swiss-roll", "--model", "constant", "--out", out,
                   "--quiet").exit_code == 0
    said = command("run", out, "--out", again, "--quiet")
    assert f"matches {out} to the bit" in said.output
    maps = geo.read(out)
    wb.write(maps.assign(mean=maps["mean"] * 1.01), touched)
    said = command("run", touched, "--out", tmp_path / "third.nc", "--quiet")
    assert f"differs from {touched} in 1 of" in said.output and "  mean: by up to" in said.output


RUNS = ("run", "--experiment", "cmo-ablation", "--only", "bags=3", "--only", "seed=0")


@pytest.mark.slow
def test_runs_of_an_experiment_are_the_same_on_any_number_of_processes(tmp_path):
    one, two = tmp_path / "one.nc", tmp_path / "two.nc"
    assert command(*RUNS, "--out", one, "--quiet").exit_code == 0
    assert command(*RUNS, "--out", two, "--quiet", "--workers", 2).exit_code == 0
    first, second = read_results(one), read_results(two)
    assert first["ridge"].values.tolist() == second["ridge"].values.tolist()
    times = [name for name in first if "seconds" in str(name) or "solve" in str(name)]
    xr.testing.assert_identical(first.drop_vars(times), second.drop_vars(times))

    said = command(*RUNS, "--out", one, "--check")
    assert said.exit_code == 0 and "4 of 4 runs are the same to the bit" in said.output
    name = next(str(n) for n in first if first[n].dtype.kind == "f" and n not in times)
    moved = first[name].values.copy()
    moved[0] += 1.0
    first.assign({name: ("run", moved)}).to_netcdf(one, engine="h5netcdf")
    said = command(*RUNS, "--out", one, "--check")
    assert said.exit_code == 1 and "3 of 4 runs are the same to the bit" in said.output
    assert name in said.output
    said = command("run", "--experiment", "dmo-rates", "--out", one, "--check")
    assert said.exit_code == 2 and "holds results of 'cmo-ablation'" in said.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:distributed")
def test_fits_on_a_cluster_are_those_of_this_process():
    distributed = pytest.importorskip("distributed")
    ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=5)
    models = {"constant": wb.Constant(), "vbagg": wb.VBAgg(kernel="linear", max_steps=5)}

    def recovered(workers):
        return wb.recover(models, ds, levels=[5], draws=2, samples=20, workers=workers)

    here = recovered(1)
    with distributed.LocalCluster(1, threads_per_worker=1, processes=False,
                                  dashboard_address=":0") as cluster, \
            distributed.Client(cluster) as client:
        there = recovered(2)
        assert client.cluster.scheduler.transition_counter > 0
    for name in here:
        if here[name].dtype.kind == "f" and "seconds" not in name:
            np.testing.assert_array_equal(here[name], there[name], err_msg=str(name))
