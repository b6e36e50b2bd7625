"""What the tests of several apps share."""

import pytest
import torch


@pytest.fixture(scope="module")
def one_thread():
    """Torch computes in one thread, as in a server that several sessions share."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
