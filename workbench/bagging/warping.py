"""How rasters are brought to another grid outside the package: one command does not fit all."""

from __future__ import annotations

# gdalwarp takes the nearest pixel unless told otherwise. Pixels of another size or shape then hold
# the people of other pixels, some twice and some never: only sums keep a total. Sums are fractions,
# which the whole numbers of a file would round off.
RESAMPLING = ("-r sum -ot Float32 for people and other counts per pixel (it keeps their total), "
              "-r bilinear for covariates, -r near for codes of classes")


def gdalwarp(to: str) -> str:
    """The commands that bring rasters elsewhere, by what the rasters hold.

    Parameters
    ----------
    to : str
        Options of gdalwarp that say where to, such as ``-t_srs EPSG:32633``.

    Returns
    -------
    str
        A phrase without its full stop.

    Examples
    --------
    >>> gdalwarp("-t_srs EPSG:32633").split(" with ")[0]
    'gdalwarp -t_srs EPSG:32633'
    """
    return f"gdalwarp {to} with {RESAMPLING}"
