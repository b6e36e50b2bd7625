"""The models, one folder a family, with what they share and their registry."""
