"""The toy of Shikuri's Figure 3, and random problems."""

import numpy as np

from workbench.granularity import nearest


def figure_three(m, n=1000):
    """Points, centroids and assignment: equally spaced in [0, 2π]."""
    x, z = np.linspace(0, 2 * np.pi, n), np.linspace(0, 2 * np.pi, m)
    return x[:, None], z[:, None], nearest(x, z)


def scattered(seed, n=60, m=7, d=2):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(0, 3, (n, d)), rng.uniform(0, 3, (m, d))
    return x, z, nearest(x, z)


def incidence(assignment, m):
    return np.eye(m)[assignment]
