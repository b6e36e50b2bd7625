"""The models of Law et al. under the names of their tables, and the grids they are tuned on.

Every point of a grid is a run of its own, with its validation likelihood and its objective stored:
the table chooses, so that both of the paper's rules can be read from the same runs.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
import xarray as xr

from workbench.checks import choose
from workbench.gp.models.baselines.tuning import expand
from workbench.labelled import BagConstant, BagPixel, Constant, Fit, NeuralNetwork, Nystrom, VBAgg

VALIDATION, OBJECTIVE = "validation", "objective"
# Counts of the paper are Poisson given the rate: nothing varies more than that.
_POISSON = {"overdispersion": "none", "nugget": 0.0}
_WIDTHS, _ONE_WIDTH = {"inducing": (15, 30)}, {"inducing": (30,)}


@dataclass(frozen=True)
class Candidate:
    """A model, its options, and the grid that it is tuned on.

    Parameters
    ----------
    model : type
        Public model class.
    options : Mapping
        Options of every run.
    grid : Mapping
        Option to values; empty for a model with nothing to tune.
    stops_early : bool
        Whether training ends by the early-stop set.
    kernel : bool
        Whether it is made of a kernel.
    """

    model: type
    options: Mapping = field(default_factory=dict)
    grid: Mapping = field(default_factory=dict)
    stops_early: bool = False
    kernel: bool = True

    def points(self) -> list[str]:
        """Options of each run of the grid, as JSON."""
        return [json.dumps(point, sort_keys=True) for point in expand(self.grid)]


#: The paper's grids with fewer values: one random start, one learning rate, and of the penalties
#: those that its grids of several models have in common.
CANDIDATES: dict[str, Candidate] = {
    "bag-constant": Candidate(BagConstant, kernel=False),
    "constant": Candidate(Constant, _POISSON, kernel=False),
    "vbagg-square": Candidate(VBAgg, _POISSON | {"link": "square", "bound": "taylor"}, _ONE_WIDTH),
    "vbagg-square-gamma": Candidate(
        VBAgg, _POISSON | {"link": "square", "bound": "gamma"}, _ONE_WIDTH),
    "vbagg-square-jensen": Candidate(
        VBAgg, _POISSON | {"link": "square", "bound": "jensen"}, _ONE_WIDTH),
    "vbagg-exp": Candidate(VBAgg, _POISSON | {"link": "exp", "bound": "jensen"}, _WIDTHS),
    "vbagg-exp-moment": Candidate(VBAgg, _POISSON | {"link": "exp", "bound": "moment"}, _WIDTHS),
    "nystrom": Candidate(
        Nystrom, {"link": "square", "learning_rate": 0.05, "inducing": 30},
        {"manifold_penalty": (10.0, 1.0, 0.0), "weight_penalty": (1.0,)}, True),
    "neural-network": Candidate(
        NeuralNetwork, {"link": "square", "learning_rate": 0.01, "hidden": 30},
        {"manifold_penalty": (100.0, 10.0, 0.0)}, True, False),
    "bag-pixel": Candidate(
        BagPixel, {"learning_rate": 0.01, "hidden": 30},
        {"link": ("square", "exp"), "weight_penalty": (1.0, 0.1, 0.0)}, True, False),
}


def fit_candidate(name: str, point: str, parts: Mapping[str, xr.Dataset], **common) -> Fit:
    """Fit a candidate at one point of its grid.

    Parameters
    ----------
    name : str
        Name of the candidate.
    point : str
        One of its `Candidate.points`.
    parts : Mapping
        ``train``; ``estop`` for candidates that stop early.
    **common
        Options of every candidate with a kernel, such as ``kernel``.

    Raises
    ------
    InputError
        If the name is unknown.
    """
    chosen = CANDIDATES[choose("candidate", name, CANDIDATES)]
    common = common if chosen.kernel else {}
    model = chosen.model(**{**chosen.options, **common, **json.loads(point)})
    early = {"early_stop": parts["estop"]} if chosen.stops_early else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # whether it converged is a column
        return model.fit(parts["train"], **early)


def best(runs: pd.DataFrame, by: list[str], rule: str = VALIDATION) -> pd.DataFrame:
    """Of each model and data set the run that a rule chooses.

    Parameters
    ----------
    runs : DataFrame
        With the columns ``model``, ``val_nll``, ``objective`` and those of ``by``.
    by : list of str
        Columns that tell data sets apart.
    rule : {"validation", "objective"}
        Smallest validation negative log-likelihood, or largest training objective.
    """
    column, sign = ("val_nll", 1) if rule == VALIDATION else ("objective", -1)
    # flat models have nothing to choose, and hence no such column where they are alone
    known = runs[column] if column in runs else pd.Series(float("nan"), runs.index)
    order = (sign * known).where(known.notna(), float("inf"))
    chosen = order.groupby([runs[c] for c in ["model", *by]]).idxmin()
    return runs.loc[chosen].reset_index(drop=True)
