"""What the user has chosen: selections of canonical values, and a URL that carries them all."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

import numpy as np
import param

from workbench.checks import require
from workbench.ui.base import state
from workbench.ui.base.state import as_text, named
from workbench.ui.sources import designs, line, messages
from workbench.ui.sources.designs import Design
from workbench.ui.sources.presets import NARROW, PRESETS, WIDE

LINE, CITY = "line", "city"
SPANS = {"−2 to 15": NARROW, "−10 to 20": WIDE}
KERNELS = {"RBF": "rbf", "Matérn 5/2": "matern52", "Matérn 3/2": "matern32"}
SET, KERNEL, ALL = "set", "kernel", "all"
HYPER = {"from the sliders; true noise": SET, "kernel fitted; true noise": KERNEL,
         "kernel and noise fitted": ALL}
LENGTHS = [0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 2.0, 2.8, 4.0,
           5.6, 8.0]
SPREADS = [0.5, 0.7, 1.0, 1.4, 2.0, 2.6, 3.2, 3.8, 4.5, 6.0, 8.0]
WEIGHTS = [round(0.05 + 0.01 * k, 2) for k in range(146)]
MODELS = {title: name for name, title in messages.MODELS.items()}
LEARNT = 0.0            # a lengthscale that is fitted
REACHES = {"fitted": LEARNT} | named([2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0], "{} km")
CELLS = named([7.0, 3.5, 1.75], "{} km")
CITY_KERNELS = {"Matérn 3/2": "matern32", "Matérn 1/2": "matern12", "Matérn 5/2": "matern52",
                "RBF": "rbf"}
SOURCES = ("stations", "satellite")
SCOPES = {"quick: 16 stations, 2 × 24 h": "quick", "paper's size: 30 stations, 2 × 36 h": "paper"}
STATIONS, HOURS = {"quick": 16, "paper": 30}, {"quick": 24, "paper": 36}
SHOWN = {"mean": "mean", "95 % width": "width", "error": "error", "satellite": "satellite"}
_START = PRESETS[0].setting


@dataclass(frozen=True)
class CityKey:
    """What a model of the city depends on.

    Parameters
    ----------
    city, stations, hours : int
        Draw of the city, number of stations, hours of each half.
    cell : float
        Side of the satellite's cells in km.
    seen : tuple of str
        Sources that it learns from.
    model, kernel : str
        Of `MODELS` and `CITY_KERNELS`.
    reach : float
        Lengthscale over place in km that is fixed; `LEARNT` if it is fitted.
    """

    city: int
    stations: int
    hours: int
    cell: float
    seen: tuple[str, ...]
    model: str
    kernel: str
    reach: float

    @property
    def place(self) -> tuple[int, int, int, float]:
        """What the city and its readings depend on: the arguments of `city.city`."""
        return self.city, self.stations, self.hours, self.cell

    @property
    def world(self) -> tuple[int, int, int]:
        """What scores can be compared within: the truth and the stations."""
        return self.place[:3]


class State(state.State):
    """All choices of the app."""

    tab = param.Selector(objects={"One dimension": LINE, "A city": CITY},
                         doc="Which world is shown.")
    span = param.Selector(objects=SPANS, doc="Ends of the line.")
    truth = param.Selector(objects={title: name for name, (title, _) in line.FUNCTIONS.items()}
                           | {"drawn by hand": line.DRAWN}, doc="The function behind all sources.")
    drawn = param.String("", doc="Values of the function that is drawn, from left to right.")
    draw = param.Selector(objects=list(range(20)), doc="Seed of the noise.")
    sources = param.String(_START["sources"], doc="All sources on the line.")
    chosen = param.Selector(objects=list(range(1, designs.MOST + 1)),
                            doc="The source that the sliders below change.")
    kernel = param.Selector(objects=KERNELS, doc="Covariance function of f.")
    hyper = param.Selector(objects=HYPER, doc="Where hyperparameters come from: the sliders, or a "
                           "fit to the product likelihood of all sources.")
    lengthscale = param.Selector(objects=named(LENGTHS), default=1.1,
                                 doc="Distance in x over which the correlation falls.")
    spread = param.Selector(objects=named(SPREADS), default=3.2,
                            doc="Prior standard deviation of the function.")
    weight = param.Selector(objects=named(WEIGHTS), default=0.5,
                            doc="Power φ of all likelihoods in the composite posterior; 1 is the "
                                "product likelihood.")
    experts = param.Boolean(False, doc="Fit a mixture of deep GPs (MR-DGP) as well, in the "
                                       "background.")
    city = param.Selector(objects=list(range(10)), doc="Another city, weather and network for "
                                                       "every draw.")
    scope = param.Selector(objects=SCOPES, doc="Size of the task: a fit takes seconds or minutes.")
    stations = param.Boolean(True, doc="Fit to the stations' readings of the first half.")
    satellite = param.Boolean(True, doc="Fit to the satellite's cells, in both halves; they report "
                                        "about 6 + 0.6 NO₂.")
    side = param.Selector(objects=CELLS, doc="Granularity: side of the cells over which the "
                                             "satellite reports means.")
    model = param.Selector(objects=MODELS, default="dgp", doc="How the sources are combined.")
    city_kernel = param.Selector(
        objects=CITY_KERNELS, doc="Covariance function: a term on time and covariates plus a term "
                                  "on place.")
    reach = param.Selector(objects=REACHES, doc="Lengthscale over place: fitted, or fixed to a "
                                                "value.")
    hour = param.Selector(objects=list(range(48)), default=8,
                          doc="Hours since midnight of 19 February 2019.")
    shown = param.Selector(objects=SHOWN, doc="What the left map shows.")
    cells = param.Boolean(False, doc="Outline the satellite's cells.")
    station = param.Selector(doc="The station whose time series is shown.")

    def __init__(self, **given):
        super().__init__()
        self._offer()
        self.param.watch(self._keep_one, list(SOURCES))
        self.choose(given)

    @param.depends("scope", watch=True)
    def _offer(self) -> None:
        self.offer("station", [f"S{k + 1:02d}" for k in range(STATIONS[self.scope])])
        self.offer("hour", list(range(2 * HOURS[self.scope])), self.param.hour.default)

    @param.depends("span", watch=True)
    def _move_in(self) -> None:
        """Sources may not lie outside the line."""
        if designs.read(self.sources, self.ends) is None:
            self.edit(tuple(d.placed(d.low, d.high, self.ends) for d in self._parsed()))

    def _keep_one(self, *events) -> None:
        if not self.seen:
            setattr(self, events[-1].name, True)

    # what the choices mean

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the line."""
        low, high = self.span.split("_")
        return float(low), float(high)

    @property
    def designs(self) -> tuple[Design, ...]:
        """The sources on the line."""
        return designs.read(self.sources, self.ends) or self._parsed()

    def _parsed(self) -> tuple[Design, ...]:
        return designs.read(self.sources, (-np.inf, np.inf))

    @property
    def design(self) -> Design:
        """The source that is chosen."""
        return self.designs[self.chosen - 1]

    @property
    def data_key(self) -> tuple:
        """What the line's data depend on: the arguments of `line.make`."""
        drawn = self.drawn if self.truth == line.DRAWN else ""
        return self.ends, self.truth, drawn, self.designs, self.draw

    @property
    def seen(self) -> tuple[str, ...]:
        """Sources of the city that models see."""
        return tuple(name for name in SOURCES if getattr(self, name))

    @property
    def fit_key(self) -> CityKey:
        """What a model of the city depends on."""
        return CityKey(self.city, STATIONS[self.scope], HOURS[self.scope], self.side, self.seen,
                       self.model, self.city_kernel, self.reach)

    def why_on(self, name: str) -> str:
        """Why a source of the city cannot be switched off; empty if it can."""
        return messages.last_source(name) if self.seen == (name,) else ""

    # changes

    def edit(self, found: tuple[Design, ...], chosen: int | None = None) -> None:
        """Take other sources; the choice stays on one that is there."""
        at = self.chosen if chosen is None else chosen
        self.param.update(sources=designs.written(found), chosen=min(at, len(found)))

    def change(self, k: int, design: Design) -> None:
        """Take another design for one source, counted from zero."""
        found = list(self.designs)
        found[k] = design
        self.edit(tuple(found))

    def add(self) -> None:
        """One more source, if there is room."""
        found = self.designs
        if len(found) < designs.MOST:
            self.edit((*found, designs.fresh(self.ends)), len(found) + 1)

    def remove(self) -> None:
        """Take the chosen source away; the last one stays, and the first copies no other."""
        found = [d for k, d in enumerate(self.designs, 1) if k != self.chosen]
        if found:
            first = Design(**{**found[0].__dict__, "copied": 0.0})
            self.edit((first, *found[1:]))

    def draw_at(self, values: np.ndarray) -> None:
        """Take a function drawn by hand; values beyond the plot's edges are put on them.

        Parameters
        ----------
        values : array (line.KNOTS,)
            From left to right.

        Raises
        ------
        InputError
            If there are not so many, or one is not finite; the former drawing stays.
        """
        values = np.asarray(values, dtype=float)
        require(values.shape == (line.KNOTS,) and bool(np.isfinite(values).all()),
                f"a drawn function has {line.KNOTS} finite values, and these are not; draw again")
        inside = np.clip(np.round(values, line.DIGITS), line.LOWEST, line.HIGHEST)
        self.drawn = line.written(inside)

    def choose_preset(self, preset: int) -> None:
        """Go to a preset."""
        self.param.update(**PRESETS[preset].setting)

    # URLs

    def read(self, query: str) -> list[str]:
        """Take choices from a URL's query, see the base; a source is on before another is off."""
        given = dict(parse_qsl(query.lstrip("?")))
        with self.together():
            for name in SOURCES:
                if given.get(name) == as_text(True):
                    setattr(self, name, True)
            return super().read(query)

    def _read(self, name: str, text: str) -> list[str]:
        if name == "drawn":
            good = line.read(text) is not None
            self.drawn = text if good else self.drawn
            return [] if good else [messages.bad_drawing(text)]
        if name == "sources":
            found = designs.read(text, self.ends)
            if found is None:
                return [messages.bad_sources(text)]
            self.edit(found)
            return []
        if name in SOURCES and text == "no" and self.why_on(name):
            return [f"{name}=no ({self.why_on(name)})"]
        if name == "chosen" and text.isdecimal() and int(text[:9]) > len(self.designs):
            return [messages.no_source(text, len(self.designs))]
        return super()._read(name, text)
