"""The model of a map as a formula and in words, from what the map says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from workbench.reporting import mathml as m

_VARIATIONAL = ("vbagg", "constant", "centre-point", "auto")
_KERNELS = {
    "constant": "a random constant", "linear": "a linear function",
    "rbf": "a very smooth function (squared exponential)",
    "matern12": "a rough function (Matérn 1/2)",
    "matern32": "a moderately smooth function (Matérn 3/2)",
    "matern52": "a smooth function (Matérn 5/2)",
    "rq": "a function of mixed lengthscales (rational quadratic)",
    "periodic": "a periodic function",
}
_SHORT = {"rbf": "RBF", "matern12": "Matérn-1/2", "matern32": "Matérn-3/2", "matern52":
          "Matérn-5/2", "rq": "RQ", "periodic": "Periodic", "constant": "Constant",
          "linear": "Linear"}
_MOST = 6                   # columns that are named
_ROOM = 48                  # characters of names of columns in a formula
_A, _I = m.name("a"), m.name("i")
_RATE, _F, _ETA = (m.below(m.name(one), _I) for one in ("λ", "f", "x"))
_Y, _PARAMETER = m.below(m.name("y"), _A), m.below(m.name("η"), _A)
_EFFECT, _NUGGET = m.below(m.name("u"), _A), m.below(m.name("ε"), _I)
_KEPT = m.below(m.name("v"), _A)


@dataclass(frozen=True)
class Described:
    """A model in words, each sentence of its own, and as lines of MathML."""

    sentences: list[str]
    lines: list[Markup]


def describe(card: dict[str, Any]) -> Described:
    """A model in words and as a formula.

    Parameters
    ----------
    card : dict
        From `workbench.labelled.card.card_of`.

    Returns
    -------
    Described
        Of models that are no Gaussian process of areas, without a formula.
    """
    told = f"{card['model']}: {card['summary']}" if card.get("summary") else card["model"]
    sentences, lines = [f"{told}."], []
    if card.get("candidates"):
        sentences.append("Each candidate is a model of its own; the map is the average of their "
                         "distributions by weight, not of their parameters.")
        weight = m.below(m.name("π"), m.name("k"))
        lines.append(m.equation(
            m.name("p"), m.bracket(_RATE), m.sign("="),
            m.total(m.name("k"), m.row(weight, m.sign("⁢"), m.below(m.name("p"), m.name("k")),
                                       m.bracket(_RATE)))))
    elif card["model"] == "bag-constant":
        sentences.append("Every individual of an area has the area's own rate.")
        lines.append(m.equation(_RATE, m.sign("="), m.fraction(_Y, _weights())))
    elif card.get("terms") and card.get("likelihood") and card["model"] not in (
            "cmp", "s-cmp", "var-cmp", "quasi-likelihood") and not card["model"].startswith("mr-"):
        said, shown = _observed(card)
        sentences += said
        lines += shown
        said, shown = _field(card)
        sentences += said
        lines += shown
    elif card.get("terms"):
        if card["model"].startswith("mr-"):
            sentences.append("Each source observes means or sums of the field over its bags, with "
                             "noise of its own.")
        said, shown = _field(card)
        sentences += said
        lines += shown
    return Described(sentences, lines)


def _weights() -> Markup:
    return m.total(_inside(), m.below(m.name("w"), _I))


def _inside() -> Markup:
    return m.row(_I, m.sign("∈"), _A)


def _observed(card: dict[str, Any]) -> tuple[list[str], list[Markup]]:
    """What is observed of an area, and how it adds up from the individuals."""
    kind, mean = card["likelihood"], card["aggregation"] == "mean" or card.get("rescaled")
    weighted = m.row(m.below(m.name("w"), _I), _RATE)
    adds = m.total(_inside(), weighted)
    if mean or kind == "binomial":
        adds = m.row(m.fraction(m.number(1), _weights()), adds)
    effect = card.get("overdispersion") == "area"
    if effect and card.get("link") in ("exp", "square"):
        adds = m.row(m.above(m.name("e"), _EFFECT), adds)
    y = m.fraction(_Y, _weights()) if card.get("rescaled") else _Y
    distribution = {
        "poisson": m.row(m.word("Poisson"), m.bracket(_PARAMETER)),
        "binomial": m.row(m.word("Binomial"), m.bracket(m.below(m.name("n"), _A), _PARAMETER)),
        "negative-binomial": m.row(m.word("NegativeBinomial"),
                                   m.bracket(m.row(m.word("mean "), _PARAMETER), m.name("r"))),
        "exponential": m.row(m.word("Exponential"), m.bracket(m.row(m.word("mean "), _PARAMETER))),
    }.get(kind, m.row(m.word("Normal"), m.bracket(_PARAMETER, m.both(
        m.name("σ"), _A, m.number(2)))))
    what = {
        "poisson": "The total of an area is a Poisson count around its expected total, the sum of "
                   "weight times rate over its individuals.",
        "binomial": "The positives of an area are binomial out of its trials, with the weighted "
                    "mean of the individuals' probabilities.",
        "negative-binomial": "The total of an area is a negative binomial count around the sum of "
                             "weight times rate over its individuals.",
        "exponential": "The value of an area is exponential around the sum over its individuals.",
    }.get(kind, f"The value of an area is Normal around the {'weighted mean' if mean else 'sum'} "
                "of its individuals." + (" (Totals are divided by the areas' weights first.)"
                                         if card.get("rescaled") else ""))
    sentences, lines = [what], [m.equation(y, m.sign("∼"), distribution, m.sign(","), _PARAMETER,
                                           m.sign("="), adds)]
    if kind == "normal":
        noise = {"constant": "the same σ² for every area",
                 "size": "σ² by the number of individuals: smaller for means of many, larger for "
                         "sums of many",
                 "weight": "σ² inversely to the area's weight",
                 "area": "σ² by the number of individuals, which an area's individuals share",
                 "known": "as given with the data",
                 "fay-herriot": "as given with the data, and τ² for what areas differ by beyond "
                                "the map"}.get(str(card.get("noise")), "")
        sentences += [f"Its noise variance is {noise}."] if noise else []
    return sentences, lines


def _field(card: dict[str, Any]) -> tuple[list[str], list[Markup]]:
    """From the rate to the Gaussian process, its terms and its effects."""
    link = card.get("link") or "identity"
    said = {"exp": "Rates are exponentials of f, so that effects multiply.",
            "square": "Rates are squares of f.", "logit": "Probabilities are logistic in f.",
            "probit": "Probabilities are Φ(f), Φ the normal distribution function.",
            "identity": "Rates are f itself."}.get(link, f"The link is {link}.")
    shown = {"exp": m.above(m.name("e"), _F), "square": m.above(_F, m.number(2)),
             "logit": m.fraction(m.number(1), m.row(m.number(1), m.sign("+"), m.above(
                 m.name("e"), m.row(m.sign("−"), _F)))),
             "probit": m.row(m.name("Φ"), m.bracket(_F))}.get(link, _F)
    terms = card["terms"]
    effect = card.get("overdispersion") == "area"
    nugget = card.get("nugget") == "learn" or (
        isinstance(card.get("nugget"), int | float) and card["nugget"] > 0)
    parts = [m.name("μ")]
    for k, _ in enumerate(terms, 1):
        parts += [m.sign("+"), m.below(m.name("g"), m.number(k)), m.bracket(m.below(
            m.name("x"), _I))]
    if nugget:
        parts += [m.sign("+"), _NUGGET]
    if effect and link not in ("exp", "square"):
        parts += [m.sign("+"), _EFFECT]
    kept = card.get("persistence") == "area"
    parts += [m.sign("+"), _KEPT] if kept else []
    lines = [m.equation(_RATE, m.sign("="), shown, m.sign(","), _F, m.sign("="), *parts)]
    sentences = [said]
    for k, term in enumerate(terms, 1):
        sentences.append(f"g{k} ({term['name']}) is {_kernel(term['name'])} of "
                         f"{_listed(term['columns']) or 'nothing: the same everywhere'}.")
        lines.append(_term(k, term))
    if effect:
        sentences.append("u is an effect of each area, for what its covariates do not explain.")
        lines.append(_normal(_EFFECT, "τ"))
    if kept:
        sentences.append(("v is an effect of each area" if card.get("trials") else
                          "v is an effect that each area keeps in all periods")
                         + ", for what its covariates do not explain.")
        lines.append(_normal(_KEPT, "κ"))
    if nugget:
        sentences.append("ε is an effect of each individual, for what tells it from others with "
                         "the same covariates.")
        lines.append(_normal(_NUGGET, "ν"))
    return sentences, lines


def _normal(what: Markup, std: str) -> Markup:
    return m.equation(what, m.sign("∼"), m.word("Normal"),
                      m.bracket(m.number(0), m.above(m.name(std), m.number(2))))


def _term(k: int, term: dict[str, Any]) -> Markup:
    index, factors = m.number(k), []
    for factor in re.sub(r"_\d+$", "", term["name"]).split("*"):
        factors.append(m.word(" + ".join(_SHORT.get(one, one) for one in factor.split("+"))))
    columns = [m.word(c) for k, c in enumerate(term["columns"])
               if len(", ".join(term["columns"][:k + 1])) <= _ROOM]
    columns += [m.sign("…")] if len(columns) < len(term["columns"]) else []
    kernel = m.row(*(str(m.sign("·")).join(map(str, factors)),))
    inside = [m.row(m.both(m.name("σ"), index, m.number(2)), kernel,
                    m.bracket(*columns) if columns else "")]
    return m.equation(m.below(m.name("g"), index), m.sign("∼"), m.word("GP"),
                      m.bracket(m.number(0), *inside))


def _kernel(name: str) -> str:
    plain = re.sub(r"_\d+$", "", name)
    parts = [_KERNELS.get(one, one) for one in plain.split("*")]
    return parts[0] if len(parts) == 1 else "the product of " + " and ".join(parts)


def _listed(columns: list[str]) -> str:
    shown = [str(c) for c in columns[:_MOST]]
    more = len(columns) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
