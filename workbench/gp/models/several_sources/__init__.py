"""Several sources: MR-GP, MR-GPRN, MR-VBAgg (Hamelijnck et al. 2019)."""
