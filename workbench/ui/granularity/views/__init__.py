"""The views of the app "granularity"."""
