"""What is computed in a thread: bags and targets of a new setting, learning, and maps in full."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from workbench.ui.base.bands import HALF_95
from workbench.ui.base.jobs import Run, load_models
from workbench.ui.base.messages import signed
from workbench.ui.mediated import messages
from workbench.ui.mediated.data import Data, cut
from workbench.ui.mediated.engine import Bench, Posterior
from workbench.ui.mediated.model import INDUCING, MEDIATED, Model
from workbench.ui.mediated.worlds import world

STEPS = 60              # most evaluations of the evidence from each start


@dataclass(frozen=True)
class Setting:
    """What bags and targets depend on, and the kernels: all that a bench is built from."""

    world: tuple
    side: int
    share: float
    split: int
    mediator: str
    grammar: str
    mediator_kernel: str

    @property
    def data(self) -> tuple:
        """What scores can be compared within."""
        return (*self.world, self.side, self.share, self.split)

    def build(self, fine: bool = False) -> Bench:
        """Cut and split the fields; takes up to a second, far longer in full."""
        found = cut(world(*self.world), self.side, self.share, self.split, self.mediator, fine)
        return Bench(found, self.grammar, self.mediator_kernel)


@dataclass(frozen=True)
class Answer:
    """All that is shown of one setting and one model."""

    setting: Setting
    model: Model
    data: Data
    posterior: Posterior
    scores: dict[str, float]
    baseline: float                 # RMSE of interpolation
    coverage: np.ndarray | None     # share of the truth inside central intervals, at `LEVELS`
    milliseconds: float
    evaluations: int                # of k

    @property
    def width(self) -> np.ndarray:
        """Of the 95 % interval at each pixel."""
        band = self.posterior.columns(HALF_95)
        return band["high"] - band["low"]

    @property
    def squared_error(self) -> np.ndarray:
        """At each pixel."""
        return (self.posterior.mean - self.data.pixels["truth"].values) ** 2


def answer(setting: Setting, bench: Bench, model: Model, tick=lambda share: None) -> Answer:
    """Posterior and scores of one model."""
    from workbench.evaluation import field_scores

    start, before = time.perf_counter(), bench.evaluations
    posterior = bench.posterior(model, tick)
    scores = field_scores(bench.data.pixels, posterior.mean, posterior.sd)
    coverage = None if posterior.sd is None else posterior.coverage(
        bench.data.pixels["truth"].values)
    return Answer(setting, model, bench.data, posterior, scores, bench.baseline, coverage,
                  1000 * (time.perf_counter() - start), bench.evaluations - before)


def prepare(setting: Setting, model: Model, run: Run) -> None:
    """Build a bench, and answer on it."""
    run.tick(0, 0.0, 0.0)
    load_models()
    bench = setting.build()
    run.check()
    run.send("bench", (setting, bench, answer(setting, bench, model)))


def whole(setting: Setting, model: Model, run: Run) -> None:
    """The map on the full grid at the same hyperparameters."""
    bench = setting.build(fine=True)
    run.send("answer", answer(setting, bench, model, lambda share: run.tick(1, 0.0, share)))


def learn(bench: Bench, model: Model, run: Run) -> None:
    """Maximise the evidence, and send ``(values, evidence, whether it was cancelled)``."""
    from workbench.labelled import make_model

    data = bench.data
    mediated = model.kind in MEDIATED
    values = data.values if mediated else bench.values()
    options = {"kernel": bench.kernel, "max_steps": STEPS, "noise": "constant",
               "hyperparameters": {"mean": float(values.mean())}}
    if mediated:
        options["mediator_kernel"] = bench.mediator_kernel
        options |= {"inducing": INDUCING} if model.kind == "var-cmp" else {}
        given = (data.bags, data.targets)
    else:
        given = (data.imputed(bench.mediator_kernel),)
    fit = make_model(model.kind, **options).fit(*given, callback=run.tick)
    found = {name: entry["value"] for name, entry in fit.hyperparameters.items()}
    run.tell("received", "learnt",
             (model.learnt(found, bench.labels), fit.objective, fit.cancelled))


def row(found: Answer) -> dict:
    """The answer as a row of the table, by the heads of `messages.HEADS`."""
    data, scores, model = found.data, found.scores, found.model
    unit, place = data.world.place.unit, data.world.place
    block = found.setting.side * place.thin * place.pixel
    bilinear = model.kind == "bilinear"
    cells = (messages.NAMES[model.kind], messages.quantity(block, unit),
             "matched" if data.matched else f"{100 * found.setting.share:g} %",
             messages.quantity(data.world.pixel(data.fine), unit),
             "–" if bilinear else messages.quantity(model.lengthscale, unit),
             f"{scores['rmse']:.3f}", f"{scores['mae']:.3f}", signed(scores["pearson"], ".3f"),
             signed(scores["ssim"], ".3f"),
             "–" if bilinear else f"{100 * scores['coverage']:.1f} %",
             "–" if bilinear else signed(found.posterior.evidence, ",.1f"))
    return dict(zip(messages.HEADS, cells, strict=True))


def key(found: Answer) -> tuple:
    """What a row of the table is kept by."""
    return (*found.setting.data, found.data.fine, found.model.kind)
