"""Views that all apps share: what is shown of a store's results, and nothing computed."""
