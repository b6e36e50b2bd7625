"""Markov chain Monte Carlo of aggregate models, by NumPyro: the reference for approximations."""
