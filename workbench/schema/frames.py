"""What to do with a table that somebody passes where a dataset belongs."""

from __future__ import annotations


def instead(given: object) -> str:
    """The end of a message: how a dataset is made of a frame of pandas or geopandas.

    Parameters
    ----------
    given : object
        What was passed.

    Returns
    -------
    str
        Empty of anything but a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> instead(pd.DataFrame({"cases": [3]}))[:32]
    '; make a dataset of it first, by'
    """
    if not (hasattr(given, "columns") and hasattr(given, "iloc")):
        return ""
    return ("; make a dataset of it first, by wb.bag_polygons(frame, 'VALUE', covariates) of "
            "areas, wb.bag_points(frame, 'VALUE') of points, wb.from_summaries(frame, 'MEAN', "
            "'N', x='x', y='y') of summaries, or wb.bag_grid(wb.bagging.from_table(frame, "
            "[covariates], 'VALUE'), ...) of individuals")
