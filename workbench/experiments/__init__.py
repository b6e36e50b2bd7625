"""The papers' experiments: every table and figure as runs that can be made again, and its scores.

``workbench run --experiment NAME --preset quick`` does a small version in minutes at most; the
``paper`` preset the full one. Results are one small NetCDF file.
"""

from workbench.experiments.base import PRESETS, Experiment
from workbench.experiments.registry import experiment_named, experiments
from workbench.experiments.running import frame, read_results, run_experiment
from workbench.experiments.significance import signed_rank

__all__ = ["PRESETS", "Experiment", "experiment_named", "experiments", "frame", "read_results",
           "run_experiment", "signed_rank"]
