"""Files with a few wrong bytes, or cut at half: one line that names the file, or they are read."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.geo.test_polygons import areas, bagged, layers
from workbench.bagging.tables import read_table
from workbench.checks import InputError
from workbench.comparison.individuals import Fine
from workbench.evaluation import storage


def zipped(folder):
    """A shapefile in a zip."""
    (folder / "parts").mkdir()
    areas().to_file(folder / "parts" / "areas.shp")
    return shutil.make_archive(str(folder / "areas"), "zip", folder / "parts")


def polygons(suffix):
    def make(folder):
        areas().to_file(folder / f"areas{suffix}")
        return folder / f"areas{suffix}"
    return make


def raster(folder):
    layers()[0].rio.to_raster(folder / "height.tif")
    return folder / "height.tif"


def netcdf(folder):
    layers()[0].to_dataset().to_netcdf(folder / "height.nc", engine="h5netcdf")
    return folder / "height.nc"


def written(suffix):
    def make(folder):
        return wb.write(wb.load("swiss-roll", n_bags=6, mean_size=5, size_std=3),
                        folder / f"map{suffix}")
    return make


def table(folder):
    path = folder / "cases.csv"
    pd.DataFrame({"code": ["n1", "s1", "e1"], "cases": [3, 4, 5]}).to_csv(path, index=False)
    return path


def parquet(folder):
    areas().to_parquet(folder / "areas.parquet")
    return folder / "areas.parquet"


def fit(folder):
    ds = wb.load("swiss-roll", n_bags=6, mean_size=5, size_std=3)
    wb.Constant(max_steps=3).fit(ds).save(folder / "fit.wbfit")
    return folder / "fit.wbfit"


def outcome(folder):
    storage.store(Fine("vbagg", np.ones((4, 2))), folder / "outcome.npz")
    return folder / "outcome.npz"


KINDS = {
    "gpkg": (polygons(".gpkg"), bagged),
    "geojson": (polygons(".geojson"), bagged),
    "zip": (zipped, bagged),
    "tif": (raster, lambda path: bagged(covariates=path)),
    "nc": (netcdf, lambda path: bagged(covariates=path)),
    "map": (written(".nc"), wb.read),
    "csv": (table, read_table),
    "parquet": (parquet, bagged),
    "wbfit": (fit, wb.load_fit),
    "npz": (outcome, lambda path: storage.load(path, Fine)),
}


def harmed(content, seed):
    """Cut at half (seed 0), or with thirty bytes flipped at random."""
    if seed == 0:
        return content[:len(content) // 2]
    rng, out = np.random.default_rng(seed), bytearray(content)
    for place in rng.integers(len(out), size=30):
        out[place] ^= int(rng.integers(1, 256))
    return bytes(out)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_read_or_refused_in_one_line_that_names_it(kind, tmp_path):
    make, use = KINDS[kind]
    path = Path(make(tmp_path))
    content, refused = path.read_bytes(), 0
    for seed in range(8):
        path.write_bytes(harmed(content, seed))
        try:
            use(path)
        except InputError as error:
            refused += 1
            assert "\n" not in str(error), error
    assert refused or kind == "csv"
