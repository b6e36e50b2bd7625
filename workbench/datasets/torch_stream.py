"""The random numbers of PyTorch's generator on the CPU, without PyTorch.

Both draw from the Mersenne twister of 32-bit words (mt19937) with the same seeding, so that
`numpy.random.RandomState` gives the words, and what is made of them is a few lines. Data of
published code that were drawn with PyTorch can so be made again where PyTorch may not be imported.
Uniform numbers and permutations are equal; normal ones up to rounding in float32, for PyTorch uses
its own vectorised logarithm and cosine.
"""

from __future__ import annotations

import numpy as np

_BLOCK = 16      # normal numbers are made sixteen at a time, eight pairs


class TorchStream:
    """A generator that gives what ``torch.manual_seed(seed)`` and its functions would.

    Parameters
    ----------
    seed : int
        From 0 to 2**32 - 1.
    """

    def __init__(self, seed: int) -> None:
        self._words = np.random.RandomState(seed)
        self._spare: float | None = None

    def rand(self, size: int) -> np.ndarray:
        """``torch.rand(size)``: uniform on [0, 1), float32, of the low 24 bits of a word each."""
        return (self._draw(size) & np.uint32(2**24 - 1)).astype(np.float32) * np.float32(2**-24)

    def randn(self, size: int) -> np.ndarray:
        """``torch.randn(size)``: standard normal, float32.

        From sixteen numbers on by Box-Muller on uniform numbers in blocks of sixteen, the last
        sixteen being redrawn where the size is not a multiple; fewer come one by one from
        53-bit numbers, in pairs of which the second waits for the next call.
        """
        if size < _BLOCK:
            return np.array([self._single() for _ in range(size)], dtype=np.float32)
        values = self.rand(size)
        whole = size - size % _BLOCK
        values[:whole] = _box_muller(values[:whole])
        if whole < size:
            values[-_BLOCK:] = _box_muller(self.rand(_BLOCK))
        return values

    def randperm(self, size: int) -> np.ndarray:
        """``torch.randperm(size)``: a permutation of 0 .. size - 1, by swaps from the front."""
        order = np.arange(size)
        for i, word in enumerate(self._draw(max(size - 1, 0))):
            other = i + int(word) % (size - i)
            order[i], order[other] = order[other], order[i]
        return order

    def _draw(self, size: int) -> np.ndarray:
        return self._words.randint(0, 2**32, size=size, dtype=np.uint32)

    def _single(self) -> float:
        if self._spare is not None:
            value, self._spare = self._spare, None
            return value
        angle, radius = 2 * np.pi * self._double(), np.sqrt(-2 * np.log1p(-self._double()))
        self._spare = float(radius * np.sin(angle))
        return float(radius * np.cos(angle))

    def _double(self) -> float:
        high, low = (int(word) for word in self._draw(2))
        return (((high << 32) | low) & (2**53 - 1)) * 2.0**-53


def _box_muller(uniform: np.ndarray) -> np.ndarray:
    """Normal numbers from uniform ones (16 k,): eight radii, then eight angles, in each block."""
    first, second = np.moveaxis(uniform.reshape(-1, 2, _BLOCK // 2), 1, 0)
    radius = np.sqrt(np.float32(-2) * np.log(np.float32(1) - first))
    angle = np.float32(2 * np.pi) * second
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)
