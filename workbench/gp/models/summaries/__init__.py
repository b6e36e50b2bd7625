"""The sample quasi-likelihood for summarised data (Shikuri 2025)."""
