"""Experiments of Law et al. (2018), Variational learning on aggregate outputs."""
