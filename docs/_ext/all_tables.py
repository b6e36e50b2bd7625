"""Importing this fills `tables.TABLES`."""

import chau2021
import elsewhere
import goals
import hamelijnck2019
import law2018
import measured
import serving
import shikuri2025
import surveys
from tables import TABLES

__all__ = ["TABLES", "chau2021", "elsewhere", "goals", "hamelijnck2019", "law2018", "measured",
           "serving", "shikuri2025", "surveys"]
