"""The swiss roll of Law et al.: bags are horizontal slabs, the rate follows the roll."""

from __future__ import annotations

import numpy as np
import xarray as xr
from sklearn.datasets import make_swiss_roll

from workbench import schema
from workbench.bagging import bag_along, bag_sizes
from workbench.checks import choose, require

FOLDS = ("train", "estop", "val", "test")
LIKELIHOODS = ("poisson", "normal")
_ANGLES = (1.5 * np.pi, 4.5 * np.pi)  # range of the angle t along the roll
_ROTATION_SEED = 23  # fixed across seeds and folds, as in the authors' code


def load(
    n_bags: int = 100,
    mean_size: float = 150,
    size_std: float = 50,
    seed: int = 0,
    fold: str = "train",
    likelihood: str = "poisson",
    dim: int = 18,
    standardise: bool = True,
    noise_std: float = 0.1,
    aggregation: str = "sum",
) -> xr.Dataset:
    """Swiss roll (simulated): bags of points on a rolled sheet in 18 dimensions, truth known.

    Sizes are ``1 + NB``; points lie on the roll at angle t; the true rate is ``t / 2`` (Poisson)
    or t scaled to [0, 1] (Normal); points sorted by height are cut into slabs; coordinates are
    padded with zeros, rotated by a fixed orthogonal matrix and scaled by the train fold.

    Parameters
    ----------
    n_bags : int
        Number of bags.
    mean_size, size_std : float
        Moments of the bag sizes, in points.
    seed : int
        Data seed; each fold draws from its own sub-seed.
    fold : {"train", "estop", "val", "test"}
        Independent draws; each covers the whole roll.
    likelihood : {"poisson", "normal"}
        What is observed at every point.
    dim : int
        Dimension after zero padding, at least 3.
    standardise : bool
        Whether to centre and scale the covariates by the statistics of the train fold.
    noise_std : float
        Standard deviation of the Normal observations.
    aggregation : {"sum", "mean"}
        Whether a bag's value is the sum of its points' values or their mean.

    Returns
    -------
    xr.Dataset
        Weights are one; truth, individual_value and the roll's own coordinates (roll_1, roll_2,
        roll_3 and angle) are kept.

    References
    ----------
    Law et al. 2018, section 4.1.
    """
    choose("fold", fold, FOLDS)
    choose("likelihood", likelihood, LIKELIHOODS)
    choose("aggregation", aggregation, schema.AGGREGATIONS)
    require(dim >= 3, f"dim must be at least 3 (the roll is in 3-D), got {dim}")
    seeds = np.random.RandomState(seed).randint(2**32, size=len(FOLDS), dtype=np.int64)
    seed_of = dict(zip(FOLDS, seeds, strict=True))
    rotation = np.linalg.qr(np.random.RandomState(_ROTATION_SEED).uniform(0, 2, (dim, dim)))[0]

    def draw(name: str) -> tuple[np.random.RandomState, np.ndarray, np.ndarray, np.ndarray]:
        rs = np.random.RandomState(seed_of[name])
        sizes = bag_sizes(n_bags, mean_size, size_std, rs)
        roll, angle = make_swiss_roll(int(sizes.sum()), noise=0, random_state=rs)
        order = np.argsort(-roll[:, 2], kind="stable")
        return rs, sizes, roll[order], angle[order]

    rs, sizes, roll, angle = draw(fold)
    inputs = roll @ rotation[:3]  # zero padding, then the rotation
    if standardise:
        reference = inputs if fold == "train" else draw("train")[2] @ rotation[:3]
        inputs = (inputs - reference.mean(axis=0)) / reference.std(axis=0)
    kind = "count" if likelihood == "poisson" else "continuous"
    if kind == "count":
        truth = 0.5 * angle
        observed = rs.poisson(truth).astype(float)
    else:
        truth = (angle - _ANGLES[0]) / (_ANGLES[1] - _ANGLES[0])
        observed = rs.normal(truth, noise_std)
    points = xr.Dataset(
        {
            "covariates": ((schema.INDIVIDUAL, schema.COVARIATE), inputs),
            "weight": (schema.INDIVIDUAL, np.ones(angle.size), {"units": "points"}),
            "truth": (schema.INDIVIDUAL, truth, {"long_name": "true rate", "units": f"{kind}"}),
            "individual_value": (
                schema.INDIVIDUAL, observed,
                {"long_name": "observation", "units": kind, "aggregation": aggregation,
                 "kind": kind},
            ),
        },
        coords={
            "individual": np.arange(angle.size),
            "covariate": [f"z{d + 1}" for d in range(dim)],
            "covariate_units": (schema.COVARIATE, ["1"] * dim),
            "angle": (schema.INDIVIDUAL, angle, {"long_name": "angle t along the roll"}),
            **{f"roll_{d + 1}": (schema.INDIVIDUAL, roll[:, d]) for d in range(3)},
        },
    )
    ds = bag_along(points, roll[:, 2], sizes=sizes)
    ds.attrs |= {
        "title": f"swiss roll, {likelihood}, {fold} fold", "level": "slab", "levels": "slab",
        "source": "simulated after Law et al. 2018", "licence": "BSD-3-Clause",
        "seed": int(seed), "fold": fold,
    }
    return ds
