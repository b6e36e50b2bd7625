"""The swiss roll of Chau et al. 2021 has the numbers of the released code, drawn without torch."""

import numpy as np
import pytest
import torch

from workbench import schema
from workbench.checks import InputError
from workbench.datasets import load
from workbench.datasets.swiss_roll_heights import indirect_split
from workbench.datasets.torch_stream import TorchStream

SIZES = (1, 2, 5, 15, 16, 17, 31, 32, 50, 51, 625, 5000)


@pytest.mark.parametrize("seed", [0, 2, 42, 2**32 - 1])
def test_uniform_numbers_and_permutations_are_torchs(seed):
    for size in SIZES:
        torch.manual_seed(seed)
        stream = TorchStream(seed)
        for _ in range(2):
            np.testing.assert_array_equal(stream.rand(size), torch.rand(size).numpy())
            np.testing.assert_array_equal(stream.randperm(size), torch.randperm(size).numpy())


@pytest.mark.parametrize("seed", [0, 2, 42])
def test_normal_numbers_are_torchs_up_to_rounding(seed):
    torch.manual_seed(seed)
    stream = TorchStream(seed)
    for size in SIZES:             # one after the other: small ones leave a number for the next
        found, expected = stream.randn(size), torch.randn(size).numpy()
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)
    np.testing.assert_array_equal(stream.rand(3), torch.rand(3).numpy())


def released(seed, points=5000, bags=50, noise=0.05):
    """The construction as described, in torch."""
    torch.manual_seed(seed)
    t = 1.5 * np.pi * (1 + 2 * torch.rand(points))
    depth = 21 * torch.rand(points)
    roll = torch.stack([t * torch.cos(t), depth, t * torch.sin(t)], 1)
    order = torch.argsort(roll[:, 2])
    roll, t = roll[order], t[order]
    roll, t = (roll - roll.mean(0)) / roll.std(0), (t - t.mean()) / t.std()
    edge = torch.finfo(torch.float16).eps
    levels = torch.linspace(roll[0, 2] - edge, roll[-1, 2] + edge, bags + 1)
    bag = torch.bucketize(roll[:, 2].contiguous(), levels) - 1
    torch.manual_seed(seed)
    means = torch.stack([t[bag == j].mean() for j in range(bags)])
    values = means + noise * torch.randn(bags)
    return roll, t, bag, (levels[1:] + levels[:-1]) / 2, values, torch.randperm(bags)


@pytest.mark.parametrize("seed,options", [(42, {}), (2, {}), (7, {"points": 1000, "bags": 25,
                                                                  "noise_std": 0.2})])
def test_the_data_are_those_of_the_description(seed, options):
    ds = schema.check(load("swiss-roll-heights", seed=seed, **options))
    named = {"noise" if k == "noise_std" else k: v for k, v in options.items()}
    roll, t, bag, heights, values, order = released(seed, **named)
    np.testing.assert_array_equal(ds["membership"], bag)
    np.testing.assert_allclose(ds["covariates"][:, 2], roll[:, 2], atol=2e-5)
    # points of the same height to rounding may change places
    agree = np.isclose(np.c_[ds["covariates"], ds["truth"]], np.c_[roll, t], atol=2e-5).all(1)
    assert agree.mean() > 0.998
    np.testing.assert_allclose(ds["value"], values, atol=2e-5)
    np.testing.assert_allclose(ds["mediators"][:, 0], heights, atol=2e-5)
    first, second = indirect_split(ds)
    np.testing.assert_array_equal(np.r_[first, second], order)
    assert len(first) == ds.sizes["bag"] // 2
    np.testing.assert_array_equal(np.r_[indirect_split(ds, seed)], np.r_[first, second])


def test_what_the_dataset_holds():
    ds = load("swiss-roll-heights")
    assert dict(ds.sizes) == {"individual": 5000, "bag": 50, "covariate": 3, "mediator": 1}
    assert ds["mediators"].dims == ("bag", "mediator")
    assert ds["mediator"].values.tolist() == ["height"]
    assert ds["mediator_units"].values.tolist() == ["1"]
    assert (ds["value"].attrs["aggregation"], ds["value"].attrs["kind"]) == ("mean", "continuous")
    heights = ds["mediators"].values[:, 0]
    np.testing.assert_allclose(np.diff(heights), np.diff(heights)[0])
    inside = ds["covariates"].values[:, 2]
    assert (inside >= ds["bag_from"].values[ds["membership"]]).all()
    assert (inside < ds["bag_to"].values[ds["membership"]]).all()
    assert (np.diff(inside) >= 0).all() and "x" not in ds.coords
    assert float(ds["truth"].std(ddof=1)) == pytest.approx(1)
    assert ds.identical(load("swiss-roll-heights", seed=42))
    quiet = load("swiss-roll-heights", noise_std=0.0)
    np.testing.assert_allclose(quiet["value"],
                               quiet["truth"].groupby(quiet["membership"]).mean().values)


def test_impossible_rolls_are_refused():
    with pytest.raises(InputError, match="of 500 slabs hold no point"):
        load("swiss-roll-heights", points=600, bags=500)
    with pytest.raises(InputError, match="no attribute 'seed'"):
        ds = load("swiss-roll-heights", points=1000, bags=10)
        del ds.attrs["seed"]
        indirect_split(ds)


@pytest.mark.parametrize("points,seed,expected", [(5000, 42, 0.6536), (1000, 42, 0.6509),
                                                  (5000, 2, 0.806), (5000, 7, 0.689)])
def test_the_centroid_gp_has_the_released_codes_error(points, seed, expected):
    """A GP on the bags' centroids, 100 Adam steps as published: its errors tell the draws apart.

    One normal number at a time for the noise would give 0.652, 0.644, 0.819 and 0.81.
    """
    ds = load("swiss-roll-heights", seed=seed, points=points)
    inputs = torch.from_numpy(ds["covariates"].values)
    means = ds["covariates"].groupby(ds["membership"]).mean()
    centres, value = torch.from_numpy(means.values), torch.from_numpy(ds["value"].values)
    unit = np.log(np.e - 1)                                   # softplus of it is one
    raw = torch.tensor([unit, unit, unit, 0.0, 0.0], dtype=torch.double, requires_grad=True)

    def kernel(a, b):
        distance = ((a[:, None] - b) / torch.nn.functional.softplus(raw[:3])) ** 2
        return torch.nn.functional.softplus(raw[3]) * torch.exp(-0.5 * distance.sum(-1))

    def noisy():
        noise = torch.nn.functional.softplus(raw[4]) + 1e-4
        return kernel(centres, centres) + noise * torch.eye(len(value), dtype=torch.double)

    adam = torch.optim.Adam([raw], lr=0.1)
    for _ in range(100):
        adam.zero_grad()
        law = torch.distributions.MultivariateNormal(torch.zeros_like(value), noisy())
        (-law.log_prob(value) / len(value)).backward()
        adam.step()
    with torch.no_grad():
        mean = kernel(inputs, centres) @ torch.linalg.solve(noisy(), value)
    error = float(np.sqrt(np.mean((mean.numpy() - ds["truth"].values) ** 2)))
    assert error == pytest.approx(expected, abs=6e-4)
