"""How far it is from a user's call to the numerics: Python calls and frames inside the package.

``python benchmarks/calls.py`` counts, on the Swiss roll, the calls of the package's named functions
from ``wb.VBAgg().fit(ds)`` to the first L-BFGS step (with the frames on the way) and those of
``fit.to_dataset(ds)``; then the modules and seconds of ``import workbench; wb.VBAgg`` in a fresh
interpreter, the median of several.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

STEP = "_minimize_lbfgsb"       # scipy's function that takes the steps
IMPORT = """
import sys, time
start = time.perf_counter()
import workbench as wb
wb.VBAgg
own = [name for name in sys.modules if name.partition(".")[0] == "workbench"]
print(time.perf_counter() - start, len(sys.modules), len(own))
"""


class Calls:
    """Calls of functions of the package while it is active, until `STEP` is first called.

    Parameters
    ----------
    until_step : bool
        Whether the count ends at the first step of L-BFGS.
    """

    def __init__(self, until_step: bool):
        import workbench

        self.package = str(Path(workbench.__file__).parent)
        self.until_step, self.frames = until_step, []
        self.functions: Counter[str] = Counter()

    def __enter__(self) -> Calls:
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *error) -> None:
        sys.setprofile(None)

    def _profile(self, frame, event: str, argument) -> None:
        if event != "call":
            return
        name = self._name(frame)
        if name:
            self.functions[name] += 1
        elif self.until_step and frame.f_code.co_name == STEP:
            sys.setprofile(None)
            while frame is not None:
                self.frames.insert(0, self._name(frame))
                frame = frame.f_back
            self.frames = [name for name in self.frames if name]

    def _name(self, frame) -> str:
        path, code = frame.f_code.co_filename, frame.f_code
        if not path.startswith(self.package) or code.co_name.startswith("<"):
            return ""           # of others, or a comprehension
        return f"{path[len(self.package) + 1:]}:{code.co_qualname}"

    @property
    def total(self) -> int:
        """Number of calls."""
        return sum(self.functions.values())

    @property
    def modules(self) -> int:
        """Number of modules that were called."""
        return len({name.partition(":")[0] for name in self.functions})


def count() -> None:
    import workbench as wb

    ds = wb.load("swiss-roll", n_bags=20)
    warnings.simplefilter("ignore")     # three steps are too few
    model = wb.VBAgg(max_steps=3)
    fit = model.fit(ds)                 # what is done once, such as imports, is not counted
    fit.to_dataset(ds)
    with Calls(until_step=True) as calls:
        fit = model.fit(ds)
    print(f"fit to the first L-BFGS step: {len(calls.frames)} frames, {calls.total} calls, "
          f"{calls.modules} modules")
    print("\n".join(f"  {name}" for name in calls.frames))
    with Calls(until_step=False) as calls:
        fit.to_dataset(ds)
    print(f"to_dataset: {calls.total} calls, {calls.modules} modules")
    for name, times in calls.functions.most_common():
        if name.startswith(("schema", "labelled")) and name.endswith((":check", ":to_bags")):
            print(f"  {times} x {name}")


def measure_import(repeats: int = 5) -> None:
    runs = [subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True,
                           check=True).stdout.split() for _ in range(repeats)]
    seconds = statistics.median(float(run[0]) for run in runs)
    print(f"import workbench; wb.VBAgg: {seconds:.2f} s, {runs[0][1]} modules, {runs[0][2]} own")


if __name__ == "__main__":
    count()
    measure_import()
