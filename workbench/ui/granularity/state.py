"""What the user has chosen: selections of canonical values, and a URL that carries them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import param

from workbench.ui.base.fitted import Learnt
from workbench.ui.base.state import named, nearest
from workbench.ui.granularity import california, cells, messages, story
from workbench.ui.granularity.engine import Model
from workbench.ui.granularity.observed import NOISE, OBSERVED
from workbench.ui.granularity.worlds import (
    END,
    KNOWN,
    SYNTHETIC,
    World,
    california_map,
    line,
    synthetic_map,
)
from workbench.ui.granularity.zones import SQUARES, STRIPS, VORONOI

LINE, MAP = "line", "map"
KERNELS = {"Gaussian": "rbf", "Laplacian (Matérn 1/2)": "matern12", "Matérn 3/2": "matern32",
           "Matérn 5/2": "matern52"}
COUNTS = [*range(2, 21), 24, 28, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512, 768, 1000]
SIDES = [5.0, 4.0, 3.2, 2.5, 2.0, 1.6, 1.25, 1.0, 0.8, 0.64, 0.5, 0.4, 0.32, 0.25, 0.2]
LENGTHS = [0.05, 0.063, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.63, 0.8, 1.0, 1.25,
           1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0, 10.0]
VARIANCES = [0.063, 0.1, 0.16, 0.25, 0.4, 0.63, 1.0, 1.6, 2.5, 4.0, 6.3, 10.0, 16.0]
NOISES = [0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.2, 1.5]
TOLERANCES = [0.02, 0.05, 0.1, 0.2, 0.3]
TRUE, TRUTH = "true", "truth"
NO_GUESS = "none"
GUESSES = {"hardly further": "hardly", "up to twice as far": "twice", "further still": "further"}
SECONDS = {"none": 0, "a quarter": 0.25, "half": 0.5, "twice": 2, "four times": 4}
MOST_MOVABLE = 64       # cells whose boundaries can be moved by hand


#: Choices of what is shown, on which no result depends.
SHOWN_ONLY = ("story", "lecture", "tolerance", "cell", "show", "guess", "reveal")


class State(Learnt):
    """All choices of the app."""

    apart = (*SHOWN_ONLY, "second")

    story = param.Selector(objects=[0, *range(1, len(story.STEPS) + 1)], doc="Step of the story.")
    lecture = param.Boolean(False, doc="Large type and few controls; arrow keys step the story.")
    tab = param.Selector(objects={"1-D line": LINE, "2-D map": MAP}, doc="Which world is shown.")
    kernel = param.Selector(objects=KERNELS, doc="Covariance function of the Gaussian process.")
    tolerance = param.Selector(
        objects=named(TOLERANCES, "{} sd"), default=0.1,
        doc="Largest acceptable error of summaries instead of complete data.")
    known = param.Selector(objects={title: name for name, (title, _) in KNOWN.items()},
                           default="rougher", doc="The function that is observed; synthetic.")
    points = param.Selector(objects=named([100, 200, 400, 700, 1000], "{} points"), default=400,
                            doc="Complete data: number of observations.")
    noise = param.Selector(objects=named(NOISES, "{}"), default=0.3,
                           doc="Standard deviation of one observation in the data.")
    draw = param.Selector(objects=list(range(1, 21)), doc="Seed of the noise.")
    cells = param.Selector(objects=named(COUNTS, "{} cells"), default=12,
                           doc="Number of equal cells that the line is divided into.")
    edges = param.String("", doc="Boundaries moved by hand; empty if cells are equal.")
    cell = param.Integer(-1, bounds=(-1, 999), doc="Cell chosen for merging and splitting.")
    lengthscale = param.Selector(objects=named(LENGTHS, "{} rad"), default=0.4,
                                 doc="Distance over which the correlation falls.")
    variance = param.Selector(objects=named(VARIANCES, "{}"), default=1.0,
                              doc="Prior variance of the process.")
    assumed = param.Selector(objects={"as in the data": TRUE} | named(NOISES, "{}"),
                             doc="Noise (sd of one observation) that the model assumes.")
    source = param.Selector(doc="The map: synthetic, or California where its file is found.")
    output = param.Selector(doc="Variable that is mapped.")
    likelihood = param.Selector(
        objects={"Normal": "normal", "Poisson": "poisson"},
        doc="Normal: a cell reports its mean. Poisson: log of the mean, variance 1 / total count.")
    side = param.Selector(doc="Side of square cells; there are as many of other shapes.")
    shape = param.Selector(objects={"Squares": SQUARES, "Strips": STRIPS, "Voronoi": VORONOI},
                           doc="Shape of the cells, which the result depends on as well (MAUP).")
    map_lengthscale = param.Selector(doc="Distance over which the correlation falls.")
    second = param.Selector(
        objects=SECONDS, doc="A second lengthscale on the same summaries, as a multiple.")
    map_variance = param.Selector(objects=named(VARIANCES, "{}"), default=1.0,
                                  doc="Variance of the process, in units of the data's variance.")
    map_noise = param.Selector(objects=named(NOISES, "{}"), default=NOISE,
                               doc="Noise of one observation, in units of the data's sd.")
    show = param.Selector(
        objects={"Difference": "difference", "sd": "sd", "Moving draws": "draws", "Truth": TRUTH},
        doc="What the last map shows.")
    guess = param.Selector(objects={"no guess": NO_GUESS} | GUESSES,
                           doc="How much further than complete data from the truth, by guess.")
    reveal = param.Boolean(False, doc="Whether the truth of the map is shown.")

    def __init__(self, **given):
        sources = {"Synthetic map": "made"}
        if california.path() is not None:
            sources["California housing"] = "california"
        self.param.source.objects, self._editing = sources, False
        super().__init__(source="made")
        self._offer()
        self.param.update(**{"side": 1.6, "map_lengthscale": 1.0} | given)

    @param.depends("source", watch=True)
    def _offer(self) -> None:
        made = self.source == "made"
        unit = "km" if made else "°"
        with param.parameterized.batch_call_watchers(self):
            self.offer("output", {title: name for name, title in SYNTHETIC.items()} if made else {
                f"{label} ({unit})": name for name, (label, unit) in california.OUTPUTS.items()})
            self.offer("side", named(SIDES, f"{{}} {unit}"))
            self.offer("map_lengthscale", named(LENGTHS, f"{{}} {unit}"))

    @param.depends("cells", watch=True)
    def _equal_again(self) -> None:
        if not self._editing:
            self.param.update(edges="", cell=-1)

    @param.depends("source", "output", "likelihood", watch=True)
    def _hide(self) -> None:
        self.param.update(guess=NO_GUESS, reveal=False)

    # what the choices mean

    @property
    def world(self) -> World:
        """Complete data of the present tab."""
        if self.tab == LINE:
            return line(self.known, self.points, self.noise, self.draw)
        build = synthetic_map if self.source == "made" else california_map
        return build(self.output, self.likelihood)

    @property
    def world_key(self) -> tuple:
        """What the world depends on."""
        if self.tab == LINE:
            return LINE, self.known, self.points, self.noise, self.draw
        return MAP, self.source, self.output, self.likelihood

    @property
    def model(self) -> Model:
        """Kernel and noise of the present tab."""
        if self.tab == LINE:
            noise = self.noise if self.assumed == TRUE else self.assumed
            return Model(self.kernel, self.lengthscale, self.variance, noise)
        return Model(self.kernel, self.map_lengthscale, self.map_variance, self.map_noise,
                     self.likelihood)

    @property
    def rival(self) -> Model | None:
        """The model with the second lengthscale, if there is one."""
        if self.tab == LINE or not self.second:
            return None
        return replace(self.model, lengthscale=self.second * self.map_lengthscale)

    @property
    def hidden(self) -> bool:
        """Whether there is a truth that is not to be shown yet, nor errors against it."""
        return self.tab == MAP and self.source == "made" and not self.reveal

    @property
    def told(self) -> bool:
        """Whether the setting is that of the step of the story."""
        setting = story.STEPS[self.story - 1].setting if self.story else {}
        return all(getattr(self, name) == value for name, value in setting.items())

    @property
    def chart(self) -> str:
        """The chart that the step of the story is about, if it is about one."""
        return story.STEPS[self.story - 1].chart if self.story else ""

    @property
    def boundaries(self) -> np.ndarray:
        """Edges of the cells on the line."""
        found = cells.read(self.edges, END) if self.edges else None
        return cells.equal(END, self.cells) if found is None else found

    @property
    def formed(self) -> str:
        """Shape of the cells; on the line there are only intervals, which count as squares."""
        return SQUARES if self.tab == LINE else self.shape

    @property
    def size(self) -> float:
        """Width of the cells: their mean on the line, on the map the side of as many squares."""
        return END / (self.boundaries.size - 1) if self.tab == LINE else self.side

    def edit(self, edges: np.ndarray, cell: int | None = None) -> None:
        """Cut the line at other edges; the number of cells follows."""
        count = edges.size - 1
        self._editing = True
        try:
            nearest = min(COUNTS, key=lambda c: abs(c - count))
            chosen = self.cell if cell is None else cell
            self.param.update(edges=cells.written(edges), cells=nearest,
                              cell=min(chosen, count - 1))
        finally:
            self._editing = False

    def go(self, size: float, lengthscale: float) -> None:
        """Choose the stops nearest to a cell size and a lengthscale."""
        name = "lengthscale" if self.tab == LINE else "map_lengthscale"
        there = {name: nearest(LENGTHS, lengthscale)}
        if self.tab == LINE:
            there |= {"cells": nearest(COUNTS, END / size), "edges": "", "cell": -1}
        else:
            there["side"] = nearest(SIDES, size)
        self.param.update(**there)

    @property
    def learnable(self) -> tuple[str, ...]:
        """Lengthscale, variance and, where the likelihood has one, noise."""
        noisy = self.tab == LINE or OBSERVED[self.likelihood].noisy
        return ("lengthscale", "variance", "noise") if noisy else ("lengthscale", "variance")

    def stops(self, values: Mapping[str, float]) -> dict[str, float]:
        """Choices nearest to a lengthscale, a variance and, where it is learnt, a noise."""
        on_line = self.tab == LINE
        names = {"lengthscale": LENGTHS, "variance": VARIANCES}
        found = {name if on_line else f"map_{name}": nearest(stops, values[name])
                 for name, stops in names.items()}
        if "noise" in self.learnable:
            found["assumed" if on_line else "map_noise"] = nearest(NOISES, values["noise"])
        return found

    def tell(self, step: int) -> None:
        """Go to a step of the story; 0 leaves it."""
        told = {**story.BEGIN, **story.STEPS[step - 1].setting} if step else {}
        self.source = told.get("source", self.source)      # before what it offers
        self.param.update(story=step, **told)

    def step(self, by: int) -> None:
        """Go on in the story, or back; never out of it."""
        step = min(max(self.story + by, 1), len(story.STEPS))
        if step != self.story:
            self.tell(step)

    def uncover(self) -> None:
        """Show the truth of the map, if it was guessed how far it is."""
        self.reveal = self.guess != NO_GUESS

    def _read(self, name: str, text: str) -> list[str]:
        if name == "edges":
            return self._read_edges(text)
        if name == "cell":
            good = (text.lstrip("-").isdecimal() and len(text) < 9
                    and -1 <= int(text) < self.boundaries.size - 1)
            self.cell = int(text) if good else -1
            return [] if good else [messages.no_cell(text, self.boundaries.size - 1)]
        problems = super()._read(name, text)
        if name == "story" and not problems:
            self.tell(self.story)       # what else the URL says comes on top
        if name == "reveal" and self.reveal and self.guess == NO_GUESS:
            self.reveal = False
            return [messages.NOT_GUESSED]
        return problems

    def _read_edges(self, text: str) -> list[str]:
        edges = cells.read(text, END)
        if edges is None or edges.size - 1 > MOST_MOVABLE:
            return [messages.bad_edges(text)]
        if text:
            self.edit(edges)
        else:
            self.edges = ""
        return []
