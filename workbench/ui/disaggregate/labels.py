"""Words on steps, buttons and cards, and of the comparison; others are in `messages`."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.evaluation import judgement_words as words
from workbench.ui.base.messages import plainly, sentence

# why a choice is not offered
NORMAL_ONLY = "the exact model always has the identity link and Normal errors"
FLAT_ONLY = "the flat model has no kernel"
FLAT_MAP = "the flat model is shown as one rate everywhere"
AUTO_ONLY = "Auto fits several kernels, with area effects and a nugget, and weights them"
NEEDS_NORMAL = "identity lets rates be negative: choose the Normal likelihood first"
NEEDS_POSITIVE = "these likelihoods need positive rates: choose the link exp or square first"
OVERDISPERSED = "this likelihood is already overdispersed"
NO_NUGGET = "effects of individuals need effects of areas: choose these first"
OWN_SD = "Normal errors have a standard deviation of their own"
NEEDS_BINOMIAL = "positives of those tested need the binomial likelihood"
TOO_MANY = "the exact model needs all pairs of individuals, which are too many in this dataset"
NO_FINE = "no truth is known for these data, only the areas' values"
OWN_GONE = ("these are a user's own data: open the session file, or drop the files again; the "
            "example is shown")
NO_EFFECT = "this model has no random effect of areas or individuals"
DIVIDER = "Divider between estimate and population split"
DIVIDED = "estimate left of {} percent of the map, population split right of it"
EXPLAIN_HIGHEST = "Explain the highest estimate"
MOVE_PLACE = "Place: arrow keys move it by one, with Shift by ten; Escape closes"
MOVED_BY = "Arrow keys move the place, with Shift by ten."
LEFT, RIGHT, UP, DOWN = "To the left", "To the right", "Up", "Down"
COMPARE = "Compare models on these data"
SEE_CHECK, SEE_EXPORTS, FIT_AGAIN = "See the check", "See the exports", "Fit"
TAKE_AUTO, TAKE_DEFAULTS = "Use auto instead", "Use the defaults"
DROP = "Drop files here, or click"
DROPPED = "Drop more files, or click: they are added, and replace those of the same name"
REMOVE, REMOVE_ALL = "Remove {}", "Remove all"
SESSION_NOTE = "One file with all settings, and, where there are any, the fit and your own data."
NOT_SAVED = "This session would be"
OWN = (
    "Drop one file of areas (GPKG, GeoJSON, a shapefile with its parts or zipped) with a column of "
    "counts, means, rates or amounts, or together with a CSV of these by area name. The population "
    "is a column or a raster; covariates are rasters (GeoTIFF, NetCDF, a CSV of pixels). Or drop "
    "one bagged .nc. Files go to the machine that serves this page and are deleted when your "
    "session ends. Up to 15 MB in all; the command line has no limit."
)
STEPS = {"data": "Data", "check": "Check", "areas": "Areas", "model": "Model", "map": "Map",
         "report": "Report"}
STEPS_LABEL = "Steps from data to report"
STEP_MARKS = {"done": "done", "doubt": "look at this", "wrong": "wrong", "next": "to do",
              "busy": "under way"}
STEP_REFUSED, STEP_BUSY, STEP_CLEAN = "files refused", "under way", "no findings"
STEP_READING, STEP_UNCHECKED = "being read", "could not be made"
STEP_LEARNING, STEP_BLOCKED, STEP_FIT = "learning", "correct errors first", "press Fit"
STEP_KINDS = {"learnt": "fitted", "stopped": "stopped early", "moved": "moved by a slider"}
STEP_NO_MAP, STEP_PREVIEW = "none yet", "preview"
STEP_LIGHTS = {"green": "beats simple maps", "amber": "with doubts", "red": "do not rely on it",
               "open": "not yet tested"}
STEP_REPORT, STEP_AFTER_FIT = "ready", "after the fit"


COLUMN, KIND = "Column of the values", "The values are"
STANDARD_ERRORS, TRIALS, NONE_KNOWN = "Standard errors", "How many were tested", "none known"
UNIT = "Unit of the values"
THESE_ARE = "These are {}"
NO_RASTER, NUMBERED = "area (none given)", "numbers"
OF_AREAS = "{}, spread evenly"      # a column of the areas
OF_PIXELS = "{} of {}"              # a column of a CSV of pixels
KEY = "{} = {} ({} areas)"
CRS_FIELD = "CRS of {}, e.g. EPSG:32738"
UNUSED_FIX = ("drop a raster (GeoTIFF, NetCDF) of what a column measures to have it as a "
              "covariate, or choose the column as values or population")

TYPED = "Or type a threshold"
NO_NUMBER = "That is not a number; type one such as 12.5"
NO_COMMA = "Write numbers without commas: a point for decimals, nothing between thousands"
ABOVE_ZERO = "A threshold of these data must be above zero"


def rounded(number: str) -> str:
    """That a number was rounded."""
    return f"Rounded to six digits: {number}"


def no_share(value: float) -> str:
    """That a threshold is no share."""
    instead = f"; {plainly(value)} % is {value / 100:g}" if 1 < value < 100 else ""
    return f"A share lies between 0 and 1{instead}"


def threshold(unit: str) -> str:
    """What the threshold is called."""
    return f"Threshold ({unit})" if unit else "Threshold"


LEARN_AGAIN = "model.fit(ds) learns weights and hyperparameters again."

RESCALE = "Rescale to totals"
RESCALED = ("Exported expected counts (mean × weight) add up to each area's observed total; maps "
            "on the page are not rescaled.")
ADDS_UP = "Exported expected counts (mean × weight) add up to each area's observed total."


def does_not_add_up(area: str, expected: float, observed: float) -> str:
    """How far an exported map is from the areas' totals at most."""
    return ("Exported expected counts (mean × weight) do not add up to the areas' observed totals: "
            f"they differ by up to {plainly(abs(expected - observed))} ({area}: "
            f"{plainly(expected)} expected, {plainly(observed)} observed). \"{RESCALE}\" makes "
            "them add up.")


