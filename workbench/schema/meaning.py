"""What values of areas are where it is not said: sums or means, of what kind, in what unit."""

from __future__ import annotations

#: Of values whose unit nobody says.
UNITS = {"count": "cases", "continuous": "value units"}


def meant(aggregation: str | None, kind: str | None, errors: object = None,
          trials: object = None) -> tuple[str, str]:
    """Whether values are sums or means, and of what kind, where it is not said.

    Values with standard errors are means, means are continuous, and all others are counts.

    Parameters
    ----------
    aggregation, kind : str, optional
        As they were given.
    errors, trials : object, optional
        What names standard errors, and how many were tested; None for neither.

    Returns
    -------
    (str, str)
        Aggregation and kind.

    Examples
    --------
    >>> meant(None, None), meant("mean", None), meant(None, "continuous")
    (('sum', 'count'), ('mean', 'continuous'), ('sum', 'continuous'))
    """
    aggregation = aggregation or ("sum" if errors is None else "mean")
    means = aggregation == "mean" and trials is None
    return aggregation, kind or ("continuous" if means else "count")
