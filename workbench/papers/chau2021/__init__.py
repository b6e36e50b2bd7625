"""Experiments and theorems of Chau et al. (2021), Deconditional downscaling."""
