"""What the tests of several apps share."""

import pytest
import torch
from playwright.sync_api import expect

from tests.ui.kit import WAIT

expect.set_options(timeout=WAIT)        # a machine that serves other jobs is no failure


@pytest.fixture(scope="module")
def one_thread():
    """Torch computes in one thread, as in a server that several sessions share."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
