"""Experiments of Hamelijnck et al. (2019), Multi-resolution multi-task GPs."""
