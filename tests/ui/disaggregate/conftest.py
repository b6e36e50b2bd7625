"""What tests of the app disaggregate share."""

import pytest

from workbench.ui.base.cache import Cache
from workbench.ui.disaggregate import engine, own, scenes


@pytest.fixture
def nothing_ready(monkeypatch):
    """A server that has computed nothing yet, whatever other tests have asked of this process."""
    monkeypatch.setattr(engine, "_ANSWERS", Cache(14))
    monkeypatch.setattr(scenes, "_SCENES", Cache(6))


@pytest.fixture
def removed(monkeypatch):
    """Remove what a test keeps itself, without a session that would."""
    made, kept = [], own.kept
    monkeypatch.setattr(own, "kept", lambda contents: made.append(kept(contents)) or made[-1])
    yield
    for files in made:
        files.remove()