def text_column(column: str, file: str, wrong: list[str], commas: str = "") -> str:
    """That a column of numbers is text, and which entries made it so; how to write its commas."""
    why = f" ({', '.join(wrong)})" if wrong else ""
    others = " and correct the others" if wrong else ""
    todo = f"{commas}{others}" if commas else "correct it there"
    return f"column {column!r} of {file} is text, not numbers{why}: {todo}"


def no_names(column: str, file: str, why: list[str]) -> str:
    """That a column is not offered as the areas' names."""
    return f"column {column!r} of {file} cannot name the areas: {', '.join(why)}"


def repeated(name: str, count: int) -> str:
    """That a name is there several times."""
    return f"{name[:40]!r} occurs {count} times"


def more_repeated(count: int) -> str:
    """That further names are there several times."""
    return f"{count} more {'is' if count == 1 else 'are'} repeated"


def unnamed(count: int) -> str:
    """That entries are missing."""
    return f"{count} {'entry is' if count == 1 else 'entries are'} empty"


def no_numbers(file: str) -> str:
    """That areas have no column that could be their values."""
    return (f"{file} has no numeric column that could be the values of its areas; add one, or drop "
            "a CSV of values with it.")


def table_alone(file: str, columns: list[str], key: str, value: str, trials: str = "") -> str:
    """What to drop with a table of areas that came without them."""
    joined = f"here {key}" if key else "but none of its columns seems to be one"
    return (f"{file} has no outlines of its areas (only {', '.join(columns)}): drop the polygons, "
            "too (GPKG, GeoJSON, or a zipped shapefile). The table is joined to them by a column "
            f"of names or codes that both have, {joined}. If its rows are points, name the columns "
            f"of their coordinates lon and lat, and {_by_command(file, value, trials)}.")


def points_alone(file: str, axes: list[str], value: str, trials: str = "") -> str:
    """What to do with points, of a table with these axes or shapes; the page has no map of them."""
    what = f"is a table of points ({', '.join(axes)})" if axes else "holds points"
    return (f"{file} {what}, and this page maps values of areas: "
            "drop polygons with a column of values instead, or "
            f"{_by_command(file, value, trials)}.")


def no_areas(file: str, kinds: Sequence[str]) -> str:
    """That shapes of a file have no inside."""
    return (f"{file} holds {', '.join(kinds)}, which have no inside, and this page maps values of "
            "areas: turn them into polygons, e.g. in QGIS, and drop these.")


def _by_command(file: str, value: str, trials: str) -> str:
    tested = f" --trials {trials}" if trials else ""
    return f"map them by `workbench disaggregate --points {file} --value {value}{tested}`"


def taken_as(areas: str, table: str, people: str, covariates: list[str]) -> str:
    """What dropped files are taken for."""
    parts = [f"areas: {areas}", f"values: {table}" if table else "",
             f"population: {people}" if people else "",
             f"covariates: {', '.join(covariates)}" if covariates else "no covariates"]
    return f"Taken as {'; '.join(part for part in parts if part)}."


