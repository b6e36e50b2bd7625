"""Specs of what is done beside mapping: aggregate, predict, rehearse, compare engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.checks import option, require
from workbench.pipeline.base import BaseSpec, check_region
from workbench.pipeline.settings import Settings


@dataclass(frozen=True)
class AggregateSpec(BaseSpec):
    """A stored map to totals of new polygons: the Spec of ``workbench aggregate``.

    Parameters
    ----------
    map : str
        A map that `workbench disaggregate` wrote as .nc.
    to : str
        File of the new polygons, in any CRS.
    id : str, optional
        Column that names them.
    layer : str, optional
        Layer of a file that has several.
    polygon_crs : str, optional
        CRS of polygons that do not state their own.
    period : str, optional
        Period of a map over time that is added up, such as 2021.
    samples : int
        Joint draws, where the map keeps none (--draws) and its model is fitted again.
    weight : str, optional
        Raster of people by which the pixels of a map of points count; otherwise all alike.
    weight_variable : str, optional
        Which variable of a NetCDF file of weights.
    raster_crs : str, optional
        CRS of a raster of weights that does not state its own.
    nodata : float, optional
        Mark of missing pixels in it that is not declared.
    model : str
        Not given: that of the map.
    options, hyperparameters
        Not given: those of the map.
    quantiles, threshold, seed
        As of `BaseSpec`; the threshold is a total.
    """

    command: ClassVar[str] = "aggregate"
    later: ClassVar[Mapping[str, Any]] = {"polygon_crs": None, "period": None, "weight": None,
                                         "weight_variable": None, "raster_crs": None,
                                         "nodata": None}

    map: str
    to: str
    id: str | None = None
    layer: str | None = None
    polygon_crs: str | None = None
    samples: int = 1000
    period: str | None = None
    weight: str | None = None
    weight_variable: str | None = None
    raster_crs: str | None = None
    nodata: float | None = None
    model: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("weight_variable", "raster_crs", "nodata"):
            require(getattr(self, name) is None or self.weight is not None,
                    f"{option(name)} is of the raster of weights; give that with "
                    + option("weight", "people.tif"))
        require(not (self.model or self.options or self.hyperparameters), "the model is that of "
                "the map; leave out model, options and hyperparameters")
        require(self.samples > 1, f"samples must be at least 2, got {self.samples}")


@dataclass(frozen=True)
class RehearseSpec(BaseSpec):
    """Truths on one's own areas, learnt from their totals: the Spec of ``workbench rehearse``.

    Parameters
    ----------
    dataset, dataset_options, level, areas
        As of `Spec`.
    truths : int
        How many truths are drawn.
    truth : str
        What they are drawn from: fitted (the Gaussian process at the hyperparameters fitted to the
        data), prior (at hyperparameters from their priors), or posterior (maps that the fit holds
        possible).
    at : Mapping
        Hyperparameters of the truths, which the model still learns: NAME=VALUE; repeat.
    samples : int
        Draws of each fit that a truth is ranked among.
    skill : float
        Skill over a simple map from which a resolution counts as identifiable.
    model : str
        vbagg, auto, centre-point, constant or aggregated-gp.
    options, hyperparameters, seed
        As of `BaseSpec`.
    quantiles, threshold
        Of maps; a rehearsal makes none.
    """

    command: ClassVar[str] = "rehearse"

    dataset: str
    dataset_options: Mapping = field(default_factory=Settings)
    level: str | None = None
    areas: int | None = None
    truths: int = 20
    truth: str = "fitted"
    at: Mapping = field(default_factory=Settings)
    samples: int = 199
    skill: float = 0.5
    model: str = field(default="vbagg", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._makes_no_map("a rehearsal makes no map")


@dataclass(frozen=True)
class PredictSpec(BaseSpec):
    """A stored fit to a map, without training: the Spec of ``workbench predict``.

    Parameters
    ----------
    fit : str
        File that ``fit.save`` or ``--save-fit`` wrote (.wbfit).
    at : str, optional
        Where to predict, with the same covariates: a bagged .nc, or ``"polygons"`` for files of
        another region; default: where it was fitted.
    at_options : Mapping
        Of these files, as of `Spec`.
    rasters : tuple of str
        Covariate rasters on one grid to map pixel by pixel, each as NAME=FILE or FILE; repeat.
        They may be larger than memory: the output is .zarr, .tif or .cog.tif.
    weight : str, optional
        Raster of the weight of each pixel, for expected_count.
    nodata : float, optional
        Mark of missing pixels that the rasters do not declare.
    chunks : int
        Pixels along the side of the blocks that rasters are mapped in.
    period : str, optional
        Period that is mapped, of fits over time, such as 2021: of rasters and another region also
        one that was not learnt from.
    task : str, optional
        Quantity to map, of fits to several sources.
    area_effect : bool
        Take effects of areas of the fit given their observed total, not over their prior. See
        ``Fit.at``.
    rescale_to_totals : bool
        Let the map add up to the total of every area. See ``preserve_totals`` of
        ``Fit.to_dataset``.
    information : bool
        Map the share of f's prior variance that the data removed, 0 nothing to 1 all.
    components : bool
        Map what covariates, place and area effect add to f, each with its sd.
    draws : int
        Keep so many joint draws of the rate in the map (.nc), for `workbench aggregate`.
    model : str
        Always ``stored``: the model is that of the fit.
    options, hyperparameters
        None: they are those of the fit.
    quantiles, threshold, seed
        As of `BaseSpec`.
    """

    command: ClassVar[str] = "predict"
    later: ClassVar[Mapping[str, Any]] = {"at_options": Settings(), "rasters": (), "weight": None,
                                          "nodata": None, "chunks": 1024, "period": None}

    fit: str
    at: str | None = None
    at_options: Mapping = field(default_factory=Settings)
    rasters: tuple[str, ...] = ()
    weight: str | None = None
    nodata: float | None = None
    chunks: int = 1024
    period: str | None = None
    task: str | None = None
    area_effect: bool = True
    rescale_to_totals: bool = False
    information: bool = False
    components: bool = False
    draws: int = 0
    model: str = field(default="stored", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_region(self.at, self.at_options)
        check_rasters(self)
        require(self.model == "stored" and not self.options and not self.hyperparameters,
                "a stored fit has its model, options and hyperparameters; leave them out, or move "
                "it in Python with fit.with_hyperparameters")


def check_rasters(spec: PredictSpec) -> None:
    """Refuse what a map of rasters in blocks has none of, and its options without rasters."""
    if not spec.rasters:
        given = [name for name in ("weight", "nodata") if getattr(spec, name) is not None]
        require(not given and spec.chunks == PredictSpec.chunks, "weight, nodata and chunks are of "
                "rasters; name these with " + option("rasters", ("FILE",)))
        return
    for name in ("at", "task", "rescale_to_totals", "information", "components", "draws"):
        value = getattr(spec, name)
        require(not value, f"rasters are mapped in blocks, without {option(name, value)}; leave it "
                "out")
    require(spec.chunks > 0, f"chunks must be at least 1 pixel, got {spec.chunks}")


@dataclass(frozen=True)
class EnginesSpec(BaseSpec):
    """One model by several engines on small data: the Spec of ``workbench engines``.

    Parameters
    ----------
    dataset, dataset_options, level, areas
        As of `Spec`.
    engines : tuple of str
        exact, vi or nuts; repeat. Default: all that the model allows.
    fix_hyperparameters : bool
        Fix the hyperparameters at those that vi finds, for all engines.
    draws : int
        Draws of each chain that are kept.
    warmup : int
        Draws of each chain before them.
    chains : int
        Chains of the sampler.
    limit : int
        Minutes that sampling may take; what would take longer is refused.
    model : str
        Always vbagg.
    options, hyperparameters, seed
        As of `BaseSpec`.
    quantiles, threshold
        Not for engines, which are compared by mean and sd: leave them at their defaults.
    """

    command: ClassVar[str] = "engines"

    dataset: str
    dataset_options: Mapping = field(default_factory=Settings)
    level: str | None = None
    areas: int | None = None
    engines: tuple[str, ...] = ()
    fix_hyperparameters: bool = False
    draws: int = 500
    warmup: int = 500
    chains: int = 4
    limit: int = 15
    model: str = field(default="vbagg", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._makes_no_map("engines are compared by mean and sd")
