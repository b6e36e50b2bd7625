"""Things that are passed where something else belongs: what comes, and what to write instead."""

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.checks import InputError
from workbench.pipeline.inputs import named_or_file


def test_a_frame_is_no_dataset_and_what_makes_one_is_named():
    frame = pd.DataFrame({"cases": [3.0], "x": 0.0, "y": 0.0})
    for call in (wb.VBAgg().fit, wb.MRGP().fit, lambda one: wb.MRGP().fit({"a": one})):
        with pytest.raises(InputError, match=r"wb\.bag_polygons\(frame, 'VALUE', covariates\)"):
            call(frame)
    with pytest.raises(InputError, match="got int$"):
        wb.VBAgg().fit(3)


def test_labels_of_a_merge_are_named():
    ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
    labels = np.arange(12) // 3
    with pytest.raises(InputError, match="name of a label of the bags, got ndarray; give labels"):
        wb.merge(ds, labels)
    assert wb.merge(ds.assign_coords(region=("bag", labels)), "region").sizes["bag"] == 4


@pytest.mark.parametrize("option", ["links", "likelihoods", "noises"])
def test_what_is_by_source_is_not_called_by_hyperparameter(option):
    with pytest.raises(InputError, match=f"names of sources, got 'exp'; write {option}="
                                         "{'stations': 'exp'}"):
        wb.MRVBAgg(**{option: "exp"})
    with pytest.raises(InputError, match="from hyperparameter names"):
        wb.MRVBAgg(priors="none")


def test_a_table_is_no_stored_dataset(tmp_path):
    path = tmp_path / "stations.csv"
    path.write_text("x,y,value\n1,2,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="no NetCDF dataset.*wb.write\\(wb.bag_points"):
        named_or_file(str(path))
    with pytest.raises(InputError, match="did you mean"):
        named_or_file("elevator")
