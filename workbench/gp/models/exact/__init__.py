"""Exact Gaussian processes on aggregates and on their centroids."""
