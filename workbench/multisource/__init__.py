"""Models of several sources and tasks: Hamelijnck et al. 2019."""
