"""What a map is of: rates, shares or values, and how a number of them is said with its unit."""

from __future__ import annotations

from workbench.ui.disaggregate.kinds import MEAN, TESTED

SHARE, NOBODY_SAID = "share", "value units"     # of `workbench.plots.rate_unit`
_LONGEST = 46           # letters of the title of a map that fit above it


def called(kind: str) -> str:
    """What one number of a map is.

    Parameters
    ----------
    kind : str
        Of `kinds.KINDS`.

    Examples
    --------
    >>> [called(kind) for kind in ("count", "tested", "mean")]
    ['rate', 'share', 'value']
    """
    return {TESTED: SHARE, MEAN: "value"}.get(kind, "rate")


def said(unit: str) -> str:
    """The unit as it stands behind a number: shares have none, nor what nobody gave a unit.

    Parameters
    ----------
    unit : str

    Examples
    --------
    >>> said("share"), said("value units"), said("cases per 1,000 people")
    ('', '', 'cases per 1,000 people')
    """
    return "" if unit in (SHARE, NOBODY_SAID) else unit


def with_unit(number: str, unit: str) -> str:
    """A number with its unit, where it has one.

    Parameters
    ----------
    number, unit : str

    Examples
    --------
    >>> with_unit("0.19", "share"), with_unit("12", "USD")
    ('0.19', '12 USD')
    """
    return f"{number} {said(unit)}".strip()


def exceeded(noun: str, threshold: float, unit: str) -> str:
    """The title of a map of exceedances, with the unit of the threshold as far as there is room.

    Parameters
    ----------
    noun : str
        Of `called`.
    threshold : float
    unit : str

    Examples
    --------
    >>> exceeded("rate", 15, "deaths per 1,000 people"), exceeded("share", 0.2, "share")
    ('P(rate > 15 deaths per 1,000 people)', 'P(share > 0.2)')
    >>> exceeded("rate", 100, "confirmed cases of malaria per 1,000 people")
    'P(rate > 100 per 1,000 people)'
    """
    told = f"P({noun} > {with_unit(f'{threshold:,g}', unit)})"
    if len(told) > _LONGEST and " per " in unit:
        return f"P({noun} > {threshold:,g} per {unit.split(' per ', 1)[1]})"
    return told


def in_files(noun: str, unit: str) -> str:
    """In what files and programs hold the numbers that the page shows.

    Parameters
    ----------
    noun : str
        Of `called`.
    unit : str
    """
    if noun == "rate":
        return ("In files and programs rates are for one unit of weight; the page shows them in "
                f"{unit}.")
    given = f" in {said(unit)}" if said(unit) else ""
    return f"In files and programs {noun}s are{given} as the page shows them."
