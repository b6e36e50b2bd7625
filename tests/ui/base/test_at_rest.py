"""Pages do not jump while they load: what is seen first stays where it is.

Of mediated and sources test_windows.py shows it, and of disaggregate on a wide screen
test_first_room.py: to load a page takes seconds.
"""

import pytest

from tests.ui.kit import MOST_SHIFTED, shift_while_loading

pytestmark = pytest.mark.ui


@pytest.mark.parametrize("app", ["disaggregate", "compare"])
def test_what_is_seen_first_stays_where_it_is(page, apps_url, app):
    page.set_viewport_size({"width": 390, "height": 844})
    assert shift_while_loading(page, f"{apps_url}/{app}") < MOST_SHIFTED
