"""Conditional mean processes CMP, S-CMP and VarCMP (Chau et al. 2021)."""
