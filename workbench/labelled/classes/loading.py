"""Reading a fit from the file that `Fit.save` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import xarray as xr

from workbench.checks import ApproximationWarning, InputError, reading, require, warn
from workbench.gp.models.keeping import probe
from workbench.gp.models.vbagg.design import with_inducing
from workbench.labelled.classes.registry import make_model
from workbench.labelled.saving import FORMAT, SCHEMA_VERSION, unflatten
from workbench.labelled.stored.archive import LIMIT, read_archive
from workbench.labelled.stored.datasets import decode

if TYPE_CHECKING:
    from workbench.labelled.fit import Fit

#: Models whose number and kind of inducing inputs came to go by the bags, and the version in which
#: those of Normal values became averages.
_INDUCING, _AVERAGED = ("vbagg", "centre-point"), 4
_KEYS = {"format", "version", "model", "options", "facts", "fit", "data", "versions"}
_AGREE = 1e-6       # of mean and sd, within which a fit must predict what it did when it was saved


def load_fit(path: str | Path, *, device: str | None = None, limit: int = LIMIT) -> Fit:
    """Read a fit from a file that `Fit.save` or ``--save-fit`` wrote; nothing is trained.

    The file holds numbers and JSON and no code: an untrusted one can do no more than be refused.
    Data are in it, so that the fit answers everything it did before, `with_hyperparameters` too.

    Parameters
    ----------
    path : str or Path
        The file.
    device : str, optional
        Torch device to compute on instead of the one it was fitted on.
    limit : int
        Most bytes that the file may unpack to.

    Returns
    -------
    Fit
        Of the class that it was.

    Raises
    ------
    InputError
        If the file is none of a fit, of a later version, damaged, or too large.

    Warns
    -----
    ApproximationWarning
        If the fit predicts otherwise than when it was saved.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
    >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit.save(pathlib.Path(folder) / "fit.wbfit")
    ...     again = wb.load_fit(pathlib.Path(folder) / "fit.wbfit")
    >>> bool(abs(again.at(ds).mean - fit.at(ds).mean).max() < 1e-10)
    True
    """
    facts, arrays = read_archive(path, limit)
    require(facts.get("format") == FORMAT, f"{str(path)!r} is no stored fit")
    version = facts.get("version")
    require(isinstance(version, int) and 1 <= version <= SCHEMA_VERSION,
            f"{str(path)!r} has version {version!r} of the format, this workbench reads up to "
            f"{SCHEMA_VERSION}; update it")
    unknown, missing = facts.keys() - _KEYS, _KEYS - facts.keys()
    require(not unknown and not missing, f"{str(path)!r} is no fit as this version knows it: "
            f"unknown {sorted(unknown)}, missing {sorted(missing)}")
    with reading(path, "a stored fit", "to save the fit again"):
        return _assembled(path, facts, arrays, device)


def _assembled(path: str | Path, facts: Mapping, arrays: Mapping[str, np.ndarray],
               device: str | None) -> Fit:
    options = dict(facts["options"]) | ({} if device is None else {"device": device})
    stated, version, name = facts["facts"], facts["version"], facts["model"]
    if version == 1:
        options, stated = _of_a_hundred(name, options, stated)
    datasets = {}
    for k, told in enumerate(facts["data"]):
        prefix = f"data/{k}/"
        datasets[told["name"]] = decode(told, {
            key.removeprefix(prefix): value for key, value in arrays.items()
            if key.startswith(prefix)})
    if version < _AVERAGED and name in _INDUCING:
        options = _of_seeds(name, options, datasets["data"])
    model = make_model(name, **options)
    tensors = {key: torch.as_tensor(value) for key, value in arrays.items()
               if key.startswith("fit")}
    fit = model._recalled(datasets, stated, unflatten(facts["fit"], tensors, "fit"))
    _compare(path, fit, arrays)
    return fit


def _of_a_hundred(model: str, options: dict, stated: Mapping) -> tuple[dict, Mapping]:
    """Options of a file of version 1, of which 100 inducing inputs were the default."""
    if model in _INDUCING:
        options = {"inducing": 100} | options
    if "candidates" in stated:
        stated = {**stated, "candidates": {name: {"inducing": 100} | one
                                           for name, one in stated["candidates"].items()}}
    return options, stated


def _of_seeds(model: str, options: dict, ds: xr.Dataset) -> dict:
    """Options of a file from before averages were the default for Normal values of areas."""
    options = {"inducing_inputs": "held"} | options
    own = model == "vbagg" and options["inducing_inputs"] == "averages"
    if own and "inducing" not in options:       # of areas as points the number is as it was
        sizes = torch.bincount(torch.as_tensor(ds["membership"].values))
        options["inducing"] = with_inducing(make_model(model, **options).options, sizes).inducing
    return options


def _compare(path: str | Path, fit: Fit, arrays: Mapping[str, np.ndarray]) -> None:
    """Warn if the fit predicts otherwise than when it was saved."""
    before = [arrays["probe/mean"], arrays["probe/std"]]
    now = [part.numpy(force=True) for part in probe(fit.inner, fit._training_bags())]
    if any(a.shape != b.shape for a, b in zip(before, now, strict=True)):
        raise InputError("its data are not those that it was fitted to")
    size = np.abs(before[0]).mean() + before[1].mean()
    apart = max(float(np.abs(a - b).max(initial=0)) for a, b in zip(before, now, strict=True))
    single = now[0].dtype == np.float32
    if not apart <= (1e-3 if single else _AGREE) * size:
        warn(f"the fit in {str(path)!r} predicts otherwise than when it was saved: a rate differs "
             f"by {apart:.3g}, where rates are about {size:.3g}; fit again", ApproximationWarning)
