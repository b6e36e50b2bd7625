"""All models as users see them, by registry name."""

from __future__ import annotations

from workbench.checks import choose
from workbench.labelled.auto import Auto
from workbench.labelled.models import BY_NAME, LabelledModel

_CLASSES = {Auto.torch_model.name: Auto} | BY_NAME


def models() -> dict[str, type[LabelledModel]]:
    """All models by registry name."""
    return dict(_CLASSES)


def make_model(name: str, **options) -> LabelledModel:
    """A model by registry name; an unknown name suggests the nearest."""
    return _CLASSES[choose("model", name, _CLASSES)](**options)
