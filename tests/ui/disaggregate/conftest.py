"""What tests of own data share."""

import pytest

from workbench.ui.disaggregate import own


@pytest.fixture
def removed(monkeypatch):
    """Remove what a test keeps itself, without a session that would."""
    made, kept = [], own.kept
    monkeypatch.setattr(own, "kept", lambda contents: made.append(kept(contents)) or made[-1])
    yield
    for files in made:
        files.remove()
