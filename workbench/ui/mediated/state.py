"""What the user has chosen: selections of canonical values, and a URL that carries them all."""

from __future__ import annotations

from collections.abc import Mapping

import param

from workbench.ui.base.fitted import EVIDENCE, Learnt
from workbench.ui.base.state import named, nearest
from workbench.ui.mediated.model import KERNELS, KINDS, MEDIATED, Model
from workbench.ui.mediated.worlds import HOURS, LEVELS, PLACES, Place, offered, stops

SHARES = {"none: every bag has its target": 0.0, "25 % of blocks are targets only": 0.25,
          "50 % of blocks are targets only": 0.5, "75 % of blocks are targets only": 0.75}
RIDGES = [float(f"1e{power}") for power in range(-10, 3)]
SHARES_OF_PLACE = [0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99]
SPREADS, NOISES = stops(0.05, 60), stops(0.01, 6)
DATA = ("source", "hour", "level", "draw", "side", "share", "split")


#: Choices that a fit can find, where they apply.
LEARNABLE = ("lengthscale", "spread", "detail", "detail_spread", "noise", "far", "near",
             "share_of_place", "ridge")
#: Choices of what is shown, on which no result depends.
SHOWN_ONLY = ("covariate",)


class State(Learnt):
    """All choices of the app."""

    apart = SHOWN_ONLY

    source = param.Selector(doc="Fields that are known everywhere, so that maps can be scored.")
    hour = param.Selector(objects=named(list(HOURS), "{} UTC"), doc="Hour of the forecast.")
    level = param.Selector(
        objects={f"{height:,} m above ground": level for level, height in LEVELS.items()},
        doc="Height of the temperature to be predicted.")
    draw = param.Selector(objects=list(range(10)), doc="Seed of the synthetic globe.")
    side = param.Selector(doc="Side of the blocks: a bag is the pixels of a block, a target their "
                              "mean temperature.")
    share = param.Selector(
        objects=SHARES, default=0.5,
        doc="These blocks report temperature but no covariates; all others report covariates but "
            "no temperature.")
    split = param.Selector(objects=list(range(10)), doc="Seed of which blocks are targets.")
    model = param.Selector(objects=KINDS, doc="How the fine map is predicted from coarse targets.")
    kernel = param.Selector(objects=KERNELS, doc="Covariance of the field at two pixels: a sum "
                                                 "of a kernel on place and one on covariates.")
    lengthscale = param.Selector(doc="Distance over which the correlation over place falls.")
    spread = param.Selector(objects=named(SPREADS, "{} K"), default=0.56,
                            doc="Prior standard deviation of the term on place.")
    detail = param.Selector(doc="Difference of covariates over which the correlation falls.")
    detail_spread = param.Selector(objects=named(SPREADS, "{} K"), default=0.8,
                                   doc="Prior standard deviation of the term on covariates.")
    noise = param.Selector(objects=named(NOISES, "{} K"), default=0.1,
                           doc="Standard deviation σ of a target around its conditional mean.")
    mediator = param.Selector(doc="What is known of every block, bag or target: it says which "
                                  "bags are similar to a target.")
    joint = param.Selector(
        objects={"sum: similar in either": "sum", "product: similar in both": "product"},
        doc="How ℓ joins place and mediating field; the paper's is the sum.")
    far = param.Selector(doc="Distance over which blocks are similar.")
    near = param.Selector(doc="Difference of the mediator over which blocks are similar.")
    share_of_place = param.Selector(objects=named(SHARES_OF_PLACE, "{}"), default=0.9,
                                    doc="Share of the variance of ℓ that place has in the sum.")
    ridge = param.Selector(objects=named(RIDGES, "{}"), default=1e-7,
                           doc="Ridge λ of the conditional mean operator: with a larger one, a "
                               "target uses more bags.")
    covariate = param.Selector(doc="Which covariate is shown; the model uses all.")

    def __init__(self, **given):
        self.param.source.objects = offered()
        self._place = self._field = None
        super().__init__(source="uk")
        self._offer()
        self.choose(given)

    @property
    def place(self) -> Place:
        """What the present source offers."""
        return PLACES[self.source]

    @property
    def field(self) -> str:
        """The mediating field; empty if places alone mediate."""
        first = self.mediator.split(".")[0]
        return "" if first == "place" else first

    @property
    def by_place(self) -> bool:
        """Whether places mediate."""
        return self.mediator.endswith("place")

    @param.depends("source", "level", "mediator", watch=True)
    def _offer(self) -> None:
        place = self.place
        unit = "°" if place.unit == "degree" else f" {place.unit}"
        moved = self._place != self.source
        self._place = self.source
        with param.parameterized.batch_call_watchers(self):
            self.offer("side", {self._block(side): side for side in place.sides})
            self.offer("lengthscale", named(stops(*place.reach), f"{{}}{unit}"))
            low, high = place.reach     # blocks may be alike far beyond the map
            self.offer("far", named(stops(low, 8 * high), f"{{}}{unit}"))
            low, high, of = place.detail
            self.offer("detail", named(stops(low, high), f"{{}} {of}"))
            self.offer("covariate", {n.replace("_", " "): n for n in covariates(self.source)})
            self.offer("mediator", self._mediators())
            start = dict(place.start)
            near = start.pop("near")
            if moved:
                self.param.update(**start)
            self._nearness(near if moved else None)

    def _block(self, side: int) -> str:
        unit = {"degree": "°"}.get(self.place.unit, f" {self.place.unit}")
        return f"{side * self.place.thin * self.place.pixel:g}{unit}"

    def _mediators(self) -> dict:
        own = f"theta_{self.level}" if self.source == "uk" else ""
        fields = {n: t for n, (t, *_) in self.place.mediators.items() if n != own}
        first = self.place.start["mediator"].split(".")[0]
        ordered = sorted(fields, key=lambda n: n != first)      # the others as they are
        both = {f"{fields[n]} and place": f"{n}.place" for n in ordered}
        return both | {"place alone": "place"} | {f"{fields[n]} alone": n for n in ordered}

    def _nearness(self, start: float | None) -> None:
        field = self.field or next(iter(self.place.mediators))
        _, unit, scale = self.place.mediators[field]
        values = stops(scale / 40, 40 * scale)
        self.offer("near", named(values, f"{{}} {unit}"))
        if start is not None or self._field != field:
            self._field, self.near = field, nearest(values, start or scale)

    # what the choices mean

    @property
    def world_key(self) -> tuple:
        """What the fields depend on: arguments of `worlds.world`."""
        uk = self.source == "uk"
        return (self.source, self.hour if uk else 10, self.level if uk else 1,
                0 if uk or self.source == "cmip6" else self.draw)

    @property
    def data_key(self) -> tuple:
        """What bags and targets depend on, mediators included."""
        return (*self.world_key, self.side, self.share, self.split if self.share else 0,
                self.mediator)

    @property
    def block(self) -> float:
        """Side of a block, which is the spacing of bags."""
        return self.side * self.place.thin * self.place.pixel

    @property
    def mediator_kernel(self) -> str:
        """ℓ in the grammar of kernels."""
        if not self.field:
            return "matern32"
        if not self.by_place:
            return "rbf"
        return f"matern32(coordinates){'+' if self.joint == 'sum' else '*'}rbf(covariates)"

    @property
    def chosen(self) -> Model:
        """The model with its hyperparameters."""
        return Model(
            self.model, self.kernel, self.mediator_kernel, self.lengthscale, self.spread,
            self.detail, self.detail_spread, self.noise, self.far, self.near, self.share_of_place,
            self.ridge)

    def inapplicable(self, name: str) -> str:
        """Why a choice has no effect at present; empty if it has."""
        mediated = self.model in MEDIATED
        if name in ("hour", "level") and self.source != "uk":
            return "only the forecast has hours and levels"
        if name == "draw" and self.source != "made":
            return "only made fields are drawn"
        if name == "split" and not self.share:
            return "all blocks are both"
        if name in ("kernel", "lengthscale", "spread", "detail", "detail_spread", "noise") and (
                self.model == "bilinear"):
            return "interpolation has no kernel"
        if name in ("detail", "detail_spread") and self.kernel == "place":
            return "this kernel looks at place alone"
        if name == "detail" and self.kernel == "matern32.linear":
            return "a straight line has no lengthscale"
        if name in ("mediator", "joint") and not mediated and (
                self.model == "bilinear" or not self.share):
            return "this model takes matched data as they are"
        if name in ("far", "near", "share_of_place", "ridge") and not mediated:
            return "only conditional mean processes are mediated"
        if name in ("joint", "share_of_place") and not (self.field and self.by_place):
            return "there is only one"
        if name == "share_of_place" and self.joint != "sum":
            return "a product has no shares"
        if name == "far" and not self.by_place or name == "near" and not self.field:
            return "does not mediate"
        return ""

    @property
    def learnable(self) -> tuple[str, ...]:
        """Those of `LEARNABLE` that have an effect at present."""
        return tuple(name for name in LEARNABLE if not self.inapplicable(name))

    def stops(self, values: Mapping[str, float]) -> dict[str, float]:
        """Stops of the sliders nearest to learnt values."""
        return {name: nearest(self._stops(name), value) for name, value in values.items()}

    @property
    def beyond(self) -> list[str]:
        """Sliders on an end beyond which the fit lies, by more than half a step."""
        found = []
        for name, value in self.fit.items():
            if name != EVIDENCE:
                first, second, *_, last_but_one, last = self._stops(name)
                if not first**1.5 / second**0.5 <= value <= last**1.5 / last_but_one**0.5:
                    found.append(name)
        return found

    def _stops(self, name: str) -> list[float]:
        return list(self.param[name].names.values())


def covariates(source: str) -> tuple[str, ...]:
    """Covariates of the pixels of a source."""
    return {"uk": ("orography",), "cmip6": ("altitude",)}.get(
        source, ("altitude", "cloud_albedo", "cloud_cover"))
