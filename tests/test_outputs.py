"""Files out: an input is not overwritten, and a full disk loses nothing."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from tests.kit import kit_inputs, pixels, write_kit
from tests.reference import country
from workbench import geo, outputs
from workbench.checks import InputError
from workbench.cli import app
from workbench.pipeline import results
from workbench.pipeline import run as pipeline
from workbench.pipeline.spec import Spec

REPOSITORY = Path(__file__).parents[1]
LIMIT = 100_000                 # bytes that a file may have in the trials of a full disk


def workbench(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def error_of(result) -> str:
    assert result.exit_code == 2, (result.output, result.exception)
    lines = [line for line in result.stderr.splitlines() if line.lower().startswith("error: ")]
    assert len(lines) == 1 and "Traceback" not in result.output, result.output
    return lines[0]


def python(code: str, *arguments: object, folder: Path) -> subprocess.CompletedProcess:
    """Run code in a process of its own, with a limited size of files."""
    head = (f"import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}))\n"
            "sys.argv[0] = 'workbench'\n")
    pytest.importorskip("resource")
    return subprocess.run(
        [sys.executable, "-c", head + code, *map(str, arguments)], cwd=folder, text=True,
        capture_output=True, timeout=120, env=os.environ | {"PYTHONPATH": str(REPOSITORY)})


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def kit(tmp_path_factory) -> Path:
    pytest.importorskip("geopandas"), pytest.importorskip("rasterio")
    return write_kit(tmp_path_factory.mktemp("kit"))


# ---- an output that is an input

def digest(path: Path) -> bytes:
    return path.read_bytes()


@pytest.mark.parametrize("name", ["areas.gpkg", "height.tif", "people.tif"])
def test_an_output_that_is_an_input_is_refused(kit, name, monkeypatch):
    before = digest(kit / name)
    monkeypatch.chdir(kit)
    beside = kit.parent / f"link-{name}"
    beside.unlink(missing_ok=True)
    beside.symlink_to(kit / name)
    for out in (kit / name, name, Path("..") / kit.name / name, beside):
        result = workbench("disaggregate", *kit_inputs(kit), "--model", "constant", "--out", out)
        assert "would overwrite the input" in error_of(result)
    result = workbench("disaggregate", *kit_inputs(kit), "--spec-only", "--out", name)
    assert "would overwrite the input" in error_of(result)
    assert digest(kit / name) == before


def test_the_partial_result_is_no_input_either(kit, tmp_path):
    partial = tmp_path / "map.partial.gpkg"
    shutil.copy(kit / "areas.gpkg", partial)
    arguments = ["--polygons", partial, *kit_inputs(kit)[2:], "--model", "constant"]
    result = workbench("disaggregate", *arguments, "--out", tmp_path / "map.gpkg")
    assert "would overwrite the input" in error_of(result)


@pytest.mark.parametrize(("out", "with_it"), [
    ("map.csv", "map.areas.csv"), ("map.csv", "map.scores.csv"), ("map.tif", "map.scores.csv"),
    ("map.csv", "map.partial.areas.csv"), ("map.parquet", "map.areas.parquet")])
def test_what_is_written_with_an_output_is_no_input_either(kit, tmp_path, out, with_it):
    totals = tmp_path / with_it
    totals.write_text("code,cases\nnothing that could be read\n")
    result = workbench("disaggregate", *kit_inputs(kit), "--totals", totals, "--join", "code",
                       "--model", "constant", "--out", tmp_path / out)
    assert f"is written with {with_it!r}, which would overwrite the input" in error_of(result)
    assert totals.read_text().endswith("nothing that could be read\n")


def test_what_is_written_with_a_map_is_known_before(kit, tmp_path):
    result = workbench("disaggregate", *kit_inputs(kit), "--model", "constant", "--cv", 4, "--out",
                       tmp_path / "map.csv")
    assert result.exit_code == 0, result.output
    written = {path for path in tmp_path.iterdir()} - {tmp_path / "map.csv"}
    assert {"map.areas.csv", "map.scores.csv"} < {path.name for path in written}
    assert written <= set(results.beside(tmp_path / "map.csv"))


def test_threads_may_write_one_file_at_once(tmp_path):
    path, pages = tmp_path / "page.html", [str(k) * 200_000 for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            list(pool.map(lambda page: outputs.write_bytes(path, page), pages))
            assert path.read_text() in pages
    assert listed(tmp_path) == ["page.html"]


def test_every_command_that_writes_refuses_its_inputs(tmp_path, monkeypatch):
    stored = geo.write(country(bags=12, size=4), tmp_path / "bags.nc")
    table = tmp_path / "targets.csv"
    table.write_text("nothing that could be read")
    monkeypatch.setattr(geo, "read", None)                  # nothing may be read
    named = tmp_path / "table.nc"
    table.rename(named)
    for arguments in (
        ["smooth", named, "--statistic", "a", "--count", "n", "--x", "x", "--y", "y"],
        ["mediate", stored, named, "--value", "z"],
        ["combine", f"one={stored}", named],
        ["combine", stored, "--at", named],
        ["recover", "--dataset", named], ["compare", "--dataset", named],
        ["disaggregate", "--dataset", named], ["plot", named],
    ):
        out = tmp_path / "out.html" if arguments[0] == "plot" else named
        if arguments[0] == "plot":
            out.unlink(missing_ok=True)
            out.symlink_to(named)
        assert "would overwrite the input" in error_of(workbench(*arguments, "--out", out))
    assert named.read_text() == "nothing that could be read"


def test_run_refuses_to_overwrite_what_it_is_made_from(tmp_path):
    spec = Spec("swiss-roll", dict(n_bags=5, mean_size=5, size_std=3), model="constant")
    path = geo.write(pipeline.run(spec), tmp_path / "map.nc")
    assert "would overwrite the input" in error_of(workbench("run", path, "--out", path))


# ---- found before the fit

def test_what_cannot_be_written_is_found_before_anything_is_read(tmp_path, kit):
    (tmp_path / "folder.nc").mkdir()
    for out, message in ((tmp_path / "folder.nc", "is a folder; name a file"),
                         (tmp_path / "none" / "map.nc", "does not exist; make it first"),
                         (tmp_path / "map.docx", "format of the output '.docx' is unknown")):
        result = workbench("disaggregate", *kit_inputs(kit), "--out", out)
        assert message in error_of(result)
        assert "reading" not in result.output


def test_a_folder_that_takes_no_files_is_found_before_anything_is_read(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):                          # root may write anywhere but here
        folder = Path("/proc")
        if not folder.is_dir():
            pytest.skip("no folder that this user may not write to")
    with pytest.raises(InputError, match="of the output cannot be written to"):
        outputs.check_output(folder / "map.nc")


def test_a_file_that_is_open_elsewhere_is_replaced_without_harm(tmp_path):
    path = geo.write(pixels(), tmp_path / "map.nc")
    changed = pixels()
    changed["number0"] = changed["number0"] + 1
    with xr.open_dataset(path, engine="h5netcdf") as reading:
        geo.write(changed, path)
        # Whoever read the older file still reads it.
        np.testing.assert_array_equal(reading["number0"], pixels()["number0"])
    np.testing.assert_array_equal(geo.read(path)["number0"], changed["number0"])


def test_a_link_is_followed_and_rights_are_kept(tmp_path):
    target = geo.write(pixels(), tmp_path / "target.nc")
    target.chmod(0o640)
    link = tmp_path / "link.nc"
    link.symlink_to(target)
    geo.write(pixels(20), link)
    assert link.is_symlink() and geo.read(target).sizes["individual"] == 400
    assert target.stat().st_mode & 0o777 == 0o640


# ---- a full disk

@pytest.mark.parametrize("suffix", [".nc", ".tif", ".gpkg", ".TIFF"])
def test_a_full_disk_leaves_the_older_file_and_says_so(tmp_path, suffix):
    out = geo.write(pixels(20), tmp_path / f"map{suffix}")
    assert out.stat().st_size < LIMIT or suffix == ".gpkg"
    before = digest(out)
    code = f"""
