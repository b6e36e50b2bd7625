"""The app "granularity": cells of summaries against the lengthscale of a field."""
