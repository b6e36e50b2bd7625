"""The Python that makes again what a comparison shows."""

from __future__ import annotations

from pprint import pformat

from workbench.ui.compare import pairs
from workbench.ui.compare.catalogue import AUTO, rivals_for
from workbench.ui.compare.engine import Board, arguments, auto_options
from workbench.ui.compare.state import Pair, Setting

_WIDE = 96
_IMPORTS = """\
import workbench as wb
from workbench.comparison.line_up import line_up
from workbench.evaluation.conditioning import bare
"""
_MAPS = """\
known = bare(ds)        # what models may see: no outlines, no truth
together, *_ = line_up(ds, models, {effort!r}, {seed})
maps = ds[["membership", "weight"]]
for name, column in {columns}.items():
    rate = together[name].fit(known).at(known{effects}).mean.values.astype(float)
{totals}    maps[column] = ("individual", rate)
"""
_TOTALS = """\
    if (rate >= 0).all():       # areas keep their totals
        weight = ds["weight"].values
        rate = wb.rescale_to_totals(known, rate * weight).values / weight
"""
_RANKED = """\
table = result.table({test!r}).reset_index()
table = table.sort_values({by!r}, kind="stable", ignore_index=True)
"""
_ENGINES = """\
table = pd.DataFrame({{"area": found["bag"].values[found["membership"].values],
                      "x": found["x"].values, "y": found["y"].values}})
for engine in {names}:
    for name in ("mean", "std"):
        table[f"{{name}}_{{engine}}"] = found[name].sel(engine=engine).values
"""


def board_program(board: Board, test: str, by: str) -> str:
    """The Python that makes a board again: its scores, the maps of its models and its table.

    Parameters
    ----------
    board : Board
    test : str
    by : str
        Title of the score that its table is sorted by.

    Returns
    -------
    str
        A program that leaves ``result``, ``maps`` in natural units, and ``table``.
    """
    setting = board.setting
    made = _MAPS.format(
        effort=setting.effort, seed=setting.seed, totals=_TOTALS if setting.data.counts else "",
        effects=", area_effect=False" if setting.data.counts else "",
        columns=pformat({name: column_of(name) for name in board.maps}, sort_dicts=False))
    needed = program(setting).replace("import workbench as wb\n", _IMPORTS, 1)
    return f"{needed}\n{made}\n{_RANKED.format(test=test, by=by)}"


def program(setting: Setting) -> str:
    """The Python that makes a comparison of models again.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    str
        A program that ends with ``result``, a `workbench.comparison.Comparison`.
    """
    models = []
    for key, rival in rivals_for(setting.data).items():
        if key not in setting.models:
            models += [f"    {rival.name!r}: None,"] if rival.always else []
        elif key == AUTO:
            models.append(f"    {AUTO!r}: {_call('Auto', auto_options(setting))},")
        elif rival.cls:
            options = {**rival.options, "seed": setting.seed}
            models.append(f"    {rival.name!r}: {_call(rival.cls, options)},")
    handed = setting.data.handed
    data = handed.program if handed else (
        f"ds = {_call('load', setting.data.options, repr(setting.data.name))}")
    return "\n".join(["import workbench as wb", "", data, "models = {", *models, "}",
                      f"result = {_call('compare', arguments(setting), 'ds, models')}",
                      "print(result)", ""])


def pair_program(pair: Pair, names: list[str]) -> str:
    """The Python that makes a comparison of engines again, maps and table.

    Parameters
    ----------
    pair : Pair
    names : list of str
        Engines that are finished.

    Returns
    -------
    str
        A program that leaves ``found`` and ``table``.
    """
    return "\n".join([
        "import pandas as pd", "import workbench as wb", "",
        f"ds = {_call('load', pairs.DATASET, repr('simulated-country'))}",
        f"model = {_call('VBAgg', pairs.options(pair))}",
        f"found = {_call('compare_engines', pairs.arguments(pair), 'ds, model')}",
        'print(found.attrs["summary"])', "", _ENGINES.format(names=names)])


def column_of(model: str) -> str:
    """A model's name as that of a column."""
    return "".join(c if c.isalnum() else "_" for c in model).replace("__", "_").strip("_")


def _call(name: str, options, first: str = "") -> str:
    """A call of a function of the package, in one line or a line for each argument."""
    parts = [*([first] if first else []),
             *(f"{key}={pformat(value)}" for key, value in options.items())]
    line = f"wb.{name}({', '.join(parts)})"
    if len(line) <= _WIDE - 12:
        return line
    return f"wb.{name}(\n    " + ",\n    ".join(parts) + ",\n)"
