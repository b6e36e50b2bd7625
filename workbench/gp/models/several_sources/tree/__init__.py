"""MR-DGP and MR-Cascade: a tree of Gaussian processes over the sources."""
