"""A rehearsal in words and tables: what such data can be trusted with, and what not."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import xarray as xr

_SURE = 0.05            # of all tests of ranks together
_OWN = ("This is what the fit itself claims to resolve: truths drawn given the data give back "
        "nearly the same data and fit, so that coverage and hyperparameters are as they should by "
        "construction; truths from the fitted process or from priors test them.")
_MATTERS, _VAGUE = 1, 10   # per cent: of coverage that is off, and of an interval that says little
_NUGGET, _SHRUNK = "nugget.std", np.log(1.25)   # learnt smaller by more than that, on average
#: What takes up differences that the field cannot follow.
_EFFECTS = {"area.std", "area.variance", "nugget.std", "dispersion", "noise.variance",
            "persistent.variance"}
_LOOSE = np.log(2)      # rmse of a logarithm from which a hyperparameter is as good as unknown


def verdict(result: xr.Dataset) -> str:
    """What can be trusted of maps from such data, and what not, in plain sentences.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.rehearse`.

    Returns
    -------
    str
        Sentences on detail, intervals, ranks and hyperparameters; of truths drawn given the data
        on detail alone.
    """
    if result.attrs["rehearsal"] == "posterior":
        return f"{_detail(result)} {_OWN}"
    said = (_detail(result), _beside(result), _intervals(result), _remedy(result), _uniform(result),
            _learnt(result), _found_again(result))
    return " ".join(filter(None, said))


def finest(result: xr.Dataset) -> str:
    """Name of the finest identifiable resolution; empty if there is none.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.rehearse`.

    Returns
    -------
    str
        See `workbench.comparison.rehearsal.resolutions`.
    """
    names = result["resolution"].values[result["reached"].values >= 0.5]
    return str(names[0]) if names.size else ""


def rehearsal_table(result: xr.Dataset) -> dict[str, pd.DataFrame]:
    """The numbers of a rehearsal as tables.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.rehearse`.

    Returns
    -------
    dict of str to pd.DataFrame
        ``coverage`` (in per cent), ``resolutions``, ``beside`` (median skill of the model and of
        simple maps, and in how many per cent of truths the model has more), ``hyperparameters`` and
        ``ranks``.
    """
    shown = {unit: _covered(result.sel(unit=unit), "coverage") for unit in result["unit"].values}
    shown |= {f"individuals, {name}": _covered(result.sel(map=name), "beside_coverage")
              for name in _maps(result)}
    level = [f"{100 * one:g} %" for one in result["level"].values]
    resolutions = result[["cells", "per_cell", "skill", "skill_lower", "skill_upper",
                          "correlation", "reached"]].to_dataframe()
    learnt = result[["bias", "bias_error", "rmse", "on_log"]].to_dataframe()
    return {"coverage": pd.DataFrame(shown, index=pd.Index(level, name="interval")),
            "resolutions": resolutions.round({"per_cell": 1} | dict.fromkeys(
                resolutions.columns.drop(["cells", "per_cell"]), 2)),
            "beside": _beside_table(result),
            "hyperparameters": learnt.round({"bias": 3, "bias_error": 3, "rmse": 3}),
            "ranks": result["p_value"].to_dataframe().round(3)}


def rehearsal_text(result: xr.Dataset) -> str:
    """Tables and verdict as text.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.rehearse`.

    Returns
    -------
    str
        Of several lines.
    """
    tables = rehearsal_table(result)
    titles = {
        "coverage": "Coverage of intervals, in per cent (95 % Monte Carlo interval)",
        "resolutions": f"Skill by resolution, the finest first (threshold "
                       f"{result.attrs['threshold']:g}; quartiles over truths)",
        "beside": "Median skill beside simple maps of the same truths, and in how many per cent of "
                  "truths the model has more",
        "hyperparameters": "Hyperparameters, learnt less true (of the logarithm where on_log)",
        "ranks": "Tests of uniform ranks"}
    parts = [result.attrs["about"]]
    parts += [f"{titles[name]}\n{table.to_string()}" for name, table in tables.items()
              if len(table)]
    return "\n\n".join([*parts, result.attrs["sentence"]])


def _detail(result: xr.Dataset) -> str:
    count, threshold = result.sizes["truth"], result.attrs["threshold"]
    name = finest(result)
    if not name:
        best = result["reached"].max()
        return (f"Do not trust any map of such data: at no resolution does the skill reach "
                f"{threshold:g} in half of {count} truths (at best in {100 * float(best):.0f} %).")
    at = result.sel(resolution=name)
    share = f"{100 * float(at['reached']):.0f} % of {count} truths"
    low, high = 100 * float(at["reached_lower"]), 100 * float(at["reached_upper"])
    unsure = "; with more truths it may turn out coarser" if low < 50 else ""
    if bool(at["inside"]):
        where = ("single individuals" if name == "individuals" else
                 f"cells of {name} (some {float(at['per_cell']):.0f} individuals each)")
        return (f"Trust the map down to {where}: there it explains at least {100 * threshold:.0f} "
                f"% of what differs inside areas in {share} (95 % interval {low:.0f} to "
                f"{high:.0f} %{unsure}).")
    nothing = ""
    if bool(result["inside"].any()):
        inside = result.isel(resolution=np.flatnonzero(result["inside"].values))
        best = inside["skill"].max()
        nothing = (" Do not trust detail inside areas: with such data a skill of "
                   f"{threshold:g} over a map that is flat inside areas is not reached (its "
                   f"median is {float(best):.2f} at best).")
    return (f"Trust rates of {name}, of whose differences at least {100 * threshold:.0f} % are "
            f"explained in {share}.{nothing}")


def _maps(result: xr.Dataset) -> list[str]:
    """Names of the simple maps that are beside the model; none of results of former versions."""
    return [str(name) for name in result["map"].values] if "map" in result else []


def _covered(at: xr.Dataset, name: str) -> list[str]:
    ends = (100 * at[one].values for one in (name, f"{name}_lower", f"{name}_upper"))
    return [f"{a:.1f} ({b:.1f} to {c:.1f})" for a, b, c in zip(*ends, strict=True)]


def _beside_table(result: xr.Dataset) -> pd.DataFrame:
    names = _maps(result)
    if not names:
        return pd.DataFrame()
    index = pd.Index(result["resolution"].values, name="resolution")
    columns = {"model": result["skill"].values.round(2)}
    columns |= {name: result["beside_skill"].sel(map=name).values.round(2) for name in names}
    columns |= {f"more than {name} (%)": (100 * result["nearer"].sel(map=name).values).round()
                for name in names}
    return pd.DataFrame(columns, index=index)


def _beside(result: xr.Dataset) -> str:
    """Whether the model beats the simple maps inside areas, on truths of its own kind."""
    names, inside = _maps(result), np.flatnonzero(result["inside"].values)
    if not names or not inside.size:
        return ""
    name = finest(result)
    known = result["resolution"].values.tolist()
    place = known.index(name) if name and known.index(name) in inside else int(inside[-1])
    where = "single individuals" if known[place] == "individuals" else f"cells of {known[place]}"
    share = {one: float(result["nearer"].sel(map=one).values[place]) for one in names}
    share = {one: value for one, value in share.items() if np.isfinite(value)}
    if not share:
        return ""
    told = " and ".join(f"than the {one} in {100 * value:.0f} % of truths"
                        for one, value in share.items())
    lost = [one for one, value in share.items() if value <= 0.5]
    advice = f": there the {' and the '.join(lost)} will do" if lost else ""
    return (f"On truths of its own kind its map of {where} is nearer to the truth {told}"
            f"{advice}.")


def _found_again(result: xr.Dataset) -> str:
    """Of a mixture: whether it finds the kind of model that the truth was drawn from."""
    if "candidate" not in result:
        return ""
    most = result["model"].values[result["weight"].values.argmax(1)]
    hit = int((most == result["candidate"].values).sum())
    return (f"The model that a truth was drawn from got the most weight in {hit} of {most.size} "
            "truths.")


def _intervals(result: xr.Dataset) -> str:
    said = []
    for unit in result["unit"].values:
        at = result.sel(unit=unit, level=0.95)
        value, low, high = (100 * float(at[n]) for n in
                            ("coverage", "coverage_lower", "coverage_upper"))
        off = abs(value - 95) >= _MATTERS
        word = ("too narrow" if high < 95 and off else "wider than need be" if low > 95 and off
                else "as they should" if high - low <= _VAGUE else "too few truths to tell")
        said.append(f"of {unit} {value:.1f} % ({low:.1f} to {high:.1f}): {word}")
    return f"95 % intervals cover {'; '.join(said)}."


def _remedy(result: xr.Dataset) -> str:
    """What to do about intervals of individuals that are too narrow, where the cause is known."""
    at = result.sel(unit="individuals", level=0.95)
    if 100 * float(at["coverage_upper"]) >= 95 or 100 * float(at["coverage"]) > 95 - _MATTERS:
        return ""
    true = [json.loads(text) for text in result["true_hyperparameters"].values if text]
    names = {name for one in true for name in one}
    learnt = result["bias"].to_series()
    if learnt.get(_NUGGET, 0.0) < -_SHRUNK:
        value = float(np.median([one[_NUGGET] for one in true]))
        return (f"Totals hardly tell how much individuals differ: {_NUGGET}, {value:.2g} in truth, "
                f"is learnt as {value * np.exp(learnt[_NUGGET]):.2g}. Where you believe a value, "
                f"fix it, as by --fix {_NUGGET}={value:.2g} (in Python hyperparameters="
                f"{{'{_NUGGET}': {value:.2g}}}).")
    if any(name.endswith(".lengthscale") for name in names) and not names & _EFFECTS:
        return ("Without area effect and nugget totals bind more tightly than few inducing inputs "
                "can follow: leave overdispersion and nugget at their defaults, or raise "
                "--inducing until coverage stays as it is.")
    return ""


def _uniform(result: xr.Dataset) -> str:
    p = result["p_value"].to_series().dropna()
    if p.empty:
        return ""
    overall = min(1.0, float(p.min()) * p.size)
    if overall >= _SURE:
        return (f"Ranks of the truth among draws are uniform as far as {result.sizes['truth']} "
                f"truths tell (p = {overall:.2g} over {p.size} tests).")
    surely = p[p * p.size < _SURE].sort_values()
    named = ", ".join(f"{name} (p = {one:.1g})" for name, one in surely.items())
    return f"Ranks of the truth among draws are not uniform: {named}."


def _learnt(result: xr.Dataset) -> str:
    logs = result.isel(hyperparameter=np.flatnonzero(result["on_log"].values.astype(bool)))
    loose = logs["rmse"].to_series()
    loose = loose[loose > _LOOSE].sort_values(ascending=False)
    if loose.empty:
        return ""
    named = ", ".join(f"{name} (by a factor of {_factor(one)})" for name, one in loose.items())
    return f"Do not read much into hyperparameters that are off by more than two: {named}."


def _factor(rmse: float) -> str:
    return f"{np.exp(rmse):.1f}" if rmse < np.log(100) else "100 and more"