from tests.kit import pixels
from pathlib import Path
from workbench import geo, outputs
out = Path({str(out)!r})
try:
    outputs.deliver(lambda path: geo.write(pixels(), path), out, spare=".nc")
except outputs.OutputError as error:
    print("said:", error)
"""
    done = python(code, folder=tmp_path)
    assert done.returncode == 0, (done.returncode, done.stderr)         # 139 is a crash
    assert done.stdout.startswith(f"said: cannot write {out} (")
    assert done.stdout.count("\n") == 1, done.stdout
    assert "cannot be kept elsewhere" in done.stdout
    assert digest(out) == before
    assert listed(tmp_path) == [out.name]                               # no half files


def test_a_full_disk_ends_a_command_in_one_line(tmp_path):
    spec = Spec("swiss-roll", dict(n_bags=40, mean_size=100, size_std=30), model="constant")
    (tmp_path / "spec.json").write_text(spec.to_json())
    done = python("from workbench.cli import main; main()", "run", "spec.json", "--out", "map.nc",
                  "--quiet", folder=tmp_path)
    assert done.returncode == 2, (done.returncode, done.stderr)
    errors = [line for line in done.stderr.splitlines() if not line.startswith("warning")]
    assert len(errors) == 1, done.stderr
    assert errors[0].startswith("error: cannot write map.nc (File too large)")
    assert listed(tmp_path) == ["spec.json"]


def test_tables_and_pages_are_whole_or_not_there(tmp_path):
    for name in ("table.csv", "page.html"):
        (tmp_path / name).write_text("older")
        code = ("from workbench.outputs import write_bytes\n"
                f"write_bytes({name!r}, 'x' * {2 * LIMIT})")
        done = python(code, folder=tmp_path)
        assert "File too large" in done.stderr
        assert (tmp_path / name).read_text() == "older"
    assert listed(tmp_path) == ["page.html", "table.csv"]


def test_a_result_that_cannot_go_to_its_file_is_kept_elsewhere(tmp_path, monkeypatch):
    out, room = tmp_path / "full" / "map.tif", tmp_path / "room"
    out.parent.mkdir()
    room.mkdir()
    monkeypatch.setattr(outputs.tempfile, "tempdir", str(room))

    def write(path: Path) -> None:
        if path.parent == out.parent:
            raise OSError(28, "No space left on device")
        path.write_text("the map")

    with pytest.raises(outputs.OutputError) as said:
        outputs.deliver(write, out)
    where = Path(str(said.value).rpartition(" is kept in ")[2])
    assert where.read_text() == "the map" and room in where.parents
    assert str(said.value).startswith(f"cannot write {out} (No space left on device); ")


def test_a_format_that_fails_is_kept_in_another_and_replaces_nothing(tmp_path):
    out, older = tmp_path / "map.gpkg", tmp_path / "map.nc"
    older.write_text("older")

    def write(path: Path) -> None:
        if path.suffix == ".gpkg":
            raise RuntimeError("no such\ncolumn")
        path.write_text("the map")

    with pytest.raises(outputs.OutputError, match=r"\(no such column\); the result is kept in "):
        outputs.deliver(write, out, spare=".nc")
    assert older.read_text() == "older"
    assert (tmp_path / "map.kept.nc").read_text() == "the map"


def test_where_an_open_file_cannot_be_replaced_the_map_goes_beside(tmp_path, monkeypatch):
    out = geo.write(pixels(5), tmp_path / "map.nc")
    replace = os.replace

    def held(source, target):                               # as Windows does with an open file
        if Path(target) == out:
            raise PermissionError(13, "The process cannot access the file")
        replace(source, target)

    monkeypatch.setattr(os, "replace", held)
    with pytest.raises(outputs.OutputError, match="is kept in .*map.kept.nc"):
        outputs.deliver(lambda path: geo.write(pixels(6), path), out)
    assert listed(tmp_path) == ["map.kept.nc", "map.nc"]
    assert geo.read(tmp_path / "map.kept.nc").sizes["individual"] == 36


def test_a_disk_that_is_truly_full(tmp_path):
    """A file system of 150 kB: the map goes to the temporary folder, the older file stays."""
    mount = tmp_path / "small"
    mount.mkdir()
    out, room = mount / "map.nc", tmp_path / "room"
    room.mkdir()
    code = f"""
