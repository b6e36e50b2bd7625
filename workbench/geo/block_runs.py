"""Tasks of blocks computed by threads, or by the workers of a scheduler."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from tqdm import tqdm

from workbench.checks import InputError, package

TASK = "write-block"    # what the keys of tasks begin with
_PATIENCE = 10          # seconds until a scheduler must have answered


@contextlib.contextmanager
def scheduled(scheduler: str | None) -> Iterator[None]:
    """Within it blocks are computed where a word or an address says; its dashboard is printed.

    Parameters
    ----------
    scheduler : str, optional
        The address of a scheduler, such as ``tcp://10.0.0.1:8786``; ``processes``, for one process
        for each core of this machine; None, for its threads.

    Returns
    -------
    context manager

    Raises
    ------
    InputError
        If there is no scheduler at the address.
    """
    if scheduler is None:
        yield
        return
    distributed = package("distributed", extra="scale")
    with contextlib.ExitStack() as stack:
        where = scheduler
        if scheduler == "processes":
            where = stack.enter_context(distributed.LocalCluster(
                threads_per_worker=1, dashboard_address=":0"))
        try:
            # First apart: one that fails as the default stays it, and whatever comes next waits.
            with distributed.Client(where, timeout=_PATIENCE, set_as_default=False):
                pass
            client = stack.enter_context(distributed.Client(where, timeout=_PATIENCE))
        except (OSError, ValueError) as error:
            raise InputError(f"there is no scheduler at {scheduler!r} ({error}); start one with "
                             "`dask scheduler`, and give the address that it prints") from error
        print(f"dashboard: {client.dashboard_link}", file=sys.stderr)
        yield


def compute(tasks: list, total: int, progress: bool) -> None:
    """Compute tasks whose keys are tuples that begin with `TASK`.

    Parameters
    ----------
    tasks : list of Delayed
        Those that are left.
    total : int
        How many there were, for the bar.
    progress : bool
        Whether there is one.
    """
    with tqdm(total=total, initial=total - len(tasks), unit="block", disable=not progress) as bar:
        client = _client()
        if client is None:
            _locally(tasks, bar)
            return
        from distributed import as_completed

        futures = client.compute(tasks)
        try:
            for future in as_completed(futures):
                future.result()
                bar.update()
        finally:        # also at the end: blocks lost with a worker once written would run again
            client.cancel(futures)


def _locally(tasks: list, bar: tqdm) -> None:
    import dask
    from dask.callbacks import Callback

    def after(key, *_) -> None:
        if isinstance(key, tuple) and key[0].startswith(TASK):
            bar.update()

    with Callback(posttask=after):
        dask.compute(*tasks)


def _client():
    """The current client of a scheduler, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None
