"""Trees and chains of Gaussian processes: MR-DGP and MR-CASCADE of Hamelijnck et al. 2019."""
