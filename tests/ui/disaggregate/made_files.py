"""Files as people drop them, made on the spot: each format that is read, and broken ones."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import geopandas
import numpy as np
import pandas
import rasterio
import shapely
import xarray as xr

import workbench as wb

CRS, CELL = "EPSG:32738", 100.0
ACROSS, DOWN, SIDE = 4, 3, 6        # areas along the map, and pixels along each of them
WEST, NORTH = 500_000.0, 8_001_800.0
EVIL = "<img src=x onerror=alert(1)>"


def districts(missing: int | None = None) -> geopandas.GeoDataFrame:
    """Twelve areas whose counts follow the height; that of one may be missing."""
    height, people = grids()
    cases = np.random.default_rng(2).poisson(people * 0.05 * np.exp(height / 100))
    blocks = cases.reshape(DOWN, SIDE, ACROSS, SIDE).sum(axis=(1, 3)).ravel().astype(float)
    if missing is not None:
        blocks[missing] = np.nan
    shapes = [shapely.box(WEST + width * i, NORTH - width * (j + 1), WEST + width * (i + 1),
                          NORTH - width * j)
              for width in [SIDE * CELL] for j in range(DOWN) for i in range(ACROSS)]
    return geopandas.GeoDataFrame(
        {"district": [f"District {k + 1}" for k in range(len(shapes))], "cases": blocks},
        geometry=shapes, crs=CRS)


def grids() -> tuple[np.ndarray, np.ndarray]:
    """Height and people of every pixel."""
    y, x = np.mgrid[:DOWN * SIDE, :ACROSS * SIDE]
    rng = np.random.default_rng(1)
    return (60 * np.sin(x / 4) + 60 * np.cos(y / 5) + rng.normal(0, 10, x.shape),
            rng.uniform(20, 80, x.shape))


def axes(east: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the pixels, so far from the areas."""
    return (WEST + east + CELL * (np.arange(ACROSS * SIDE) + 0.5),
            NORTH - CELL * (np.arange(DOWN * SIDE) + 0.5))


def tif(values: np.ndarray, folder: Path, east: float = 0.0) -> bytes:
    """Pixels as a GeoTIFF."""
    path = folder / "made.tif"
    with rasterio.open(path, "w", driver="GTiff", height=values.shape[0], width=values.shape[1],
                       count=1, dtype="float32", crs=CRS,
                       transform=rasterio.Affine(CELL, 0, WEST + east, 0, -CELL, NORTH)) as file:
        file.write(values.astype("float32"), 1)
    return path.read_bytes()


def sparse(folder: Path) -> bytes:
    """A GeoTIFF of few bytes that is large when it is read."""
    with rasterio.open(folder / "sparse.tif", "w", driver="GTiff", height=20_000, width=20_000,
                       count=1, dtype="float32", crs=CRS, sparse_ok=True, compress="deflate",
                       transform=rasterio.Affine(CELL, 0, WEST, 0, -CELL, NORTH)):
        pass
    return (folder / "sparse.tif").read_bytes()


def netcdf(values: np.ndarray, folder: Path) -> bytes:
    """Pixels as a NetCDF raster that states its CRS."""
    x, y = axes()
    told = {"crs_wkt": rasterio.CRS.from_string(CRS).to_wkt()}
    ds = xr.Dataset({"height": (("y", "x"), values, {"grid_mapping": "spatial_ref"})},
                    {"x": x, "y": y, "spatial_ref": ((), 0, told)})
    ds.to_netcdf(folder / "made.nc", engine="h5netcdf")
    return (folder / "made.nc").read_bytes()


def shapefile(frame: geopandas.GeoDataFrame, folder: Path) -> dict[str, bytes]:
    """Areas as the parts of a shapefile."""
    frame.to_file(folder / "districts.shp")
    return {path.name: path.read_bytes() for path in sorted(folder.glob("districts.*"))
            if path.suffix in (".shp", ".shx", ".dbf", ".prj")}


def written(frame: geopandas.GeoDataFrame, path: Path) -> bytes:
    """Areas in a file of the kind that its name says."""
    frame.to_file(path)
    return path.read_bytes()


