"""The experiments by name."""

from __future__ import annotations

from workbench.checks import choose
from workbench.papers.chau2021 import ablation, mediated_roll, minibatches, rates, temperature
from workbench.papers.hamelijnck2019 import (
    biased_sources,
    city_air,
    dependent_sources,
    inter_task,
    mixtures,
    positive_weights,
)
from workbench.papers.law2018 import held_out, landmarks, normal, swiss_roll
from workbench.papers.shikuri2025 import (
    bernoulli,
    california,
    california_prediction,
    quasi_forms,
    statistics,
    toy,
)
from workbench.papers.tools.base import Experiment

_ALL = (swiss_roll.VARY_BAGS, swiss_roll.VARY_SIZE, swiss_roll.REPEATED, normal.NORMAL,
        held_out.COUNTRY, held_out.MADAGASCAR, california.APPROXIMATION,
        california_prediction.PREDICTION, toy.GRANULARITY,
        statistics.STATISTICS, bernoulli.BERNOULLI, quasi_forms.FORMS_COMPARED,
        mediated_roll.ROLL, temperature.TEMPERATURE,
        minibatches.MINIBATCHES, ablation.ABLATION, rates.RATES, dependent_sources.DEPENDENT,
        biased_sources.BIASED, inter_task.INTER, city_air.CITY,
        city_air.HOURLY_CITY, city_air.NODES, positive_weights.POSITIVE_WEIGHTS,
        mixtures.MIXTURES, landmarks.LEARNT_LANDMARKS)


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
