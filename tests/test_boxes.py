"""Intervals and boxes as bags of quadrature nodes."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.integrate import dblquad
from scipy.special import erf

import workbench as wb
from workbench.checks import InputError
from workbench.gp.kernels.grammar import build
from workbench.gp.kernels.operators import SegmentMean
from workbench.labelled import to_source


def intervals(*pairs):
    return pd.DataFrame({"from": [a for a, _ in pairs], "to": [b for _, b in pairs],
                         "y": np.arange(len(pairs), dtype=float)})


def gram(ds, kernel, lengthscale):
    source = to_source(ds)
    term, = build(kernel, source.bags.columns, source.bags.x)
    term.kernel.base_kernel.lengthscale = lengthscale
    return SegmentMean(source.bags).gram([term], source.bags.x).detach().numpy()


def rbf_double_mean(a, b, c, d, scale):
    """Mean of exp(-(s - t)² / 2ℓ²) over s in [a, b] and t in [c, d], by the error function."""
    def inner(u):       # the second antiderivative of the kernel
        z = u / (np.sqrt(2) * scale)
        return scale**2 * (np.sqrt(np.pi) * z * erf(z) + np.exp(-z**2))

    total = inner(b - c) - inner(a - c) - inner(b - d) + inner(a - d)
    return total / ((b - a) * (d - c))


def test_rbf_means_over_intervals_are_closed_forms():
    pairs = [(0.0, 1.0), (0.5, 3.0), (4.0, 5.0)]
    ds = wb.bag_boxes(intervals(*pairs), "y", {"time": ("from", "to")}, nodes=8)
    found = gram(ds, "rbf", 0.9)
    exact = [[rbf_double_mean(*p, *q, 0.9) for q in pairs] for p in pairs]
    np.testing.assert_allclose(found, exact, atol=1e-9)
    rough = gram(wb.bag_boxes(intervals(*pairs), "y", {"time": ("from", "to")}, nodes=8,
                              rule="midpoint"), "rbf", 0.9)
    assert 1e-5 < np.abs(rough - exact).max() < 1e-2


@pytest.mark.parametrize("kernel, function, nodes, tolerance", [
    ("matern32", lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r), 12, 2e-4),
    ("matern52", lambda r: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r), 12,
     1e-5),
])
def test_matern_means_match_quadrature(kernel, function, nodes, tolerance):
    pairs = [(0.0, 1.0), (0.5, 2.5)]
    ds = wb.bag_boxes(intervals(*pairs), "y", {"time": ("from", "to")}, nodes=nodes)
    found = gram(ds, kernel, 0.8)
    for i, (a, b) in enumerate(pairs):
        for j, (c, d) in enumerate(pairs):
            exact = dblquad(lambda t, s: function(abs(s - t) / 0.8), a, b, c, d)[0]
            assert found[i, j] == pytest.approx(exact / ((b - a) * (d - c)), abs=tolerance)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_boxes_in_space_and_time_with_points_among_them():
    table = pd.DataFrame({"x0": [0.0, 3.0], "x1": [2.0, 3.0], "y0": [0.0, 1.0], "y1": [1.0, 1.0],
                          "t": [5.0, 6.0], "green": [0.2, 0.7], "no2": [30.0, 40.0],
                          "name": ["cell", "station"], "v": [4.0, 1.0]})
    ds = wb.bag_boxes(table, "no2", {"x": ("x0", "x1"), "y": ("y0", "y1"), "time": ("t", "t")},
                      nodes=4, covariates=["green"], units={"x": "km", "y": "km", "time": "h"},
                      label="name", task="no2", noise_variance="v")
    assert ds.sizes["individual"] == 16 + 1
    assert [str(n) for n in ds["covariate"].values] == ["time", "green"]
    weight = ds["weight"].groupby(ds["membership"]).sum()
    np.testing.assert_allclose(weight, 1)
    cell = ds.isel(individual=ds["membership"] == 0)
    assert float((cell["x"]**2 * cell["weight"]).sum()) == pytest.approx(4 / 3)
    assert ds["value"].attrs["task"] == "no2"
    assert ds["noise_variance"].values.tolist() == [4.0, 1.0]
    fit = wb.MRGP(kernel="rbf(coordinates)", noise="known", max_steps=5, tolerance=1e-1).fit(ds)
    assert np.isfinite(fit.over(ds).mean).all()


def test_bad_boxes_are_refused():
    with pytest.raises(InputError, match="before their beginning.*row \\[1\\]"):
        wb.bag_boxes(intervals((0, 1), (2, 1)), "y", {"t": ("from", "to")})
    with pytest.raises(InputError, match="lacks columns \\['till'\\]"):
        wb.bag_boxes(intervals((0, 1)), "y", {"t": ("from", "till")})
    with pytest.raises(InputError, match="did you mean 'midpoint'"):
        wb.bag_boxes(intervals((0, 1)), "y", {"t": ("from", "to")}, rule="midpiont")
    with pytest.raises(InputError, match="both x and y"):
        wb.bag_boxes(intervals((0, 1)), "y", {"x": ("from", "to")})
    assert torch.get_default_dtype() == torch.float32
