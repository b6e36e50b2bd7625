"""What the user has chosen: which comparison, of what; a URL carries it all."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

import param

from workbench.ui.base import handover, state
from workbench.ui.compare import own
from workbench.ui.compare.catalogue import (
    AUTO,
    ENGINES,
    INDIVIDUALS,
    RIVALS,
    Data,
    Rival,
    engines_for,
    offered,
    rivals_for,
    tests_for,
)

MODELS, BETWEEN, PAPERS = "models", "engines", "papers"
TABS = {"Models": MODELS, "Engines": BETWEEN, "The papers' tables": PAPERS}
SOURCES = {"Law et al. 2018": "law2018", "Hamelijnck et al. 2019": "hamelijnck2019",
           "Chau et al. 2021": "chau2021", "Shikuri 2025": "shikuri2025",
           "R package disaggregation (Nandi et al. 2023)": "nandi2023"}
BOARD = ("dataset", "test", *RIVALS, "folds", "effort", "seed")
PAIR = ("likelihood", "one", "other", "learnt")


@dataclass(frozen=True)
class Setting:
    """One comparison of models: all that its numbers depend on.

    Parameters
    ----------
    dataset, test, effort : str
    models : tuple of str
        Keys of `RIVALS`, in their order.
    folds, seed : int
    """

    dataset: str = "country"
    test: str = INDIVIDUALS
    models: tuple[str, ...] = tuple(key for key, rival in RIVALS.items() if rival.shown)
    folds: int = 5
    effort: str = "quick"
    seed: int = 0

    @property
    def data(self) -> Data:
        """The dataset as it is offered."""
        return own.data_named(self.dataset)

    @property
    def rivals(self) -> dict[str, Rival]:
        """The models by key."""
        return {key: RIVALS[key] for key in self.models}

    @property
    def choices(self) -> dict:
        """The choices of a state that ask for it."""
        return {"dataset": self.dataset, "test": self.test, "folds": self.folds,
                "effort": self.effort, "seed": self.seed} | {
                    key: key in self.models for key in RIVALS}


@dataclass(frozen=True)
class Pair:
    """Two engines on one small problem.

    Parameters
    ----------
    likelihood : {"poisson", "normal"}
    one, other : str
        Of `ENGINES`.
    learnt : bool
        Whether each engine has hyperparameters of its own.
    """

    likelihood: str = "poisson"
    one: str = "vi"
    other: str = "nuts"
    learnt: bool = False


class State(state.State):
    """All choices of the app."""

    tab = param.Selector(objects=TABS, doc="What is set side by side.")
    dataset = param.Selector(doc="A dataset that is loaded by name.")
    test = param.Selector(doc="What the models have to predict that was withheld.")
    score = param.Selector(doc="Whose difference from the simple map is drawn, with its 95 % "
                               "interval.")
    glm, classes, kriging, auto, vbagg, flexible, centre, nystrom, pixel, own = (
        param.Boolean(rival.shown, doc=rival.doc) for rival in RIVALS.values())
    folds = param.Selector(objects=[3, 5, 10], default=5,
                           doc="Parts that the areas are cut into; each is held out once.")
    effort = param.Selector(objects=["quick", "normal"],
                            doc="Of the model auto: five candidate models, or eight.")
    seed = param.Selector(objects=list(range(10)), doc="Of folds, groups and draws.")
    likelihood = param.Selector(objects={"counts, Poisson": "poisson", "counts, Normal": "normal"},
                                doc="Of the totals of twenty small areas.")
    one = param.Selector(doc="How the first posterior is computed.")
    other = param.Selector(doc="How the second posterior is computed.")
    learnt = param.Selector(
        objects={"fixed at those of the variational fit": False, "each engine's own": True},
        default=False, doc="Whether engines answer with the same hyperparameters.")
    paper = param.Selector(objects=SOURCES, doc="Whose numbers stand on the left.")

    def __init__(self, **given):
        self.param.dataset.objects = {data.title: key for key, data in offered().items()}
        super().__init__(dataset=next(iter(offered())))
        if own.is_taken(given.get("dataset", "")):
            self._adopt(given["dataset"])
        self._offer()
        self._offer_engines()
        self.choose(given)

    @param.depends("dataset", watch=True)
    def _offer(self) -> None:
        self.offer("test", tests_for(self.data))
        self.offer("score", self.data.scores)

    @param.depends("likelihood", watch=True)
    def _offer_engines(self) -> None:
        here = engines_for(self.likelihood)
        named = {label: key for label, key in ENGINES.items() if key in here}
        self.offer("one", named, "vi")
        self.offer("other", named, here[-1])

    @property
    def data(self) -> Data:
        """The present dataset."""
        return own.data_named(self.dataset)

    @property
    def handed(self) -> list[str]:
        """Names of data of one's own that this session has."""
        return [name for name in self.param.dataset.names.values() if own.is_taken(name)]

    def read(self, query: str) -> list[str]:
        """Take choices from a URL, and data that were handed over under the name that it gives."""
        asked = dict(parse_qsl(query.lstrip("?"))).get("dataset", "")
        if asked.startswith(handover.PREFIX) and own.take(asked) is not None:
            self._adopt(asked)
        return super().read(query)

    def _adopt(self, name: str) -> None:
        self.param.dataset.objects = {**self.param.dataset.names, own.data_named(name).title: name}

    @property
    def setting(self) -> Setting:
        """The comparison that is asked for: models that the dataset does not allow are left out."""
        models = tuple(key for key in rivals_for(self.data) if getattr(self, key))
        return Setting(self.dataset, self.test, models,
                       self.folds if self.needs_folds else Setting.folds,
                       self.effort if AUTO in models else Setting.effort, self.seed)

    @property
    def needs_folds(self) -> bool:
        """Whether the test holds areas out in parts."""
        return self.test in ("random", "blocks")

    @property
    def pair(self) -> Pair:
        """The engines that are asked for."""
        return Pair(self.likelihood, self.one, self.other, self.learnt)

    def inapplicable(self, name: str) -> str:
        """Why a choice has no effect at present; empty if it has."""
        if name in RIVALS and name not in rivals_for(self.data):
            return "not for this dataset"
        if name == "folds" and not self.needs_folds:
            return "no areas are held out"
        if name == "effort" and not self.auto:
            return "auto is not compared"
        return ""
