"""What nbval compares of a checked cell: numbers and what is drawn, not the scripts of plots."""

import pytest

# Plots are stored as images and live ones are scripts with names of their own; in both the text
# beside them says what is drawn. Tables have their numbers in that text too. Warnings name files.
DRAWN = ("stderr", "text/html", "application/javascript",
         "application/vnd.holoviews_load.v0+json", "application/vnd.holoviews_exec.v0+json")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for file in {item.parent for item in items if item.path.suffix == ".ipynb"}:
        file.skip_compare += DRAWN
