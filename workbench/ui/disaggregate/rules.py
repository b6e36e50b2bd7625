"""Which choices go together, and why others have no effect or are not offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.catalogue import TRUTH, Choice, map_term
from workbench.ui.disaggregate.kinds import COUNT, TESTED
from workbench.ui.disaggregate.mixtures import AUTO

if TYPE_CHECKING:
    from workbench.ui.disaggregate.state import State

EXACT, FLAT = "aggregated-gp", "constant"
MODELS = {
    "Auto: several models, weighted by what the areas can test": AUTO,
    "VBAgg: GP on individuals, variational": "vbagg",
    "Aggregated GP: exact, Normal errors": EXACT,
    "Centre-point GP: areas as points": "centre-point",
    "Constant: one flat rate": FLAT,
}
OF_ONE = ("kernel", "transform", "link", "likelihood", "overdispersion", "nugget")
_POSITIVE = ("poisson", "negative-binomial")


def inapplicable(state: State, name: str) -> str:
    """Why a choice has no effect at present; empty if it has."""
    if state.model == AUTO and name in (*OF_ONE, "lengthscale", "variance"):
        return labels.AUTO_ONLY
    if state.model == EXACT and name in ("link", "likelihood", "overdispersion", "nugget"):
        return labels.NORMAL_ONLY
    if state.model == FLAT and name in ("kernel", "transform", "lengthscale", "variance"):
        return labels.FLAT_ONLY
    if state.model == FLAT and name == "area_effect":
        return labels.FLAT_MAP
    if name == "lengthscale" and map_term(state.kernel) == "linear":
        return "regression alone has no lengthscale"
    if name == "nugget" and state.likelihood == "binomial" and state.overdispersion != "area":
        return labels.NO_NUGGET
    if name == "overdispersion" and state.likelihood not in ("poisson", "binomial"):
        return labels.OWN_SD if state.likelihood == "normal" else labels.OVERDISPERSED
    if name == "area_effect" and not _has_effect(state):
        return labels.NO_EFFECT
    return ""


def impossible(state: State, name: str) -> dict[str, str]:
    """Values of a choice that cannot work with the others, each with the reason."""
    if state.model in (AUTO, EXACT) and name in ("link", "likelihood"):
        return {}
    if name == "link" and state.likelihood in _POSITIVE:
        return {"identity": labels.NEEDS_NORMAL}
    if name == "likelihood" and state.link == "identity":
        return dict.fromkeys(_POSITIVE, labels.NEEDS_POSITIVE)
    if name == "beside" and not state.choice.known:
        return {TRUTH: labels.NO_FINE}
    if name == "model":
        reason = _without_exact(state.choice)
        return {EXACT: reason} if reason else {}
    if name == "dataset" and state.model == EXACT:
        reasons = {key: _without_exact(one) for key, one in state.known.items()}
        return {key: reason for key, reason in reasons.items() if reason}
    return {}


def of_noise(state: State) -> dict[str, object]:
    """Options of link and noise, as the models take them."""
    found = {name: getattr(state, name)
             for name in ("link", "likelihood", "overdispersion", "nugget")}
    if state.likelihood == "binomial" and found["overdispersion"] == "area":
        del found["overdispersion"]         # the default, which is none where areas are too many
        if found["nugget"] == "learn":      # the default, too, where areas have individuals
            del found["nugget"]
    if state.model == FLAT and state.choice.kind not in (COUNT, TESTED) and (
            found["nugget"] == "learn"):
        del found["nugget"]                 # it goes by the values, as in `wb.Constant()`
    return found


def _without_exact(choice: Choice) -> str:
    """Why the exact model cannot be had on data; empty if it can."""
    if choice.kind == TESTED:
        return labels.NEEDS_BINOMIAL
    return labels.TOO_MANY if choice.large else ""


def _has_effect(state: State) -> bool:
    """Whether areas or individuals have iid effects, or multipliers, under a positive link."""
    if state.choice.kind not in (COUNT, TESTED):    # others have none that a value could tell
        return False
    if state.model == AUTO:
        return True
    if state.model == EXACT or state.link == "identity" or state.likelihood == "normal":
        return False
    if state.likelihood == "negative-binomial":
        return True
    area = state.overdispersion == "area" and not inapplicable(state, "overdispersion")
    return area or (state.nugget != 0 and not inapplicable(state, "nugget"))
