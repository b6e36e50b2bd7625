"""Names that went elsewhere: whoever asks for one where it was is told where it is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

from workbench.checks import warn


def moved(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A ``__getattr__`` of a module that tells where names went that it had.

    Parameters
    ----------
    module : str
        Full name of the module.
    homes : mapping
        What to say of each name after "is now": its new full name, or what does the same. A name
        that stayed in the folder, written with a leading dot as ``.CleaningOptions``, is handed
        on with a `DeprecationWarning`; of others the text alone is known, as a folder may not
        import those above it.

    Returns
    -------
    callable
        To be the module's ``__getattr__``; it raises AttributeError.

    Examples
    --------
    >>> find = moved("workbench.plots", {"rates": "workbench.papers.plots.rates"})
    >>> find("rates")
    Traceback (most recent call last):
        ...
    AttributeError: workbench.plots.rates has moved: it is now workbench.papers.plots.rates
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = homes[name]
        if not home.startswith("."):
            raise AttributeError(f"{module}.{name} has moved: it is now {home}")
        warn(f"{module}.{name} is now called {module}{home}; the old name will be removed",
             DeprecationWarning)
        return getattr(importlib.import_module(module), home.removeprefix("."))

    return find
