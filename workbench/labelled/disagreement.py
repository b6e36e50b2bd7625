"""What to say of sources that a model takes to measure the same, and that do not."""

from __future__ import annotations

from workbench.checks import warn
from workbench.gp.models.several_sources.agreement import (
    LEVEL,
    SLOPE,
    Disagreement,
    disagreements,
)
from workbench.gp.models.several_sources.coefficient import CLEAR
from workbench.labelled.several import SourcesFit

#: How the note begins that says of a fit that its sources disagree.
DISAGREE = "sources disagree where they overlap"


def warn_of_disagreement(fit: SourcesFit) -> None:
    """Warn, and note, where sources of one task clearly differ in what they say of common places.

    Parameters
    ----------
    fit : SourcesFit
        A fit; of models that learn a map between sources there is nothing to say.
    """
    if not fit.inner.model.same_quantity:
        return
    state = fit.inner.state
    links = {source.name: one.link.name for source, one in zip(
        state.given, getattr(state, "states", ()), strict=False)}
    for found in disagreements(state.given, links):
        sentence = told(found, fit._units_of(None, found.finer))
        fit.inner.history.notes.append(sentence)
        warn(sentence)


def told(found: Disagreement, units: str) -> str:
    """A disagreement in words, with its size in data units and what can be done.

    Parameters
    ----------
    found : Disagreement
        Of two sources.
    units : str
        Of their values, empty if they are not known.
    """
    units, said = f" {units}" if units else "", []
    if found.of_level:
        where = "above" if found.level > 0 else "below"
        said.append(f"lies {abs(found.level):.3g}{units} {where} {found.coarser!r} in the mean "
                    f"(standard error {found.level_error:.2g})")
    if found.of_slope:
        said.append(f"changes by {found.slope:.3g} where {found.coarser!r} changes by one "
                    f"(standard error {found.slope_error:.2g})")
    return (
        f"{DISAGREE}: {found.finer!r} {' and '.join(said)}, at {found.pairs} observations of "
        f"{found.coarser!r}. This model takes them to measure the same, so its map may be off by "
        "as much, and trust= weakens a source but corrects no bias. Use wb.MRDGP (mr-dgp), which "
        "learns how one source follows from another; or name a task of its own for one of them "
        "(value.attrs['task']), which wb.MRGPRN (mr-gprn) relates to the first; or leave one out. "
        f"(Said from {CLEAR:.0f} standard errors on, more where places are few, and {LEVEL:.0%} of "
        f"the values' spread or {SLOPE:.0%} of the change.)")
