"""The moments of a bag's parameter η = Σ w ψ(f) under q, and E log η in its named forms.

Under the identity link η is Gaussian and nothing is approximated. Elsewhere E log η has no closed
form: each entry of `BOUNDS` is one way to it, with its kind and its cost.
"""

from workbench.gp.expectations.table import (
    BOUND_NAMES,
    BOUNDS,
    DEFAULT_BOUND,
    Bound,
    Moments,
    bound_named,
    prediction_named,
    sensitivity_named,
)

__all__ = ["BOUNDS", "BOUND_NAMES", "DEFAULT_BOUND", "Bound", "Moments", "bound_named",
           "prediction_named", "sensitivity_named"]
