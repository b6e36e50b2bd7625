"""The experiments by name."""

from __future__ import annotations

from workbench.checks import choose
from workbench.experiments import (
    ablation,
    biased_sources,
    california,
    california_prediction,
    city_air,
    dependent_sources,
    held_out,
    inter_task,
    mediated_roll,
    normal,
    rates,
    statistics,
    swiss_roll,
    temperature,
    toy,
)
from workbench.experiments.base import Experiment

_ALL = (swiss_roll.VARY_BAGS, swiss_roll.VARY_SIZE, normal.NORMAL,
        held_out.COUNTRY, held_out.MADAGASCAR, california.APPROXIMATION,
        california_prediction.PREDICTION, toy.GRANULARITY,
        statistics.STATISTICS, mediated_roll.ROLL, temperature.TEMPERATURE,
        ablation.ABLATION, rates.RATES, dependent_sources.DEPENDENT,
        biased_sources.BIASED, inter_task.INTER, city_air.CITY)


def experiments() -> dict[str, Experiment]:
    """All experiments by name."""
    return {experiment.name: experiment for experiment in _ALL}


def experiment_named(name: str) -> Experiment:
    """An experiment by name; an unknown name suggests the nearest.

    Raises
    ------
    InputError
        If there is none.
    """
    known = experiments()
    return known[choose("experiment", name, known)]
