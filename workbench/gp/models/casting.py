"""Bags and sources on the device and in the floating point type of a model's options."""

from __future__ import annotations

from dataclasses import fields, replace

import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags, Source, Targets
from workbench.gp.models.options import Options


def cast_bags(bags: Bags, options: Options) -> Bags:
    """The bags on the device and in the dtype of the options; themselves if that is so already."""
    device, dtype = torch.device(options.device), options.torch_dtype
    names = ("x", "membership", "trials", "noise_variance", "individual_noise_variance",
             "mediators", "concentration", "areas", "recurring")
    parts = [bags.weight, *(getattr(bags, name) for name in names)]
    if all(part is None or part.device == device and (
            part.dtype == dtype or not part.is_floating_point()) for part in parts):
        return bags
    cast = {name: _to(getattr(bags, name), options) for name in names}
    return replace(bags, weight=_to(bags.weight, options, positive=True), **cast)


def cast_source(source: Source, options: Options) -> Source:
    """The source on the device and in the dtype of the options."""
    targets = Targets(*(_to(getattr(source.targets, entry.name), options)
                        for entry in fields(Targets)))
    return replace(source, bags=cast_bags(source.bags, options), targets=targets)


def _to(value: Tensor | None, options: Options, positive: bool = False) -> Tensor | None:
    if value is None or not value.is_floating_point():
        return None if value is None else value.to(options.device)
    cast = value.to(device=options.device, dtype=options.torch_dtype)
    if cast.dtype != value.dtype:
        lost = (cast.isfinite().to(value.device) != value.isfinite()).sum() + (
            positive * (cast < torch.finfo(cast.dtype).tiny).sum().to(value.device))
        require(int(lost) == 0, f"{int(lost)} of {value.numel()} numbers, from "
                f"{float(value.abs().min()):.3g} to {float(value.abs().max()):.3g} in size, are "
                f"beyond the range of {options.dtype}; use dtype='float64', or other units")
    return cast
