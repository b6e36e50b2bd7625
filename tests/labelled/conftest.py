"""What tests of small fits share."""

import pytest

from workbench.datasets import load

#: Few steps and few areas are enough for what is tested.
FEW_STEPS = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning", "ignore::workbench.checks.FewAreasWarning",
    "ignore::workbench.checks.ExtrapolationWarning")


@pytest.fixture(scope="session")
def ds():
    """A country of 240 pixels in 24 districts; most modules have a dataset of their own."""
    return load("simulated-country", pixels=240, districts=24, regions=4, provinces=2)
