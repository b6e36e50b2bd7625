"""What the user has chosen: parameters only, readable from and written to a URL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qsl

import param

from workbench.pipeline.spec import Spec
from workbench.ui.base import fitted, messages, state
from workbench.ui.base.fitted import PREVIEW, STATUSES
from workbench.ui.base.state import short
from workbench.ui.disaggregate import labels, rules
from workbench.ui.disaggregate.catalogue import (
    BESIDE,
    LEARNT,
    OWN,
    Choice,
    choices,
    map_term,
    nuggets,
    stop_labels,
    variances,
)
from workbench.ui.disaggregate.fitted import UNFITTED, Fitted, read_mixture
from workbench.ui.disaggregate.kinds import KINDS, links_of
from workbench.ui.disaggregate.rules import AUTO, EXACT, FLAT, MODELS
from workbench.ui.disaggregate.stops import Stops

#: Of the way from files to a report, in this order.
STEPS = ("data", "check", "areas", "model", "map", "report")
#: What calibration and scores can be of; the last where areas were merged and predicted.
SCORED = ("finest", "bag", "individual", "rate", "held-out")
#: Texts that a URL may have for choices that are no selection.
_TEXTS = {"summand": re.compile(r"[\w .,+×()-]{0,80}"), "place": re.compile(r"[0-9]{0,9}")}
#: Choices that a fit belongs to: another of them, and nothing is fitted yet.
FIT_CHOICES = ("dataset", "granularity", "model", *rules.OF_ONE)


class State(Stops, state.State):
    """All choices of the disaggregation app; every one is a selection of canonical values.

    What can be chosen depends on the dataset (granularity, kernel, lengthscale, threshold) and
    on model and link (variance); a choice that is no longer offered returns to its default.
    """

    dataset = param.Selector(doc="Data: totals of areas that are to be made fine again.")
    granularity = param.Selector(
        doc="Areas whose totals the model sees: an administrative level, or neighbouring areas "
        "merged until so many are left.")
    model = param.Selector(objects=MODELS, doc="How the fine map is learnt from the totals.")
    link = param.Selector(
        doc="From the Gaussian process f to the rate: exp keeps it positive and multiplies "
        "effects; identity needs the Normal likelihood; logit keeps shares between 0 and 1.")
    likelihood = param.Selector(doc="Distribution of an area's value around its expectation.")
    overdispersion = param.Selector(
        objects={"area effect (recommended)": "area", "none": "none"},
        doc="Real areas vary more than their counts tell: an iid effect of each area takes up "
        "what covariates and map cannot, or else the map overfits.")
    kernel = param.Selector(doc="Terms of the Gaussian process: covariates and map.")
    transform = param.Selector(
        objects={"standardised": "standardise", "power-transformed": "yeo-johnson"},
        doc="What is done to covariates before they are standardised; a power (Yeo-Johnson) makes "
        "skewed ones more even.")
    lengthscale = param.Selector(
        doc="Distance over which the map term changes: learnt, or fixed where you put it.")
    variance = param.Selector(
        doc="Variance of the map term on the scale of the link: learnt, or fixed.")
    nugget = param.Selector(
        doc="Standard deviation of each individual's own random effect, on the scale of the "
        "link: widens fine intervals and leaves totals nearly alone.")
    beside = param.Selector(objects=BESIDE, doc="The map beside the estimate.")
    swipe = param.Selector(
        objects=list(range(101)), default=50,
        doc="Where the divider stands between estimate and population split, in percent.")
    summand = param.String("", doc="Which component of f is beside the estimate; else the first.")
    scored = param.Selector(
        objects=list(SCORED), doc="What calibration and scores are of; finest: what is known that "
        "is finest.")
    scores_as = param.Selector(
        objects={"table": "table", "bars": "bars"}, doc="Scores as a table or as bars.")
    place = param.String("", doc="Number of the individual that is explained; empty for none.")
    step = param.Selector(objects=list(STEPS), default="map", doc="Where on the page one is.")
    threshold = param.Selector(
        doc="The exceedance map shows the probability that the rate is above this.")
    colours = param.Selector(
        objects={"locked to the data": "locked", "autoscale": "auto"},
        doc="Locked: the same value has the same colour in every fit. Autoscale: stretch the "
        "colours over the present maps, for detail.")
    log_colours = param.Boolean(
        False, doc="Equal steps of colour are equal ratios: for rates of which few are high.")
    area_effect = param.Boolean(
        True, doc="On: with the random effect of each area or individual, given the area's total: "
        "nearer to known rates inside the areas. Off: the smooth map that covariates and "
        "neighbours explain, as of an area without a total.")
    rescale = param.Boolean(
        False, doc="Exported maps add up to every area's observed total; those shown do not.")
    status = param.Selector(objects=STATUSES, doc="Whether hyperparameters were learnt.")
    at = param.String("", doc="Hyperparameters of the fit that is shown; sliders come before them.")

    def __init__(self, **given):
        self._choices, self._fits = choices(), {}
        self.param.dataset.objects = {c.title: name for name, c in self._choices.items()}
        self._offered_for = self._kind = None
        super().__init__(dataset=given.pop("dataset", next(iter(self._choices))))
        self._refresh()
        self.choose(given)

    @classmethod
    def names(cls) -> list[str]:
        """The choices, those that others depend on first."""
        first = ["dataset", "model", "link"]
        last = ["status", "at"]
        return first + [n for n in cls.param if n not in (*first, *last, "name")] + last

    @property
    def known(self) -> Mapping[str, Choice]:
        """Every dataset of this session by name."""
        return self._choices

    @property
    def choice(self) -> Choice:
        """What the present dataset offers."""
        return self._choices[self.dataset]

    def add(self, name: str, choice: Choice) -> None:
        """Offer one more dataset in this session, and choose it."""
        self._choices = {**self._choices, name: choice}
        self.param.dataset.objects = {c.title: name for name, c in self._choices.items()}
        self.dataset = name

    @param.depends("dataset", "model", "link", watch=True)
    def _refresh(self) -> None:
        offered = self.choice
        with param.parameterized.batch_call_watchers(self):     # watchers see all or nothing
            self._offer_for(offered)
            link = "identity" if self.model == EXACT else self.link
            unit = "rate²" if link == "identity" else ""
            self.offer("granularity", offered.granularities)
            same = self.dataset == self._offered_for
            self.offer("kernel", offered.kernels_with(self.kernel if same else ""))
            self.offer("beside", offered.beside)
            chosen = [self.lengthscale] if same else []
            self._offer_lengthscales(chosen)
            self.offer("nugget", {"learnt": "learn"} | {
                "none" if sd == 0 else f"{sd:g}": sd for sd in nuggets(offered, link)})
            self.offer("variance", stop_labels(variances(offered, link), unit))
            self._offer_thresholds([self.threshold] if same else [])
            if not same:                            # the same number means nothing elsewhere
                self._offered_for, self.threshold = self.dataset, offered.threshold
                self.place = ""

    def _offer_for(self, choice: Choice) -> None:
        """Offer what goes with the values; of another kind than before, its defaults."""
        kind = choice.kind, choice.negative
        offered = {"link": links_of(*kind), "likelihood": KINDS[choice.kind].likelihoods}
        for name, values in offered.items():
            self.offer(name, values)
            if kind != self._kind:
                setattr(self, name, next(iter(values.values())))
        self._kind = kind

    @property
    def fitted(self) -> Fitted:
        """The fit that is shown, of which `spec` says the rest."""
        return Fitted(self.status, self.at)

    def keep(self, fit: Fitted) -> None:
        """Show a fit of the present settings, now and whenever they are chosen again."""
        self._fits = self._fits | {self._fit_key: fit}
        self._show(fit)

    @property
    def _fit_key(self) -> tuple:
        return tuple(getattr(self, name) for name in FIT_CHOICES)

    def _show(self, fit: Fitted) -> None:
        with self.together():
            self.param.update(status=fit.status, at=fit.at)

    @param.depends(*FIT_CHOICES, watch=True)
    def _other_fit(self) -> None:
        """Of other settings there may be a fit of this session; not that of the former ones."""
        self._show(self._fits.get(self._fit_key, UNFITTED))

    def explore(self, choices: Mapping, fit: Fitted) -> None:
        """Take one model of a mixture for itself, fitted as it is there: one step back."""
        with self.together():
            self.model = choices["model"]
            self.offer("kernel", self.choice.kernels_with(choices["kernel"]))
            self.choose({"lengthscale": LEARNT, "variance": LEARNT} | dict(choices))
            self.keep(fit)

    def read(self, query: str) -> list[str]:
        """As of the base; of own data that this session lacks nothing is taken but the example."""
        named = dict(parse_qsl(query.lstrip("?"))).get("dataset", "")
        if not named.startswith(OWN) or named in self._choices:
            return super().read(query)
        super().read(type(self)().query())
        return [f"dataset={short(named)} ({labels.OWN_GONE})"]

    def _read(self, name: str, text: str) -> list[str]:
        if self._fix(name, text):
            return []
        if name == "kernel":
            self.offer(name, self.choice.kernels_with(text))
        if name in _TEXTS:
            good = _TEXTS[name].fullmatch(text) is not None
            setattr(self, name, text if good else "")
            return [] if good else [f"{name}={short(text)} (ignored)"]
        if name != "at":
            return super()._read(name, text)
        read = read_mixture if self.model == AUTO else fitted.read
        good = read(text) is not None or not text
        self.at = text if good else ""
        return [] if good else [f"at={short(text)} ({messages.NO_HYPERPARAMETERS})"]

    def _settle(self) -> list[str]:
        """What does not go together; what is fitted without hyperparameters is learnt again."""
        problems = []
        for name, instead in (("likelihood", "normal"), ("model", AUTO)):
            wrong = getattr(self, name)
            if wrong in self.impossible(name):
                setattr(self, name, instead)
                problems.append(f"{name}={wrong} ({instead} used)")
        if problems or self.status == PREVIEW:
            self.at = ""
        if self.status == fitted.CANCELLED and not self.at:
            self._show(UNFITTED)
            problems.append(f"status={fitted.CANCELLED} ({PREVIEW} used)")
        return problems

    def fewer(self) -> str:
        """The most areas that neighbours can be merged to from here; empty if none are offered."""
        offered = list(self.param.granularity.names.values())
        after = offered[offered.index(self.granularity) + 1:]
        return max(filter(str.isdigit, after), key=int, default="")

    def inapplicable(self, name: str) -> str:
        """Why a choice has no effect at present; empty if it has."""
        return rules.inapplicable(self, name)

    def impossible(self, name: str) -> dict[str, str]:
        """Values of a choice that cannot work with the others, each with the reason."""
        return rules.impossible(self, name)

    def fixed(self) -> dict[str, float]:
        """Hyperparameters of the map term that a slider fixes, by name, natural units."""
        term = map_term(self.kernel)
        return {f"{term}.{name}": getattr(self, name) for name in ("lengthscale", "variance")
                if getattr(self, name) != LEARNT and not self.inapplicable(name)}

    def spec(self) -> Spec:
        """The choices as a `Spec`, whose JSON runs on the command line too."""
        loader, level, areas = self.choice.options(self.granularity)
        options = {}
        if self.model == AUTO:
            options |= {"effort": "quick", "workers": 1}
        elif self.model != FLAT:
            options["kernel"] = self.kernel
            options |= {"inducing_inputs": "best"} if self.model == "vbagg" else {}  # as auto's
            options |= {} if self.transform == "standardise" else {"transform": self.transform}
        options |= {name: value for name, value in rules.of_noise(self).items()
                    if not self.inapplicable(name)}
        return Spec(
            dataset=self.choice.dataset or self.dataset, dataset_options=loader, level=level,
            areas=areas, model=self.model, options=options, hyperparameters=self.fixed(),
            threshold=float(f"{self.threshold / self.choice.factor:.12g}"),
            area_effect=self.model != FLAT and (
                self.area_effect or bool(self.inapplicable("area_effect"))),
            rescale_to_totals=self.rescale,
        )

    def neighbours(self) -> list[Spec]:
        """Specs at the stops beside that of each slider that fixes something."""
        spec, fixed, found = self.spec(), self.fixed(), []
        for name, value in fixed.items():
            stops = list(self.param[name.split(".")[-1]].names.values())[1:]    # without "learnt"
            here = stops.index(value)
            found += [replace(spec, hyperparameters=fixed | {name: stops[k]})
                      for k in (here + 1, here - 1) if 0 <= k < len(stops)]
        return found
