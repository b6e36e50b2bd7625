"""Scores of a predicted field against the true one as two images on the grid of pixels."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import ndimage
from scipy.special import ndtri

from workbench.checks import require
from workbench.evaluation.accuracy import correlation, mae, rmse
from workbench.schema import INDIVIDUAL

_SIGMA, _RADIUS = 1.5, 5            # the window of Wang et al. 2004: 11 x 11 pixels
_LUMINANCE, _CONTRAST = 0.01, 0.03  # their constants, as shares of the range
#: Range of values that the code released with Chau et al. 2021 assumes: constants of 1e-4 and 9e-4,
#: meant for images between 0 and 1, on fields in Kelvin.
RELEASED_RANGE = 1.0


def structural_similarity(
    observed: ArrayLike, predicted: ArrayLike, data_range: float | None = None
) -> float:
    r"""Mean structural similarity (SSIM) of two images, 1 where they are equal.

    .. math:: \frac{(2\mu_x\mu_y + C_1)(2\sigma_{xy} + C_2)}
                   {(\mu_x^2 + \mu_y^2 + C_1)(\sigma_x^2 + \sigma_y^2 + C_2)}

    with means and covariances under a Gaussian window of 1.5 pixels (11 x 11, population
    statistics), averaged over the pixels whose whole window is known.

    Parameters
    ----------
    observed, predicted : array (rows, columns)
        NaN in ``observed`` marks pixels that are not known.
    data_range : float, optional
        Range L of the values in C1 = (0.01 L)^2, C2 = (0.03 L)^2; that of ``observed`` if not
        given. ``data_range=1`` on fields in Kelvin is what the code of Chau et al. 2021 does: C2
        then hardly damps errors in windows where little happens.

    Returns
    -------
    float
        At most 1.

    Raises
    ------
    InputError
        If shapes differ, predictions are not finite where there is truth, the range is not
        positive, or no window of 11 x 11 pixels is known.

    References
    ----------
    Wang et al. 2004, Image quality assessment, IEEE Transactions on Image Processing 13(4).
    """
    x, y = np.asarray(observed, dtype=float), np.asarray(predicted, dtype=float)
    require(x.ndim == 2 and x.shape == y.shape,
            f"expected two images of one shape, got {x.shape} and {y.shape}")
    known = np.isfinite(x)
    require(bool(np.isfinite(y[known]).all()), "the prediction is not finite everywhere")
    side = 2 * _RADIUS + 1
    inside = ndimage.minimum_filter(known, side, mode="constant", cval=False)
    require(bool(inside.any()), f"no window of {side} x {side} pixels is known; SSIM needs one")
    span = float(np.ptp(x[known])) if data_range is None else float(data_range)
    require(span > 0, f"the range of values must be positive, got {span:g}")
    # Differences from one level, as large common values would cancel badly in the variances.
    level = float(x[known].mean())
    x, y = np.where(known, x - level, 0.0), np.where(known, y - level, 0.0)

    def smooth(image: np.ndarray) -> np.ndarray:
        return ndimage.gaussian_filter(image, _SIGMA, radius=_RADIUS)[inside]

    mx, my = smooth(x), smooth(y)
    vx, vy, both = smooth(x * x) - mx**2, smooth(y * y) - my**2, smooth(x * y) - mx * my
    mx, my = mx + level, my + level
    c1, c2 = (_LUMINANCE * span)**2, (_CONTRAST * span)**2
    ratio = ((2 * mx * my + c1) * (2 * both + c2)) / ((mx**2 + my**2 + c1) * (vx + vy + c2))
    return float(ratio.mean())


def rank_correlation(observed: ArrayLike, predicted: ArrayLike) -> float:
    """Spearman's rank correlation; NaN where either side is constant.

    Parameters
    ----------
    observed, predicted : array
        Of one shape.

    Returns
    -------
    float
        From -1 to 1.
    """
    y, p = (np.asarray(v, dtype=float).ravel() for v in (observed, predicted))
    require(y.shape == p.shape, f"observed has shape {y.shape} but the prediction has {p.shape}")
    if y.size < 2 or np.ptp(y) == 0 or np.ptp(p) == 0:
        return float("nan")
    from scipy.stats import spearmanr  # half a second that pages need not wait for

    return float(spearmanr(y, p).statistic)


def to_image(ds: xr.Dataset, values: ArrayLike) -> np.ndarray:
    """Values of pixels on their grid, (rows, columns), NaN where there is no pixel.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset of pixels: row, column and the attribute grid_shape.
    values : array (individual,)
        One value for each pixel.

    Returns
    -------
    array (rows, columns)
        The image.

    Raises
    ------
    InputError
        If individuals are not pixels, or two share a place.
    """
    require(all(n in ds.coords for n in ("row", "column")) and "grid_shape" in ds.attrs,
            "these individuals are not pixels (no row, column and grid_shape)")
    values = np.asarray(values, dtype=float)
    count = ds.sizes[INDIVIDUAL]
    require(values.shape == (count,), f"expected one value for each of {count} pixels, got shape "
            f"{values.shape}")
    row, column = ds["row"].values, ds["column"].values
    shape = tuple(int(n) for n in ds.attrs["grid_shape"])
    require(np.unique(row * shape[1] + column).size == count, "several individuals are parts of "
            "one pixel; an image needs whole pixels")
    image = np.full(shape, np.nan)
    image[row, column] = values
    return image


def field_scores(
    ds: xr.Dataset,
    mean: ArrayLike,
    std: ArrayLike | None = None,
    level: float = 0.95,
) -> dict[str, float]:
    """Scores of a predicted field against ``truth``, those of Chau et al. 2021 and coverage.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset of pixels with truth.
    mean : array (individual,)
        The predicted field.
    std : array (individual,), optional
        Standard deviations of normal predictions.
    level : float
        What the intervals claim to cover.

    Returns
    -------
    dict of str to float
        ``rmse``, ``mae`` and ``sharpness`` (mean width of the intervals) in units of the truth;
        ``pearson``, ``spearman`` (the paper's "Corr"); ``ssim`` by the range of the truth and
        ``ssim_range_1`` with the released code's constants; ``coverage``, the share of pixels
        inside their intervals. The intervals' scores only where there are intervals.

    Raises
    ------
    InputError
        If there is no truth, individuals are no pixels, or numbers do not match.
    """
    require("truth" in ds, "the dataset has no truth to compare with")
    require(0 < level < 1, f"level must be between 0 and 1, got {level}")
    truth, mean = ds["truth"].values.astype(float), np.asarray(mean, dtype=float)
    images = to_image(ds, truth), to_image(ds, mean)
    scores = {
        "rmse": rmse(truth, mean), "mae": mae(truth, mean),
        "pearson": correlation(truth, mean), "spearman": rank_correlation(truth, mean),
        "ssim": structural_similarity(*images),
        "ssim_range_1": structural_similarity(*images, data_range=RELEASED_RANGE),
    }
    if std is not None:
        half = ndtri((1 + level) / 2) * np.asarray(std, dtype=float)
        low, high = mean - half, mean + half
        scores |= {"coverage": float(((low <= truth) & (truth <= high)).mean()),
                   "sharpness": float((high - low).mean())}
    return scores
