"""Baselines that predict a single value: Nyström, neural network, bag-pixel, bag-constant."""
