"""Bags and targets of one setting: fields cut into blocks, and blocks split into both."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from workbench.ui.mediated.worlds import SEED, TARGET, World


@dataclass(frozen=True, eq=False)
class Data:
    """What models see, and where to predict.

    Parameters
    ----------
    world : World
    pixels : xr.Dataset
        All pixels with their truth; bags of it are all blocks.
    bags : xr.Dataset
        Blocks whose covariates are known, with values only if there are no targets.
    targets : xr.Dataset or None
        Blocks whose temperature is known; None if those are the bags.
    fine : bool
        Whether pixels are those of the full grid.
    """

    world: World
    pixels: xr.Dataset
    bags: xr.Dataset
    targets: xr.Dataset | None
    fine: bool
    _imputed: dict = field(default_factory=dict)

    @property
    def matched(self) -> bool:
        """Whether every target is that of a bag."""
        return self.targets is None

    @property
    def values(self) -> np.ndarray:
        """What was observed."""
        return (self.bags if self.matched else self.targets)["value"].values

    @property
    def observed(self) -> np.ndarray:
        """What was observed of every block, NaN where nothing was."""
        if self.matched:
            return self.pixels["value"].values
        out = np.full(self.pixels.sizes["bag"], np.nan)
        out[self._positions(self.targets["target"].values)] = self.values
        return out

    @property
    def has_bag(self) -> np.ndarray:
        """Which blocks are bags."""
        out = np.zeros(self.pixels.sizes["bag"], dtype=bool)
        out[self._positions(self.bags["bag"].values)] = True
        return out

    @property
    def individuals(self) -> np.ndarray:
        """Positions of the bags' individuals among the pixels."""
        return np.flatnonzero(self.has_bag[self.pixels["membership"].values])

    @property
    def bag_of_pixel(self) -> np.ndarray:
        """Bag of each pixel, -1 where its block is none."""
        position = np.cumsum(self.has_bag) - 1
        position[~self.has_bag] = -1
        return position[self.pixels["membership"].values]

    def lattice(self, x, columns: tuple[int, ...]):
        """The pixels as a lattice, for standardised inputs (n, D) with x and y in two columns.

        None where individuals differ in weight, so that blocks are not plain means.
        """
        from workbench.gp.kernels.lattice import Lattice

        if np.ptp(self.bags["weight"].values):
            return None
        pixels, blocks = (np.stack([ds[name].values for name in names], 1) for ds, names in (
            (self.pixels, ("column", "row")), (self.bags, ("block_column", "block_row"))))
        return Lattice(x, columns, pixels, blocks, int(self.pixels.attrs["block"]))

    def imputed(self, kernel: str) -> xr.Dataset:
        """The bags with values: their own, or by a regression of targets on mediators."""
        import torch

        import workbench as wb

        if self.matched:
            return self.bags
        if kernel not in self._imputed:
            with torch.enable_grad():       # posteriors, where this is needed, have none
                self._imputed[kernel] = wb.impute(self.bags, self.targets, kernel)
        return self._imputed[kernel]

    def _positions(self, names: np.ndarray) -> np.ndarray:
        where = {name: i for i, name in enumerate(self.pixels["bag"].values)}
        return np.array([where[name] for name in names], dtype=int)


def cut(world: World, side: int, share: float, split: int, mediator: str,
        fine: bool = False) -> Data:
    """Cut fields into blocks, and split the blocks into bags and targets.

    Parameters
    ----------
    world : World
    side : int
        Side of a block in thinned pixels.
    share : float
        Share of the blocks that are targets and no bags; 0: all are both.
    split : int
        Seed of which ones.
    mediator : str
        Field, ``place``, or both joined by a dot.
    fine : bool
        Cut the full fields: the same blocks, of more pixels.
    """
    import workbench as wb

    mediators = [("x", "y") if part == "place" else (part,) for part in mediator.split(".")]
    block = side * (world.place.thin if fine else 1)
    fields = world.full if fine else world.thin
    pixels = wb.bag_blocks(_trimmed(fields, block), TARGET, tuple(world.covariates),
                           [name for part in mediators for name in part], block)
    if world.noise:
        stream = np.random.default_rng((SEED, world.draw))
        attrs = pixels["value"].attrs
        pixels["value"] = pixels["value"] + world.noise * stream.standard_normal(
            pixels.sizes["bag"])
        pixels["value"].attrs |= attrs
    if share == 0:
        return Data(world, pixels, pixels, None, fine)
    bags, targets = wb.unmatch(pixels, share, split)
    return Data(world, pixels, bags, targets, fine)


def _trimmed(fields: xr.Dataset, block: int) -> xr.Dataset:
    """Rows and columns that fill blocks, so that both grids are cut alike."""
    rows, columns = (fields.sizes[axis] // block * block for axis in ("y", "x"))
    north = fields.sortby("y", ascending=False).sortby("x")
    return north.isel(y=slice(rows), x=slice(columns))
