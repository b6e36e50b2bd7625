"""Temperature fields in blocks: the UK model's, CMIP6's, and a simulated globe's."""

from hashlib import sha256

import numpy as np
import pytest
import xarray as xr

from tests.datasets.packaged import REAL, needs_files
from workbench import schema
from workbench.checks import InputError
from workbench.datasets import load, packaged
from workbench.datasets.climate import cmip6, esgf, uk_temperature
from workbench.datasets.climate.months import months
from workbench.datasets.climate.simulated_climate import make_fields, smooth_field

with_files = needs_files("CMIP6", f"cmip6/{cmip6.TEMPERATURE}")


def inside_blocks(ds, values):
    """Deviations from the mean of each block."""
    members = ds["membership"].values
    return values - (np.bincount(members, values) / np.bincount(members))[members]


# --- UK model

def test_the_uk_model():
    ds = schema.check(load("uk-temperature"))
    assert ds.sizes["bag"] == 255 and ds.sizes["individual"] == 36_720
    assert ds["value"].attrs["units"] == "K" and ds["x"].attrs["units"] == "km"
    deviation = inside_blocks(ds, ds["truth"].values)
    assert deviation.var() / ds["truth"].values.var() == pytest.approx(0.1395, abs=5e-4)
    hills = inside_blocks(ds, ds["covariates"].values[:, 0])
    assert np.corrcoef(deviation, hills)[0, 1] == pytest.approx(0.645, abs=1e-3)
    means = ds["mediators"].sel(mediator="theta_19")
    assert np.corrcoef(ds["value"], means)[0, 1] == pytest.approx(0.673, abs=1e-3)
    assert ds["mediator"].values.tolist() == ["theta_19", "x", "y"]
    assert "204 x 187 pixels were trimmed to 204 x 180" in ds.attrs["treatments"]


def test_the_uk_grid_lies_where_the_hills_are():
    pyproj = pytest.importorskip("pyproj")
    ds = load("uk-temperature", block=1, mediators=())
    assert ds.attrs["treatments"] == "none"
    place = pyproj.Transformer.from_crs("+proj=longlat +R=6371229", ds.attrs["crs"], always_xy=True)
    height = ds["covariates"].values[:, 0]

    def around(longitude, latitude):
        x, y = place.transform(longitude, latitude)
        return height[np.hypot(ds["x"] - x, ds["y"] - y) < 3].mean()

    assert around(-4.08, 53.07) > 400       # Snowdon
    assert around(-3.22, 54.45) > 400       # Scafell Pike
    assert abs(around(-5.0, 53.6)) < 1      # the Irish Sea


def test_uk_options():
    ds = load("uk-temperature", level=13, hour=12, block=17, covariates=("orography", "theta_19"),
              mediators=("theta_1",))
    assert ds.sizes["bag"] == 12 * 11 and ds["covariate_units"].values.tolist() == ["m", "K"]
    for options, message in ((dict(level=2), "level 2 is not in the file"),
                             (dict(hour=9), "hour 9"), (dict(covariates=["theta_1"]), "the value"),
                             (dict(mediators=["cloud"]), "field 'cloud' is unknown")):
        with pytest.raises(InputError, match=message):
            load("uk-temperature", **options)


def pp_bytes(values, packing=0):
    """A PP record as the Met Office writes it, x in the extra data."""
    rows, columns = values.shape
    whole = np.zeros(45, ">i4")
    whole[[3, 17, 18, 20, 32, 41]] = 11, rows, columns, packing, 7, 4
    real = np.zeros(19, ">f4")
    real[13:17] = 50, 0.5, 0, 0
    x = np.arange(columns) + 350.0
    extra = np.array([1000 * columns + 1], ">i4").tobytes() + x.astype(">f4").tobytes()
    out = b""
    for part in (whole.tobytes() + real.tobytes(), values.astype(">f4").tobytes() + extra):
        size = len(part).to_bytes(4, "big")
        out += size + part + size
    return out


