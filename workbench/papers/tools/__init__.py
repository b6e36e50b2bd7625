"""What the experiments of every paper share: rows, settings, runs, scores."""
