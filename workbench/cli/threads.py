"""Threads for linear algebra: one, unless a command is told otherwise."""


def set_threads(threads: int = 1) -> None:
    """Use so many threads for linear algebra; whatever fits, or estimates what a fit takes, asks.

    Small matrices gain nothing from threads that wait for each other, and on a busy machine they
    lose much.

    Parameters
    ----------
    threads : int
        At least one.
    """
    import torch

    torch.set_num_threads(threads)
