"""The views of the app "sources"."""
