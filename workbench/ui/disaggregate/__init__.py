"""The app "disaggregate": a fine map from totals of areas, and its calibration."""
