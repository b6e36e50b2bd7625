"""Gaussian processes on aggregates, in torch: no module here knows xarray or a file."""
