"""California housing: the real file where it is, and what is said without it."""

import numpy as np
import pandas as pd
import pytest

from tests.datasets.packaged import REAL, needs_files
from workbench import schema
from workbench.bagging import bag_grid, summarise
from workbench.checks import InputError
from workbench.datasets import california, load

with_file = needs_files("California housing", f"california/{california.FILE}")


@with_file
def test_the_real_file():
    every = load("california-housing", output="MedValue", fold="all", directory=REAL)
    assert every.sizes["bag"] == every.sizes["individual"] == 20_640
    assert float(every["y"].min()) == 32.54 and float(every["y"].max()) == 41.95
    assert float(every["x"].min()) == -124.35 and float(every["x"].max()) == -114.31
    assert float(every["value"].mean()) == pytest.approx(2.068558, abs=1e-5)
    assert every["value"].attrs["units"] == "100,000 dollars"
    train, test = (load("california-housing", fold=f, seed=3, directory=REAL)
                   for f in ("train", "test"))
    assert train.sizes["bag"] == 1000 and test.sizes["bag"] == 19_640
    assert not set(train["bag"].values) & set(test["bag"].values)
    cells = summarise(bag_grid(train, size=0.4, extent=california.EXTENT), location="geometry")
    assert cells["weight"].sum() == 1000
    offset = (cells["x"].values - california.EXTENT[0][0]) / 0.4
    np.testing.assert_allclose(offset % 1, 0.5, atol=1e-6)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A small file with the columns of the real one."""
    rng = np.random.default_rng(0)
    rows = 50
    table = pd.DataFrame({name: rng.gamma(2, 1, rows) for name in (
        "MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "MedHouseVal")})
    table["Latitude"], table["Longitude"] = rng.uniform(33, 41, rows), rng.uniform(-124, -115, rows)
    (tmp_path / "california").mkdir()
    table.to_csv(tmp_path / "california" / california.FILE, index=False)
    monkeypatch.setattr(california, "ROWS", rows)
    return tmp_path


def test_a_made_file(made):
    for output in california.OUTPUTS:
        ds = schema.check(load("california-housing", output=output, n_train=20, directory=made))
        assert ds.sizes["bag"] == 20 and ds["value"].attrs["long_name"] == output
    for options, message in ((dict(output="MedAge"), "output 'MedAge'"),
                             (dict(fold="val"), "fold 'val'"), (dict(n_train=50), "n_train")):
        with pytest.raises(InputError, match=message):
            load("california-housing", directory=made, **options)


def test_another_place_is_refused(made):
    path = made / "california" / california.FILE
    table = pd.read_csv(path)
    table.loc[3, "Latitude"] = 52.5
    table.to_csv(path, index=False)
    with pytest.raises(InputError, match="expected Latitude from 32.54 to 41.95, got .* to 52.5"):
        load("california-housing", n_train=20, directory=made)


def test_without_the_file(tmp_path, monkeypatch):
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(InputError, match="lacks california_housing.csv"):
        load("california-housing", directory=tmp_path)
    monkeypatch.setattr(california.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"set WORKBENCH_DATA to a folder holding california/"):
        load("california-housing")

    def refused(**_):
        raise OSError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_california_housing", refused)
    with pytest.raises(InputError, match=r"could not fetch California housing \(no route\)"):
        load("california-housing", download=True)
