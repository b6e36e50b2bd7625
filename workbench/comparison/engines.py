"""One model by several engines: in closed form, by variational inference, by Markov chains."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import ConvergenceWarning, choose, package, require, warn
from workbench.evaluation.chains import effective_size, rhat
from workbench.labelled import make_model
from workbench.labelled.sampling import check_cost, point_values, sample_posterior

ENGINES = ("exact", "vi", "nuts")
_RHAT, _ESS = 1.05, 100         # from which, and below which, chains are called unconverged
# Options of VBAgg that the closed form has, too.
_SHARED = ("kernel", "transform", "extrapolation", "priors", "initial", "hyperparameters",
           "max_steps", "tolerance", "seed", "noise")


def compare_engines(ds: xr.Dataset, model=None, *, engines: Sequence[str] | None = None,
                    fix_hyperparameters: bool = False, draws: int = 500,
                    warmup: int = 500, chains: int = 4,
                    seed: int = 0, limit: float = 15.0, progress: bool = False,
                    finished: Callable[[xr.Dataset], None] | None = None) -> xr.Dataset:
    """The same model on the same small data, computed in closed form, by VI and by NUTS.

    How far is the variational posterior from the exact one? Rates are those inside the areas, given
    their totals (``area_effect=True``), where engines differ most. Chains sample the field with its
    whole covariance, all effects, and the hyperparameters under their priors; the other engines
    take hyperparameters at their best values, unless ``fix_hyperparameters`` has
    all of them at those of VI.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, up to some hundreds of individuals.
    model : VBAgg, optional
        With its options; ``wb.VBAgg()`` by default.
    engines : sequence of str, optional
        Of ``exact`` (Normal values, identity link, no nugget), ``vi`` and ``nuts``; by default all
        that the model allows. VI is always among them: the others start from it.
    fix_hyperparameters : bool
        Fix the hyperparameters at those that VI found: engines then answer one question.
    draws, warmup, chains : int
        Of the sampler, see `workbench.labelled.sampling.sample_posterior`.
    seed : int
        Of all randomness.
    limit : float
        Minutes that sampling may take, roughly; what would take longer is refused.
    progress : bool
        Show bars.
    finished : callable, optional
        Called after each engine but the last with what is returned, of the engines so far; what it
        raises ends the comparison.

    Returns
    -------
    xr.Dataset
        ``mean``, ``std`` (engine, individual) of the rate; ``difference`` of the means from those
        of the reference in its standard deviations, and ``std_ratio``; ``bag_mean``, ``bag_std``
        (engine, bag); ``hyperparameter_mean``, ``hyperparameter_std`` (engine, hyperparameter),
        the latter NaN where a best value was taken; ``seconds`` (engine); of the sampler ``rhat``
        and ``ess`` (individual), of the rates' draws. The attribute ``reference`` names the engine
        that the others are compared with, the sampler if it is there; ``summary`` says all in
        words.

    Raises
    ------
    InputError
        If sampling would take too long, or an engine cannot do the model.
    ImportError
        If the sampler is wanted and the extra ``sampling`` is not installed.

    Warns
    -----
    ConvergenceWarning
        If chains disagree, or are worth few draws.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=8, mean_size=8, size_std=3)
    >>> model = wb.VBAgg(kernel="rbf", link="identity", likelihood="normal", nugget=0.0)
    >>> both = wb.compare_engines(ds, model, engines=["exact", "vi"])
    >>> bool(abs(both["difference"].sel(engine="vi")).max() < 0.1)
    True
    """
    model = make_model("vbagg", seed=seed) if model is None else model
    require(getattr(model, "name", "") == "vbagg", "engines are compared of a VBAgg model, got "
            f"{model!r}; write wb.VBAgg(...)")
    schema.check_learnable(ds)
    why = _no_closed_form(model, ds)
    wanted = ([e for e in ENGINES if e != "exact" or not why] if engines is None
              else [choose("engine", one, ENGINES) for one in engines])
    require("exact" not in wanted or not why, f"there is no closed form: {why}")
    order = [one for one in ENGINES if one in {*wanted, "vi"}]
    sampler = {"draws": draws, "warmup": warmup, "chains": chains, "seed": seed,
               "fix_hyperparameters": fix_hyperparameters,
               "limit": limit, "progress": progress}
    if "nuts" in order:
        package("numpyro", extra="sampling")
        check_cost(ds, **{k: v for k, v in sampler.items() if k not in ("seed", "progress")})
    found, started, chained = {}, time.perf_counter(), None
    fit = model.fit(ds, progress=progress)
    found["vi"] = _answers(fit, ds, started)

    def so_far() -> xr.Dataset:
        there = [one for one in order if one in found]
        out = xr.concat([found[one] for one in there], xr.DataArray(
            there, dims="engine", name="engine"), coords="minimal", compat="override",
            join="outer")
        return _told(out, chained, fit, ds, fix_hyperparameters)

    def tell() -> None:
        if finished is not None and len(found) < len(order):
            finished(so_far())

    tell()
    if "exact" in order:
        started = time.perf_counter()
        found["exact"] = _answers(_closed_form(model, fit, ds, fix_hyperparameters, progress), ds,
                                  started)
        tell()
    if "nuts" in order:
        started = time.perf_counter()
        chained = sample_posterior(fit, **sampler)
        found["nuts"] = _of_draws(chained, started, found["vi"]["hyperparameter_mean"])
    return so_far()


def _no_closed_form(model, ds: xr.Dataset) -> str:
    """Why a model has none; empty if it has."""
    options = model.options
    if "trials" in ds or options.likelihood not in ("auto", "normal") or (
            options.likelihood == "auto" and schema.kind(ds) == "count"):
        return "the likelihood is not Normal; write likelihood='normal'"
    if options.link != "identity":
        return "the link is not linear; write link='identity'"
    if options.nugget not in ("auto", 0, 0.0):
        return "there is a nugget; write nugget=0.0"
    return ""


def _closed_form(model, fit, ds: xr.Dataset, fixed: bool, progress: bool):
    options = {name: getattr(model.options, name) for name in _SHARED}
    exact = make_model("aggregated-gp", **options)
    return exact.condition(ds, fit.hyperparameters) if fixed else exact.fit(ds, progress=progress)


def _answers(fit, ds: xr.Dataset, started: float) -> xr.Dataset:
    rate, total = fit.at(ds, area_effect=True), fit.over(ds, area_effect=True)
    points = point_values(fit)
    names = list(points)
    elapsed = time.perf_counter() - started
    return xr.Dataset({
        "mean": rate.mean, "std": rate.std, "bag_mean": total.mean, "bag_std": total.std,
        "hyperparameter_mean": ("hyperparameter", list(points.values())),
        "hyperparameter_std": ("hyperparameter", np.full(len(names), np.nan)),
        "seconds": elapsed}, {"hyperparameter": names})


def _of_draws(chained: xr.Dataset, started: float, held: xr.DataArray) -> xr.Dataset:
    """Means and standard deviations of the draws; hyperparameters that were held have none."""
    over = ["chain", "draw"]
    mean, std = chained.mean(over), chained.std(over, ddof=1)
    found = xr.Dataset({
        "mean": mean["rate"], "std": std["rate"], "bag_mean": mean["total"],
        "bag_std": std["total"], "seconds": time.perf_counter() - started})
    names = {"name": "hyperparameter"}
    drawn = mean["hyperparameter"].rename(names).reindex(held.coords)
    return found.assign(
        hyperparameter_mean=drawn.fillna(held),
        hyperparameter_std=std["hyperparameter"].rename(names).reindex(held.coords))


def _told(out: xr.Dataset, chained: xr.Dataset | None, fit, ds: xr.Dataset, fixed: bool
          ) -> xr.Dataset:
    """With differences from the reference, convergence of the chains, and all of it in words."""
    order = out["engine"].values.tolist()
    reference = order[-1] if chained is not None else order[0]
    yard = out.sel(engine=reference, drop=True)
    out = out.assign(difference=(out["mean"] - yard["mean"]) / yard["std"],
                     std_ratio=out["std"] / yard["std"])
    units = {"units": fit.rate_units}
    out["mean"].attrs, out["std"].attrs = units | {"long_name": "rate"}, units | {
        "long_name": "standard deviation of the rate"}
    out["difference"].attrs = {"units": "sd", "long_name": f"mean less that of {reference}"}
    lines = [f"{fit.model!r}, {ds.sizes['individual']} individuals in {ds.sizes['bag']} areas; "
             "hyperparameters " + ("fixed at those of vi" if fixed else
                                   "sampled by nuts, at their best otherwise")]
    if chained is not None:
        out = out.assign(rhat=("individual", rhat(chained["rate"].values)) if
                         chained.sizes["chain"] > 1 else ("individual", np.full(
                             ds.sizes["individual"], np.nan)),
                         ess=("individual", effective_size(chained["rate"].values)))
        worst, least = float(out["rhat"].max()), float(out["ess"].min())
        diverged = chained.attrs["divergences"]
        out.attrs |= {"worst_rhat": worst, "least_ess": least, "divergences": diverged}
        lines.append(f"nuts: worst R-hat {worst:.3f}, least effective number {least:.0f}, "
                     f"{diverged} divergent transitions")
        if not worst < _RHAT or least < _ESS:
            warn(f"the chains have not converged (worst R-hat {worst:.3f}, least effective number "
                 f"{least:.0f}); raise draws and warmup", ConvergenceWarning)
    for one in order:
        row, seconds = out.sel(engine=one), float(out["seconds"].sel(engine=one))
        text = f"{one}: {seconds:.1f} s"
        if one != reference:
            apart = np.abs(row["difference"])
            text += (f"; mean off that of {reference} by {float(apart.median()):.2f} sd, at most "
                     f"{float(apart.max()):.2f}; sd {float(row['std_ratio'].median()):.2f} times "
                     f"its own ({float(row['std_ratio'].min()):.2f} to "
                     f"{float(row['std_ratio'].max()):.2f})")
        lines.append(text)
    kept = {name: ds[name] for name in ("weight", "membership", "value")}
    return out.assign(kept).assign_coords(ds.coords).assign_attrs(
        {**ds.attrs, **fit.provenance(), **out.attrs, "reference": reference,
         "summary": "\n".join(lines)})
