"""The apps' pictures: one of each in the documentation, named; small ones on the first page."""

from pathlib import Path

import pytest
from PIL import Image

from workbench.ui.serving import about, apps

HOWTO = Path(__file__).parents[2] / "docs" / "howto"


@pytest.mark.parametrize("name", apps())
def test_each_app_has_a_picture_with_a_name_in_the_documentation(name):
    page = (HOWTO / "apps.md").read_text(encoding="utf-8")
    assert page.count(f"![The app {name}") == page.count(f"](pictures/{name}.png)") == 1
    for path, size in ((HOWTO / "pictures" / f"{name}.png", (1280, 800)),
                       (about(name).picture, (640, 256))):
        assert path.stat().st_size < 150_000
        with Image.open(path) as picture:
            assert picture.size == size and len(picture.convert("RGB").getcolors(2**20)) > 50
