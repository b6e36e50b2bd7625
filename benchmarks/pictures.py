"""Make the pictures of maps again; needs Chromium and, but for Korea, WORKBENCH_DATA.

    python benchmarks/pictures.py                # all
    python benchmarks/pictures.py temperature    # or korea, madagascar: one

temperature: figures 3 and 8 to 11 of Chau et al. 2021 for the annual means of CMIP6, a quarter of
an hour; the others are those of the README and of the documentation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import holoviews as hv
import torch
import typer
import xarray as xr

import workbench as wb
from workbench import plots
from workbench.plots.fields import OBSERVED, PREDICTED, RECONSTRUCTED

PICTURES = Path(__file__).parents[1] / "data" / "pictures"
#: Options of the data, the model, and the threshold of the exceedance map.
CASES = {
    "korea": (dict(level="district"), wb.Auto(), 0.010),
    "madagascar": (
        dict(), wb.VBAgg(kernel="linear+matern32", overdispersion="area", nugget=0.0), 0.1),
}
#: Of the experiment temperature, with the figures of the paper that they are for.
MODELS = {"var-gpr": "9, VarGPR", "vbagg": "10, VBAgg", "var-cmp": "11, VarCMP",
          "var-cmp (two stages)": "two stages"}
SPLIT = 2


def outbreak(case: str) -> None:
    """Observed rates, posterior mean, sd and exceedance."""
    options, model, threshold = CASES[case]
    ds = wb.load(case, **options)
    fit = model.fit(ds)
    maps = fit.to_dataset(ds, threshold=threshold)
    panel = plots.disaggregation_panel(ds, maps, columns=3 if "individual_value" in ds else 4)
    plots.save_png(panel, PICTURES / f"{case}.png", scale=1)


def temperature() -> None:
    """What is observed (figure 8), the reconstruction (3), and the models' maps (9 to 11)."""
    from workbench.papers.chau2021.temperature import fitted, split

    ds, bags, targets = split("cmip6", SPLIT)
    maps = {}
    for model in MODELS:
        prediction = fitted(model, bags, targets).at(ds)
        maps[model] = xr.Dataset({"mean": prediction.mean, "std": prediction.std})
        print(model, flush=True)
    scales = plots.field_scales(ds, *maps.values())
    known = {"bags": bags, "targets": targets, "scales": scales, "columns": 3, "size": 330}
    seen = plots.field_panel(ds, show=OBSERVED, **known)
    plots.save_png(seen, PICTURES / "cmip6_figure8.png", scale=1)
    made = plots.field_panel(ds, maps["var-cmp"], show=RECONSTRUCTED, **known)
    plots.save_png(made, PICTURES / "cmip6_figure3.png", scale=1)
    panels = [plots.field_panel(ds, maps[model], show=PREDICTED, name=name, scales=scales, size=250)
              for model, name in MODELS.items()]
    rows = hv.Layout([image for panel in panels for image in panel]).cols(4)
    plots.save_png(rows, PICTURES / "cmip6_figures9_to_11.png", scale=1)


def main(name: Annotated[str, typer.Argument()] = "all") -> None:
    """Fit, map and save one picture or all."""
    torch.set_num_threads(1)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        if name in ("all", case):
            outbreak(case)
    if name in ("all", "temperature"):
        temperature()


if __name__ == "__main__":
    typer.run(main)