def unused(columns: Sequence[str]) -> str:
    """Which columns of the areas no map learns from, and why."""
    one = len(columns) == 1
    return (f"{', '.join(columns)} {'is' if one else 'are'} not used: one number for a whole area "
            "cannot tell the places inside it apart, as a covariate must")


def needed(names: list[str]) -> str:
    """Where files of one's own have to lie."""
    many = f"files {', '.join(names[:-1])} and {names[-1]}"
    return f"put this beside the {f'file {names[0]}' if len(names) == 1 else many}"


def not_saved(size: float, most: float) -> str:
    """Why a session is not saved, in megabytes."""
    return (f"{NOT_SAVED} {size:.0f} MB, more than the {most:g} MB that can be opened again. "
            "Download Settings (JSON) instead and run them with `workbench run` beside your files.")


def counted(count: int, what: str) -> str:
    """A number of things."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def step_areas(count: int, few: bool) -> str:
    """How many areas there are."""
    return f"{count:,} areas{', few' if few else ''}"


def compared(rival: str, score: str, ours: float, theirs: float, where: str, sure: bool) -> str:
    """Which of the map and a simple one wins, with the numbers."""
    name = words.listed([rival])
    numbers = (f"{score} {where}: {plainly(ours)} against {plainly(theirs)} "
               f"({words.gap(ours, theirs)})")
    if ours >= theirs:
        return f"{sentence(name)} is at least as good as the estimate. {numbers}."
    if sure:
        return f"The estimate is better than {name}. {numbers}, which is unlikely to be chance."
    return f"The estimate is not clearly better than {name}. {numbers}, which may be chance."


def not_compared(rival: str) -> str:
    """That nothing says which of two maps is better."""
    return f"{sentence(words.listed([rival]))} could not be scored on these data."


def merge_to(label: str) -> str:
    """See fewer areas."""
    return f"Use {label}"


NO_WEIGHT = "no weight was given"
NUMBER_AREAS = "Number the areas instead"
ROWS_OUT = "Leave these rows out"
UNDO = "Undo"
_REMEDIES = {
    ("missing_value", "drop"): "Leave these areas out",
    ("empty", "drop"): "Leave these areas out",
    ("missing", "nearest"): "Use the nearest valid pixel",
    ("missing", "drop"): "Leave these pixels out",
    ("zero_weight", "drop"): "Leave these out",
    ("fractional", "round"): "Round these counts",
    ("fractional", "keep"): "Keep these counts as they are",
    ("marks", "keep"): "Keep these values: they are real",
    ("duplicates", "merge"): "Merge them and add their values",
    ("duplicates", "once"): "Merge them, their value taken once",
    ("overlap", "keep"): "Count the overlap in each area",
    ("overlap", "keep-slivers"): "Count slivers of overlap in each area",
    ("outside", "report"): "Go on without the weight outside",
    ("crs", "reproject"): "Reproject the polygons",
    ("align", "nearest"): "Resample: nearest pixel",
    ("align", "bilinear"): "Resample: bilinear",
    ("align", "average"): "Resample: average",
    ("align", "mode"): "Resample: most frequent",
}


def remedy(name: str, value: object) -> str:
    """An option that corrects a finding, on a button."""
    if name == "nodata":
        marks = value if isinstance(value, list) else [value]
        return f"Treat {', '.join(f'{one:.10g}' for one in marks)} as missing".replace("-", "−")
    if name == "grid_size":
        return f"Use a grid of {value} pixels along the longer side"
    if name == "classes":
        return f"{value} is categorical"
    return _REMEDIES.get((name, value), f"Use {name.replace('_', ' ')} {value}")


def take_crs(crs: str) -> str:
    """State a CRS."""
    return f"Its CRS is {'longitude and latitude, ' if crs == 'EPSG:4326' else ''}{crs}"


def no_such_crs(typed: str) -> str:
    """That a CRS is not known."""
    return f"{typed} is not a known CRS; type its EPSG code, e.g. EPSG:32738 or 32738"


def leave_out(covariate: str) -> str:
    """Leave a covariate out."""
    return f"Leave out {covariate}"


def weigh_by(raster: str) -> str:
    """Take a raster as the weight."""
    return f"Weigh by {raster}"


def corrected(label: str) -> str:
    """That a remedy was applied."""
    return f"Done: {label[0].lower()}{label[1:]}"


def drawn(some: int, count: int) -> str:
    """How many of the pixels of a finding the map shows."""
    if some == count:
        return "this pixel" if count == 1 else f"all {count:,} pixels"
    return f"{some:,} of {count:,} pixels, evenly chosen"
