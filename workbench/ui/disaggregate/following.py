"""What a store has worked on in a thread: maps that follow a slider, and scores on release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checks import InputError
from workbench.pipeline.spec import Spec
from workbench.ui.base.jobs import LOOK_SECONDS, Run
from workbench.ui.disaggregate import engine, messages
from workbench.ui.disaggregate.engine import Answer, Scene
from workbench.ui.disaggregate.fitted import UNFITTED, Fitted
from workbench.ui.disaggregate.insights import PAUSE

if TYPE_CHECKING:
    from workbench.ui.disaggregate.store import Store


def follow(spec: Spec, fitted: Fitted, run: Run, store: Store) -> None:
    """Answer a setting, then what a slider has asked for meanwhile, and score the last answer.

    Nothing that was begun is thrown away, so that maps follow a slider that does not rest.

    Parameters
    ----------
    spec, fitted
        What is asked for first.
    run : Run
    store : Store
        Whose slider it is.
    """
    run.wait_for_page(0)        # before the models, which take seconds to load
    scene = engine.scene(spec)
    run.send("scene", scene)
    try:
        answer = engine.quick(spec, fitted)
    except InputError as error:
        if fitted == UNFITTED:
            raise
        run.send("refused", messages.no_such_fit(str(error)))
        return
    run.send("maps", (scene, answer))
    while (later := store.newer(run)) is not None:
        answer = engine.quick(later, fitted)
        run.send("maps", (scene, answer))
    score(answer, scene, run, store)


def score(answer: Answer, scene: Scene, run: Run, store: Store) -> None:
    """Settle and score an answer, which takes seconds: not while a slider is being moved.

    Parameters
    ----------
    answer, scene
        What is shown.
    run : Run
    store : Store
        Whose slider it is.
    """
    if answer.rough or engine.ready_scores(answer) is None:
        run.wait_for_page(PAUSE)
        while store.dragged:
            run.rest(LOOK_SECONDS)
    exact = engine.settled(answer)
    if exact is not answer:
        run.send("maps", (scene, exact))
    run.send("scores", engine.scores(exact))


def learn(spec: Spec, empty: bool, run: Run) -> None:
    """Learn hyperparameters, show the maps, and score them.

    Parameters
    ----------
    spec : Spec
    empty : bool
        Whether nothing is shown yet, so that a preview is.
    run : Run
    """
    if empty:
        run.wait_for_page(0)
    scene = engine.scene(spec)
    run.send("scene", scene)
    if empty:       # of a URL: there are maps to look at until the fit is there
        run.send("meanwhile", (scene, engine.quick(spec)))
    answer = engine.learn(spec, run.tick, lambda stage: run.send("stage", stage))
    run.send("maps", (scene, engine.including(answer, spec.area_effect)))
    exact = engine.settled(answer)
    if exact is not answer:
        run.send("maps", (scene, engine.including(exact, spec.area_effect)))
    run.send("scores", engine.scores(exact))


def work_ahead(specs: list[Spec], fitted: Fitted, run: Run) -> None:
    """Answer what the next move of a slider asks for, as long as nobody wants anything else.

    Parameters
    ----------
    specs : list of Spec
    fitted : Fitted
    run : Run
    """
    run.rest(PAUSE)
    for spec in specs:
        run.give_way()
        if engine.ready(spec, fitted) is None:
            engine.quick(spec, fitted)