def test_pp_records(tmp_path):
    values = np.arange(12.0).reshape(3, 4)
    (tmp_path / "a.pp").write_bytes(2 * pp_bytes(values))
    (about, field), _ = uk_temperature.read_pp(tmp_path / "a.pp")
    np.testing.assert_array_equal(field, values)
    assert (about["stash"], about["level"], about["hour"]) == (4, 7, 11)
    np.testing.assert_allclose(about["latitude"], [50.5, 51, 51.5])
    np.testing.assert_allclose(about["longitude"], [350, 351, 352, 353])
    (tmp_path / "a.pp").write_bytes(pp_bytes(values)[:-3])
    with pytest.raises(InputError, match="cut or damaged"):
        uk_temperature.read_pp(tmp_path / "a.pp")
    (tmp_path / "a.pp").write_bytes(pp_bytes(values, packing=1))
    with pytest.raises(InputError, match="packed"):
        uk_temperature.read_pp(tmp_path / "a.pp")


def test_without_the_packages(monkeypatch):
    monkeypatch.setattr(packaged.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"iris_sample_data: pip install .*\[data\]"):
        packaged.packaged_file("iris_sample_data", "sample_data", "uk_hires.pp")


# --- altitude

def test_altitude_of_known_places():
    north, east = np.array([-30.0, 27.9, 46.5]), np.array([-20.0, 8.0, 86.9])
    height = packaged.altitude_on(north, east, 1 / 12)
    assert float(height[0, 0]) == 0 and 5000 < float(height[1, 2]) < 8000
    assert 1500 < float(height[2, 1]) < 4500
    turned = packaged.altitude_on(north, east % 360, 1 / 12)
    np.testing.assert_allclose(turned, height, atol=1e-9)
    coarse = packaged.altitude_on(np.arange(-89.5, 90), np.arange(0.5, 360), 1)
    fine = packaged._altitude().reshape(180, 12, 360, 12).mean((1, 3))
    np.testing.assert_allclose(coarse, np.roll(fine[::-1], 180, axis=1), atol=1e-6)


# --- CMIP6: two annual means

@with_files
def test_the_annual_fields():
    ds = schema.check(load("cmip6-temperature", directory=REAL))
    assert ds.attrs["fields"] == "annual" and ds.attrs["block_shape"] == [20, 42]
    assert ds.sizes["individual"] == 840 * 289
    deviation = inside_blocks(ds, ds["truth"].values)
    assert deviation.var() / ds["truth"].values.var() == pytest.approx(0.0930, abs=5e-4)
    assert np.corrcoef(ds["value"], ds["mediators"][:, 0])[0, 1] == pytest.approx(0.570, abs=2e-3)
    with xr.open_dataset(REAL / "cmip6" / cmip6.TEMPERATURE, engine="h5netcdf") as stored:
        mean = float(stored["ttop"][:17, :17].astype(float).mean())
    assert float(ds["value"].sel(bag="r19c0")) == pytest.approx(mean, abs=1e-4)
    for words in ("354 x 717 pixels were trimmed to 340 x 714", "118 x 239", "altitude averaged"):
        assert words in ds.attrs["treatments"]
    with pytest.raises(InputError, match="source='esgf'"):
        load("cmip6-temperature", directory=REAL, date="1950-04")


def annual_files(folder, monkeypatch):
    """Small annual means with the names of the real ones."""
    folder.mkdir()
    for name, var, rows, columns in ((cmip6.TEMPERATURE, "ttop", 36, 72),
                                     (cmip6.PRESSURE, "p", 12, 24)):
        lat = (np.arange(rows) + 0.5) * 170 / rows - 85
        lon = np.arange(columns) * 360.0 / columns
        field = 250 + 10 * np.cos(np.deg2rad(lat))[:, None] * np.cos(np.deg2rad(lon))
        xr.Dataset({var: (("lat", "lon"), field)}, coords={
            "lat": ("lat", lat, {"units": "degrees_north"}),
            "lon": ("lon", lon, {"units": "degrees_east"})}).to_netcdf(
                folder / name, engine="h5netcdf")
        monkeypatch.setitem(cmip6.SHA256, name, sha256((folder / name).read_bytes()).hexdigest())


