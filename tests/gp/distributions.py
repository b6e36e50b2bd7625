"""One law of every kind, of three units each, some of them extreme; shared by tests of laws."""

import torch
from scipy import stats

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


def samples_of(law, count: int, least: float) -> torch.Tensor:
    """Draws that are the seed's and, by Kolmogorov and Smirnov, uniform under the law's F."""
    draws = law.sample(count, seed=3)
    assert draws.shape == (count, len(law.mean))
    assert torch.equal(draws, law.sample(count, seed=3))
    assert not torch.equal(draws, law.sample(count, seed=4))
    for column in law.cdf(draws).numpy().T:
        assert stats.kstest(column, "uniform").pvalue > least
    return draws
