"""What is done in threads: comparisons of models, and of engines."""

from __future__ import annotations

from pathlib import Path

from workbench.checks import Cancelled
from workbench.ui.base.cache import Cache
from workbench.ui.base.jobs import Run
from workbench.ui.compare import comparing, pairs, stored
from workbench.ui.compare.engine import Board, narrowed
from workbench.ui.compare.state import Pair, Setting

_BOARDS, _PAIRS = Cache(12), Cache(12)      # of all sessions


def models(setting: Setting, run: Run, folder: str = "") -> None:
    """Compare models, and send the board, also of what is finished when it is stopped.

    Parameters
    ----------
    setting : Setting
    run : Run
    folder : str
        Of the session's own fits, for data of one's own.
    """
    def tell(share: float, what: str, left: float) -> None:
        if run.current and run.stopped:
            raise comparing.Stop
        run.check()
        run.tick(0, 0.0, share)
        run.send("progress", (what, left))

    try:
        made = comparing.compute(setting, tell, Path(folder or comparing.finished_fits().name))
    except comparing.Stop:
        raise Cancelled from None
    if not (made.partial or folder):
        _BOARDS.keep(setting, made)
    run.send("board", made)


def engines(pair: Pair, run: Run) -> None:
    """Compare engines, and send what was found, also of those that are finished before others."""
    def finished(found) -> None:
        run.check()
        run.send("engines", (pair, found))

    found = pairs.compute(pair, finished)
    _PAIRS.keep(pair, found)
    run.send("pair", (pair, found))


def ready_board(setting: Setting, shown: Board | None = None) -> Board | None:
    """A comparison that is stored or was made before, or is part of one."""
    found = stored.board(setting) or _BOARDS.peek(setting)
    if found is not None:
        return found
    wholes = [shown] if shown is not None else []
    wholes += [board for one in stored.BOARDS if one.dataset == setting.dataset
               and (board := stored.board(one)) is not None]
    return next((part for whole in wholes if (part := narrowed(whole, setting)) is not None), None)


def ready_pair(pair: Pair):
    """A comparison of engines that is stored or was made before."""
    found = stored.pair(pair)
    return _PAIRS.peek(pair) if found is None else found
