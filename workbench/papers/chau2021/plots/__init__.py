"""Pictures of the experiments of Chau et al. (2021): operators, rates, a line, a roll, fields."""

from workbench.papers.chau2021.plots.line import given, posterior, prior
from workbench.papers.chau2021.plots.operators import operator_maps
from workbench.papers.chau2021.plots.rates import convergence_rates
from workbench.papers.chau2021.plots.roll import basins, roll_panel, seed_dots
from workbench.papers.chau2021.plots.splits import by_block, splits

__all__ = ["basins", "by_block", "convergence_rates", "given", "operator_maps", "posterior",
           "prior", "roll_panel", "seed_dots", "splits"]
