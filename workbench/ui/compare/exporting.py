"""What can be taken away from a comparison: Python that makes it again, JSON, CSV, a report."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pprint import pformat

import xarray as xr

from workbench.ui.compare import pairs
from workbench.ui.compare.catalogue import AUTO, rivals_for
from workbench.ui.compare.engine import Board, arguments, auto_options
from workbench.ui.compare.state import Pair, Setting

_WIDE = 96


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
    data = _call("load", setting.data.options, repr(setting.data.name))
    return "\n".join(["import workbench as wb", "", f"ds = {data}", "models = {", *models, "}",
                      f"result = {_call('compare', arguments(setting), 'ds, models')}",
                      "print(result)", ""])


def pair_program(pair: Pair) -> str:
    """The Python that makes a comparison of engines again; it ends with ``found``."""
    return "\n".join([
        "import workbench as wb", "",
        f"ds = {_call('load', pairs.DATASET, repr('simulated-country'))}",
        f"model = {_call('VBAgg', pairs.options(pair))}",
        f"found = {_call('compare_engines', pairs.arguments(pair), 'ds, model')}",
        'print(found.attrs["summary"])', ""])


def as_json(board: Board, address: str) -> str:
    """A comparison as JSON: address, settings, verdict, versions, and a record for each model.

    Parameters
    ----------
    board : Board
    address : str
        Query under which the app shows it.
    """
    attrs, setting = board.result.attrs, board.setting
    told = {"address": f"compare?{address}", "setting": asdict(setting),
            "dataset": {"name": setting.data.name, "options": dict(setting.data.options)},
            "recommended": attrs["recommended"], "sentence": attrs["sentence"],
            "incomplete": attrs["partial"], "notes": attrs["notes"].split("\n"),
            "settings": json.loads(attrs["settings"]), "models": json.loads(attrs["models"]),
            "versions": json.loads(attrs["versions"]),
            "scores": [_plain(record) for record in
                       _table(board).reset_index().to_dict("records")]}
    return json.dumps(told, indent=2, ensure_ascii=False)


def as_csv(board: Board) -> str:
    """The library's table of a comparison, a row for each model, best first."""
    return _table(board).to_csv()


def as_html(board: Board) -> str:
    """The library's report of a comparison, one self-contained page."""
    from workbench.comparison import Comparison

    return Comparison(board.result).to_html()


def pair_json(pair: Pair, found: xr.Dataset) -> str:
    """A comparison of engines as JSON: setting, summary, and every individual's mean and sd."""
    return json.dumps({
        "setting": asdict(pair), "summary": found.attrs["summary"].split("\n"),
        "reference": found.attrs["reference"], "warned": found.attrs.get("warned", ""),
        "unfinished": pairs.unfinished(found),
        "seconds": {e: float(found["seconds"].sel(engine=e)) for e in
                    found["engine"].values.tolist()},
        **{name: {e: [float(f"{v:.6g}") for v in found[name].sel(engine=e).values]
                  for e in found["engine"].values.tolist()} for name in ("mean", "std")}}, indent=1)


def _table(board: Board):
    from workbench.comparison import Comparison

    return Comparison(board.result).table(str(board.result["test"].values[0]))


def _plain(record: dict) -> dict:
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in record.items()}


def _call(name: str, options, first: str = "") -> str:
    """A call of a function of the package, in one line or a line for each argument."""
    parts = [*([first] if first else []),
             *(f"{key}={pformat(value)}" for key, value in options.items())]
    line = f"wb.{name}({', '.join(parts)})"
    if len(line) <= _WIDE - 12:
        return line
    return f"wb.{name}(\n    " + ",\n    ".join(parts) + ",\n)"
