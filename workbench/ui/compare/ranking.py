"""The models of a board, best first, each with its distance from the simple map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.ui.compare.engine import Board

LEVELS = (50, 80, 95)
BETTER, WORSE, UNSURE, SIMPLE, FAILED = "better", "worse", "within error", "simple map", "failed"


@dataclass(frozen=True)
class Row:
    """One model.

    Parameters
    ----------
    name : str
    score : float
        The chosen one; lower is better, NaN if the model failed.
    change, lower, upper : float
        Difference from the simple map and its 95 % interval, as shares of the simple map's score.
    coverage : tuple of float
        Shares of the truth inside intervals of `LEVELS`.
    crps, map_score : float
        In natural units: the CRPS, and the deviance or squared error of the map.
    seconds : float
        Of all fits.
    standing : str
    said : str
        What failed, or what fits warned of.
    """

    name: str
    score: float
    change: float
    lower: float
    upper: float
    coverage: tuple[float, ...]
    crps: float
    map_score: float
    seconds: float
    standing: str
    said: str


def map_score(board: Board) -> str:
    """The score of the map alone that a board has."""
    return "deviance" if "deviance" in board.result["score"].values else "squared_error"


def score_of(board: Board, score: str) -> str:
    """The score that a choice means on a board."""
    return map_score(board) if score == "map" else board.result.attrs["headline"]


def title_of(board: Board, score: str) -> str:
    """A score in words."""
    return str(board.result["score_title"].sel(score=score).item())


def ranking(board: Board, score: str = "crps") -> list[Row]:
    """The models of a board, best first.

    Parameters
    ----------
    board : Board
    score : {"crps", "map"}
        That they are ranked by.
    """
    result, by = board.result.isel(test=0), score_of(board, score)
    base = result.attrs["baseline"]
    of_base = float(result["scores"].sel(model=base, score=by))
    rows = []
    for name in result["model"].values.tolist():
        one = result.sel(model=name)
        apart = one.sel(other=base, score=by)
        value = {s: float(one["scores"].sel(score=s)) for s in result["score"].values.tolist()}
        ends = [float(apart[n]) / of_base for n in ("difference", "lower", "upper")]
        rows.append(Row(
            name, value[by], *ends, tuple(value[f"coverage_{level}"] for level in LEVELS),
            value["crps"], value[map_score(board)], float(one["seconds"]),
            _standing(value[by], *ends, name == base),
            str(one["error"].item()) or str(one["note"].item())))
    return sorted(rows, key=lambda row: (np.isnan(row.score), row.score))


def _standing(score: float, change: float, lower: float, upper: float, simple: bool) -> str:
    if np.isnan(score):
        return FAILED
    if simple:
        return SIMPLE
    return BETTER if upper < 0 else WORSE if lower > 0 else UNSURE
