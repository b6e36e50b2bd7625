"""Means over blocks of a kernel on places, from its values at the displacements of a regular grid.

A stationary kernel sees the displacement of two pixels alone, and R x C pixels have
(2R - 1)(2C - 1) of them, not (RC)². Its mean over a block is that of a square of displacements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

_ROWS = 2_000           # pixels that are looked up at once

if TYPE_CHECKING:
    import torch
    import xarray as xr

    from workbench.kernels import Term


class Displacements:
    """Displacements between the pixels of a grid and those of the blocks in it.

    ``count`` is their number.

    Parameters
    ----------
    pixels : xr.Dataset
        All pixels of a grid, by `workbench.bag_blocks`.
    bags : xr.Dataset
        Some of its blocks, of s x s pixels of one weight each.
    x : Tensor (n, D)
        Standardised inputs of the pixels.
    coordinates : tuple of int
        Columns of x and y in it.
    """

    def __init__(self, pixels: xr.Dataset, bags: xr.Dataset, x: torch.Tensor,
                 coordinates: tuple[int, ...]):
        import torch

        self.side, self._width, self.columns = int(pixels.attrs["block"]), x.shape[1], coordinates
        self._axes, pixel, block, wide = [], 0, 0, 1
        for column, of_pixel, of_block in zip(coordinates, ("column", "row"),
                                              ("block_column", "block_row"), strict=True):
            at = pixels[of_pixel].values
            ends = x[int(at.argmin()), column], x[int(at.argmax()), column]
            reach = int(np.ptp(at))
            steps = torch.linspace(-1, 1, 2 * reach + 1, dtype=x.dtype, device=x.device)
            self._axes.append(steps * (ends[1] - ends[0]))
            # A pixel's displacement from the last one of a block is the first that is averaged.
            last = bags[of_block].values * self.side + self.side - 1
            pixel, block = pixel + wide * at, block + wide * (reach - last)
            wide = 2 * reach + 2 - self.side
        self.count = self._axes[0].numel() * self._axes[1].numel()
        self._pixel, self._block = torch.as_tensor(pixel), torch.as_tensor(block)

    def covers(self, term: Term, weights: np.ndarray) -> bool:
        """Whether a term looks at places alone, and individuals have one weight."""
        stationary = not term.weights and term.name != "kernel"
        return stationary and set(term.columns) <= set(self.columns) and np.ptp(weights) == 0

    def means(self, term: Term) -> torch.Tensor:
        """Means of k(pixel, ·) over each block (n, B)."""
        import torch

        across, along = self._axes
        points = torch.zeros(self.count, self._width).to(across)
        points[:, self.columns[0]] = across.repeat(along.numel())
        points[:, self.columns[1]] = along.repeat_interleave(across.numel())
        values = term(points, torch.zeros(1, self._width).to(across))
        table = values.reshape(1, 1, along.numel(), across.numel())
        squares = torch.nn.functional.avg_pool2d(table, self.side, stride=1).reshape(-1)
        return torch.cat([squares[part[:, None] + self._block]
                          for part in self._pixel.split(_ROWS)])
