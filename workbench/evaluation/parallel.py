"""Tasks over processes or a Dask cluster: the same results wherever, as soon as each is done."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from workbench.checks import whole


def completed(function: Callable, tasks: Sequence[tuple], workers: int = 1,
              limit: bool = True) -> Iterator:
    """Yield ``function(*task)`` of every task as they finish, in any order.

    Parameters
    ----------
    function : callable
        Importable, with results that can be pickled; it should say which task a result is of.
    tasks : sequence of tuple
        An object that is in several of them, such as a dataset, goes to a cluster once.
    workers : int
        Processes, each with one thread for linear algebra; 1 computes in this process, also on
        one thread, so that results do not depend on the number. Where a `distributed.Client` is
        active, any other number computes on all workers of its cluster.
    limit : bool
        Whether this process, too, keeps to one thread where it computes itself.

    Raises
    ------
    InputError
        If workers is not a whole number of 1 or more.
    """
    workers = whole("workers", workers, least=1)
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            with one_thread() if limit else contextlib.nullcontext():
                result = function(*task)
            yield result
        return
    client = active_client()
    if client is not None:
        yield from _on_cluster(client, function, tasks)
        return
    with parallel_config("loky", inner_max_num_threads=1):
        # Arrays are shared as copy-on-write memory maps, as torch wants them to be writable.
        pool = Parallel(min(workers, len(tasks)), return_as="generator_unordered", mmap_mode="c")
        results = pool(delayed(function)(*task) for task in tasks)
    yield from results


def active_client():
    """The `distributed.Client` of this process, or None; Dask is not imported for the answer."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:              # there is none
        return None


def _on_cluster(client, function: Callable, tasks: Sequence[tuple]) -> Iterator:
    from distributed import as_completed

    times = Counter(id(part) for task in tasks for part in task)
    sent: dict[int, Any] = {}

    def shipped(part: Any) -> Any:
        if times[id(part)] < 2 or isinstance(part, (str, int, float, bool, type(None))):
            return part
        if id(part) not in sent:
            # In a list, as a list of its own would be scattered by its entries; to all workers, so
            # that one which is lost takes no data along.
            sent[id(part)], = client.scatter([part], broadcast=True, hash=False)
        return sent[id(part)]

    futures = [client.submit(_alone, function, *map(shipped, task), pure=False) for task in tasks]
    try:
        for future in as_completed(futures):
            yield future.result()
            future.release()        # results are as large as the draws that they keep
    finally:
        client.cancel(futures)      # those that are left when the caller stops


def _alone(function: Callable, *task) -> Any:
    with one_thread():
        return function(*task)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Within it linear algebra runs on one thread, torch's too if it is loaded."""
    torch = sys.modules.get("torch")
    former = torch.get_num_threads() if torch else None
    with threadpool_limits(1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(former)
