"""The apps' parts: state (no UI), store (results), jobs (threads), views (pictures) and shell."""
