"""A prior mean of the field that is a function of the individuals' inputs, given by the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from workbench.checks import reject, require
from workbench.gp.data.bags import Bags
from workbench.gp.numerics.shapes import PerIndividual

MeanFunction = Callable[[Mapping[str, np.ndarray]], np.ndarray]


def evaluate(function: MeanFunction, bags: Bags) -> PerIndividual:
    """m at the individuals (N,).

    Parameters
    ----------
    function : callable
        Takes a mapping of each input column's name to its values (N,) in natural units, and
        returns m in units of the values (N,), or one number for all.
    bags : Bags
        Individuals.

    Raises
    ------
    InputError
        If it returns no finite number for every individual, or asks for a column that is not there.
    """
    names, count = bags.columns.names, len(bags.x)
    table = dict(zip(names, bags.x.numpy(force=True).T, strict=True))
    try:
        values = np.asarray(function(table), dtype=float)
    except KeyError as error:
        raise reject(f"a mean_function of the inputs {', '.join(names)}", f"one of {error}",
                     "name the columns as the dataset does") from error
    if values.shape not in ((), (count,)):
        raise reject(f"one value of the mean_function per individual ({count})",
                     f"shape {values.shape}", "return one number for each row of the columns")
    require(bool(np.isfinite(values).all()), "the mean_function is not finite at "
            f"{int((~np.isfinite(values)).sum())} individuals; give it a value everywhere")
    return torch.as_tensor(np.broadcast_to(values, count).copy()).to(bags.x)
