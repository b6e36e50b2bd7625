"""The views of the app "disaggregate"."""
