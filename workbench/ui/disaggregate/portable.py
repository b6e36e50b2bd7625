"""Specs of own files as they are taken away: the files by name, as they lie with their owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.ui.base import leftovers
from workbench.ui.disaggregate import labels

if TYPE_CHECKING:
    from workbench.pipeline.spec import Spec



def needed(spec: Spec) -> str:
    """Which files belong beside a program or settings of a Spec; empty if it names none.

    Parameters
    ----------
    spec : Spec
    """
    options = [one for value in [spec.dataset, *spec.dataset_options.plain().values()]
               for one in (value if isinstance(value, list) else [value])]
    names = [Path(one).name for one in options
             if isinstance(one, str) and f"/{leftovers.OWN}" in one]
    return labels.needed(sorted(set(names))) if names else ""


def portable(spec: Spec) -> Spec:
    """A Spec with own files by their names alone, as they lie with whoever dropped them.

    Parameters
    ----------
    spec : Spec
    """
    return replace(spec, dataset=by_name(spec.dataset),
                   dataset_options=by_name(dict(spec.dataset_options)))


def by_name(value: object) -> object:
    """A value of an option, or several, with own files by their names alone.

    Parameters
    ----------
    value : object
        Text, a number, a list of these, or a mapping of options.
    """
    if isinstance(value, Mapping):
        return {key: by_name(one) for key, one in value.items()}
    if isinstance(value, str) and f"/{leftovers.OWN}" in value:
        return Path(value).name
    return [by_name(one) for one in value] if isinstance(value, list | tuple) else value
