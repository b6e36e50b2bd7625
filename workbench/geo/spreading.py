"""A population that is known by area alone, spread over the pixels of each."""

from __future__ import annotations

import numpy as np

from workbench.bagging.findings import WARNING, refuse
from workbench.checks import option
from workbench.geo.attributes import numeric_column
from workbench.geo.treatments import CleaningOptions, Record


def inhabited(areas, column: str, options: CleaningOptions, record: Record) -> np.ndarray:
    """Which areas have a population that can be spread.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id.
    column : str
        With the population of each area.
    options : CleaningOptions
        ``empty`` says what to do with areas where nobody lives, or nobody knows how many.
    record : Record
        Receives what was done.

    Returns
    -------
    bool array (area,)
        False for areas to be dropped.

    Raises
    ------
    InputError
        If there is no such column of numbers, a population is negative, or one is zero or missing
        and that was not allowed.
    """
    people = numeric_column(areas, column, "population")
    negative, none = people < 0, ~(people > 0)
    if negative.any():
        refuse(f"the population {column!r} of {int(negative.sum())} areas is negative (first: area "
               f"{areas.index[negative][0]!r} with {people[negative][0]:g})", "correct the column, "
               "or name another", code="weight-negative", where=areas.index[negative],
               count=int(negative.sum()))
    elif none.any():
        names = areas.index[none]
        about = {"code": "area-empty", "where": names, "count": len(names)}
        what = (f"{len(names)} areas have no population in column {column!r} (first: "
                f"{names[:3].tolist()})")
        if options.empty == "error":
            refuse(what, f"pass {option('empty', 'drop')} to leave them out, or fill the column",
                   **about)
        else:
            record.note(f"{what} and were dropped", severity=WARNING, **about,
                        effect="they are not on the map", fix="fill in their population")
    return ~none


def spread(people: np.ndarray, area: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weights that add up to the population of each area, in the proportions of other weights.

    Parameters
    ----------
    people : array (area,)
        Population of each area.
    area : int array (individual,)
        Position of the area of each individual.
    weight : array (individual,)
        Positive, in any unit.

    Returns
    -------
    array (individual,)
        Persons.

    Examples
    --------
    >>> import numpy as np
    >>> spread(np.array([100.0, 30.0]), np.array([0, 0, 1]), np.array([1.0, 3.0, 7.0])).tolist()
    [25.0, 75.0, 30.0]
    """
    return weight * (people / np.bincount(area, weight, people.size))[area]
