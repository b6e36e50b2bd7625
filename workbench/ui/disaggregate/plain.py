"""What a check found, in the words of the page: kinds of findings, and terms of the program."""

from __future__ import annotations

import re

_KINDS = {
    "amounts": "Amounts instead of counts", "another-turn": "Longitudes in another range",
    "antimeridian": "Areas across 180 degrees",
    "apart": "Areas and rasters do not overlap", "area-empty": "Areas without population",
    "area-cut": "Areas beyond the raster", "area-without-weight": "Areas mostly without population",
    "check": "The check", "count-above-weight": "Totals above the population",
    "dataset": "The data", "input": "The input", "rates": "Rates instead of totals",
    "thousands": "Totals that may be in thousands", "truth-values": "Yes or no instead of totals",
    "class-codes": "Codes of classes", "collinear": "Covariates that repeat each other",
    "column-unused": "Columns that are not used", "constant": "A covariate that is constant",
    "copied-outline": "Outlines that are the same", "cost": "Cost of a fit",
    "covers-none": "A covariate of another place",
    "covariate-infinite": "Infinite values of a covariate",
    "covariate-missing": "Missing values of a covariate", "crs-degrees": "Degrees, not metres",
    "crs-differs": "Different coordinate systems", "crs-missing": "No coordinate system",
    "duplicate-id": "Names that are not unique", "extrapolation": "Extrapolation inside areas",
    "few-areas": "Few areas", "few-events": "Few events", "grid-differs": "Different pixels",
    "id-missing": "Names are missing", "inseparable": "Covariates that are hard to tell apart",
    "left-out": "Population of areas left out", "level": "Level of the areas",
    "memory": "Memory of a fit", "merged": "Merged areas", "model": "The model",
    "nodata": "Pixels marked as missing", "nodata-mark": "Values that may mark missing pixels",
    "not-numbers": "Totals that are not numbers", "outside": "Population outside the areas",
    "overlap": "Areas that overlap", "own-grid": "Grid of the map",
    "parent-elsewhere": "Places outside their area",
    "parent-missing": "Places without an area", "parent-total": "Totals that do not add up",
    "parent-scattered": "Places of one area far apart",
    "parent-unmatched": "Places of unknown areas", "polygons": "Areas", "raster": "Raster",
    "row-missing": "Areas without a row", "row-unknown": "Rows without an area",
    "shape-broken": "Broken outlines", "shape-empty": "Areas without outlines",
    "shape-flat": "Outlines of zero area", "shape-invalid": "Outlines that cross themselves",
    "shape-mixed": "Points or lines among outlines", "time": "Time of a fit",
    "table": "Table of totals", "treated": "How the files were read", "value": "Totals",
    "value-alone": "One total unlike the others", "value-fractional": "Totals with fractions",
    "value-infinite": "Totals without bound",
    "value-mark": "A value that may mark a missing one", "value-missing": "Totals are missing",
    "value-negative": "Totals below zero",
    "warning": "Something to look at", "weight-missing": "Pixels without a population",
    "weight-negative": "Population below zero", "weight-zero": "Places where nobody lives",
}
_WHERE = {"weight": "population", "polygons": "areas", "individuals": "places", "value": "totals"}
_TERMS = (
    (r"is the weight the population", "is it the population"),
    (r"individuals are pixels", "the map has the pixels"),
    (r"individuals are a grid", "the map has a grid"),
    (r"weighted by their area in km²", "each counted by its area in km²"),
    (r"weighted by one each", "each counted as one"),
    (r"individuals of zero weight", "places without population"),
    (r"without a weight are not individuals", "without a population are left out"),
    (r"\bof (?:a )?positive weight", "with a positive population"),
    (r"\bweighted pixels", "pixels with a population"),
    (r"\bsplit by weight", "population split"),
    (r"% of the weight\b", "% of the population, or of the area where none is given,"),
    (r"\b(the|The|no|No|a|A) weight\b", r"\1 population"),
)
#: What a finding advises in the words of Python and the command line, and in those of the page.
_ADVICE = (
    (r"join small areas to their neighbours by areas=\d+",
     "choose fewer under Areas seen, which joins small areas to their neighbours"),
    (r"take smaller pixels by grid_size=\d+", "take smaller pixels by the button"),
    (r"state it with (polygon|raster)_crs='EPSG:\.\.\.'",
     "type its EPSG code into the field above"),
    (r", with (polygon|raster)_crs='(LOCAL_CS.*)'$", r", \2"),
    (r", or pass \w+='\w+' to (leave .+ out)$", r", or \1 by the button"),
    (r", or say (aggregation='mean'|kind='continuous')$", ""),
    (r"^If they are, say aggregation='mean'$", "If they are, say so by the button"),
)
_PLACES = ((r"\bindividuals\b", "places"), (r"\bindividual\b", "place"))
_PARTS = ((r"\bindividuals\b", "pixels and parts of pixels"),
          (r"\bindividual\b", "pixel or part of one"))
_ONE = re.compile(r"(?<![\d.,])\b1 (area|place|pixel|polygon|value|count|point)s\b"
                  r"(?:([^.;:,]{0,60}?) (have|were|are)\b)?")
_VERBS = {"have": "has", "were": "was", "are": "is"}


def kind(code: str) -> str:
    """What kind of finding it is.

    Parameters
    ----------
    code : str
        Of the finding.

    Examples
    --------
    >>> kind("value-fractional"), kind("new-kind")
    ('Totals with fractions', 'New kind')
    """
    return _KINDS.get(code) or code.replace("-", " ").capitalize()


def where(name: str) -> str:
    """What a finding is about: the name of an area or file stays.

    Parameters
    ----------
    name : str
    """
    return _WHERE.get(name, name)


def on_page(fix: str) -> str:
    """What a finding advises, in the words of the page.

    Parameters
    ----------
    fix : str
        Of the finding.

    Examples
    --------
    >>> on_page("correct it, or pass empty='drop' to leave its row out")
    'correct it, or leave its row out by the button'
    """
    for pattern, words_here in _ADVICE:
        fix = re.sub(pattern, words_here, fix)
    return fix


def words(text: str, parts: bool = False) -> str:
    """A text of a check without the terms of the program.

    Parameters
    ----------
    text : str
    parts : bool
        Whether areas share pixels, so that individuals are also parts of them.

    Examples
    --------
    >>> words("3 individuals of zero weight were dropped")
    '3 places without population were dropped'
    >>> words("the weight raster 'weight.tif' has 2 negative pixels")
    "the population raster 'weight.tif' has 2 negative pixels"
    >>> words("a fit to 1,707 individuals", parts=True)
    'a fit to 1,707 pixels and parts of pixels'
    >>> words("1 areas have no value"), words("1 areas without a CRS were kept")
    ('1 area has no value', '1 area without a CRS was kept')
    """
    for pattern, plain in (*_TERMS, *(_PARTS if parts else _PLACES)):
        text = re.sub(pattern, plain, text)
    return _ONE.sub(_single, text)


def _single(found: re.Match) -> str:
    """One of something, in the singular, with its verb."""
    noun, between, verb = found.groups()
    return f"1 {noun}" + (f"{between} {_VERBS[verb]}" if verb else "")
