"""Views of the app "mediated"."""
