"""Temperature at cloud top in CMIP6: the five fields of Chau et al. 2021, or two of their kind."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import xarray as xr

from workbench.bagging import bag_blocks
from workbench.checks import InputError, choose, reading, require
from workbench.datasets.climate.esgf import file_pattern, on_globe, read_fields
from workbench.datasets.downloads import locate
from workbench.datasets.packaged import altitude_on

SOURCES = ("annual", "esgf")
TEMPERATURE, PRESSURE = "mean_ttop_1950_lat354_lon717.nc", "mean_pctisccp_1950_lat118_lon239.nc"
SHA256 = {
    TEMPERATURE: "993617a8d682bd05ac0156f7d64673797712cd9de3710b42fa2022d7ea59d7cc",
    PRESSURE: "b07227e37a1a31d5444bcfaa93912ce07a00df438d6cab9d9ed8a81a9270f24b",
}
_LICENCE = "CMIP6 terms of use (attribution to the modelling centres)"


def load(
    source: str = "annual",
    directory: str | Path | None = None,
    date: str = "1950-03",
    block: int = 17,
    weight: str = "one",
    missing: str = "refuse",
) -> xr.Dataset:
    """CMIP6 temperature (model): air at cloud top, seen as means of 17 x 17 pixels.

    The two sources are never mixed. ``"esgf"`` is the paper's task, from five files of your own:
    ttop, clt, albisccp, pctisccp and orog of hist-1950 in the month ``date``, on 360 x 720 pixels;
    covariates are altitude, cloud albedo and cloud cover. ``"annual"`` has annual means of 1950 of
    two of these fields, temperature on 354 x 717 pixels and pressure on 118 x 239; altitude, the
    only covariate, comes from the package pvlib. Both have cloud-top pressure and the centres of
    the blocks as mediators.

    Parameters
    ----------
    source : {"annual", "esgf"}
        Which files.
    directory : str or Path, optional
        Folder with the files or the one above it; ``WORKBENCH_DATA`` if not given.
    date : str
        Month of the files of ESGF; the annual means have none.
    block : int
        Side of a block in pixels; what does not fill one is trimmed (``ds.attrs["treatments"]``).
    weight : {"one", "cos-latitude"}
        Weight of a pixel in block means; the paper's is one.
    missing : {"refuse", "drop"}
        What to do with pixels of ESGF's fields that have gaps, as cloud albedo has in polar night.

    Returns
    -------
    xr.Dataset
        Kelvin; pressure in Pa, altitude in m, x and y in degrees.

    Raises
    ------
    InputError
        If files, variables or the month are missing (the message says what ESGF calls them), or
        an annual file has another checksum.

    References
    ----------
    Chau et al. 2021, section 5.2 and appendix E; Voldoire 2019 (CNRM-CM6-1-HR) and Roberts 2018
    (HadGEM3-GC31-HM), hist-1950, Earth System Grid Federation.
    """
    choose("source", source, SOURCES)
    if source == "annual":
        require(date in ("1950-03", "1950"), f"the annual means are of 1950 and have no month; "
                f"date={date!r} needs source='esgf'")
        return _annual(directory, block, weight)
    fields = read_fields(directory, date)
    ds = bag_blocks(fields, "temperature", ("altitude", "cloud_albedo", "cloud_cover"),
                    ("pressure", "x", "y"), block, weight=weight, missing=missing)
    ds.attrs["treatments"] += ("\nfields interpolated linearly to 360 x 720 pixels, grid "
                               f"{fields.attrs['grid']}")
    ds.attrs |= {
        "title": f"Air temperature at cloud top, {date}, five CMIP6 fields", "fields": source,
        "source": "CNRM-CM6-1-HR (ttop) and HadGEM3-GC31-HM (clt, albisccp, pctisccp, orog), "
                  "hist-1950, files of the user's from ESGF",
        "licence": _LICENCE, "date": date, "crs": "EPSG:4326"}
    return ds


def _annual(directory: str | Path | None, block: int, weight: str) -> xr.Dataset:
    try:
        folder = locate("cmip6", SHA256, directory)
    except InputError as error:
        raise InputError(f"{error}; for your own monthly files of ESGF ({file_pattern('ttop')} and "
                         "four more) pass source='esgf'") from error
    for name, expected in SHA256.items():
        found = sha256((folder / name).read_bytes()).hexdigest()
        require(found == expected, f"{name} has the sha256 {found}, expected {expected}: this is "
                "another file, or it is damaged")
    temperature = _only(folder / TEMPERATURE, "temperature", "K",
                        "annual mean air temperature at cloud top")
    pressure = _only(folder / PRESSURE, "pressure", "Pa", "annual mean pressure at cloud top")
    north, east = temperature["lat"].values, temperature["lon"].values
    fields = xr.Dataset({"temperature": temperature,
                         "altitude": altitude_on(north, east).assign_coords(temperature.coords),
                         "pressure": on_globe(pressure, north, east)})
    beyond = int(((north < float(pressure["lat"].min()))
                  | (north > float(pressure["lat"].max()))).sum())
    ds = bag_blocks(fields, "temperature", ("altitude",), ("pressure", "x", "y"), block,
                    weight=weight)
    ds.attrs["treatments"] += (
        f"\npressure interpolated linearly from {pressure.shape[0]} x {pressure.shape[1]} to "
        f"{north.size} x {east.size} pixels, its edge continued over {beyond} rows; altitude "
        "averaged over half a degree, then interpolated")
    ds.attrs |= {
        "title": "Air temperature at cloud top, annual mean of 1950, two CMIP6 fields and altitude",
        "fields": "annual",
        "source": "CNRM-CM6-1-HR (ttop) and HadGEM3-GC31-HM (pctisccp), hist-1950; altitude of "
                  "pvlib 0.16.1",
        "licence": _LICENCE, "date": "1950", "crs": "EPSG:4326"}
    return ds


def _only(path: Path, name: str, units: str, long_name: str) -> xr.DataArray:
    """The one variable of a file, whatever it is called there."""
    with reading(path, "NetCDF", "to download it again"), \
            xr.open_dataset(path, engine="h5netcdf") as opened:
        field = opened[list(opened.data_vars)[0]].load()
    return field.rename(name).astype(float).assign_attrs(units=units, long_name=long_name)
