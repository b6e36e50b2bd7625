"""What all models are: options, frozen when they are made, and a name to find them by."""

from __future__ import annotations

from workbench.bags import Bags
from workbench.models.options import Options, build_options, non_defaults


class Model:
    """A model before it is fitted; keyword arguments are the fields of ``options_type``.

    Raises
    ------
    InputError
        On an unknown option or choice (the nearest is suggested).
    """

    name: str
    summary: str
    paper: str
    options_type: type[Options]
    stops_early = False

    def __init__(self, **options):
        self.options = build_options(self.options_type, options)

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in non_defaults(self.options).items())
        return f"{type(self).__name__}({given})"

    def reduce(self, bags: Bags) -> Bags:
        """The bags as this model sees them."""
        return bags
