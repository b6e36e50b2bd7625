"""A fitted `Auto`: the mixture with labels, its candidates, and why they weigh what they weigh."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from workbench.checks import choose, require
from workbench.gp.models.keeping import Kept
from workbench.gp.models.vbagg.mixture import MixtureFit
from workbench.gp.optimisation.training import History
from workbench.labelled.about_values import about_values
from workbench.labelled.card import card_of
from workbench.labelled.fit import Fit
from workbench.labelled.saving import options_of
from workbench.labelled.source import Converted
from workbench.labelled.summary import ASSUMED
from workbench.labelled.verdict import covered_share, standing
from workbench.labelled.weighing import GIVEN

_WORTH = 0.05           # weight from which a candidate is worth a word


class AutoFit(Fit):
    """A mixture of fitted models; answers as any `Fit` does.

    Parameters
    ----------
    inner : MixtureFit
        The mixture in torch.
    model : Auto
        What was fitted.
    data : Converted
        What it was fitted to.
    candidates, recovery, verdict
        See the attributes.
    says : dict of str to str
        What the rate of each candidate depends on, in words.

    Attributes
    ----------
    candidates : dict of str to Fit
        Every candidate's own fit.
    weights : xr.DataArray (model,)
        Weights of the candidates, which sum to one.
    recovery : xr.Dataset or None
        What the weights rest on: scores (model, grouping) of the candidates, of the mixture, and
        of two simple maps, each predicting the known areas from totals of merged areas.
    verdict : str
        The mixture beside the simple maps, in words.
    """

    def __init__(self, inner: MixtureFit, model, data: Converted, candidates: dict[str, Fit],
                 recovery: xr.Dataset | None, verdict: str, says: dict[str, str]):
        self.candidates, self.recovery, self.verdict = candidates, recovery, verdict
        self._says = says
        self.weights = xr.DataArray(
            [inner.weight_of[name] for name in candidates], dims="model", name="weight",
            coords={"model": list(candidates)}, attrs={"long_name": "weight in the mixture"})
        super().__init__(inner, model, data)

    @classmethod
    def recalled(cls, model, candidate: Callable, datasets: Mapping[str, xr.Dataset],
                 facts: Mapping, kept: Kept) -> AutoFit:
        """The mixture that was kept, without training.

        Parameters
        ----------
        model : Auto
            What was fitted.
        candidate : callable
            Makes a candidate's model of its options.
        datasets : mapping of str to xr.Dataset
            Its data, and scores of its candidates.
        facts : mapping
            Options of the candidates, what they are in words, and the verdict.
        kept : Kept
            The mixture in torch.

        Returns
        -------
        AutoFit
            With its candidates.
        """
        data, fits = Converted(datasets["data"]), {}
        source = data.source()
        for name, options in facts["candidates"].items():
            own = candidate(**{**options, "device": model.options.device})
            fits[name] = Fit(own._inner.recall(source, kept.parts[name]), own, data)
        inner = MixtureFit({name: fit.inner for name, fit in fits.items()}, kept.facts["weights"])
        inner.history = History(**kept.facts["history"])
        return cls(inner, model, data, fits, datasets.get("recovery"), facts["verdict"],
                   facts["says"])

    def conditioned(self, hyperparameters: Mapping) -> AutoFit:
        """The mixture at given weights and hyperparameters, with what its own weights rest on.

        Every posterior is found as exactly as by ``Auto.condition``, so that both give the same
        map to the same digits; training, test and verdict stay those of this fit.

        Parameters
        ----------
        hyperparameters : mapping
            As of ``Auto.condition``; candidates that are not named have no weight.

        Returns
        -------
        AutoFit
            Candidates that are not named are as they were.

        Raises
        ------
        InputError
            If none is named, or one that is no candidate of this fit.
        """
        require(bool(hyperparameters), "expected weights and hyperparameters of a candidate")
        fits, total = dict(self.candidates), sum(
            one["weight"] for one in hyperparameters.values())
        weights = dict.fromkeys(fits, 0.0)
        for name, given in hyperparameters.items():
            own = fits[choose("candidate", name, fits)]
            fits[name] = own.model.condition(self.data, given["hyperparameters"])
            fits[name].inner.history = own.inner.history
            weights[name] = given["weight"] / total
        inner = MixtureFit({name: fit.inner for name, fit in fits.items()}, weights)
        inner.history = self.inner.history
        return type(self)(inner, self.model, Converted(self.data), fits, self.recovery,
                          self.verdict, self._says)

    def _parts(self) -> dict[str, xr.Dataset]:
        return super()._parts() | ({} if self.recovery is None else {"recovery": self.recovery})

    def _facts(self) -> dict:
        return {"candidates": {name: options_of(fit.model) for name, fit in
                               self.candidates.items()},
                "says": self._says, "verdict": self.verdict}

    @property
    def converged(self) -> bool:
        """Whether every candidate of some weight converged."""
        return all(fit.converged for name, fit in self.candidates.items()
                   if self.inner.weight_of[name] >= _WORTH)

    def _members(self) -> dict[Fit, float]:
        return {fit: self.inner.weight_of[name] for name, fit in self.candidates.items()}

    def _beyond(self, data: Converted) -> xr.DataArray:
        parts = [float(weight) * self.candidates[str(name)].extrapolation(data)
                 for name, weight in zip(self.weights["model"].values, self.weights.values,
                                         strict=True) if weight > 0]
        return sum(parts[1:], parts[0])

    @property
    def covariates_used(self) -> list[str]:
        """Names of the covariates that candidates of some weight look at."""
        used = {name for fit, weight in self._members().items() if weight > 0
                for name in fit.covariates_used}
        return [str(name) for name in self.data["covariate"].values if str(name) in used]

    def summary(self) -> str:
        """The candidates with weights and scores, and the verdict.

        Returns
        -------
        str
            Text of several lines.
        """
        name_width = max(len(name) for name in self.candidates)
        lines = [repr(self), f"{len(self.candidates)} models, {self.elapsed:.1f} s, "
                 f"{'converged' if self.converged else 'NOT converged'}", ""]
        head = f"{'model':<{name_width}}  weight"
        if self.recovery is not None:
            head += f"{'recovery error':>16}"
        lines.append(head + "  the rate depends on")
        order = sorted(self.candidates, key=lambda name: -self.inner.weight_of[name])
        for name in order:
            row = f"{name:<{name_width}}  {self.inner.weight_of[name]:6.3f}"
            if self.recovery is not None:
                error = float(self.recovery["error"].sel(model=name).mean())
                row += f"{error:>16.4g}"
            lines.append(f"{row}  {self._says[name]}")
        if self.recovery is not None:
            for name in self.recovery["model"].values:
                if name not in self.candidates:
                    error = float(self.recovery["error"].sel(model=name).mean())
                    lines.append(f"{name!s:<{name_width}}        {error:>16.4g}")
            lines += ["", f"recovery error: {self.recovery['error'].attrs['long_name']}; the "
                      "mixture's is on the areas that its weights were chosen on"]
        lines += ["", self.verdict]
        if self.verdict != GIVEN:
            lines += about_values(self)
        if self.outside_share > 0:
            lines += ["", f"extrapolation: {self.outside_share:.1%} of the individuals lie outside "
                      "the range of area means in some covariate that a candidate of some weight "
                      "looks at (variable extrapolation of the map)"]
        if any(weight > 0 for name, weight in self.inner.weight_of.items() if name != "flat"):
            lines += ["", ASSUMED]
        if self.notes:
            lines += ["", *("note: " + note for note in self.notes)]
        return "\n".join(lines)

    def _card(self) -> dict:
        """Its own, with the cards, weights and recovery errors of its candidates.

        ``weighed`` says by what: "recovered" areas, "given" weights or "untested"; ``as_good``
        names the simple maps that recovered areas better, by more than chance, and
        ``not_surely_worse`` those whose difference is within error. ``recovery_coverage`` is the
        share of those areas in the mixture's 95 % intervals, None where it is not known.
        """
        errors = {} if self.recovery is None else {
            str(name): float(error) for name, error in zip(
                self.recovery["model"].values, self.recovery["error"].mean("grouping").values,
                strict=True) if np.isfinite(error)}
        better, *unsure = ([],) if self.recovery is None else standing(self.recovery)[1:]
        tested = "recovered" if self.recovery is not None else (
            "given" if self.verdict == GIVEN else "untested")
        share = float("nan") if self.recovery is None else covered_share(self.recovery)
        return {**card_of(self), "verdict": self.verdict, "recovery_errors": errors,
                "recovery_coverage": share if np.isfinite(share) else None,
                "weighed": tested, "as_good": better, "not_surely_worse": sum(unsure, []),
                "converged": self.converged, "candidates": [
                    {**card_of(fit), "name": name, "weight": float(self.inner.weight_of[name]),
                     "says": self._says[name]} for name, fit in self.candidates.items()]}

    def provenance(self) -> dict[str, str]:
        """As of `Fit.provenance`, with the weights and the verdict.

        Returns
        -------
        dict of str to str
            By name of the attribute.
        """
        weights = {str(name): round(float(weight), 6) for name, weight in zip(
            self.weights["model"].values, np.asarray(self.weights), strict=True)}
        return {**super().provenance(), "weights": json.dumps(weights), "verdict": self.verdict}
