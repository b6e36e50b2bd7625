"""The verdict of a comparison: which model to use, on what evidence, in plain sentences.

In each test a model must be better than the simple map by more than chance (the 95 % interval of
the paired difference excludes zero); the best of those is used, else the simple map. Fine truth
decides where there is one, else coarsen and recover, the user's own change of support, else areas
held out at random, else whatever test there is. Between models that it does not tell apart the next
test decides that does. Where other tests say otherwise it is said.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

from workbench.comparison.tests import DECIDES, INDIVIDUALS, RECOVERED, independent
from workbench.evaluation.evidence import width


@dataclasses.dataclass(frozen=True)
class Standing:
    """What one test says."""

    test: str
    use: str
    best: str               # by the mean score alone
    tied: tuple[str, ...]   # within error of the one to use


def standing(data: xr.Dataset, test: str) -> Standing | None:
    """What a test of a `Comparison` says by itself, or None if it has no scores of two models."""
    main, base = data.attrs["headline"], data.attrs["baseline"]
    at = data.sel(test=test, score=main)
    ranked = at["scores"].to_series().dropna().sort_values()
    if ranked.size < 2:
        return None
    names = list(ranked.index)
    use = names[0]
    if base in names:
        surely = [n for n in names if float(at["upper"].sel(model=n, other=base)) < 0]
        use = surely[0] if surely else base
    lower = at["lower"].sel(other=use).to_series()
    tied = [n for n in names if n != use and not lower[n] > 0]
    return Standing(test, use, names[0], tuple(tied))


def verdict(data: xr.Dataset) -> tuple[str, str]:
    """Name of the model to use (empty if nothing can be said), and the sentences.

    Parameters
    ----------
    data : xr.Dataset
        Of a `Comparison`.

    Returns
    -------
    use : str
        Name of the model.
    sentences : str
        Why.
    """
    found = {str(t): standing(data, str(t)) for t in data["test"].values}
    found = {test: one for test, one in found.items() if one is not None}
    order = [t for t in DECIDES if t in found] + [t for t in found if t not in DECIDES]
    if not order:
        return "", ("No test has scores of two models, so that nothing can be compared; the notes "
                    "say why.")
    first, settled = _settled(data, [found[test] for test in order])
    said = [_use(data, first), settled, _evidence(data, first.test), _coverage(data, first)]
    said += [_agreement(data, first, [found[t] for t in order[1:]]), _by_map(data, first)]
    return first.use, " ".join(filter(None, said))


def _settled(data: xr.Dataset, found: list[Standing]) -> tuple[Standing, str]:
    """What the first test says, its tie broken by the next test that does, and that in words."""
    first, *others = found
    main, base = data.attrs["headline"], data.attrs["baseline"]
    if first.use == base:
        return first, ""

    def surely(test: str, worse: str, better: str) -> bool:
        at = data["lower"].sel(test=test, score=main, model=worse, other=better)
        return bool(float(at) > 0)

    there = base in data["model"].values
    alike = [name for name in first.tied
             if name != base and (not there or surely(first.test, base, name))]
    for one in others:
        if one.use in alike and surely(one.test, first.use, one.use):
            tied = [n for n in (first.use, *first.tied)
                    if n != one.use and not surely(first.test, n, one.use)]
            phrase = str(data["phrase"].sel(test=one.test).item())
            return (dataclasses.replace(first, use=one.use, tied=tuple(tied)),
                    f"Between it and {first.use} {phrase} decide: there {first.use} is worse "
                    f"({interval(data, one.test, first.use, one.use, main)}).")
        alike = [name for name in alike if not surely(one.test, name, first.use)]
    return first, ""


def interval(data: xr.Dataset, test: str, model: str, other: str, score: str) -> str:
    """A paired difference and its 95 % interval, in figures.

    Parameters
    ----------
    data : xr.Dataset
        Of a `Comparison`.
    test, model, other, score : str
        Which difference.

    Returns
    -------
    str
        Such as "-0.3, 95 % interval -0.5 to -0.1".
    """
    one = data.sel(test=test, model=model, other=other, score=score)
    middle, low, high = (float(one[name]) for name in ("difference", "lower", "upper"))
    if not np.isfinite(low):
        return f"{middle:+.2g}, interval unknown"
    digits = max(0, 1 - int(np.floor(np.log10(max(high - low, 1e-12)))))
    low, middle, high = (f"{v:+,.{digits}f}".replace("-", "−") for v in (low, middle, high))
    return f"{middle}, 95 % interval {low} to {high}"


def _use(data: xr.Dataset, one: Standing) -> str:
    main, base = data.attrs["headline"], data.attrs["baseline"]
    at = data.sel(test=one.test)
    title = str(data["score_title"].sel(score=main).item())
    score = {str(n): float(v) for n, v in at["scores"].sel(score=main).to_series().items()}
    where = f"for {at['phrase'].item()}"
    gap = interval(data, one.test, one.best, base, main) if np.isfinite(score.get(base, np.nan)
                                                                        ) else ""
    if one.use != base:
        text = f"Use {one.use}: {where} its {title} is {score[one.use]:.3g}"
        if gap:
            text += (f", the {base}'s {score[base]:.3g} ("
                     f"{interval(data, one.test, one.use, base, main)}).")
        else:
            text += f", the best; the {base} has no scores."
    elif one.best == base:
        second = min((n for n in score if n != base and np.isfinite(score[n])), key=score.get)
        text = (f"Use the {base}, the simple map: {where} no model has a better {title} "
                f"({score[base]:.3g}; next is {second}, "
                f"{interval(data, one.test, second, base, main)}).")
    else:
        text = (f"Use the {base}, the simple map: {where} {one.best} has a better {title} "
                f"({score[one.best]:.3g} against {score[base]:.3g}), but by no more than chance "
                f"({gap}), and no other model is clearly better.")
    others = [n for n in one.tied if n not in (one.best, base)] if one.use == base else list(
        one.tied)
    if others:
        text += f" The difference of {_listed(others)} from it is within error."
    return text


def _evidence(data: xr.Dataset, test: str) -> str:
    at = data.sel(test=test)
    units, clusters = int(at["units"]), float(at["clusters"])
    if test == INDIVIDUALS:
        return (f"This rests on the fine truth: {units:,} individuals of {clusters:,.0f} areas, "
                "given the areas' totals.")
    if test == RECOVERED:
        return (f"This rests on the {units:,} areas themselves, merged into some {clusters:.0f} "
                "groups and found again from the groups' totals; nothing below the areas was seen.")
    return (f"This rests on {units:,} areas held out alone, which does not test the inside of "
            "areas.")


def _coverage(data: xr.Dataset, one: Standing) -> str:
    share = float(data["scores"].sel(test=one.test, model=one.use, score="coverage_95"))
    if not np.isfinite(share):
        return ""
    said = {"narrow": ": they are too narrow", "wide": ": they are wider than need be"}.get(
        width(share, independent(data, one.test)), "")
    return f"Its 95 % intervals cover {100 * share:.0f} % there{said}."


def _agreement(data: xr.Dataset, first: Standing, others: list[Standing]) -> str:
    agree, unsure, said = [], [], []
    main, base = data.attrs["headline"], data.attrs["baseline"]
    ours = f"the {first.use}" if first.use == base else first.use
    for one in others:
        phrase = str(data["phrase"].sel(test=one.test).item())
        if one.use == first.use:
            agree.append(phrase)
            continue
        at = data.sel(test=one.test, score=main, model=first.use, other=one.use)
        if np.isnan(float(at["difference"])):
            said.append(f"{ours[0].upper()}{ours[1:]} has no scores for {phrase}.")
        elif float(at["lower"]) <= 0 or np.isnan(float(at["lower"])):
            unsure.append(phrase)
        else:
            word, gap = "And" if said else "But", interval(
                data, one.test, first.use, one.use, main)
            theirs = f"the {one.use}" if one.use == base else one.use
            said.append(f"{word} {phrase} speak for {theirs}: there {ours} is worse than it "
                        f"({gap}).")
    text = [f"The same holds for {_listed(agree)}."] if agree else []
    text += [f"For {_listed(unsure)} the models to choose from differ by no more than chance."
             ] if unsure else []
    return " ".join(text + said)


def _by_map(data: xr.Dataset, one: Standing) -> str:
    """Whether the point map alone would have another model."""
    if "deviance" not in data["score"].values:
        return ""
    at = data.sel(test=one.test, score="deviance")
    ranked = at["scores"].to_series().dropna().sort_values()
    if ranked.size < 2 or one.use not in ranked:
        return ""
    best, base = str(ranked.index[0]), data.attrs["baseline"]
    if np.isinf(ranked[one.use]):       # no interval, and no doubt either
        return ("Its point map expects no cases, or fewer than none, where some were counted, so "
                "that its deviance is infinite" + (
                    f"; by that of the point map alone {best} is ahead ({ranked.iloc[0]:,.4g})."
                    if np.isfinite(ranked.iloc[0]) else "."))
    if one.use != base and base in ranked and not float(
            at["upper"].sel(model=one.use, other=base)) < 0:
        return (f"Its point map alone is not clearly better than that of the {base} (deviance "
                f"{ranked[one.use]:,.4g} against {ranked[base]:,.4g}, "
                f"{interval(data, one.test, one.use, base, 'deviance')}): what it clearly gains is "
                "in its intervals.")
    if best == one.use:
        return ""
    sure = float(at["lower"].sel(model=one.use, other=best)) > 0
    return (f"By the deviance of the point map alone {best} is ahead ({ranked.iloc[0]:,.4g} "
            f"against {ranked[one.use]:,.4g}{'' if sure else ', within error'}).")


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
