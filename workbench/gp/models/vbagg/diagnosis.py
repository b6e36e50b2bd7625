"""What tells a failed fit from a good one: nested models, the totals it fits, inducing inputs."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from workbench.checks import ConvergenceWarning, FitWarning, warn, without_warnings
from workbench.gp.data.recurring import recurring_areas
from workbench.gp.kernels.persistent import PERSISTENT
from workbench.gp.models.options import LEAST_INSIDE, MOST_PERSISTENT
from workbench.gp.models.vbagg.flat import flat_objective
from workbench.gp.models.vbagg.persistent import map_field
from workbench.gp.numerics.linalg import FactorisationError

# Nats by which a fit may lie below the flat model: priors keep variances away from zero.
_BELOW = 10.0
_EACH, _MOST = 4, 20_000    # areas for an inducing input, beyond which there may be too few; most
_NOTHING = 1e-8         # of a term's variance, of a term that is as good as left out
# Standard deviations by which half the totals may miss; of a right model it is 0.67.
_MISS = 2.0


def diagnose(fit, source) -> None:
    """Note and warn of a fit that is worse than a model nested in it, or misses its totals.

    Parameters
    ----------
    fit : VariationalFit
        As trained; its history takes the notes, and counts as failed if the flat model explains the
        data better, or, of a kernel of several terms, the same one without one of them.
    source : Source
        What it was fitted to.
    """
    history = fit.history
    _note_few_inducing(fit)
    _note_persistence(fit)
    _note_smooth_inside(fit)
    if history.cancelled or not fit.state.link.positive:
        return
    for nested, objective in _nested(fit, source):
        if fit.objective < objective - _BELOW:
            history.converged, history.failed = False, True
            _tell(history, f"the optimisation failed: the objective, {fit.objective:.1f}, is below "
                  f"that of {nested}, {objective:.1f}, which the model can be; do not use this "
                  "fit. Likely the search ended at a poor optimum, as it does where totals are "
                  "large and their noise is small. Try another seed, overdispersion='area', or "
                  "fixed lengthscales",
                  ConvergenceWarning)
            break
    miss, allowed = _miss(fit)
    if allowed > _MISS:
        _tell(history, f"the fitted totals miss the data by {miss:.1%} in the median, "
              f"{allowed:.1f} standard deviations of what the {fit.state.likelihood.name} "
              "likelihood allows: the totals vary more than it says. Use overdispersion='area' "
              "and nugget='learn'", FitWarning)


def _note_few_inducing(fit) -> None:
    """Say that detail may be lost where many areas share few inducing inputs."""
    state, areas = fit.state, fit.state.source.bags.count
    field = state.field
    most = max((stop - start for term, z, (start, stop) in zip(
        field.terms, field.inducing, field.blocks().values(), strict=True)
        if z is not None and term.name != PERSISTENT), default=areas)
    if most == state.options.inducing and areas > _EACH * most:      # else there are no more places
        kept = ", inducing_inputs='averages'" if state.options.inducing_inputs == "averages" else ""
        fit.history.notes.append(
            f"{most} inducing inputs stand for {areas:,} areas, so that the map may be smoother, "
            "and its intervals narrower, than the totals tell: try "
            f"inducing={min(areas // _EACH, _MOST):,}{kept}, whose cost grows with the square of "
            "their number, or look whether wb.recover prefers it")


def _note_smooth_inside(fit) -> None:
    """Say that places are taken to differ by the smooth map alone, where nobody has chosen that."""
    state, bags = fit.state, fit.state.given.bags
    if (state.likelihood.name == "normal" and fit.model.options.nugget == "auto"
            and "nugget.std" not in state.hyperparameters
            and float(1 / bags.noise_left.median()) >= LEAST_INSIDE):
        fit.history.notes.insert(0, (
            "places inside an area are taken to differ by the smooth map alone (nugget=0), so that "
            "intervals of single places are likely too narrow: wb.Auto() takes what each has of "
            "its own from how areas differ, nugget='learn' learns it, though means tell little"))


def _note_persistence(fit) -> None:
    """Note where areas have no effect that stays though it was asked for, or many recur."""
    asked, state = fit.model.options, fit.state
    if state.options.persistence == "area":
        return
    recurring = recurring_areas(state.given.bags)
    once = not recurring and state.likelihood.effect_in_field(state.given)
    alone = recurring_areas(state.given.bags, once=True) if once else 0
    if alone and state.options.overdispersion == "area":
        fit.history.notes.append(
            f"effects of {alone:,} areas are integrated out and not kept: areas that were surveyed "
            "are predicted as those that were not, with wider intervals than their own trials "
            "give; overdispersion='area' keeps them, in memory that grows with the square of their "
            "number, larger areas take less")
    elif alone and asked.overdispersion == "auto":
        fit.history.notes.append(
            f"{alone:,} areas have no effect of their own, as that takes long: intervals may be "
            "too narrow where areas differ by more than their trials say; overdispersion='area' "
            "adds it, larger areas take less")
    if asked.persistence == "area" and not recurring:
        fit.history.notes.append(
            "persistence='area' changes nothing: no area has values in several periods (labels "
            "'area' and 'period' of bags, as of workbench.bag_polygons with time)")
    elif asked.persistence == "auto" and asked.overdispersion != "none" and (
            recurring > MOST_PERSISTENT):
        fit.history.notes.append(
            f"{recurring:,} areas have values in several periods, but no effect that they keep, "
            "as that takes long: the map may be rougher than it should be; persistence='area' "
            "adds it, larger areas take less")


def _tell(history, text: str, kind: type[Warning]) -> None:
    history.notes.append(text)
    warn(text, kind)


def _nested(fit, source) -> Iterator[tuple[str, float]]:
    """Names and objectives of models nested in a fit; the flat one's where it may be better."""
    flat = flat_objective(fit.model, source, fit.objective + _BELOW)
    if flat is not None:
        yield "a flat map", flat
    free = {item.name for item in fit.state.hyperparameters.free}
    variances = [f"{term.name}.variance" for term in map_field(fit.state).terms]
    for name in variances if len(variances) > 1 else ():
        if name in free:
            value = fit.hyperparameters[name]["value"]
            try:
                with without_warnings():
                    without = fit.with_hyperparameters({name: _NOTHING * value}).objective
            except FactorisationError:
                continue
            yield f"the kernel without its term {name.removesuffix('.variance')}", without


@torch.no_grad()
def _miss(fit) -> tuple[float, float]:
    """Medians over bags of the relative miss of the total, and of it in standard deviations."""
    state = fit.state
    seen = state.trained_data or state.project(state.learning).detach()
    moments, y = fit.moments(seen), state.source.targets.value
    mean, spread = moments.mean, state.likelihood.total_variance(moments)
    if spread is None:
        return 0.0, 0.0
    if moments.effect_variance is not None and not state.link.linear:    # there it is in already
        spread = spread + mean.square() * moments.effect_variance.expm1()
    away = (y - mean).abs()
    return float((away / mean.abs().clamp_min(1e-300)).median()), float(
        (away / spread.sqrt()).median())