def test_small_annual_files(tmp_path, monkeypatch):
    annual_files(tmp_path / "cmip6", monkeypatch)
    ds = load("cmip6-temperature", directory=tmp_path, block=6)
    assert ds.sizes["bag"] == 72 and "CNRM" in ds.attrs["source"]
    # The same smooth function on both grids: collocated pressure repeats the temperature, also
    # across the seam at 360 degrees.
    assert np.abs(ds["mediators"][:, 0] - ds["value"]).max() < 0.4
    monkeypatch.setitem(cmip6.SHA256, cmip6.PRESSURE, "0" * 64)
    with pytest.raises(InputError, match="sha256 .* expected 0000"):
        load("cmip6-temperature", directory=tmp_path)
    (tmp_path / "cmip6" / cmip6.PRESSURE).unlink()
    with pytest.raises(InputError, match="lacks mean_pctisccp.*source='esgf'"):
        load("cmip6-temperature", directory=tmp_path)


# --- CMIP6: files of ESGF

def esgf_files(folder, *, without=(), gaps=False):
    """Made monthly files with ESGF's names, variables, calendars and unlike grids."""
    rng = np.random.default_rng(0)
    for name, (standard, table, _) in esgf.VARIABLES.items():
        if name in without:
            continue
        rows, columns = (360, 720) if name == "ttop" else (24, 32)
        lat = -90 + 180 / rows * (np.arange(rows) + 0.5)
        lon = 360 / columns * (np.arange(columns) + 0.5)
        fields = rng.normal(size=(3, rows, columns)) + 100
        if name == "pctisccp":      # linear in latitude, so that interpolation gives it back
            fields = np.broadcast_to((1000 + lat)[:, None], (3, rows, columns)).copy()
        if gaps and name == "albisccp":
            fields[:, -1] = np.nan
        about = {"standard_name": standard, "units": "1"}
        coords = {"lat": ("lat", lat, {"units": "degrees_north"}),
                  "lon": ("lon", lon, {"units": "degrees_east"})}
        if table == "fx":
            ds = xr.Dataset({name: (("lat", "lon"), fields[0], about)}, coords)
        else:
            calendar = "gregorian" if name == "ttop" else "360_day"
            ds = xr.Dataset({name: (("time", "lat", "lon"), fields, about)}, coords)
            ds = ds.assign_coords(time=("time", [15.0, 45.0, 75.0], {
                "units": "days since 1950-01-01 00:00:00", "calendar": calendar}))
        ds.to_netcdf(folder / esgf.file_pattern(name).replace("*", "195001-195003"),
                     engine="h5netcdf")


def test_files_of_esgf(tmp_path):
    esgf_files(tmp_path)
    ds = schema.check(load("cmip6-temperature", source="esgf", directory=tmp_path))
    assert ds.sizes["bag"] == 882 and ds.sizes["individual"] == 882 * 289
    assert ds["covariate"].values.tolist() == ["altitude", "cloud_albedo", "cloud_cover"]
    assert ds["mediator"].values.tolist() == ["pressure", "x", "y"]
    assert ds.attrs["fields"] == "esgf" and "the user's" in ds.attrs["source"]
    assert "360 x 720 pixels were trimmed to 357 x 714" in ds.attrs["treatments"]
    with xr.open_dataset(next(tmp_path.glob("ttop*")), engine="h5netcdf") as stored:
        march = stored["ttop"].values[2]
    assert float(ds["value"].sel(bag="r20c0")) == pytest.approx(march[:17, :17].mean())
    inner = np.abs(ds["bag_y"].values) < 75
    np.testing.assert_allclose(ds["mediators"].values[inner, 0],
                               1000 + ds["bag_y"].values[inner], atol=1e-6)
    january = load("cmip6-temperature", source="esgf", directory=tmp_path, date="1950-01")
    assert not np.allclose(january["value"], ds["value"])


