"""One law of every kind, of three units each, some of them extreme; shared by tests of laws."""

import torch

from workbench.gp import predictive
from workbench.gp.predictive import Gamma, LogNormal, Normal, Point


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


DRAWS = torch.randn(400, 3, generator=torch.manual_seed(1), dtype=torch.float64).exp()
EVERY = {
    "normal": Normal(t(0.0, -3.0, 1e6), t(1.0, 1e-9, 50.0)),
    "log-normal": LogNormal(t(0.0, -8.0, 12.0), t(1.0, 0.01, 2.0)),
    "chi2": predictive.ScaledNoncentralChi2(t(0.0, -1.5, 3.0), t(1.0, 0.4, 1e-3)),
    "gamma": Gamma(t(1.0, 500.0, 1e-3), t(2.0, 10.0, 1e-7)),
    "point": Point(t(1.0, -2.0, 7.0)),
    "samples": predictive.Samples(DRAWS),
}
