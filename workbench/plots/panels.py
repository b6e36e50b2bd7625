"""The maps of one disaggregation side by side, on locked scales and linked axes."""

from __future__ import annotations

from dataclasses import replace

import holoviews as hv
import xarray as xr

from workbench.checks import require
from workbench.plots.maps import AXES, SIZE, value_map
from workbench.plots.outlines import simplified
from workbench.plots.scales import ColourScale, colour_scale, observed_rate, rate_unit
from workbench.plots.svg import told


def map_scales(ds: xr.Dataset, maps: xr.Dataset | None = None, log: bool = False):
    """The colour scales of one disaggregation: ``{"rate": ..., "spread": ..., ...}``.

    One scale serves the observed rates, the mean and the truth; its ends come from the observed
    areas and the truth where known, so that it stays the same from model to model.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    maps : xr.Dataset, optional
        From ``fit.to_dataset``; needed for the scale of the standard deviation.
    log : bool
        Logarithmic colours of the rate.

    Returns
    -------
    dict of str to ColourScale
        By quantity.
    """
    factor, unit = rate_unit(ds)
    known = known_rate(ds)
    shown = [observed_rate(ds), *([known[0]] if known else [])]
    scales = {
        "rate": colour_scale(*shown, label="rate", unit=unit, factor=factor, log=log),
        "exceedance": colour_scale(label="probability", kind="probability"),
    }
    if maps is not None and "std" in maps:
        scales["spread"] = colour_scale(
            maps["std"], label="standard deviation", unit=unit, kind="spread", factor=factor
        )
    return scales


def disaggregation_panel(
    ds: xr.Dataset,
    maps: xr.Dataset,
    *,
    truth: bool = True,
    scales: dict[str, ColourScale] | None = None,
    log: bool = False,
    size: int = SIZE,
    columns: int | None = None,
    axes: tuple[str, str] = AXES,
) -> hv.Layout:
    """Observed areas, posterior mean, sd, exceedance and (where known) truth, side by side.

    Observed, mean and truth share one colour scale; the axes of all maps are linked.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset that was disaggregated.
    maps : xr.Dataset
        From ``fit.to_dataset(ds)``: ``mean`` and ``std`` of the rate over individuals, and
        ``exceedance`` if a threshold was given.
    truth : bool
        Whether to show the truth, if the dataset has it (``truth``, or ``individual_value`` per
        weight).
    scales : dict, optional
        From `map_scales`, to keep colours locked from one fit to the next.
    log : bool
        Logarithmic colours of the rate.
    size, columns : int
        Pixels along the longer side of a map; maps in a row (2 for four maps, else 3).
    axes : (str, str)
        Coordinates of the individuals that make the map.

    Returns
    -------
    hv.Layout
        The panels.
    """
    require("mean" in maps, "maps lack 'mean'; make them with fit.to_dataset(ds)")
    ds = simplified(ds)
    factor, unit = rate_unit(ds)
    scales = scales or map_scales(ds, maps, log)
    options = {"size": size, "axes": axes}
    mean = maps["mean"]
    parts = {"weight": ds["weight"], "mean": mean * factor}
    if "std" in maps:
        parts["sd"] = maps["std"] * factor
    panels = [
        value_map(
            ds, observed_rate(ds), scales["rate"], "Observed areas",
            hover={"observed": ds["value"], **({"of": ds["trials"]} if "trials" in ds else {})},
            **options,
        ),
        value_map(ds, mean, scales["rate"], "Posterior mean", hover=parts, **options),
    ]  # fmt: skip
    if "std" in maps:
        panels.append(
            value_map(
                ds, maps["std"], scales["spread"], "Standard deviation", hover=parts, **options
            )
        )
    for one, title in exceedances_of(maps, factor):
        said = threshold_told(one, factor, unit)
        above = replace(scales["exceedance"], unit=said)
        panels.append(value_map(ds, one, above, title, hover=parts, **options))
    fine = known_rate(ds) if truth else None
    if fine is not None:
        values, title = fine
        panels.append(value_map(ds, values, scales["rate"], title, hover=parts, **options))
    columns = columns or (2 if len(panels) in (2, 4) else 3)
    return hv.Layout(panels).cols(columns).opts(shared_axes=True)


def exceedances_of(maps: xr.Dataset, factor: float) -> list[tuple[xr.DataArray, str]]:
    """Each exceedance (individual,) of a map with its title, none where there is no threshold.

    Parameters
    ----------
    maps : xr.Dataset
        From ``fit.to_dataset``.
    factor : float
        From the map's units to those shown.
    """
    if "exceedance" not in maps:
        return []
    exceedance = maps["exceedance"]
    if "threshold" not in exceedance.dims:
        return [(exceedance, "Exceedance")]
    return [(exceedance.sel(threshold=level, drop=True).assign_attrs(threshold=level),
             f"Exceedance of {factor * level:.3g}")
            for level in exceedance["threshold"].values.tolist()]


def threshold_told(exceedance: xr.DataArray, factor: float, unit: str) -> str:
    """Of what the exceedance is the probability, such as "P(> 50 per 1,000 people)"."""
    threshold = exceedance.attrs.get("threshold")
    if threshold is None and "threshold" in exceedance.coords:
        threshold = exceedance["threshold"].values.item()
    per = "per " + unit.split(" per ")[1] if " per " in unit else unit
    if threshold is None:
        return ""
    shown = told(float(threshold) * factor)
    return f"P(share > {shown})" if unit == "share" else f"P(> {shown} {per})".replace(" )", ")")


def known_rate(ds: xr.Dataset) -> tuple[xr.DataArray, str] | None:
    """Fine rate that the dataset knows, with a title: the true one, else the observed one."""
    if "truth" in ds:
        return ds["truth"], "True rate"
    if "individual_value" in ds:
        fine = ds["individual_value"]
        if ds["value"].attrs.get("aggregation", "sum") == "sum":
            fine = fine / ds["weight"]
        return fine, "Observed, fine (not used in fitting)"
    return None
