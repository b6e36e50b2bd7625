"""Markov chain Monte Carlo of aggregate models, by NumPyro: the yardstick of approximations."""
