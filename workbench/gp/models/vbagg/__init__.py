"""VBAgg (Law et al. 2018): variational inference on aggregates, its mixtures and averages."""
