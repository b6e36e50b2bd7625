"""Writing a fit to one file, from which it is read without training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workbench.checks import require
from workbench.gp.models.keeping import Kept, probe
from workbench.gp.models.options import non_defaults
from workbench.labelled.stored.archive import plain, write_archive
from workbench.labelled.stored.datasets import encode
from workbench.outputs import FIT_SUFFIX, versions

#: What the file is, and the version of what is in it: raised when older readers would go wrong, or
#: a default has changed, as options that are the defaults are not written.
FORMAT, SCHEMA_VERSION = "workbench fit", 4


def save_fit(fit, path: str | Path, packages: tuple[str, ...] = ()) -> None:
    """Write a fit to a file, see `workbench.labelled.Fit.save`.

    Parameters
    ----------
    fit : Fit
        Of any model.
    path : str or Path
        Ending in ``.wbfit``.
    packages : tuple of str
        Whose versions are noted in the file.

    Raises
    ------
    InputError
        If the name ends otherwise, or the model has an option that is code, such as a kernel
        object.
    """
    path = Path(path)
    require(path.suffix == FIT_SUFFIX, f"a fit is written to a file that ends in {FIT_SUFFIX}, got "
            f"{str(path)!r}; a map is written with wb.write(fit.to_dataset(ds), path)")
    datasets, tensors = [], {}
    for k, (name, ds) in enumerate(fit._parts().items()):
        told, arrays = encode(ds)
        datasets.append({"name": name, **told})
        tensors |= {f"data/{k}/{key}": value for key, value in arrays.items()}
    kept, numbers = flatten(fit.inner.keep(), "fit")
    mean, std = probe(fit.inner, fit._training_bags())
    tensors |= numbers | {"probe/mean": mean.numpy(force=True), "probe/std": std.numpy(force=True)}
    facts = {
        "format": FORMAT, "version": SCHEMA_VERSION, "model": fit.model.name,
        "options": options_of(fit.model), "facts": plain(fit._facts(), "what the fit says"),
        "fit": kept, "data": datasets, "versions": versions(*packages)}
    write_archive(path, facts, tensors)


def options_of(model) -> dict:
    """Options of a model that differ from their defaults, as JSON has them."""
    return {name: plain(value, f"option {name} of {model.name}")
            for name, value in non_defaults(model.options).items()}


def flatten(kept: Kept, prefix: str) -> tuple[dict, dict[str, np.ndarray]]:
    """Nested facts, and arrays by name of their path.

    Parameters
    ----------
    kept : Kept
        Of a fit.
    prefix : str
        Of the names.
    """
    arrays = {f"{prefix}/{name}": value.numpy(force=True) for name, value in kept.tensors.items()}
    parts = []
    for k, (name, part) in enumerate(kept.parts.items()):
        told, theirs = flatten(part, f"{prefix}.{k}")
        parts.append({"name": name, **told})
        arrays |= theirs
    return {"facts": plain(kept.facts, "what is kept of the fit"), "parts": parts}, arrays


def unflatten(told: Mapping, arrays: Mapping[str, object], prefix: str) -> Kept:
    """What `flatten` made of a `Kept`, back.

    Parameters
    ----------
    told : mapping
        Nested facts.
    arrays : mapping of str to Tensor
        By name of their path.
    prefix : str
        Of the names.
    """
    own = {name.removeprefix(f"{prefix}/"): value for name, value in arrays.items()
           if name.startswith(f"{prefix}/")}
    parts = {part["name"]: unflatten(part, arrays, f"{prefix}.{k}")
             for k, part in enumerate(told["parts"])}
    return Kept(told["facts"], own, parts)
