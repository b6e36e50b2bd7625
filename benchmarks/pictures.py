"""Make the README's map pictures again; needs Chromium and, for Madagascar, WORKBENCH_DATA."""

from __future__ import annotations

from pathlib import Path

import torch
import typer

import workbench as wb
from workbench import plots

PICTURES = Path(__file__).parents[1] / "data" / "pictures"
CASES = {
    "korea": (dict(level="district"), dict(nugget="learn"), 0.010),
    "madagascar": (dict(), dict(overdispersion="area"), 0.1),
}


def main(name: str = "all") -> None:
    """Fit, map and save one picture or all."""
    torch.set_num_threads(1)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for case, (options, model, threshold) in CASES.items():
        if name not in ("all", case):
            continue
        ds = wb.load(case, **options)
        fit = wb.VBAgg(kernel="linear+matern32", **model).fit(ds)
        maps = fit.to_dataset(ds, threshold=threshold)
        panel = plots.disaggregation_panel(ds, maps, columns=3 if "individual_value" in ds else 4)
        plots.save_png(panel, PICTURES / f"{case}.png", scale=1)


if __name__ == "__main__":
    typer.run(main)
