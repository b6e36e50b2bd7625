"""What an app offers for each dataset: granularities, kernels, and the stops of its sliders.

All of it is known without loading the dataset, so that a URL can be read in no time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.checks import InputError

LEARNT = "learnt"
BEYOND = 1_000          # times the ends of the slider, between which a fit's lengthscale may lie
TRUTH, OBSERVED, SPLIT = "known", "observed", "split"
BESIDE = {"Truth": TRUTH, "Observed": OBSERVED, "Uncertainty": "std", "Exceedance": "exceedance",
          "Information": "information", "Components": "components", "Rank": "ranks",
          "Extrapolation": "beyond", "Population split": SPLIT}
OWN = "own-"            # and a number: names of a user's own data, in addresses of one session
_MAPS = {
    "regression + Matérn 3/2 map": "linear+matern32",
    "regression + Matérn 1/2 map (rough)": "linear+matern12",
    "regression + Matérn 5/2 map (smooth)": "linear+matern52",
    "regression + RBF map (very smooth)": "linear+rbf(coordinates)",
    "flexible covariates + Matérn 3/2 map": "rbf(covariates)+matern32(coordinates)",
    "Matérn 3/2 map alone": "matern32(coordinates)",
    "regression alone": "linear",
}
#: Kernels of models that auto weighs and that have one lengthscale: each can be explored alone.
ALONE = {
    "matern32(coordinates)": "Matérn 3/2 map alone",
    "matern32(covariates)": "Matérn 3/2 of covariates alone",
    "linear(covariates)+matern32(coordinates)": "regression + Matérn 3/2 map, as in auto",
    "matern32(covariates)+matern32(coordinates)": "Matérn 3/2 of covariates + Matérn 3/2 map",
    "matern32": "Matérn 3/2 of covariates and place together",
}
_INPUTS = {
    "RBF": "rbf",
    "Matérn 5/2": "matern52",
    "Matérn 3/2": "matern32",
    "Matérn 1/2 (rough)": "matern12",
    "regression alone": "linear",
}


@dataclass(frozen=True)
class Choice:
    """One dataset as an app offers it.

    Parameters
    ----------
    title : str
        Its name for people.
    granularities : Mapping
        Label to value: the name of an administrative level, or a number of areas.
    kernels : Mapping
        Label to kernel.
    lengthscales : (float, float)
        Shortest and longest lengthscale offered, in ``unit``.
    unit : str
        Unit of the lengthscale.
    thresholds : tuple of float
        Rates offered as thresholds, in the unit shown.
    threshold : float
        The default among them.
    factor : float
        The unit shown is the natural one times this: 1,000 for a rate per 1,000.
    spread : float
        Size of a typical deviation of the rate, natural units: variances are offered around it.
    axes : (str, str)
        Coordinates that make the map.
    dataset, loader : str, Mapping
        As of a `Spec`, where they are not the name of the dataset and nothing.
    large : bool
        Whether individuals are too many for the exact model.
    known : bool
        Whether the data know fine rates, to be seen beside the map.
    kind : str
        What the values are, as of `kinds`.
    negative : bool
        Whether some of them are below zero.
    """

    title: str
    granularities: Mapping[str, str]
    lengthscales: tuple[float, float]
    unit: str
    thresholds: tuple[float, ...]
    threshold: float
    factor: float
    spread: float
    kernels: Mapping[str, str] = field(default_factory=lambda: dict(_MAPS))
    axes: tuple[str, str] = ("x", "y")
    dataset: str = ""
    loader: Mapping = field(default_factory=dict)
    large: bool = False
    known: bool = True
    kind: str = "count"
    negative: bool = False

    @property
    def beside(self) -> dict[str, str]:
        """Maps that can stand beside the estimate, by label."""
        without = {TRUTH: not self.known, SPLIT: self.kind in ("mean", "tested")}   # no totals
        return {label: name for label, name in BESIDE.items() if not without.get(name)}

    def kernels_with(self, more: str) -> dict[str, str]:
        """Kernels by label, and one more where it is one of `ALONE` that these data allow."""
        offered = list(self.kernels.values())
        place = any("coordinates" in one for one in offered) or "coordinates" not in more
        covariates = len(offered) > 1 or more == "matern32(coordinates)"
        if more in offered or more not in ALONE or not (place and covariates):
            return dict(self.kernels)
        return {**self.kernels, ALONE[more]: more}

    def options(self, granularity: str) -> tuple[dict, str | None, int | None]:
        """Loader options, level and number of areas of a granularity."""
        if "roll_1" in self.axes:   # its slabs are drawn anew: the points number about the same
            bags = int(granularity)
            return {"n_bags": bags, "mean_size": ROLL_POINTS / bags,
                    "size_std": ROLL_POINTS / bags / 3}, None, None
        if granularity.isdigit():
            return dict(self.loader), None, int(granularity)
        if granularity == "all":
            return dict(self.loader), None, None
        return {}, granularity, None


ROLL_POINTS = 3_500
_KOREA = Choice(
    "Korea: deaths 2020 (real)",
    {"250 districts": "district", "17 provinces": "province", "120 merged areas": "120",
     "60 merged areas": "60", "30 merged areas": "30"},
    (5, 500), "km", (3, 4, 5, 6, 7, 8, 10, 12, 15, 20), 8, 1000, 0.004,
)
_COUNTRY = Choice(
    "Simulated country (truth known)",
    {"120 districts": "district", "24 regions": "region", "6 provinces": "province",
     "60 merged areas": "60", "12 merged areas": "12"},
    (5, 500), "km", (10, 20, 30, 50, 75, 100, 150, 200), 75, 1000, 0.03,
    large=True,
)
_ROLL = Choice(
    "Swiss roll (simulated, truth known)",
    {"50 slabs": "50", "100 slabs": "100", "25 slabs": "25", "10 slabs": "10"},
    (0.3, 30), "sd of covariates", (3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5), 5, 1, 1.0,
    _INPUTS, ("roll_1", "roll_3"),
)
_MADAGASCAR = Choice(
    "Madagascar: malaria 2016 (real)",
    {"109 districts": "district", "22 regions": "region", "60 merged areas": "60"},
    (0.2, 20), "degree", (1, 5, 10, 20, 50, 75, 100, 150, 200), 100, 1000, 0.07,
    large=True, known=False,
)


def choices() -> dict[str, Choice]:
    """The datasets that can be shown here, by name, the default first."""
    offered = {"simulated-country": _COUNTRY, "korea": _KOREA, "swiss-roll": _ROLL}
    return offered | ({"madagascar": _MADAGASCAR} if _has_madagascar() else {})


def lengthscales(choice: Choice, stops: int = 25) -> list[float]:
    """Lengthscales on a logarithmic grid, three significant digits."""
    low, high = choice.lengthscales
    return _grid(low, high, stops)


def a_lengthscale(choice: Choice, text: str) -> float | None:
    """A lengthscale that a fit could have, if a text is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    low, high = choice.lengthscales
    return value if low / BEYOND <= value <= high * BEYOND else None