def packed(members: dict[str, bytes]) -> bytes:
    """Files in a zip."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, one in members.items():
            archive.writestr(name, one)
    return content.getvalue()


def bagged(folder: Path) -> bytes:
    """All of it as one bagged dataset."""
    (folder / "height.tif").write_bytes(tif(grids()[0], folder))
    (folder / "people.tif").write_bytes(tif(grids()[1], folder))
    ds = wb.bag_polygons(districts(), [folder / "height.tif"], value="cases",
                         weight=folder / "people.tif", id="district")
    wb.write(ds, folder / "bagged.nc")
    return (folder / "bagged.nc").read_bytes()


def kit(folder: Path, missing: int | None = None) -> dict[str, bytes]:
    """Areas, a covariate and a population, as GeoPackage and GeoTIFF."""
    height, people = grids()
    return {"districts.gpkg": written(districts(missing), folder / "kit.gpkg"),
            "height.tif": tif(height, folder), "people.tif": tif(people, folder)}


def formats(folder: Path) -> dict[str, dict[str, bytes]]:
    """By what is tried: files that are mapped, of every kind that is read."""
    frame, (height, people) = districts(), grids()
    x, y = (one.ravel() for one in np.meshgrid(*axes()))
    pixels = pandas.DataFrame({"x": x, "y": y, "height": height.ravel()})
    table = frame.drop(columns="geometry").to_csv(index=False).encode()
    tifs = {"height.tif": tif(height, folder), "people.tif": tif(people, folder)}
    parts = shapefile(frame, folder)
    return {
        "GeoPackage and GeoTIFF": kit(folder),
        "GeoJSON": {"districts.geojson": written(frame, folder / "d.geojson"), **tifs},
        "zipped shapefile": {"districts.zip": packed(parts), **tifs},
        "loose shapefile": {**parts, **tifs},
        "CSV of totals": {"outlines.gpkg": written(frame[["district", "geometry"]],
                                                   folder / "outlines.gpkg"),
                          "totals.csv": table, **tifs},
        "CSV of pixels": {"districts.gpkg": kit(folder)["districts.gpkg"],
                          "height.csv": pixels.to_csv(index=False).encode(),
                          "people.tif": tifs["people.tif"]},
        "NetCDF raster": {"districts.gpkg": kit(folder)["districts.gpkg"],
                          "height.nc": netcdf(height, folder), "people.tif": tifs["people.tif"]},
        "bagged NetCDF": {"bagged.nc": bagged(folder)}}


def broken(folder: Path) -> dict[str, tuple[dict[str, bytes], str]]:
    """By what is wrong: files that cannot be mapped, and what has to be said of them."""
    frame, good = districts(), kit(folder)
    parts = shapefile(frame, folder)
    gpkg, people = good["districts.gpkg"], {"people.tif": good["people.tif"]}
    other = xr.Dataset({"speed": ("time", np.arange(5.0))})
    other.to_netcdf(folder / "other.nc", engine="h5netcdf")
    evil = frame.rename(columns={"cases": EVIL}).assign(district=[f"{EVIL}{k}" for k in range(12)])
    return {
        "truncated": ({"districts.gpkg": gpkg[:5_000]},
                      "it may be damaged or cut off; export or copy it again"),
        "text": ({"height.tif": b"no picture\n"},
                 "height.tif cannot be read: its content is not that of a .tif file; export it"),
        "bomb": ({"people.tif": sparse(folder)}, "people.tif would take 1,600 MB when it is read, "
                 "more than 512; use the command line"),
        "climbing": ({"districts.zip": packed(
            {f"../{name}": one for name, one in parts.items()})},
            "leads out of the zip; zip the parts of the shapefile in no folder"),
        "empty": ({"districts.gpkg": gpkg, "totals.csv": b"\n"},
                  "totals.csv is empty; save the table again"),
        "no column": ({"districts.gpkg": gpkg, "totals.csv": b"place,n\nhere,1\nthere,2\n"},
                      "no column of totals.csv (place, n) has the names or numbers of the areas"),
        "no areas": ({"places.geojson": b'{"type": "FeatureCollection", "features": []}'},
                     "places.geojson has no areas in it; export it again"),
        "no CRS": ({name: parts[name] for name in ("districts.shp", "districts.shx",
                                                   "districts.dbf")} | people,
                   "type its EPSG code into the field above"),
        "apart": ({"districts.gpkg": gpkg, "people.tif": tif(grids()[1], folder, east=9e5)},
                  "none of the 12 areas touches the population raster"),
        "something else": ({"districts.gpkg": gpkg, "other.nc": (folder / "other.nc").read_bytes()},
                           "other.nc holds no raster over y and x"),
        "HTML": ({f"{EVIL}.gpkg": written(evil, folder / "evil.gpkg"), **people},
                 "a fit would start")}
