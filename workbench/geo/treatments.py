"""Named treatments of imperfect input: each has choices, a safe default, and leaves a record."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal, get_args, get_type_hints

from workbench.bagging.findings import Finding, is_listing, tell
from workbench.checks import DataWarning, choose, warn


@dataclass(frozen=True)
class CleaningOptions:
    """What to do with input that cannot be used as it is.

    What changes no result goes ahead by default (pixels of zero weight are left out, counts
    that are not whole are kept); gaps in covariates are filled from the nearest valid neighbour
    only where they hold less than 1 % of the weight; polygons in another CRS are reprojected,
    invalid outlines repaired, covariates on another grid, of any CRS, averaged where finer and
    interpolated where coarser, slivers of overlap kept where they hold at most 0.1 % of the weight,
    and weight outside all areas is reported. All else is ``"error"``, whose message counts what
    was met and names the option to pass. What is done is recorded in ``ds.attrs["treatments"]``;
    the command line prints it.

    Parameters
    ----------
    crs : {"reproject", "error"}
        Polygons in another CRS than the weight raster.
    align : {"error", "nearest", "bilinear", "average"}
        Covariates on another grid: resample to the weight's.
    missing : {"nearest-if-few", "error", "drop", "nearest"}
        Covariates without a value where there is weight.
    zero_weight : {"auto", "error", "drop"}
        Individuals of zero weight; auto drops pixels alone.
    fractional : {"keep", "error", "round"}
        Counts that are not whole.
    missing_value, empty : {"error", "drop"}
        Areas without a value, or without any individual of positive weight.
    outside : {"report", "error"}
        Weight that falls outside all areas.
    overlap : {"keep-slivers", "error", "keep"}
        Areas that overlap, so weight counts twice.
    duplicates : {"error", "merge", "once"}
        Several polygons with one id: add the values of their parts, or take that of the whole.
    marks : {"error", "mask", "keep"}
        Pixels that look like undeclared marks of missing values: missing, or real.
    """

    crs: Literal["reproject", "error"] = field(
        default="reproject", metadata={"help": "polygons in another CRS than the weight raster"}
    )
    align: Literal["auto", "error", "nearest", "bilinear", "average", "mode"] = field(
        default="auto", metadata={
            "help": "covariates on another grid: resample to the weight's; auto: means of finer "
                    "pixels, bilinear from coarser ones, in another CRS too, an error for codes of "
                    "classes"}
    )
    missing: Literal["nearest-if-few", "error", "drop", "nearest"] = field(
        default="nearest-if-few", metadata={
            "help": "covariates without a value where there is weight; few: below 1 % of it"}
    )
    zero_weight: Literal["auto", "error", "drop"] = field(
        default="auto", metadata={
            "help": "individuals of zero weight; auto: pixels are left out, for nothing can be "
                    "counted there, polygons (which may hold a count) are an error"}
    )
    fractional: Literal["keep", "error", "round"] = field(
        default="keep", metadata={"help": "counts that are not whole"}
    )
    missing_value: Literal["error", "drop"] = field(
        default="error", metadata={"help": "areas without a value"}
    )
    empty: Literal["error", "drop"] = field(
        default="error", metadata={"help": "areas without any individual of positive weight"}
    )
    outside: Literal["report", "error"] = field(
        default="report", metadata={"help": "weight that falls outside all areas"}
    )
    overlap: Literal["keep-slivers", "error", "keep"] = field(
        default="keep-slivers", metadata={
            "help": "areas that overlap, so weight counts twice; slivers: at most 0.1 % of the "
                    "weight, as where a shared border was drawn twice; error: none but rounding, "
                    "a millionth"}
    )
    duplicates: Literal["error", "merge", "once"] = field(
        default="error", metadata={
            "help": "several polygons with one id: merge unites them and adds their values, exact "
                    "copies counted once; once unites them where each has the value of the whole "
                    "area"}
    )
    marks: Literal["error", "mask", "keep"] = field(
        default="error", metadata={
            "help": "pixels that look like undeclared marks of missing values (9999, 255, 1e20): "
                    "mask takes them for missing, keep for real"}
    )

    def __post_init__(self) -> None:
        """Check every choice."""
        hints = get_type_hints(type(self))
        for option in fields(self):
            choose(option.name, getattr(self, option.name), get_args(hints[option.name]))


FEW = 0.01


def must_stop(missing: str, lost_share: float) -> bool:
    """Whether gaps that hold this share of the weight are an error under a treatment.

    Parameters
    ----------
    missing : str
        Of `CleaningOptions`.
    lost_share : float
        Share of the weight without a covariate.

    Returns
    -------
    bool
        True if it is an error.
    """
    return missing == "error" or (missing == "nearest-if-few" and lost_share >= FEW)


def treatments_from(options: dict[str, object]) -> CleaningOptions:
    """Build `CleaningOptions` from keyword options, naming the nearest for an unknown one.

    Parameters
    ----------
    options : dict
        Choices by name of the field.

    Returns
    -------
    CleaningOptions
        The others are at their defaults.
    """
    for name in options:
        choose("option", name, [f.name for f in fields(CleaningOptions)])
    return CleaningOptions(**options)


class Record(list):
    """Sentences on what was done to the input, in order; they end up in the dataset."""

    def note(self, sentence: str, **about: object) -> None:
        """Add a sentence, once; a check lists it with what else `workbench.bagging.tell` takes."""
        if sentence not in self:
            self.append(sentence)
        tell(sentence, **about)

    def suspect(self, found: Finding) -> None:
        """Add what looks wrong and can be used, and warn of it; a check lists it."""
        if is_listing():
            tell(found.what, code=found.code, where=found.where, count=found.count,
                 effect=found.effect, fix=found.fix, severity=found.severity)
        else:
            self.note(f"look at this: {found}")
            warn(str(found), DataWarning)

    def __str__(self) -> str:
        return "\n".join(self) if self else "none"
