"""The models as users see them, one module each; ``make signatures`` writes their keywords."""
