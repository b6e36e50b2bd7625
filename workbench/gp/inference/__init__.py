"""Objectives, and the training of variational models by them."""
