"""What the tests of the app "sources" share."""

import pytest

from workbench.ui.base.cache import Cache
from workbench.ui.sources import city_models


@pytest.fixture
def short_fits(monkeypatch):
    """Fits of the city that end after a few steps; the stored one is left out."""
    monkeypatch.setattr(city_models, "STEPS", 4)
    monkeypatch.setitem(city_models.INDUCING, "quick", 15)
    monkeypatch.setattr(city_models, "_FITS", Cache(12))
