"""Views of the app that compares."""
