"""Specs: what to load, which model to fit and what to map, as one hashable value for each command.

The command line parses into a Spec, notebooks and apps build them, caches are keyed by them, and
every result carries its own, so a map can always be made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.checks import require
from workbench.pipeline.base import BaseSpec, check_region
from workbench.pipeline.further_specs import AggregateSpec, EnginesSpec, PredictSpec, RehearseSpec
from workbench.pipeline.settings import Settings

__all__ = ["AggregateSpec", "CombineSpec", "EnginesSpec", "MediateSpec", "PredictSpec",
           "RehearseSpec", "SmoothSpec", "Spec"]


@dataclass(frozen=True)
class Spec(BaseSpec):
    """Totals of areas to a fine map: the Spec of ``workbench disaggregate``.

    Parameters
    ----------
    dataset : str
        A name listed by ``workbench datasets``; ``"polygons"`` for files of polygons and rasters
        (``dataset_options`` are then the arguments of `workbench.bag_polygons`, with paths);
        ``"children"`` for polygons inside polygons (those of `workbench.bag_children`, where
        children names the small polygons and polygons the larger ones); ``"points"`` for a table
        of points (those of `workbench.bag_points`); or the path of a bagged dataset stored as
        NetCDF (``.nc``).
    dataset_options : Mapping
        Arguments of the dataset's loader.
    level : str, optional
        Merge the areas up to this level, a label of theirs.
    areas : int, optional
        Merge neighbouring areas until this many are left.
    area_effect : bool
        Take effects of areas given their observed total, not over their prior. See ``Fit.at``.
    folds : int
        Folds of cross-validation over held-out areas; 0 for none.
    folds_scheme : str
        How folds are made: random, blocks (compact on the map), stratified, or a label of the
        areas. See `workbench.evaluation.folds`.
    rescale_to_totals : bool
        Let the map add up to the observed total of every area. See ``preserve_totals`` of
        ``Fit.to_dataset``.
    information : bool
        Map the share of f's prior variance that the data removed, 0 nothing to 1 all.
    components : bool
        Map what covariates, place and area effect add to f, each with its sd.
    draws : int
        Keep so many joint draws of the rate in the map (.nc), for `workbench aggregate`.
    residuals : bool
        Check whether residuals of areas depend on place: Moran's I and a variogram.
    ranks : bool
        Rank the areas by their rate, with intervals and the probability to be in the top tenth.
    at : str, optional
        Map another region with the same covariates: a bagged .nc, a named dataset, or
        ``"polygons"`` for files of its own.
    at_options : Mapping
        Of these files: the arguments of `workbench.polygon_places`, with paths; with a value,
        to set beside what is predicted, those of `workbench.bag_polygons`.
    model, options, hyperparameters, quantiles, threshold, seed
        As of `BaseSpec`.

    Examples
    --------
    >>> spec = Spec(dataset="swiss-roll", options=dict(link="square"))
    >>> Spec.from_json(spec.to_json()) == spec
    True
    """

    command: ClassVar[str] = "disaggregate"
    later: ClassVar[Mapping[str, Any]] = {
        "folds_scheme": "random", "rescale_to_totals": False, "information": False,
        "components": False, "draws": 0, "residuals": False,
        "ranks": False, "at": None, "at_options": Settings()}

    dataset: str
    dataset_options: Mapping = field(default_factory=Settings)
    level: str | None = None
    areas: int | None = None
    area_effect: bool = True
    folds: int = 0
    folds_scheme: str = "random"
    rescale_to_totals: bool = False
    information: bool = False
    components: bool = False
    draws: int = 0
    residuals: bool = False
    ranks: bool = False
    at: str | None = None
    at_options: Mapping = field(default_factory=Settings)
    model: str = field(default="vbagg", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.areas is None or self.areas > 0, f"areas must be at least 1, got {self.areas}")
        require(self.draws >= 0, f"draws must be 0 (none) or more, got {self.draws}")
        check_region(self.at, self.at_options)
        require(self.folds == 0 or self.folds >= 2,
                f"folds must be 0 (none) or at least 2, got {self.folds}")


@dataclass(frozen=True)
class SmoothSpec(BaseSpec):
    """A table of summaries to a map on a grid: the Spec of ``workbench smooth``.

    Parameters
    ----------
    table : str
        CSV or Parquet file, one row per area.
    statistic : str
        Column of the statistic.
    count : str
        Column of the number of observations behind it.
    x : str
        Column of the centre's x or longitude.
    y : str
        Column of the centre's y or latitude.
    variance : str, optional
        Column of the sample variance.
    name : str, optional
        Column that names the areas.
    is_a : str
        What the statistic is: mean, median or proportion.
    cells : int
        Pixels along the longer side of the map.
    crs : str, optional
        Coordinate reference system of x and y, such as EPSG:4326.
    encoding : str, optional
        Of a CSV file that is not UTF-8, such as latin-1.
    model, options, hyperparameters, quantiles, threshold, seed
        As of `BaseSpec`.
    """

    command: ClassVar[str] = "smooth"
    later: ClassVar[Mapping[str, Any]] = {"encoding": None}

    table: str
    statistic: str
    count: str
    x: str
    y: str
    variance: str | None = None
    name: str | None = None
    is_a: str = "mean"
    cells: int = 100
    crs: str | None = None
    encoding: str | None = None
    model: str = field(default="quasi-likelihood", kw_only=True)


@dataclass(frozen=True)
class MediateSpec(BaseSpec):
    """Bags and targets that share covariates alone to a map: the Spec of ``workbench mediate``.

    Parameters
    ----------
    bags : str
        Bagged .nc with mediators, or a named dataset.
    targets : str
        CSV or Parquet file, one row per target.
    value : str
        Column of the observed means.
    mediators : tuple of str
        Covariates whose means over the bags become their mediators, where they have none; repeat.
    noise_variance : str, optional
        Column of known variances of the values.
    encoding : str, optional
        Of a CSV file that is not UTF-8, such as latin-1.
    model : str
        cmp, s-cmp or var-cmp.
    options, hyperparameters, quantiles, threshold, seed
        As of `BaseSpec`.
    """

    command: ClassVar[str] = "mediate"
    later: ClassVar[Mapping[str, Any]] = {"encoding": None}

    bags: str
    targets: str
    value: str
    mediators: tuple[str, ...] = ()
    noise_variance: str | None = None
    encoding: str | None = None
    model: str = field(default="cmp", kw_only=True)


@dataclass(frozen=True)
class CombineSpec(BaseSpec):
    """Several sources of one field to a map: the Spec of ``workbench combine``.

    Parameters
    ----------
    sources : tuple of str
        Bagged .nc files, each as NAME=FILE or FILE, target source first; or one named
        dataset of several sources.
    at : str, optional
        Bagged .nc where to predict; default: the first source, or the named dataset's
        target.
    task : str, optional
        Quantity to map, where sources differ.
    trust : Mapping
        Power of a source's likelihood: NAME=VALUE; repeat.
    area_effect : bool
        Take effects of areas given their observed total, where the model has any (mr-vbagg). See
        ``Fit.at``.
    model : str
        mr-gp, mr-vbagg, mr-gprn, centre-point-gprn, mr-dgp or mr-cascade.
    options, hyperparameters, quantiles, threshold, seed
        As of `BaseSpec`.
    """

    command: ClassVar[str] = "combine"
    later: ClassVar[Mapping[str, Any]] = {"area_effect": False}

    sources: tuple[str, ...]
    at: str | None = None
    task: str | None = None
    trust: Mapping = field(default_factory=Settings)
    area_effect: bool = True
    model: str = field(default="mr-gp", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(bool(self.sources), "there are no sources; name at least one")