def variances(choice: Choice, link: str, stops: int = 17) -> list[float]:
    """Variances of the map term on a logarithmic grid, in the squared unit of the link's scale.

    From a thousandth to ten times the square of a typical deviation: 1 where f is the log of the
    rate or of odds, and that of the rate itself under identity.
    """
    one = {"identity": choice.spread**2, "square": choice.spread}.get(link, 1.0)
    return _grid(1e-3 * one, 10 * one, stops)


def nuggets(choice: Choice, link: str) -> list[float]:
    """Standard deviations of the nugget, none among them, on the scale of the link."""
    one = {"identity": choice.spread, "square": choice.spread**0.5}.get(link, 1.0)
    return [0.0] + [_rounded(one * share) for share in (0.1, 0.2, 0.3, 0.5)]


def _grid(low: float, high: float, stops: int) -> list[float]:
    ratio = (high / low) ** (1 / (stops - 1))
    return [_rounded(low * ratio**k) for k in range(stops)]


def _rounded(value: float) -> float:
    return round(value, 2 - math.floor(math.log10(value)))


def kernels_for(covariates: bool) -> dict[str, str]:
    """Kernels by label for a map, of which some need covariates."""
    return {label: kernel for label, kernel in _MAPS.items()
            if covariates or kernel == "matern32(coordinates)"}


def _has_madagascar() -> bool:
    from workbench.datasets import madagascar
    from workbench.datasets.downloads import locate

    try:
        locate("madagascar", madagascar.SHA256, None)
    except InputError:
        return False
    return True


def map_term(kernel: str) -> str:
    """Name of the last term of a kernel, which the sliders move."""
    return re.sub(r"\(.*?\)|ard-", "", kernel).split("+")[-1]


def stop_labels(values: list[float], unit: str) -> dict:
    """Values of a slider by their label, the first of them learnt."""
    return {LEARNT: LEARNT} | {f"{value:g} {unit}".strip(): value for value in values}
