"""Classic tables of spatial statistics whose places are known: what maps of them are worth.

    python benchmarks/elsewhere.py              # a quarter of an hour; writes elsewhere.csv

Classic tables of spatial statistics that come with the package libpysal (BSD licence; sources in
its descriptions of them): deaths and homicides, shares, incomes and prices of places, whose values
are known. Places are put together by k-means into areas of some five and some twelve, the models
see totals or means of these, and draws that keep them are compared with the places' own values.
``crps`` and ``rmse`` are weighted, in standard deviations of the places' values; ``cover`` is the
share of places (each counts once) in the 50 % and 95 % intervals, by the randomised PIT, as closed
intervals of small counts cover more than they say; places that are an area alone are left out of
it. The population split, and a GLM on totals, have fitted dispersions; the areas' own mean is one
number, whose CRPS is its error. ``seen`` says in view of which tables priors were chosen, those of
effects of areas and nuggets, by totals of other groupings (benchmarks/place_alone.py, panels.py,
shares.py).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr
from libpysal import examples
from sklearn.cluster import KMeans

import workbench as wb
from workbench.evaluation import crps
from workbench.evaluation.baselines import PopulationSplit, TotalsGLM

RESULTS = Path(__file__).parents[1] / "data" / "results" / "elsewhere.csv"
MEMBERS, SAMPLES = (5, 12), 400
SEEN = ("infant deaths 1974", "infant deaths 1979", "homicides, St. Louis")
COUNT = {"kind": "count", "aggregation": "sum"}
MEAN = {"kind": "continuous", "aggregation": "mean"}
Case = tuple[geopandas.GeoDataFrame, str, str | None, list[str], dict]


def table(name: str, ends: str = ".shp", crs: str | int | None = None) -> pd.DataFrame:
    """A file of an example, by the end of its name; some do not state their CRS."""
    path = next(file for file in examples.load_example(name).get_file_list() if file.endswith(ends))
    if not ends.endswith(".shp"):
        return pd.read_csv(path)
    frame = geopandas.read_file(path)
    return frame if crs is None else frame.set_crs(crs, allow_override=True)


def sids(year: str) -> Case:
    """Sudden infant deaths in North Carolina, beside the share of births that are not white."""
    frame = table("sids2", crs="EPSG:4267").to_crs("EPSG:32119")
    frame["nonwhite"] = frame[f"NWBIR{year}"] / frame[f"BIR{year}"]
    return frame, f"SID{year}", f"BIR{year}", ["nonwhite"], COUNT


def homicides() -> Case:
    """Homicides in counties about Saint Louis, 1988 to 1993, beside an index of deprivation."""
    frame = table("stl", crs="EPSG:4326").to_crs("EPSG:26915")
    return frame, "HC8893", "PO8893", ["RDAC90"], COUNT


def tokyo() -> Case:
    """Deaths at ages 25 to 64 in municipalities of Tokyo, beside those expected."""
    frame = pd.concat([table("tokyo"), table("tokyo", "Tokyomortality.csv")], axis=1)
    return frame, "db2564", "eb2564", ["OCC_TEC", "OWNH", "POP65", "UNEMP"], COUNT


def georgia(value: str) -> Case:
    """A share of the people of counties of Georgia, in per cent, beside others."""
    frame = table("georgia", crs="EPSG:26917")
    others = [name for name in ("PctRural", "PctEld", "PctFB", "PctPov", "PctBlack")
              if name != value]
    return frame, value, "TotPop90", others, MEAN


def columbus(value: str, other: str) -> Case:
    """Burglaries and thefts per 1,000 households, or the value of houses, beside incomes."""
    frame = table("columbus", crs="EPSG:32617")         # in a unit of its own
    frame["geometry"] = frame.geometry.scale(1000, 1000, origin=(0, 0))
    return frame, value, None, ["INC", other], MEAN


def houses() -> Case:
    """Prices of houses in Baltimore."""
    frame = table("baltim", crs="EPSG:32618")
    frame["geometry"] = frame.geometry.buffer(1)        # of places in feet
    return frame, "PRICE", None, ["NROOM", "NBATH", "SQFT", "LOTSZ"], MEAN


def incomes() -> Case:
    """Gross product by head of the states of Mexico in 2000, without covariates."""
    frame = table("mexico", "mexicojoin.shp", crs="EPSG:4326").to_crs("EPSG:6372")
    return frame, "PCGDP2000", None, [], MEAN


CASES: dict[str, Callable[[], Case]] = {
    "infant deaths 1974": lambda: sids("74"), "infant deaths 1979": lambda: sids("79"),
    "homicides, St. Louis": homicides, "deaths, Tokyo": tokyo,
    "degrees, Georgia": lambda: georgia("PctBach"), "poverty, Georgia": lambda: georgia("PctPov"),
    "black people, Georgia": lambda: georgia("PctBlack"),
    "crime, Columbus": lambda: columbus("CRIME", "HOVAL"),
    "house values, Columbus": lambda: columbus("HOVAL", "CRIME"),
    "house prices, Baltimore": houses, "product by head, Mexico": incomes}


def bagged(case: Case, members: int) -> xr.Dataset:
    """The places of a case in areas of about so many; their own values are kept beside."""
    frame, value, weight, covariates, what = case
    columns = [value, *covariates, *([weight] if weight else [])]
    frame = frame[[*columns, "geometry"]].astype(dict.fromkeys(columns, float))
    centre = frame.geometry.centroid
    groups = KMeans(round(len(frame) / members), n_init=5, random_state=0).fit_predict(
        np.column_stack([centre.x, centre.y]))
    return wb.bag_children(
        frame.assign(area=[f"area {k:03d}" for k in groups]), parent="area", value=value,
        covariates=covariates, weight=weight or "uniform", **what)


def draws(ds: xr.Dataset) -> Iterator[tuple[str, np.ndarray, float]]:
    """Draws of the places' values that keep those of the areas, by each model, and seconds."""
    counts = ds["value"].attrs["kind"] == "count"
    models = {"auto": wb.Auto(workers=1), "VBAgg": wb.VBAgg(), "one rate": wb.Constant()}
    if counts:
        models |= {"population split": PopulationSplit(), "GLM on totals": TotalsGLM()}
    weight = ds["weight"].values if counts else 1
    for name, model in models.items():
        started = time.process_time()
        drawn = model.fit(ds).sample(ds, SAMPLES, preserve_totals=True, seed=0).values
        yield name, drawn / weight, time.process_time() - started
    if not counts:
        yield "areas' own mean", ds["value"].values[ds["membership"].values][None], 0.0