from tests.kit import pixels
from pathlib import Path
from workbench import geo, outputs
out = Path({str(out)!r})
for suffix in (".nc", ".tif", ".gpkg"):
    geo.write(pixels(5), out.with_suffix(suffix)) if suffix != ".gpkg" else None
    try:
        outputs.deliver(lambda path: geo.write(pixels(), path), out.with_suffix(suffix))
    except outputs.OutputError as error:
        print(error)
print(sorted(path.name for path in out.parent.iterdir()))
print(geo.read(out).sizes["individual"])
"""
    (tmp_path / "code.py").write_text(code)
    command = f"mount -t tmpfs -o size=150k tmpfs '{mount}' && '{sys.executable}' code.py"
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"]).returncode:
        pytest.skip("no file system of one's own without unshare")
    done = subprocess.run([unshare, "-rm", "sh", "-c", command], cwd=tmp_path, text=True,
                          capture_output=True, timeout=120,
                          env=os.environ | {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(room)})
    if "mount" in done.stderr:
        pytest.skip(f"no file system of one's own: {done.stderr}")
    assert done.returncode == 0, done.stderr
    *said, names, count = done.stdout.splitlines()
    assert len(said) == 3 and all("; the result is kept in " in line for line in said), said
    assert "No space left on device" in said[0]
    assert names == "['map.nc', 'map.tif']" and count == "25"
    for line in said:
        assert Path(line.rpartition(" is kept in ")[2]).stat().st_size > 150_000


WRITER = """
import sys
from workbench.outputs import write_bytes

for _ in range(40):
    write_bytes(sys.argv[1], sys.argv[2].encode() * 200_000)
"""


def test_of_two_runs_on_one_output_one_is_there_whole(tmp_path):
    out = tmp_path / "map.nc"
    runs = [subprocess.Popen([sys.executable, "-c", WRITER, out, letter]) for letter in "ab"]
    seen = []
    while any(run.poll() is None for run in runs):
        if out.exists():
            seen.append(out.read_bytes())
    assert [run.returncode for run in runs] == [0, 0]
    seen.append(out.read_bytes())
    assert {(len(content), len(set(content))) for content in seen} == {(200_000, 1)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.nc"]