def test_what_esgf_files_lack_is_named(tmp_path, monkeypatch):
    esgf_files(tmp_path, without=["albisccp"], gaps=True)
    with pytest.raises(InputError, match="no file in .* has albisccp .standard name cloud_albedo.*"
                                         "albisccp_CFmon_HadGEM3-GC31-HM_hist-1950"):
        load("cmip6-temperature", source="esgf", directory=tmp_path)
    with pytest.raises(InputError, match="do not have the month 1951-01 of ttop"):
        load("cmip6-temperature", source="esgf", directory=tmp_path, date="1951-01")
    esgf_files(tmp_path, without=["ttop", "clt", "pctisccp", "orog"], gaps=True)
    with pytest.raises(InputError, match="pixels lack .* missing='drop'"):
        load("cmip6-temperature", source="esgf", directory=tmp_path)
    ds = load("cmip6-temperature", source="esgf", directory=tmp_path, missing="drop")
    assert "pixels with gaps were left out" in ds.attrs["treatments"]
    next(tmp_path.glob("clt*")).rename(tmp_path / "x.nc")
    esgf_files(tmp_path, without=["ttop", "albisccp", "pctisccp", "orog"])
    with pytest.raises(InputError, match="several files have clt of 1950-03"):
        load("cmip6-temperature", source="esgf", directory=tmp_path)
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(InputError, match="WORKBENCH_DATA to a folder with ttop_AERmon"):
        load("cmip6-temperature", source="esgf")


def test_months_of_every_calendar():
    days = np.array([15.0, 74.5, 360 + 29])
    since = "days since 1950-01-01"
    assert months(days, since, "360_day") == ["1950-01", "1950-03", "1951-01"]
    assert months(days, since, "noleap") == ["1950-01", "1950-03", "1951-01"]
    assert months(np.array([59]), "days since 1952-01-01", "standard") == ["1952-02"]
    assert months(np.array([59]), "days since 1952-01-01", "365_day") == ["1952-03"]
    assert months(np.array([0]), "days since 1850-12-30", "360_day") == ["1850-12"]
    for units, calendar, message in (("hours since 1950-01-01", "standard", "days since"),
                                     (since, "julian", "calendar 'julian'")):
        with pytest.raises(InputError, match=message):
            months(days, units, calendar)


# --- a simulated globe

def test_the_made_globe():
    ds = schema.check(load("simulated-climate", size=68, seed=3))
    assert ds.sizes["bag"] == 32 and ds.attrs["treatments"] == "none"
    members = ds["membership"].values
    means = np.bincount(members, ds["truth"].values) / np.bincount(members)
    noise = ds["value"].values - means
    assert 0.1 < noise.std() < 0.3
    exact = load("simulated-climate", size=68, seed=3, noise=0)
    np.testing.assert_array_equal(exact["truth"], ds["truth"])
    np.testing.assert_allclose(exact["value"], means)
    assert not np.allclose(load("simulated-climate", size=68, seed=4)["truth"], ds["truth"])
    assert (ds["covariates"].sel(covariate="altitude") >= 0).all()
    for options, message in ((dict(size=20), "fewer than two blocks"), (dict(noise=-1), "noise")):
        with pytest.raises(InputError, match=message):
            load("simulated-climate", **options)


@pytest.mark.parametrize("seed", range(3))
def test_pressure_tells_of_coarse_temperature_and_clouds_of_the_fine(seed):
    ds = load("simulated-climate", size=136, seed=seed)
    assert np.corrcoef(ds["value"], ds["mediators"][:, 0])[0, 1] > 0.3
    fine = inside_blocks(ds, ds["truth"].values)
    assert 0.04 < fine.var() / ds["truth"].values.var() < 0.25
    for name, below in (("altitude", -0.15), ("cloud_cover", -0.3)):
        column = inside_blocks(ds, ds["covariates"].sel(covariate=name).values)
        assert np.corrcoef(fine, column)[0, 1] < below


def test_fields_close_round_the_globe():
    field = smooth_field((60, 120), 0.3, 2.0, np.random.default_rng(0))
    seam = np.abs(field[:, 0] - field[:, -1]).mean()
    assert seam < 2 * np.abs(np.diff(field, axis=1)).mean()
    assert field.mean() == pytest.approx(0, abs=1e-12) and field.std() == pytest.approx(1)
    assert set(make_fields(40)) == {"temperature", "altitude", "cloud_albedo", "cloud_cover",
                                    "pressure"}