def rows(only: str) -> Iterator[dict[str, object]]:
    """All models of all cases, or of one."""
    for name, case in CASES.items():
        for members in MEMBERS if only in name else ():
            ds = bagged(case(), members)
            known, weight = ds["individual_value"].values.astype(float), ds["weight"].values
            known = known / weight if ds["value"].attrs["kind"] == "count" else known
            ds = ds.drop_vars("individual_value")
            unit = np.sqrt(np.cov(known, aweights=weight, ddof=0))
            alone = np.bincount(ds["membership"].values)[ds["membership"].values] == 1
            for model, drawn, seconds in draws(ds):
                several = len(drawn) > 1
                score = crps(known, drawn) if several else np.abs(drawn[0] - known)
                row = {"case": name, "seen": name in SEEN, "kind": ds["value"].attrs["kind"],
                       "areas": ds.sizes["bag"], "places": ds.sizes["individual"], "model": model,
                       "crps": np.average(score, weights=weight) / unit,
                       "rmse": np.sqrt(np.average((drawn.mean(0) - known)**2, weights=weight)
                                       ) / unit,
                       "cover 50": covered(known, drawn, 0.5)[~alone].mean() if several else np.nan,
                       "cover 95": covered(known, drawn, 0.95)[~alone].mean(
                           ) if several else np.nan, "seconds": seconds}
                print(pd.Series(row).to_frame().T.to_string(header=False), flush=True)
                yield row


def covered(known: np.ndarray, drawn: np.ndarray, level: float) -> np.ndarray:
    """Whether values lie in the central interval of their draws, ties shared out by chance."""
    same = drawn == known
    chance = np.random.default_rng(0).uniform(size=len(known))
    return np.abs((drawn < known).mean(0) + chance * same.mean(0) - 0.5) < level / 2


def main(only: str = "") -> None:
    """Print each row; store the table, unless it is of one case."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = pd.DataFrame(list(rows(only)))
    if not only:
        found.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
