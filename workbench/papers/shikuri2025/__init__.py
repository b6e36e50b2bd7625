"""Experiments of Shikuri (2025), the sample quasi-likelihood for summarised data."""
