"""All models as users see them, by registry name, each imported when it is first asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from workbench.checks import choose
from workbench.gp.models.registry import AUTO, ENTRIES, Entry, Loaded

if TYPE_CHECKING:
    from workbench.labelled.classes.base import LabelledModel

PUBLIC: dict[str, Entry] = {AUTO.name: AUTO} | ENTRIES


def module_of(entry: Entry) -> str:
    """Name of the module of a class that users see, as ``workbench.labelled.classes.mr_gp``."""
    return f"workbench.labelled.classes.{entry.name.replace('-', '_')}"


def models() -> Loaded:
    """All models by registry name.

    Returns
    -------
    mapping of str to type
        The classes, each imported when it is asked for.
    """
    return Loaded(PUBLIC, _load)


def make_model(name: str, **options) -> LabelledModel:
    """A model by registry name.

    Parameters
    ----------
    name : str
        Such as ``vbagg``; for an unknown name the error suggests the nearest.
    **options
        Keyword arguments of the model.

    Returns
    -------
    LabelledModel
        The model, not yet fitted.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.make_model("vbagg", kernel="rbf")
    VBAgg(kernel='rbf')
    """
    return _load(choose("model", name, PUBLIC))(**options)


def _load(name: str) -> type[LabelledModel]:
    entry = PUBLIC[name]
    return getattr(importlib.import_module(module_of(entry)), entry.cls)
