"""A simulated globe: cloud-top temperature, altitude, clouds and pressure, known everywhere."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.bagging import bag_blocks
from workbench.checks import require

COVARIATES = ("altitude", "cloud_albedo", "cloud_cover")
MEDIATORS = ("pressure", "x", "y")
_SCALE_HEIGHT, _SURFACE = 8.0, 1013.0      # km, hPa
_LAPSE = 6.5                               # K/km


def load(
    size: int = 204,
    block: int = 17,
    seed: int = 0,
    noise: float = 0.2,
    weight: str = "one",
    hidden: float = 0.6,
) -> xr.Dataset:
    """Simulated climate (made): five fields round a globe, temperature seen as means of blocks.

    Temperature falls with the height of cloud tops, a smooth field that pressure tells with an
    error, and varies inside blocks by altitude (colder, the more so under clear sky), cloud cover
    (a smooth step) and cloud albedo (an arch), and by a field that no covariate knows.

    Parameters
    ----------
    size : int
        Rows of pixels from pole to pole; there are twice as many columns.
    block : int
        Side of a block in pixels.
    seed : int
        Another world for every seed.
    noise : float
        Standard deviation in K of the Normal noise on the mean of every block.
    weight : {"one", "cos-latitude"}
        Weight of a pixel in block means.
    hidden : float
        Standard deviation in K of the field that no covariate knows.

    Returns
    -------
    xr.Dataset
        Truth in K without noise; pressure in hPa, altitude in m, cloud cover in %, x and y degrees.

    Raises
    ------
    InputError
        If the grid is too small, or a standard deviation is negative.
    """
    require(size >= 2 * block, f"a size of {size} rows holds fewer than two blocks of {block}")
    require(noise >= 0 and hidden >= 0, f"noise and hidden must be zero or more, got {noise} and "
            f"{hidden}")
    fields = make_fields(size, seed, hidden)
    ds = bag_blocks(fields, "temperature", COVARIATES, MEDIATORS, block, weight=weight)
    # A stream of its own, so that the world is the same with any noise.
    stream = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1])
    ds["value"] = ds["value"] + noise * stream.standard_normal(ds.sizes["bag"])
    ds["value"].attrs |= {"long_name": "temperature at cloud top", "units": "K",
                          "aggregation": "mean", "kind": "continuous"}
    ds.attrs |= {"title": f"A simulated climate, seed {seed}", "source": "simulated",
                 "licence": "BSD-3-Clause", "seed": int(seed), "noise": float(noise)}
    return ds


def make_fields(size: int, seed: int = 0, hidden: float = 0.6) -> xr.Dataset:
    """The five fields on a grid of ``size`` latitudes and twice as many longitudes.

    Parameters
    ----------
    size, seed, hidden
        See `load`.

    Returns
    -------
    xr.Dataset (lat, lon)
        temperature (K), altitude (m), cloud_albedo (1), cloud_cover (%), pressure (hPa).
    """
    shape = (size, 2 * size)
    streams = iter([np.random.default_rng(s)
                    for s in np.random.SeedSequence(seed).spawn(2)[0].spawn(8)])

    def field(wavelength: float, smoothness: float) -> np.ndarray:
        return smooth_field(shape, wavelength, smoothness, next(streams))

    step = 180 / size
    north = -90 + step * (np.arange(size) + 0.5)
    angle = np.deg2rad(north)[:, None]
    # Two octave sums: continents, and mountains on them alone.
    continents, relief = field(0.35, 1.6), field(0.12, 0.9)
    land = np.clip(continents - 0.3, 0, None)
    altitude = 6500 * np.tanh(1200 * land * np.exp(0.7 * relief) / 6500)
    weather = field(0.3, 2.0)
    cloud_cover = 100 / (1 + np.exp(-(0.7 * np.cos(4 * angle) + 0.8 * weather
                                      + 0.9 * field(0.1, 0.8) - 0.25 * land)))
    cloud_albedo = 1 / (1 + np.exp(-(0.5 * (cloud_cover - 50) / 25 - 0.3 + 0.9 * field(0.1, 0.8)
                                     + 0.6 * np.sin(angle)**2)))
    top = 4.5 + 2.5 * np.cos(angle)**2 + 0.9 * weather + 0.8 * field(0.4, 2.2)      # km
    temperature = (
        262 + 22 * np.cos(angle)**2 - _LAPSE * (top - 2.5)
        - 2.2 * altitude / 1000 * (1.3 - 0.6 * cloud_cover / 100)
        - 3.0 * np.tanh((cloud_cover - 60) / 18)
        + 4.0 * np.sin(np.pi * cloud_albedo)**2
        + hidden * field(0.08, 1.5)
    )
    # What a sounder says of the cloud top, blurred by other weather.
    pressure = _SURFACE * np.exp(-(top + 0.5 * field(0.15, 1.5)) / _SCALE_HEIGHT)
    made = {"temperature": (temperature, "K", "temperature at cloud top"),
            "altitude": (altitude, "m", "altitude"),
            "cloud_albedo": (cloud_albedo, "1", "cloud albedo"),
            "cloud_cover": (cloud_cover, "%", "cloud cover"),
            "pressure": (pressure, "hPa", "pressure at cloud top")}
    return xr.Dataset(
        {name: (("lat", "lon"), values, {"units": unit, "long_name": words})
         for name, (values, unit, words) in made.items()},
        coords={"lat": ("lat", north, {"units": "degrees_north"}),
                "lon": ("lon", step * (np.arange(2 * size) + 0.5), {"units": "degrees_east"})})


def smooth_field(
    shape: tuple[int, int], wavelength: float, smoothness: float, rng: np.random.Generator,
) -> np.ndarray:
    """A Gaussian field with the spectrum of a Matérn kernel, joined at its eastern seam.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    wavelength : float
        Longest wavelength of note as a share of the columns.
    smoothness : float
        Matérn smoothness; larger is smoother.
    rng : np.random.Generator

    Returns
    -------
    array (rows, columns)
        Mean 0, standard deviation 1 over the grid.
    """
    # Twice the rows, so that the two ends of a meridian are unrelated; columns close by themselves.
    tall = (2 * shape[0], shape[1])
    frequency = np.hypot(np.fft.fftfreq(tall[0])[:, None], np.fft.rfftfreq(tall[1])[None])
    longest = 1 / (wavelength * shape[1])
    amplitude = (frequency**2 + longest**2) ** (-(smoothness + 1) / 2)
    amplitude[0, 0] = 0
    made = np.fft.irfft2(np.fft.rfft2(rng.standard_normal(tall)) * amplitude, s=tall)[:shape[0]]
    return (made - made.mean()) / made.std()
