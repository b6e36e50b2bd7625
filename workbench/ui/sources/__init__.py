"""The app "sources": several sources of one quantity, on a line and over a city."""
