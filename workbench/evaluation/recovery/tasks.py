"""One task of coarsen and recover: merge, fit one model, draw the areas."""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.checks import require
from workbench.evaluation.conditioning import area_draws, coarsen
from workbench.evaluation.tasks import Outcome, attempt, fitted, keep


@dataclasses.dataclass
class Recovery(Outcome):
    """What came of one model fitted to the groups of one level and draw."""

    model: str
    level: int                          # positions among the levels and draws
    draw: int
    draws: np.ndarray | None = None     # (sample, area), or None if it failed
    how: str = ""
    hyperparameters: str = ""           # of the fit, as JSON


def recover_one(place: tuple[str, int, int], model, ds: xr.Dataset, groups: np.ndarray,
                samples: int, seed: int, file: Path | None) -> Recovery:
    """Merge, fit, draw; errors of the model are kept in the result, and so are its warnings.

    Parameters
    ----------
    place : (str, int, int)
        Name of the model, level, draw.
    model : model
        Anything with ``fit(ds)``.
    ds : xr.Dataset
        Areas, `bare`.
    groups : int array (area,)
    samples, seed : int
        Draws of the areas, and the seed of all tasks.
    file : Path, optional
        Where to keep the result, if it did not fail.

    Raises
    ------
    KeyboardInterrupt
        If the fit was stopped: half a fit must not be scored.
    """
    done = Recovery(*place)
    with attempt(done):
        merged = coarsen(ds, groups)
        fit = fitted(model, merged, done)
        drawn, done.how = area_draws(fit, merged, samples, seed_of(seed, groups))
        require(bool(np.isfinite(drawn).all()), "draws of the areas are not all finite")
        done.hyperparameters = json.dumps(getattr(fit, "hyperparameters", {}), default=repr)
        done.draws = _small(drawn)
    if file is not None and done.draws is not None:
        keep(done, file, "draws", "how", "hyperparameters")
    return done


def seed_of(seed: int, groups: np.ndarray) -> int:
    """Seed of the draws for one grouping: the same for all models, in whatever order they come."""
    code = zlib.crc32(np.ascontiguousarray(groups, dtype=np.int64).tobytes())
    return int(np.random.SeedSequence([seed, code]).generate_state(1)[0] >> 1)


def started(model, name: str, values: Mapping):
    """The model, starting from hyperparameters by name, in natural units.

    Raises
    ------
    InputError
        If it has no option ``initial``.
    """
    options = getattr(model, "options", None)
    known = dataclasses.is_dataclass(options) and hasattr(options, "initial")
    require(known, f"the model {name!r} has no option 'initial', so it cannot start from given "
                   "hyperparameters; leave it out of warm")
    given = {f.name: getattr(options, f.name) for f in dataclasses.fields(options) if f.init}
    return type(model)(**given | {"initial": dict(given["initial"]) | dict(values)})


def _small(drawn: np.ndarray) -> np.ndarray:
    """Single precision, where nothing is lost by it: whole numbers up to 16 million."""
    half = drawn.astype(np.float32)
    return half if (half == drawn).all() else drawn
