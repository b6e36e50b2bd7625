"""The converged fit that the city opens on: a file that came with the app.

``python -m workbench.ui.sources.stored`` learns it again and writes ``data/fits/city.wbfit``.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import workbench
from workbench.ui.sources.state import CITY, State

NAME = "city.wbfit"
KEY = State(tab=CITY).fit_key
_PACKAGE = Path(workbench.__file__).parent
PLACES = (_PACKAGE / "_fits", _PACKAGE.parent / "data" / "fits")     # installed, repository


@cache
def fit():
    """The stored fit; None where the file did not come along, and it is learnt instead.

    Returns
    -------
    workbench.Fit or None
        Read in a third of a second, and probed: its predictions are those at which it was stored.
    """
    path = next((folder / NAME for folder in PLACES if (folder / NAME).is_file()), None)
    return None if path is None else workbench.load_fit(path)


def write(folder: Path = PLACES[-1]) -> Path:
    """Learn the fit that the app opens on, and store it; takes half a minute.

    Parameters
    ----------
    folder : Path
        Where ``city.wbfit`` goes.

    Returns
    -------
    Path
        The file.
    """
    from workbench.checks import require
    from workbench.ui.sources import city_models
    from workbench.ui.sources.city import city

    found = city_models.fit(city(*KEY.place), KEY)
    require(found.converged, "the fit has not converged and is not stored; raise STEPS in "
                             "workbench/ui/sources/city_models.py")
    folder.mkdir(parents=True, exist_ok=True)
    found.fit.save(folder / NAME)
    return folder / NAME


if __name__ == "__main__":
    sys.stdout.write(f"wrote {write()}\n")
