"""Baselines of Law et al. (2018): constant, Nyström, network, bag-pixel."""
