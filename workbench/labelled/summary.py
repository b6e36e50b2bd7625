"""A fit as text: model, hyperparameters with units and priors, slopes, notes."""

from __future__ import annotations

#: What every fit of totals with inputs rests on.
ASSUMED = ("assumed, and not testable by totals: what tells areas apart tells individuals inside "
           "them apart in the same way")
_MOST = 8       # values of one hyperparameter that are shown


def summarise_fit(fit) -> str:
    """Text of `Fit.summary`.

    Parameters
    ----------
    fit : workbench.labelled.Fit
        A labelled fit.
    """
    lines = [repr(fit), f"objective {fit.objective:.3f}, with log priors "
             f"{fit.objective_with_priors:.3f}, after {len(fit.history)} steps, "
             f"{fit.elapsed:.1f} s, {'converged' if fit.converged else 'NOT converged'}", ""]
    lines.append(f"{'hyperparameter':<28}{'value':>24}  {'unit':<16}prior")
    for item in fit.inner.state.hyperparameters:
        report = item.report()
        values = report["value"] if isinstance(report["value"], list) else [report["value"]]
        shown = " ".join(f"{v:.4g}" for v in values[:_MOST])
        if len(values) > _MOST:
            shown += f" … {len(values)} values"
        prior = "fixed" if item.fixed else str(item.prior or "flat")
        lines.append(f"{item.name:<28}{shown:>24}  {report['unit']:<16}{prior}")
    if slopes := fit.known_coefficients():
        lines += ["", f"{'coefficient (per sd)':<28}{'mean':>12}{'std':>12}"]
        lines += [f"{name:<28}{mean:>12.4f}{std:>12.4f}" for name, (mean, std) in slopes.items()]
    if fit.outside_share > 0:
        lines += ["", f"extrapolation: {fit.outside_share:.1%} of the individuals lie outside the "
                  "range of area means in some covariate (variable extrapolation of the map)"]
    if any(term.columns for term in getattr(fit.inner.state.field, "terms", ())):
        lines += ["", ASSUMED]
    if fit.notes:
        lines += ["", *("note: " + note for note in fit.notes)]
    return "\n".join(lines)
