"""Means over square blocks of a stationary kernel on places, from the displacements of a lattice.

A stationary kernel sees the displacement of two pixels alone, and R x C pixels have
(2R - 1)(2C - 1) of them, not (RC)². Its mean over a block is that of a square of displacements.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.gp.kernels.grammar import Term
from workbench.gp.numerics.shapes import Inputs

_ROWS = 2_000           # pixels that are looked up at once


class Lattice:
    """Displacements between the pixels of a regular grid and those of square blocks of it.

    Parameters
    ----------
    x : Tensor (n, D)
        Standardised inputs of all pixels.
    columns : tuple of int
        Columns of x and y in it.
    pixels : array of int (n, 2)
        Grid column and row of each pixel.
    blocks : array of int (B, 2)
        Column and row of each block of ``side`` x ``side`` pixels.
    side : int

    Attributes
    ----------
    count : int
        Number of displacements.
    """

    def __init__(self, x: Inputs, columns: tuple[int, ...], pixels: np.ndarray,
                 blocks: np.ndarray, side: int):
        self.side, self._width, self.columns = side, x.shape[1], columns
        self._axes, pixel, block, wide = [], 0, 0, 1
        for column, at, of_block in zip(columns, pixels.T, blocks.T, strict=True):
            ends = x[int(at.argmin()), column], x[int(at.argmax()), column]
            reach = int(np.ptp(at))
            steps = torch.linspace(-1, 1, 2 * reach + 1, dtype=x.dtype, device=x.device)
            self._axes.append(steps * (ends[1] - ends[0]))
            # A pixel's displacement from the last one of a block is the first that is averaged.
            last = of_block * side + side - 1
            pixel, block = pixel + wide * at, block + wide * (reach - last)
            wide = 2 * reach + 2 - side
        self.count = self._axes[0].numel() * self._axes[1].numel()
        self._pixel, self._block = torch.as_tensor(pixel), torch.as_tensor(block)

    def covers(self, term: Term) -> bool:
        """Whether a term is stationary and looks at places alone."""
        return not term.finite_rank and term.name != "kernel" and set(term.columns) <= set(
            self.columns)

    def means(self, term: Term) -> Tensor:
        """Means of k(pixel, ·) over the pixels of each block (n, B)."""
        across, along = self._axes
        points = torch.zeros(self.count, self._width).to(across)
        points[:, self.columns[0]] = across.repeat(along.numel())
        points[:, self.columns[1]] = along.repeat_interleave(across.numel())
        values = term(points, torch.zeros(1, self._width).to(across))
        table = values.reshape(1, 1, along.numel(), across.numel())
        squares = torch.nn.functional.avg_pool2d(table, self.side, stride=1).reshape(-1)
        return torch.cat([squares[part[:, None] + self._block]
                          for part in self._pixel.split(_ROWS)])
