"""Specs of own files as they are taken away: the files by name, as they lie with their owner."""

from __future__ import annotations

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
    def name(value: object) -> object:
        if isinstance(value, str) and f"/{leftovers.OWN}" in value:
            return Path(value).name
        return [name(one) for one in value] if isinstance(value, list | tuple) else value

    options = {key: name(value) for key, value in spec.dataset_options.items()}
    return replace(spec, dataset=name(spec.dataset), dataset_options=options)
