"""Settings of every test: Hypothesis does not time examples. A fixture that several packages use."""

import gc

import pytest
from hypothesis import settings

settings.register_profile("tanager", deadline=None)
settings.load_profile("tanager")


@pytest.fixture
def margins_for_three_classes(monkeypatch):
    """Presets of gradient descent are tried with few classes, too."""
    monkeypatch.setattr("tanager.learning.recipes._MANY_CLASSES", 3)


def pytest_collection_finish():
    """Collections of garbage leave out what 12,000 collected tests hold, which takes a twentieth of the time off."""
    gc.freeze()
