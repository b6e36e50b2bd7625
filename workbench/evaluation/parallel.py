"""Tasks over processes: the same results whatever their number, as soon as each is done."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence

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
    workers : int
        Processes, each with one thread for linear algebra; 1 computes in this process, also on
        one thread, so that results do not depend on the number.
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
    with parallel_config("loky", inner_max_num_threads=1):
        # Arrays are shared as copy-on-write memory maps, as torch wants them to be writable.
        pool = Parallel(min(workers, len(tasks)), return_as="generator_unordered", mmap_mode="c")
        results = pool(delayed(function)(*task) for task in tasks)
    yield from results


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
