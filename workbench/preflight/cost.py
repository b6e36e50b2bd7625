"""Time and memory of a fit, and whether this machine has them."""

from __future__ import annotations

import xarray as xr

from workbench.bagging.findings import ERROR, NOTE, STOPS, WARNING, Finding
from workbench.checks import option
from workbench.gp.models.exact.cost import memory_there
from workbench.labelled import Auto
from workbench.labelled.timing import cost, duration

LONG = 3600.0           # seconds worth a warning
_TIGHT = 0.5            # share of the machine's memory worth a warning


def estimate(ds: xr.Dataset, model: object = None, folds: int = 0, workers: int = 0,
             fold_model: object = None) -> tuple[dict[str, object], list[Finding]]:
    """What a fit takes, and findings where that is much.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with values.
    model : LabelledModel, optional
        `workbench.Auto` if not given.
    folds, workers : int
        Of cross-validation.
    fold_model : LabelledModel, optional
        Fitted to folds, where it is not the same: one that has no processes of its own.

    Returns
    -------
    estimates : dict
        model, individuals, areas, seconds, bytes and machine_bytes, with folds also folds and
        folds_seconds; empty where nobody knows.
    findings : list of Finding
        Of a long fit, or one that takes much memory.
    """
    model = Auto() if model is None else model
    known = cost(model, ds)
    if known is None:
        return {}, [Finding("cost", f"nobody knows how long {model.name} takes", severity=NOTE)]
    seconds, size = known
    there = memory_there()
    found = {"model": model.name, "individuals": int(ds.sizes["individual"]),
             "areas": int(ds.sizes["bag"]), "seconds": float(seconds), "bytes": float(size),
             "machine_bytes": float(there)}
    if folds:
        each = (cost(fold_model, ds) or known)[0] if fold_model is not None else seconds
        found |= {"folds": folds,
                  "folds_seconds": each * (folds - 1) / max(1, min(workers, folds))}
    told, findings = f"{model.name} takes about {duration(seconds)}", []
    hours = getattr(model.options, "hours", None)
    fewer = "rasters of larger pixels, or fewer areas or covariates"
    if hours is not None and seconds > 3600 * hours:
        findings.append(Finding(
            "time", told, f"use another model, such as vbagg; {fewer}; or wait, with "
            f"{option('hours', float(int(seconds / 3600) + 2))}", count=found["individuals"],
            where=("individuals",), effect=STOPS, severity=ERROR))
    elif seconds > LONG:
        quick = getattr(model.options, "effort", None) == "quick"
        less = ("use another model, such as vbagg; or" if quick else
                f"pass {option('effort', 'quick')} (model auto), or use")
        findings.append(Finding(
            "time", told, f"{less} {fewer}",
            where=("individuals",), count=found["individuals"], severity=WARNING,
            effect="a long wait; Ctrl-C keeps the best so far"))
    if size > _TIGHT * there:
        findings.append(Finding(
            "memory", f"{model.name} takes about {size / 2**30:.1f} GiB of the {there / 2**30:.1f} "
            "GiB of this machine", f"pass fewer {option('inducing')} (model vbagg), or use {fewer}",
            where=("individuals",), count=found["individuals"],
            severity=ERROR if size > there else WARNING,
            effect="the fit cannot be held in memory" if size > there else "the machine may swap"))
    return found, findings
