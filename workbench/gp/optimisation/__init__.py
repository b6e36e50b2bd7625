"""Hyperparameters with priors, and the optimisers that move them."""
