"""Representations of f: inducing inputs, exact, residual, mediated."""
